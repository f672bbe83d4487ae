"""Sets of registers as the bits of an integer."""

from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from operator import or_
from typing import overload

#: Bits that the sets of a function may have, to be kept: 4 MB.
_MOST_BITS = 1 << 25


class LazyBitsets(Sequence[int]):
    """Sets with few members each, built on access.

    A function with 50,000 virtual registers would otherwise keep sets of 50,000 bits for each of
    as many instructions: hundreds of megabytes.
    """

    def __init__(self, members: Sequence[tuple[int, ...]]) -> None:
        self._members = members

    def __len__(self) -> int:
        return len(self._members)

    @overload
    def __getitem__(self, index: int) -> int: ...

    @overload
    def __getitem__(self, index: slice) -> "LazyBitsets": ...

    def __getitem__(self, index: int | slice) -> "int | LazyBitsets":
        if isinstance(index, slice):
            return LazyBitsets(self._members[index])
        bits = 0
        for number in self._members[index]:
            bits |= 1 << number
        return bits


def bitsets(members: Sequence[tuple[int, ...]], size: int) -> Sequence[int]:
    """Return sets of numbers below a size, each built once where all of them take little memory."""
    if len(members) * size > _MOST_BITS:
        return LazyBitsets(members)
    bits = [1 << number for number in range(size)]
    return [reduce(or_, [bits[number] for number in each]) if each else 0 for each in members]


def members(bits: int) -> Iterator[int]:
    """Yield the numbers in a set, in ascending order."""
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest


class RegisterFiles:
    """The register files of a machine, laid out next to each other in one set.

    Attributes:
        masks: All registers of each file.
    """

    def __init__(self, layout: Mapping[str, tuple[int, int]]) -> None:
        """Lay out files, given the first bit and the number of registers of each."""
        self._layout = layout
        self.masks = {name: ((1 << count) - 1) << first for name, (first, count) in layout.items()}

    def shift(self, file: str) -> int:
        """Return the first bit of a file."""
        return self._layout[file][0]

    def bits(self, file: str, first: int, count: int = 1) -> int:
        """Return a range of registers as a set; empty for a file that is not laid out."""
        at, size = self._layout.get(file, (0, 0))
        if not 0 <= first < size:
            return 0
        return ((1 << max(0, min(count, size))) - 1) << (at + first) & self.masks[file]

    def numbers(self, bits: int, file: str) -> list[int]:
        """Return the numbers of a file's registers in a set, in ascending order."""
        return list(members((bits & self.masks[file]) >> self._layout[file][0]))
