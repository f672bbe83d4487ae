"""Whether a launch computes an address or a mask that differs from the one without overflow.

Programs are evaluated twice, as the ttir is and with every narrow integer in 64 bits. An access
whose mask or whose unmasked offsets differ breaks the launch; one that leaves its tensor in 64 bits
does, too. What is masked off may overflow: it is not accessed.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import Any

import msgspec
import numpy as np

from irlens.analyze.mlir_loops import user_line
from irlens.analyze.offset_wraps import overflow_before, widened
from irlens.analyze.traffic.accesses import Reference
from irlens.analyze.traffic.evaluation import Evaluation, public_function
from irlens.analyze.traffic.launch import Launch
from irlens.analyze.traffic.loops import Counted, NotAffineError
from irlens.analyze.traffic.values import (
    Array,
    TooLargeError,
    UnknownTrafficError,
    materialize,
    truth,
)
from irlens.isa.mlir import Module, Operation
from irlens.isa.mlir.global_memory import ATOMICS, STORES
from irlens.isa.mlir.operations import Deed
from irlens.model.limits import Cause, LimitKind

#: Programs up to which all are evaluated, if they have few elements; of more, those at the ends
#: and some between.
_MOST_PROGRAMS = 2048
_MOST_ELEMENTS = 1 << 17
_LEAST_AT_ENDS = 8
#: Elements of all programs up to which all may be evaluated.
_MOST_IN_ALL = 1 << 22
#: Operations that are monotone in each operand, or keep what they are given.
_ENDS: frozenset[Deed | None] = frozenset(
    {
        "add", "subtract", "extend", "extend unsigned", "truncate", "to index", "spread", "insert",
        "stretch", "offset", "reshape", "transpose",
    }
)  # fmt: skip
#: Operations whose results are no integers of addresses: accesses, and masks.
_CONSUMERS: frozenset[Deed | None] = frozenset(
    {"load", "store", "atomic", "compare", "and", "print"}
)
_BETWEEN = 16
#: Iterations at either end of a loop that are evaluated; all of a shorter one.
_ITERATIONS = 8
#: Instances of a loop's body that are evaluated at once.
_AT_ONCE = 1 << 10


class Broken(msgspec.Struct, frozen=True):
    """What breaks in a launch, by kind, and whether programs that were not evaluated hold.

    They do where there are none, or where every integer follows from the program's number by sums
    and products alone, so that it is largest and smallest in programs at the ends.
    """

    causes: dict[LimitKind, Cause]
    is_whole: bool


def broken(
    module: Module,
    arguments: Mapping[str, Any],
    grid: tuple[int, int, int],
    *,
    every: bool = False,
) -> Broken:
    """Return what breaks in a launch.

    Args:
        module: The kernel's ttir.
        grid: Programs in x, y and z.
        every: Whether to evaluate all programs, unless they are too many.

    Raises:
        UnknownTrafficError: The launch cannot be evaluated: its addresses, masks or loops follow
            from data.
    """
    launch, wide = Launch(arguments, grid), widened(module)
    causes: dict[LimitKind, Cause] = {}
    parts, is_whole = _parts(grid, _elements(module), every=every)
    for part in parts:
        as_it_is, without = _visits((module, wide), launch, part)
        if "outside" not in causes and without.outside is not None:
            causes["outside"] = _outside(module, launch, without.outside)
        if "overflow" not in causes and as_it_is.digests != without.digests:
            causes["overflow"] = _overflow(module, wide, launch, part)
    return Broken(causes, is_whole or _is_affine(module))


class _Outside(msgspec.Struct, frozen=True):
    """An access outside of its tensor: the program, the operation, the byte and the tensor's."""

    number: int
    index: int
    argument: str
    offset: int
    most: int


class _Visits:
    """What some programs access.

    Attributes:
        digests: Of the mask of each access, and of the offsets that it lets through.
        accesses: These themselves, if they are kept.
        outside: The first access outside of its tensor.
    """

    def __init__(self, sizes: Mapping[str, int | None], *, keeps: bool) -> None:
        self._sizes, self._keeps = sizes, keeps
        self.digests: list[tuple[int, bytes]] = []
        self.accesses: list[tuple[int, Array, Array]] = []
        self.outside: _Outside | None = None

    def __call__(self, operation: Operation, access: Reference, programs: Array) -> None:
        """Note an access."""
        places = materialize(access.pointer.offset)
        mask = truth(access.mask)
        mask = np.broadcast_to(mask.reshape(mask.shape + (1,) * (places.ndim - mask.ndim)),
                               np.broadcast_shapes(places.shape, mask.shape))  # fmt: skip
        places = np.broadcast_to(places, mask.shape)
        passed = np.where(mask, places, 0)
        self.digests.append((operation.index, _digest(np.packbits(mask), passed)))
        if self._keeps:
            self.accesses.append((operation.index, mask, places))
        size = self._sizes.get(access.pointer.argument)
        if size is None or self.outside is not None:
            return
        beyond = mask & ((places < 0) | (places > size - access.element_bytes))
        if beyond.any():
            row, *_ = at = tuple(int(each[0]) for each in np.nonzero(beyond))
            number = int(programs[row if programs.size > 1 else 0])
            self.outside = _Outside(
                number, operation.index, access.pointer.argument, int(places[tuple(at)]), size
            )


