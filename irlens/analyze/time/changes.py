"""What would change a launch's time: the estimate with one cause changed, nothing compiled.

Only causes whose effect follows from what was counted are tried, all else being equal:

- one more CTA on each SM, with the same code and the same traffic: for as many registers less as
  ``maxnreg`` can take away without spills, or as much shared memory as a loop's stages beyond the
  third take, each of which is one ``num_stages`` less;
- no spills: the code without the instructions that spill registers and reload them;
- accesses in as few sectors as hold their bytes; memory reads as many bytes as before;
- memory that reads each byte once, as with another order of programs;
- shared memory without bank conflicts;
- a grid of fewer CTAs that each SM gets the same number of. The work of those that go is added to
  the others, with its overhead, so that this rather takes less time than estimated.
"""

from collections.abc import Iterator

from msgspec.structs import replace

from irlens.analyze.time import estimate
from irlens.analyze.time.counting import CostedLaunch, count, executed
from irlens.analyze.time.counts import Counts
from irlens.analyze.time.transfers import Transfers
from irlens.model.estimate import MOST_STEPS, RESOLUTION, Cause, TimeEstimate, TimeStep

_RESOURCES: dict[str, Cause] = {"registers": "registers", "shared_memory": "shared_memory"}


def estimate_with_steps(launch: CostedLaunch) -> TimeEstimate:
    """Return a launch's estimated time, with the changes that would save the most of it."""
    now = estimate(launch.counts, launch.machine.gpu)
    if now.estimate_us is None:
        return now
    steps = []
    for cause, change, unit, changed in _changes(launch):
        after = estimate(changed, launch.machine.gpu).estimate_us
        if after is None or after >= now.estimate_us * (1 - RESOLUTION):
            continue
        if cause not in launch.spare or -change <= (launch.spare[cause]() or 0):
            steps.append(TimeStep(cause=cause, change=change, unit=unit, estimate_us=after))
    return replace(now, steps=sorted(steps, key=lambda step: step.estimate_us)[:MOST_STEPS])


def _changes(launch: CostedLaunch) -> Iterator[tuple[Cause, int, str, Counts]]:
    """Yield each cause, by how much it changes, in what unit, and what the launch then asks for."""
    counts = launch.counts
    for step in launch.next_steps:
        if step.resource in _RESOURCES:
            resident = replace(counts, resident=step.blocks_per_sm)
            yield _RESOURCES[step.resource], step.change, step.unit, resident
    if launch.spills:
        moved = launch.moved.without_local()
        kept = replace(launch.code, removed=launch.code.removed | launch.spills)
        fewer = -round(launch.moved.local_bytes)
        yield "spills", fewer, "bytes", count(replace(launch, code=kept, moved=moved))
    if (change := _coalesced(launch)) is not None:
        sectors, moved = change
        copied = {index: each.coalesced() for index, each in launch.code.wavefronts.items()}
        code = replace(launch.code, wavefronts=copied)
        yield "coalescing", sectors, "sectors", count(replace(launch, moved=moved, code=code))
    once = launch.distinct_read_bytes
    if not launch.moved.local_bytes and once < launch.moved.dram_read_bytes:
        fewer = round(once - launch.moved.dram_read_bytes)
        read_once = replace(launch.moved, dram_read_bytes=once)
        yield "rereads", fewer, "bytes", count(replace(launch, moved=read_once))
    taken = launch.code.wavefronts
    spread = {index: each.without_conflicts() for index, each in taken.items()}
    if spread != taken:
        changed = count(replace(launch, code=replace(launch.code, wavefronts=spread)))
        runs = executed(launch.code, launch.followed)
        conflicts = sum(times * taken[n].conflicts for n, times in runs.items() if n in taken)
        yield "bank_conflicts", -round(conflicts), "wavefronts", changed
    sms = launch.machine.gpu.sm_count or 1
    if (even := counts.ctas // sms * sms) and even < counts.ctas:
        more = counts.ctas / even
        cycles, queued = counts.cta_cycles * more, counts.queued_cycles * more
        changed = replace(counts, ctas=even, cta_cycles=cycles, queued_cycles=queued)
        yield "grid", even - counts.ctas, "CTAs", changed


def _coalesced(launch: CostedLaunch) -> tuple[int, Transfers] | None:
    """Return the sectors that go, and what the launch moves without them."""
    moved = launch.moved
    if launch.ideal_sectors is None:
        return None
    loads, stores = launch.ideal_sectors
    loaded, stored = min(moved.load_sectors, loads), min(moved.store_sectors, stores)
    change = round(loaded + stored - moved.load_sectors - moved.store_sectors)
    if change >= 0:
        return None
    return change, replace(
        moved,
        load_sectors=loaded,
        store_sectors=stored,
        missed_sectors=min(moved.missed_sectors, loaded),
        occupied=moved.coalesced,
    )
