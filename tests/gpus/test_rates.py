"""Peaks per type against the vendors' data sheets, which the rates were not taken from."""

import pytest

from irlens import gpus
from irlens.gpus.rates import RATES, Dtype, Rates
from tests.tables import each_row

# Dense TFLOP/s (TOP/s for int8) as the data sheets and white papers state them.
TENSOR: dict[str, dict[Dtype, float]] = {
    "v100": {"fp16": 125},
    "t4": {"fp16": 65, "int8": 130},
    "a100": {"fp64": 19.5, "tf32": 156, "bf16": 312, "fp16": 312, "int8": 624},
    "a100-80gb": {"fp64": 19.5, "tf32": 156, "bf16": 312, "fp16": 312, "int8": 624},
    "a10": {"tf32": 62.5, "bf16": 125, "fp16": 125, "int8": 250},
    "rtx3090": {"tf32": 35.6, "bf16": 71, "fp16": 142, "int8": 284},
    "l4": {"tf32": 60, "bf16": 121, "fp16": 121, "fp8": 242.5, "int8": 242.5},
    "l40s": {"tf32": 183, "bf16": 362, "fp16": 362, "fp8": 733, "int8": 733},
    "rtx4090": {"tf32": 82.6, "bf16": 165.2, "fp16": 330.3, "fp8": 660.6, "int8": 660.6},
    "rtx5090": {
        "tf32": 104.8,
        "bf16": 209.5,
        "fp16": 419,
        "fp8": 838,
        "fp4": 1676,
        "int8": 838,
    },
    "mi100": {"fp32": 46.1, "bf16": 92.3, "fp16": 184.6, "int8": 184.6},
    "mi210": {"fp64": 45.3, "fp32": 45.3, "bf16": 181, "fp16": 181, "int8": 181},
    "mi300x": {
        "fp64": 163.4,
        "fp32": 163.4,
        "tf32": 653.7,
        "bf16": 1307.4,
        "fp16": 1307.4,
        "fp8": 2614.9,
        "int8": 2614.9,
    },
    "mi355x": {"fp64": 78.6, "fp32": 157.3, "fp16": 2516.6, "fp8": 5033.2, "fp4": 10066},
    "rx7900xtx": {"bf16": 122.8, "fp16": 122.8, "int8": 122.8},
    "rx9070xt": {"fp16": 195, "fp8": 389, "int8": 389},
}
# Dense TFLOP/s "with FP32 Accumulate" (NVIDIA, 'Ada' and 'RTX Blackwell GPU Architecture'); those
# of workstations have one rate for both.
IN_FP32: dict[str, dict[Dtype, float]] = {
    "rtx3090": {"fp16": 71, "bf16": 71},
    "rtx4090": {"fp16": 165.2, "fp8": 330.3, "bf16": 165.2},
    "rtx5090": {"fp16": 209.5, "fp8": 419, "fp4": 1676, "int8": 838},
    "rtx5080": {"fp16": 112.6, "fp8": 225.1},
    "l40s": {"fp16": 362, "fp8": 733},
    "rtx6000-ada": {"fp16": 364.2, "fp8": 728.5},
    "a100": {"fp16": 312},
}
VECTOR: dict[str, dict[Dtype, float]] = {
    "v100": {"fp64": 7.8, "fp32": 15.7, "fp16": 31.3},
    "t4": {"fp32": 8.1},
    "a100": {"fp64": 9.7, "fp32": 19.5, "bf16": 39, "fp16": 78},
    "a10": {"fp32": 31.2},
    "l4": {"fp32": 30.3},
    "rtx4090": {"fp32": 82.6, "fp16": 82.6, "bf16": 82.6},
    "h100": {"fp64": 33.5, "fp32": 66.9, "bf16": 133.8, "fp16": 133.8},
    "h200": {"fp64": 34, "fp32": 67},
    "b200": {"fp64": 37, "fp32": 75},
    "mi210": {"fp64": 22.6, "fp32": 45.3},
    "mi300x": {"fp64": 81.7, "fp32": 163.4},
    "mi355x": {"fp64": 78.6, "fp32": 157.3},
}
# Data sheets compute the peaks of these at a lower clock than the device's highest, at which a
# short kernel may run: the row's peak is above, by as much as the clocks differ.
SLOWER_CLOCK: dict[str, tuple[float, dict[Dtype, float]]] = {
    "h100": (1830, {"tf32": 494.7, "bf16": 989.4, "fp16": 989.4, "fp8": 1978.9, "int8": 1978.9}),
    "h200": (1830, {"tf32": 494.7, "bf16": 989.4, "fp16": 989.4, "fp8": 1978.9, "int8": 1978.9}),
    "h100-pcie": (1620, {"tf32": 378, "bf16": 756, "fp16": 756, "fp8": 1513, "int8": 1513}),
    "b200": (1856, {"tf32": 1125, "bf16": 2250, "fp16": 2250, "fp8": 4500, "fp4": 9000}),
}


