from collections.abc import Callable

import pytest

from irlens.model.report import Finding

pytestmark = pytest.mark.compiled_to("ttgir")  # all that the rule needs

CODE = "IRL401"
Look = Callable[..., list[Finding]]


HALVES = {"a_ptr": "fp16[64, K]", "b_ptr": "fp16[K, 64]"}


def test_shows_fp32_at_full_precision(look: Look) -> None:
    (finding,) = look(CODE, "dots.py", PRECISION="ieee")
    assert finding.message == (
        "the dot at dots.py:28 of 64 x 32 fp32 by 32 x 64 fp32 does not use tensor cores"
    )
    assert finding.hint.startswith('allow input_precision="tf32"')


def test_shows_what_the_compiler_gave_up_on(look: Look) -> None:
    """Triton 3.6 and 3.9 compile dots for Turing, which has tensor cores for fp16, to FMAs."""
    (finding,) = look(CODE, "dots.py", "sm_75", args=HALVES)
    assert "64 x 32 fp16" in finding.message


def test_silent_where_fp32_is_rounded(look: Look) -> None:
    assert look(CODE, "dots.py", PRECISION="tf32") == []


def test_silent_on_every_kind_of_tensor_core(look: Look) -> None:
    for target in ("a100", "h100", "b200", "rtx5090"):
        assert look(CODE, "dots.py", target, args=HALVES) == [], target


def test_speaks_as_amd_does(look: Look) -> None:
    """RDNA 3 multiplies no fp32 in its matrix cores, and AMD has no tf32 to allow."""
    (finding,) = look(CODE, "dots.py", "rx7900xtx", PRECISION="ieee")
    assert finding.message.endswith("does not use matrix cores")
    assert finding.hint == "cast to fp16 or bf16"
