"""Tensor memory of the sample for Blackwell, and of what could be in its place."""

from pathlib import Path

import pytest
from msgspec.structs import replace

import irlens
from irlens.model.capture import Capture, Stage
from irlens.model.report import Report
from irlens.report import inspect

SAMPLES = Path(__file__).parents[2] / "samples" / "captures"
ALLOC = "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r22], 64;"
COLUMNS, BYTES = "resources.tensor_memory_columns", "resources.tensor_memory_bytes"


def sample(name: str) -> Capture:
    (capture,) = irlens.load(SAMPLES / name)
    return capture


def noted(capture: Capture, columns: int | None) -> Capture:
    assert capture.metadata is not None
    return replace(capture, metadata=replace(capture.metadata, tmem_size=columns))


def with_ptx(capture: Capture, old: str, new: str) -> Capture:
    text = capture.stages["ptx"].text()
    assert text.count(old) == 1
    stage = Stage("ptx", content=text.replace(old, new).encode())
    return replace(capture, stages=capture.stages | {"ptx": stage})


def without_ptx(capture: Capture) -> Capture:
    stages = {name: stage for name, stage in capture.stages.items() if name != "ptx"}
    return replace(capture, stages=stages)


def held(report: Report) -> tuple[int | None, int | None]:
    return report.resources.tensor_memory_columns, report.resources.tensor_memory_bytes


@pytest.mark.parametrize(
    ("capture", "origin"),
    [
        (sample("matmul-b200"), "Triton's metadata, tmem_size; ptx, tcgen05.alloc"),
        (noted(sample("matmul-b200"), None), "ptx, tcgen05.alloc"),
        (without_ptx(sample("matmul-b200")), "Triton's metadata, tmem_size"),
    ],
)
def test_says_where_it_was_read(capture: Capture, origin: str) -> None:
    report = inspect(capture)
    # An accumulator of 64 x 64 in fp32 has half of the 128 lanes in each of its columns.
    assert held(report) == (64, 64 * 128 * 4)
    assert report.sources[COLUMNS] == report.sources[BYTES] == origin


def test_a_kernel_without_products_takes_none() -> None:
    assert held(inspect(sample("layer_norm-b200-3.7"))) == (0, 0)


@pytest.mark.parametrize("name", ["softmax-h100", "softmax-mi300x"])
def test_does_not_apply_where_there_is_none(name: str) -> None:
    report = inspect(sample(name))
    assert held(report) == (None, None)
    assert not {COLUMNS, BYTES} & (report.sources.keys() | report.unknown.keys())


@pytest.mark.parametrize(
    ("columns", "new", "reason"),
    [
        (128, ALLOC, "Triton's metadata records 128 columns, and the ptx allocates 64"),
        (64, "nop;", "Triton's metadata records 64 columns, and the ptx allocates 0"),
        (64, ALLOC.replace("64;", "%r1;"), "decided at run time"),
        (64, f"{ALLOC} {ALLOC}", "in several places"),
        (64, f"again: {ALLOC} bra again;", "in a loop"),
        (None, f"{ALLOC} call.uni helper;", "functions that the kernel calls"),
    ],
)
def test_unknown_where_it_cannot_be_told(columns: int | None, new: str, reason: str) -> None:
    report = inspect(noted(with_ptx(sample("matmul-b200"), f"@%p1 {ALLOC}", new), columns))
    assert held(report) == (None, None)
    assert reason in report.unknown[COLUMNS]
    assert report.unknown[BYTES] == report.unknown[COLUMNS]


def test_what_is_there_is_told_of_a_gpu_without_a_documented_amount() -> None:
    thor = with_ptx(sample("matmul-b200"), ".target sm_100a", ".target sm_110a")
    target = replace(thor.target, arch="sm_110", product=None) if thor.target else None
    assert held(inspect(replace(thor, target=target))) == (64, 64 * 128 * 4)
