"""What an instruction of a machine does with registers, and which values these hold."""

from collections.abc import Hashable
from typing import NamedTuple, TypeAlias

#: File and number.
Register: TypeAlias = tuple[str, int]


class Use(NamedTuple):
    """Registers as one operand of an instruction names them.

    Attributes:
        registers: In their order.
        reads: Whether they are read.
        writes: Whether they are written, after all is read.
        kills: Whether nothing remains of what they held.
    """

    registers: tuple[Register, ...]
    reads: bool = True
    writes: bool = False
    kills: bool = False


class Step(NamedTuple):
    """An instruction.

    Attributes:
        line: Its 1-based line, by which what it writes is known.
        uses: Its operands, as the text names them; ``None`` where they are not understood.
        hidden: What it uses without naming it.
        guard: The predicate under which it writes, and whether that has to be false.
        loses: Whether behind it nothing is known of any register.
    """

    line: int
    uses: tuple[Use, ...] | None
    hidden: tuple[Use, ...] = ()
    guard: tuple[Register, bool] | None = None
    loses: bool = False


class Written(NamedTuple):
    """A value: what an instruction puts into a register.

    Attributes:
        line: The instruction's.
        operand: Which of its operands, from 0; those that are hidden count on.
        part: Which register of the operand.
    """

    line: int
    operand: int
    part: int


class Found(NamedTuple):
    """What a register held when a function began.

    Attributes:
        function: The function's name.
        register: Which register.
    """

    function: str
    register: Register


#: What each operand of an instruction stands for, register by register: read, and written.
Values: TypeAlias = list[tuple[list[Hashable], list[Hashable]]]


class Followed(NamedTuple):
    """What the operands of the instructions of a function stand for.

    Attributes:
        values: By line, one entry an operand, those that are hidden last. Of instructions that
            are not understood, and of code that nothing leads to, nothing.
        lost: Behind how many instructions nothing is known of any register.
    """

    values: dict[int, Values]
    lost: int
