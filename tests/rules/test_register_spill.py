from collections.abc import Callable

import pytest
from msgspec.structs import replace

from irlens.analyze.facts import Facts
from irlens.model.report import Finding
from irlens.model.resources import SpillSite
from irlens.rules import register_spill

CODE = "IRL105"
Look = Callable[..., list[Finding]]


def test_shows_a_tile_that_does_not_fit(look: Look, facts_of: Callable[..., Facts]) -> None:
    (finding,) = look(CODE, "tile_sum.py", SIZE=32768, STAGES=1)
    spilled = facts_of("tile_sum.py", SIZE=32768, STAGES=1).resources.local_bytes
    assert finding.message == f"{spilled} B of registers per thread are spilled to memory"


def test_shows_what_the_amd_compiler_counts(look: Look) -> None:
    (finding,) = look(
        CODE, "tile_sum.py", "mi300x", SIZE=32768, STAGES=1, num_stages=1, num_warps=1
    )
    assert "vector registers per lane are spilled" in finding.message


@pytest.mark.parametrize(
    ("target", "option", "leaves"),
    [
        ("mi300x", "waves_per_eu=8", "a lane 64 registers"),
        ("h100", "maxnreg=64", "a thread 64 registers"),
    ],
)
def test_names_the_option_that_leaves_too_few_registers(
    look: Look, target: str, option: str, leaves: str
) -> None:
    name, _, value = option.partition("=")
    tile = {"SIZE": 16384, "STAGES": 1}
    (finding,) = look(CODE, "tile_sum.py", target, **tile, **{name: int(value)})
    assert finding.hint.startswith(f"{option} leaves {leaves}: leave it out; or raise num_warps")
    assert look(CODE, "tile_sum.py", target, **tile) == []


@pytest.mark.parametrize(
    ("target", "option", "warps"), [("mi300x", "waves_per_eu=4", 16), ("h100", "maxnreg=64", 32)]
)
def test_an_option_that_leaves_what_the_cta_leaves_anyway_is_not_blamed(
    look: Look, target: str, option: str, warps: int
) -> None:
    """All threads of the CTA share the registers: without the option they have no more."""
    name, _, value = option.partition("=")
    tile = {"SIZE": 131072, "STAGES": 1, "num_warps": warps}
    (finding,) = look(CODE, "tile_sum.py", target, **tile, **{name: int(value)})
    assert option not in finding.hint


def test_registers_that_amd_spills_to_agprs_are_not_in_memory(
    facts_of: Callable[..., Facts],
) -> None:
    """LLVM's count has both: of 80 registers of a matmul, 30 went to AGPRs, and of 1, that one."""
    facts = facts_of("tile_sum.py", "mi300x", SIZE=1024, STAGES=1)
    store = SpillSite(
        stage="amdgcn", kind="store", place="AGPR", line=1, source=None, loop_depth=0, bytes=4
    )
    load = replace(store, kind="load")

    def found(count: int, kept: int, scratch: int) -> list[str]:
        held = replace(facts.resources, vgpr_spills=count, local_bytes=scratch, agprs=kept)
        changed = replace(facts, resources=held, spills=[*[store] * kept, load])
        return [each.message for each in register_spill.find(changed)]

    assert found(80, 30, 68) == [
        "50 vector registers per lane are spilled to memory, and 30 more to AGPRs"
    ]
    assert found(31, 30, 4) == [
        "1 vector register per lane is spilled to memory, and 30 more to AGPRs"
    ]
    assert found(1, 1, 0) == []


def test_silent_where_everything_fits(look: Look) -> None:
    assert look(CODE, "tile_sum.py", SIZE=16384, STAGES=1) == []


def test_silent_on_arrays_that_are_no_spills(look: Look, facts_of: Callable[..., Facts]) -> None:
    """The 28 bytes of the array that sine and cosine need for large arguments."""
    assert facts_of("trigonometry.py", "sm_75").resources.local_bytes == 32
    assert look(CODE, "trigonometry.py", "sm_75") == []
