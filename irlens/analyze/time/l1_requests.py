"""How long the requests of loads and stores occupy an SM, by the words that their lanes touch.

Measured on an H100 and an H200 (``benchmarks/l1_requests.py``), and assumed of other GPUs.
"""

from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType

import msgspec

from irlens.model.source import SourceLocation
from irlens.model.traffic import Access

_LANES = 32
_SECTOR_BYTES = 32
#: Bytes that the L1 delivers in a cycle.
_DELIVERED = 128


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


def occupied(
    accesses: Sequence[Access],
    lines: Sequence[int],
    wavefronts: Sequence[int],
    copied: Collection[SourceLocation] = (),
) -> Occupied:
    """Return what accesses occupy.

    Args:
        lines: 128-byte lines that the requests of each touch, added up.
        wavefronts: Cycles for which the L1 delivers what each loads.
        copied: Places of the copies to shared memory, which is busy for as long as their words
            take: the L1 is for what their lines take beyond that.
    """
    taken = {"load": 0.0, "store": 0.0, "atomic": 0.0}
    of_request: dict[SourceLocation, float] = {}
    for each, touched, delivered in zip(accesses, lines, wavefronts, strict=False):
        words = (each.requests or 0) * max(1.0, _LANES * (each.width or 0) / _DELIVERED)
        cycles = max(words, delivered if each.direction == "load" else _sent(each, touched))
        taken[each.direction] += cycles - words if each.source in copied else cycles
        if each.source is not None and each.requests and cycles > words:
            of_request[each.source] = cycles / each.requests
    return Occupied(taken["load"], taken["store"], of_request)


def _sent(access: Access, lines: int) -> float:
    """Return the cycles for which a store's lines occupy the way to the L2, whatever its bytes do.

    One that writes sectors in part sends each of them, and the address of each line.
    """
    sectors = access.sectors or 0
    in_part = access.direction == "store" and access.bytes < _SECTOR_BYTES * sectors
    return sectors + lines if in_part else 0.0
