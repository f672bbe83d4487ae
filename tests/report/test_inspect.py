"""The main job as a whole, on what the compiler at hand and a real H200 gave."""

import json
import re
import shutil
import subprocess
from importlib.util import find_spec
from itertools import product
from pathlib import Path

import pytest

from irlens import gpus as arch
from irlens.artifacts.load import load
from irlens.compiler import Request, capture
from irlens.model.capture import Capture
from irlens.model.config import ConstexprValue
from irlens.model.report import Report
from irlens.report import inspect
from irlens.report.inspection import Inspection

DATA = Path(__file__).parents[1] / "data"
SAMPLE_CAPTURES = Path(__file__).parents[2] / "samples" / "captures"
NVIDIA = ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120")
AMD = ("gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201")
TILE: dict[str, ConstexprValue] = {"BLOCK_SIZE_M": 64, "BLOCK_SIZE_N": 64, "BLOCK_SIZE_K": 32}
SAMPLES: dict[str, dict[str, ConstexprValue]] = {
    "layer_norm": {},
    "spill": {},
    "vector_add": {},
    "softmax": {},
    "matmul": {**TILE, "num_warps": 4, "num_stages": 3, "GROUP_SIZE_M": 8},
}


def captured(
    kernel: str, target: str, settings: dict[str, ConstexprValue], n_cols: int | None = None
) -> Capture:
    gpu = arch.find(target)
    (only,) = capture(
        Request(
            kernel=kernel,
            target=gpu.target,
            sm_count=gpu.sm_count,
            settings=settings,
            args={} if n_cols is None else {"n_cols": n_cols},
        )
    )
    return only


_inspections: dict[bytes, Inspection] = {}


def reported(captured: Capture) -> Inspection:
    """What the report of a capture has, made once for all tests that look at it."""
    return _inspections.setdefault(captured.digest, Inspection(captured))


@pytest.mark.parametrize("n_cols", [1024, 781])
@pytest.mark.parametrize("target", ["sm_75", "sm_80", "sm_89", "sm_90", "sm_100", "sm_120"])
def test_softmax_is_pipelined_as_asked(target: str, n_cols: int) -> None:
    for stages in range(1, 6):
        made = captured("softmax", target, {"num_stages": stages}, n_cols)
        report = Inspection(made)
        (pipeline,) = report.pipelines
        if stages == 3:  # the lines of code include those of findings, which need a time
            line = inspect(made).code[str(pipeline.source)]
            assert line.startswith("for row_idx in tl.range(")
        assert pipeline.requested_stages == stages
        if target == "sm_75" or stages == 1:
            assert pipeline.verdict == "not pipelined"
            assert report.resources.shared_dynamic_bytes == 32
            continue
        assert pipeline.verdict == "pipelined"
        assert pipeline.achieved_stages == stages
        assert pipeline.prefetch_iterations == pipeline.groups_before_loop == stages - 1
        assert pipeline.groups_per_iteration == 1
        assert pipeline.outstanding_at_wait == stages - 1
        assert pipeline.outstanding_after_wait == pipeline.groups_during_compute == stages - 2
        copies = (1, 16) if n_cols == 1024 else (4, 4)
        assert (pipeline.copies_per_iteration, pipeline.bytes_per_copy) == copies
        assert pipeline.bytes_per_iteration == 4096
        assert pipeline.bytes_in_flight == 4096 * (stages - 2)
        assert report.resources.shared_dynamic_bytes == 32 + 4096 * (stages - 1)


@pytest.mark.parametrize("target", ["sm_80", "sm_90"])
# The second and third read operands of the next iteration ahead into registers.
@pytest.mark.parametrize(
    ("m", "n", "k", "warps"), [(64, 64, 32, 4), (64, 64, 64, 4), (32, 32, 128, 2)]
)
def test_matmul_commits_two_groups_a_stage(target: str, m: int, n: int, k: int, warps: int) -> None:
    for stages in (2, 3, 4):
        settings: dict[str, ConstexprValue] = {
            "num_stages": stages, "num_warps": warps, "GROUP_SIZE_M": 8,
            "BLOCK_SIZE_M": m, "BLOCK_SIZE_N": n, "BLOCK_SIZE_K": k,
        }  # fmt: skip
        report = Inspection(captured("matmul", target, settings))
        (pipeline,) = (found for found in report.pipelines if found.kind == "cp.async")
        assert pipeline.groups_per_iteration == 2
        assert (pipeline.achieved_stages, pipeline.verdict) == (stages, "pipelined")
        assert pipeline.bytes_per_iteration == (m + n) * k * 2


