"""What matrix instructions multiply: PTX ISA and AMD's manuals name the types in the mnemonic."""

import pytest

from irlens.isa import amdgcn, ptx
from irlens.isa.amdgcn.products import matrix_instruction as of_amdgcn
from irlens.isa.ptx.products import matrix_instruction as of_ptx

pytestmark = pytest.mark.stored

ENTRY = ".version 8.7\n.target sm_120a\n.address_size 64\n.visible .entry k()\n{\n%s\nret;\n}\n"


@pytest.mark.parametrize(
    ("text", "types"),
    [
        ("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", ("fp16", "fp16", "fp16")),
        ("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32", ("e4m3", "e5m2", "fp8")),
        ("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", ("tf32", "tf32", "tf32")),
        ("mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.u8.s32", ("int8", "uint8", "int8")),
        ("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64", ("fp64", "fp64", "fp64")),
        (
            "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X"
            ".f32.e2m1.e2m1.f32.ue4m3",
            ("e2m1", "e2m1", "fp4"),
        ),
        (
            "mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e2m1.e4m3.f32",
            ("e2m1", "e4m3", "fp8"),
        ),
        ("wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16", ("bf16", "bf16", "bf16")),
        ("tcgen05.mma.cta_group::2.kind::mxf8f6f4.block_scale.block32", ("", "", "fp8")),
        ("tcgen05.mma.cta_group::1.kind::mxf4.block_scale.block32", ("", "", "fp4")),
        ("tcgen05.mma.cta_group::1.kind::i8", ("", "", "int8")),
    ],
)
def test_ptx(text: str, types: tuple[str, str, str]) -> None:
    (function,) = ptx.parse(ENTRY % f"{text} %r1, %r2, %r3, %r4;").kernels
    found = of_ptx(function.instructions[0])
    assert found is not None
    assert (found.left, found.right, found.rate) == types


@pytest.mark.parametrize("text", ["wgmma.commit_group.sync.aligned", "tcgen05.commit.cta_group::1"])
def test_what_multiplies_nothing(text: str) -> None:
    (function,) = ptx.parse(ENTRY % f"{text} %r1;").kernels
    assert of_ptx(function.instructions[0]) is None


@pytest.mark.parametrize(
    ("text", "types"),
    [
        ("v_mfma_f32_32x32x8_f16 v[0:15], v[0:1], v[2:3], v[0:15]", ("fp16", "fp16", "fp16")),
        ("v_mfma_f32_32x32x8bf16_1k a[0:15], v[0:1], v[2:3], 0", ("bf16", "bf16", "bf16")),
        ("v_mfma_f32_16x16x4f32 a[0:3], v0, v1, 0", ("fp32", "fp32", "fp32")),
        ("v_mfma_f32_4x4x4_16b_f16 a[0:3], v[0:1], v[2:3], 0", ("fp16", "fp16", "fp16")),
        ("v_mfma_f32_16x16x32_fp8_bf8 v[0:3], v[0:1], v[2:3], 0", ("fp8", "bf8", "fp8")),
        ("v_mfma_f32_16x16x8_xf32 v[0:3], v[0:1], v[2:3], 0", ("tf32", "tf32", "tf32")),
        ("v_mfma_i32_32x32x16_i8 v[0:15], v[0:1], v[2:3], 0", ("int8", "int8", "int8")),
        ("v_mfma_f64_16x16x4_f64 v[0:7], v[0:1], v[2:3], 0", ("fp64", "fp64", "fp64")),
        (
            "v_mfma_scale_f32_32x32x64_f8f6f4 v[0:15], v[0:3], v[4:7], v[0:15], v8, v9"
            " op_sel_hi:[0,0,0] cbsz:4 blgp:4",
            ("e2m1", "e2m1", "fp4"),
        ),
        (
            "v_mfma_scale_f32_32x32x64_f8f6f4 v[0:15], v[0:7], v[8:11], v[0:15], v8, v9"
            " op_sel_hi:[0,0,0] blgp:4",
            ("fp8", "e2m1", "fp8"),
        ),
        ("v_wmma_f32_16x16x16_bf16 v[0:7], v[8:15], v[16:23], v[0:7]", ("bf16", "bf16", "bf16")),
        ("v_wmma_i32_16x16x16_iu8 v[0:7], v[8:11], v[12:15], v[0:7]", ("int8", "int8", "int8")),
        ("v_wmma_f32_16x16x16_fp8_bf8 v[0:7], v[8:9], v[10:11], v[0:7]", ("fp8", "bf8", "fp8")),
    ],
)
def test_amdgcn(text: str, types: tuple[str, str, str]) -> None:
    source = f"\t.type k,@function\nk:\n\t{text}\n\ts_endpgm\n.Lfunc_end0:\n"
    (function,) = amdgcn.parse(source).functions
    found = of_amdgcn(function.instructions[0])
    assert found is not None
    assert (found.left, found.right, found.rate) == types
