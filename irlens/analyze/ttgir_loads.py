"""Reads of global memory in the loops of a ttgir: which run ahead, and why others do not.

The pipeliner leaves the first iterations of what it moves ahead in front of the loop, with the
place in the source that they had: a read that also stands there, in the block that holds the loop,
runs ahead by as many iterations as it stands there times. What is loaded to registers shows it in
the loop as well, which yields it until it is used. Producers of a warp-specialised loop run
ahead without that, as far as their buffer has room.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from fractions import Fraction

import msgspec

from irlens.analyze.mlir_loops import Chain, Loop, find_loops, user_line
from irlens.analyze.ttgir_buffers import Buffers
from irlens.analyze.ttgir_carried import Carried
from irlens.analyze.ttgir_refusals import LoopBody, refusal
from irlens.isa.mlir import Module, Operation
from irlens.isa.mlir.layouts import layout_of
from irlens.isa.mlir.types import Shaped, cta_parts, element_bits, layout_elements, read_shaped
from irlens.isa.mlir.values import Values
from irlens.model.memory import LoadState, LoopLoad

# "amdgpu" became "amdg" in Triton 3.6.
_TO_REGISTERS = frozenset(
    {"tt.load", "tt.descriptor_load", "amdg.buffer_load", "amdgpu.buffer_load"}
)
_THREADS_TO_SHARED = frozenset(
    {
        "ttg.async_copy_global_to_local",
        "amdg.buffer_load_to_local",
        "amdgpu.buffer_load_to_local",
    }
)
_BULK_TO_SHARED = frozenset(
    {
        "ttng.async_tma_copy_global_to_local",
        "ttng.async_tma_gather",
        "amdg.async_tdm_copy_global_to_local",
    }
)
_READS = _TO_REGISTERS | _THREADS_TO_SHARED | _BULK_TO_SHARED
_PRODUCTS = frozenset(
    {
        "tt.dot",
        "tt.dot_scaled",
        "ttng.tc_gen5_mma",
        "ttng.tc_gen5_mma_scaled",
        "ttng.warp_group_dot",
    }
)
#: What uses the tile in a buffer.
_USES = _PRODUCTS | {"ttg.local_load"}
_POINTER = re.compile(r"!tt\.ptr<([^,<>]+)(?:, \d+)?>")
_WIDEST_ACCESS = 16  # bytes: 128-bit loads and copies are the widest that one thread issues

OWN_ITERATION = "no copy of it stands before the loop: every iteration waits for its own"


def find(module: Module, num_stages: int | None) -> tuple[LoopLoad, ...]:
    """Describe every read of global memory in a loop, in the order of the text.

    Args:
        module: A ttgir.
        num_stages: The kernel-wide number of stages, for the reasons; ``None`` if unknown.
    """
    return tuple(_Finder(module, num_stages).loads())


class _Read(msgspec.Struct, frozen=True):
    """A read, the innermost loop around it, and whether other warps may run ahead with it."""

    operation: Operation
    loop: Operation | None
    concurrent: bool


class _Finder:
    def __init__(self, module: Module, num_stages: int | None) -> None:
        self._module = module
        self._num_stages = num_stages
        self._values = Values(module)
        self._buffers = Buffers(module, self._values)
        self._carried = Carried(module, self._values)
        self._loops: dict[int, Loop] = find_loops(module)
        self._bodies: dict[int, LoopBody] = {}
        self._products = tuple(module.named(*_PRODUCTS))

    def loads(self) -> Iterator[LoopLoad]:
        reads = self._named(_READS)
        ahead, prologues = _prologues(reads)
        peeled, _ = _prologues(self._named(_USES))
        for read in reads:
            # What stands in an outer loop as the prologue of an inner one is no read of its own.
            if read.loop is not None and read.operation.index not in prologues:
                twins, alike = ahead[read.operation.index]
                yield self._load(read, read.loop, twins, alike, peeled)

    def _named(self, names: frozenset[str]) -> list[_Read]:
        reads = []
        around: list[Operation] = []
        concurrent = 0  # operations before this one are in a ttg.warp_specialize
        for operation in self._module.operations:
            while around and around[-1].end <= operation.index:
                around.pop()
            if operation.index in self._loops:
                around.append(operation)
            elif operation.name == "ttg.warp_specialize":
                concurrent = max(concurrent, operation.end)
            elif operation.name in names:
                loop = around[-1] if around else None
                reads.append(_Read(operation, loop, operation.index < concurrent))
        return reads

    def _load(
        self,
        found: _Read,
        loop: Operation,
        twins: int,
        alike: int,
        peeled: dict[int, tuple[int, int]],
    ) -> LoopLoad:
        read = found.operation
        tile = _tile(read)
        buffer = self._buffer(read, tile)
        copies = None if buffer is None else self._buffers.copies(buffer)
        # The copy before the loop may have become one with an equal load of an earlier loop.
        carried = self._carried.iterations(read, loop) if read.name in _TO_REGISTERS else 0
        if not twins and carried:
            twins, alike = carried, 1
        ahead = twins > 0 or (found.concurrent and copies is not None and copies > 1)
        widest = _widest_access(self._module, read, tile)
        state: LoadState = "in place"
        if ahead:
            state = "registers" if read.name in _TO_REGISTERS else "asynchronous"
        return LoopLoad(
            operation=read.name,
            line=read.span.line,
            source=user_line(read),
            loop_line=loop.span.line,
            loop_source=user_line(loop),
            state=state,
            iterations_ahead=_iterations(twins, alike, ahead, self._used(buffer, loop, peeled)),
            shape=tile.shape,
            element=tile.element,
            bytes_per_iteration=_bytes(self._module, tile),
            widest_access_bytes=widest,
            buffer_line=None if buffer is None else self._module.operations[buffer].span.line,
            buffer_copies=copies,
            reason="" if ahead else self._reason(read, loop, widest),
        )

    def _used(
        self, buffer: int | None, loop: Operation, peeled: dict[int, tuple[int, int]]
    ) -> Fraction:
        """Return how many iterations a loop multiplies before it begins, with what a buffer holds.

        A tile may be read into registers before that, for the first iteration of the loop itself.
        """

        def most(operations: Iterable[Operation]) -> Fraction:
            inside = (each.index for each in operations if loop.index < each.index < loop.end)
            return max((Fraction(*peeled[n]) for n in inside if n in peeled), default=Fraction(0))

        if buffer is None:
            return Fraction(0)
        return min(most(self._buffers.users[buffer]), most(self._products))

    def _buffer(self, read: Operation, tile: Shaped) -> int | None:
        """Return the allocation that a copy fills; its barrier is no buffer of its element."""
        if read.name in _TO_REGISTERS:
            return None
        found = set[int]()
        for value in self._values.operands[read.index]:
            found |= self._buffers.behind(value)
        fitting = [index for index in found if self._element(index) == tile.element]
        return fitting[0] if len(fitting) == 1 else None

    def _element(self, allocation: int) -> str | None:
        written = self._module.operations[allocation].result_types
        descriptor = read_shaped(written[0]) if written else None
        return descriptor.element if descriptor else None

    def _reason(self, read: Operation, loop: Operation, widest: int | None) -> str:
        if read.name not in _TO_REGISTERS:
            return OWN_ITERATION
        if loop.index not in self._bodies:
            self._bodies[loop.index] = LoopBody.read(self._module, self._values, loop)
        return refusal(
            self._module,
            read,
            self._loops[loop.index],
            self._bodies[loop.index],
            num_stages=self._num_stages,
            widest_access=widest,
        )


def _prologues(reads: list[_Read]) -> tuple[dict[int, tuple[int, int]], set[int]]:
    """Find what stands of each loop's reads in front of the loop.

    Returns:
        For each read in a loop how many like it stand before and how many in the loop, and the
        indices of those before. Loops in a row may have all places in common (an unrolled loop
        around them): each has what stands between it and the one before.
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


