"""Distinct bytes of regions, against a set of byte addresses."""

from hypothesis import given, settings
from hypothesis import strategies as st

from irlens.analyze.regions import distinct_bytes, same_bytes
from irlens.model.operations import Region


def addresses(region: Region) -> set[int]:
    found = {region.offset}
    for extent, stride in zip(region.shape, region.strides, strict=True):
        found = {base + index * stride for base in found for index in range(extent)}
    return {base * region.item_bytes + byte for base in found for byte in range(region.item_bytes)}


@st.composite
def regions(draw: st.DrawFn) -> Region:
    rank = draw(st.integers(0, 3))
    return Region(
        0,
        "fp32",
        draw(st.sampled_from([1, 2, 4])),
        tuple(draw(st.integers(0, 4)) for _ in range(rank)),
        tuple(draw(st.sampled_from([0, 1, 2, 3, 4, 8, 12, 16])) for _ in range(rank)),
        draw(st.integers(0, 20)),
    )


@settings(max_examples=500, deadline=None)
@given(st.lists(regions(), max_size=4))
def test_bytes_are_counted_once(some: list[Region]) -> None:
    assert distinct_bytes(some) == len(set().union(*map(addresses, some)))


@settings(max_examples=300, deadline=None)
@given(regions(), regions())
def test_the_same_bytes(left: Region, right: Region) -> None:
    assert same_bytes(left, right) == (addresses(left) == addresses(right))


def test_large_regions_are_counted_without_listing_them() -> None:
    even = Region(0, "fp16", 2, (1 << 20, 512), (1024, 2))
    odd = Region(0, "fp16", 2, (1 << 20, 512), (1024, 2), 1)
    assert distinct_bytes([even, odd]) == 2 << 30
    upper = Region(0, "fp16", 2, (1 << 20, 600), (1024, 1))
    lower = Region(0, "fp16", 2, (1 << 20, 600), (1024, 1), 424)
    assert distinct_bytes([upper, lower]) == 2 << 30


def test_memories_do_not_overlap() -> None:
    assert (
        distinct_bytes([Region(0, "fp32", 4, (8,), (1,)), Region(1, "fp32", 4, (8,), (1,))]) == 64
    )


def test_where_data_decides_the_most_counts() -> None:
    table = Region(0, "fp32", 4, (50, 16), (16, 1), most=7 * 16)
    assert distinct_bytes([table]) == 4 * 7 * 16
    assert distinct_bytes([table, Region(0, "fp32", 4, (50, 16), (16, 1))]) == 4 * 50 * 16
