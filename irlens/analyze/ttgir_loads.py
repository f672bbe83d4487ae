"""Reads of global memory in the loops of a ttgir: which run ahead, and why others do not.

The pipeliner peels the first iterations of the reads that it moves ahead, and leaves them in front
of the loop with their source location: a read that also stands there n times, in the block that
holds the loop, runs ahead by n iterations. A load to registers also shows it in the loop, which
yields the value until it is used. Producers of a warp-specialized loop run ahead without peeling,
as far as their buffer has room.
"""

from bisect import bisect_left
from collections.abc import Iterator
from fractions import Fraction
from functools import cached_property
from operator import attrgetter

import msgspec

from irlens.analyze.mlir_loops import Chain, Loop, find_loops, user_line
from irlens.analyze.ttgir_buffers import Buffers
from irlens.analyze.ttgir_refusals import CONDITIONAL, LoopBody, refusal
from irlens.isa.mlir import Module, Operation
from irlens.isa.mlir.copies import BULK_TO_SHARED, COPIES, LOADS
from irlens.isa.mlir.encodings import blocked, cta_parts, encoding_of
from irlens.isa.mlir.products import BUFFER_USES, PRODUCTS
from irlens.isa.mlir.types import Pointer, Tensor, Type
from irlens.isa.mlir.values import Value
from irlens.model.memory import LoadState, LoopLoad
from irlens.model.source import SourceLocation

_READS = LOADS | COPIES | BULK_TO_SHARED
_WIDEST_ACCESS = 16  # bytes: 128-bit loads and copies are the widest that one thread issues
_index = attrgetter("index")
#: No pipeline is as deep as this.
_MOST_ITERATIONS = 64

OWN_ITERATION = "no copy of it stands before the loop: every iteration waits for its own"


def find(module: Module, num_stages: int | None) -> tuple[LoopLoad, ...]:
    """Describe every read of global memory in a loop, in the order of the text.

    Args:
        num_stages: The kernel-wide number of stages; ``None`` if unknown.
    """
    return tuple(_Finder(module, num_stages).loads())


def lacks_locations(module: Module) -> bool:
    """Whether reads have no place in the source, which tells the copies of one from another."""
    return any(not read.location for read in module.named(*_READS))


class _Read(msgspec.Struct, frozen=True):
    """A read, the innermost loop around it, and whether other warps may run ahead with it."""

    operation: Operation
    loop: Operation | None
    concurrent: bool


