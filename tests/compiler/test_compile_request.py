import importlib
import os
import re
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
import triton
import triton.language as tl

from irlens.compiler import Request, capture, capture_entries, is_stored
from irlens.compiler.toolchains import triton_version
from irlens.compiler.triton_compat import execution
from irlens.model.capture import Capture, Manifest, Metadata
from irlens.model.config import ConstexprValue, GridFormula, Target
from irlens.model.errors import ArtifactError, CaptureError, IrlensError, UnknownNameError
from irlens.model.label import labels
from irlens.report import inspect
from irlens.report.inspection import Inspection

COPY = """
    @triton.jit
    def copy(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
        offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        mask = offsets < n
        tl.store(y_ptr + offsets, tl.load(x_ptr + offsets, mask=mask), mask=mask)
"""
COPY_ARGS: dict[str, ConstexprValue] = {"x_ptr": "fp32[1024]", "y_ptr": "fp32[1024]", "n": 1024}


def manifest(entry: Path) -> Manifest:
    return msgspec.json.decode((entry / "irlens.json").read_bytes(), type=Manifest)


def metadata(entry: Path, kernel: str) -> Metadata:
    return msgspec.json.decode((entry / f"{kernel}.json").read_bytes(), type=Metadata)


# Measured for the tutorial's softmax: 16-byte copies if the rows are aligned, else 4-byte ones,
# and one buffer of a row for every stage but the last.
@pytest.mark.parametrize(
    ("n_cols", "num_stages", "shared", "copies", "width"),
    [
        (1024, 1, 32, 0, None),
        (1024, 2, 4_128, 2, 16),
        (1024, 4, 12_320, 4, 16),
        (781, 3, 8_224, 12, 4),
    ],
)
def test_softmax_has_the_measured_pipeline(
    n_cols: int, num_stages: int, shared: int, copies: int, width: int | None, sm_90: Target
) -> None:
    request = Request(
        kernel="softmax",
        target=sm_90,
        sm_count=132,
        args={"n_cols": n_cols},
        settings={"num_stages": num_stages},
    )
    (entry,) = capture_entries(request)
    assert metadata(entry, "softmax_kernel").shared == shared
    ptx = (entry / "softmax_kernel.ptx").read_text()
    widths = re.findall(r"cp\.async\.\w+\.shared\.global \[.*?\], \[.*?\], (0x\w+|\d+)", ptx)
    assert [int(found, 0) for found in widths] == [width] * copies


def test_the_manifest_of_a_capture(sm_90: Target) -> None:
    (entry,) = capture_entries(
        Request(kernel="softmax", target=sm_90, sm_count=100, args={"n_cols": 781})
    )
    found = manifest(entry)
    assert found.kernel == "softmax_kernel"
    assert found.file == "softmax.py"
    assert found.target == sm_90
    assert found.constexprs == {"BLOCK_SIZE": 1024, "num_stages": 4}
    assert found.args == {
        "output_ptr": "fp32[4096, 781]",
        "input_ptr": "fp32[4096, 781]",
        "input_row_stride": 781,
        "output_row_stride": 781,
        "n_rows": 4096,
        "n_cols": 781,
    }
    assert found.grid is None
    extents = ("min(n_rows, sm_count * blocks_per_sm)",)
    assert found.grid_formula == GridFormula(extents, {"n_rows": 4096, "sm_count": 100})
    assert found.run is None
    assert found.dependencies == {}
    assert metadata(entry, "softmax_kernel").num_warps == 8
    python = entry / "python" / "softmax.py"
    assert "def softmax_kernel" in python.read_text()
    names = {path.name for path in entry.iterdir()}
    stages = {f"softmax_kernel.{s}" for s in ("source", "ttir", "ttgir", "llir", "ptx", "cubin")}
    assert names == stages | {"softmax_kernel.json", "irlens.json", "python"}


