"""Whether ptxas serialized a kernel's matrix products, which the PTX does not show.

Where ptxas finds that it cannot let ``wgmma.mma_async`` overlap, it makes a group of each and
waits for it at once, in the whole function. It warns of that ("Potential Performance Loss:
wgmma.mma_async instructions are serialized due to ..."), and Triton shows the warning to nobody.
The machine code tells: behind every product stands a wait for all of them.
"""

from collections.abc import Sequence
from itertools import pairwise

from irlens.analyze import cfg
from irlens.analyze.pipelines.wgmma import events_of
from irlens.isa.dialect import kernel_named
from irlens.isa.events import Commit, Copy, Event, Wait
from irlens.isa.ptx import Function
from irlens.isa.sass import warpgroup
from irlens.model.capture import Capture


def find_serialized(capture: Capture, function: Function) -> bool | None:
    """Return whether ptxas serialized the products of a kernel, whose PTX lets them overlap.

    Args:
        capture: Its cubin is read, if there are products at all.
        function: The kernel, in PTX.

    Returns:
        ``None`` where no machine code tells.

    Raises:
        ArtifactError: The cubin is broken.
    """
    blocks = cfg.build(function).blocks
    events = [tuple(events_of(function.instructions[b.start : b.stop])) for b in blocks]
    if not any(isinstance(event, Copy) for block in events for event in block):
        return False
    if "cubin" not in capture.stages:
        return None
    code = kernel_named(warpgroup.read(capture.stages["cubin"].read()) or [], capture.kernel)
    if code is None or not any(isinstance(step, warpgroup.Product) for step in code.steps):
        return None
    return _made_one_by_one(code.steps) and not all(map(_asked_one_by_one, events))


def _made_one_by_one(steps: Sequence[warpgroup.Step]) -> bool:
    """Whether each product is a group of its own, waited for before anything else happens."""
    for step, behind in pairwise([*steps, None]):
        if isinstance(step, warpgroup.Product):
            match behind:
                case warpgroup.Wait(limit=0, certain=True) if step.closes:
                    continue
                case _:
                    return False
    return True


def _asked_one_by_one(block: Sequence[Event]) -> bool:
    """Whether the PTX itself waits for each product of a block before anything else happens."""
    for index, event in enumerate(block):
        if isinstance(event, Copy):
            match block[index + 1 : index + 3]:
                case (Commit(), Wait(limit=0, certain=True)):
                    continue
                case _:
                    return False
    return True
