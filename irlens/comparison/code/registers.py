"""Which value a register of the machine holds where it is named.

The number of a physical register is the allocator's choice and no difference, as long as each
value is read from where it was put. That is followed from one label to the next, exactly: which
instruction wrote what is read, or that it was there already at the label. What a register holds
at a label is one value of unknown origin; whether both sides bring the same value there is not
asked. Behind an instruction whose operands are not known nothing is known until it is written.
"""

from collections.abc import Hashable, Iterable, Iterator
from typing import NamedTuple, TypeAlias

from irlens.comparison.code.statements import Arrived, Name, Word

#: File and number.
Register: TypeAlias = tuple[str, int]


class Use(NamedTuple):
    """A register, or several in a row, as an instruction names it.

    Attributes:
        register: The (first) register.
        width: How many are written from it on; of those that are read the first stands for all.
        writes: Whether it is written, not read.
    """

    register: Register
    width: int
    writes: bool


class Registers:
    """Follows the text of one stage, instruction by instruction."""

    def __init__(self) -> None:
        self._place = 0
        self._known = True
        self._held: dict[Register, Hashable] = {}

    def arrive(self) -> None:
        """Come to a label, which may be reached from elsewhere."""
        self._place += 1
        self._known = True
        self._held.clear()

    def forget(self) -> None:
        """Come to what may write any register."""
        self._known = False
        self._held.clear()

    def names(self, line: int, words: Iterable[Word], uses: Iterable[Use]) -> Iterator[Name]:
        """Yield the names of an instruction, whose uses stand in the same order."""
        named = list(zip(words, uses, strict=True))
        read = [None if use.writes else self._read(use.register) for _, use in named]
        for index, (word, use) in enumerate(named):
            if use.writes:
                self._write(use, line, index)
                yield Name((line, index, 0), word.columns, True)
            else:
                yield Name(read[index], word.columns, False)

    def _read(self, register: Register) -> Hashable:
        if not self._known and register not in self._held:
            return None
        return self._held.setdefault(register, Arrived(self._place, register))

    def _write(self, use: Use, line: int, index: int) -> None:
        file, first = use.register
        for number in range(use.width):
            self._held[file, first + number] = (line, index, number)
