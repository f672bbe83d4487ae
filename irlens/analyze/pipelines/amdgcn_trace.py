"""Loads in flight in the steady state of an AMDGPU loop, and how far each runs ahead.

Two distances, in iterations, say how far a load runs ahead: from its issue to the ``s_waitcnt``
that retires it, and from its issue to the first computation with its data. The first comes from
replaying the counter that the load raises (see ``isa.amdgcn.waits``), the second from following
its data through registers and LDS.
"""

from bisect import bisect_right
from collections.abc import Sequence
from enum import Enum
from functools import reduce
from itertools import accumulate, chain
from operator import or_

import msgspec

from irlens.analyze import work
from irlens.analyze.pipelines.amdgcn_queues import Queue, settle
from irlens.analyze.pipelines.spill_slots import spill_slots
from irlens.isa.amdgcn import Instruction, memory
from irlens.isa.amdgcn.registers import access, operation_access
from irlens.isa.amdgcn.units import classify
from irlens.isa.amdgcn.waits import Counters
from irlens.isa.dialect import Access
from irlens.isa.events import Wait
from irlens.model.report import PipelineKind
from irlens.model.source import SourceLocation

#: No pipeline is as deep as this.
_MAX_ITERATIONS = 32
#: LLVM unrolls loops whose trip count it does not know no further than this.
_MAX_COPIES = 16
#: Classes of instructions that move or repack a value: the compute is what uses their result.
_CARRIES = frozenset({"accumulation register move", "conversion", "logic & shift", "move"})
_SELECTS = ("v_cndmask_", "v_dual_cndmask_", "s_cselect_")
#: Classes of instructions that are a loop's purpose, and not the arithmetic of its addresses.
_COMPUTES = frozenset({"dot product", "matrix core", "special function", "vector floating point"})
#: Classes that also work on data, as where integers are unpacked to the operands of a product.
_UNPACKS = frozenset({"conversion", "cross-lane", "logic & shift", "vector integer"})
#: Instructions that only unpack data hide some of a load's latency from this number on. Fewer
#: may just repack what goes to LDS.
_MUCH_UNPACKING = 32
#: Instructions that are searched for a register in a step of ``analyze.work``.
_POSITIONS_OF_STEP = 5


class Ahead(msgspec.Struct, frozen=True):
    """How far a load runs ahead.

    Attributes:
        wait: Iterations from its issue to the wait that retires it.
        steps: Instructions in between.
        flight: Iterations with a computation while it is in flight; 0 where the wait follows the
            load at once, with nothing computed in between.
        least: Lower bound of the iterations from its issue to the first use of its data.
        most: Upper bound of the same; ``None`` if unknown.
        chained: Whether its address depends on what it loaded an iteration before.
    """

    wait: int
    steps: int
    flight: int
    least: int
    most: int | None
    chained: bool = False

    @property
    def prefetch(self) -> int | None:
        """Iterations that memory has to answer; ``None`` where the bounds on the use differ."""
        least = min(self.least, self.flight)
        most = self.flight if self.most is None else min(self.most, self.flight)
        return least if least == most else None


class Left(Enum):
    """What LDS holds beside an iteration's own stores when it reads what it stored."""

    NOTHING = "LDS is empty before the loop"
    OTHER_OPERATIONS = "every iteration of the source reads all that it stores itself"
    ANYTHING = "earlier iterations may leave data, or this is unknown"


