"""Which programs of a launch may break, from the bounds of what they compute in 64 bits.

Integers are sums of terms (``irlens.analyze.traffic.values``), whose bounds are those of the terms:
no tensor of addresses is computed but for programs in which one may leave its tensor.
"""

from collections.abc import Collection, Mapping, Sequence
from itertools import product
from math import prod

import msgspec
import numpy as np

from irlens.analyze import work
from irlens.analyze.offset_wraps import Partial, narrow_results
from irlens.analyze.traffic.accesses import Reference, public_function
from irlens.analyze.traffic.evaluation import Attempts
from irlens.analyze.traffic.frames import Frame
from irlens.analyze.traffic.launch import Launch
from irlens.analyze.traffic.values import (
    MOST_ELEMENTS,
    Array,
    Integer,
    UnknownTrafficError,
    Value,
    bounds,
    row_bounds,
)
from irlens.isa.mlir import Module, Operation
from irlens.isa.mlir.operations import Deed
from irlens.isa.mlir.types import Scalar, Type

#: Programs at either end, and between them, that are evaluated of more.
_AT_ENDS, _BETWEEN = 1 << 9, 64
#: Elements of the programs that are compared element by element.
MOST_COMPARED = 1 << 24
#: Steps of work that comparing an access takes.
_STEPS_COMPARED = 16
#: Operations that are monotone in each operand, or keep what they are given.
_ENDS: frozenset[Deed | None] = frozenset(
    {
        "add", "subtract", "extend", "extend unsigned", "truncate", "to index", "spread", "insert",
        "stretch", "offset", "reshape", "transpose",
    }
)  # fmt: skip
#: Operations whose results are data.
_ACCESSES: frozenset[Deed | None] = frozenset({"load", "store", "atomic", "print"})


class Outside(msgspec.Struct, frozen=True):
    """An access outside of its tensor: the program, the operation, the byte and the tensor's."""

    number: int
    index: int
    argument: str
    offset: int
    most: int


class Survey(msgspec.Struct):
    """What bounds say of some programs.

    Attributes:
        suspects: Programs in which an integer may exceed its type, ascending.
        leaving: Programs of which an address is beyond its tensor, and masked off.
        outside: The first access outside of its tensor.
        is_cut: Whether iterations of a loop were left out.
        is_undecided: Whether these may leave a tensor, or some addresses were not looked at.
        reach: The largest integer, as a share of its type's range: 1 where one just exceeds it.
    """

    suspects: Array
    leaving: Array
    outside: Outside | None
    is_cut: bool
    is_undecided: bool
    reach: float

    def may_leave_between(self, numbers: Array, grid: tuple[int, int, int]) -> bool:
        """Whether programs between those of some numbers may access what is beyond a tensor.

        Addresses that follow from one number by sums and products lie between those of the
        neighbours on either side.
        """
        if grid[1] * grid[2] > 1:
            return bool(self.leaving.size) and numbers.size < prod(grid)
        gaps = np.flatnonzero(np.diff(numbers) > 1)
        return bool(np.isin(numbers[np.concatenate((gaps, gaps + 1))], self.leaving).any())


