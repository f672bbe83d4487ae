"""Whether a launch computes an address or a mask that differs from the one without overflow.

Programs are evaluated with every narrow integer in 64 bits, all at once: from the bounds of each
integer and of each address follows which of them cannot break. The others are evaluated element by
element, as the ttir is and in 64 bits. An access whose mask or whose unmasked offsets differ breaks
the launch; one that leaves its tensor in 64 bits does, too. What is masked off may overflow: it is
not accessed.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any, TypeVar

import msgspec
import numpy as np

from irlens.analyze import launch_survey, work
from irlens.analyze.mlir_loops import user_line
from irlens.analyze.offset_wraps import Partial, overflow_before, widened
from irlens.analyze.traffic.accesses import Reference, data_operations, public_function
from irlens.analyze.traffic.evaluation import Attempts
from irlens.analyze.traffic.launch import Launch
from irlens.analyze.traffic.values import ELEMENTS_OF_STEP, Array, UnknownTrafficError
from irlens.isa.mlir import Module, Operation
from irlens.isa.mlir.global_memory import ATOMICS, STORES
from irlens.model.limits import Cause, LimitKind

T = TypeVar("T")

#: Programs, times operations that addresses follow from, up to which all programs are evaluated.
_MOST_WORK = 1 << 26


class Broken(msgspec.Struct, frozen=True):
    """What breaks in a launch, by kind, and whether what was not evaluated holds.

    It does where all is evaluated, or where every integer follows from the program's number and
    the iteration by sums and products alone, so that it is largest and smallest at the ends.
    The reach is the largest integer, masked off or not, as a share of its type's range.
    """

    causes: dict[LimitKind, Cause]
    is_whole: bool
    reach: float


@work.budget()
def broken(module: Module, arguments: Mapping[str, Any], grid: tuple[int, int, int]) -> Broken:
    """Return what breaks in a launch.

    Raises:
        UnknownTrafficError: The launch cannot be evaluated: its addresses, masks or loops follow
            from data.
    """
    launch, modules = Launch(arguments, grid), (module, widened(module))
    data = data_operations(module)
    launch.check_grid()
    numbers = launch_survey.at_ends(grid)
    can_all = prod(grid) * (len(module.operations) - len(data)) <= _MOST_WORK
    is_affine = launch_survey.is_affine_in_programs(module, data)
    if can_all and not is_affine:
        numbers = np.arange(prod(grid), dtype=np.int64)
    survey = launch_survey.surveyed(modules, launch, numbers, data)
    if can_all and survey.outside is None and survey.may_leave_between(numbers, grid):
        numbers = np.arange(prod(grid), dtype=np.int64)
        survey = launch_survey.surveyed(modules, launch, numbers, data)
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
        is_whole &= launch_survey.is_affine_in_loops(module, data)
    return Broken(causes, is_whole, survey.reach)


def _noting(
    seen: list[tuple[int, T]], kept: Callable[[Array, Array], T]
) -> Callable[[Operation, Reference, Array], None]:
    """Return the visitor that adds to a list what is kept of each access's mask and offsets."""

    def note(operation: Operation, access: Reference, _: Array) -> None:
        mask, places = access.elements()
        work.spend(places.size >> (ELEMENTS_OF_STEP - 2))  # hashed, and compared
        seen.append((operation.index, kept(mask, places)))

    return note


def _digest_of(mask: Array, places: Array) -> bytes:
    """Return a digest of a mask and of the offsets that it lets through."""
    digest = hashlib.sha256(usedforsecurity=False)  # which processors have an instruction for
    for each in (np.packbits(mask), np.where(mask, places, 0)):
        digest.update(np.ascontiguousarray(each).reshape(-1).data)
    return digest.digest()


def _whole(mask: Array, places: Array) -> tuple[Array, Array]:
    return mask, places


def _compared(
    modules: tuple[Module, Module],
    launch: Launch,
    numbers: Array,
    kept: Callable[[Array, Array], T],
) -> tuple[list[tuple[int, T]], list[tuple[int, T]], bool]:
    """Evaluate some programs as the ttir is and in 64 bits, both in the same steps.

    The digests are of what is evaluated at once: other steps alone would tell the two apart.

    Returns:
        What both access, and whether iterations of loops were left out.

    Raises:
        UnknownTrafficError: They cannot be evaluated.
    """
    attempts = Attempts(at_once=1 << 10)

    def evaluated(module: Module) -> tuple[list[tuple[int, T]], bool]:
        seen: list[tuple[int, T]] = []
        evaluation = Partial(module, launch, numbers, _noting(seen, kept), attempts)
        evaluation.left = max(1, launch_survey.MOST_COMPARED // _elements(module))
        evaluation.run(public_function(module))
        if evaluation.reason:
            raise UnknownTrafficError(evaluation.reason)
        return seen, evaluation.is_cut

    (some, one), (others, other) = attempts.until_done(lambda: tuple(map(evaluated, modules)))
    return some, others, one or other


def _first_differing(
    modules: tuple[Module, Module], launch: Launch, suspects: Array
) -> tuple[int | None, bool]:
    """Return the first program whose accesses differ in 64 bits, and whether that is certain."""
    elements, is_certain = _elements(modules[0]), True
    at, step = 0, 1  # as a rule the first one differs
    while at < suspects.size:
        if at * elements > launch_survey.MOST_COMPARED:
            return None, False
        some = suspects[at : at + step]
        narrow, wide, is_cut = _compared(modules, launch, some, _digest_of)
        if narrow != wide and step == 1:
            return int(some[0]), True
        if narrow != wide:
            step = max(1, step // 8)
            continue
        is_certain &= not is_cut
        at += some.size
        step = min(step * 4, max(1, launch_survey.MOST_COMPARED // 64 // elements))
    return None, is_certain


def _elements(module: Module) -> int:
    """Return the number of elements of the kernel's largest tensor."""
    shapes = (kind.shape for each in module.operations for kind in each.result_types)
    return max((prod(shape) for shape in shapes if shape), default=1)


def _access(module: Module, launch: Launch, number: int, index: int) -> Cause:
    operation = module.operations[index]
    names = {"load": operation.name not in STORES | ATOMICS, "store": operation.name in STORES}
    word = next((name for name, holds in names.items() if holds), "atomic operation")
    return Cause(
        program=launch.program(number),
        line=operation.span.line,
        source=user_line(operation),
        operation=word,
    )


def _outside(module: Module, launch: Launch, found: launch_survey.Outside) -> Cause:
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
    some, others, _ = _compared(modules, launch, one, _whole)
    index, only_mask = _differing(some, others)
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
    some: Sequence[tuple[int, tuple[Array, Array]]],
    others: Sequence[tuple[int, tuple[Array, Array]]],
) -> tuple[int, bool]:
    """Return the first access that differs, and whether its addresses are right nevertheless."""
    for (index, (mask, places)), (other, wide) in zip(some, others, strict=False):
        wide_mask, wide_places = wide
        if index != other or mask.shape != wide_mask.shape:
            return index, True
        wrong = mask & (places != wide_places)
        if wrong.any() or (mask != wide_mask).any():
            return index, not wrong.any()
    longer = max(some, others, key=len)  # a loop runs longer in one of them
    return longer[min(len(some), len(others))][0], True