class _Finder:
    def __init__(self, module: Module, num_stages: int | None) -> None:
        self._module = module
        self._num_stages = num_stages
        self._loops: dict[int, Loop] = find_loops(module)
        self._bodies: dict[int, LoopBody] = {}
        self._pipelined: set[int] = set()
        #: What ``_used`` finds, by buffer, or without one for all products, and loop.
        self._most: dict[tuple[int | None, int], Fraction] = {}

    # Many kernels have no load in a loop, and need none of these.

    @cached_property
    def _buffers(self) -> Buffers:
        return Buffers(self._module)

    @cached_property
    def _products(self) -> tuple[Operation, ...]:
        return tuple(self._module.named(*PRODUCTS))

    def loads(self) -> Iterator[LoopLoad]:
        reads = self._named(_READS)
        ahead, prologues = _prologues(reads)
        peeled, _ = _prologues(self._named(BUFFER_USES))
        self._pipelined = {
            read.loop.index
            for read in reads
            if read.loop is not None
            and (read.operation.name not in LOADS or ahead[read.operation.index][0])
        }
        for read in reads:
            # The prologue of an inner loop, inside an outer one, is not a read of its own.
            if read.loop is not None and read.operation.index not in prologues:
                copies, alike = ahead[read.operation.index]
                yield self._load(read, read.loop, copies, alike, peeled)

    def _named(self, names: frozenset[str]) -> list[_Read]:
        reads = []
        around: list[Operation] = []
        concurrent = 0  # operations before this one are in a ttg.warp_specialize
        for operation in self._module.operations:
            while around and around[-1].end <= operation.index:
                around.pop()
            if operation.index in self._loops:
                around.append(operation)
            elif operation.does == "partition":
                concurrent = max(concurrent, operation.end)
            elif operation.name in names:
                loop = around[-1] if around else None
                reads.append(_Read(operation, loop, operation.index < concurrent))
        return reads

    def _load(
        self,
        placed: _Read,
        loop: Operation,
        peeled_copies: int,
        alike: int,
        peeled: dict[int, tuple[int, int]],
    ) -> LoopLoad:
        read = placed.operation
        tile = _tile(read)
        buffer = self._buffer(read, tile)
        copies = None if buffer is None else self._buffers.copies(buffer)
        # The copy before the loop may have become one with an equal load of an earlier loop.
        carried = _carried_for(self._module, read, loop) if read.name in LOADS else 0
        used = self._used(read, buffer, loop, peeled)
        if not peeled_copies and carried:
            peeled_copies, alike, used = carried, 1, Fraction(0)
        elif read.name in LOADS and peeled_copies <= used * alike:
            peeled_copies = 0  # those before the loop are for products before it
        ahead = peeled_copies > 0 or (placed.concurrent and copies is not None and copies > 1)
        widest = _widest_access(self._module, read, tile)
        state: LoadState = "in place"
        if ahead:
            state = "registers" if read.name in LOADS else "asynchronous"
        return LoopLoad(
            operation=read.name,
            line=read.span.line,
            source=self._line(read, loop),
            loop_line=loop.span.line,
            loop_source=user_line(loop),
            state=state,
            iterations_ahead=_iterations(peeled_copies, alike, used) if ahead else 0,
            shape=tile.shape,
            element=str(tile.element),
            bytes_per_iteration=_bytes(self._module, tile),
            widest_access_bytes=widest,
            buffer_line=None if buffer is None else self._module.operations[buffer].span.line,
            buffer_copies=copies,
            reason="" if ahead else self._reason(placed, loop, widest),
        )

    def _line(self, read: Operation, loop: Operation) -> SourceLocation | None:
        """Return the Python line of a read, or of its loop if it has only the function's.

        Warp specialization gives the copies that it makes the location of the function.
        """
        kernel, line = self._module.kernel, user_line(read)
        return user_line(loop) if kernel is not None and line == user_line(kernel) else line

    def _used(
        self,
        read: Operation,
        buffer: int | None,
        loop: Operation,
        peeled: dict[int, tuple[int, int]],
    ) -> Fraction:
        """Return how many iterations' tiles of a read are multiplied before a loop begins.

        A tile may be read into registers before that, for the first iteration of the loop itself.
        """

        def most(used: int | None) -> Fraction:
            """Of the products if it is ``None``, else of the users of a buffer."""
            key = used, loop.index
            if key not in self._most:
                of = self._products if used is None else self._buffers.users[used]
                first, last = (bisect_left(of, at, key=_index) for at in (loop.index, loop.end))
                tiles = (Fraction(*peeled[n]) for n in map(_index, of[first:last]) if n in peeled)
                self._most[key] = max(tiles, default=Fraction(0))
            return self._most[key]

        if buffer is None:
            return most(None) if read.name in LOADS else Fraction(0)
        return min(most(buffer), most(None))

    def _buffer(self, read: Operation, tile: Tensor) -> int | None:
        """Return the allocation that a copy fills, and not that of its barrier."""
        if read.name in LOADS:
            return None
        allocations = set[int]()
        for value in self._module.values.operands[read.index]:
            allocations |= self._buffers.behind(value)
        fitting = [index for index in allocations if self._element(index) == tile.element]
        return fitting[0] if len(fitting) == 1 else None

    def _element(self, allocation: int) -> Type:
        return self._module.operations[allocation].result_type.element

    def _reason(self, placed: _Read, loop: Operation, widest: int | None) -> str:
        read = placed.operation
        if read.name not in LOADS:
            return OWN_ITERATION if read.parent == loop.index else CONDITIONAL
        if loop.index not in self._bodies:
            self._bodies[loop.index] = LoopBody.read(self._module, self._module.values, loop)
        return refusal(
            self._module,
            read,
            self._loops[loop.index],
            self._bodies[loop.index],
            num_stages=self._num_stages,
            widest_access=widest,
            pipelined=loop.index in self._pipelined,
            specialized=placed.concurrent,
        )


