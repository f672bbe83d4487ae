"""One iteration of a loop in AMDGPU assembly, run again and again: what is in flight when.

How far a load runs ahead of its use is said by two distances, in iterations: from its issue to the
``s_waitcnt`` that retires it, and from its issue to the first computation with its data.
"""

from bisect import bisect_right
from collections.abc import Sequence

import msgspec

from irlens.analyze.amdgcn_queue import MAX_ITERATIONS, Queue, settle
from irlens.isa.amdgcn import Instruction
from irlens.isa.amdgcn.classes import classify
from irlens.isa.amdgcn.memory import (
    Counter,
    is_spill,
    limit,
    raises,
    reads_lds,
    transfer,
    writes_lds,
)
from irlens.isa.amdgcn.registers import access, operation_access

#: LLVM unrolls loops whose trip count it does not know no further than this.
_MAX_COPIES = 16
#: Classes of instructions that move or repack a value: the compute is what uses their result.
_CARRIES = frozenset({"accumulation register move", "conversion", "logic & shift", "move"})
_SELECTS = ("v_cndmask_", "v_dual_cndmask_", "s_cselect_")
#: Classes of instructions that are what a loop is for, and not the arithmetic of its addresses.
_COMPUTES = frozenset({"dot product", "matrix core", "special function", "vector floating point"})


class Ahead(msgspec.Struct, frozen=True):
    """How far a load runs ahead.

    Attributes:
        wait: Iterations from its issue to the wait that retires it.
        steps: Instructions in between.
        flight: Iterations in which something is computed while it is in flight.
        least: Iterations from its issue to the first use of its data, at least.
        most: The same, at most; ``None`` where that is not known.
        chained: Whether its address follows from what it loaded an iteration before.
    """

    wait: int
    steps: int
    flight: int
    least: int
    most: int | None
    chained: bool = False

    @property
    def prefetch(self) -> int | None:
        """Iterations for which memory has time; ``None`` where the use is not known well enough."""
        least = min(self.least, self.flight)
        most = self.flight if self.most is None else min(self.most, self.flight)
        return least if least == most else None


