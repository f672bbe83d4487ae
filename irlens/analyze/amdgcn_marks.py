"""Where in AMDGPU assembly its pipelines are: the loads, and the waits that retire them.

A load to registers is part of a pipeline where it runs ahead of its loop. A copy between global
memory and LDS goes on by itself wherever it stands: counters count such copies, one by one and in
order, so that they are followed through the control flow as groups of a single copy.
"""

from collections.abc import Sequence

from irlens.analyze.cfg import Cfg
from irlens.analyze.graph import find_loops
from irlens.analyze.pipelines.amdgcn import trace_loads
from irlens.analyze.pipelines.drafts import Draft, Key, LoopKey, by_header, finish, join
from irlens.analyze.pipelines.retiring import follow
from irlens.isa.amdgcn import Function, Instruction
from irlens.isa.amdgcn.classes import classify
from irlens.isa.amdgcn.memory import Counter, limit, raises, stores_count_apart
from irlens.isa.events import Commit, Event, Wait
from irlens.model.listing import PipelineMark
from irlens.model.report import Pipeline

#: What only copies between global memory and LDS raise: who waits for it waits for those.
_OF_COPIES: tuple[Counter, ...] = ("async", "tensor")


def find_marks(kernel: Function, flow: Cfg, pipelines: Sequence[Pipeline]) -> list[PipelineMark]:
    """Return the lines of a kernel that are part of a pipeline, in ascending order.

    Args:
        kernel: The kernel.
        flow: Its control flow.
        pipelines: What the report says of its loops.

    Raises:
        ArtifactError: A branch to a label that is not there.
    """
    drafts: dict[Key, Draft] = {}
    copies = _Copies(kernel, flow)
    for counter in ("load", *_OF_COPIES):
        copies.add(drafts, counter)
    for load in trace_loads(kernel):
        loops = ((load.header, load.kind),)
        drafts.setdefault((load.line, "copy"), Draft(load.line, loops=loops))
        if load.wait is not None:
            drafts.setdefault((load.wait, "wait"), Draft(load.wait, loops=loops))
            join(drafts, (load.line, "copy"), (load.wait, "wait"))
    return finish(drafts, by_header(pipelines, "amdgcn"))


class _Copies:
    """Follows the copies between global memory and LDS through a kernel, by their lines."""

    def __init__(self, kernel: Function, flow: Cfg) -> None:
        self._flow = flow
        self._instructions = kernel.instructions
        self._forest = find_loops(flow.successors)
        self._stores_apart = stores_count_apart(kernel)

    def add(self, drafts: dict[Key, Draft], counter: Counter) -> None:
        """Add what one counter counts."""
        before = len(drafts)
        for block, inside in enumerate(self._flow.ranges):
            for each in (self._instructions[n] for n in inside):
                if self._counter(each) == counter and _kind(each) is not None:
                    drafts[each.line, "copy"] = self._draft(each, block)
                elif counter in _OF_COPIES and limit(each, counter) is not None:
                    drafts[each.line, "wait"] = Draft(each.line)
        if len(drafts) == before:
            return
        events = {
            block: found
            for block, inside in enumerate(self._flow.ranges)
            if (found := [e for n in inside if (e := self._event(n, counter)) is not None])
        }
        for copy, wait in follow(self._flow.successors, events).retired:
            if (copy, "copy") in drafts:
                drafts.setdefault((wait, "wait"), Draft(wait))
                join(drafts, (copy, "copy"), (wait, "wait"))

    def _event(self, index: int, counter: Counter) -> Event | None:
        instruction = self._instructions[index]
        line = instruction.line
        left = limit(instruction, counter)
        if left is not None:
            return Wait(line, left, certain=True, at=line)
        if self._counter(instruction) == counter:
            return Commit(line, certain=True, at=line, copies=True)
        return None

    def _counter(self, instruction: Instruction) -> Counter | None:
        if _kind(instruction) == "LDS to global":
            return "tensor" if instruction.mnemonic.startswith("tensor_") else "async"
        return raises(instruction, stores_apart=self._stores_apart)

    def _draft(self, instruction: Instruction, block: int) -> Draft:
        """A copy; the report's pipelines are made of those into LDS."""
        if _kind(instruction) != "global to LDS":
            return Draft(instruction.line)
        loops: list[LoopKey] = []
        loop = self._forest.innermost[block]
        while loop is not None:
            header = self._flow.blocks[self._forest.loops[loop].header]
            loops.append((header.line, "direct-to-lds"))
            loop = self._forest.loops[loop].parent
        return Draft(instruction.line, instruction.locations or None, tuple(loops))


def _kind(instruction: Instruction) -> str | None:
    """Which way an instruction copies between global memory and LDS; ``None`` if it does not."""
    kind = classify(instruction.operations[0])
    return kind if kind in ("global to LDS", "LDS to global") else None
