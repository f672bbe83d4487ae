"""How long the requests of loads and stores occupy an SM, by the lines that their lanes touch.

Measured on an H100 (``benchmarks/l1_requests.py``), and assumed of other GPUs.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import msgspec

from irlens.model.source import SourceLocation
from irlens.model.traffic import Access

_LANES = 32
_SECTOR_BYTES = 32
#: Bytes that the L1 delivers in a cycle.
_DELIVERED = 128
#: Lines of a load that it looks up in a cycle; of those that it lacks it takes one.
_LOOKED_UP = 2


class Occupied(msgspec.Struct, frozen=True):
    """What the requests of loads and stores occupy of all SMs together, in cycles.

    Attributes:
        loads: Of the L1.
        stores: Of the way to the L2.
        of_request: Of one of them, one request of an access, by its place, if its lines take
            longer than its bytes.
    """

    loads: float = 0.0
    stores: float = 0.0
    of_request: Mapping[SourceLocation, float] = MappingProxyType({})


def occupied(accesses: Sequence[Access], lines: Sequence[int], missed: float) -> Occupied:
    """Return what accesses occupy.

    Args:
        lines: 128-byte lines that the requests of each touch, added up.
        missed: Part of the loads' sectors that the L1 takes from the L2, 0..1.
    """
    taken = {"load": 0.0, "store": 0.0, "atomic": 0.0}
    of_request: dict[SourceLocation, float] = {}
    for each, touched in zip(accesses, lines, strict=False):
        words = (each.requests or 0) * max(1.0, _LANES * (each.width or 0) / _DELIVERED)
        cycles = max(words, _line_cycles(each, touched, missed))
        taken[each.direction] += cycles
        if each.source is not None and each.requests and cycles > words:
            of_request[each.source] = cycles / each.requests
    return Occupied(taken["load"], taken["store"], of_request)


def _line_cycles(access: Access, lines: int, missed: float) -> float:
    """Return the cycles that the lines of an access take, whatever its bytes take.

    The L1 looks up each line of a load. A store that writes sectors in part sends each of them, and
    the address of each line.
    """
    if access.direction == "load":
        return lines / _LOOKED_UP * (1 + missed)
    sectors = access.sectors or 0
    in_part = access.direction == "store" and access.bytes < _SECTOR_BYTES * sectors
    return sectors + lines if in_part else 0.0
