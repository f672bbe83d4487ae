"""A grid function called with symbols gives the same grid for every configuration, or nothing."""

import itertools
import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
import triton

from irlens.compiler.calls.binding import evaluate_formula
from irlens.compiler.triton_compat.grid_tracing import trace_grid
from irlens.model.config import GridFormula

M, N = 1000, 4096
BLOCKS = (16, 64, 128)


def tiles(meta: dict[str, Any]) -> tuple[Any, ...]:
    rows = triton.cdiv(M, meta["BLOCK_M"])
    if meta["SPLIT"] == 1:
        return (rows * triton.cdiv(N, meta["BLOCK_N"]),)
    return rows * triton.cdiv(N, meta["BLOCK_N"]), meta["SPLIT"]


@pytest.mark.parametrize(
    "grid",
    [
        lambda meta: (triton.cdiv(M, meta["BLOCK_M"]), triton.cdiv(N, meta["BLOCK_N"])),
        lambda meta: (triton.cdiv(M, meta["BLOCK_M"]) * triton.cdiv(N, meta["BLOCK_N"]), 1, 1),
        lambda meta: (min(132, triton.cdiv(M, meta["BLOCK_M"])),),
        lambda meta: (max(4, M // meta["BLOCK_M"] - 3), meta["SPLIT"]),
        lambda meta: (math.ceil(M / meta["BLOCK_M"]), meta["heads"]),
        lambda meta: ((M + meta["BLOCK_M"] - 1) // meta["BLOCK_M"], 2 if meta["SPLIT"] > 1 else 1),
        lambda meta: (N,),
    ],
)
def test_the_expressions_give_the_function_s_own_grid(grid: Callable[..., Any]) -> None:
    bound = {"BLOCK_M": 64, "BLOCK_N": 64, "SPLIT": 2, "heads": 8, "x_ptr": object()}
    names = ("BLOCK_M", "BLOCK_N", "SPLIT")
    axes = trace_grid(grid, bound, names, grid(bound))
    assert axes
    for values in itertools.product(BLOCKS, BLOCKS, (1, 2, 8)):
        other = dict(zip(names, values, strict=True))
        expected = (*grid({**bound, **other}), 1, 1)[:3]
        assert evaluate_formula(GridFormula(axes, dict(other))) == expected


def test_different_numbers_of_axes_are_unknown() -> None:
    bound = {"BLOCK_M": 64, "BLOCK_N": 64, "SPLIT": 2}
    assert trace_grid(tiles, bound, tuple(bound), tiles(bound)) == ()


def test_what_is_no_arithmetic_is_unknown() -> None:
    table = {64: 5}
    bound = {"BLOCK": 64}
    for grid in (
        lambda meta: (table[meta["BLOCK"]],),
        lambda meta: (int(meta["BLOCK"]),),
        lambda meta: (triton.next_power_of_2(meta["BLOCK"]),),
        lambda meta: (len(range(meta["BLOCK"])),),
        lambda meta: (int(meta["BLOCK"] * 0.5),),
    ):
        assert trace_grid(grid, bound, ("BLOCK",), grid(bound)) == ()
    assert trace_grid((4,), bound, ("BLOCK",), (4,)) == ()


def test_a_function_with_effects_is_not_called_again() -> None:
    seen: list[object] = []
    place = SimpleNamespace(block=0)

    def fills(meta: dict[str, Any]) -> tuple[Any, ...]:
        seen.append(meta["BLOCK"])
        return (triton.cdiv(N, meta["BLOCK"]),)

    def stores(meta: dict[str, Any]) -> tuple[Any, ...]:
        place.block = meta["BLOCK"]
        return (triton.cdiv(N, meta["BLOCK"]),)

    bound = {"BLOCK": 64}
    for grid in (fills, stores):
        assert trace_grid(grid, bound, ("BLOCK",), grid(bound)) == ()
    assert seen == [64]
    assert place.block == 64


def test_what_contradicts_the_launch_is_unknown() -> None:
    assert trace_grid(lambda meta: (meta["BLOCK"],), {"BLOCK": 64}, ("BLOCK",), (63,)) == ()
