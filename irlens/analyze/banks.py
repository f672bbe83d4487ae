"""Bank conflicts in shared memory, counted from the layouts of a tensor and of its buffer.

NVIDIA's shared memory has 32 banks of 4 bytes, successive words in successive banks. A warp's
request takes as many passes as the largest number of words it touches in one bank; equal words
count once. Requests of 8 and 16 bytes per thread are served by half and quarter warps (CUDA C++
Programming Guide, "Shared Memory" under the compute capabilities from 5.x on).

Which lanes AMD's LDS serves together depends on the instruction, in an order that no document
gives. Whatever it is, a bank serves one word at a time: the words that all lanes touch in one bank,
over those that it would serve if all banks had as many, are the passes at least. Lanes that share
a word may save none: the fewest passes are taken to be those of as many lanes as there are banks.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from math import ceil

from irlens.isa.mlir.encodings import Blocked
from irlens.isa.mlir.linear_maps import LinearMap

BANKS = 32
_WORD = 4
WIDEST = 16


def passes(
    registers: LinearMap,
    place: Callable[[Sequence[int]], Sequence[int]],
    size: int,
    banks: int = BANKS,
    *,
    in_order: bool = True,
) -> float:
    """Return the passes of a warp's requests over the least possible; 1 is free of conflicts.

    A thread moves as many elements at a time as lie side by side in the buffer and in its
    registers, whose order the compiler chooses. All of a thread's requests have as many passes,
    since the layouts of shared memory combine the bits of an index by exclusive or.

    Args:
        registers: The layout that a tensor is read into, or written from.
        place: Returns the offset of an element in shared memory, in elements.
        size: Bytes of an element.
        in_order: Whether successive lanes are served together (NVIDIA's); else the result is a
            lower bound.
    """
    steps = [place(basis)[0] for basis in registers.register if any(basis)]
    vector = 1
    while vector * size < WIDEST and vector in steps:
        vector *= 2
    apart = [place(basis)[0] for basis in registers.lane if any(basis)]
    apart += [step for step in steps if step >= vector or step.bit_count() != 1]
    while any(step % vector for step in apart):
        vector //= 2
    lanes = [size * place(registers.element(0, lane))[0] for lane in range(registers.lanes)]
    if not in_order:
        words = {(at + n) // _WORD for at in lanes for n in range(0, vector * size, _WORD)}
        fewest = ceil(max(len(words), len(lanes)) / banks)
        return most_words_in_a_bank(lanes, vector * size, banks) / fewest
    at_once = banks // max(vector * size // _WORD, 1)
    groups = [lanes[first : first + at_once] for first in range(0, len(lanes), at_once)]
    counts = [most_words_in_a_bank(each, vector * size, banks) for each in groups]
    return sum(counts) / len(counts)


def copy_passes(
    registers: Blocked,
    place: Callable[[tuple[int, ...]], tuple[int, ...]],
    shape: tuple[int, ...],
    size: int,
) -> int | None:
    """Return the passes of a warp's copy of single elements; ``None`` if it copies several at once.

    Args:
        registers: The layout of the addresses that are copied from.
        place: Returns the offset of an element in shared memory, in elements.
        size: Bytes of an element.
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


def most_words_in_a_bank(addresses: Iterable[int], size: int, banks: int = BANKS) -> int:
    """Return the passes that lanes take which are served together.

    Args:
        addresses: Theirs, in bytes.
        size: Bytes that each of them accesses.
        banks: Banks that serve a word each at a time.
    """
    words: defaultdict[int, set[int]] = defaultdict(set)
    for address in addresses:
        for word in range(address // _WORD, (address + size - 1) // _WORD + 1):
            words[word % banks].add(word)
    return max(map(len, words.values()), default=0)
