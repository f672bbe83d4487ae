from collections.abc import Callable

from irlens.analyze.facts import Facts
from irlens.model.report import Finding

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


def test_silent_where_everything_fits(look: Look) -> None:
    assert look(CODE, "tile_sum.py", SIZE=16384, STAGES=1) == []


def test_silent_on_arrays_that_are_no_spills(look: Look, facts_of: Callable[..., Facts]) -> None:
    """The 28 bytes of the array that sine and cosine need for large arguments."""
    assert facts_of("trigonometry.py", "sm_75").resources.local_bytes == 32
    assert look(CODE, "trigonometry.py", "sm_75") == []
