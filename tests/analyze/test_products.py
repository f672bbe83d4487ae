"""The types that products are computed in, hand-read from the PTX and AMD's assembly."""

from pathlib import Path

import pytest

from irlens.compiler import Request, capture
from irlens.gpus import find
from irlens.model.config import ConstexprValue
from irlens.model.report import Report
from irlens.model.traffic import MatrixProduct
from irlens.render.view.verdict import verdict
from irlens.report import inspect

DATA = Path(__file__).parents[1] / "data" / "products"
SIDE = 64


def report_of(
    kernel: str, target: str, args: dict[str, ConstexprValue], **settings: ConstexprValue
) -> Report:
    request = Request(
        kernel=str(DATA / kernel), target=find(target).target, args=args, settings=settings
    )
    (found,) = capture(request)
    return inspect(found)


def dot(
    target: str, left: str, right: str = "", m: int = SIDE, precision: str = "ieee"
) -> tuple[Report, MatrixProduct]:
    args: dict[str, ConstexprValue] = {
        "a": f"{left}[{m}, {SIDE}]", "b": f"{right or left}[{SIDE}, {SIDE}]",
        "c": f"fp32[{m}, {SIDE}]",
    }  # fmt: skip
    report = report_of("dots.py:dot", target, args, m=m, precision=precision)
    (product,) = report.products
    assert product.shape == (m, SIDE, SIDE)
    assert report.traffic is not None
    assert report.traffic.flops == {product.rate: 2 * m * SIDE * SIDE}
    return report, product


@pytest.mark.parametrize(
    ("target", "left", "right", "computed", "rate", "slowdown"),
    [
        ("h100", "fp8e4nv", "", "e4m3", "fp8", 1),
        ("h100", "fp8e5", "fp8e4nv", "e5m2 × e4m3", "fp8", 1),
        ("sm_80", "fp8e5", "", "fp16", "fp16", None),  # the A100 multiplies no fp8
        ("sm_89", "fp8e5", "", "e5m2", "fp8", 1),
        ("mi300x", "fp8e5", "", "fp16", "fp16", 2),  # CDNA 3 has the fnuz formats alone
        ("mi300x", "fp8e5b16", "fp8e4b8", "e5m2fnuz × e4m3fnuz", "fp8", 1),
    ],
)
def test_types(
    target: str, left: str, right: str, computed: str, rate: str, slowdown: float | None
) -> None:
    _, product = dot(target, left, right)
    assert (product.computed, product.rate) == (computed, rate)
    assert product.slowdown == slowdown
    assert product.on_tensor_cores is True


def test_a_conversion_that_only_the_instructions_show() -> None:
    """16 rows are too few for wgmma, and mma.sync multiplies no fp8 on sm_90."""
    report, product = dot("h100", "fp8e4nv", m=16)
    assert (product.computed, product.instruction) == ("fp16", "mma.sync.m16n8k16")
    (finding,) = (each for each in report.findings if each.code == "IRL405")
    assert finding.message == (
        f"the product at {product.source} of e4m3 is computed in fp16 (mma.sync.m16n8k16), which"
        " takes 2 times as long as in its operands' type"
    )
    phrases = {each.text: each.tone for each in verdict(report).phrases}
    assert phrases["e4m3 multiplied in fp16"] == "warn"


@pytest.mark.parametrize(
    ("precision", "rate", "times"), [("tf32x3", "tf32", 3), ("bf16x6", "bf16", 6)]
)
def test_several_products_in_place_of_one(precision: str, rate: str, times: int) -> None:
    report, product = dot("h100", "fp32", precision=precision)
    assert (product.computed, product.repeated) == (rate, times)
    assert report.traffic is not None
    assert report.traffic.multiplied_flops == {rate: times * 2 * SIDE**3}


def test_fp32_without_tensor_cores() -> None:
    report, product = dot("h100", "fp32")
    assert (product.computed, product.on_tensor_cores) == ("fp32", False)
    assert report.traffic is not None
    assert report.traffic.tensor_flops == {}


SCALED = [
    ("b200", "e4m3", "e4m3", True, 32, "e4m3", "fp8"),
    ("b200", "e2m1", "e2m1", True, 32, "e2m1", "fp4"),
    ("b200", "e2m1", "e2m1", True, 16, "e2m1", "fp4"),
    ("b200", "e2m1", "e2m1", False, 32, "e2m1", "fp8"),  # packed along M and N
    ("b200", "e2m1", "e4m3", True, 32, "e2m1 × e4m3", "fp8"),
    ("rtx5090", "e2m1", "e2m1", True, 32, "e2m1", "fp4"),
    ("gfx950", "e2m1", "e2m1", True, 32, "e2m1", "fp4"),
    ("gfx950", "e2m1", "e4m3", True, 32, "e2m1 × e4m3", "fp8"),
    ("h100", "e4m3", "e4m3", True, 32, "bf16", "bf16"),
]


@pytest.mark.parametrize(
    ("target", "left", "right", "along_k", "group", "computed", "rate"), SCALED
)
def test_block_scaled(
    target: str, left: str, right: str, along_k: bool, group: int, computed: str, rate: str
) -> None:
    m, n, k = 128, 64, 128
    dtypes = {"e2m1": "uint8", "e4m3": "fp8e4nv"}
    scale = "uint8" if group == 32 else "fp8e4nv"
    args: dict[str, ConstexprValue] = {
        "A": f"{dtypes[left]}[{m * k}]", "B": f"{dtypes[right]}[{k * n}]",
        "SA": f"{scale}[{m}, {k // group}]", "SB": f"{scale}[{n}, {k // group}]",
        "C": f"fp32[{m}, {n}]",
    }  # fmt: skip
    report = report_of(
        "scaled.py:scaled", target, args, BM=m, BN=n, BK=k, FA=left, FB=right, HA=True, HB=True,
        PA=along_k, PB=along_k, G=group,
    )  # fmt: skip
    (product,) = report.products
    assert product.shape == (m, n, k)
    assert (product.computed, product.rate) == (computed, rate)
    assert report.traffic is not None
    assert report.traffic.flops == {rate: 2 * m * n * k}
