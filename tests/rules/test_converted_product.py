from collections.abc import Callable

import pytest
import triton

from irlens.model.report import Finding

CODE = "IRL405"
Look = Callable[..., list[Finding]]

FP8 = {"a_ptr": "fp8e4nv[16, K]", "b_ptr": "fp8e4nv[K, 64]"}


def test_shows_fp8_that_is_multiplied_as_fp16(look: Look) -> None:
    """16 rows are too few for wgmma, and mma.sync multiplies no fp8 on sm_90."""
    (finding,) = look(CODE, "dots.py", args=FP8, M=16)
    assert finding.message == (
        "the product at dots.py:28 of e4m3 is computed in fp16 (mma.sync.m16n8k16), which takes 2"
        " times as long as in its operands' type"
    )
    assert (finding.stage, finding.hint) == (
        "ttir", "make the tile 64 rows tall, or more, or swap the operands",
    )  # fmt: skip


def test_silent_where_the_type_is_the_operands(look: Look) -> None:
    assert look(CODE, "dots.py", "rtx5090", args=FP8, M=16) == []
    assert look(CODE, "dots.py") == []


@pytest.mark.skipif(triton.__version__ < "3.7", reason="it does not compile fp8 for sm_80")
def test_silent_where_the_gpu_multiplies_no_such_type(look: Look) -> None:
    halves = {"a_ptr": "fp8e5[16, K]", "b_ptr": "fp8e5[K, 64]"}
    assert look(CODE, "dots.py", "a100", args=halves, M=16) == []


@pytest.mark.parametrize(("thrice", "times"), [(False, 2), (True, 6)])
def test_counts_every_product_of_widened_operands(look: Look, thrice: bool, times: int) -> None:
    """Three of tf32, each at half the rate of fp16, stand for one of fp32."""
    settings = {"DECAY": 1.0, "WIDE": True, "THRICE": thrice}
    (finding,) = look(CODE, "causes.py:decayed", "a100", **settings)
    assert f"computed in tf32, which takes {times} times as long as in fp16" in finding.message
