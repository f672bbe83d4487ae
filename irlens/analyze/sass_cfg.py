"""Control flow that only SASS has: reconvergence barriers and subroutine calls.

A BSYNC leads to the targets of the BSSYs that reach it (``irlens.isa.sass.control_flow``).

Functions are called by ``CALL.REL``, and they return by ``RET.REL`` through a register that holds
the address after the call: a constant, which is loaded in front of the call, or anywhere in a
function that only one call leads to. A CALL whose address nothing loads is a far branch: ptxas for
sm_80 leaves a loop that way, for code that is far away. Calls through a register name the section.
"""

from collections.abc import Mapping, Sequence
from operator import or_

import msgspec

from irlens.analyze import cfg
from irlens.analyze.cfg import Block, Cfg
from irlens.analyze.graph import FlowGraph, Successors, reverse_postorder
from irlens.analyze.solver import solve
from irlens.isa.sass import Instruction, Section, control_flow
from irlens.isa.sass.records import INSTRUCTION_BYTES
from irlens.isa.sass.registers import is_certain
from irlens.model.several import all_known, total

#: More than ptxas emits; the work grows with their number times the number of blocks.
_MOST_SITES = 2048
_MOST_SUBROUTINES = 256


class Call(msgspec.Struct, frozen=True, gc=False):
    """A call of a function in the same section, or a far branch, which ends a block."""

    block: int
    entry: int
    far_branch: bool = False


class SassCfg(Cfg, frozen=True, kw_only=True):
    """Control flow of a section within each function.

    A call leads to the block after it, a far branch to its target.

    Attributes:
        outside: What is not known about code of the driver that calls run, outside of the section;
            empty without such calls. It returns after the call, and leaves groups of
            asynchronous copies alone.
    """

    calls: tuple[Call, ...]
    returns: tuple[int, ...]
    outside: str = ""

    @property
    def entries(self) -> tuple[int, ...]:
        """The kernel's first block, and those of the functions that are called."""
        called = (call.entry for call in self.calls if not call.far_branch)
        return tuple(dict.fromkeys((*super().entries, *called)))

    @property
    def returning(self) -> Successors:
        """The successors, with the returns of functions leading after every call."""
        linked = [list(targets) for targets in self.successors]
        for call in self.calls:
            if not call.far_branch:
                for block in set(self.returns) & {*reverse_postorder(self.successors, call.entry)}:
                    linked[block] += self.successors[call.block]
        return [tuple(dict.fromkeys(targets)) for targets in linked]

    @property
    def through_calls(self) -> Successors:
        """The same, with calls leading to functions, too."""
        linked = list(self.returning)
        for call in self.calls:
            if not call.far_branch:
                linked[call.block] = (*linked[call.block], call.entry)
        return linked

    def loop_depths(self) -> list[int | None]:
        """Return how many loops are around each block, those of callers included.

        Of a function that is called in several places the deepest counts. ``None`` where nothing
        that is known leads to a block, or functions call each other in a circle.
        """
        if self.unknown:
            return [None] * len(self.blocks)
        forest = self.forest
        inside = {each: set(reverse_postorder(self.successors, each)) for each in self.entries}
        around: dict[int, int | None] = {}

        def depth_of(entry: int) -> int | None:
            """Return the loops around a function; ``None`` while it is being asked for."""
            if entry in around or not entry:
                return around.get(entry, 0)
            around[entry] = None
            sites = [
                total((depth_of(caller), forest.depth(call.block)))
                for call in self.calls
                if call.entry == entry and not call.far_branch
                for caller, blocks in inside.items()
                if call.block in blocks
            ]
            around[entry] = _deepest(sites)
            return around[entry]

        return [
            _deepest(
                [total((depth_of(each), forest.depth(n))) for each in inside if n in inside[each]]
            )
            for n in range(len(self.blocks))
        ]


def _deepest(depths: list[int | None]) -> int | None:
    """Return the most of some depths; ``None`` if one is unknown, or there are none."""
    known = all_known(depths)
    return max(known) if known else None


def build(section: Section) -> SassCfg:
    """Return the basic blocks of a section and their successors."""
    return _Builder(section).build()


