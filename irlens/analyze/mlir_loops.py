"""Loops of ttir and ttgir, and the number of pipeline stages requested for each.

The compiler decides which loops a kernel-wide ``num_stages`` applies to, by the same rule for both
vendors and in all that Triton 3.4 to 3.9 compiled for the tests (``loadOpsToIndirectionLevel`` in
``lib/Dialect/TritonGPU/Transforms/Pipeliner/AssignLatencies.cpp``, called for AMD from
``third_party/amd/lib/TritonAMDGPUTransforms/ScheduleLoops.cpp``):

- Only ``scf.for`` is pipelined, and of nested loops only the innermost.
- Loads from which an operand A or B of a dot is computed, dot and load both directly in the loop's
  body, are candidates. They run ``num_stages`` deep, the loop's own or else the kernel's.
- In a loop without a dot, loads are candidates only if the loop has its own ``tt.num_stages``
  (``tl.range(..., num_stages=)``): a kernel-wide ``num_stages`` says nothing about it.

``tt.num_stages`` stays on the loop in ttir and in ttgir; loops lose it when they become branches in
LLVM IR. Only ttir is reliable: in ttgir a flattened nest has become one loop, and warp
specialization for Hopper has written 0 into every loop so that none is pipelined again
(``third_party/nvidia/hopper/lib/Transforms/WarpSpecialization.cpp``).
"""

import operator
import re
from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

import msgspec

from irlens.analyze.loops import ONLY, LoopCopy
from irlens.analyze.solver import reach
from irlens.isa.mlir import Module, Operation
from irlens.isa.mlir.operations import FLATTENED, LOADS, NUM_STAGES, Deed
from irlens.isa.mlir.values import Value
from irlens.model.source import SourceLocation, Span, user_frame


def carried(module: Module, loop: Operation) -> dict[str, str]:
    """Return the loop-carried values, each with the value that an iteration yields for it.

    Names are as the text has them: {"%acc_1": "%acc_2"}.
    """
    body = module.own(loop)
    ends = [each for each in body if each.does == "yield"]
    if len(ends) != 1 or len(loop.blocks) != 1 or not ends[0].operands:
        return {}
    names = [each.name for each in loop.blocks[0].arguments[-len(ends[0].operands) :]]
    return dict(zip(names, ends[0].operands, strict=False))


def carried_farther(module: Module, loop: Operation) -> dict[str, str]:
    """Return the values that a loop hands on from iteration to iteration, each with what it yields.

    A value that is handed on is a carried one itself, and reaches an iteration but one later.
    """
    values = carried(module, loop)
    return {name: yielded for name, yielded in values.items() if yielded in values}


def carried_loads(module: Module, loop: Operation) -> list[tuple[Operation, str]]:
    """Return the loads that a loop carries, each with the value that holds it: "%x_1".

    The pipeliner follows the operands of a product inside of one iteration, and does not find them.
    """
    body = module.own(loop)
    loads = {name: each for each in body if each.does == "load" for name, _ in each.results}
    found = carried(module, loop).items()
    return [(loads[yielded], name) for name, yielded in found if yielded in loads]