class LoopTrace:
    """One iteration of a loop, its instructions in order, to be run again and again.

    LLVM likes to unroll loops. Then the instructions are those of several iterations of the
    source, and distances are given in these.

    Args:
        body: The instructions.
        lanes: Of a wave.
        stores_apart: Whether stores have a counter of their own.
        filled: Whether LDS may hold something when the loop is entered.

    Attributes:
        starts: Where the iterations of the source start.
    """

    def __init__(
        self, body: Sequence[Instruction], lanes: int, stores_apart: bool, filled: bool
    ) -> None:
        self.body = body
        self.lanes = lanes
        self._accesses = [access(instruction, lanes) for instruction in body]
        self.filled = filled
        self._stores_apart = stores_apart
        self._lds_reads = [n for n, each in enumerate(body) if reads_lds(each)]
        kinds = [[classify(each) for each in instruction.operations] for instruction in body]
        self._compute = [any(kind in _COMPUTES for kind in found) for found in kinds]
        if not any(self._compute):
            addressing = self._addressing()
            self._compute = [
                "vector integer" in found and n not in addressing for n, found in enumerate(kinds)
            ]
        self._queues: dict[Counter, Queue | None] = {}
        self.starts = self._unrolled()

    def _addressing(self) -> set[int]:
        """The positions of what the loads' own operands are made by."""
        found, needed = set[int](), 0
        settled = False
        while not settled:
            before = needed
            for position in range(len(self.body) - 1, -1, -1):
                each = self._accesses[position]
                if each is None:
                    continue
                if transfer(self.body[position]):
                    needed = needed & ~each.kills | each.reads
                elif each.writes & needed:
                    found.add(position)
                    needed = self._made_of(position, needed)
            settled = needed == before
        return found

    def queue(self, counter: Counter) -> Queue | None:
        """Run a counter until its iterations repeat; ``None`` where they do not."""
        if counter not in self._queues:
            counted = [raises(i, stores_apart=self._stores_apart) == counter for i in self.body]
            limits = [limit(i, counter) for i in self.body]
            self._queues[counter] = settle(counted, limits, self._compute)
        return self._queues[counter]

    def ahead(self, load: int, *, to_lds: bool) -> Ahead | None:
        """Return how far a load that a wait retires runs ahead; ``None`` where that is unknown."""
        read = transfer(self.body[load])
        queue = self.queue(read.counter) if read is not None else None
        if queue is None or load not in queue.retired:
            return None
        rounds, at = queue.retired[load]
        steps = rounds * len(self.body) + at - load
        wait = self._distance(load, rounds, at)
        issued_again = self.starts[self._copy(at)] + load - self.starts[self._copy(load)]
        flight = wait + int(self._computes(issued_again, at))
        found: tuple[int, int | None] | None
        if to_lds:
            used = wait if self._lds_read_behind(at) else wait + 1
            found = (used, used) if self._lds_reads else None
        elif self._feeds_itself(load):
            return Ahead(wait, steps, flight, 0, 0, chained=True)
        else:
            found = self.used(load)
        return Ahead(wait, steps, flight, *found) if found is not None else None

    def _computes(self, start: int, stop: int) -> bool:
        """Whether something is computed between two positions; not if they stand the other way."""
        return any(self._compute[start + 1 : stop])

    def _copy(self, position: int) -> int:
        """The iteration of the source that an instruction belongs to, among those of the body."""
        return bisect_right(self.starts, position) - 1

    def _distance(self, load: int, rounds: int, position: int) -> int:
        """Iterations of the source from a load to a position, some rounds of the body later."""
        return rounds * len(self.starts) + self._copy(position) - self._copy(load)

    def _lds_read_behind(self, position: int) -> bool:
        """Whether LDS is read behind a position in the same iteration of the source."""
        copy = self._copy(position)
        return any(self._copy(n) == copy for n in self._lds_reads if n > position)

    def _unrolled(self) -> list[int]:
        """Find where the iterations of the source start.

        In an unrolled loop the same loads stand there several times, and something is computed
        in between. Loads of one place only may also be those of one tile: then each copy has to
        compute as much.
        """
        loads = [n for n, each in enumerate(self.body) if transfer(each)]
        origins = [(self.body[n].mnemonic, self.body[n].locations) for n in loads]
        for copies in range(min(len(loads), _MAX_COPIES), 1, -1):
            size, rest = divmod(len(loads), copies)
            if rest:
                continue
            parts = [sorted(origins[n : n + size]) for n in range(0, len(loads), size)]
            firsts, lasts = loads[::size], loads[size - 1 :: size]
            apart = all(map(self._computes, lasts[:-1], firsts[1:]))
            even = len({location for _, location in origins}) > 1 or self._compute_alike(firsts)
            if apart and even and all(part == parts[0] for part in parts):
                return self._starts(firsts, lasts)
        return [0]

    def _compute_alike(self, firsts: list[int]) -> bool:
        """Whether as much is computed from each of these positions to the next, and around."""
        ends = [*firsts[1:], len(self.body)]
        amounts = [sum(self._compute[a:b]) for a, b in zip(firsts, ends, strict=True)]
        amounts[-1] += sum(self._compute[: firsts[0]])
        return len(set(amounts)) == 1

    def _starts(self, firsts: list[int], lasts: list[int]) -> list[int]:
        """Go back from each copy's first load as far as the first one's is from the loop's start.

        What is counted is computing and access to LDS: the rest has no say in distances.
        """
        counts = [
            compute or reads_lds(each) or writes_lds(each)
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
        """Return how many iterations behind a load something computes with its data.

        Moves, selects and repacking do not compute, and what is written to LDS is used where it
        is read there.

        Returns:
            At least and at most; ``None`` where nothing in the loop does.
        """
        first = self._accesses[load]
        holders = first.writes if first is not None else 0
        start = load + 1
        for rounds in range(MAX_ITERATIONS):
            for position in range(start, len(self.body)):
                instruction, found = self.body[position], self._accesses[position]
                if found is None:
                    return None
                if not found.reads & holders:
                    holders &= ~found.kills
                elif writes_lds(instruction):
                    return self._used_from_lds(position, self._distance(load, rounds, position))
                elif is_spill(instruction):  # when it is reloaded is not followed
                    return self._distance(load, rounds, position), None
                elif (moved := self._moved(instruction, holders)) is None:
                    distance = self._distance(load, rounds, position)
                    return distance, distance
                else:
                    holders = holders & ~found.kills | moved
            if not holders:
                return None
            start = 0
        return None

    def _moved(self, instruction: Instruction, holders: int) -> int | None:
        """Where an instruction puts the values it reads; ``None`` if it computes with them."""
        moved = 0
        for operation in instruction.operations:
            found = operation_access(operation, self.lanes)
            if found is None or not found.reads & holders:
                continue
            selects = operation.mnemonic.startswith(_SELECTS)
            if not selects and classify(operation) not in _CARRIES:
                return None
            moved |= found.writes
        return moved

    def _used_from_lds(self, store: int, iteration: int) -> tuple[int, int | None]:
        """The distance to the first use of what is stored to LDS.

        What lies between a store and its load is a ring of which one does not see how many tiles
        it holds. Certain is: a load that stands in front of all stores reads what an earlier
        iteration left, and where nothing is in LDS before the loop no earlier one left anything.
        """
        behind = self._lds_read_behind(store)
        if behind and not self.filled:
            return iteration, iteration
        return (iteration, None) if behind else (iteration + 1, None)

    def _feeds_itself(self, load: int) -> bool:
        """Whether the address of a load follows from what it loaded an iteration before."""
        first = self._accesses[load]
        if first is None:
            return False
        needed = first.reads
        positions = [*range(load - 1, -1, -1), *range(len(self.body) - 1, load - 1, -1)]
        for position in positions:
            found = self._accesses[position]
            if found is not None and found.writes & needed:
                if position == load:
                    return True
                needed = self._made_of(position, needed)
        return False

    def _made_of(self, position: int, needed: int) -> int:
        """The registers that some are made of in front of an instruction that writes them.

        Of two operations that are issued together each reads for itself.
        """
        written = read = 0
        for operation in self.body[position].operations:
            found = operation_access(operation, self.lanes)
            if found is not None and found.writes & needed:
                written |= found.kills
                read |= found.reads
        return needed & ~written | read
