"""How long the requests of loads, stores and copies occupy an SM, by the words their lanes touch.

Measured on an H100 and an H200 (``benchmarks/l1_requests.py`` and ``copy_requests.py``), and
assumed of other GPUs.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType

import msgspec

from irlens.analyze.banks import BANKS
from irlens.model.source import SourceLocation
from irlens.model.traffic import Access

#: Bytes of a lane's copy that passes the L1, line by line: ``cp.async.ca`` of 4 and 8.
COPIED_BY_LINES = (4, 8)
LINE_BYTES = 128
_LANES = 32
_WORD = 4
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
    copied: Mapping[SourceLocation, bool] = MappingProxyType({}),
) -> Occupied:
    """Return what accesses occupy.

    Args:
        lines: 128-byte lines that the requests of each touch, added up.
        wavefronts: Cycles for which the L1 delivers what each loads.
        copied: Places of the copies to shared memory, whose words occupy that and not the L1: True
            where the time in shared memory includes their lines (``copying``), so that the L1 takes
            nothing; else it takes what the lines need beyond the words.
    """
    taken = {"load": 0.0, "store": 0.0, "atomic": 0.0}
    of_request: dict[SourceLocation, float] = {}
    for each, touched, delivered in zip(accesses, lines, wavefronts, strict=False):
        words = (each.requests or 0) * max(1.0, _LANES * (each.width or 0) / _DELIVERED)
        cycles = max(words, delivered if each.direction == "load" else _sent(each, touched))
        with_lines = copied.get(each.source) if each.source is not None else None
        beyond = 0.0 if with_lines else cycles - words
        taken[each.direction] += cycles if with_lines is None else beyond
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


def copying(lanes: Sequence[tuple[int, int] | None], size: int) -> int:
    """Return the cycles for which a warp's copy to shared memory occupies the way there.

    The lines of global memory come one after the other, in the lanes' order, one in a cycle at
    most. Each writes its words as the banks of shared memory are free, one in a cycle each, and the
    next one waits until it begins. Half warps copy 8 bytes a lane one after the other.

    Args:
        lanes: Where each lane copies to, in bytes, and the line that it copies from; ``None`` for
            one that takes no part.
        size: Bytes that each copies: one of ``COPIED_BY_LINES``.
    """
    begun, ended = 0, 0
    words = size // _WORD
    together = _LANES // words
    for first in range(0, len(lanes), together):
        lines: dict[int, Counter[int]] = {}
        for each in lanes[first : first + together]:
            if each is not None:
                place, line = each
                of_banks = lines.setdefault(line, Counter())
                of_banks.update((place // _WORD + word) % BANKS for word in range(words))
        free = dict.fromkeys(range(BANKS), ended)
        begun = ended - 1
        for of_banks in lines.values():
            begun = max(begun + 1, *(free[bank] for bank in of_banks))
            for bank, taken in of_banks.items():
                free[bank] = begun + taken
        ended = max(free.values())
    return ended + 1 if ended else 0
