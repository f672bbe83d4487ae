"""One iteration of a loop in AMDGPU assembly, run again and again: what is in flight when.

How far a load runs ahead of its use is said by two distances, in iterations: from its issue to the
``s_waitcnt`` that retires it, and from its issue to the first computation with its data.
"""

from collections import deque
from collections.abc import Sequence

import msgspec

from irlens.analyze.amdgcn_memory import (
    Counter,
    is_spill,
    limit,
    raises,
    reads_lds,
    transfer,
    writes_lds,
)
from irlens.analyze.amdgcn_mix import classify
from irlens.analyze.amdgcn_registers import access, operation_access
from irlens.parse.amdgcn import Instruction

#: No pipeline is as deep as this.
_MAX_ITERATIONS = 32
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


class Queue(msgspec.Struct, frozen=True):
    """A counter in the steady state of a loop.

    Attributes:
        retired: For each operation, by its position, the iterations to the wait that retires it,
            and that wait's position.
        waits: For each wait that retires something, by its position, the operations outstanding
            before and behind it, by their positions.
    """

    retired: dict[int, tuple[int, int]]
    waits: dict[int, tuple[tuple[int, ...], tuple[int, ...]]]


class LoopTrace:
    """One iteration of a loop, its instructions in order, to be run again and again.

    Args:
        body: The instructions.
        lanes: Of a wave.
        stores_apart: Whether stores have a counter of their own.
        filled: Whether LDS may hold something when the loop is entered.
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
            self._compute = ["vector integer" in found for found in kinds]
        self._queues: dict[Counter, Queue | None] = {}

    def queue(self, counter: Counter) -> Queue | None:
        """Run a counter until its iterations repeat; ``None`` where they do not."""
        if counter not in self._queues:
            self._queues[counter] = self._settle(counter)
        return self._queues[counter]

    def _settle(self, counter: Counter) -> Queue | None:
        counted = [raises(i, stores_apart=self._stores_apart) == counter for i in self.body]
        limits = [limit(i, counter) for i in self.body]
        outstanding: deque[tuple[int, int]] = deque()  # (iteration, position)
        previous: list[tuple[int, int]] | None = None
        for iteration in range(_MAX_ITERATIONS):
            retired: dict[int, tuple[int, int]] = {}
            waits: dict[int, tuple[tuple[int, ...], tuple[int, ...]]] = {}
            for position, (is_counted, most) in enumerate(zip(counted, limits, strict=True)):
                if is_counted:
                    outstanding.append((iteration, position))
                if most is None or len(outstanding) <= most:
                    continue
                before = tuple(where for _, where in outstanding)
                while len(outstanding) > most:
                    issued, where = outstanding.popleft()
                    retired[where] = iteration - issued, position
                waits[position] = before, tuple(where for _, where in outstanding)
            relative = [(iteration - issued, where) for issued, where in outstanding]
            if relative == previous:
                return Queue(retired, waits)
            previous = relative
        return None

    def ahead(self, load: int, *, to_lds: bool) -> Ahead | None:
        """Return how far a load that a wait retires runs ahead; ``None`` where that is unknown."""
        read = transfer(self.body[load])
        queue = self.queue(read.counter) if read is not None else None
        if queue is None or load not in queue.retired:
            return None
        wait, at = queue.retired[load]
        steps = wait * len(self.body) + at - load
        flight = wait + int(at > load and self._computes(load, at))
        found: tuple[int, int | None] | None
        if to_lds:
            used = wait if self._lds_reads and self._lds_reads[-1] > at else wait + 1
            found = (used, used) if self._lds_reads else None
        elif self._feeds_itself(load):
            return Ahead(wait, steps, flight, 0, 0, chained=True)
        else:
            found = self.used(load)
        return Ahead(wait, steps, flight, *found) if found is not None else None

    def _computes(self, start: int, stop: int) -> bool:
        """Whether something is computed between two positions."""
        return any(self._compute[start + 1 : stop])

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
        for iteration in range(_MAX_ITERATIONS):
            for position in range(start, len(self.body)):
                instruction, found = self.body[position], self._accesses[position]
                if found is None:
                    return None
                if not found.reads & holders:
                    holders &= ~found.kills
                elif writes_lds(instruction):
                    return self._used_from_lds(position, iteration)
                elif is_spill(instruction):
                    return iteration, None  # when it is reloaded is not followed
                elif (moved := self._moved(instruction, holders)) is None:
                    return iteration, iteration
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
        behind = any(position > store for position in self._lds_reads)
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
                needed = needed & ~found.kills | found.reads
        return False
