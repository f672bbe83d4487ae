"""Strides that follow from shapes."""

import pytest

from irlens.compiler.calls.argument_values import Argument, parse_argument
from irlens.compiler.calls.strides import strides_of


def values(names: str, **shapes: str) -> dict[str, int]:
    args: dict[str, Argument] = {n: parse_argument(each, {}, n) for n, each in shapes.items()}
    return {name: each.value for name, each in strides_of(names.split(), args).items()}


def test_attention_needs_none_of_its_sixteen_strides() -> None:
    names = " ".join(f"stride_{t}{d}" for t in "qkvo" for d in ("z", "h", "m", "k"))
    shape = "fp16[2, 8, 1024, 64]"
    found = values(f"Q K V Out sm_scale {names}", Q=shape, K=shape, V=shape, Out=shape)
    assert len(found) == 16
    assert [found[f"stride_q{d}"] for d in "zhmk"] == [8 * 1024 * 64, 1024 * 64, 64, 1]
    assert found["stride_om"] == 64


@pytest.mark.parametrize(
    ("names", "shapes", "expected"),
    [
        ("a_ptr stride_am stride_ak", {"a_ptr": "fp16[10, 30]"}, {"stride_am": 30, "stride_ak": 1}),
        ("x x_row_stride", {"x": "fp32[4, 7]"}, {"x_row_stride": 7}),
        ("x x_stride_1 x_stride_0", {"x": "fp32[4, 7]"}, {"x_stride_1": 1, "x_stride_0": 7}),
        ("x x_stride", {"x": "fp32[4]"}, {"x_stride": 1}),
        ("x_desc stride_xm", {"x_desc": "fp16[8, 16]:block[4, 4]"}, {"stride_xm": 16}),
        # Without a tensor nothing uses them, and the programs that launch it pass 0.
        (
            "x b bias x_stride bias_stride",
            {"x": "fp32[4]", "bias": "none"},
            {"x_stride": 1, "bias_stride": 0},
        ),
        (
            "b bias stride_b stride_bias",
            {"b": "fp32[4]", "bias": "none"},
            {"stride_b": 1, "stride_bias": 0},
        ),
        ("out offsets stride_om", {"out": "fp32[4, 7]", "offsets": "none"}, {"stride_om": 7}),
        ("seq stride_states_m", {"seq": "fp32[4]"}, {}),
        (
            "a_ptr a_scale_ptr stride_am stride_ak stride_ascale_m",
            {"a_ptr": "fp16[4, 7]", "a_scale_ptr": "fp32[4, 3]"},
            {"stride_am": 7, "stride_ak": 1, "stride_ascale_m": 3},
        ),
        # In doubt: which tensor, or which dimension.
        ("a_ptr b_ptr stride", {"a_ptr": "fp16[10, 30]", "b_ptr": "fp16[10, 30]"}, {}),
        ("ax ay stride_a0", {"ax": "fp16[10, 30]", "ay": "fp16[10, 30]"}, {}),
        ("x x_row_stride", {"x": "fp32[3, 4, 7]"}, {}),
        ("x x_stride_2", {"x": "fp32[4, 7]"}, {}),
        ("x stride_xm", {}, {}),
    ],
)
def test_names_and_shapes(names: str, shapes: dict[str, str], expected: dict[str, int]) -> None:
    assert values(names, **shapes) == expected
