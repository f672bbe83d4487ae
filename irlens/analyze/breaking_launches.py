"""Whether a launch computes an address or a mask that differs from the one without overflow.

Programs are evaluated with every narrow integer in 64 bits, all at once: from the bounds of each
integer and of each address follows which of them cannot break. The others are evaluated element by
element, as the ttir is and in 64 bits. An access whose mask or whose unmasked offsets differ breaks
the launch; one that leaves its tensor in 64 bits does, too. What is masked off may overflow: it is
not accessed.
"""

import hashlib
from collections.abc import Mapping, Sequence
from itertools import product
from math import prod
from typing import Any

import msgspec
import numpy as np

from irlens.analyze.mlir_loops import user_line
from irlens.analyze.offset_wraps import Partial, narrow_results, overflow_before, widened
from irlens.analyze.traffic.accesses import Reference
from irlens.analyze.traffic.evaluation import data_operations, public_function
from irlens.analyze.traffic.frames import Frame, result_names
from irlens.analyze.traffic.launch import Launch
from irlens.analyze.traffic.loops import NotAffineError
from irlens.analyze.traffic.values import (
    MOST_ELEMENTS,
    Array,
    Integer,
    Mask,
    TooLargeError,
    UnknownTrafficError,
    Value,
    bounds,
    materialize,
    row_bounds,
    taken,
    taken_integer,
    truth,
)
from irlens.isa.mlir import Module, Operation
from irlens.isa.mlir.global_memory import ATOMICS, STORES
from irlens.isa.mlir.operations import Deed
from irlens.isa.mlir.types import Scalar
from irlens.model.limits import Cause, LimitKind

#: Programs, times operations that addresses follow from, up to which all programs are evaluated.
_MOST_WORK = 1 << 26
#: Programs that are evaluated at once.
_AT_ONCE = 1 << 15
#: Programs at either end, and between them, that are evaluated of more.
_AT_ENDS, _BETWEEN = 1 << 9, 64
#: Elements of the programs that are compared element by element.
_MOST_COMPARED = 1 << 24
#: Operations that are monotone in each operand, or keep what they are given.
_ENDS: frozenset[Deed | None] = frozenset(
    {
        "add", "subtract", "extend", "extend unsigned", "truncate", "to index", "spread", "insert",
        "stretch", "offset", "reshape", "transpose",
    }
)  # fmt: skip
#: Operations whose results are no integers of addresses: accesses, and masks.
_CONSUMERS: frozenset[Deed | None] = frozenset(
    {"load", "store", "atomic", "compare", "and", "print", "yield"}
)


class Broken(msgspec.Struct, frozen=True):
    """What breaks in a launch, by kind, and whether what was not evaluated holds.

    It does where all is evaluated, or where every integer follows from the program's number and
    the iteration by sums and products alone, so that it is largest and smallest at the ends.
    """

    causes: dict[LimitKind, Cause]
    is_whole: bool


def broken(module: Module, arguments: Mapping[str, Any], grid: tuple[int, int, int]) -> Broken:
    """Return what breaks in a launch.

    Args:
        module: The kernel's ttir.
        grid: Programs in x, y and z.

    Raises:
        UnknownTrafficError: The launch cannot be evaluated: its addresses, masks or loops follow
            from data.
    """
    launch, modules, data = (
        Launch(arguments, grid),
        (module, widened(module)),
        data_operations(module),
    )
    numbers = _at_ends(grid)
    can_all = prod(grid) * (len(module.operations) - len(data)) <= _MOST_WORK
    is_affine = _is_affine(module, data, _programs(module))
    if can_all and not is_affine:
        numbers = np.arange(prod(grid), dtype=np.int64)
    survey = _surveyed(modules, launch, numbers, data)
    if can_all and survey.outside is None and survey.may_leave_between(numbers, grid):
        numbers = np.arange(prod(grid), dtype=np.int64)
        survey = _surveyed(modules, launch, numbers, data)
    causes: dict[LimitKind, Cause] = {}
    if survey.outside is not None:
        causes["outside"] = _outside(module, launch, survey.outside)
    number, is_decided = _first_differing(modules, launch, survey.suspects)
    if number is not None:
        causes["overflow"] = _overflow(modules, launch, number)
    is_whole = is_decided and not survey.is_undecided
    if numbers.size < prod(grid):
        is_whole &= is_affine and not survey.may_leave_between(numbers, grid)
    if survey.is_cut:
        is_whole &= _is_affine(module, data, _carried(module))
    return Broken(causes, is_whole)


