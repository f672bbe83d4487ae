"""Pipelines of Blackwell's tensor core (PTX ISA, ``tcgen05.mma`` and ``tcgen05.commit``).

The matrix instructions run asynchronously. A commit ends a barrier's phase when all that its
thread issued before it is done, and whoever reads the result, or overwrites the operands, waits
for it. So a product is done after the first wait for a commit that follows it, be that its own
commit or that of a later product.
"""

from collections.abc import Sequence
from functools import cached_property

import msgspec

from irlens.analyze import work
from irlens.analyze.pipelines.matrix_products import (
    Product,
    ProductReading,
    blank_product,
    find_products,
    judged,
)
from irlens.analyze.pipelines.mbarrier_rings import (
    UNKNOWN_BARRIER,
    AwaitedOutside,
    Trace,
    awaited_outside,
)
from irlens.analyze.pipelines.mbarrier_trace import Touch
from irlens.analyze.pipelines.steady_state import Unreadable
from irlens.analyze.pipelines.verdicts import IRREDUCIBLE, PtxKernel
from irlens.isa.ptx import Instruction
from irlens.isa.ptx.copies import is_tcgen05_mma, tcgen05_barrier
from irlens.model.report import Pipeline

CHANGES = "how many iterations later the product is waited for changes from iteration to iteration"
NO_ENTRY = "how much is issued before the loop depends on another loop"
#: Iterations of which each must be alike; those before fill the pipeline.
_FIRST, _ALIKE = 24, 12


def find(kernel: PtxKernel) -> list[Pipeline]:
    """Describe every product of a loop that is issued to tensor memory.

    The stages achieved are the iterations whose product is under way at once; no number of them is
    requested.
    """
    readers: dict[int, _Reader] = {}
    pipelines = []
    for product in find_products(kernel.loops, is_tcgen05_mma, _commits):
        record = blank_product(kernel, product, "tcgen05", IRREDUCIBLE)
        if not kernel.loops.forest.loops[product.loop].irreducible:
            reader = readers.setdefault(product.loop, _Reader(kernel, product.loop))
            record = _describe(kernel, product, reader.read(product))
        pipelines.append(record)
    return pipelines


def _describe(
    kernel: PtxKernel, product: Product, outcome: ProductReading | AwaitedOutside | Unreadable
) -> Pipeline:
    record = blank_product(kernel, product, "tcgen05")
    if isinstance(outcome, AwaitedOutside):
        return awaited_outside(kernel.loops, product.loop, record, "the matrix products", outcome)
    if isinstance(outcome, Unreadable):
        return msgspec.structs.replace(record, reason=outcome.reason)
    return judged(record, outcome)


def _commits(instruction: Instruction) -> bool:
    return tcgen05_barrier(instruction) is not None


class _Ended(msgspec.Struct, frozen=True):
    """A phase that a wait ends.

    Attributes:
        iteration: In which the wait stands.
        position: The wait's, within an iteration.
        commits: The commits that signalled the phase, with their iterations and positions.
        before: Phases under way before the wait.
    """

    iteration: int
    position: int
    commits: tuple[tuple[int, int], ...]
    before: int
    after: int


class _Group(msgspec.Struct, frozen=True):
    """Instructions of a product up to a commit.

    Attributes:
        position: Of the last of them, within an iteration.
        commits: Positions of the commits after them, up to the next product.
    """

    position: int
    commits: tuple[int, ...]


