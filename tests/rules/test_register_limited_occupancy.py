import re
from collections.abc import Callable

import pytest

from irlens.analyze.facts import Facts
from irlens.model.report import Finding

CODE = "IRL102"
Look = Callable[..., list[Finding]]


def test_shows_that_fewer_registers_admit_another_cta(
    look: Look, facts_of: Callable[..., Facts]
) -> None:
    (finding,) = look(CODE, "tile_sum.py", SIZE=16384, STAGES=1)
    registers = facts_of("tile_sum.py", SIZE=16384, STAGES=1).resources.registers
    assert registers is not None
    # Four warps: three CTAs need 12 warps of at most 65,536 / 12 / 32 = 170 registers, in
    # units of eight 168; four need 16 warps of at most 128.
    assert 128 < registers <= 168
    assert f"{registers} registers per thread limit occupancy to 18.8 %, 3 CTAs per SM" == (
        finding.message
    )
    assert finding.hint.startswith(f"{registers - 128} fewer admit 4 CTAs (25 %)")


def test_shows_no_register_cap_that_would_only_spill(look: Look) -> None:
    (finding,) = look(CODE, "tile_sum.py", SIZE=32768, STAGES=1)
    assert re.search(r"255 registers .* 2 CTAs per SM", finding.message)
    assert "ask for maxnreg" not in finding.hint
    assert re.search(r"live at once, so that maxnreg=\d+ may spill", finding.hint)


def test_shows_a_register_cap_that_leaves_what_is_live(
    look: Look, facts_of: Callable[..., Facts]
) -> None:
    """The code keeps to it, and does not spill."""
    if facts_of("layer_norm", "b200").resources.registers == 64:
        pytest.skip("before Triton 3.7 it has no more registers than another CTA leaves")
    (finding,) = look(CODE, "layer_norm", "b200")
    live = re.search(r"ask for maxnreg=64, since at most (\d+) are live", finding.hint)
    assert live is not None
    assert finding.hint.endswith("ptxas may spill even so (irlens explain tells)")
    assert int(live[1]) <= 64
    capped = facts_of("layer_norm", "b200", maxnreg=64)
    assert capped.resources.local_bytes == 0
    assert capped.occupancy is not None
    assert capped.occupancy.blocks_per_sm == 2


def test_tells_what_is_allocated_to_limit_the_waves_from_what_is_used(
    look: Look, facts_of: Callable[..., Facts]
) -> None:
    """The hint was to use 8 registers fewer than 104 of 264, by smaller tiles."""
    settings = {"SIZE": 4096, "STAGES": 1, "waves_per_eu": 1}
    (finding,) = look(CODE, "tile_sum.py", "mi300x", **settings)
    facts = facts_of("tile_sum.py", "mi300x", **settings)
    used = facts.resources.registers
    assert finding.message == (
        "264 registers per lane limit occupancy to 12.5 %, 1 workgroup per CU: waves_per_eu=1 has"
        f" LLVM allocate them, and the kernel uses {used}"
    )
    assert used is not None
    waves = min(8, 512 // (-(-used // 8) * 8))  # a SIMD has no more slots
    assert f"{used} registers admit {waves} workgroups" in finding.hint
    assert look(CODE, "tile_sum.py", "mi300x", SIZE=4096, STAGES=1) == []
    assert facts.occupancy is not None
    assert not any(each.resource == "registers" for each in facts.occupancy.next_step)


def test_counts_from_what_is_needed_and_not_from_what_is_allocated(look: Look) -> None:
    """CDNA 3 allocates eights: 278 registers become 280, and two waves a SIMD have 256 each."""
    (finding,) = look(CODE, "tile_sum.py", "mi300x", SIZE=16384, STAGES=4)
    needed = re.match(r"(\d+) registers per lane limit .* 1 workgroup per CU", finding.message)
    assert needed is not None
    if int(needed[1]) % 8 == 0:
        pytest.skip("what this Triton's kernel needs is just what is allocated")
    assert finding.hint.startswith(f"{int(needed[1]) - 256} fewer admit 2 workgroups (25 %)")
    assert "maxnreg" not in finding.hint


def test_silent_where_the_gpu_holds_all_ctas_at_once(look: Look) -> None:
    assert look(CODE, "tile_sum.py", SIZE=16384, STAGES=1, args={"PROGRAMS": 132}) == []


def test_silent_where_something_else_limits(look: Look) -> None:
    assert look(CODE, "tile_sum.py", SIZE=16384, STAGES=3) == []
    assert look(CODE, "softmax", num_stages=4) == []
