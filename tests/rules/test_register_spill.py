from collections.abc import Callable

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
        held = replace(facts.resources, vgpr_spills=count, local_bytes=scratch)
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