class LoopTrace:
    """One iteration of a loop, its instructions in order.

    LLVM often unrolls loops. Then the instructions are those of several iterations of the source,
    and distances are given in source iterations.

    Args:
        factor: Iterations of the source, where that is certain.
        left: What LDS holds beside its own stores.

    Attributes:
        starts: Positions where the iterations of the source start; only the first one where LLVM
            has interleaved them.
        is_shifted: Whether the computation of a source iteration comes after the next one's loads.
    """

    def __init__(
        self,
        body: Sequence[Instruction],
        lanes: int,
        counters: Counters,
        factor: int | None,
        left: Left,
    ) -> None:
        self.body = body
        self.lanes = lanes
        self._of_operations: dict[int, list[Access]] = {}
        self._accesses = [access(instruction, lanes) for instruction in body]
        self._written = reduce(or_, (each.writes for each in self._accesses if each), 0)
        self._left = left
        self.factor = factor
        self._counters = counters
        self._spilled = spill_slots(body)
        self._lds_reads = [n for n, each in enumerate(body) if memory.reads_lds(each)]
        kinds = [[classify(each) for each in instruction.operations] for instruction in body]
        self._compute = [any(kind in _COMPUTES for kind in classes) for classes in kinds]
        if not any(self._compute):
            addressing = self._addressing()
            self._compute = [
                "vector integer" in classes and n not in addressing
                for n, classes in enumerate(kinds)
            ]
        # How many instructions compute, and unpack, before each position.
        self._computed = [0, *accumulate(self._compute)]
        self._unpacked = [0, *accumulate(self._unpacking(kinds))]
        self._queues: dict[memory.Counter, Queue | None] = {}
        self.is_shifted = False
        self.starts = self._unrolled()

    def _addressing(self) -> set[int]:
        """Return the positions of the instructions that compute the loads' operands."""
        positions, needed = set[int](), 0
        settled = False
        while not settled:
            before = needed
            for position in range(len(self.body) - 1, -1, -1):
                each = self._accesses[position]
                if each is None:
                    continue
                if memory.transfer(self.body[position]):
                    needed = needed & ~each.kills | each.reads
                elif each.writes & needed:
                    positions.add(position)
                    needed = self._made_of(position, needed)
            settled = needed == before
        return positions

    def queue(self, counter: memory.Counter) -> Queue | None:
        """Return a counter in the steady state; ``None`` where its iterations do not repeat."""
        if counter not in self._queues:
            events = [self._counters.event(i, counter) for i in self.body]
            self._queues[counter] = settle(events, self._compute)
        return self._queues[counter]

    def wait_line(self, load: int) -> int | None:
        """Return the 1-based line of the wait that retires a load; ``None`` if unknown."""
        read = memory.transfer(self.body[load])
        queue = self.queue(read.counter) if read is not None else None
        if queue is None or load not in queue.retired:
            return None
        return self.body[queue.retired[load][1]].line

    def ahead(self, load: int, kind: PipelineKind) -> Ahead | None:
        """Return how far a load that a wait retires runs ahead; ``None`` if unknown."""
        read = memory.transfer(self.body[load])
        queue = self.queue(read.counter) if read is not None else None
        if queue is None or load not in queue.retired:
            return None
        rounds, at = queue.retired[load]
        steps = rounds * len(self.body) + at - load
        wait = self._distance(load, rounds, at)
        computing = self._computing(load, rounds, at)
        flight = min(wait + self._hides(load, wait, at), computing)
        if self.is_shifted and computing < _MAX_ITERATIONS:
            flight = computing
        bounds: tuple[int, int | None] | None
        if kind == "direct-to-lds":
            used = wait if self._lds_read_after(at) else wait + 1
            bounds = (used, used) if self._lds_reads else None
        elif self._feeds_itself(load):
            return Ahead(wait, steps, flight, 0, 0, chained=True)
        else:
            bounds = self.used(load)
        return Ahead(wait, steps, flight, *bounds) if bounds is not None else None

    def _hides(self, load: int, wait: int, at: int) -> int:
        """Return what to add to the iterations from a load to its wait for those that compute.

        It is 1 where the iteration of the wait computes between its own issue of the load and the
        wait, -1 where the wait is in the next iteration with nothing computed on the way.

        Args:
            wait: Iterations of the source from the load to the wait.
        """
        copy = self._copy(at)
        again = self._same_load(load, copy)
        if again < at and self._works(range(again + 1, at)):
            return 1
        if wait != 1:
            return 0
        before = self._same_load(load, copy - 1)  # of the last copy, in the round before
        on_the_way = range(before + 1, at if copy else len(self.body))
        return 0 if self._works(on_the_way, range(0 if copy else at)) else -1

    def _computing(self, load: int, rounds: int, at: int) -> int:
        """Return an upper bound of the source iterations that compute from a load to its wait.

        LLVM may move the loads of one copy of an unrolled loop ahead of the computation of the
        copy before: then the copies' instructions do not tell whose computation it is, but their
        number does.
        """
        copies, amount = len(self.starts), self._computed[-1]
        if copies == 1 or not amount or amount % copies:
            return _MAX_ITERATIONS
        first, last = self._computed[load], rounds * amount + self._computed[at]
        return max(-(-last * copies // amount) - first * copies // amount, 0) if last > first else 0

    def _same_load(self, load: int, copy: int) -> int:
        """Return the position of a load in a copy of the body; a negative one is the last."""
        starts = [*self.starts, len(self.body)]
        if len(self.starts) == 1:
            return load

        def alike(number: int) -> list[int]:
            origin = self.origin(load)
            extent = range(starts[number], starts[number + 1])
            return [n for n in extent if memory.transfer(self.body[n]) and self.origin(n) == origin]

        return alike(copy % len(self.starts))[alike(self._copy(load)).index(load)]

    def origin(self, position: int) -> tuple[str, tuple[SourceLocation, ...]]:
        """Return what the copies of an instruction of an unrolled loop share."""
        return self.body[position].mnemonic, self.body[position].locations

    def _computes(self, start: int, stop: int) -> bool:
        """Whether something is computed between two positions, the first one before the other."""
        return stop > start + 1 and self._computed[stop] > self._computed[start + 1]

    def _works(self, *parts: range) -> bool:
        """Whether the instructions at some positions hide latency: they compute, or unpack much."""
        spans = [part for part in parts if part]
        if any(self._computed[each.stop] > self._computed[each.start] for each in spans):
            return True
        unpacks = sum(self._unpacked[each.stop] - self._unpacked[each.start] for each in spans)
        return unpacks >= _MUCH_UNPACKING

    def _unpacking(self, kinds: Sequence[Sequence[str | None]]) -> list[bool]:
        """Return whether each instruction unpacks data that came from memory."""
        addressing = self._addressing()
        data = 0
        unpacks = [False] * len(self.body)
        for _ in range(2):  # the second time with what the iteration before left in registers
            for n, instruction in enumerate(self.body):
                accessed = self._accesses[n]
                if accessed is None:
                    continue
                derived = bool(accessed.reads & data)
                if memory.transfer(instruction) or memory.reads_lds(instruction):
                    derived = True
                elif n not in addressing:
                    unpacks[n] = derived and not _UNPACKS.isdisjoint(kinds[n])
                data = data & ~accessed.kills | (accessed.writes if derived else 0)
        return unpacks

    def _copy(self, position: int) -> int:
        """Return the source iteration, among those of the body, that an instruction is in."""
        return bisect_right(self.starts, position) - 1

    def _distance(self, load: int, rounds: int, position: int) -> int:
        """Return the source iterations from a load to a position some rounds of the body later."""
        return rounds * len(self.starts) + self._copy(position) - self._copy(load)

    def _lds_read_after(self, position: int) -> bool:
        """Whether LDS is read after a position in the same iteration of the source."""
        copy = self._copy(position)
        return any(self._copy(n) == copy for n in self._lds_reads if n > position)

    def _unrolled(self) -> list[int]:
        """Return the positions where the iterations of the source start.

        An unrolled loop has the same loads several times, with computation in between, or, where
        the computation comes after the next copy's loads, with what hands over a buffer of LDS.
        Loads of a single place may also be those of one tile: then each copy must compute as much.
        """
        loads = [n for n, each in enumerate(self.body) if memory.transfer(each)]
        origins = [self.origin(n) for n in loads]
        possible = range(min(len(loads), _MAX_COPIES), 1, -1)
        for copies in possible if self.factor is None else {self.factor} & {*possible}:
            size, rest = divmod(len(loads), copies)
            if rest:
                continue
            parts = [sorted(origins[n : n + size]) for n in range(0, len(loads), size)]
            firsts, lasts = loads[::size], loads[size - 1 :: size]
            between = [*zip(lasts[:-1], firsts[1:], strict=True)]
            apart = all(self._computes(*each) or self._hands_over(*each) for each in between)
            even = len({location for _, location in origins}) > 1 or self._compute_alike(firsts)
            if apart and even and all(part == parts[0] for part in parts):
                self.is_shifted = not all(self._computes(*each) for each in between)
                return self._starts(firsts, lasts)
        return [0]

    def _hands_over(self, start: int, stop: int) -> bool:
        """Whether a wait and a barrier stand between two direct-to-LDS loads.

        They hand a buffer of LDS over, which happens once per iteration of the source.
        """
        read = memory.transfer(self.body[start])
        if read is None or not read.to_lds:
            return False
        between = self.body[start + 1 : stop]
        waits = (self._counters.event(each, read.counter) for each in between)
        return any(isinstance(each, Wait) for each in waits) and any(
            classify(operation) == "barrier" for each in between for operation in each.operations
        )

    def _compute_alike(self, firsts: list[int]) -> bool:
        """Whether the same amount is computed from each position to the next, cyclically."""
        ends = [*firsts[1:], len(self.body)]
        amounts = [sum(self._compute[a:b]) for a, b in zip(firsts, ends, strict=True)]
        amounts[-1] += sum(self._compute[: firsts[0]])
        return len(set(amounts)) == 1

    def _starts(self, firsts: list[int], lasts: list[int]) -> list[int]:
        """Step back from each copy's first load as far as the first one is from the loop's start.

        Steps count computation and accesses to LDS: nothing else affects distances.
        """
        counts = [
            compute or memory.reads_lds(each) or memory.writes_lds(each)
            for compute, each in zip(self._compute, self.body, strict=True)
        ]
        ahead = sum(counts[: firsts[0]])
        starts = [0]
        for first, barred in zip(firsts[1:], lasts, strict=False):
            start, left = first, ahead
            while left and start > barred + 1:
                start -= 1
                left -= counts[start]
            starts.append(start)
        return starts

    def used(self, load: int) -> tuple[int, int | None] | None:
        """Return how many iterations after a load its data is first used to compute.

        Moves, selects and repacking do not compute, and data written to LDS is used where it is
        read there. Data that was spilled is followed to computation only: an address that depends
        on it may be that of the next load.

        Returns:
            A lower and an upper bound; ``None`` where nothing in the loop uses the data.
        """
        first = self._accesses[load]
        holders = first.writes if first is not None else 0
        slots: frozenset[int] = frozenset()
        spilled = False
        start = load + 1
        for rounds in range(_MAX_ITERATIONS):
            for position in range(start, len(self.body)):
                instruction, accessed = self.body[position], self._accesses[position]
                if accessed is None:
                    return None
                if (moves := self._spilled.get(position)) is not None:
                    holders, slots = moves.move(holders, slots)
                    spilled = spilled or bool(slots)
                elif not accessed.reads & holders:
                    holders &= ~accessed.kills
                elif memory.writes_lds(instruction):
                    return self._used_from_lds(position, self._distance(load, rounds, position))
                elif memory.is_spill(instruction):  # the reload is not followed
                    return self._distance(load, rounds, position), None
                elif (moved := self._moved(instruction, holders)) is None:
                    distance = self._distance(load, rounds, position)
                    unclear = spilled and not self._compute[position]
                    return distance, None if unclear else distance
                else:
                    holders = holders & ~accessed.kills | moved
                if not holders and not slots:
                    return None
            start = 0
        return None

    def _moved(self, instruction: Instruction, holders: int) -> int | None:
        """Return the registers that an instruction moves values to; ``None`` if it computes."""
        moved = 0
        for operation in instruction.operations:
            accessed = operation_access(operation, self.lanes)
            if accessed is None or not accessed.reads & holders:
                continue
            selects = operation.mnemonic.startswith(_SELECTS)
            if not selects and classify(operation) not in _CARRIES:
                return None
            moved |= accessed.writes
        return moved

    def _used_from_lds(self, store: int, iteration: int) -> tuple[int, int | None]:
        """Return bounds on the distance to the first use of data stored to LDS.

        The number of tiles that LDS holds between a store and its load is not visible. But a load
        before all stores reads what an earlier iteration left, and where LDS is empty before the
        loop, a load after a store reads that store. So does a load of the same operation as the
        store, where no iteration of the source leaves anything in LDS to the next one.
        """
        after = self._lds_read_after(store)
        is_own = self._left is Left.NOTHING or (
            self._left is Left.OTHER_OPERATIONS and self._is_read_back(store)
        )
        if after and is_own:
            return iteration, iteration
        return (iteration, None) if after else (iteration + 1, None)

    def _is_read_back(self, store: int) -> bool:
        """Whether LDS is read for the operation of a store after it, and not ahead of it.

        Reads ahead of the store may be those of the next iteration of the source, if LLVM rotated
        the loop.
        """
        place = self.body[store].locations
        copy = self._copy(store)
        reads = [
            n for n in self._lds_reads if self._copy(n) == copy and self.body[n].locations == place
        ]
        return bool(place and reads) and min(reads) > store

    def _feeds_itself(self, load: int) -> bool:
        """Whether the address of a load depends on what it loaded an iteration before."""
        first = self._accesses[load]
        if first is None:
            return False
        needed = first.reads
        if not needed & self._written:
            return False
        work.spend(len(self.body) // _POSITIONS_OF_STEP)
        for position in chain(range(load - 1, -1, -1), range(len(self.body) - 1, load - 1, -1)):
            accessed = self._accesses[position]
            if accessed is not None and accessed.writes & needed:
                if position == load:
                    return True
                needed = self._made_of(position, needed)
        return False

    def _accesses_of(self, position: int) -> list[Access]:
        """Return the accesses of the operations of an instruction, without unknown ones."""
        found = self._of_operations.get(position)
        if found is None:
            accesses = (operation_access(o, self.lanes) for o in self.body[position].operations)
            found = self._of_operations[position] = [each for each in accesses if each is not None]
        return found

    def _made_of(self, position: int, needed: int) -> int:
        """Return the registers needed before an instruction that writes some needed ones.

        Each of two operations that are issued together has its own operands.
        """
        written = read = 0
        work.spend(1)
        for accessed in self._accesses_of(position):
            if accessed.writes & needed:
                written |= accessed.kills
                read |= accessed.reads
        return needed & ~written | read