def _cases(table: dict[str, dict[Dtype, float]]) -> list[tuple[str, Dtype, float]]:
    return [(name, dtype, peak) for name, row in table.items() for dtype, peak in row.items()]


@each_row(("name", "dtype", "peak"), _cases(TENSOR))
def test_tensor_peaks_are_those_of_data_sheets(name: str, dtype: Dtype, peak: float) -> None:
    found = gpus.find(name).peak_flops(dtype, "tensor")
    assert found == pytest.approx(peak * 1e12, rel=0.02)


@each_row(("name", "dtype", "peak"), _cases(IN_FP32))
def test_geforce_cards_accumulate_in_fp32_at_half_the_rate(
    name: str, dtype: Dtype, peak: float
) -> None:
    found = gpus.find(name).peak_flops(dtype, "tensor", in_fp32=True)
    assert found == pytest.approx(peak * 1e12, rel=0.02)


@each_row(("name", "dtype", "peak"), _cases(VECTOR))
def test_vector_peaks_are_those_of_data_sheets(name: str, dtype: Dtype, peak: float) -> None:
    found = gpus.find(name).peak_flops(dtype, "vector")
    assert found == pytest.approx(peak * 1e12, rel=0.02)


@pytest.mark.parametrize("name", SLOWER_CLOCK)
def test_peaks_are_at_the_highest_clock(name: str) -> None:
    megahertz, peaks = SLOWER_CLOCK[name]
    gpu = gpus.find(name)
    assert gpu.product
    assert gpu.product.clock
    for dtype, peak in peaks.items():
        found = gpu.peak_flops(dtype, "tensor")
        assert found == pytest.approx(peak * 1e12 * gpu.product.clock / megahertz / 1e6, rel=0.005)


def test_every_row_of_rates_is_an_architecture() -> None:
    for name, rates in RATES.items():
        assert gpus.by_arch(name).rates == rates


def test_what_is_not_known_has_no_peak() -> None:
    assert gpus.find("sm_90").peak_flops("fp16", "tensor") is None  # no product
    assert gpus.find("gb10").peak_flops("fp16", "tensor") is None  # no rates
    assert gpus.find("a10g").peak_flops("fp16", "tensor") is None  # no clock
    assert gpus.find("a100").peak_flops("fp8", "tensor") is None  # no such products
    assert gpus.find("l40").peak_flops("fp16", "tensor") is None  # sources disagree
    assert gpus.find("a100").peak_flops("fp8", "vector") is None


def test_capacity_of_the_l2() -> None:
    known = {
        gpu.name: gpu.product.l2_bytes
        for gpu in gpus.gpus()
        if gpu.product and gpu.product.l2_bytes
    }
    assert known["h100"] == 52_428_800  # CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE of a device
    assert known["rtx4090"] == 73_728 * 1024
    assert known["rtx2080ti"] == 5_767_168
    assert "gb10" not in known


@pytest.mark.parametrize(
    ("tensor", "vector", "complaint"),
    [
        ({"fp16": 0}, {"fp32": 128}, "a rate is not positive"),
        ({"fp16": 1023}, {"fp32": 128}, "a rate is odd"),
        ({}, {"fp64": 64}, "no rate of fp32"),
        ({"fp16": 1024, "fp8": 512}, {"fp32": 128}, "a narrower type is slower"),
        ({"fp16": 64}, {"fp32": 128}, "vectors are faster than matrices"),
    ],
)
def test_rows_check_themselves(
    tensor: dict[Dtype, int], vector: dict[Dtype, int], complaint: str
) -> None:
    with pytest.raises(ValueError, match=complaint):
        Rates(tensor=tensor, vector=vector, source="a test")
