"""Accesses of one program, against random kernels, and tiles, against sets of their elements."""

from itertools import product
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from irlens.analyze.breaking_launches import broken
from irlens.analyze.program_accesses import program_accesses, step_of, tile_of
from irlens.analyze.traffic.values import UnknownTrafficError
from irlens.isa.mlir import parse
from tests.analyze.random_ttir.accesses import INDEX
from tests.analyze.random_ttir.kernels import random_kernel

SHAPES = st.lists(st.integers(1, 6), min_size=1, max_size=3).map(tuple)


@pytest.mark.parametrize("seed", range(40))
def test_one_program_of_a_random_kernel(seed: int) -> None:
    kernel = random_kernel(Random(seed))
    program = kernel.grid[0] - 1, kernel.grid[1] - 1, 0
    executed: dict[tuple[int, str], list[tuple[Any, int]]] = {}
    for line, argument, offsets, masked, _ in kernel.program(program):
        executed.setdefault((line, argument), []).append((offsets, masked))
    found, reason = program_accesses(
        parse(kernel.text, stage="ttir"), kernel.numbers, kernel.grid, program, {"index": INDEX}
    )
    if reason:
        assert reason.startswith("line ")
        return
    for each in found:
        runs = executed.pop((each.line, each.argument))
        offsets = np.asarray(runs[0][0]) // kernel.operations[each.line][1]
        assert each.executions == len(runs)
        assert each.active == offsets.size
        assert each.first == (int(offsets.min()) if offsets.size else None)
        assert each.last == (int(offsets.max()) if offsets.size else None)
    assert executed == {}


TILE = """
module {
  tt.func public @tile(%x: !tt.ptr<f16>, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c3 = arith.constant 3 : i32
    %c8 = arith.constant dense<8> : tensor<4x1xi32>
    %c40 = arith.constant 40 : i32
    %pid = tt.get_program_id y : i32
    %r = tt.make_range {end = 4 : i32, start = 0 : i32} : tensor<4xi32>
    %rows = tt.expand_dims %r {axis = 1 : i32} : tensor<4xi32> -> tensor<4x1xi32>
    %cols = tt.expand_dims %r {axis = 0 : i32} : tensor<4xi32> -> tensor<1x4xi32>
    %down = arith.muli %rows, %c8 : tensor<4x1xi32>
    %a = tt.broadcast %down : tensor<4x1xi32> -> tensor<4x4xi32>
    %b = tt.broadcast %cols : tensor<1x4xi32> -> tensor<4x4xi32>
    %tile = arith.addi %a, %b : tensor<4x4xi32>
    %ns = tt.splat %n : i32 -> tensor<4x4xi32>
    %mask = arith.cmpi slt, %b, %ns : tensor<4x4xi32>
    scf.for %i = %c0 to %c3 step %c1 : i32 {
      %p = arith.addi %i, %pid : i32
      %far = arith.muli %p, %c40 : i32
      %fars = tt.splat %far : i32 -> tensor<4x4xi32>
      %o = arith.addi %tile, %fars : tensor<4x4xi32>
      %xs = tt.splat %x : !tt.ptr<f16> -> tensor<4x4x!tt.ptr<f16>>
      %xp = tt.addptr %xs, %o : tensor<4x4x!tt.ptr<f16>>, tensor<4x4xi32>
      %v = tt.load %xp, %mask : tensor<4x4x!tt.ptr<f16>>
    }
    tt.return
  }
}
"""


def test_strides_of_a_tile_and_the_step_of_a_loop() -> None:
    ((access,), reason) = program_accesses(
        parse(TILE, stage="ttir"), {"x": "fp16[1000]", "n": 3}, (1, 9, 1), (0, 2, 0)
    )
    assert reason == ""
    assert (access.first, access.last) == (80, 80 + 3 * 8 + 2)
    assert access.strides == (8, 1)
    assert (access.active, access.shape) == (12, (4, 4))
    assert (access.executions, access.step) == (3, 40)


@given(shape=SHAPES, data=st.data())
def test_a_tile_is_found_from_its_elements(shape: tuple[int, ...], data: st.DataObject) -> None:
    tile = tuple(
        (start, data.draw(st.integers(start + 1, extent)))
        for extent in shape
        for start in [data.draw(st.integers(0, extent - 1))]
    )
    places = np.arange(np.prod(shape)).reshape(shape)[tuple(slice(*each) for each in tile)]
    assert tile_of(places.reshape(-1), shape) == tile


@given(shape=SHAPES, data=st.data())
def test_what_does_not_fill_its_ranges_is_no_tile(
    shape: tuple[int, ...], data: st.DataObject
) -> None:
    size = int(np.prod(shape))
    places = data.draw(st.sets(st.integers(0, size - 1), min_size=1))
    found = tile_of(np.array(sorted(places)), shape)
    if found is None:
        indices = np.array([np.unravel_index(each, shape) for each in places])
        assert len(places) < np.prod(indices.max(axis=0) - indices.min(axis=0) + 1)
    else:
        inside = product(*(range(*each) for each in found))
        assert {int(np.ravel_multi_index(each, shape)) for each in inside} == places


def test_elements_outside_and_unknown_shapes_have_no_tile() -> None:
    places = np.arange(8, 13)
    assert tile_of(places, (3, 4)) is None
    assert tile_of(places - 9, (3, 4)) is None
    assert tile_of(places, None) is None
    assert tile_of(places[:0], (3, 4)) is None


def test_steps_along_each_dimension() -> None:
    shape = (10, 8)
    assert step_of(np.array([8, 32, 56]), shape) == (3, 0)
    assert step_of(np.array([0, 2, 4]), shape) == (0, 2)
    assert step_of(np.array([4, 6, 8]), shape) is None  # from one row to the next
    assert step_of(np.array([4]), shape) is None
    assert step_of(np.array([72, 96]), shape) is None
    assert step_of(np.array([0, 8]), None) is None


def test_a_type_of_another_shape_than_its_pointers_is_unknown() -> None:
    module = parse(TILE.replace("%mask : tensor<4x4x!", "%mask : tensor<4x64x!"), stage="ttir")
    found, reason = program_accesses(module, {"x": "fp16[1000]", "n": 3}, (1, 9, 1), (0, 2, 0))
    assert found == []
    assert "differ in shape" in reason


def test_a_tensor_of_more_than_64_bits_has_no_tiles() -> None:
    launch = {"x": "fp16[4294967296, 4294967296]", "n": 3}
    ((access,), reason) = program_accesses(parse(TILE, stage="ttir"), launch, (1, 9, 1), (0, 2, 0))
    assert reason == ""
    assert (access.first, access.tile, access.tile_step) == (80, None, None)


def test_a_grid_of_more_programs_than_64_bits_number_is_unknown() -> None:
    extent = (1 << 31) - 1
    grid, program = (extent,) * 3, (0, extent - 1, extent - 1)
    module = parse(TILE, stage="ttir")
    reason = "the grid has more programs than any GPU launches"
    assert program_accesses(module, {"n": 4}, grid, program) == ([], reason)
    with pytest.raises(UnknownTrafficError, match=reason):
        broken(module, {"n": 4}, grid)
