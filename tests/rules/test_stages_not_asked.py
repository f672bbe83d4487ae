from collections.abc import Callable
from functools import partial

from msgspec.structs import replace

from irlens.analyze.facts import Facts
from irlens.model.report import Finding
from irlens.rules import stages_not_asked

CODE = "IRL204"
Look = Callable[..., list[Finding]]


def test_shows_a_loop_without_a_dot(look: Look) -> None:
    (finding,) = look(CODE, "loads.py:row_sum", num_stages=5)
    assert finding.message == (
        "the loop at loads.py:61 reads memory and is not pipelined: no dot uses its loads, and"
        " num_stages=5 is only for loops with one"
    )


def test_a_loop_that_skips_products_is_not_told_to_multiply_first(look: Look) -> None:
    """Products that were skipped made a block-sparse product slower."""
    settings = {"BM": 32, "BN": 32, "BK": 32, "SKIP": True, "num_stages": 3}
    (finding,) = look(CODE, "causes.py:skipping", **settings)
    assert finding.hint.startswith("load before the condition, with it as the mask, and write the")


def test_no_stages_are_asked_for_that_do_not_help(facts_of: Callable[..., Facts]) -> None:
    facts = facts_of("loads.py:row_sum", num_stages=5)
    for share, hint in ((0.01, "more stages hardly help"), (0.5, "write the loop as tl.range")):
        (finding,) = stages_not_asked.find(replace(facts, share_of_waits=partial(float, share)))
        assert finding.hint.startswith(hint)


def test_a_while_loop_is_told_what_bounds_it(look: Look) -> None:
    (finding,) = look(CODE, "other_causes.py:striding")
    assert finding.hint.startswith("where a counter bounds the loop, write it as tl.range(")


def test_silent_where_the_loop_asks_itself(look: Look) -> None:
    assert look(CODE, "loads.py:row_sum", STAGES=3) == []
    assert look(CODE, "loads.py:row_sum", STAGES=1) == []


def test_silent_where_a_dot_uses_the_loads(look: Look) -> None:
    assert look(CODE, "loads.py:biased_dot", STAGES=None, num_stages=4) == []


def test_silent_where_one_stage_is_asked_of_the_kernel(look: Look) -> None:
    assert look(CODE, "loads.py:row_sum", num_stages=1) == []


def test_silent_where_the_loop_was_unrolled(look: Look) -> None:
    """The loads stand side by side, and there is nothing to run ahead of."""
    assert look(CODE, "loads.py:few_rows", num_stages=3) == []
    assert len(look(CODE, "loads.py:few_rows", num_stages=3, ROWS=4096)) == 1
