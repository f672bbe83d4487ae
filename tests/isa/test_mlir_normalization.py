"""The ttgir of Triton 3.0 to 3.2, against the metadata of the same compilations and their PTX."""

import json
import re
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from irlens import inspect, load
from irlens.isa.mlir import parse
from irlens.isa.mlir.normalization import translate
from irlens.model.report import Report

pytestmark = pytest.mark.stored

ARCHIVE = Path(__file__).parents[1] / "data" / "old" / "triton.tar.xz"
VERSIONS = ("3.0.0", "3.1.0", "3.2.0")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    into = tmp_path_factory.mktemp("old")
    with tarfile.open(ARCHIVE) as tar:
        tar.extractall(into, filter="data")
    return into


def _reports(folder: Path, kernel: str) -> Iterator[tuple[str, Report]]:
    for version in VERSIONS:
        for arch in ("sm_80", "sm_90"):
            entry = folder / f"{version}-{arch}-{kernel}"
            (capture,) = load(entry)
            yield entry.name, inspect(capture)


def test_buffers_take_all_shared_memory_of_the_metadata(folder: Path) -> None:
    for kernel in ("gemm", "stream"):
        for name, report in _reports(folder, kernel):
            shared = json.loads((folder / name / f"{kernel}.json").read_text())["shared"]
            assert report.memory is not None
            assert report.memory.buffers_bytes == report.memory.peak_bytes == shared, name
            assert report.memory.remainder_bytes == 0


def test_a_kernel_without_buffers_has_scratch_alone(folder: Path) -> None:
    for name, report in _reports(folder, "softmax"):
        assert report.memory is not None
        assert report.memory.buffers_bytes == 0, name
        # One float for each of four warps, used by two reductions in turn.
        assert report.memory.remainder_bytes == 16, name


def test_loads_run_as_far_ahead_as_the_ptx_says(folder: Path) -> None:
    for kernel, loads in (("gemm", 2), ("stream", 1)):
        for name, report in _reports(folder, kernel):
            ptx = (folder / name / f"{kernel}.ptx").read_text()
            # Groups that the copies of the prologue commit, over those of an iteration.
            ahead = ptx.count("cp.async.commit_group") // loads - 1
            assert [load.iterations_ahead for load in report.loads] == [ahead] * loads, name
            assert {load.state for load in report.loads} == {"asynchronous"}


def test_the_old_layouts_are_those_of_later_versions() -> None:
    old = "#triton_gpu.shared<{vec = 8, perPhase = 1, maxPhase = 8, order = [1, 0]%s}>"
    swizzled = "#ttg.swizzled_shared<{vec = 8, perPhase = 1, maxPhase = 8, order = [1, 0]}>"
    assert translate(old % ", hasLeadingOffset = false") == swizzled
    assert translate(old % "") == swizzled
    assert translate(old % ", hasLeadingOffset = true") == (
        "#ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>"
    )
    unknown = "#triton_gpu.shared<{vec = 8, perPhase = 3, maxPhase = 8, hasLeadingOffset = true}>"
    assert translate(unknown) == unknown.replace("triton_gpu", "ttg")


def test_no_old_name_is_left_and_lines_stay(folder: Path) -> None:
    for path in sorted(folder.glob("*/*.ttgir")):
        text = path.read_text()
        module = parse(text)
        assert module.unknown == ()
        assert module.text.count("\n") == text.count("\n")
        assert not re.search(r"triton_\w*gpu|!tt\.memdesc|#ttg\.shared<", module.text), path
        assert {op.name for op in module.operations if "dot" in op.name} <= {
            "tt.dot",
            "ttng.warp_group_dot",
            "ttng.warp_group_dot_wait",
        }


def test_the_reserved_bytes_of_sm_90_are_not_the_kernel_s(folder: Path) -> None:
    """The PTX of these kernels declares no static shared memory."""
    for kernel in ("gemm", "softmax", "stream"):
        for name, report in _reports(folder, kernel):
            ptx = (folder / name / f"{kernel}.ptx").read_text()
            assert re.findall(r"^\s*\.shared .*$", ptx, re.MULTILINE) == []
            assert report.resources.shared_static_bytes == 0, name
            assert report.resources.shared_reserved_bytes == 1024