def tool(name: str) -> Path:
    spec = find_spec("triton")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent / "backends" / "nvidia" / "bin" / name


@pytest.mark.parametrize(("kernel", "target"), list(product(SAMPLES, NVIDIA)))
def test_resources_equal_cuobjdump(kernel: str, target: str, tmp_path: Path) -> None:
    made = captured(kernel, target, SAMPLES[kernel])
    path = tmp_path / "kernel.cubin"
    path.write_bytes(made.stages["cubin"].read())
    told = subprocess.run(
        [tool("cuobjdump"), "-res-usage", path], capture_output=True, text=True, check=True
    ).stdout
    usage = {name: int(value) for name, value in re.findall(r"(REG|STACK|SHARED):(\d+)", told)}
    found = reported(made).resources
    assert found.registers == usage["REG"]
    assert found.stack_bytes == usage["STACK"]
    reserved = usage["SHARED"] - (found.shared_static_bytes or 0)
    assert reserved in (0, found.shared_reserved_bytes)


@pytest.mark.parametrize(("kernel", "target"), list(product(SAMPLES, AMD)))
def test_amd_registers_limit_occupancy_as_llvm_says(kernel: str, target: str) -> None:
    made = captured(kernel, target, SAMPLES[kernel])
    report, text = reported(made), made.stages["amdgcn"].text()
    comments: dict[str, str] = dict(
        re.findall(r"^; (NumSgprs|NumVgprs|TotalNumVgprs|ScratchSize|Occupancy): (\d+)", text, re.M)
    )
    assert report.resources.registers == int(comments.get("TotalNumVgprs") or comments["NumVgprs"])
    assert report.resources.local_bytes == int(comments["ScratchSize"])
    occupancy, waves = report.occupancy, made.config.num_warps
    assert occupancy is not None
    assert occupancy.limits.registers is not None
    assert occupancy.limits.warps is not None
    assert waves is not None
    # LLVM's is per SIMD, and never more than a SIMD has slots for.
    ours = min(occupancy.limits.registers, occupancy.limits.warps)
    assert ours == int(comments["Occupancy"]) * arch.find(target).arch.partitions // waves


@pytest.mark.parametrize(("kernel", "target"), list(product(SAMPLES, NVIDIA + AMD)))
def test_shared_memory_adds_up(kernel: str, target: str) -> None:
    made = captured(kernel, target, SAMPLES[kernel])
    memory = reported(made).memory
    assert made.metadata is not None
    assert memory is not None
    assert memory.total_bytes == made.metadata.shared
    if memory.peak_bytes is None:
        assert memory.reason
        return
    assert memory.remainder_bytes is not None
    assert memory.remainder_bytes >= 0
    assert memory.peak_bytes + memory.remainder_bytes == memory.total_bytes


def test_an_h200_agrees_with_every_report(h200_reports: list[tuple[Capture, Report]]) -> None:
    truth = json.loads((DATA / "h200" / "truth.json").read_text())["kernels"]
    by_entry = {found.directory.name: told for found, told in h200_reports if found.directory}
    assert len(truth) == len(h200_reports) == 31
    for kernel in truth:
        report = by_entry[Path(kernel["path"]).parent.name]
        assert report.resources.registers == kernel["regs"]
        assert report.resources.local_bytes == kernel["local"]
        assert report.resources.shared_static_bytes == kernel["shared"]
        assert report.occupancy is not None
        assert report.occupancy.blocks_per_sm == kernel["blocks_per_sm"]
        assert report.triton_version == "3.6.0"
        memory = report.memory
        assert memory is not None
        assert memory.total_bytes == report.resources.shared_dynamic_bytes
        assert (memory.peak_bytes or 0) + (memory.remainder_bytes or 0) == memory.total_bytes


def test_a_python_file_that_leads_out_of_the_capture_is_unknown(tmp_path: Path) -> None:
    capture = tmp_path / "capture"
    shutil.copytree(SAMPLE_CAPTURES / "softmax-h100", capture)
    (file,) = (capture / "python").iterdir()
    file.rename(tmp_path / file.name)
    file.symlink_to(tmp_path / file.name)
    (loaded,) = load(capture)
    assert isinstance(loaded, Capture)
    report = inspect(loaded)
    assert report.code == {}
    assert report.unknown["code"] == f"python/{file.name} leads out of the capture and is not read"
