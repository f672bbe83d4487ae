from collections.abc import Callable

import pytest

from irlens import gpus as arch
from irlens.analyze.facts import Facts
from irlens.isa import ptx
from irlens.model.config import Config
from irlens.model.report import Finding
from irlens.model.resources import Resources
from irlens.rules import registers_at_limit

CODE = "IRL104"
Look = Callable[..., list[Finding]]


def test_shows_all_that_an_instruction_can_name(look: Look) -> None:
    (finding,) = look(CODE, "tile_sum.py", SIZE=32768, STAGES=1)
    assert finding.message == "255 registers per thread: all that an instruction of sm_90 can name"


def test_shows_all_that_a_large_cta_leaves_each_thread(look: Look) -> None:
    (finding,) = look(CODE, "tile_sum.py", SIZE=65536, STAGES=1, num_warps=16)
    assert finding.message == "128 registers per thread: all that sm_90 has for each of 512 threads"


@pytest.mark.parametrize(("threads", "has_more"), [(512, True), (1024, False), (None, True)])
def test_asks_a_cta_that_has_all_warps_for_no_more(threads: int | None, has_more: bool) -> None:
    facts = Facts(
        gpu=arch.find("h100"),
        config=Config(
            num_warps=32, num_stages=3, num_ctas=1, maxnreg=None, constexprs={}, args={}
        ),
        resources=Resources(
            registers=255, shared_dynamic_bytes=0, shared_static_bytes=0,
            local_bytes=0, stack_bytes=0,
        ),
        threads=threads,
    )  # fmt: skip
    (match,) = registers_at_limit.find(facts)
    assert ("raise num_warps" in match.hint) is has_more


def test_asks_a_full_cta_that_spills_for_fewer_warps(look: Look) -> None:
    (finding,) = look("IRL105", "tile_sum.py", SIZE=131072, STAGES=1, num_warps=32)
    assert finding.hint == (
        "make the tile smaller, or try fewer warps, which leave each thread more registers"
    )


def test_shows_all_that_maxnreg_leaves(look: Look) -> None:
    (finding,) = look(CODE, "tile_sum.py", SIZE=16384, STAGES=1, maxnreg=64)
    assert finding.message == "64 registers per thread: all that maxnreg=64 leaves"


def test_silent_below_the_limit(look: Look) -> None:
    assert look(CODE, "tile_sum.py", SIZE=16384, STAGES=1) == []


@pytest.mark.parametrize(
    ("moves", "local_bytes", "found"), [(True, 0, 0), (True, 8, 1), (False, 0, 1)]
)
def test_silent_where_warps_hand_registers_to_each_other(
    moves: bool, local_bytes: int, found: int
) -> None:
    text = "setmaxnreg.inc.sync.aligned.u32 232; ret;" if moves else "ret;"
    facts = Facts(
        gpu=arch.find("h100"),
        config=Config(
            num_warps=4, num_stages=3, num_ctas=1, maxnreg=None, constexprs={}, args={}
        ),
        resources=Resources(
            registers=255, shared_dynamic_bytes=0, shared_static_bytes=0,
            local_bytes=local_bytes, stack_bytes=local_bytes,
        ),
        ptx=ptx.parse(text).kernels[0],
    )  # fmt: skip
    assert len(list(registers_at_limit.find(facts))) == found
