"""Pipelines of Hopper's tensor core (PTX ISA, ``wgmma.commit_group`` and ``wgmma.wait_group``).

Where ptxas finds that it cannot let ``wgmma.mma_async`` overlap, it makes a group of each product
and waits for it at once, in the whole function. It warns of that ("Potential Performance Loss:
wgmma.mma_async instructions are serialized due to ..."), and Triton shows the warning to nobody.
The PTX does not show it either, but the machine code does: after every product stands a wait for
all of them.
"""

from collections.abc import Collection, Sequence
from itertools import pairwise

from msgspec.structs import replace

from irlens.analyze import cfg, work
from irlens.analyze.outstanding import Queue
from irlens.analyze.pipelines.matrix_products import (
    SERIAL,
    UNDER_BRANCH,
    Product,
    ProductReading,
    blank_product,
    find_products,
    judged,
)
from irlens.analyze.pipelines.products import UNSEEN, ProductGroups, SteadyGroups
from irlens.analyze.pipelines.steady_state import Unreadable
from irlens.analyze.pipelines.verdicts import IRREDUCIBLE, PASSED_BY, PtxKernel
from irlens.isa.dialect import kernel_named
from irlens.isa.events import Commit, Copy, Event, Wait
from irlens.isa.ptx import Function
from irlens.isa.ptx.copies import is_wgmma, is_wgmma_commit, wgmma_events
from irlens.isa.sass import warpgroup
from irlens.model.capture import Stage
from irlens.model.report import Pipeline
from irlens.model.several import only

PILE_UP = "the loop waits for fewer matrix products than it issues"
NOT_AWAITED = "no wait in the loop retires the product"
BY_PATH = "how many iterations later a wait retires the product depends on the path taken"
SERIALIZED = "ptxas serialized the matrix products: it waits for each before it issues the next"


def find(kernel: PtxKernel) -> list[Pipeline]:
    """Describe every ``wgmma`` product of a loop.

    The stages achieved are the iterations whose groups of the product are under way at once,
    including the one that is issued; no number of them is requested.
    """
    return [
        _describe(kernel, product)
        for product in find_products(kernel.loops, is_wgmma, is_wgmma_commit)
    ]


def _describe(kernel: PtxKernel, product: Product) -> Pipeline:
    record = blank_product(kernel, product, "wgmma", IRREDUCIBLE)
    if kernel.loops.forest.loops[product.loop].irreducible:
        return record
    outcome = _read(kernel, product)
    if isinstance(outcome, Unreadable):
        return replace(record, reason=outcome.reason)
    if kernel.serialized is None and outcome.prefetch:
        return replace(record, reason=UNSEEN)
    return judged(record, outcome, SERIALIZED if kernel.serialized else SERIAL)


def _read(kernel: PtxKernel, product: Product) -> ProductReading | Unreadable:
    """Read a product of a reducible loop; waits under a branch are passed by if they must be."""
    groups = kernel.products.identities
    outcome = _read_groups(kernel, product, groups)
    if isinstance(outcome, Unreadable):
        loop = kernel.loops.forest.loops[product.loop]
        shorter, lines = groups.without_optional_waits(loop, kernel.loops.forest.body(product.loop))
        again = _read_groups(kernel, product, shorter) if lines else outcome
        if isinstance(again, ProductReading):
            return replace(again, notes=(*again.notes, *map(PASSED_BY.format, lines)))
    return outcome


def _read_groups(
    kernel: PtxKernel, product: Product, groups: ProductGroups
) -> ProductReading | Unreadable:
    loop, body = kernel.loops.forest.loops[product.loop], kernel.loops.forest.body(product.loop)
    steady = groups.settle(loop, body)
    if steady is None:
        return Unreadable(PILE_UP)
    inside = {each.start for each in kernel.loops.body(product.loop)}
    own = inside & {c for c, some in groups.closed.items() if not product.offsets.isdisjoint(some)}
    ages = {commit: _ages(steady, commit) for commit in own}
    if not own or not all(ages.values()):
        return Unreadable(NOT_AWAITED)
    if any(len(some) > 1 for some in ages.values()):
        return Unreadable(BY_PATH)
    latest = {commit: min(some) for commit, some in ages.items()}
    fewest, most = groups.per_iteration(loop, body, own)
    prefetch = max(latest.values())
    last = max(commit for commit, age in latest.items() if age == prefetch)
    waits = [each for each in steady.retired if each.commit == last]
    return ProductReading(
        prefetch=prefetch,
        groups_before_loop=_before_loop(kernel, product, groups, steady),
        groups_per_iteration=most,
        outstanding_at_wait=only(each.before for each in waits),
        outstanding_after_wait=only(each.after for each in waits),
        outstanding_at_end=only(_count(queue, own) for queue in steady.at_latch),
        notes=() if fewest == most else (UNDER_BRANCH,),
    )


def _ages(steady: SteadyGroups, commit: int) -> set[int]:
    """Return how many iterations after its commit a group of the loop is retired, by any path."""
    return {r.age for r in steady.retired if r.commit == commit and r.age is not None}


def _before_loop(
    kernel: PtxKernel, product: Product, groups: ProductGroups, steady: SteadyGroups
) -> int | None:
    """Return the groups of a product that are outstanding on entry to its loop."""
    if steady.entry is None:
        return None
    work.spend(len(kernel.loops.instructions))
    alike = {i.start for i in kernel.loops.instructions if is_wgmma(i) and product.owns(i)}
    own = {commit for commit, copies in groups.closed.items() if not alike.isdisjoint(copies)}
    return only(_count(queue, own) for queue in steady.entry)


def _count(queue: Queue, commits: Collection[int]) -> int:
    return sum(commit in commits for commit, _ in queue)


def find_serialized(function: Function, cubin: Stage | None, kernel: str) -> bool | None:
    """Return whether ptxas serialized the products of a kernel whose PTX lets them overlap.

    Args:
        cubin: Read only if there are products.

    Returns:
        ``None`` without machine code that shows it.

    Raises:
        ArtifactError: The cubin is broken.
    """
    if not any(map(is_wgmma, function.instructions)):
        return False
    blocks = cfg.build(function).blocks
    events = [tuple(wgmma_events(function.instructions[b.start : b.stop])) for b in blocks]
    if cubin is None:
        return None
    code = kernel_named(warpgroup.read(cubin.read()) or [], kernel)
    if code is None or not any(isinstance(step, warpgroup.Product) for step in code.steps):
        return None
    return _code_is_serialized(code.steps) and not all(map(_ptx_is_serialized, events))


def _code_is_serialized(steps: Sequence[warpgroup.Step]) -> bool:
    """Whether each product is a group of its own, awaited before anything else happens."""
    for step, following in pairwise([*steps, None]):
        if isinstance(step, warpgroup.Product):
            match following:
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