def _prologues(reads: list[_Read]) -> tuple[dict[int, tuple[int, int]], set[int]]:
    """Find the reads that were peeled off each loop.

    Returns:
        For each read in a loop the number of like reads before and in the loop, and the indices
        of those before. Consecutive loops may have all places in common (an unrolled loop around
        them): each has the reads between it and the previous one.
    """
    places: dict[tuple[str, int | None, Chain], list[int]] = {}
    alike: dict[tuple[str, int, Chain], list[int]] = {}
    loops: dict[int, Operation] = {}
    for read in reads:
        name, location = read.operation.name, read.operation.location
        places.setdefault((name, read.operation.parent, location), []).append(read.operation.index)
        if read.loop is not None:
            loops[read.loop.index] = read.loop
            alike.setdefault((name, read.loop.index, location), []).append(read.operation.index)
    ahead: dict[int, tuple[int, int]] = {}
    prologues: set[int] = set()
    taken: dict[tuple[str, int | None, Chain], int] = {}
    for (name, loop, location), inside in sorted(alike.items(), key=lambda item: item[1]):
        place = (name, loops[loop].parent, location)
        candidates = places.get(place, []) if location else []
        first, end = taken.get(place, 0), bisect_left(candidates, loop)
        taken[place] = end
        prologues.update(candidates[first:end])
        ahead.update((index, (end - first, len(inside))) for index in inside)
    return ahead, prologues


def _iterations(peeled_copies: int, alike: int, used: Fraction) -> int | None:
    """Return how many iterations ahead a read runs; ``None`` if unknown.

    Args:
        peeled_copies: Like reads before the loop.
        alike: Like reads in it.
        used: Iterations whose tiles are used before the loop.
    """
    distance = Fraction(peeled_copies, alike) - used
    return int(distance) if peeled_copies and distance.denominator == 1 else None


def _tile(read: Operation) -> Tensor:
    """Return the shape and element that a read brings, with the layout if it names one."""
    kind = read.operand_type if read.does == "load" else read.result_type
    element = kind.element.pointee if isinstance(kind.element, Pointer) else kind.element
    return Tensor(kind.shape, element, kind.layout)


def _bytes(module: Module, tile: Tensor) -> int | None:
    bits, parts = tile.element.bits, cta_parts(module, encoding_of(module, tile))
    return None if bits is None or parts is None else tile.size * bits // 8 // parts


def _widest_access(module: Module, read: Operation, tile: Tensor) -> int | None:
    """Return the consecutive bytes of a thread, bounded by layout and known contiguity."""
    bits = tile.element.bits
    if read.name in BULK_TO_SHARED or bits is None or bits < 8:
        return None
    if not tile.shape:
        return bits // 8
    # A copy has a tensor of pointers, or of offsets: !tt.ptr<f16>[tensor<128x64xi32, #blocked>].
    tensors = (each for each in read.operand_types if isinstance(each, Tensor))
    held = tile if read.name in LOADS else next(tensors, None)
    layout = blocked(module, held) if held is not None else None
    bounds = [read.integer("contiguity") or 0]
    if held is not None and layout is not None:
        bounds.append(min(layout.size_per_thread[layout.order[0]], held.shape[layout.order[0]]))
    least = min(filter(None, bounds), default=None)
    return None if least is None else min(least * bits // 8, _WIDEST_ACCESS)


def _carried_for(module: Module, load: Operation, loop: Operation) -> int:
    """Return the iterations from a load to the first use of its value, which a loop carries.

    0 where the value is used in its own iteration, or never.

    Args:
        loop: The innermost loop around it.
    """
    if loop.does != "for" or load.parent != loop.index:
        return 0
    held, seen = {Value(load.index, 0)}, set[Value]()
    for iteration in range(_MOST_ITERATIONS):
        seen |= held
        uses = [use for value in held for use in module.values.readers.get(value, ())]
        users = [module.operations[index] for index, _ in uses]
        if any(each.does != "yield" or each.parent != loop.index for each in users):
            return iteration
        # Argument 0 of the body is the induction variable.
        held = {Value(loop.index, position + 1, 0) for _, position in uses} - seen
        if not held:
            return 0
    return 0
