"""The path that a warp takes through a kernel's machine code, found by computing its branches.

Only what branches depend on is computed: loop counters and what they are compared with. The rest
stays unknown, and a branch on unknown data ends the attempt, unless it only skips code.
"""

from functools import reduce
from operator import or_

from irlens.analyze.sass_cfg import SassCfg
from irlens.analyze.solver import reach
from irlens.analyze.time.barriers import Handover
from irlens.analyze.time.dataflow import DataFlow, UnknownPathError
from irlens.analyze.time.loop_runs import (
    End,
    Entered,
    Key,
    Path,
    Region,
    Run,
    Segment,
    append,
    find_region,
)
from irlens.isa.bitsets import members
from irlens.isa.sass import Instruction, Section, units
from irlens.isa.sass.control_flow import (
    barrier,
    conditions,
    effect,
    indexed_jump,
    is_for_divergence,
)
from irlens.isa.sass.operands import WORD, Step, ThreadInputs, position
from irlens.isa.sass.semantics.predicates import compared_floats, reduces_argument
from irlens.isa.sass.timing import is_tensor_memory_product

#: Blocks that a path may run through, repetitions included.
_MOST_BLOCKS = 400_000


class PathFinder:
    """Follows the paths of a kernel's warps.

    Args:
        known: See ``DataFlow``.

    Attributes:
        tensor_memory_products: Indices of the products in tensor memory.

    Raises:
        UnknownPathError: Its control flow is not known.
    """

    def __init__(
        self, section: Section, flow: SassCfg, known: frozenset[str] = frozenset()
    ) -> None:
        if flow.unknown:
            raise UnknownPathError(flow.unknown)
        self.section, self.flow = section, flow
        self.data = DataFlow(section, flow, known)
        self.slice = self.data.slice()
        instructions = enumerate(section.instructions)
        self.tensor_memory_products = {n for n, e in instructions if is_tensor_memory_product(e)}
        self._forest = flow.forest
        self._headers = {loop.header for loop in self._forest.loops}
        self._block_at = {block.start: number for number, block in enumerate(flow.blocks)}
        self._block_of = {
            section.instructions[block.start].offset: number
            for number, block in enumerate(flow.blocks)
            if block.start < block.stop
        }
        self._callees = {call.block: call.entry for call in flow.calls}
        self._jumps = {call.block for call in flow.calls if call.far_branch}
        self._traps = {
            call.block
            for call in flow.calls
            if any(
                effect(section.instructions[at]) == "traps"
                for at in flow.blocks[call.entry].indices
            )
        }
        self.ends = [self._end(number) for number in range(len(flow.blocks))]
        # A failed assertion calls what it finds in a register, and nothing comes after it.
        self._traps |= set(range(len(flow.blocks))) - self._leading_out()
        self._regions: dict[int, Region | None] = {}
        self._launch = ThreadInputs({}, {})
        self._runs: dict[Key, Run] = {}
        self._steps: dict[int, list[Step]] = {}
        #: What the default warps write for those that work for them; ``None`` where none do.
        self.handover = Handover(self.data, self.follow) if self.data.serves_others else None
        self._assuming = {
            number
            for number, block in enumerate(flow.blocks)
            if any(reduces_argument(section.instructions[index]) for index in block.indices)
        }

    @property
    def varies_by_program(self) -> bool:
        """Whether programs may take different paths."""
        return any(name.startswith("SR_CTAID") for name in self.slice.special)

    @property
    def varies_by_warp(self) -> bool:
        """Whether the warps of a program may take different paths."""
        return bool(self.slice.special & {"SR_TID.X", "SR_VIRTID", "SR_TID"})

    def reached(self, block: int) -> int:
        """Return how many instructions are reached from a block."""
        found = reach([block], self.flow.successors.__getitem__)
        return sum(self.flow.blocks[n].stop - self.flow.blocks[n].start for n in found)

    def block_at(self, offset: int) -> int | None:
        """Return the block that begins at an offset of the code; ``None`` if none does."""
        return self._block_of.get(offset)

    def region(self, header: int) -> Region | None:
        """Return a loop; ``None`` where paths through it depend on more than the state."""
        if header not in self._regions:
            loop = self._forest.innermost[header]
            found = None
            if loop is not None and self._forest.loops[loop].header == header:
                body = frozenset(self._forest.body(loop))
                found = find_region(body, header, self.data, self.slice, self.ends)
            self._regions[header] = found
        return self._regions[header]

    def known(self, launch: ThreadInputs) -> tuple[dict[Key, Run], dict[int, list[Step]]]:
        """Return what is known of loops in a launch, and of the steps of blocks, to be added to."""
        if not launch.is_of_launch(self._launch):
            self._launch, self._runs, self._steps = launch, {}, {}
        return self._runs, self._steps

    def _end(self, number: int) -> End:
        last = self.section.instructions[self.flow.blocks[number].stop - 1]
        places = (self.section.labels.get(label) for label in last.targets)
        registers = ((each.register, each.negated) for each in conditions(last))
        return End(
            last,
            effect(last),
            number + 1 if number + 1 < len(self.flow.blocks) else None,
            next((self._block_at[at] for at in places if at in self._block_at), None),
            barrier(last),
            tuple(
                (None if one.index is None else position(one.file, one.index), negated)
                for one, negated in registers
            ),
            _jump(last),
        )

    def _leading_out(self) -> set[int]:
        """Return the blocks from which a thread can end or return."""
        before: dict[int, list[int]] = {}
        for block, following in enumerate(self.flow.successors):
            for each in following:
                before.setdefault(each, []).append(block)
        ends = [n for n, end in enumerate(self.ends) if end.effect in ("exits", "returns")]
        return set(reach(ends, lambda number: before.get(number, [])))

    def follow(self, launch: ThreadInputs) -> Path:
        """Return the path of one warp, that of its first lane.

        Raises:
            UnknownPathError: A branch depends on data, or the path is too long.
        """
        return _Walk(self, launch).path()


