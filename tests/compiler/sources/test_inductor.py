"""Kernels that TorchInductor generated, in the forms that its versions print."""

import re
import time
from pathlib import Path

import msgspec
import pytest

from irlens.compiler import Request, capture, find_kernel, read_kernels
from irlens.compiler.sources.inductor import generated_kernels, plain_code
from irlens.compiler.sources.inductor_calls import grid_of
from irlens.gpus import find
from irlens.model.errors import CaptureError, UnknownNameError
from irlens.session import is_compiled

DATA = Path(__file__).parents[2] / "data" / "inductor"
OLD, LOG = DATA / "output_code_2_5.py", DATA / "torch_logs_2_13.txt"
#: A kernel as PyTorch's cache on disk has it, with an argument that is not aligned.
UNALIGNED = """
from torch._inductor.runtime import triton_helpers, triton_heuristics
from torch._inductor.runtime.hints import DeviceProperties
import triton
import triton.language as tl
triton_helpers.set_driver_to_gpu()
raise SystemExit("executed")

@triton_heuristics.fixed_config(
    config={'XBLOCK': 1024, 'num_warps': 4, 'num_stages': 1},
    filename=__file__,
    triton_meta={'signature': {'in_ptr0': '*fp16', 'out_ptr0': '*fp16', 'ks0': 'i64',
        'xnumel': 'i32', 'XBLOCK': 'constexpr'},
        'device': DeviceProperties(type='cuda', index=0, multi_processor_count=132, cc=90),
        'constants': {'ks0': 1}, 'configs': [{(1,): [['tt.divisibility', 16]],
        (3,): [['tt.divisibility', 16]]}]},
    inductor_meta={'grid_type': 'Grid1D', 'assert_indirect_indexing': False},
)
@triton.jit
def triton_poi_fused_0(in_ptr0, out_ptr0, ks0, xnumel, XBLOCK: tl.constexpr):
    xindex = tl.program_id(0) * XBLOCK + tl.arange(0, XBLOCK)[:]
    tmp0 = tl.load(in_ptr0 + ks0 * xindex, xindex < xnumel)
    tl.store(out_ptr0 + xindex, tmp0, xindex < xnumel)
"""


def _request(path: Path, kernel: str, target: str = "h100", **fields: object) -> Request:
    gpu = find(target)
    request = Request(kernel=f"{path}:{kernel}", target=gpu.target, sm_count=gpu.sm_count)
    return msgspec.structs.replace(request, **fields)


def test_a_log_has_every_kernel_with_its_lines_and_its_launch() -> None:
    kernels = {each.function: each for each in read_kernels(LOG)}
    assert list(kernels) == [
        "triton_tem_fused_mm_0",
        "triton_poi_fused_relu_1",
        "triton_red_fused_add_cumsum_mul_sum_0",
        "triton_poi_fused_clone_t_1",
    ]
    template = kernels["triton_tem_fused_mm_0"].generated
    assert template is not None
    # Each graph has an arg0_1 of its own; the second one's is a number.
    assert template.args == {
        "arg_A": "bf16[1024, 1024]",
        "arg_B": "bf16[1024, 512]",
        "out_ptr0": "bf16[1024, 512]",
    }
    assert template.grid == (512, 1, 1)
    clone = kernels["triton_poi_fused_clone_t_1"].generated
    assert clone is not None
    assert clone.specialization.types["ks0"] == "i64"
    assert (clone.args["ynumel"], clone.args["xnumel"]) == (777, 512)
    lines = LOG.read_text().splitlines()
    for kernel in kernels.values():
        assert kernel.generated is not None
        code = kernel.generated.code.splitlines()
        line = next(i for i, text in enumerate(code) if text.startswith("def "))
        assert lines[line].endswith(code[line])


def test_forms_of_other_versions_of_pytorch() -> None:
    pointwise, reduction = (each.generated for each in read_kernels(OLD))
    assert pointwise is not None
    assert reduction is not None
    # 2.5 numbers the arguments, and all functions are named "triton_".
    assert (pointwise.name, pointwise.function) == ("triton_poi_fused_add_0",) * 2
    assert pointwise.specialization.types == {
        "in_ptr0": "*fp32", "out_ptr0": "*fp32", "xnumel": "i32", "XBLOCK": "constexpr",
    }  # fmt: skip
    aligned = (("tt.divisibility", 16),)
    assert pointwise.specialization.attributes == dict.fromkeys(
        ("in_ptr0", "out_ptr0", "xnumel"), aligned
    )
    assert pointwise.grid == ("cdiv(xnumel, XBLOCK)",)
    # 2.6 has AttrsDescriptor.from_dict.
    assert set(reduction.specialization.attributes) == {"in_ptr0", "out_ptr0", "xnumel", "rnumel"}


def test_types_and_alignment_are_those_of_the_metadata(tmp_path: Path) -> None:
    path = tmp_path / "cabc.py"
    path.write_text(UNALIGNED)
    (compiled,) = capture(_request(path, "triton_poi_fused_0"))
    ptx = compiled.stages["ptx"].text()
    # Elements of the input may lie anywhere: one at a time. The output is aligned.
    assert len(re.findall(r"ld\.global\.b16", ptx)) == 8
    assert len(re.findall(r"st\.global\.v4\.b32", ptx)) == 1
    assert ".reqntid 128" in ptx
    assert (
        compiled.config.args == {}
    )  # the file says no shape, and the kernel compiles all the same
    assert compiled.config.grid is None


