"""Vendors' terms, and a report's facts as phrases in them.

A CTA is AMD's workgroup, a warp its wave, shared memory its LDS. AMD's waves are something else
than the waves of a grid, which are therefore rounds there.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from math import prod

from irlens.model.capture import RunResult
from irlens.model.config import Vendor
from irlens.model.inspected import Inspected
from irlens.model.memory import LoopLoad, SharedBuffer, SharedMemory
from irlens.model.report import NextStep, Occupancy, Pipeline, PipelineLoad, Refusal, Report
from irlens.model.text import count, percent, plural, size

#: What gives a time where the GPU is unknown, or its own has not been measured.
_A_GPU = "-t names one, such as -t h100"
_OTHER_GPU = "-t h100 estimates it on another GPU"
_AMD_LIMITS = {"warps": "waves", "blocks": "workgroups", "shared_memory": "LDS"}


def limit_term(name: str, vendor: Vendor | None) -> str:
    """Return what the vendor calls a limit of occupancy ("shared_memory")."""
    known = _AMD_LIMITS if vendor == "amd" else {"shared_memory": "shared memory"}
    return known.get(name, name)


class VendorTerms:
    """A vendor's terms.

    Args:
        vendor: Of the GPU; ``None``, where it is unknown, takes NVIDIA's terms.
        multiprocessor: The hardware that a CTA's warps share: "SM", "CU", "WGP".
    """

    def __init__(self, vendor: Vendor | None, multiprocessor: str = "SM") -> None:
        amd = vendor == "amd"
        self.warp = "wave" if amd else "warp"
        self.granule = "line" if amd else "sector"
        self.block = "workgroup" if amd else "block"
        self.sm = multiprocessor
        self.shared = "LDS" if amd else "Shared"
        self.shared_memory = limit_term("shared_memory", vendor)
        self.cta = "workgroup" if amd else "CTA"
        self.thread = "lane" if amd else "thread"
        #: Memory of a thread's own, for spills and stack arrays.
        self.local = "scratch" if amd else "local memory"
        #: The CTAs of a grid that the GPU holds at once.
        self.wave = "round" if amd else "wave"
        self.tensor_core = "matrix core" if amd else "tensor core"
        #: What accesses memory without requests of warps, in short and in full.
        self.without_requests = (
            ("scalar", "loaded by scalar instructions, once for a wave")
            if amd
            else ("TMA", "copied by the TMA")
        )
        self._vendor = vendor

    def resource(self, name: str) -> str:
        """Return the term of a limit ("shared_memory")."""
        return limit_term(name, self._vendor)

    def unit(self, unit: str) -> str:
        """Return the unit of a ``NextStep`` or a ``Refusal``: "bytes/workgroup"."""
        amount, _, per = unit.replace("CTAs in", f"{self.cta}s in").partition("/")
        if not per:
            return amount
        return f"{amount}/{ {'CTA': self.cta, 'thread': self.thread}.get(per, per) }"

    def ctas(self, number: int) -> str:
        """Return "1 CTA", "2 workgroups"."""
        return plural(number, self.cta)


class Terms(VendorTerms):
    """The terms of one report's vendor, and phrases about the report."""

    def __init__(self, report: Report) -> None:
        super().__init__(
            report.target.vendor if report.target is not None else None,
            report.occupancy.multiprocessor if report.occupancy else "SM",
        )

    def limiters(self, occupancy: Occupancy) -> str:
        """Return what limits occupancy: "registers, shared memory"."""
        return ", ".join(map(self.resource, occupancy.limited_by))

    def step(self, step: NextStep, occupancy: Occupancy) -> str:
        """Return "6 fewer registers/thread: 2 → 3 blocks/SM (37.5 %)"."""
        more_or_fewer = "more" if step.change > 0 else "fewer"
        change = f"{count(abs(step.change))} {more_or_fewer} {self.unit(step.unit)}"
        effect = f"{occupancy.blocks_per_sm} → {plural(step.blocks_per_sm, self.block)}/{self.sm}"
        return f"{change}: {effect} ({percent(step.theoretical)})"

    def refusal(self, refusal: Refusal) -> str:
        """Return "shared memory: 300,000 bytes/CTA requested, 67,552 over the limit of …"."""
        over = refusal.requested - refusal.limit
        return (
            f"{self.resource(refusal.resource)}: {count(refusal.requested)} "
            f"{self.unit(refusal.unit)} requested, {count(over)} over the limit of "
            f"{count(refusal.limit)}"
        )

    def traffic(self, pipeline: Pipeline) -> list[str]:
        """Return what a pipeline moves, as phrases; empty where that is unknown."""
        if pipeline.bytes_per_iteration is None:
            return []
        phrases = []
        if pipeline.copies_per_iteration and pipeline.bytes_per_copy:
            copies = "copy" if pipeline.copies_per_iteration == 1 else "copies"
            phrases.append(
                f"{pipeline.copies_per_iteration} {copies} of {pipeline.bytes_per_copy} B "
                f"per {self.thread}"
            )
        once = f", data shared by {self.thread}s counted once" if pipeline.bytes_repeated else ""
        phrases.append(f"{size(pipeline.bytes_per_iteration)} per {self.cta} and iteration{once}")
        if pipeline.bytes_in_flight:
            flight = f"{size(pipeline.bytes_in_flight)} in flight"
            if pipeline.bytes_in_flight_per_sm is not None:
                flight += f", {size(pipeline.bytes_in_flight_per_sm)} per {self.sm}"
            phrases.append(flight)
        return phrases