class _Outside(msgspec.Struct, frozen=True):
    """An access outside of its tensor: the program, the operation, the byte and the tensor's."""

    number: int
    index: int
    argument: str
    offset: int
    most: int


class _Survey(msgspec.Struct):
    """What bounds say of some programs.

    Attributes:
        suspects: Programs in which an integer may exceed its type, ascending.
        leaving: Programs of which an address is beyond its tensor, and masked off.
        outside: The first access outside of its tensor.
        is_cut: Whether iterations of a loop were left out.
        is_undecided: Whether these may leave a tensor, or some addresses were not looked at.
    """

    suspects: Array
    leaving: Array
    outside: _Outside | None
    is_cut: bool
    is_undecided: bool

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
        stepwise: frozenset[int],
        at_once: int,
        data: frozenset[int],
        widths: Mapping[int, int],
    ) -> None:
        super().__init__(module, launch, numbers, self._visited, stepwise, at_once, data)
        self._widths = widths
        self.suspects: list[Array] = []
        self.leaving: list[Array] = []
        self.outside: _Outside | None = None
        self.is_undecided = False

    def operations(self, operations: Sequence[Operation], frame: Frame) -> list[Value]:
        """Run operations of one block, and note the programs whose results may be too large."""
        operands = super().operations(operations, frame)
        for operation in operations:
            bits = self._widths.get(operation.index)
            value = frame.read(operation.results[0][0]) if bits is not None else None
            if bits is not None and isinstance(value, Integer):
                limit = 1 << (bits - 1)
                rows = _beyond(value, -limit, limit - 1, frame.size)
                self.suspects.append(np.unique(frame.programs[rows]))
        return operands

    def _visited(self, operation: Operation, access: Reference, programs: Array) -> None:
        """Note an access outside of its tensor."""
        argument = access.pointer.argument
        size = self._sizes.get(argument)
        if size is None:
            return
        most = size - access.element_bytes
        rows = _beyond(access.pointer.offset, 0, most, programs.size)
        step = max(1, MOST_ELEMENTS // 4 // max(1, prod(access.shape)))
        if rows.size * prod(access.shape) > _MOST_COMPARED:
            rows, self.is_undecided = rows[:step], True
        for at in range(0, rows.size, step):
            some = rows[at : at + step]
            mask, places = _accessed(access, some)
            found = np.argwhere(mask & ((places < 0) | (places > most)))
            if found.size:
                number = int(programs[some[found[0][0]] if places.shape[0] > 1 else some[0]])
                value = int(places[tuple(found[0])])
                if self.outside is None or number < self.outside.number:
                    self.outside = _Outside(number, operation.index, argument, value, size)
                return
        self.is_undecided |= bool(rows.size) and self.is_beside_cut
        self.leaving.append(np.unique(programs[rows]))


class _Compared:
    """What some programs access: a digest of each mask and of the offsets that it lets through.

    Attributes:
        digests: These.
        accesses: The masks and offsets themselves, if they are kept.
    """

    def __init__(self, *, keeps: bool) -> None:
        self._keeps = keeps
        self.digests: list[tuple[int, bytes]] = []
        self.accesses: list[tuple[int, Array, Array]] = []

    def __call__(self, operation: Operation, access: Reference, programs: Array) -> None:
        """Note an access."""
        mask, places = _accessed(access)
        passed = np.where(mask, places, 0)
        self.digests.append((operation.index, _digest(np.packbits(mask), passed)))
        if self._keeps:
            self.accesses.append((operation.index, mask, places))


def _accessed(access: Reference, rows: Array | None = None) -> tuple[Array, Array]:
    """Return the mask and the offsets of an access, of all of its instances or some."""
    offset, mask = access.pointer.offset, access.mask
    if rows is not None:
        chosen = taken(mask, rows)
        offset, mask = taken_integer(offset, rows), chosen if isinstance(chosen, Mask) else mask
    places, passes = materialize(offset), truth(mask)
    passes = passes.reshape(passes.shape + (1,) * (places.ndim - passes.ndim))
    passes = np.broadcast_to(passes, np.broadcast_shapes(places.shape, passes.shape))
    return passes, np.broadcast_to(places, passes.shape)


def _beyond(value: Integer, least: int, most: int, size: int) -> Array:
    """Return the instances, of a number, in which an integer may be beyond two bounds."""
    low, high = bounds(value)
    if low >= least and high <= most:
        return np.zeros(0, np.int64)
    lows, highs = row_bounds(value)
    return np.flatnonzero(np.broadcast_to((lows < least) | (highs > most), (size,)))


def _digest(*arrays: Array) -> bytes:
    digest = hashlib.blake2b(digest_size=16)
    for each in arrays:
        digest.update(np.ascontiguousarray(each).tobytes())
    return digest.digest()


def _surveyed(
    modules: tuple[Module, Module], launch: Launch, numbers: Array, data: frozenset[int]
) -> _Survey:
    """Return what bounds say of programs.

    Raises:
        UnknownTrafficError: They cannot be evaluated.
    """
    narrow, wide = modules
    widths = narrow_results(each for each in narrow.operations if each.index not in data)
    stepwise: frozenset[int] = frozenset()
    found: list[_Bounded] = []
    at, step, left = 0, _AT_ONCE, Partial.left
    while at < numbers.size:
        part = numbers[at : at + step]
        evaluation = _Bounded(wide, launch, part, stepwise, step, data, widths)
        evaluation.left = left
        try:
            evaluation.run(public_function(wide))
        except NotAffineError as error:
            stepwise |= {error.operation}
            continue
        except TooLargeError:
            if step == 1:
                raise UnknownTrafficError("a tensor of addresses is too large") from None
            step = max(1, min(step, part.size) // 4)
            continue
        if evaluation.reason:
            raise UnknownTrafficError(evaluation.reason)
        found.append(evaluation)
        at, left = at + part.size, evaluation.left
    none = np.zeros(0, np.int64)
    outside = [each.outside for each in found if each.outside is not None]
    return _Survey(
        suspects=np.unique(np.concatenate([none, *(n for each in found for n in each.suspects)])),
        leaving=np.concatenate([none, *(n for each in found for n in each.leaving)]),
        outside=outside[0] if outside else None,
        is_cut=any(each.is_cut for each in found),
        is_undecided=any(each.is_undecided for each in found),
    )


def _compared(
    modules: tuple[Module, Module], launch: Launch, numbers: Array, *, keeps: bool = False
) -> tuple[_Compared, _Compared, bool]:
    """Evaluate some programs as the ttir is and in 64 bits, both in the same steps.

    The digests are of what is evaluated at once: other steps alone would tell the two apart.

    Returns:
        What both access, and whether iterations of loops were left out.

    Raises:
        UnknownTrafficError: They cannot be evaluated.
    """
    stepwise: frozenset[int] = frozenset()
    at_once = 1 << 10
    while True:
        found, is_cut = [], False
        try:
            for module in modules:
                visits = _Compared(keeps=keeps)
                evaluation = Partial(module, launch, numbers, visits, stepwise, at_once)
                evaluation.left = max(1, _MOST_COMPARED // _elements(module))
                evaluation.run(public_function(module))
                if evaluation.reason:
                    raise UnknownTrafficError(evaluation.reason)
                is_cut |= evaluation.is_cut
                found.append(visits)
        except NotAffineError as error:
            stepwise |= {error.operation}
        except TooLargeError:
            if at_once == 1:
                raise UnknownTrafficError("a tensor of addresses is too large") from None
            at_once = max(1, at_once // 16)
        else:
            return found[0], found[1], is_cut


def _first_differing(
    modules: tuple[Module, Module], launch: Launch, suspects: Array
) -> tuple[int | None, bool]:
    """Return the first program whose accesses differ in 64 bits, and whether that is certain."""
    elements, is_certain = _elements(modules[0]), True
    at, step = 0, 1  # as a rule the first one differs
    while at < suspects.size:
        if at * elements > _MOST_COMPARED:
            return None, False
        some = suspects[at : at + step]
        narrow, wide, is_cut = _compared(modules, launch, some)
        if narrow.digests != wide.digests and step == 1:
            return int(some[0]), True
        if narrow.digests != wide.digests:
            step = max(1, step // 8)
            continue
        is_certain &= not is_cut
        at += some.size
        step = min(step * 4, max(1, _MOST_COMPARED // 64 // elements))
    return None, is_certain


def _elements(module: Module) -> int:
    """Return the number of elements of the kernel's largest tensor."""
    shapes = (kind.shape for each in module.operations for kind in each.result_types)
    return max((prod(shape) for shape in shapes if shape), default=1)


def _programs(module: Module) -> set[str]:
    """Return the names of the numbers of programs."""
    return {name for each in module.doing("program") for name, _ in each.results}


def _carried(module: Module) -> set[str]:
    """Return the names of what loops count and carry."""
    loops = list(module.doing("for"))
    inside = {arg.name for each in loops for arg in each.regions[0].blocks[0].arguments}
    return inside | {name for each in loops for name in result_names(each)}


def _is_affine(module: Module, data: frozenset[int], varying: set[str]) -> bool:
    """Whether values enter integers by sums and products with what is the same for all."""
    for each in module.operations:
        of_values = [name for name in each.operands if name in varying]
        if not of_values or each.index in data:
            continue
        is_scaled = each.does in ("multiply", "shift left") and len(of_values) < 2
        if is_scaled or each.does in _ENDS or _is_real(each):
            varying = varying | set(result_names(each))
        elif each.does not in _CONSUMERS:
            return False
    return True


def _is_real(operation: Operation) -> bool:
    """Whether an operation yields no integer and no address."""
    kinds = [kind.element for kind in operation.result_types or operation.operand_types[-1:]]
    return bool(operation.results and kinds) and all(
        isinstance(k, Scalar) and not k.is_integer for k in kinds
    )


def _at_ends(grid: tuple[int, int, int]) -> Array:
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


def _program(launch: Launch, number: int) -> tuple[int, int, int]:
    x, y, _ = launch.grid
    return number % x, number // x % y, number // (x * y)


def _access(module: Module, launch: Launch, number: int, index: int) -> Cause:
    operation = module.operations[index]
    names = {"load": operation.name not in STORES | ATOMICS, "store": operation.name in STORES}
    word = next((name for name, holds in names.items() if holds), "atomic operation")
    return Cause(
        program=_program(launch, number),
        line=operation.span.line,
        source=user_line(operation),
        operation=word,
    )


def _outside(module: Module, launch: Launch, found: _Outside) -> Cause:
    return msgspec.structs.replace(
        _access(module, launch, found.number, found.index),
        argument=found.argument,
        value=found.offset,
        most=found.most,
    )


def _overflow(modules: tuple[Module, Module], launch: Launch, number: int) -> Cause:
    """Return the access that differs, and the operation that first exceeds its type before it."""
    module = modules[0]
    one = np.asarray([number], np.int64)
    some, others, _ = _compared(modules, launch, one, keeps=True)
    index, only_mask = _differing(some.accesses, others.accesses)
    cause = msgspec.structs.replace(_access(module, launch, number, index), only_mask=only_mask)
    wrap = overflow_before(module, launch, number, module.operations[index])
    if wrap is None:
        return cause
    return msgspec.structs.replace(
        cause,
        word=wrap.word,
        at=user_line(wrap.operation),
        value=wrap.value,
        bits=wrap.bits,
        factors=list(wrap.factors),
    )


def _differing(
    some: Sequence[tuple[int, Array, Array]], others: Sequence[tuple[int, Array, Array]]
) -> tuple[int, bool]:
    """Return the first access that differs, and whether its addresses are right nevertheless."""
    for (index, mask, places), (other, wide_mask, wide_places) in zip(some, others, strict=False):
        if index != other or mask.shape != wide_mask.shape:
            return index, True
        wrong = mask & (places != wide_places)
        if wrong.any() or (mask != wide_mask).any():
            return index, not wrong.any()
    longer = max(some, others, key=len)  # a loop runs longer in one of them
    return longer[min(len(some), len(others))][0], True
