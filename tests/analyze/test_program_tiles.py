"""Tiles of tensors, against sets of their elements."""

from itertools import product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from irlens.analyze.program_tiles import step_of, tile_of

SHAPES = st.lists(st.integers(1, 6), min_size=1, max_size=3).map(tuple)


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