class _Walk:
    """One thread, and how far it has come.

    What a thread does in a loop is remembered by what it depends on, so that those of other warps
    and programs, which mostly do the same, need not be followed.
    """

    def __init__(self, machine: PathFinder, launch: ThreadInputs) -> None:
        self.machine, self.launch = machine, launch
        self.section, self.flow = machine.section, machine.flow
        # No path depends on what registers hold at first: ptxas keeps several conditions in the
        # bits of one register, which it sets one by one.
        self.state = launch.state(machine.data.local.size, 0)
        self.barriers: dict[int, int] = {}
        self.returns: list[int] = []
        self.runs, self.steps = machine.known(launch)
        self.is_known_flow = True
        self.count = 0
        self.segments: list[Segment] = []
        self.skipped: set[int] = set()
        #: Where the other lanes go on, by the last block of the first ones' way.
        self.others: dict[int, int] = {}
        self.entered: list[Entered] = []

    def path(self) -> Path:
        current: list[int] = []
        block: int | None = 0 if self.flow.blocks else None
        while block is not None and self.count < _MOST_BLOCKS:
            if block in self.machine._headers:
                if current:
                    append(self.segments, Segment(tuple(current), 1))
                    current = []
                run = self._enter(block)
                if run is not None:
                    current, block = list(run.tail), run.block
                    self._leave(block, current)
                    continue
            current.append(block)
            self.count += 1
            steps = self.steps.get(block)
            for step in self._compile(block) if steps is None else steps:
                step(self.state)
            block = self.others.pop(block, None) or self._next(block)
            self._leave(block, current)
        if self.count >= _MOST_BLOCKS:
            raise UnknownPathError(f"a warp runs through more than {_MOST_BLOCKS:,} blocks")
        if current:
            append(self.segments, Segment(tuple(current), 1))
        assuming = self.machine._assuming
        self.skipped |= {b for s in self.segments for b in s.blocks if b in assuming}
        return Path(tuple(self.segments), frozenset(self.skipped))

    def _compile(self, block: int) -> list[Step]:
        data, launch = self.machine.data, self.launch
        steps = [data.step(index, launch) for index in self.machine.slice.by_block[block]]
        self.steps[block] = steps
        return steps

    def _enter(self, header: int) -> Run | None:
        """Do what is known of a loop that is entered, or begin to remember it."""
        if self.entered and self.entered[-1].key[0] == header:
            return None
        region = self.machine.region(header)
        if region is None:
            return None
        inputs = tuple([self.state[each] for each in region.inputs])
        key = header, inputs, tuple(sorted(self.barriers.items()))
        run = self.runs.get(key)
        if run is None:
            self.entered.append(Entered(region, key, self.count, self.segments, self.skipped))
            self.segments, self.skipped = [], set()
            return None
        for segment in run.segments:
            append(self.segments, segment)
        for at, value in run.state.items():
            self.state[at] = value
        self.barriers = dict(run.barriers)
        self.skipped |= run.skipped
        self.count += run.count
        return run

    def _leave(self, block: int | None, current: list[int]) -> None:
        """Remember the loops that a thread leaves to go on at a block."""
        while self.entered and block not in self.entered[-1].region.body:
            left = self.entered.pop()
            self._remember(left, block, current)
            for segment in self.segments:
                append(left.segments, segment)
            self.segments, self.skipped = left.segments, left.skipped | self.skipped

    def _remember(self, left: Entered, block: int | None, current: list[int]) -> None:
        region = left.region
        executed = {each for segment in self.segments for each in segment.blocks}.union(current)
        if not self.is_known_flow or not executed <= region.body:
            return
        writes = reduce(or_, (region.writes[each] for each in executed))
        replaces = reduce(or_, (region.replaces[each] for each in executed))
        if writes & ~replaces & ~region.guarded:
            return  # what was there before may be left
        self.runs[left.key] = Run(
            tuple(self.segments),
            tuple(current),
            self.count - left.count,
            block,
            {at: self.state[at] for at in members(writes)},
            dict(self.barriers),
            frozenset(self.skipped),
        )

    def _next(self, block: int) -> int | None:
        end = self.machine.ends[block]
        match end.effect:
            case None:
                return end.following
            case "arms":
                if end.target is not None:
                    self.barriers[end.barrier] = end.target
                return end.following
            case "calls" if block in self.machine._callees:
                return self._call(block, end)
            case "meets":
                met = self.barriers.get(end.barrier, end.following)
                if met is not None and met not in self.flow.successors[block]:
                    self.is_known_flow = False
                return met
            case "returns":
                return self.returns.pop() if self.returns else None
            case "chooses":
                return self._chosen(block, end)
            case "exits":
                # A lane that leaves early says nothing of its warp.
                return None if self._held(end) or end.following is None else end.following
            case "branches":
                held = self._held(end)
                if held is None:
                    return self._skip(block, end.last, end.target, end.following)
                return end.target if held else end.following
        return end.following

    def _chosen(self, block: int, end: End) -> int:
        """Return the block that an indexed jump leads to."""
        if end.jump is not None:
            at, place = end.jump
            value = self.state[at]
            chosen = None if value is None else self.machine.block_at(value + place & WORD)
            if chosen is not None and chosen in self.flow.successors[block]:
                return chosen
        raise UnknownPathError(
            f"where {end.last.opcode} at {end.last.offset:#06x} leads is unknown"
        )

    def _call(self, block: int, end: End) -> int | None:
        """Go to a function, or along a far branch."""
        held = self._held(end)
        if held is None:
            raise UnknownPathError(_data_dependent(end.last))
        if not held:
            return end.following
        if end.following is not None and block not in self.machine._jumps:
            self.returns.append(end.following)
        return self.machine._callees[block]

    def _held(self, end: End) -> bool | None:
        """Whether the branch is taken; ``None`` if unknown."""
        if is_for_divergence(end.last):
            return False
        is_unknown = False
        for at, negated in end.conditions:
            value = 1 if at is None else self.state[at]
            if value is None:
                is_unknown = True
            elif bool(value) == negated:
                return False
        return None if is_unknown else True

    def _skip(
        self, block: int, last: Instruction, target: int | None, following: int | None
    ) -> int | None:
        """Go on at a branch on data: after what it may skip, or the longer way if that is a loop.

        Where floating-point numbers choose between two ways, as in the hyperbolic tangent, lanes of
        a warp choose differently, and it takes both: an H200 executes 77 million instructions of a
        GEGLU, 75 million with both ways of each tangent, and 55 million with one.

        Raises:
            UnknownPathError: It leads back, or out of a loop.
        """
        forest = self.machine._forest
        if target is not None and following is not None and self._retries(block, target):
            self.skipped.add(block)
            return following
        if target in self.machine._traps and following is not None:
            return following
        if target is None or following is None or target <= block:
            raise UnknownPathError(_data_dependent(last))
        if forest.innermost[target] != forest.innermost[following]:
            raise UnknownPathError(_data_dependent(last))
        self.skipped.add(block)
        if not self.machine._headers.isdisjoint(range(following, target)):
            # Most of the work may be in the loop: most programs go the longer way.
            return max(target, following, key=self.machine.reached)
        if self._parts(block, last, target):
            self.others[target - 1] = target
            return following
        return target

    def _parts(self, block: int, last: Instruction, target: int) -> bool:
        """Whether lanes that branch and lanes that do not both have code to run, and then meet."""
        way = self.machine.ends[target - 1]
        if way.effect != "branches" or way.conditions or way.target is None or way.target <= target:
            return False
        if self.machine.ends[way.target].effect != "meets":
            return False
        tested = {each.register for each in conditions(last)}
        before = (self.section.instructions[at] for at in self.flow.blocks[block].indices)
        return any(not tested.isdisjoint(compared_floats(each)) for each in before)

    def _retries(self, block: int, target: int) -> bool:
        """Whether a branch leads back to a compare-and-swap and to no other access of memory.

        Atomics on types that the hardware cannot add are such loops, and so are locks. The first
        try succeeds where no other thread is at the same word at the same time.
        """
        if target > block:
            return False
        indices = range(self.flow.blocks[target].start, self.flow.blocks[block].stop)
        around = [self.section.instructions[index] for index in indices]
        accesses = [e for e in around if e.opcode in units.GLOBAL_LOADS | units.GLOBAL_STORES]
        return bool(accesses) and all(map(units.is_compare_and_swap, accesses))


def _data_dependent(last: Instruction) -> str:
    place = f" of {last.locations[0]}" if last.locations else ""
    return f"a branch{place} ({last.opcode} at {last.offset:#06x}) depends on data"


def _jump(last: Instruction) -> tuple[int, int] | None:
    found = indexed_jump(last)
    if found is None or found[0].index is None:
        return None
    return position(found[0].file, found[0].index), found[1]
