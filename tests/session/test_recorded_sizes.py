"""Sizes of recorded launches: what follows what, where values were equal."""

from pathlib import Path

import msgspec
import pytest

from irlens import gpus
from irlens.compiler import Request
from irlens.model.config import ConstexprValue
from irlens.session.recorded_sizes import recorded_sizes

SOURCE = """
import triton
import triton.language as tl

@triton.jit
def rows(x, out, n, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    tl.store(out + row, tl.sum(tl.load(x + row * stride + at, mask=at < n, other=0.0), 0))

@triton.jit
def tiles(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n), mask=at < n)
"""


@pytest.fixture
def launch(tmp_path: Path) -> Request:
    file = tmp_path / "kernels.py"
    file.write_text(SOURCE)
    return Request(
        kernel=f"{file}:rows",
        target=gpus.find("h100").target,
        settings={"BLOCK": 1024},
        args={"x": "fp32[512, 1000]", "out": "fp32[512]", "n": 1000, "stride": 1000},
        grid=(512, 1, 1),
    )


def test_rows_are_a_size_that_no_argument_has(launch: Request) -> None:
    recorded = recorded_sizes(launch)
    assert recorded.names == ["x_shape_0", "n"]
    assert recorded.request.grid == ("x_shape_0", 1, 1)
    assert recorded.request.args == {
        "x_shape_0": 512, "x": "fp32[x_shape_0, n]", "out": "fp32[x_shape_0]", "n": 1000,
        "stride": "n",
    }  # fmt: skip
    assert recorded.follows == [
        "x=fp32[x_shape_0, n]", "out=fp32[x_shape_0]", "stride=n", "grid x_shape_0, 1, 1"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "follows"),
    [
        ({"x": "fp32[1000, 1000]", "out": "fp32[1000]"}, []),  # both extents are n's
        ({"out": "fp32[7]", "stride": 2000, "x": "fp32[7, 2, 1000]"}, ["x=fp32[7, 2, n]"]),
        (
            {"x": "fp32[512, 1000, 6]", "out": "fp32[512, 2, 3000]", "stride": 6000},
            ["x=fp32[x_shape_0, 1000, 6]"],
        ),
        ({"x": "fp32[512, 1000]:[1024, 1]"}, None),  # strides of its own
    ],
)
def test_values_that_are_ambiguous_stay(
    launch: Request, changes: dict[str, ConstexprValue], follows: list[str] | None
) -> None:
    recorded = recorded_sizes(msgspec.structs.replace(launch, args=launch.args | changes))
    args = recorded.request.args
    if follows is None:
        assert args["x"] == changes["x"]
        return
    assert args["x"] == (follows[0].partition("=")[2] if follows else changes["x"])
    given = {**launch.args, **changes}["stride"]
    assert args["stride"] == ("2 * n" if given == 2000 else given)


def test_the_source_tells_a_grid_of_numbers(launch: Request) -> None:
    tiles = msgspec.structs.replace(
        launch,
        kernel=launch.kernel.replace(":rows", ":tiles"),
        args={"x": "fp32[100000]", "out": "fp32[100000]", "n": 100000},
        grid=(98, 1, 1),
    )
    formula = msgspec.structs.replace(tiles, grid=("(100000 + (BLOCK - 1)) // BLOCK",))
    assert recorded_sizes(tiles).request.grid == ("cdiv(n, BLOCK)",)
    assert recorded_sizes(formula).request.grid == ("(n + (BLOCK - 1)) // BLOCK",)
    other = msgspec.structs.replace(tiles, grid=(50, 1, 1))  # the program knows why
    assert recorded_sizes(other).request.grid == (50, 1, 1)
    assert recorded_sizes(other).names == ["n"]
