from collections.abc import Callable

from irlens.model.report import Finding

CODE = "IRL104"
Look = Callable[..., list[Finding]]


def test_shows_all_that_an_instruction_can_name(look: Look) -> None:
    (finding,) = look(CODE, "tile_sum.py", SIZE=32768, STAGES=1)
    assert finding.message == "255 registers per thread: all that an instruction of sm_90 can name"


def test_shows_all_that_a_large_cta_leaves_each_thread(look: Look) -> None:
    (finding,) = look(CODE, "tile_sum.py", SIZE=65536, STAGES=1, num_warps=16)
    assert finding.message == "128 registers per thread: all that sm_90 has for each of 512 threads"


def test_shows_all_that_maxnreg_leaves(look: Look) -> None:
    (finding,) = look(CODE, "tile_sum.py", SIZE=16384, STAGES=1, maxnreg=64)
    assert finding.message == "64 registers per thread: all that maxnreg=64 leaves"


def test_silent_below_the_limit(look: Look) -> None:
    assert look(CODE, "tile_sum.py", SIZE=16384, STAGES=1) == []