class _Bounded(Partial):
    """Finds programs that may break from the bounds of what they compute in 64 bits."""

    def __init__(
        self,
        module: Module,
        launch: Launch,
        numbers: Array,
        how: Attempts,
        data: frozenset[int],
        widths: Mapping[int, int],
    ) -> None:
        super().__init__(module, launch, numbers, self._visited, how, data)
        self._widths = widths
        self.suspects: list[Array] = []
        self.leaving: list[Array] = []
        self.outside: Outside | None = None
        self.is_undecided = False
        self.reach = 0.0

    def operations(self, operations: Sequence[Operation], frame: Frame) -> list[Value]:
        """Run operations of one block, and note the programs whose results may be too large."""
        operands = super().operations(operations, frame)
        for operation in operations:
            bits = self._widths.get(operation.index)
            value = frame.read(operation.results[0][0]) if bits is not None else None
            if bits is not None and isinstance(value, Integer):
                limit = 1 << (bits - 1)
                self.reach = max(self.reach, *(abs(each) / limit for each in bounds(value)))
                rows = _beyond(value, -limit, limit - 1, frame.size)
                if rows.size:
                    self.suspects.append(np.unique(frame.programs[rows]))
        return operands

    def _visited(self, operation: Operation, access: Reference, programs: Array) -> None:
        """Note an access outside of its tensor."""
        work.spend(_STEPS_COMPARED)
        argument = access.pointer.argument
        size = self._sizes.get(argument)
        if size is None:
            return
        most = size - access.element_bytes
        rows = _beyond(access.pointer.offset, 0, most, programs.size)
        if not rows.size:
            return
        is_same = programs.size > 1 and not _varies(access)
        rows = rows[:1] if is_same else rows
        step = max(1, MOST_ELEMENTS // 4 // max(1, prod(access.shape)))
        if rows.size * prod(access.shape) > MOST_COMPARED:
            rows, self.is_undecided = rows[:step], True
        for at in range(0, rows.size, step):
            some = rows[at : at + step]
            mask, places = access.elements(some)
            found = np.argwhere(mask & ((places < 0) | (places > most)))
            if found.size:
                number = int(programs[some[found[0][0]] if places.shape[0] > 1 else some[0]])
                value = int(places[tuple(found[0])])
                if self.outside is None or number < self.outside.number:
                    self.outside = Outside(number, operation.index, argument, value, size)
                return
        if is_same and not self.is_beside_cut:
            return
        self.is_undecided |= self.is_beside_cut
        self.leaving.append(np.unique(programs[rows]))


def surveyed(
    modules: tuple[Module, Module], launch: Launch, numbers: Array, data: frozenset[int]
) -> Survey:
    """Return what bounds say of programs.

    Raises:
        UnknownTrafficError: They cannot be evaluated.
    """
    narrow, wide = modules
    widths = narrow_results(each for each in narrow.operations if each.index not in data)
    attempts = Attempts()
    found: list[_Bounded] = []
    at, left = 0, Partial.left

    def evaluated() -> tuple[_Bounded, int]:
        part = numbers[at : at + attempts.at_once]
        evaluation = _Bounded(wide, launch, part, attempts, data, widths)
        evaluation.left = left
        evaluation.run(public_function(wide))
        return evaluation, at + part.size

    while at < numbers.size:
        evaluation, at = attempts.until_done(evaluated)
        if evaluation.reason:
            raise UnknownTrafficError(evaluation.reason)
        found.append(evaluation)
        left = evaluation.left
    none = np.zeros(0, np.int64)
    outside = [each.outside for each in found if each.outside is not None]
    return Survey(
        suspects=np.unique(np.concatenate([none, *(n for each in found for n in each.suspects)])),
        leaving=np.concatenate([none, *(n for each in found for n in each.leaving)]),
        outside=outside[0] if outside else None,
        is_cut=any(each.is_cut for each in found),
        is_undecided=any(each.is_undecided for each in found),
        reach=max((each.reach for each in found), default=0.0),
    )


def _varies(access: Reference) -> bool:
    """Whether an access differs between instances."""
    terms = list(access.pointer.offset.terms.values())
    for each in access.mask.factors:
        terms += [each] if isinstance(each, np.ndarray) else each.difference.terms.values()
    return any(each.shape[0] > 1 for each in terms)


def _beyond(value: Integer, least: int, most: int, size: int) -> Array:
    """Return the instances, of a number, in which an integer may be beyond two bounds."""
    low, high = bounds(value)
    if low >= least and high <= most:
        return np.zeros(0, np.int64)
    lows, highs = row_bounds(value)
    return np.flatnonzero(np.broadcast_to((lows < least) | (highs > most), (size,)))


def is_affine_in_programs(module: Module, data: frozenset[int]) -> bool:
    """Whether integers follow from the numbers of programs by sums and products."""
    numbers = {name for each in module.doing("program") for name, _ in each.results}
    return _is_affine(module, data, numbers)


def is_affine_in_loops(module: Module, data: frozenset[int]) -> bool:
    """Whether integers follow from what loops count and carry by sums and products."""
    loops = list(module.doing("for"))
    blocks = [each.regions[0].blocks[0] for each in loops]
    inside = {argument.name for block in blocks for argument in block.arguments}
    results = {name for each in loops for name in each.values}
    yields = [block.operations[-1] for block in blocks if block.operations]
    return _is_affine(module, data, inside | results, yields)


def _is_affine(
    module: Module, data: frozenset[int], varying: set[str], yields: Collection[int] = ()
) -> bool:
    """Whether values enter integers by sums and products with what is the same for all.

    Args:
        data: Operations that no address follows from.
        yields: Operations that yield values which are among these.
    """
    for each in module.operations:
        of_values = [n for n, name in enumerate(each.operands) if name in varying]
        if not of_values or each.index in data or each.index in yields or each.does in _ACCESSES:
            continue
        if each.does == "yield":
            if not all(map(_is_number, (each.operand_types[n] for n in of_values))):
                return False
            continue
        is_mask = each.operand_type.element.bits == 1
        is_scaled = (each.does == "multiply" and len(of_values) < 2) or (
            each.does == "shift left" and of_values == [0]
        )
        if each.does == "compare" or (each.does == "and" and is_mask):
            holds = True
        elif each.does in ("extend", "extend unsigned"):
            holds = not is_mask
        else:
            holds = is_scaled or each.does in _ENDS or _yields_numbers(each)
        if not holds:
            return False
        varying = varying | set(each.values)
    return True


def _yields_numbers(operation: Operation) -> bool:
    """Whether an operation yields floating-point numbers alone."""
    kinds = operation.result_types or operation.operand_types[-1:]
    return bool(operation.results and kinds) and all(map(_is_number, kinds))


def _is_number(kind: Type) -> bool:
    return isinstance(kind.element, Scalar) and not kind.element.is_integer


def at_ends(grid: tuple[int, int, int]) -> Array:
    """Return the programs at the ends and corners of a grid, and some between; all of few."""
    number = prod(grid)
    if number <= 2 * _AT_ENDS:
        return np.arange(number, dtype=np.int64)
    first = np.arange(_AT_ENDS, dtype=np.int64)
    between = np.arange(_AT_ENDS, number - _AT_ENDS, max(1, number // _BETWEEN), dtype=np.int64)
    x, y, _ = grid
    corners = [
        at + x * (row + y * plane)
        for at, row, plane in product(*((0, extent - 1) for extent in grid))
    ]
    last = number - _AT_ENDS + first
    return np.unique(np.concatenate([first, between, np.asarray(corners, np.int64), last]))
