"""The sample kernels: each compiles for every GPU and matches its reference."""

import importlib.metadata
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import irlens.gpus
from irlens.artifacts import cubin, hsaco
from irlens.compiler import Request, capture, capture_entries
from irlens.compiler.sources.lookup import samples_folder
from irlens.model.capture import Capture
from irlens.model.config import ConstexprValue, Target

TARGETS = [
    *(
        Target(vendor="nvidia", arch=f"sm_{n}", warp_size=32)
        for n in (75, 80, 86, 89, 90, 100, 120)
    ),
    *(Target(vendor="amd", arch=arch, warp_size=64) for arch in ("gfx90a", "gfx942", "gfx950")),
    *(Target(vendor="amd", arch=arch, warp_size=32) for arch in ("gfx1100", "gfx1201")),
]
SMALL_MATMUL: dict[str, ConstexprValue] = {
    "BLOCK_SIZE_M": 32,
    "BLOCK_SIZE_N": 32,
    "BLOCK_SIZE_K": 32,
    "GROUP_SIZE_M": 4,
    "num_stages": 2,
    "num_warps": 4,
}
SMALL: dict[str, dict[str, ConstexprValue]] = {
    "vector_add": {},
    "softmax": {"num_stages": 2},
    "matmul": SMALL_MATMUL,
    "matmul_tma": SMALL_MATMUL,
    "flash_attention": {"HEAD_DIM": 32, "BLOCK_M": 32, "BLOCK_N": 32, "num_stages": 2},
    "layer_norm": {},
    "spill": {},
}
TRITON = tuple(map(int, importlib.metadata.version("triton").split(".")[:2]))


def test_every_sample_is_tested() -> None:
    assert sorted(SMALL) == sorted(path.stem for path in samples_folder().glob("*.py"))


