from collections.abc import Callable

from irlens.analyze.facts import Facts
from irlens.model.report import Finding

CODE = "IRL103"
Look = Callable[..., list[Finding]]


def test_shows_that_less_shared_memory_admits_another_cta(look: Look) -> None:
    (finding,) = look(CODE, "tile_sum.py", SIZE=16384, STAGES=3)
    # Two buffers of 64 KiB. Half of 233,472 bytes less the 1,024 that are reserved is 115,712.
    assert finding.message == (
        "131,072 B of shared memory per CTA limit occupancy to 6.2 %, 1 CTA per SM"
    )
    assert finding.hint.startswith("15,360 B less admit 2 CTAs (12.5 %)")


DEEP = {
    "BLOCK_SIZE_M": 64, "BLOCK_SIZE_N": 128, "BLOCK_SIZE_K": 64, "GROUP_SIZE_M": 8, "num_warps": 4,
}  # fmt: skip


def test_shows_the_stages_that_admit_another_cta(
    look: Look, facts_of: Callable[..., Facts]
) -> None:
    """Stages beyond the third can go; with two, the loop would wait for all of its copies."""
    (finding,) = look(CODE, "matmul", **DEEP, num_stages=5)
    assert ": ask for 4 stages for the loop at matmul.py:" in finding.hint
    before, after = (facts_of("matmul", **DEEP, num_stages=each).occupancy for each in (5, 4))
    assert before is not None
    assert after is not None
    assert (before.blocks_per_sm, after.blocks_per_sm) == (1, 2)
    (third,) = look(CODE, "matmul", **DEEP, num_stages=3)
    assert third.hint.endswith(": smaller tiles need less, and fewer stages do")


def test_asks_for_fewer_stages_only_where_there_are_some(look: Look) -> None:
    """A Turing GPU pipelines nothing, and a transposition has no loop."""
    (finding,) = look(CODE, "matmul", "t4", **DEEP, num_stages=3)
    assert finding.hint.endswith(": smaller tiles need less")
    assert "stages" not in look("IRL106", "matmul", "t4", **DEEP, num_stages=3, sass=True)[0].hint


def test_silent_where_the_gpu_holds_all_ctas_at_once(look: Look) -> None:
    assert look(CODE, "tile_sum.py", SIZE=16384, STAGES=3, args={"PROGRAMS": 132}) == []


def test_silent_where_something_else_limits(look: Look) -> None:
    assert look(CODE, "tile_sum.py", SIZE=16384, STAGES=1) == []


def test_silent_where_the_step_is_small(look: Look) -> None:
    """Nine CTAs of the gather fit, and ten would with 2,304 bytes less."""
    assert look(CODE, "indirect.py:gather") == []
