"""Distinct bytes of strided regions of one memory, overlaps counted once."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from irlens.model.operations import Region
from irlens.model.several import total

#: Runs of neighbouring bytes that are compared one by one; 32 MB for their beginnings.
_MOST_RUNS = 1 << 22


class _Box(NamedTuple):
    """Bytes from ``begin`` on, at every sum of multiples below the extent of each stride.

    Attributes:
        begin: Offset of the first byte.
        axes: Extents and strides in bytes, the largest stride first; no extent is 1, no stride 0.
    """

    begin: int
    axes: tuple[tuple[int, int], ...]

    @property
    def end(self) -> int:
        """The offset after the last byte."""
        return self.begin + sum((extent - 1) * stride for extent, stride in self.axes) + 1


def distinct_bytes(regions: Iterable[Region]) -> int | None:
    """Return how many bytes the regions have, of each memory each byte once.

    Returns:
        ``None`` where regions overlap in a way that is too large to count.
    """
    memories: dict[int, list[Region]] = {}
    for region in dict.fromkeys(regions):
        if 0 not in region.shape:
            memories.setdefault(region.memory, []).append(region)
    return total(_in_memory(each) for each in memories.values())


def _in_memory(regions: Sequence[Region]) -> int | None:
    """Return the distinct bytes of regions of one memory; where data decides, the most."""
    whole = _union(sorted({_box(each) for each in regions if each.most is None}))
    if all(each.most is None for each in regions):
        return whole
    everything = _union(sorted({_box(each) for each in regions}))
    if whole is None or everything is None:
        return None
    some = sum(each.most * each.item_bytes for each in regions if each.most is not None)
    return min(everything, whole + some)


def same_bytes(left: Region, right: Region) -> bool:
    """Whether two regions of a memory have the same bytes, in whatever order."""
    if left.memory != right.memory or not left.most is right.most is None:
        return False
    if 0 in left.shape or 0 in right.shape:
        return 0 in left.shape and 0 in right.shape
    if _box(left) == _box(right):
        return True
    both, one, other = (distinct_bytes(each) for each in ([left, right], [left], [right]))
    return both is not None and both == one == other


def same_order(left: Region, right: Region) -> bool:
    """Whether two regions of a memory have the same elements at the same positions."""
    return (
        left.memory == right.memory
        and left.most is right.most is None
        and left.offset * left.item_bytes == right.offset * right.item_bytes
        and left.item_bytes == right.item_bytes
        and _without_ones(left) == _without_ones(right)
    )


def _without_ones(region: Region) -> list[tuple[int, int]]:
    return [pair for pair in zip(region.shape, region.strides, strict=True) if pair[0] != 1]


def _box(region: Region) -> _Box:
    """Return a region as a box; neighbouring axes that step as one are one."""
    size = region.item_bytes
    axes = [
        (extent, stride * size)
        for extent, stride in zip(region.shape, region.strides, strict=True)
        if extent > 1 and stride
    ]
    axes.append((size, 1))
    merged: list[tuple[int, int]] = []
    for extent, stride in sorted(axes, key=lambda axis: (-axis[1], axis[0])):
        if merged and merged[-1][1] == extent * stride:
            extent *= merged.pop()[0]
        merged.append((extent, stride))
    return _Box(region.offset * size, tuple(axis for axis in merged if axis[0] > 1))


def _union(boxes: Sequence[_Box]) -> int | None:
    if not boxes:
        return 0
    if len(boxes) == 1 and _is_injective(boxes[0].axes):
        return _volume(boxes[0])
    outer = {box.axes[0] if box.axes else None for box in boxes}
    if len(outer) == 1 and None not in outer:  # a stack of equal slices that do not touch
        extent, stride = boxes[0].axes[0]
        inner = [_Box(box.begin, box.axes[1:]) for box in boxes]
        if max(box.end for box in inner) - min(box.begin for box in inner) <= stride:
            size = _union(sorted(set(inner)))
            return None if size is None else extent * size
    parts = _apart(boxes)
    if len(parts) > 1:
        return total(map(_union, parts))
    return _counted(boxes)


def _volume(box: _Box) -> int:
    size = 1
    for extent, _ in box.axes:
        size *= extent
    return size


def _is_injective(axes: Sequence[tuple[int, int]]) -> bool:
    """Whether no two indices are the same byte: each stride is beyond all that is inside of it."""
    span = 1
    for extent, stride in reversed(axes):
        if stride < span:
            return False
        span += (extent - 1) * stride
    return True


def _apart(boxes: Sequence[_Box]) -> list[list[_Box]]:
    """Return the boxes in groups whose ranges of addresses are disjoint."""
    parts: list[list[_Box]] = []
    end = -1
    for box in boxes:
        if parts and box.begin < end:
            parts[-1].append(box)
        else:
            parts.append([box])
        end = max(end, box.end)
    return parts


def _counted(boxes: Sequence[_Box]) -> int | None:
    """Count bytes run by run."""
    begins, ends = [], []
    for box in boxes:
        run = box.axes[-1][0] if box.axes and box.axes[-1][1] == 1 else 1
        outer = box.axes[:-1] if run > 1 else box.axes
        if _volume(_Box(0, outer)) > _MOST_RUNS:
            return None
        starts = np.array([box.begin], dtype=np.int64)
        for extent, stride in outer:
            starts = np.add.outer(starts, np.arange(extent, dtype=np.int64) * stride).ravel()
        begins.append(starts)
        ends.append(starts + run)
    begin, end = np.concatenate(begins), np.concatenate(ends)
    order = np.argsort(begin, kind="stable")
    begin, reach = begin[order], np.maximum.accumulate(end[order])
    before = np.concatenate(([begin[0]], reach[:-1]))
    return int(np.maximum(reach - np.maximum(begin, before), 0).sum())