def test_a_value_that_contradicts_the_metadata_is_refused() -> None:
    request = _request(
        OLD, "triton_poi_fused_add_0", settings={"XBLOCK": 256}, args={"xnumel": 1000001}
    )
    with pytest.raises(CaptureError, match="divisible by 16, and 1000001 is not"):
        capture(request)


def test_another_dtype_replaces_that_of_the_metadata(tmp_path: Path) -> None:
    path = tmp_path / "cabc.py"
    path.write_text(UNALIGNED)
    args = {"in_ptr0": "fp32[4096]", "out_ptr0": "fp32[4096]", "xnumel": 4096}
    (compiled,) = capture(_request(path, "triton_poi_fused_0", args=args, grid=(4,)))
    assert "!tt.ptr<f32>" in compiled.stages["ttir"].text()
    assert compiled.config.grid == (4, 1, 1)


@pytest.mark.parametrize("target", ["b200", "mi300x"])
def test_templates_compile_without_heuristics(target: str) -> None:
    (compiled,) = capture(_request(LOG, "triton_tem_fused_mm_0", target))
    assert (compiled.config.num_warps, compiled.config.num_stages) == (2, 1)
    assert compiled.kernel == "triton_tem_fused_mm_0"


def test_heuristics_choose_the_configurations() -> None:
    pytest.importorskip("torch")
    compiled = capture(_request(LOG, "triton_poi_fused_relu_1"))
    chosen = [(each.config.constexprs["XBLOCK"], each.config.num_warps) for each in compiled]
    assert chosen == [(1024, 4), (512, 8)]  # as PyTorch 2.13 compiled it for this log
    # 2.6 has one axis "r", and RBLOCK.
    assert all(
        "RBLOCK" in c.config.constexprs for c in capture(_request(OLD, "triton_red_fused_sum_1"))
    )


def test_equal_names_are_told_apart() -> None:
    first = UNALIGNED.replace("raise", "# raise")
    text = "".join(
        f"# AOT ID: ['{number}_inference']\nk = async_compile.triton('k', '''{code}''')\n"
        for number, code in enumerate((first, first, first.replace("1024", "512")))
    )
    names = [each.name for each in generated_kernels(text)]
    line = text.split("'512'")[0].count("\n")
    assert len(names) == 2
    assert names[0] == "k"
    assert re.fullmatch(r"k@\d+", names[1])
    assert abs(int(names[1][2:]) - 2 * first.count("\n")) < line


def test_nothing_but_functions_is_executed(tmp_path: Path) -> None:
    path = tmp_path / "cabc.py"
    mark = tmp_path / "executed"
    path.write_text(f"open({str(mark)!r}, 'w')\n{UNALIGNED}")
    capture(_request(path, "triton_poi_fused_0"))
    assert not mark.exists()


def test_a_log_is_a_source(tmp_path: Path) -> None:
    assert not is_compiled(str(LOG))
    other = tmp_path / "notes.txt"
    other.write_text("nothing")
    assert is_compiled(str(other))
    with pytest.raises(UnknownNameError, match="triton_poi"):
        find_kernel(f"{LOG}:triton_poi")


def test_lines_of_other_logs_are_no_code() -> None:
    log = "I1125 torch/x.py:1] [0/0] [__graph_code] x = 1\nnoise\n"
    code = "[rank0]:V1125 torch/x.py:1] [0/0] [__output_code] y = 2\n"
    heading = "V1125 torch/x.py:1] [0/0] [__output_code] Output code written to: /tmp/x.py\n"
    assert plain_code(log + heading + code) == "\n\n\ny = 2\n"


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("Grid2D", ("cdiv(xnumel, XBLOCK)", "cdiv(ynumel, YBLOCK)")),
        ("CooperativeReductionGrid", ("RSPLIT", "cdiv(xnumel, XBLOCK)")),
        ("SplitScanGrid", ("cdiv(r0_numel, R0_BLOCK)", "xnumel")),
        ("MixOrderReductionGrid", ("cdiv(xnumel, RSPLIT_SIZE)",)),
        ("AnotherGrid", ()),
    ],
)
def test_grids(kind: str, expected: tuple[str, ...]) -> None:
    names = dict.fromkeys(("xnumel", "ynumel", "r0_numel", "XBLOCK", "YBLOCK", "R0_BLOCK"))
    assert grid_of({"grid_type": kind}, names) == expected


def test_the_grid_of_combined_kernels() -> None:
    meta = {
        "num_kernels": 2, "min_blocks": 0, "default_config": {"XBLOCK": 1024},
        "xnumel_0": 4096, "no_x_dim_0": False, "xnumel_1": 100, "no_x_dim_1": True,
    }  # fmt: skip
    inductor = {"grid_type": "SequentialComboKernelGrid", "combo_grid_meta": meta}
    assert grid_of(inductor, {}) == ("100 + cdiv(4096, 1024)",)


@pytest.mark.parametrize(
    "text",
    ["a" * 1_000_000, 'x = async_compile.triton(\'x\', """' * 2 + "\\'''" * 100_000],
    ids=["a long word", "quotes that close nothing"],
)
def test_text_that_is_no_kernel_is_read_in_proportion_to_it(text: str) -> None:
    begun = time.process_time()
    assert generated_kernels(text) == ()
    assert time.process_time() - begun < 3
