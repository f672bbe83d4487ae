from collections.abc import Callable

import pytest

from irlens.analyze.facts import Facts
from irlens.model.report import Finding

CODE = "IRL202"
Look = Callable[..., list[Finding]]


def test_shows_a_two_stage_pipeline(look: Look, facts_of: Callable[..., Facts]) -> None:
    (finding,) = look(CODE, "tile_sum.py", STAGES=2)
    assert finding.message == (
        "the loop at tile_sum.py:27 waits for all its copies: with 2 stages no copy is in flight"
        " while it computes"
    )
    assert finding.hint == "ask for 3 stages, or commit the next copies before the wait"
    kernel = facts_of("tile_sum.py", STAGES=2).ptx
    assert kernel is not None
    inside = [i for i in kernel.instructions if finding.line and i.line > finding.line]
    wait = next(i for i in inside if i.name == "cp.async.wait_group")
    assert "wait_group 0" in " ".join(wait.text.split())


def test_silent_where_groups_stay_in_flight(look: Look) -> None:
    assert look(CODE, "tile_sum.py", STAGES=3) == []


def test_silent_where_nothing_is_pipelined(look: Look) -> None:
    assert look(CODE, "tile_sum.py", STAGES=1) == []


def test_silent_where_the_copies_are_issued_behind_the_wait(
    look: Look, facts_of: Callable[..., Facts]
) -> None:
    """CDNA 4 waits for everything, issues the next tiles' copies and then multiplies."""
    tile = {"M": 128, "N": 128, "BLOCK_K": 64, "STAGES": 2, "PRECISION": "ieee"}
    half = {"a_ptr": "fp16", "b_ptr": "fp16"}
    facts = facts_of("dots.py", "mi350x", args=half, **tile)
    found = [each for each in facts.pipelines if each.kind == "direct-to-lds"]
    if not found:
        pytest.skip("this Triton has no copies to LDS on gfx950")
    (pipeline,) = found
    assert (pipeline.outstanding_after_wait, pipeline.prefetch_iterations) == (0, 1)
    assert pipeline.groups_during_compute
    assert look(CODE, "dots.py", "mi350x", args=half, **tile) == []
