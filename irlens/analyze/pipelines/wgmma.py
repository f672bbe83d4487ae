"""Pipelines of Hopper's tensor core (PTX ISA, ``wgmma.commit_group`` and ``wgmma.wait_group``).

Where ptxas finds that it cannot let ``wgmma.mma_async`` overlap, it makes a group of each product
and waits for it at once, in the whole function. It warns of that ("Potential Performance Loss:
wgmma.mma_async instructions are serialized due to ..."), and Triton shows the warning to nobody.
The PTX does not show it either, but the machine code does: behind every product stands a wait for
all of them.
"""

from collections.abc import Collection, Sequence
from itertools import pairwise

from msgspec.structs import replace

from irlens.analyze import cfg
from irlens.analyze.graph import Loop
from irlens.analyze.pipelines.commit_groups import GroupFlow
from irlens.analyze.pipelines.products import UNSEEN
from irlens.analyze.pipelines.steady_state import GroupReading, Unreadable, read_loop
from irlens.analyze.pipelines.verdicts import IRREDUCIBLE, PtxKernel, judge, with_groups
from irlens.isa.dialect import kernel_named
from irlens.isa.events import Commit, Copy, Event, Wait
from irlens.isa.ptx import Function
from irlens.isa.ptx.copies import is_wgmma, wgmma_events
from irlens.isa.sass import warpgroup
from irlens.model.capture import Capture
from irlens.model.report import Pipeline

PASSED_BY = (
    "the wait on line {} is under a branch: figures are of the iterations that do not reach it"
)
SERIAL = "a wait leaves no matrix product of the iteration in flight"
PILE_UP = "the loop waits for fewer matrix products than it issues"
SERIALIZED = "ptxas serialized the matrix products: it waits for each before it issues the next"


def find(kernel: PtxKernel) -> list[Pipeline]:
    """Describe every innermost loop that issues ``wgmma`` instructions.

    The stages achieved are the iterations whose products are under way at once, including the one
    that is issued; no number of them is requested.
    """
    return [_describe(kernel, index) for index in kernel.loops.innermost(is_wgmma)]


def _describe(kernel: PtxKernel, index: int) -> Pipeline:
    record = kernel.blank(index, "wgmma", IRREDUCIBLE)
    if kernel.loops.forest.loops[index].irreducible:
        return record
    outcome, lines = _read(kernel, index)
    if isinstance(outcome, Unreadable):
        return replace(record, reason=outcome.reason)
    if kernel.serialized is None and outcome.prefetch:
        return replace(record, reason=UNSEEN)
    verdict, reason = judge(outcome.prefetch, None, SERIALIZED if kernel.serialized else SERIAL)
    notes = [reason] if reason else []
    notes += [PASSED_BY.format(line) for line in lines]
    return replace(with_groups(record, outcome), verdict=verdict, reason="; ".join(notes))


def _read(kernel: PtxKernel, index: int) -> tuple[GroupReading | Unreadable, tuple[int, ...]]:
    """Read a reducible loop; waits under a branch are passed by if nothing else can be read.

    Returns:
        The reading, and the lines of the waits that are passed by.
    """
    forest, flow = kernel.loops.forest, kernel.products.groups
    loop, body = forest.loops[index], forest.body(index)
    outcome = _read_flow(flow, loop, body)
    if isinstance(outcome, Unreadable):
        shorter, lines = flow.without_optional_waits(loop, body)
        again = _read_flow(shorter, loop, body) if lines else outcome
        if not isinstance(again, Unreadable):
            return again, lines
    return outcome, ()


def _read_flow(flow: GroupFlow, loop: Loop, body: Collection[int]) -> GroupReading | Unreadable:
    steady = flow.settle(loop, body)
    return Unreadable(PILE_UP) if steady is None else read_loop(steady, lambda _: None)


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
    if not any(map(is_wgmma, function.instructions)):
        return False
    blocks = cfg.build(function).blocks
    events = [tuple(wgmma_events(function.instructions[b.start : b.stop])) for b in blocks]
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