def describe_waves(report: Report) -> list[str]:
    """Return how the grid fills the GPU, as phrases; empty where that is unknown.

    A grid of exactly one wave, such as a persistent kernel's, is what each SM holds times the SMs.
    """
    occupancy, grid = report.occupancy, report.config.grid
    if occupancy is None or occupancy.waves is None or occupancy.tail is None:
        return []
    waves = "less than 0.01" if occupancy.waves < 0.01 else f"{occupancy.waves:.2f}"
    wave = "wave" if occupancy.multiprocessor == "SM" else "round"
    if occupancy.waves == 1 and grid is not None:
        terms, held = Terms(report), occupancy.blocks_per_sm
        ctas = prod(grid) * (report.config.num_ctas or 1)
        filled = f"{plural(ctas, terms.cta)} = {plural(ctas // held, terms.sm)} × {held}"
        return [f"{waves} {wave}s", filled]
    return [f"{waves} {wave}s", f"last {wave} {percent(occupancy.tail)} full"]


def describe_depth(pipeline: Pipeline) -> str | None:
    """Return "2 of 4 stages", "up to 4 stages"; ``None`` where the stages are unknown."""
    requested, achieved = pipeline.requested_stages, pipeline.achieved_stages
    at_most = pipeline.stages_at_most
    if achieved is None and at_most is None:
        return None
    depth = f"up to {at_most}" if achieved is None else str(achieved)
    if requested is None:
        return f"{depth} {'stage' if achieved == 1 else 'stages'}"
    return f"{depth} of {plural(requested, 'stage')}"


def depth_in_short(achieved: int | None, at_most: int | None, requested: int | None) -> str:
    """Return "2/4", "2" where nobody asked, "≤3/4" where only a bound is known; "" for nothing."""
    of = "" if requested is None else f"/{requested}"
    if achieved is not None:
        return f"{achieved}{of}"
    return "" if at_most is None else f"≤{at_most}{of}"


def describe_prefetch(pipeline: Pipeline) -> list[str]:
    """Return how far a pipeline runs ahead and who runs it, as phrases, as far as is known."""
    phrases = []
    if pipeline.prefetch_iterations is not None:
        phrases.append(f"{plural(pipeline.prefetch_iterations, 'iteration')} ahead")
    if pipeline.product_line is not None:
        phrases += _describe_groups(pipeline)
    elif pipeline.groups_during_compute is not None:
        groups = plural(pipeline.groups_during_compute, "group")
        phrases.append(f"{groups} in flight during the compute")
    if pipeline.warp_group is not None:
        phrases.append(f"run by {pipeline.warp_group}")
    return phrases


def describe_loads(loads: Iterable[PipelineLoad]) -> str:
    """Return which loads: "2 × 16 B per lane at k.py:14 and 1 B per lane at k.py:15"."""
    times = Counter[tuple[str, int | None]]()
    for load in loads:
        place = str(load.source) if load.source else f"amdgcn:{load.line}"
        times[place, load.bytes_per_lane] += load.instructions
    return " and ".join(
        f"the load at {place}"
        if width is None
        else f"{f'{count(number)} × ' if number > 1 else ''}{width} B per lane at {place}"
        for (place, width), number in times.items()
    )


def describe_distance(load: PipelineLoad) -> str:
    """Return how far a load runs ahead: "1 iteration ahead", "waited for at once"."""
    if load.is_exposed:
        return "waited for at once"
    if load.iterations_ahead is None:
        return "unknown"
    if load.iterations_ahead:
        return f"{plural(load.iterations_ahead, 'iteration')} ahead"
    return "used in its own iteration"


def _describe_groups(pipeline: Pipeline) -> list[str]:
    """Return when a matrix product's groups are awaited: "7 of 8 groups awaited in the next …"."""
    later, groups = pipeline.prefetch_iterations, pipeline.groups_per_iteration
    if later is None or groups is None:
        return []
    near = {0: "in the same iteration", 1: "in the next iteration"}
    when = near.get(later, f"{later} iterations later")
    waiting = pipeline.outstanding_at_end if later == 1 else groups
    some = f"{waiting} of " if waiting is not None and waiting < groups else ""
    last = "last of " if later > 1 and groups > 1 else ""
    phrases = [f"{some}{last}{plural(groups, 'group')} awaited {when}"]
    if pipeline.outstanding_after_wait:
        phrases.append(f"{pipeline.outstanding_after_wait} outstanding after the wait")
    return phrases


