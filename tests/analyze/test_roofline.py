"""Rooflines: no floor is above what an H200 took."""

import json
from pathlib import Path
from typing import Any

import pytest

from irlens import gpus
from irlens.analyze.roofline import roofline
from irlens.gpus.rates import Dtype

LAUNCHES: list[dict[str, Any]] = json.loads(
    (Path(__file__).parent.parent / "data" / "h200" / "dram.json").read_text()
)
H200 = gpus.find("h200")


def _products(launch: dict[str, Any]) -> dict[Dtype, int]:
    """Return the operations of a matrix product; Triton computes fp32 ones in tf32."""
    if "m" not in launch:
        return {}
    dtype: Dtype = "tf32" if launch["dtype"] == "fp32" else launch["dtype"]
    return {dtype: 2 * launch["m"] * launch["n"] * launch["k"]}


def test_no_floor_is_above_the_measured_time() -> None:
    bounds = set()
    for launch in LAUNCHES:
        traffic = launch["dram_read"] + launch["dram_write"]
        found = roofline(H200, traffic, _products(launch), {})
        assert found.floor_us is not None
        assert found.floor_us <= launch["ns"] / 1e3, launch
        assert found.floor_us <= launch["median_ms"] * 1e3, launch
        bounds.add((launch["name"], found.bound))
    assert len(LAUNCHES) == 217
    assert ("add", "memory") in bounds
    assert ("matmul", "compute") in bounds


def test_streaming_kernels_come_close_to_the_floor() -> None:
    """The bound is worth something: the best launch of add runs at two thirds of it or more."""
    best = max(
        (launch["dram_read"] + launch["dram_write"]) / 4800 / launch["ns"]
        for launch in LAUNCHES
        if launch["name"] == "add"
    )
    assert best > 2 / 3


def test_a_vector_addition_and_a_product() -> None:
    addition = roofline(H200, 3 * 4 << 20, {}, {"fp32": 1 << 20})
    assert addition.memory_us == pytest.approx(12 * (1 << 20) / 4.8e12 * 1e6)
    assert addition.compute_us == pytest.approx((1 << 20) / (132 * 256 * 1.98e9) * 1e6)
    assert (addition.bound, addition.floor_us) == ("memory", addition.memory_us)
    assert addition.flops_per_byte == pytest.approx(1 / 12)
    assert addition.reason is None
    product = roofline(H200, 3 * 2 << 24, {"fp16": 2 << 36}, {})
    assert product.compute_us == pytest.approx((2 << 36) / (132 * 4096 * 1.98e9) * 1e6)
    assert (product.bound, product.floor_us) == ("compute", product.compute_us)


def test_units_work_at_the_same_time() -> None:
    both = roofline(H200, 1, {"fp16": 1 << 30, "fp8": 1 << 30}, {"fp32": 1 << 30, "fp64": 1 << 30})
    products = (1 << 30) / (132 * 1.98e9) * (1 / 4096 + 1 / 8192) * 1e6
    assert both.compute_us == pytest.approx(max(products, (1 << 30) / (132 * 128 * 1.98e9) * 1e6))


def test_what_is_unknown_says_why() -> None:
    bare = roofline(gpus.find("sm_90"), 1 << 20, {"fp16": 2}, {})
    assert (bare.memory_us, bare.compute_us, bare.floor_us, bare.bound) == (None,) * 4
    assert bare.flops_per_byte == 2 / (1 << 20)
    assert bare.reason == (
        "the memory bandwidth of sm_90 is unknown; the peak of tensor fp16 on sm_90 is unknown"
    )
    fp8 = roofline(gpus.find("a100"), 1 << 20, {"fp8": 2}, {})
    assert fp8.memory_us is not None
    assert fp8.floor_us is None
    assert fp8.reason == "the peak of tensor fp8 on a100 is unknown"
    nothing = roofline(H200, None, None, {})
    assert nothing.reason == "the bytes are unknown; the operations are unknown"


def test_a_kernel_without_operations_is_bound_by_memory() -> None:
    copy = roofline(gpus.find("a100"), 1 << 20, {}, {})
    assert (copy.compute_us, copy.bound, copy.flops_per_byte) == (0.0, "memory", 0.0)
