from collections.abc import Callable

import pytest

from irlens.model.report import Finding

CODE = "IRL305"
Look = Callable[..., list[Finding]]


@pytest.mark.parametrize(
    ("target", "registers"), [("h100", "2 registers per thread"), ("mi300x", "1 register per lane")]
)
def test_shows_a_load_that_a_loop_repeats(look: Look, target: str, registers: str) -> None:
    (finding,) = look(CODE, "memory.py:scaled", target)
    assert finding.message == (
        "the load at memory.py:74 reads the same 1,024 B of scale_ptr in each of 16 iterations of"
        f" a program; {registers} would keep them"
    )


def test_silent_on_a_loop_of_one_iteration(look: Look) -> None:
    assert look(CODE, "memory.py:scaled", args={"n_cols": 256}) == []


def test_shows_passes_over_a_row_that_registers_hold(look: Look) -> None:
    (finding,) = look(CODE, "layer_norm_looped")
    assert finding.message == (
        "a program reads the same 30,720 B of input_ptr 3 times, at lines 43, 49, 57; 30 registers"
        " per thread would keep them"
    )


def test_silent_on_passes_over_a_long_row(look: Look) -> None:
    assert look(CODE, "softmax_online") == []


@pytest.mark.parametrize("kernel", ["matmul_tiled", "flash_attention", "layer_norm_backward"])
def test_silent_on_samples(look: Look, kernel: str) -> None:
    assert look(CODE, kernel) == []
