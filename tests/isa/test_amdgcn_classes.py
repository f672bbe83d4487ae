import tarfile
from pathlib import Path

import pytest

from irlens.isa.amdgcn import Function, Operation, parse
from irlens.isa.amdgcn.units import classify
from irlens.isa.dialect import instruction_mix
from tests.tables import each_row

pytestmark = pytest.mark.stored

ARCHIVE = Path(__file__).parent.parent / "data" / "amd" / "triton.tar.xz"


def _kernel(name: str) -> Function:
    with tarfile.open(ARCHIVE) as tar:
        file = tar.extractfile(f"./{name}.amdgcn")
        assert file is not None
        (kernel,) = parse(file.read().decode()).kernels
        return kernel


@each_row(
    ("mnemonic", "expected"),
    [
        ("v_add_f32_e32", "vector floating point"),
        ("v_add_f32_dpp", "vector floating point"),
        ("v_dual_fmac_f32", "vector floating point"),
        ("v_pk_fma_f16", "vector floating point"),
        ("v_max_num_f32_e32", "vector floating point"),
        ("v_add_lshl_u32", "vector integer"),
        ("v_mad_u64_u32", "vector integer"),
        ("v_pk_add_u16", "vector integer"),
        ("v_lshl_or_b32", "logic & shift"),
        ("v_pk_lshlrev_b16", "logic & shift"),
        ("v_mov_b32_e32", "move"),
        ("v_mov_b32_dpp", "cross-lane"),
        ("v_cmp_gt_f32_e64", "compare & select"),
        ("v_cvt_pk_bf16_f32", "conversion"),
        ("v_exp_f32_e32", "special function"),
        ("v_mfma_f32_32x32x8f16", "matrix core"),
        ("v_accvgpr_read_b32", "accumulation register move"),
        ("s_add_i32", "scalar arithmetic"),
        ("s_and_saveexec_b64", "execution mask"),
        ("s_load_dwordx4", "scalar load"),
        ("s_waitcnt", "wait"),
        ("s_waitcnt_vscnt", "wait"),
        ("s_wait_loadcnt_dscnt", "wait"),
        ("s_barrier", "barrier"),
        ("s_barrier_signal", "barrier"),
        ("s_cbranch_scc1", "control"),
        ("ds_read_b64_tr_b16", "LDS load"),
        ("ds_write2st64_b64", "LDS store"),
        ("ds_add_rtn_u32", "LDS atomic"),
        ("ds_bpermute_b32", "cross-lane"),
        ("buffer_load_dwordx4", "buffer load"),
        ("buffer_gl0_inv", "cache control"),
        ("buffer_atomic_pk_add_bf16", "buffer atomic"),
        ("global_load_lds_dwordx4", "global to LDS"),
        ("global_load_dwordx4", "global load"),
        ("global_atomic_add_f32", "global atomic"),
        ("scratch_store_dwordx4", "scratch store"),
        ("v_frobnicate_b32", None),
        ("s_frobnicate", None),
        ("v", None),
    ],
)
def test_classes(mnemonic: str, expected: str | None) -> None:
    assert classify(Operation(mnemonic)) == expected


def test_a_buffer_load_may_go_to_lds() -> None:
    assert classify(Operation("buffer_load_dwordx4", (), ("offen", "lds"))) == "global to LDS"


def test_counts_add_up_and_matrix_cores_are_seen() -> None:
    mix = instruction_mix(_kernel("wide.gfx90a.triton-3.9.0"))
    text_count = sum(
        operation.mnemonic.startswith("v_mfma")
        for instruction in _kernel("wide.gfx90a.triton-3.9.0").instructions
        for operation in instruction.operations
    )
    assert mix.stage == "amdgcn"
    assert mix.total == sum(mix.classes.values())
    assert mix.classes["matrix core"] == text_count > 0
    assert list(mix.classes.values()) == sorted(mix.classes.values(), reverse=True)


def test_spills_through_buffer_instructions_are_scratch() -> None:
    program = parse(
        "\t.type k,@function\nk:\n"
        "\tbuffer_store_dword v1, off, s[0:3], 0 offset:4 ; 4-byte Folded Spill\n"
        "\tbuffer_load_dword v1, off, s[0:3], 0 offset:4 ; 4-byte Folded Reload\n"
        "\tbuffer_load_dword v1, v2, s[4:7], 0 offen\n"
    )
    mix = instruction_mix(program.functions[0])
    assert mix.classes == {"buffer load": 1, "scratch load": 1, "scratch store": 1}


def test_dual_issue_counts_twice_and_unknown_ones_are_named() -> None:
    program = parse(
        "\t.type k,@function\nk:\n"
        "\tv_dual_mov_b32 v8, 0 :: v_dual_add_f32 v9, 1, v0\n\ts_new_op 1\n"
    )
    mix = instruction_mix(program.functions[0])
    assert mix.classes == {"move": 1, "vector floating point": 1}
    assert mix.unknown == {"s_new_op": 1}
    assert mix.total == 3
