"""What an iteration of a loop issues on AMD."""

from collections.abc import Sequence

import pytest

from irlens.analyze import loops
from irlens.analyze.loop_schedules import schedule_amdgcn
from irlens.isa.amdgcn import parse
from irlens.model.schedule import LoopSchedule

PRODUCT = (
    "v_mfma_f32_32x32x8_f16 v[0:15], v[20:21], v[22:23], v[0:15]",
    "buffer_load_dwordx4 v[24:27], v2, s[4:7], 0 offen",
    "ds_read_b64 v[20:21], v30",
    "ds_bpermute_b32 v31, v30, v31",
    "v_exp_f32_e32 v32, v31",
    "v_add_f32_e32 v33, v32, v31",
    "s_add_i32 s0, s0, 1",
    "s_load_dword s1, s[2:3], 0x0",
    "s_waitcnt vmcnt(0)",
)


def of(body: Sequence[str], target: str = "gfx942", *, rdna: bool = False) -> LoopSchedule:
    fields = ".amdhsa_memory_ordered 1\n.amdhsa_wavefront_size32 1\n" if rdna else ""
    text = f'.amdgcn_target "amdgcn-amd-amdhsa--{target}"\n'
    text += "\t.type k,@function\nk:\n\ts_nop 0\n.LBB0_1:\n\t"
    text += "\n\t".join([*body, "s_cbranch_scc1 .LBB0_1", "s_endpgm"])
    program = parse(f"{text}\n.Lfunc_end0:\n.amdhsa_kernel k\n{fields}.end_amdhsa_kernel\n")
    (kernel,) = program.kernels
    return schedule_amdgcn(kernel, loops.find(kernel), 0, program.arch)


def test_an_iteration_has_its_slots_cycles_and_bytes() -> None:
    loop = of(PRODUCT)
    assert loop.instructions == 10
    assert loop.cycles is None
    assert loop.units == {
        "lds": 2, "matrix": 1, "vmem": 1, "transcendental": 1, "valu": 1, "salu": 1, "smem": 1,
        "other": 1, "branch": 1,
    }  # fmt: skip
    # 64 lanes on 16 take 4 cycles, a quarter of that rate 16; a product of 8 passes 32.
    assert loop.occupied == {"valu": 4 + 16, "matrix": 32}
    assert loop.requested_bytes == 64 * 16
    assert loop.unknown == ()
    assert not loop.branches


def test_waves_of_32_lanes_fill_their_alu_in_a_cycle() -> None:
    loop = of(
        (
            "v_wmma_f32_16x16x16_f16 v[0:7], v[8:15], v[16:23], v[0:7]",
            "v_dual_add_f32 v24, v25, v26 :: v_dual_mul_f32 v27, v28, v29",
            "global_load_b64 v[2:3], v[0:1], off",
        ),
        "gfx1100",
        rdna=True,
    )
    assert loop.units == {"matrix": 1, "valu": 1, "vmem": 1, "branch": 1}
    assert loop.occupied == {"valu": 1, "matrix": 32}
    assert loop.requested_bytes == 32 * 8


@pytest.mark.parametrize("target", ["gfx942:sramecc+:xnack-", "gfx942"])
def test_the_processor_is_what_the_target_ends_with(target: str) -> None:
    assert of(PRODUCT, target).occupied["matrix"] == 32


def test_a_matrix_instruction_without_documented_cycles_is_named() -> None:
    loop = of(("v_wmma_f32_16x16x32_f16 v[0:7], v[8:15], v[16:23], v[0:7]",), "gfx1250", rdna=True)
    assert loop.occupied == {}
    assert loop.unknown == ("v_wmma_f32_16x16x32_f16",)


def test_code_that_an_iteration_may_skip_makes_an_upper_bound() -> None:
    loop = of(("s_cbranch_execz .LBB0_2", "v_add_f32_e32 v1, v1, v1\n.LBB0_2:", "s_nop 0"))
    assert loop.branches
