"""Rooflines; the launches of an H200 test the floors of real kernels."""

import pytest

from irlens import gpus
from irlens.analyze.roofline import roofline
from tests.analyze.h200_launches import launches

H200 = gpus.find("h200")


def test_streaming_kernels_come_close_to_the_floor() -> None:
    """The bound is worth something: the best launch of add runs at two thirds of it or more."""
    best = max(
        (launch["ncu"]["dram__bytes_read.sum"] + launch["ncu"]["dram__bytes_write.sum"])
        / 4800
        / launch["ncu"]["gpu__time_duration.sum"]
        for launch in launches()
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


def test_the_operations_that_make_the_floor_are_named() -> None:
    assert roofline(H200, 1, {"fp16": 2 << 30}, {"fp32": 1 << 20}).compute_type == "fp16 tensor"
    assert roofline(H200, 1, {"fp16": 2 << 10}, {"fp32": 1 << 20}).compute_type == "fp32"
    mixed = roofline(H200, 1, {"fp16": 1 << 30, "fp8": 1 << 30}, {})
    assert mixed.compute_type == "fp16 tensor"
    assert roofline(H200, 1, {}, {}).compute_type == ""
    assert roofline(H200, 1, {"fp16": 0}, {}).compute_type == ""
    assert roofline(gpus.find("a100"), 1, {"fp8": 2}, {}).compute_type == ""
