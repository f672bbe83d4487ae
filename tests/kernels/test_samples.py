"""The sample kernels: each compiles for the GPUs, and shows what it is for."""

import importlib.metadata
import json
from pathlib import Path

import pytest

import irlens.gpus
from irlens.artifacts import cubin, hsaco
from irlens.compiler import Request, capture, capture_entries
from irlens.compiler.sources.description import known_kernels
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
    "spill": {"BLOCK_SIZE": 4096},
}
# Compiling all of them for every GPU would take minutes: each is compiled for one, with defaults.
SAMPLED = {
    "attention_merge": "sm_80",
    "column_sum": "sm_90",
    "copies:copy_coalesced_kernel": "sm_100",
    "copies:copy_strided_kernel": "gfx942",
    "dropout": "sm_100",
    "exp_sin": "sm_80",
    "gelu": "gfx942",
    "layer_norm_backward": "sm_90",
    "layer_norm_looped": "sm_80",
    "matmul_batched": "sm_90",
    "matmul_bias_relu": "sm_90",
    "matmul_fp32_output": "sm_100",
    "matmul_persistent": "gfx942",
    "matmul_tiled": "sm_90",
    "rms_norm": "gfx942",
    "segment_sum": "sm_90",
    "softmax_naive:divide_kernel": "sm_80",
    "softmax_naive:exp_kernel": "sm_90",
    "softmax_naive:row_max_kernel": "gfx942",
    "softmax_naive:row_sum_kernel": "sm_100",
    "softmax_naive:subtract_kernel": "sm_80",
    "softmax_online": "sm_90",
    "softmax_rows": "sm_80",
    "transpose": "gfx942",
}
TRITON = tuple(map(int, importlib.metadata.version("triton").split(".")[:2]))


def test_every_sample_is_tested() -> None:
    folder = samples_folder()
    samples = [k for k in known_kernels() if (folder / f"{k.partition(':')[0]}.py").is_file()]
    assert sorted(samples) == sorted([*SMALL, *SAMPLED])


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


@pytest.mark.parametrize(("kernel", "arch"), SAMPLED.items())
def test_a_sample_compiles_and_fits_by_default(kernel: str, arch: str) -> None:
    target = next(target for target in TARGETS if target.arch == arch)
    (found,) = capture(Request(kernel=kernel, target=target, sm_count=100))
    assert found.metadata is not None
    assert (found.metadata.shared or 0) <= irlens.gpus.find(arch).arch.shared_per_block_optin
    binary = found.stages["cubin" if target.vendor == "nvidia" else "hsaco"].read()
    assert binary.startswith(b"\x7fELF")


# Registers and local memory of the binary, and the PTX, show whether a sample does what it is for.


@pytest.mark.parametrize("kernel", sorted(set(SMALL) - {"matmul"}))  # that one is autotuned
@pytest.mark.parametrize("name", ["a100", "h100"])
def test_a_sample_fits_the_gpu_by_default(kernel: str, name: str) -> None:
    arch = irlens.gpus.find(name).arch
    metadata = capture_one(kernel, arch.name).metadata
    assert metadata is not None
    assert (metadata.shared or 0) <= arch.shared_per_block_optin


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