def capture_one(kernel: str, arch: str, **args: ConstexprValue) -> Capture:
    target = next(target for target in TARGETS if target.arch == arch)
    (found,) = capture(Request(kernel=kernel, target=target, args=args))
    return found


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.arch)
@pytest.mark.parametrize("kernel", SMALL)
def test_a_sample_compiles_for_every_gpu(
    kernel: str, target: Target, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IRLENS_CACHE_DIR", str(tmp_path))
    request = Request(kernel=kernel, target=target, sm_count=100, settings=SMALL[kernel])
    (entry,) = capture_entries(request)
    metadata = json.loads((entry / f"{kernel}_kernel.json").read_bytes())
    arch = metadata["target"]["arch"]
    assert target.arch in (arch, f"sm_{arch}")
    assert metadata["target"]["warp_size"] == target.warp_size
    binary = "cubin" if target.vendor == "nvidia" else "hsaco"
    assert (entry / f"{kernel}_kernel.{binary}").read_bytes().startswith(b"\x7fELF")


# Triton's interpreter runs a kernel with NumPy on the CPU, independently of a GPU and of irlens.
# Sizes that are not multiples of a block exercise every mask. Each line of input is a kernel.
INTERPRET = """
import inspect, json, sys, traceback
import triton.language as tl
from irlens.compiler.calls.binding import Parameter, evaluate_formula, resolve
from irlens.compiler.sources.description import find_kernel
from irlens.compiler.sources.loading import loaded
from irlens.compiler.reference import Reference
from irlens.compiler.request import Request
from irlens.model.config import GridFormula, Target

def interpret(name, args, settings, spoil):
    target = Target(vendor="nvidia", arch="sm_90", warp_size=32)
    request = Request(kernel=name, target=target, sm_count=1, args=args, settings=settings)
    source = find_kernel(name)
    with loaded(source) as file:
        module = file.module
        kernel = getattr(module, source.function)
        while hasattr(kernel, "configs"):
            kernel = kernel.fn
        parameters = [
            Parameter(name, parameter.annotation is tl.constexpr, True)
            for name, parameter in inspect.signature(kernel.fn).parameters.items()
        ]
        call = resolve(request, source.description, parameters, ())
        constexprs = [parameter.name for parameter in parameters if parameter.constexpr]
        settings = {n: v for n, v in {**call.defaults, **call.overrides}.items() if n in constexprs}
        reference = Reference(source.description, module, "cpu")
        values = reference.tensors(call.args)
        formula = GridFormula(call.grid, {**call.sizes, **settings})
        kernel[evaluate_formula(formula, blocks_per_sm=1)](**values, **settings)
        if spoil:
            for output in source.description.outputs:
                values[output].view(-1)[-1] += 1
        expected = reference.expected({**settings, **values})
        return reference.compare(values, expected)

for line in sys.stdin:
    try:
        told = interpret(*json.loads(line))
    except Exception:
        told = traceback.format_exc()
    print(json.dumps(told), flush=True)
"""
HEADS = {"batch": 2, "heads": 3}
BLOCKS = {"HEAD_DIM": 16, "BLOCK_M": 32, "BLOCK_N": 16}
TILES = {"BLOCK_SIZE_M": 16, "BLOCK_SIZE_N": 32, "BLOCK_SIZE_K": 16, "GROUP_SIZE_M": 2}


class Interpreter:
    """A process that has imported PyTorch, and Triton to interpret kernels."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def interpret(
        self,
        kernel: str,
        args: dict[str, int],
        settings: dict[str, ConstexprValue],
        *,
        spoil: bool = False,
    ) -> tuple[bool, float]:
        """Return whether a kernel matches its reference, and the largest error."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps([kernel, args, settings, spoil]), file=self._process.stdin, flush=True)
        told = json.loads(self._process.stdout.readline())
        assert isinstance(told, list), told
        matches, error = told
        return matches, error


@pytest.fixture(scope="module")
def interpreter() -> Iterator[Interpreter]:
    pytest.importorskip("torch", reason="the references are PyTorch's")
    with subprocess.Popen(
        [sys.executable, "-c", INTERPRET],
        env=os.environ | {"TRITON_INTERPRET": "1"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        yield Interpreter(process)


@pytest.mark.parametrize(
    ("kernel", "args", "settings"),
    [
        ("vector_add", {"n_elements": 1000}, {"BLOCK_SIZE": 256}),
        ("softmax", {"n_rows": 20, "n_cols": 37}, {}),
        ("matmul", {"M": 40, "N": 70, "K": 50}, {**TILES}),
        ("matmul", {"M": 33, "N": 64, "K": 16}, {**TILES, "ACTIVATION": "leaky_relu"}),
        ("matmul_tma", {"M": 40, "N": 72, "K": 56}, {**TILES}),
        ("flash_attention", {**HEADS, "n_ctx": 75}, {**BLOCKS}),
        ("flash_attention", {**HEADS, "n_ctx": 75}, {**BLOCKS, "CAUSAL": True}),
        ("flash_attention", {**HEADS, "n_ctx": 64}, {**BLOCKS, "BLOCK_N": 64, "CAUSAL": True}),
        ("layer_norm", {"n_rows": 5, "n_cols": 300}, {}),
        ("spill", {"n_rows": 5, "n_cols": 300}, {}),
    ],
)
def test_a_sample_computes_what_its_reference_does(
    interpreter: Interpreter, kernel: str, args: dict[str, int], settings: dict[str, ConstexprValue]
) -> None:
    matches, error = interpreter.interpret(kernel, args, settings)
    assert matches
    assert error < 0.05


def test_one_wrong_element_is_detected(interpreter: Interpreter) -> None:
    matches, error = interpreter.interpret(
        "vector_add", {"n_elements": 70}, {"BLOCK_SIZE": 32}, spoil=True
    )
    assert not matches
    assert error == pytest.approx(1.0)


# Registers and local memory of the binary, and the PTX, show whether a sample does what it is for.


@pytest.mark.parametrize("kernel", sorted(set(SMALL) - {"matmul"}))  # that one is autotuned
@pytest.mark.parametrize("name", ["a100", "h100"])
def test_a_sample_fits_the_gpu_by_default(kernel: str, name: str) -> None:
    arch = irlens.gpus.find(name).arch
    metadata = capture_one(kernel, arch.name).metadata
    assert metadata is not None
    assert metadata.shared <= arch.shared_per_block_optin


@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_90", "sm_100", "sm_120"])
def test_spill_spills_on_nvidia(arch: str) -> None:
    assert _local_bytes(capture_one("spill", arch)) > 0
    assert _local_bytes(capture_one("spill", arch, n_cols=32_000)) == 0


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942", "gfx950"])
def test_spill_spills_on_amd(arch: str) -> None:
    assert _vgpr_spills(capture_one("spill", arch)) > 0
    assert _vgpr_spills(capture_one("spill", arch, n_cols=32_000)) == 0


@pytest.mark.parametrize(
    ("arch", "tma"), [("sm_80", False), ("sm_90", True), ("sm_100", True), ("sm_120", True)]
)
def test_descriptors_become_tma_on_gpus_that_have_it(arch: str, tma: bool) -> None:
    ptx = capture_one("matmul_tma", arch).stages["ptx"].text()
    assert ("cp.async.bulk.tensor.2d.shared" in ptx) is tma
    assert ("cp.async.bulk.tensor.2d.global" in ptx) is tma
    assert ("cp.async.cg.shared.global" in ptx) is not tma


@pytest.mark.skipif(TRITON > (3, 9), reason="what a later Triton takes is not known")
def test_layer_norm_fits_one_program_less_since_triton_3_7() -> None:
    # 512 threads of 64 registers fit twice on an SM; with one register more they fit once.
    (kernel,) = cubin.read(capture_one("layer_norm", "sm_100").stages["cubin"].read()).kernels
    assert kernel.registers is not None
    if TRITON < (3, 7):
        assert kernel.registers <= 64
    else:
        assert 64 < kernel.registers <= 72


def _local_bytes(found: Capture) -> int:
    (kernel,) = cubin.read(found.stages["cubin"].read()).kernels
    assert kernel.local_bytes is not None
    return kernel.local_bytes


def _vgpr_spills(found: Capture) -> int:
    (kernel,) = hsaco.read(found.stages["hsaco"].read()).kernels
    assert kernel.vgpr_spills is not None
    return kernel.vgpr_spills
