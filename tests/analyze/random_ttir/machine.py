"""Execution of one program after the other, lane by lane, and the operations on integers."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

Shape = tuple[int, ...]
Step = Callable[["Machine"], None]


class Value(NamedTuple):
    """A value of the ttir: its name, the type of an element, and the shape of a tensor."""

    name: str
    element: str
    shape: Shape

    @property
    def type(self) -> str:
        """Its type in the ttir."""
        return type_of(self.element, self.shape)


def type_of(element: str, shape: Shape) -> str:
    """Return a type in the ttir."""
    return f"tensor<{'x'.join(map(str, shape))}x{element}>" if shape else element


class Place(NamedTuple):
    """A pointer into an argument."""

    argument: str
    offsets: Any


class Box(NamedTuple):
    """A tensor descriptor or a block pointer: base, extents, strides and corner."""

    base: Place
    extents: list[int]
    strides: list[int]
    corner: list[int]


class Machine:
    """One program of a launch.

    Attributes:
        values: The values that it has computed, by name.
        accesses: Line, argument, byte offsets, masked lanes and repeated elements of every access
            that it executed.
    """

    def __init__(self, program: Shape, grid: Shape, values: dict[str, Any]) -> None:
        self.program = program
        self.grid = grid
        self.values = dict(values)
        self.accesses: list[tuple[int, str, Any, int, int]] = []

    def accessed(
        self, line: int, argument: str, offsets: Any, lanes: Any, *, once: bool = True
    ) -> None:
        """Note an access to some elements of a tile.

        Args:
            once: Whether what is at one address along a whole dimension is asked for once.
        """
        used = lanes
        for axis in range(offsets.ndim if once else 0):
            if (offsets == offsets.take([0], axis)).all():
                used = used.any(axis=axis, keepdims=True)
        repeated = int(lanes.sum() - used.sum())
        masked = int(lanes.size - lanes.sum())
        self.accesses.append((line, argument, offsets[lanes], masked, repeated))

    def run(self, steps: Sequence[Step]) -> None:
        """Execute the operations of a block."""
        for step in steps:
            step(self)


class Block:
    """A block of the kernel's control-flow graph; ``leave`` gives the next one's label."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.leave: Callable[[Machine], str | None] = lambda _machine: None


class Kernel(NamedTuple):
    """A kernel: its text, its blocks by label, and the launch."""

    text: str
    blocks: dict[str, Block]
    numbers: dict[str, int]
    grid: tuple[int, int, int]
    operations: dict[int, tuple[str, int]]

    def run(self) -> dict[tuple[int, str], tuple[int, int, int]]:
        """Return bytes, distinct bytes and masked lanes by line and argument."""
        found: dict[tuple[int, str], tuple[int, int, int]] = {}
        touched = self.touched()
        for key, (offsets, masked, repeated) in touched.items():
            size = self.operations[key[0]][1]
            found[key] = (offsets.size - repeated) * size, covered(offsets, size), masked
        return found

    def touched(self) -> dict[tuple[int, str], tuple[Any, int, int]]:
        """Return offsets, masked lanes and repeats of all programs by line and argument."""
        lists: dict[tuple[int, str], list[Any]] = {}
        masks: dict[tuple[int, str], int] = {}
        repeats: dict[tuple[int, str], int] = {}
        for z in range(self.grid[2]):
            for y in range(self.grid[1]):
                for x in range(self.grid[0]):
                    for line, argument, offsets, masked, repeated in self.program((x, y, z)):
                        lists.setdefault((line, argument), []).append(offsets)
                        masks[line, argument] = masks.get((line, argument), 0) + masked
                        repeats[line, argument] = repeats.get((line, argument), 0) + repeated
        return {
            key: (np.concatenate(each), masks[key], repeats[key]) for key, each in lists.items()
        }

    def program(self, program: Shape) -> list[tuple[int, str, Any, int, int]]:
        """Return the accesses of one program, in the order that it executes them."""
        values = {f"%{name}": np.int64(number) for name, number in self.numbers.items()}
        machine = Machine(program, self.grid, values)
        label: str | None = "bb0"
        while label is not None:
            machine.run(self.blocks[label].steps)
            label = self.blocks[label].leave(machine)
        return machine.accesses


def covered(offsets: Any, size: int) -> int:
    """Return how many bytes elements at some offsets cover."""
    return int(np.unique(np.add.outer(offsets, np.arange(size))).size)


def wrap(number: Any, element: str) -> Any:
    """Return integers as 32 bits hold them; numpy holds 64 itself."""
    if element != "i32":
        return np.asarray(number, dtype=np.int64)
    return (np.asarray(number, dtype=np.int64) + (1 << 31)) % (1 << 32) - (1 << 31)


def unsigned(number: Any, element: str) -> Any:
    """Return the bits of integers as numbers without a sign."""
    wide = np.asarray(number, dtype=np.int64).astype(np.uint64)
    return wide & np.uint64(0xFFFFFFFF) if element == "i32" else wide


def divided(left: Any, right: Any) -> Any:
    """Return quotients, rounded towards zero."""
    quotient = np.abs(left) // np.abs(right)
    return np.where((left < 0) != (right < 0), -quotient, quotient)


OPERATIONS: dict[str, Callable[..., Any]] = {
    "addi": lambda a, b, _: a + b,
    "subi": lambda a, b, _: a - b,
    "muli": lambda a, b, _: a * b,
    "minsi": lambda a, b, _: np.minimum(a, b),
    "maxsi": lambda a, b, _: np.maximum(a, b),
    "divsi": lambda a, b, _: divided(a, b),
    "remsi": lambda a, b, _: a - divided(a, b) * b,
    "minui": lambda a, b, e: np.minimum(unsigned(a, e), unsigned(b, e)).astype(np.int64),
    "maxui": lambda a, b, e: np.maximum(unsigned(a, e), unsigned(b, e)).astype(np.int64),
    "divui": lambda a, b, e: (unsigned(a, e) // unsigned(b, e)).astype(np.int64),
    "remui": lambda a, b, e: (unsigned(a, e) % unsigned(b, e)).astype(np.int64),
    "andi": lambda a, b, _: np.bitwise_and(a, b),
    "ori": lambda a, b, _: np.bitwise_or(a, b),
    "xori": lambda a, b, _: np.bitwise_xor(a, b),
    "shli": lambda a, b, _: np.left_shift(a, b),
    "shrsi": lambda a, b, _: np.right_shift(a, b),
    "shrui": lambda a, b, e: (unsigned(a, e) >> np.asarray(b, np.uint64)).astype(np.int64),
}


#: Operations on integers of one bit.
LOGIC: dict[str, Callable[[Any, Any], Any]] = {
    "andi": np.logical_and,
    "ori": np.logical_or,
    "xori": np.logical_xor,
    "muli": np.logical_and,
    "addi": np.logical_xor,
    "subi": np.logical_xor,
    "cmpi eq,": np.equal,
    "cmpi ne,": np.not_equal,
}


PREDICATES: dict[str, Callable[[Any, Any], Any]] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}