def test_the_compiler_is_only_hashed_for_a_shared_cache(
    sm_90: Target, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("triton.runtime.cache", "triton.compiler.compiler")
    (place,) = (m for m in map(importlib.import_module, names) if hasattr(m, "triton_key"))
    hashed = iter(["once", "again"])
    monkeypatch.setattr(place, "triton_key", lambda: next(hashed))
    assert capture_entries(Request(kernel="vector_add", target=sm_90))
    with execution.private_cache(tmp_path / "private"):
        assert place.triton_key() == triton_version()
        triton.knobs.cache.dir = str(tmp_path / "shared")  # a kernel's file may do this
        assert place.triton_key() == "once"
    assert place.triton_key() == "again"


def test_without_the_number_of_sms_the_grid_is_unknown(sm_90: Target) -> None:
    (entry,) = capture_entries(Request(kernel="softmax", target=sm_90))
    assert manifest(entry).grid is None


def test_options_replace_a_missing_description(write: Callable[..., Path], sm_90: Target) -> None:
    spec = str(write(COPY))
    args: dict[str, ConstexprValue] = {"x_ptr": "fp16[n]", "y_ptr": "fp16[n]", "n": 781}
    request = Request(kernel=spec, target=sm_90, args=args, settings={"BLOCK": 256, "num_warps": 2})
    (entry,) = capture_entries(request)
    found = manifest(entry)
    assert found.args == {"x_ptr": "fp16[781]", "y_ptr": "fp16[781]", "n": 781}
    assert found.grid is None
    assert metadata(entry, "copy").num_warps == 2
    (entry,) = capture_entries(msgspec.structs.replace(request, grid=("cdiv(n, BLOCK)", 2)))
    assert manifest(entry).grid == (4, 2, 1)


def test_missing_values_are_listed_with_the_options_to_add(
    write: Callable[..., Path], sm_90: Target
) -> None:
    kernel = str(write(COPY))
    with pytest.raises(CaptureError) as raised:
        capture_entries(Request(kernel=kernel, target=sm_90, args={"n": 3}))
    assert raised.value.message == "copy needs a value for x_ptr, y_ptr, BLOCK"
    assert raised.value.hint == (
        f"for example  irlens inspect {kernel} --arg n=3 "
        "--arg 'x_ptr=fp32[1048576]' --arg 'y_ptr=fp32[1048576]' --set BLOCK=1024"
        " --grid 'cdiv(n, BLOCK)'"
    )


@pytest.mark.parametrize(
    ("settings", "args", "hint"),
    [
        ({"BLOK_SIZE": 3}, {}, "did you mean BLOCK_SIZE?"),
        ({"num_warp": 3}, {}, "did you mean num_warps"),
        ({}, {"n_element": 3}, "did you mean n_elements?"),
        ({"n_elements": 3}, {}, "write --arg n_elements=..."),
        ({}, {"BLOCK_SIZE": 3}, "write --set BLOCK_SIZE=..."),
    ],
)
def test_an_override_of_an_unknown_name_is_an_error(
    settings: dict[str, int], args: dict[str, int], hint: str, sm_90: Target
) -> None:
    request = Request(kernel="vector_add", target=sm_90, settings={**settings}, args={**args})
    with pytest.raises((UnknownNameError, CaptureError)) as raised:
        capture_entries(request)
    assert (raised.value.hint or "").startswith(hint)


def test_an_unknown_function_suggests_the_nearest_kernel(
    write: Callable[..., Path], sm_90: Target
) -> None:
    with pytest.raises(UnknownNameError) as raised:
        capture_entries(Request(kernel=f"{write(COPY)}:coppy", target=sm_90))
    assert raised.value.hint == "did you mean copy?"


def test_constexprs_of_every_type(write: Callable[..., Path], sm_90: Target) -> None:
    path = write("""
        @triton.jit
        def k(x_ptr, FLAG: tl.constexpr, NAME: tl.constexpr, NOTHING: tl.constexpr,
              SCALE: tl.constexpr, DTYPE: tl.constexpr, DEFAULT: tl.constexpr = tl.bfloat16):
            tl.static_assert(FLAG)
            tl.static_assert(NAME == "relu")
            tl.static_assert(NOTHING is None)
            tl.static_assert(DTYPE == tl.float16)
            tl.static_assert(DEFAULT == tl.bfloat16)
            tl.store(x_ptr, SCALE)
    """)
    settings: dict[str, ConstexprValue] = {
        "FLAG": True, "NAME": "relu", "NOTHING": None, "SCALE": 0.5, "DTYPE": "tl.float16",
    }  # fmt: skip
    request = Request(kernel=str(path), target=sm_90, args={"x_ptr": "fp32[1]"}, settings=settings)
    (entry,) = capture_entries(request)
    assert manifest(entry).constexprs == {**settings, "DEFAULT": "tl.bfloat16"}


def test_scalars_of_every_type(write: Callable[..., Path], sm_90: Target) -> None:
    path = write("""
        @triton.jit
        def k(x_ptr, i, big, f, flag, nothing, one=1):
            tl.static_assert(nothing is None)
            tl.store(x_ptr, (i + big) * f * flag * one)
    """)
    args: dict[str, ConstexprValue] = {
        "x_ptr": "fp64[1]", "i": 7, "big": 2**40, "f": 0.5, "flag": True, "nothing": None,
    }  # fmt: skip
    (entry,) = capture_entries(Request(kernel=str(path), target=sm_90, args=args))
    assert manifest(entry).args == {
        "x_ptr": "fp64[1]", "i": 7, "big": 2**40, "f": 0.5, "flag": "True", "nothing": "None",
    }  # fmt: skip
    ttir = (entry / "k.ttir").read_text()
    signature = re.search(r"tt\.func public @k\((.*?)\) attributes", ttir, re.S)
    assert signature is not None
    types = re.findall(r"%\w+: ([^\s,{]+)", signature[1])
    assert types == ["!tt.ptr<f64>", "i32", "i64", "f32", "i1"]


def test_a_kernel_with_too_much_shared_memory_is_captured(sm_90: Target) -> None:
    settings = {
        "BLOCK_SIZE_M": 128, "BLOCK_SIZE_N": 128, "BLOCK_SIZE_K": 64, "GROUP_SIZE_M": 1,
        "num_warps": 8, "num_stages": 9,
    }  # fmt: skip
    request = Request(kernel="matmul", target=sm_90, settings={**settings})
    (entry,) = capture_entries(request)
    assert (metadata(entry, "matmul_kernel").shared or 0) > 232_448
    assert (entry / "matmul_kernel.cubin").stat().st_size > 0


def test_a_repeated_request_is_answered_from_the_store(
    sm_90: Target, monkeypatch: pytest.MonkeyPatch, write: Callable[..., Path]
) -> None:
    path = write(COPY)
    request = Request(kernel=str(path), target=sm_90, args=COPY_ARGS, settings={"BLOCK": 64})
    assert not is_stored(request)
    first = capture_entries(request)
    stamp = first[0].stat().st_mtime_ns
    assert is_stored(request)
    assert capture_entries(request) == first
    assert first[0].stat().st_mtime_ns == stamp

    monkeypatch.setenv("TRITON_CACHE_DIR", "/nowhere")
    monkeypatch.setenv("MLIR_ENABLE_DUMP", "1")
    assert is_stored(request), "what changes no artifact is no part of the key"
    monkeypatch.setenv("DISABLE_LLVM_OPT", "1")
    assert not is_stored(request)
    monkeypatch.delenv("DISABLE_LLVM_OPT")
    path.write_text(path.read_text() + "\n# changed\n")
    assert not is_stored(request)


def test_passes_of_another_limit_are_printed_again(
    sm_90: Target, monkeypatch: pytest.MonkeyPatch, write: Callable[..., Path]
) -> None:
    request = Request(kernel=str(write(COPY)), target=sm_90, args=COPY_ARGS, settings={"BLOCK": 64})
    printed = msgspec.structs.replace(request, passes=True)
    capture_entries(request)
    capture_entries(printed)
    monkeypatch.setenv("IRLENS_MAX_INPUT_MB", "17")
    assert is_stored(request)
    assert not is_stored(printed), "the limit may have cut them"


def test_a_damaged_capture_is_compiled_again(sm_90: Target, write: Callable[..., Path]) -> None:
    request = Request(kernel=str(write(COPY)), target=sm_90, args=COPY_ARGS, settings={"BLOCK": 64})
    (entry,) = capture_entries(request)
    (entry / "irlens.json").write_text('{"schema": 1')
    assert not is_stored(request)
    (entry,) = capture_entries(request)
    assert manifest(entry).kernel == "copy"


@pytest.mark.parametrize("name", ["copy.json", "copy.ptx", "copy.cubin", "irlens.json", "source"])
def test_a_capture_with_a_flipped_bit_is_compiled_again(
    name: str, sm_90: Target, write: Callable[..., Path]
) -> None:
    request = Request(
        kernel=f"{write(COPY)}:copy", target=sm_90, args=COPY_ARGS, settings={"BLOCK": 64}
    )
    (entry,) = capture_entries(request)
    expected = inspect(capture(request)[0])
    path = next(each for each in sorted(entry.rglob("*")) if each.name.endswith(name))
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    assert not is_stored(request)
    (again,) = capture(request)
    assert again.directory != entry
    assert inspect(again) == expected
    assert is_stored(request)


def test_capturing_leaves_no_other_files(
    private_store: Path, sm_90: Target, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cwd = tmp_path / "elsewhere"
    cwd.mkdir()
    monkeypatch.chdir(cwd)
    environment = dict(os.environ)
    (entry,) = capture_entries(Request(kernel="vector_add", target=sm_90))
    assert [path for path in private_store.rglob("*") if path.name.startswith(".irlens")] == []
    assert sorted((private_store / "captures").iterdir()) == [entry.parent]
    assert (Path.cwd(), dict(os.environ)) == (cwd, environment)
    assert list(cwd.iterdir()) == []


@pytest.mark.parametrize(
    ("tensor", "expected"),
    [("fp32[536870911]", True), ("fp32[536870912]", False), ("int8[2147483647]", True)],
)
def test_amd_pointers_are_32_bit_only_within_2_gb(
    tensor: str,
    expected: bool,
    write: Callable[..., Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AMDGCN_USE_BUFFER_OPS", "1")  # the default since 3.6
    gfx942 = Target(vendor="amd", arch="gfx942", warp_size=64)
    path = write("""
        @triton.jit
        def k(x_ptr, n):
            tl.store(x_ptr + n, 0)
    """)
    (entry,) = capture_entries(
        Request(kernel=str(path), target=gfx942, args={"x_ptr": tensor, "n": 3})
    )
    assert ("tt.pointer_range" in (entry / "k.ttir").read_text()) is expected


DESCRIBED = Path(__file__).parents[1] / "data" / "findings" / "described.py"


def test_host_side_descriptors_have_the_block_of_each_configuration(
    sm_90: Target,
) -> None:
    captures = capture(Request(kernel=str(DESCRIBED), target=sm_90))
    assert len(captures) == 2
    for found in captures:
        assert found.manifest is not None
        tile = found.manifest.constexprs["BM"]
        ttir = found.stages["ttir"].text()
        # Up to 3.6 a descriptor's type contains "tensor".
        assert re.search(rf"%a_desc: !tt\.tensordesc<(tensor<)?{tile}x64xf16>", ttir)
        assert re.search(r"%b_desc: !tt\.tensordesc<(tensor<)?64x128xf16>", ttir)
        assert "make_tensor_descriptor" not in ttir
        assert "cp.async.bulk.tensor.2d.shared" in found.stages["ptx"].text()
        assert found.manifest.args["a_desc"] == "fp16[4096, 4096]:block[BM, BK]"
        assert found.manifest.args["c_desc"] == "fp16[4096, 4096]:block[BM, 128]"


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("fp16[4096, 4096]:block[48, 64]", "must be a power of 2"),
        ("fp16[4096, 4095]:block[64, 64]", "16-byte aligned"),
        ("fp16[4096, 4096]:block[64]", "the block [64] has 1 dimension and the tensor 2"),
    ],
)
def test_an_invalid_descriptor_is_an_error(sm_90: Target, argument: str, message: str) -> None:
    with pytest.raises(CaptureError, match=re.escape(message)) as raised:
        capture(Request(kernel=str(DESCRIBED), target=sm_90, args={"a_desc": argument}))
    assert "a_desc: " in raised.value.message


def test_capture_returns_capture_records(sm_90: Target) -> None:
    (found,) = capture(
        Request(
            kernel="softmax",
            target=sm_90,
            sm_count=132,
            settings={"num_stages": 3},
            grid=("8 * sm_count",),
        )
    )
    assert found.kernel == "softmax_kernel"
    assert found.target == sm_90
    assert list(found.stages) == ["source", "ttir", "ttgir", "llir", "ptx", "cubin"]
    assert (found.config.num_warps, found.config.num_stages) == (8, 3)
    assert found.config.constexprs == {"BLOCK_SIZE": 1024, "num_stages": 3}
    assert found.config.grid == (1056, 1, 1)
    assert found.metadata is not None
    assert found.metadata.shared == 8_224


def test_a_stored_capture_without_its_files_is_compiled_again(sm_90: Target) -> None:
    request = Request(kernel="vector_add", target=sm_90)
    (entry,) = capture_entries(request)
    for path in entry.glob("vector_add_kernel.*"):
        path.unlink()
    (again,) = capture(request)
    assert again.directory != entry
    assert "ptx" in again.stages


def test_a_changed_file_of_an_option_is_compiled_again(
    sm_90: Target, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (first,) = capture_entries(Request(kernel="softmax", target=sm_90, args={"n_cols": 781}))
    monkeypatch.chdir(tmp_path)
    override = tmp_path / "b.ptx"
    ptx = (first / "softmax_kernel.ptx").read_text()
    override.write_text(ptx)
    request = Request(
        kernel="softmax",
        target=sm_90,
        args={"n_cols": 781},
        settings={"ir_override": "b.ptx"},
    )
    (before,) = capture(request)
    override.write_text(ptx.replace(".reqntid", ".maxnreg 24\n.reqntid"))
    assert not is_stored(request)
    (after,) = capture(request)
    assert ".maxnreg 24" in after.stages["ptx"].text()
    names = [str((each.config.options or {})["ir_override"]) for each in (before, after)]
    assert all(name.startswith("b.ptx@") for name in names)
    assert names[0] != names[1]
    override.write_text(ptx)
    assert is_stored(request), "the first answer is kept"


def test_options_that_differ_from_the_default_are_part_of_the_configuration(
    sm_90: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    choices: list[dict[str, ConstexprValue]] = [
        {"enable_fp_fusion": True},
        {"enable_fp_fusion": False},
        {},
    ]
    fused, separate, default = (
        capture(Request(kernel="vector_add", target=sm_90, settings=settings))[0]
        for settings in choices
    )
    assert fused.config.options == default.config.options == {}
    assert separate.config.options == {"enable_fp_fusion": False}
    monkeypatch.setenv("DISABLE_PTXAS_OPT", "1")
    monkeypatch.setenv("PTXAS_OPTIONS", "--opt-level=1")
    (slow,) = capture(Request(kernel="vector_add", target=sm_90))
    assert slow.config.options == {"DISABLE_PTXAS_OPT": "true", "PTXAS_OPTIONS": "--opt-level=1"}


def test_a_file_of_contents_gives_shape_and_contents(tmp_path: Path) -> None:
    path = tmp_path / "g.py"
    path.write_text(
        "import triton\nimport triton.language as tl\n\n\n@triton.jit\n"
        "def g(x_ptr, i_ptr, bias_ptr, BLOCK: tl.constexpr):\n"
        "    o = tl.arange(0, BLOCK)\n"
        "    tl.store(x_ptr + tl.load(i_ptr + o), 1.0)\n"
    )
    file = tmp_path / "i.npy"
    target = Target(vendor="nvidia", arch="sm_90", warp_size=32)

    def sectors(indices: "np.ndarray[Any, np.dtype[np.int32]]") -> int | None:
        np.save(file, indices)
        request = Request(
            kernel=f"{path}:g",
            target=target,
            settings={"BLOCK": 64},
            args={"x_ptr": "f32[4096]", "i_ptr": f"@{file}", "bias_ptr": "none"},
            grid=(1,),
        )
        (compiled,) = capture(request)
        shapes = {"x_ptr": "fp32[4096]", "i_ptr": "int32[64]", "bias_ptr": "None"}
        assert compiled.config.args == shapes
        assert capture_entries(request) == [compiled.directory]  # the contents compile nothing
        traffic = inspect(compiled).traffic
        return traffic.store_sectors if traffic is not None else None

    assert sectors(np.arange(64, dtype=np.int32)) == 8
    assert sectors(np.arange(64, dtype=np.int32) * 64) == 64


def test_values_of_an_argument_compile_nothing(write: Callable[..., Path], sm_90: Target) -> None:
    path = write(COPY)

    def compiled(value: str) -> Capture:
        args = COPY_ARGS | {"x_ptr": f"fp32[256]{value}"}
        settings: dict[str, ConstexprValue] = {"BLOCK": 64}
        request = Request(kernel=f"{path}:copy", target=sm_90, settings=settings, args=args)
        (found,) = capture(request)
        return found

    one, other, without = map(compiled, (":values[1]", ":values[2]", ""))
    assert one.directory == other.directory == without.directory
    assert one.config.contents == {"x_ptr": "fp32[256]:values[1]"}
    assert labels([Inspection(one), Inspection(other)]) == [
        "x_ptr=fp32[256]:values[1]", "x_ptr=fp32[256]:values[2]",
    ]  # fmt: skip
    assert without.config.contents == {}


def test_a_description_says_contents_as_an_argument_does(tmp_path: Path) -> None:
    """They were ignored: what the kernel moves stayed unknown."""
    np.save(tmp_path / "i.npy", np.arange(64, dtype=np.int32) * 64)
    target = Target(vendor="nvidia", arch="sm_90", warp_size=32)

    def compiled(described: str, **args: ConstexprValue) -> Capture:
        path = tmp_path / "g.py"
        path.write_text(
            "import triton\nimport triton.language as tl\n\n"
            "IRLENS_KERNELS = {'g': {'sizes': {'N': 64}, 'constexprs': {'BLOCK': 'N'},\n"
            f"    'args': {{'x_ptr': 'f32[4096]', 'i_ptr': '{described}'}}, 'grid': [1]}}}}\n\n\n"
            "@triton.jit\n"
            "def g(x_ptr, i_ptr, BLOCK: tl.constexpr):\n"
            "    o = tl.arange(0, BLOCK)\n"
            "    tl.store(x_ptr + tl.load(i_ptr + o), 1.0)\n"
        )
        (found,) = capture(Request(kernel=f"{path}:g", target=target, args=args))
        return found

    def sectors(described: str, **args: ConstexprValue) -> int | None:
        traffic = inspect(compiled(described, **args)).traffic
        return traffic.store_sectors if traffic is not None else None

    assert sectors("int32[64]:values[8]") == 2  # a request of each of two warps
    assert sectors("@i.npy") == 64, "relative to the kernel's file"
    assert sectors("int32[N]:values[N]") == 2
    assert compiled("int32[N]:values[7]", N=128).config.contents == {
        "i_ptr": "int32[128]:values[7]"
    }
    assert compiled("int32[N]:values[7]", i_ptr="int32[64]").contents == {}
    told = compiled("int32[64]", i_ptr="int32[N]:values[BLOCK]").config.arguments()
    assert told["i_ptr"] == "int32[64]:values[64]"
    for given in ("int32[M]:values[7]", "int32[N]:values[7, 8]", "@none.npy"):
        with pytest.raises(IrlensError, match=r"'M'|2 values for 64|none\.npy"):
            compiled(given)


def test_a_missing_file_of_contents_is_named(tmp_path: Path) -> None:
    args: dict[str, ConstexprValue] = {"i_ptr": f"@{tmp_path}/none.npy"}
    target = Target(vendor="nvidia", arch="sm_90", warp_size=32)
    with pytest.raises(ArtifactError, match="none"):
        capture(Request(kernel="softmax", target=target, args=args))


@pytest.mark.parametrize("stages", [257, 10**9, 10**17])
def test_a_pipeline_of_too_many_stages_is_refused(stages: int, sm_90: Target) -> None:
    request = Request(kernel="softmax", target=sm_90, settings={"num_stages": stages})
    with pytest.raises(CaptureError, match="but irlens compiles at most 256"):
        capture_entries(request)


def test_what_a_file_replaces_in_triton_is_restored(
    write: Callable[..., Path], sm_90: Target
) -> None:
    """Of three files that are compiled one after the other the second one replaces functions."""
    kernel = COPY.replace("tl.load(x_ptr + offsets, mask=mask)", "tl.exp(tl.load(x_ptr + offsets))")
    replacing = """
        tl.exp = tl.sqrt
        tl.tensor.twice = lambda self: self + self
        tl.core.tensor.__neg__ = None
        triton.cdiv = lambda a, b: 7
    """
    negate = tl.core.tensor.__neg__

    def mnemonics(name: str, before: str = "") -> set[str]:
        path = write(textwrap.dedent(before) + textwrap.dedent(kernel), name)
        request = Request(kernel=f"{path}:copy", target=sm_90, args=COPY_ARGS,
                          settings={"BLOCK": 128})  # fmt: skip
        (found,) = capture(request)
        return set(re.findall(r"ex2|sqrt", found.stages["ptx"].text()))

    assert mnemonics("first.py") == {"ex2"}
    assert mnemonics("second.py", replacing) == {"sqrt"}
    assert mnemonics("third.py") == {"ex2"}
    assert tl.core.tensor.__neg__ is negate
    assert not hasattr(tl.tensor, "twice")
    assert triton.cdiv(9, 4) == 3