class _Builder:
    """Adds barriers and calls to the plain control flow."""

    def __init__(self, section: Section) -> None:
        self.section = section
        plain = cfg.build(section)
        self.blocks: tuple[Block, ...] = plain.blocks if section.instructions else ()
        self.lasts = [section.instructions[block.stop - 1] for block in self.blocks]
        self.successors = list(plain.successors[: len(self.blocks)])
        self.block_at = {block.start: number for number, block in enumerate(self.blocks)}
        self.unknown = [plain.unknown] if plain.unknown else []
        self.outside: list[str] = []

    def build(self) -> SassCfg:
        found = {
            block: entry
            for block, last in enumerate(self.lasts)
            if control_flow.effect(last) == "calls" and (entry := self._callee(last)) is not None
        }
        far = self._far_branches(found)
        entries = {entry for block, entry in found.items() if block not in far}
        if len(entries) > _MOST_SUBROUTINES:
            self.unknown.append(f"how {len(entries)} subroutines call each other")
        self._join({0, *entries} if self.blocks else set())
        returns = [n for n, last in enumerate(self.lasts) if control_flow.effect(last) == "returns"]
        for block in found.keys() - far:
            if set(returns).isdisjoint(reverse_postorder(self.successors, found[block])):
                far.add(block)  # to code that ends the thread
        for block in sorted(far):
            self._branch(block, found[block])
        if self.blocks:
            self._check_returns(returns)
        return SassCfg(
            blocks=self.blocks,
            successors=tuple(self.successors),
            calls=tuple(Call(block, entry, block in far) for block, entry in found.items()),
            returns=tuple(returns),
            unknown=self.unknown[0] if self.unknown else "",
            outside=self.outside[0] if self.outside else "",
        )

    def _far_branches(self, found: Mapping[int, int]) -> set[int]:
        """Lead the calls that do not come back to their targets, and return their blocks."""
        addresses = control_flow.loaded_constants(self.section) if found else frozenset[int]()
        functions = set(self.section.functions.values())
        far = {n for n in found if self.lasts[n].offset + INSTRUCTION_BYTES not in addresses}
        for block in sorted(far):
            if self.blocks[found[block]].start in functions:
                offset = self.lasts[block].offset
                self.unknown.append(f"where the code that CALL at {offset:#06x} runs returns to")
            self._branch(block, found[block])
        return far

    def _check_returns(self, returns: Sequence[int]) -> None:
        """A kernel ends, and does not return: what does was called."""
        for block in set(returns).intersection(reverse_postorder(self.successors)):
            self.unknown.append(f"where RET at {self.lasts[block].offset:#06x} leads")

    def _branch(self, block: int, target: int) -> None:
        kept = () if is_certain(self.lasts[block]) else self.successors[block]
        self.successors[block] = tuple(dict.fromkeys((*kept, target)))

    def _callee(self, call: Instruction) -> int | None:
        labels = control_flow.callee(call)
        entries = self._at(labels or ())
        if len(entries) == 1:
            return entries[0]
        (self.outside if control_flow.calls_driver(call) else self.unknown).append(
            f"what the code outside that CALL at {call.offset:#06x} runs does"
        )
        return None

    def _at(self, labels: tuple[str, ...] | list[str]) -> list[int]:
        """Blocks after labels; none for a label after the last instruction."""
        blocks = []
        for label in labels:
            index = self.section.labels.get(label)
            if index is None:
                self.unknown.append(f"where {label} is")
            elif index in self.block_at:
                blocks.append(self.block_at[index])
        return blocks

    def _join(self, entries: set[int]) -> None:
        """Lead each BSYNC to the targets of the BSSYs that reach it."""
        barriers = _Barriers(self.lasts)
        if barriers.count > _MOST_SITES:
            self.unknown.append(f"where threads that {barriers.count} BSSYs part meet again")
            return

        def reached(block: int, state: int) -> int:
            last = self.lasts[block]
            if control_flow.effect(last) == "meets":
                targets = self._at(barriers.named(last, state))
                self.successors[block] = tuple(dict.fromkeys((*self.successors[block], *targets)))
            return barriers.after(block, state)

        # The graph grows while it is followed.
        states = solve(FlowGraph(self.successors), dict.fromkeys(entries, 0), reached, or_)
        for block, state in sorted(states.items()):
            last = self.lasts[block]
            if control_flow.effect(last) == "meets" and not barriers.named(last, state):
                self.unknown.append(f"where BSYNC at {last.offset:#06x} leads")


class _Barriers:
    """The BSSYs that each barrier register may hold, as bits; BMOV saves and restores them.

    Bit ``register * count + n`` says that the n-th BSSY may be in that register. What BMOV has
    saved counts as one more register: the general register that it went to is not followed.
    """

    def __init__(self, lasts: list[Instruction]) -> None:
        self.lasts = lasts
        self.sites = [n for n, last in enumerate(lasts) if control_flow.effect(last) == "arms"]
        self.number = {block: n for n, block in enumerate(self.sites)}
        self.count = len(self.sites)
        self.every = (1 << self.count) - 1

    def held(self, register: int, state: int) -> int:
        return state >> register * self.count & self.every

    def named(self, sync: Instruction, state: int) -> list[str]:
        """Labels that a BSYNC may lead to."""
        register = control_flow.barrier(sync)
        held = self.held(register, state) if register >= 0 else 0
        return [
            target
            for number, block in enumerate(self.sites)
            if held >> number & 1
            for target in self.lasts[block].targets
        ]

    def after(self, block: int, state: int) -> int:
        """State after a block, whose last instruction is the one that can change it."""
        last = self.lasts[block]
        register = control_flow.barrier(last)
        if register < 0:
            return state
        match control_flow.effect(last):
            case "moves" if control_flow.saves_barrier(last):
                return state | self.held(register, state) << control_flow.BARRIERS * self.count
            case "moves":
                arriving = self.held(control_flow.BARRIERS, state)
            case "arms":
                arriving = 1 << self.number[block]
            case _:
                return state
        if last.guard is None:
            state &= ~(self.every << register * self.count)
        return state | arriving << register * self.count
