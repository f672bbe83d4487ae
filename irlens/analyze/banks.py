"""Bank conflicts in shared memory, counted from a blocked and a swizzled layout.

Shared memory has 32 banks of 4 bytes, successive words in successive banks. A warp's request takes
as many passes as the largest number of words it touches in one bank; equal words count once.
Requests of 8 and 16 bytes per thread are served by half and quarter warps (CUDA C++ Programming
Guide, "Shared Memory" under the compute capabilities from 5.x on).

``swizzled_shared<{vec, perPhase, maxPhase, order}>`` puts element (row, column) at
``row * width + ((column / vec) ^ (row / perPhase % maxPhase)) * vec + column % vec`` (Triton,
``TritonGPUAttrDefs.td``, ``SwizzledSharedEncodingAttr``).
"""

from collections import defaultdict
from collections.abc import Callable, Iterable
from itertools import product

import msgspec

from irlens.isa.mlir import Module
from irlens.isa.mlir.encodings import Blocked, encoding_of
from irlens.isa.mlir.types import MemDesc

BANKS = 32
_WORD = 4
_WIDEST = 16
#: Elements that a thread holds side by side; no real layout has more.
_MOST_REGISTERS = 256


class Swizzled(msgspec.Struct, frozen=True):
    """The swizzled layout of a matrix in shared memory.

    Attributes:
        width: Elements from one row to the next; a row is contiguous.
        vector: Neighbouring elements that stay together.
        per_phase: Rows with the same phase.
        max_phase: Number of phases; 1 means no swizzling.
    """

    width: int
    fast: int
    vector: int
    per_phase: int
    max_phase: int

    def offset(self, index: tuple[int, int]) -> int:
        """Return the offset of an element, in elements."""
        column, row = index[self.fast], index[1 - self.fast]
        group, rest = divmod(column, self.vector)
        phase = row // self.per_phase % self.max_phase
        return row * self.width + (group ^ phase) * self.vector + rest


def swizzled(module: Module, descriptor: MemDesc) -> Swizzled | None:
    """Return the layout of a matrix in shared memory; ``None`` for other layouts."""
    encoding, whole = encoding_of(module, descriptor), descriptor.whole
    if encoding is None or encoding.kind != "swizzled_shared":
        return None
    order = encoding.lists.get("order", ())
    numbers = [encoding.numbers.get(name, 0) for name in ("vec", "perPhase", "maxPhase")]
    if sorted(order) != [0, 1] or len(descriptor.shape) != 2 or len(whole) < 2:
        return None
    return Swizzled(whole[len(whole) - 2 + order[0]], order[0], *numbers) if all(numbers) else None


def passes(registers: Blocked, shared: Swizzled, shape: tuple[int, ...], size: int) -> float | None:
    """Return the average number of passes of a warp's requests; 1 is free of conflicts.

    Args:
        registers: The layout that a matrix is read into, or written from.
    """
    held = registers.size_per_thread
    if len(held) != 2 or registers.warp_size != BANKS or held[0] * held[1] > _MOST_REGISTERS:
        return None
    together = held[shared.fast] if shared.max_phase == 1 else min(held[shared.fast], shared.vector)
    vector = max(min(together, _WIDEST // size), 1)
    lanes_at_once = BANKS // max(vector * size // _WORD, 1)
    counts = []
    steps = [range(0, extent, vector if n == shared.fast else 1) for n, extent in enumerate(held)]
    for register in product(*steps):
        addresses = [
            size * shared.offset(_wrapped(registers.lane(lane), register, shape))
            for lane in range(BANKS)
        ]
        for first in range(0, BANKS, lanes_at_once):
            group = addresses[first : first + lanes_at_once]
            counts.append(most_words_in_a_bank(group, vector * size))
    return sum(counts) / len(counts)


def copy_passes(
    registers: Blocked,
    place: Callable[[tuple[int, ...]], tuple[int, ...]],
    shape: tuple[int, ...],
    size: int,
) -> int | None:
    """Return the passes of a warp's copy of single elements; ``None`` if it copies several at once.

    Args:
        place: Returns the offset of an element in shared memory, in elements.
    """
    held, start = registers.size_per_thread, (0, 0)
    if len(held) != 2 or registers.warp_size != BANKS:
        return None
    next_to = [(int(n == 0), int(n == 1)) for n in range(2) if held[n] > 1]
    if any(place(each)[0] - place(start)[0] == 1 for each in next_to):
        return None
    lanes = (_wrapped(registers.lane(lane), start, shape) for lane in range(BANKS))
    return most_words_in_a_bank([size * place(each)[0] for each in lanes], size)


def _wrapped(
    lane: tuple[int, ...], register: tuple[int, ...], shape: tuple[int, ...]
) -> tuple[int, int]:
    """Return an element's index; a layout larger than the tensor wraps around."""
    row, column = (
        (start + offset) % extent
        for start, offset, extent in zip(lane, register, shape, strict=True)
    )
    return row, column


def most_words_in_a_bank(addresses: Iterable[int], size: int) -> int:
    """Return the passes that lanes take which are served together.

    Args:
        addresses: Theirs, in bytes.
        size: Bytes that each of them accesses.
    """
    words: defaultdict[int, set[int]] = defaultdict(set)
    for address in addresses:
        for word in range(address // _WORD, (address + size - 1) // _WORD + 1):
            words[word % BANKS].add(word)
    return max(map(len, words.values()), default=0)