def describe_cover(pipeline: Pipeline) -> str:
    """Return what must be in flight to hide memory latency; "" where that is unknown."""
    if not pipeline.bytes_in_flight or pipeline.bytes_to_cover_latency is None:
        return ""
    return f"hiding memory latency takes at least {size(pipeline.bytes_to_cover_latency)}"


def describe_way(load: LoopLoad) -> str:
    """Return how a load gets its data: "3 iterations ahead to shared memory"."""
    if load.state == "in place":
        return "read in place"
    way = "to shared memory" if load.state == "asynchronous" else "through registers"
    ahead = load.iterations_ahead
    return way if ahead is None else f"{plural(ahead, 'iteration')} ahead {way}"


def describe_tile(load: LoopLoad) -> str:
    """Return the tile of a load: "f16[64, 32]", "i32" of a single value."""
    shape = ", ".join(map(str, load.shape))
    return f"{load.element}[{shape}]" if shape else load.element


def describe_run(run: RunResult) -> str:
    """Return whether a launch gave the right result."""
    if run.matches_reference is None:
        return "launched; no reference to compare with"
    return f"{'equals' if run.matches_reference else 'differs from'} its PyTorch reference"


def describe_buffer(buffer: SharedBuffer) -> str:
    """Return "3 × 4,096 B f32[1024] at softmax.py:50"."""
    held = buffer.bytes or 0
    width = re.search(r"\d+", buffer.element)
    dense = prod(buffer.shape) * max(8, int(width[0])) // 8 if width else held
    # AMD pads between copies, but not after the last one.
    alike = buffer.copies > 1 and held <= dense and not held % buffer.copies
    tile = buffer.shape[1:] if alike else buffer.shape
    shape = f"{buffer.element}[{', '.join(map(str, tile))}]"
    if buffer.purpose == "barrier":
        shape = "barriers"
    place = str(buffer.source) if buffer.source else f"ttgir:{buffer.line}"
    if buffer.bytes is None:
        return f"{shape} of unknown size at {place}"
    if alike:
        return f"{buffer.copies} × {size(buffer.bytes // buffer.copies)} {shape} at {place}"
    return f"{size(buffer.bytes)} {shape} at {place}"


def describe_largest(memory: SharedMemory) -> str:
    """Return what takes most of a CTA's shared memory, and where; empty if that is unknown."""
    if (largest := largest_buffer(memory)) is not None:
        return f"its largest buffer is {describe_buffer(largest)}"
    scratch = memory.remainder_bytes or 0
    users = dict.fromkeys(f"{each.operation} at {each.source}" for each in memory.scratch)
    return f"{size(scratch)} of it are scratch of {', '.join(list(users)[:3])}" if users else ""


def largest_buffer(memory: SharedMemory) -> SharedBuffer | None:
    """Return the largest buffer of a CTA's shared memory; ``None`` where scratch takes more."""
    alive = [each for each in memory.buffers if each.at_peak and each.bytes]
    largest = max(alive, key=lambda each: each.bytes or 0, default=None)
    taken = largest.bytes or 0 if largest is not None else 0
    return largest if taken >= (memory.remainder_bytes or 0) else None


def no_time_model(gpu: str, unsourced: Sequence[str] = ()) -> str:
    """Return why a GPU's launches have no estimated time.

    Args:
        unsourced: Figures of it that no public source states.
    """
    if unsourced:
        return f"no public source states the {' and the '.join(unsourced)} of {gpu}"
    return f"how long instructions take on {gpu} is unknown"


def describe_missing_time(report: Inspected) -> str:
    """Return why a report has no time, and what gives it; "" where it has one or cannot launch."""
    time, target, occupancy = report.time, report.target, report.occupancy
    if (time is not None and time.estimate_us) or (occupancy and not occupancy.launchable):
        return ""
    if target is not None and target.vendor != "amd" and target.product is None:
        return f"which GPU it runs on is unknown: {_A_GPU}"
    untimed = report.unknown.get("time", "") or (time.reason if time is not None else "")
    untold = report.unknown.get("traffic", "")  # of a part of the launch, or of all
    uncounted = report.traffic.reason if report.traffic is not None else ""
    if target is not None and target.vendor == "amd":  # no traffic would tell it
        is_other = untimed not in ("", untold, uncounted)
        return f"{untimed if is_other else 'how long instructions take is unknown'}: {_OTHER_GPU}"
    return untold or untimed or uncounted or "this report does not have it"
