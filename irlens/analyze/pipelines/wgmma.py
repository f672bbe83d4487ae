"""Pipelines of Hopper's tensor core (PTX ISA, ``wgmma.commit_group`` and ``wgmma.wait_group``).

Where ptxas finds that it cannot let ``wgmma.mma_async`` overlap, it makes a group of each product
and waits for it at once, in the whole function. It warns of that ("Potential Performance Loss:
wgmma.mma_async instructions are serialized due to ..."), and Triton shows the warning to nobody.
The PTX does not show it either, but the machine code does: behind every product stands a wait for
all of them.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from msgspec.structs import replace

from irlens.analyze import cfg
from irlens.analyze.pipelines.commit_groups import GroupFlow
from irlens.analyze.pipelines.steady_state import Unreadable, read_loop
from irlens.analyze.pipelines.verdicts import IRREDUCIBLE, PtxKernel, judge, with_groups
from irlens.isa.dialect import kernel_named
from irlens.isa.events import Commit, Copy, Event, Wait
from irlens.isa.ptx import Function, Instruction
from irlens.isa.ptx.copies import is_wgmma, wgmma_events
from irlens.isa.sass import warpgroup
from irlens.model.capture import Capture
from irlens.model.report import Pipeline

SERIAL = "a wait leaves no matrix product of the iteration in flight"
PILE_UP = "the loop waits for fewer matrix products than it issues"
SERIALIZED = "ptxas serialized the matrix products: it waits for each before it issues the next"
UNSEEN = (
    "the ptx lets matrix products of several iterations overlap; this capture has no machine code"
    " that shows whether ptxas serialized them"
)


def find(kernel: PtxKernel) -> list[Pipeline]:
    """Describe every innermost loop that issues ``wgmma`` instructions.

    The stages achieved are the iterations whose products are under way at once, including the one
    that is issued; no number of them is requested.
    """
    loops = kernel.loops
    chosen = loops.innermost(is_wgmma)
    if not chosen:
        return []
    events_of = _serialized_events if kernel.serialized else wgmma_events
    events = {n: tuple(events_of(loops.block(n))) for n in range(len(loops.cfg.blocks))}
    flow = GroupFlow(loops.cfg.successors, {b: some for b, some in events.items() if some})
    return [_describe(kernel, index, flow) for index in chosen]


def _describe(kernel: PtxKernel, index: int, flow: GroupFlow) -> Pipeline:
    record = kernel.blank(index, "wgmma", IRREDUCIBLE)
    loop = kernel.loops.forest.loops[index]
    if loop.irreducible:
        return record
    steady = flow.settle(loop, kernel.loops.forest.body(index))
    outcome = Unreadable(PILE_UP) if steady is None else read_loop(steady, lambda _: None)
    if isinstance(outcome, Unreadable):
        return replace(record, reason=outcome.reason)
    if kernel.serialized is None and outcome.prefetch:
        return replace(record, reason=UNSEEN)
    verdict, reason = judge(outcome.prefetch, None, SERIALIZED if kernel.serialized else SERIAL)
    return replace(with_groups(record, outcome), verdict=verdict, reason=reason)


def _serialized_events(instructions: tuple[Instruction, ...]) -> Iterator[Event]:
    """Yield the events that ptxas makes where it serializes: a group and a wait per product."""
    for event in wgmma_events(instructions):
        if isinstance(event, Copy):
            yield event
            yield Commit(event.line, certain=True, at=event.at)
            yield Wait(event.line, limit=0, certain=True, at=event.at)


def find_serialized(capture: Capture, function: Function) -> bool | None:
    """Return whether ptxas serialized the products of a kernel whose PTX lets them overlap.

    Args:
        capture: The capture; its cubin is read only if there are products.
        function: The kernel, in PTX.

    Returns:
        ``None`` without machine code that shows it.

    Raises:
        ArtifactError: The cubin is broken.
    """
    blocks = cfg.build(function).blocks
    events = [tuple(wgmma_events(function.instructions[b.start : b.stop])) for b in blocks]
    if not any(isinstance(event, Copy) for block in events for event in block):
        return False
    if "cubin" not in capture.stages:
        return None
    code = kernel_named(warpgroup.read(capture.stages["cubin"].read()) or [], capture.kernel)
    if code is None or not any(isinstance(step, warpgroup.Product) for step in code.steps):
        return None
    return _code_is_serialized(code.steps) and not all(map(_ptx_is_serialized, events))


def _code_is_serialized(steps: Sequence[warpgroup.Step]) -> bool:
    """Whether each product is a group of its own, awaited before anything else happens."""
    for step, behind in pairwise([*steps, None]):
        if isinstance(step, warpgroup.Product):
            match behind:
                case warpgroup.Wait(limit=0, certain=True) if step.closes:
                    continue
                case _:
                    return False
    return True


def _ptx_is_serialized(block: Sequence[Event]) -> bool:
    """Whether the PTX itself waits for each product of a block before anything else happens."""
    for index, event in enumerate(block):
        if isinstance(event, Copy):
            match block[index + 1 : index + 3]:
                case (Commit(), Wait(limit=0, certain=True)):
                    continue
                case _:
                    return False
    return True