def _iterations(twins: int, alike: int, ahead: bool, used: Fraction) -> int | None:
    """Return how many iterations ahead ``twins`` reads are of a loop that has ``alike``.

    Args:
        twins: Such reads before the loop.
        alike: Such reads in it.
        ahead: Whether it is known to run ahead at all.
        used: The iterations whose tiles are used before the loop, too.
    """
    if not ahead:
        return 0
    distance = Fraction(twins, alike) - used
    return int(distance) if twins and distance.denominator == 1 else None


def _tile(read: Operation) -> Shaped:
    """Return the shape and element that a read brings, with the layout if it names one."""
    types = read.operand_types if read.name == "tt.load" else read.result_types
    written = types[0] if types else ""
    shaped = read_shaped(written) if not _POINTER.fullmatch(written) else None
    if shaped is None:
        shaped = Shaped((), written, ())
    pointer = _POINTER.fullmatch(shaped.element)
    return Shaped(shaped.shape, pointer[1], shaped.parameters) if pointer else shaped


def _bytes(module: Module, tile: Shaped) -> int | None:
    bits, parts = element_bits(tile.element), cta_parts(module, layout_of(module, tile))
    return None if bits is None or parts is None else tile.size * bits // 8 // parts


def _widest_access(module: Module, read: Operation, tile: Shaped) -> int | None:
    """Return how many consecutive bytes a thread's layout and the known contiguity leave it."""
    bits = element_bits(tile.element)
    if read.name in _BULK_TO_SHARED or bits is None or bits < 8:
        return None
    if not tile.shape:
        return bits // 8
    elements = layout_elements(module, _threads_hold(read, tile))
    written = read.attributes.get("contiguity", "").partition(" ")[0]
    bounds = [bound for bound in (elements, int(written or 0)) if bound]
    return min(min(bounds) * bits // 8, _WIDEST_ACCESS) if bounds else None


def _threads_hold(read: Operation, tile: Shaped) -> Shaped:
    """Return the tensor whose layout says what each thread reads."""
    if read.name in _TO_REGISTERS:
        return tile
    # A copy has a tensor of pointers, or of offsets: !tt.ptr<f16>[tensor<128x64xi32, #blocked>].
    for written in (*read.operand_types, *read.words):
        if written.startswith("tensor<") and (shaped := read_shaped(written)):
            return shaped
    return Shaped((), "", ())