class _Reader:
    """Reads the products of one reducible loop."""

    def __init__(self, kernel: PtxKernel, loop: int) -> None:
        self._loop = loop
        self._instructions = kernel.loops.function.instructions
        self._ring = kernel.products.barriers

    @cached_property
    def _trace(self) -> Trace | Unreadable:
        return self._ring.trace(self._loop)

    @cached_property
    def _replayed(self) -> tuple[list[_Ended], list[list[Touch]]]:
        assert isinstance(self._trace, Trace)
        return self._replay(self._trace)

    @cached_property
    def _rings(self) -> tuple[dict[int, set[int | None]], set[int | None]]:
        """The barriers that each instruction of the loop signals, and those that it waits for."""
        assert isinstance(self._trace, Trace)
        touches = [touch for touches in self._trace.iterations for touch in touches]
        awaited = {touch.address for touch in touches if self._ring.waits(touch)}
        return self._ring.signalled(touches), awaited

    def read(self, product: Product) -> ProductReading | AwaitedOutside | Unreadable:
        """Read one product."""
        trace = self._trace
        if isinstance(trace, Unreadable):
            return trace
        groups = self._groups(trace, product)
        outside = self._awaited_elsewhere(trace, groups)
        unknown = next((t for ts in trace.iterations for t in ts if t.address is None), None)
        if unknown is not None:
            line = self._instructions[unknown.at].line
            return outside or Unreadable(UNKNOWN_BARRIER.format(line))
        ended, entering = self._replayed
        found = [_follow(group, ended) for group in groups]
        if any(isinstance(each, Unreadable) for each in found):
            return next(each for each in found if isinstance(each, Unreadable))
        waits = [each for each in found if isinstance(each, tuple)]
        if len(waits) < len(found) or not waits:
            return outside or self._outside(trace, groups)
        prefetch, last = max(waits, key=lambda each: each[0])
        return ProductReading(
            prefetch=prefetch,
            groups_before_loop=None if trace.before is None else self._owned(entering, product),
            groups_per_iteration=len(groups),
            outstanding_at_wait=last.before,
            outstanding_after_wait=last.after,
            outstanding_at_end=sum(age for age, _ in waits),
            notes=() if trace.before is not None else (NO_ENTRY,),
        )

    def _groups(self, trace: Trace, product: Product) -> list[_Group]:
        """Split a product's instructions where something is committed."""
        own = {each.start for each in product.instructions}
        groups: list[_Group] = []
        is_open = False
        follows = False
        for position, index in enumerate(trace.order):
            instruction = self._instructions[index]
            if instruction.start in own:
                groups[len(groups) - is_open :] = [_Group(position, ())]
                is_open = follows = True
            elif is_tcgen05_mma(instruction):
                is_open = follows = False
            elif _commits(instruction):
                if follows:
                    commits = (*groups[-1].commits, position)
                    groups[-1] = msgspec.structs.replace(groups[-1], commits=commits)
                is_open = False
        return groups

    def _replay(self, trace: Trace) -> tuple[list[_Ended], list[list[Touch]]]:
        """Return the phases that the loop's waits end, and those under way on entry."""
        _, awaited = self._rings
        position = {index: number for number, index in enumerate(trace.order)}
        phases: dict[int | None, list[tuple[int, Touch]]] = {}
        ended = []
        entering: list[list[Touch]] = []
        for iteration, touches in enumerate([trace.before or [], *trace.iterations], -1):
            for touch in touches:
                if touch.address not in awaited:
                    continue
                if not self._ring.waits(touch):
                    phases.setdefault(touch.address, []).append((iteration, touch))
                elif (phase := phases.pop(touch.address, None)) is not None and iteration >= 0:
                    commits = tuple((n, position[t.at]) for n, t in phase if n >= 0)
                    number = len(phases)
                    ended.append(_Ended(iteration, position[touch.at], commits, number + 1, number))
            if iteration < 0:
                entering = [[touch for _, touch in phase] for phase in phases.values()]
        return ended, entering

    def _owned(self, phases: Sequence[Sequence[Touch]], product: Product) -> int:
        """Return how many phases belong to a product."""
        committed = [[self._committed(touch.at) for touch in phase] for phase in phases]
        return sum(any(i is not None and product.owns(i) for i in some) for some in committed)

    def _committed(self, index: int) -> Instruction | None:
        """Return the product instruction in front of a commit, in the order of the text."""
        return next(filter(is_tcgen05_mma, self._instructions[index::-1]), None)

    def _awaited_elsewhere(self, trace: Trace, groups: Sequence[_Group]) -> AwaitedOutside | None:
        """Return what bounds a product that other loops or warps wait for.

        ``None`` where this loop may wait for them, or where it is unknown who does.
        """
        outside = self._outside(trace, groups)
        own = {trace.order[position] for group in groups for position in group.commits}
        rings, awaited = self._rings
        issued = {each for at in own for each in rings.get(at, ())} - {None}
        return outside if outside.waits and not issued & awaited else None

    def _outside(self, trace: Trace, groups: Sequence[_Group]) -> AwaitedOutside:
        """Return the smallest ring that a product's commits signal and somebody waits for.

        Where nobody waits for them, a later commit of the loop, which covers it, takes their place.
        """
        first = min((group.position for group in groups), default=0)
        order = [*range(first, len(trace.order)), *range(first)]
        rings, _ = self._rings
        bounds: list[tuple[int, tuple[int, ...]]] = []
        work.spend(len(order))
        for position in order:
            index = trace.order[position]
            if is_tcgen05_mma(self._instructions[index]) and bounds:
                break
            ring = rings.get(index, {None})
            waits = self._ring.waits_for(ring)
            if None not in ring and waits:
                bounds.append((len(ring), waits))
        size, waits = min(bounds, default=(None, ()))
        return AwaitedOutside(size, None, waits)


def _follow(group: _Group, ended: Sequence[_Ended]) -> tuple[int, _Ended] | Unreadable | None:
    """Return how many iterations later a group is known to be done, and after which wait.

    Where its own commit's wait stands in the same iteration as an earlier wait that implies it,
    its own is returned.

    Returns:
        ``None`` if no wait of the loop implies it.
    """
    found = set[tuple[int, int, int]]()
    chosen: list[_Ended] = []
    for iteration in range(_FIRST, _FIRST + _ALIKE):
        issued = (iteration, group.position)
        covering = [each for each in ended if any(commit > issued for commit in each.commits)]
        if not covering:
            return None
        first = min(covering, key=lambda each: (each.iteration, each.position))
        own = [
            each
            for each in covering
            if each.iteration == first.iteration
            and any(n == iteration and p in group.commits for n, p in each.commits)
        ]
        chosen.append(own[0] if own else first)
        found.add((first.iteration - iteration, chosen[-1].before, chosen[-1].after))
    ages = {age for age, _, _ in found}
    return (ages.pop(), chosen[0]) if len(found) == 1 else Unreadable(CHANGES)