class _Ends(Evaluation):
    """Evaluates the first and the last iterations of long loops, where sums are largest."""

    def instances(self, loop: Counted, running: Array) -> Iterator[tuple[Array, Array]]:
        """Yield the instances at either end."""
        trips = loop.trips[running]
        if int(trips.max()) <= 2 * _ITERATIONS:
            yield from super().instances(loop, running)
            return
        owners = np.arange(running.size, dtype=np.int64)
        for at in range(_ITERATIONS):
            owner = owners[trips > at]
            yield owner, np.full(owner.size, at, dtype=np.int64)
        for at in range(_ITERATIONS, 0, -1):
            owner = owners[trips - at >= _ITERATIONS]
            yield owner, trips[owner] - at


def _digest(*arrays: Array) -> bytes:
    digest = hashlib.blake2b(digest_size=16)
    for each in arrays:
        digest.update(np.ascontiguousarray(each).tobytes())
    return digest.digest()


def _visits(
    modules: tuple[Module, Module], launch: Launch, part: range, *, keeps: bool = False
) -> tuple[_Visits, _Visits]:
    """Evaluate some programs as the ttir is and in 64 bits, both in the same steps.

    The digests are of what is evaluated at once: other steps alone would tell the two apart.

    Raises:
        UnknownTrafficError: They cannot be evaluated.
    """
    stepwise: frozenset[int] = frozenset()
    at_once = _AT_ONCE
    while True:
        try:
            as_it_is, wide = (
                _evaluated(module, launch, part, stepwise, at_once, keeps=keeps)
                for module in modules
            )
        except NotAffineError as error:
            stepwise |= {error.operation}
        except TooLargeError:
            if at_once == 1:
                raise UnknownTrafficError("a tensor of addresses is too large") from None
            at_once = max(1, at_once // 16)
        else:
            return as_it_is, wide


def _evaluated(
    module: Module,
    launch: Launch,
    part: range,
    stepwise: frozenset[int],
    at_once: int,
    *,
    keeps: bool,
) -> _Visits:
    function = public_function(module)
    sizes = {
        argument.name.removeprefix("%"): launch.tensor_bytes(argument)
        for argument in function.regions[0].blocks[0].arguments
    }
    visits = _Visits(sizes, keeps=keeps)
    evaluation = _Ends(module, launch, part, visits, stepwise, at_once=at_once)
    evaluation.run(function)
    if evaluation.reason:
        raise UnknownTrafficError(evaluation.reason)
    return visits


def _elements(module: Module) -> int:
    """Return the number of elements of the kernel's largest tensor."""
    shapes = (kind.shape for each in module.operations for kind in each.result_types)
    return max((prod(shape) for shape in shapes if shape), default=1)


def _is_affine(module: Module) -> bool:
    """Whether program ids enter integers by sums and products with what is the same for all."""
    varying: set[str] = set()
    for each in module.operations:
        of_program = [name for name in each.operands if name.partition("#")[0] in varying]
        if not of_program and each.does != "program":
            continue
        is_scaled = each.does in ("multiply", "shift left") and len(of_program) < 2
        if not of_program or is_scaled or each.does in _ENDS:
            varying |= {name for name, _ in each.results}
        elif each.does not in _CONSUMERS:
            return False
    return True


def _parts(grid: tuple[int, int, int], elements: int, *, every: bool) -> tuple[list[range], bool]:
    """Return the programs to evaluate, and whether these are all."""
    number = grid[0] * grid[1] * grid[2]
    most = min(_MOST_PROGRAMS, max(4 * _LEAST_AT_ENDS, _MOST_ELEMENTS // elements))
    if every and number * elements <= _MOST_IN_ALL:
        return [range(at, min(at + most, number)) for at in range(0, number, most)], True
    if number <= most:
        return [range(number)], True
    ends = most // 4
    between = range(ends, number - ends, max(1, number // _BETWEEN))
    # The last program of the first row, and of the first plane, where x and y are large.
    corners = [at for at in (grid[0] - 1, grid[0] * grid[1] - 1) if ends <= at < number - ends]
    single = [range(at, at + 1) for at in (*between, *corners)]
    return [range(ends), *single, range(number - ends, number)], False


def _first(module: Module, wide: Module, launch: Launch, part: range) -> int:
    """Return the first of some programs whose accesses differ, as those of one do."""
    low, high = part.start, part.stop
    while high - low > 1:
        middle = (low + high) // 2
        half = range(low, middle)
        as_it_is, without = _visits((module, wide), launch, half)
        if as_it_is.digests != without.digests:
            high = middle
        else:
            low = middle
    return low


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


def _overflow(module: Module, wide: Module, launch: Launch, part: range) -> Cause:
    """Return the access that differs, and the operation that first exceeds its type before it."""
    number = _first(module, wide, launch, part)
    program = range(number, number + 1)
    some, others = _visits((module, wide), launch, program, keeps=True)
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
