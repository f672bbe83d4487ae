"""The runs of consecutive bytes that a warp's request accesses, and the sectors that they need.

A request touches more sectors than hold its bytes for two reasons: its bytes are many short runs,
or a run starts off a boundary between sectors and takes one sector more.
"""

from typing import TYPE_CHECKING, TypeAlias

import msgspec

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Integers: TypeAlias = NDArray[np.int64]
    Booleans: TypeAlias = NDArray[np.bool_]

_NOWHERE = -(1 << 62)  # address of a lane that is masked


class Runs(msgspec.Struct, frozen=True):
    """The runs of requests, added up.

    Attributes:
        dense_sectors: The fewest sectors that hold as many bytes as each request accesses.
        aligned_sectors: The sectors that the requests would touch if each run started at a
            boundary between sectors; never more than they do touch.
        starts: Bit n is set if a run starts n bytes past such a boundary. The runs of programs
            that touch no more sectors than hold their bytes count as starting at one.
    """

    dense_sectors: int = 0
    aligned_sectors: int = 0
    starts: int = 0

    def __add__(self, other: "Runs") -> "Runs":
        return Runs(
            self.dense_sectors + other.dense_sectors,
            self.aligned_sectors + other.aligned_sectors,
            self.starts | other.starts,
        )


def count_runs(
    first: "Integers",
    lanes: "Booleans",
    touched: "Integers",
    weights: "Integers",
    *,
    width: int,
    granule: int,
) -> Runs:
    """Count what the runs of some programs' requests need.

    Args:
        first: Address of each lane's first byte; the dimensions are programs, requests and lanes.
        width: Bytes that a lane accesses.
        granule: Bytes of a sector.
    """
    import numpy as np

    begins = np.sort(np.where(lanes, first, _NOWHERE), axis=-1)
    opens = begins != _NOWHERE
    closes = opens.copy()
    opens[..., 1:] &= begins[..., 1:] > begins[..., :-1] + width
    closes[..., :-1] &= opens[..., 1:]
    starts = np.maximum.accumulate(np.where(opens, begins, _NOWHERE), axis=-1)
    lengths = np.where(closes, begins + width - starts, 0)
    dense = -(-lengths.sum(axis=-1) // granule)
    aligned = np.minimum((-(-lengths // granule)).sum(axis=-1), touched)
    return Runs(
        int((dense.sum(axis=-1) * weights).sum()),
        int((aligned.sum(axis=-1) * weights).sum()),
        # Not np.unique, which imports numpy.ma to look for masked arrays.
        sum(1 << int(each) for each in np.flatnonzero(np.bincount(begins[opens] % granule))),
    )
