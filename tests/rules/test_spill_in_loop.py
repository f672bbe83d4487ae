from collections.abc import Callable

from irlens.analyze.facts import Facts
from irlens.model.report import Finding

CODE = "IRL106"
Look = Callable[..., list[Finding]]


def test_shows_reloads_in_a_loop(look: Look, facts_of: Callable[..., Facts]) -> None:
    (finding,) = look(CODE, "tile_sum.py", SIZE=32768, STAGES=1, sass=True)
    assert finding.stage == "sass"
    assert "of registers are inside loops" in finding.message
    assert "at tile_sum.py:2" in finding.message
    assert finding.message.endswith(f" of them at {finding.source}")
    spills = facts_of("tile_sum.py", SIZE=32768, STAGES=1, sass=True).spills
    assert spills
    assert f"{sum(s.kind == 'load' and bool(s.loop_depth) for s in spills)} reloads" in (
        finding.message
    )


def test_shows_what_amd_puts_away(look: Look) -> None:
    options = {"SIZE": 32768, "STAGES": 1, "num_stages": 1, "num_warps": 1}
    (finding,) = look(CODE, "tile_sum.py", "mi300x", **options)
    assert finding.stage == "amdgcn"


def test_silent_outside_of_loops(look: Look) -> None:
    assert look("IRL105", "spill") != []
    assert look(CODE, "spill", sass=True) == []


def test_silent_where_nothing_is_spilled(look: Look) -> None:
    assert look(CODE, "tile_sum.py", SIZE=16384, STAGES=1, sass=True) == []


def test_silent_where_nobody_disassembled(look: Look) -> None:
    assert look(CODE, "tile_sum.py", SIZE=32768, STAGES=1) == []