def iterations(module: Module, loop: Operation, arguments: Mapping[str, int]) -> int | None:
    """Return how often a ``for`` loop of a ttir runs; ``None`` where its bounds are not known.

    Args:
        arguments: Integers that the kernel is launched with.
    """
    if loop.does != "for" or loop.flag(FLATTENED):
        return None
    bounds = [number_of(module, each, arguments) for each in module.values.operands[loop.index][:3]]
    first, end, step = bounds
    if first is None or end is None or step is None or step <= 0:
        return None
    return max(0, -((first - end) // step))


def number_of(module: Module, value: Value | None, arguments: Mapping[str, int]) -> int | None:
    """Return an integer of 32 bits that follows from constants and arguments by arithmetic."""
    if value is None:
        return None
    maker, kernel = module.operations[value.operation], module.kernel
    if value.region is not None:
        if kernel is None or maker.index != kernel.index:
            return None
        return arguments.get(maker.parameters[value.number].name.removeprefix("%"))
    if maker.does == "constant":
        return int(maker.literal) if re.fullmatch(r"-?\d+", maker.literal) else None
    compute = _ARITHMETIC.get(maker.does)
    if compute is None:
        return None
    one, other = (
        number_of(module, each, arguments) for each in module.values.operands[maker.index]
    )
    if one is None or other is None or (maker.does == "divide" and (one < 0 or other <= 0)):
        return None
    result = compute(one, other)
    return result if -_LARGEST <= result < _LARGEST else None


def inside(module: Module, operation: Operation, region: Operation) -> list[Operation] | None:
    """Return what an operation is computed from inside of a region, itself last.

    ``None`` if that cannot be moved to the beginning of the region: it has regions of its own, or
    stands in another one.
    """
    values = module.values

    def before(index: int) -> Iterator[int]:
        for value in values.operands[index]:
            if value is not None and region.index < value.operation < region.end:
                yield value.operation

    indices = sorted({operation.index, *reach(before(operation.index), before)})
    found = [module.operations[index] for index in indices]
    movable = all(each.parent == region.index and not each.regions for each in found)
    return found if movable else None


_LARGEST = 1 << 31
#: Arithmetic of two numbers; quotients of those that are not negative.
_ARITHMETIC: Mapping[Deed | None, Callable[[int, int], int]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.floordiv,
    "minimum": min,
    "maximum": max,
}
Chain: TypeAlias = tuple[SourceLocation, ...]
#: Number of stages requested, given the source location of a loop, innermost frame first, and
#: which of the loops at that location it is.
RequestedStages: TypeAlias = Callable[[Chain, LoopCopy], int | None]

# The accumulator stands last in the text of both and is no reason to pipeline a load.
_DOTS = frozenset({"multiply matrices", "multiply scaled matrices"})


class Loop(msgspec.Struct, frozen=True, kw_only=True):
    """One ``scf.for`` or ``scf.while``.

    Attributes:
        operation: Its index in ``Module.operations``.
        location: The ``for`` or ``while``, innermost frame first; empty if unknown.
        depth: Loops around it in its function.
        parent: Index of the innermost of them, or ``None``.
        num_stages: What ``tl.range(..., num_stages=)`` requested; ``None`` if it did not.
        feeds_dot: Whether, in ttir, a dot in its body uses a load in its body, directly or not.
        flatten: ``tl.range(..., flatten=True)``: to be fused with the loop inside it.
    """

    operation: int
    location: Chain
    depth: int
    parent: int | None
    inner: tuple[int, ...]
    num_stages: int | None
    feeds_dot: bool
    flatten: bool


def find_loops(module: Module) -> dict[int, Loop]:
    """Return the loops of a module by the index of their operation, outer ones first."""
    around: list[int] = []
    parents: dict[int, tuple[int, int]] = {}
    inner: dict[int, list[int]] = {}
    for operation in module.doing("for", "while"):
        while around and module.operations[around[-1]].end <= operation.index:
            around.pop()
        if around:
            inner[around[-1]].append(operation.index)
        parents[operation.index] = (len(around), around[-1] if around else -1)
        inner[operation.index] = []
        around.append(operation.index)
    return {
        index: _loop(module, module.operations[index], depth, parent, tuple(inner[index]))
        for index, (depth, parent) in parents.items()
    }


def outermost_loops(module: Module) -> list[Span]:
    """Return the lines of each loop that is in no other."""
    loops = find_loops(module).values()
    return [module.operations[each.operation].span for each in loops if each.parent is None]


def _loop(
    module: Module, operation: Operation, depth: int, parent: int, inner: tuple[int, ...]
) -> Loop:
    return Loop(
        operation=operation.index,
        location=operation.location,
        depth=depth,
        parent=None if parent < 0 else parent,
        inner=inner,
        num_stages=operation.integer(NUM_STAGES),
        feeds_dot=operation.does == "for" and not inner and _feeds_dot(module, operation),
        flatten=operation.flag(FLATTENED),
    )


def _feeds_dot(module: Module, loop: Operation) -> bool:
    """Whether a dot in a loop's body uses a load in the body, directly or not."""
    body = module.own(loop)
    defined = {name: operation for operation in body for name, _ in operation.results}
    waiting = [name for op in body if op.does in _DOTS for name in op.operands[:-1]]
    seen: set[int] = set()
    while waiting:
        operation = defined.get(waiting.pop().partition("#")[0])
        if operation is None or operation.index in seen:
            continue
        if operation.name in LOADS:
            return True
        seen.add(operation.index)
        for user in (operation, *module.body(operation)):
            waiting += user.operands
    return False


def requested_for(loops: dict[int, Loop], index: int, default: int | None) -> int | None:
    """Return the number of stages requested for one loop of a ttir, or ``None`` if none was."""
    loop = loops[index]
    if loop.flatten and len(loop.inner) == 1 and not loops[loop.inner[0]].inner:
        # FuseNestedLoops makes one loop of both, at the outer loop's location; the inner loop's
        # request takes precedence (seen with 3.6.0 and 3.9.0: outer 4, inner 5 gives 5).
        inner = loops[loop.inner[0]]
        requests = (inner.num_stages, loop.num_stages, default if inner.feeds_dot else None)
        return next((request for request in requests if request is not None), None)
    if loop.num_stages is not None:
        return loop.num_stages
    return default if loop.feeds_dot else None


def requested_stages(ttir: Module | None, default: int | None) -> RequestedStages:
    """Return a function from a loop's source location to the stages requested there.

    Several loops at a location may request different numbers: unrolling gives the loop for the
    remaining iterations one stage. Each then answers for the loop of the machine code that is at
    its position. The function returns ``None`` where their numbers differ, and for a location
    without a loop or without a request. Columns are ignored: up to Triton 3.7 a loop carries that
    of its range, later its own. A loop of a called function stands there without its callers.

    Args:
        ttir: The ttir; without one every answer is ``None``.
    """
    stages: dict[tuple[tuple[str, int], ...], list[int | None]] = {}
    loops = find_loops(ttir) if ttir is not None else {}
    for index, loop in loops.items():
        if loop.location:
            there = stages.setdefault(_lines(loop.location), [])
            there.append(requested_for(loops, index, default))

    def answer(location: Chain, copy: LoopCopy = ONLY) -> int | None:
        lines = _lines(location)
        prefixes = (lines[:length] for length in range(len(lines), 0, -1))
        candidates = next((stages[each] for each in prefixes if each in stages), [None])
        if len(set(candidates)) == 1:
            return candidates[0]
        return candidates[copy.index] if len(candidates) == copy.of else None

    return answer


def flattened(ttir: Module | None) -> Callable[[Chain], bool]:
    """Return whether the loop of the source at a location is to be fused with its inner one."""
    loops = find_loops(ttir).values() if ttir is not None else ()
    places = {_lines(loop.location) for loop in loops if loop.flatten and loop.inner}
    return lambda location: _lines(location) in places


def _lines(location: Chain) -> tuple[tuple[str, int], ...]:
    return tuple((frame.file, frame.line) for frame in location)


def place_of(operation: Operation) -> str:
    """Return the operation's line of Python, or else that of its text."""
    source = user_line(operation)
    return f"line {operation.span.line}" if source is None else str(source)


def user_line(operation: Operation) -> SourceLocation | None:
    """Return the innermost frame of an operation that is in the kernel's own file."""
    return user_frame(operation.location)
