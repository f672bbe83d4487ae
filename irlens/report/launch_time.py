"""How long a launch is estimated to take, and what that is estimated from."""

from collections.abc import Callable
from functools import partial
from math import sqrt
from typing import TYPE_CHECKING, cast

import msgspec

from irlens.analyze import spills as spilling
from irlens.analyze.capture_code import SassCode
from irlens.analyze.facts import Provenance
from irlens.analyze.resources import Demand
from irlens.artifacts import npy
from irlens.gpus import Gpu
from irlens.isa import mlir
from irlens.model.config import Config
from irlens.model.errors import ToolError
from irlens.model.estimate import Bound, TimeEstimate
from irlens.model.report import Occupancy
from irlens.model.source import SourceLocation
from irlens.model.terms import no_time_model
from irlens.report.parsed import Parsed, noted

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from irlens.analyze.time.counting import CostedLaunch, Repeated
    from irlens.analyze.time.launched import Arguments
    from irlens.analyze.time.paths import PathFinder
    from irlens.analyze.traffic import Repetition, Survey
    from irlens.model.capture import Stage
    from irlens.model.source import Span

_WARP = 32
_ANY_ORDER = "between neighbouring and random addresses"
_BELOW_FLOOR = "the estimate is below the roofline floor: the machine code was not understood"


class Launched(msgspec.Struct, frozen=True, kw_only=True):
    """A launch, and what it runs on.

    Attributes:
        gpu: The GPU; ``None`` where it is unknown.
        program: The traffic of its first program.
        in_groups: Returns the launch's traffic for waves of a number of CTAs.
        spare_shared_bytes: Returns the shared memory of a CTA's stages beyond the third.
        priced: Whether ``CostedLaunch.of_warps`` is asked for, which is then found at once.
    """

    gpu: Gpu | None
    occupancy: Occupancy | None
    demand: Demand
    launch: "Survey"
    program: "Survey"
    in_groups: "Callable[[int], Survey | None]"
    spare_shared_bytes: "Callable[[], int]"
    priced: bool = False


def find_launch(parsed: Parsed, launched: Launched, provenance: Provenance) -> "CostedLaunch | str":
    """Return a capture's launch as its time is estimated from, or why that is unknown.

    Raises:
        ArtifactError: An artifact is broken.
    """
    gpu, occupancy, usage = launched.gpu, launched.occupancy, launched.demand.usage
    code = parsed.code
    reason = launched.launch.traffic.reason
    if gpu is None or occupancy is None or usage is None:
        reason = reason or "the GPU or the kernel's occupancy is unknown"
    elif gpu.timing is None or gpu.sm_count is None or gpu.peak_flops("fp16", "tensor") is None:
        reason = reason or no_time_model(gpu.name, gpu.unsourced)
    elif not occupancy.launchable:
        reason = reason or "the kernel cannot launch"
    elif code.sass is None:
        reason = reason or "there is no machine code in this capture"
    if reason or gpu is None or occupancy is None or usage is None or code.sass is None:
        return reason
    from irlens.analyze.time.dataflow import UnknownPathError

    listed = code.listed if parsed.sass is None else None
    try:
        return _of_code(
            parsed, listed or code.sass, launched, gpu, occupancy, usage.threads, provenance
        )
    except (UnknownPathError, ToolError) as error:
        return str(error)


def with_steps(launch: "CostedLaunch") -> TimeEstimate:
    """Return the time of a launch with what would change it."""
    from irlens.analyze.time import changes

    return changes.estimate_with_steps(launch)


def share_of_waits(launch: "CostedLaunch") -> float | None:
    """Return the part of a launch's time that goes if no load takes longer than one of the L1.

    Of twelve products on an H200 that wait less than 0.03 of their time so, eleven took at most
    0.023 less with one stage more, and one 0.14; of 26 others and attentions, 21 took less.
    """
    from irlens.analyze.time import counting, estimate

    gpu, latency = launch.machine.gpu, launch.machine.timing.l1
    now = estimate(launch.counts, gpu).estimate_us
    least = estimate(counting.count(launch, latency), gpu).estimate_us
    return None if not now or least is None else 1 - least / now


def without_steps(launch: "CostedLaunch") -> TimeEstimate:
    """Return the time of a launch alone."""
    from irlens.analyze.time import estimate

    return estimate(launch.counts, launch.machine.gpu)


def find_time(
    launch: "CostedLaunch | str",
    gpu: Gpu | None,
    floor_us: float | None,
    provenance: Provenance,
    *,
    estimate: "Callable[[CostedLaunch], TimeEstimate]",
    near: "CostedLaunch | str | None" = None,
    may_return: bool = False,
) -> TimeEstimate:
    """Return the estimated time of a launch.

    Args:
        floor_us: The roofline's floor, in microseconds; ``None`` if unknown.
        near: The launch if the addresses that depend on data are neighbours, where ``launch`` has
            random ones; ``None`` if none do.
        may_return: Whether data decide if programs return early.
    """
    if isinstance(launch, str):
        result = TimeEstimate(reason=launch)
    else:
        result = estimate(launch)
        if near is not None and not isinstance(near, str):
            result = _between(result, estimate(near))
        if may_return and result.low_us is not None and result.estimate_us is not None:
            least = result.parts["launch"] * result.low_us / result.estimate_us
            result = msgspec.structs.replace(result, low_us=min(result.low_us, least))
    if result.estimate_us is not None and result.estimate_us < (floor_us or 0.0):
        result = TimeEstimate(reason=_BELOW_FLOOR)
    if result.estimate_us is None:
        provenance.missing(result.reason, "time")
    else:
        origin = "cubin, the schedule of its instructions on the warps' paths; traffic; rates of "
        provenance.known(f"{origin}{gpu.name if gpu else 'the GPU'}", "time")
    return result


def _between(far: TimeEstimate, near: TimeEstimate) -> TimeEstimate:
    """Return the time of a launch whose addresses are anything from random to neighbours."""
    if None in (far.estimate_us, near.estimate_us):
        return far
    one, other = cast(float, far.estimate_us), cast(float, near.estimate_us)
    ranges = [each for t in (far, near) for each in (t.low_us, t.high_us) if each is not None]
    parts = {unit: sqrt(us * near.parts.get(unit, us)) for unit, us in far.parts.items()}
    largest = cast(Bound, max(parts, key=parts.__getitem__))
    bound = far.bound if far.bound == near.bound else largest
    return msgspec.structs.replace(
        far, estimate_us=sqrt(one * other), low_us=min(ranges), high_us=max(ranges), steps=[],
        parts=parts, bound=bound, reason="; ".join(filter(None, (far.reason, _ANY_ORDER))),
    )  # fmt: skip


def arguments_of(
    source: mlir.Module,
    config: Config,
    contents: "Mapping[str, Stage]",
    grid: tuple[int, int, int],
    threads: int,
) -> "Arguments":
    """Return a launch as its kernel's machine code sees it.

    Args:
        source: The ttir or ttgir, which names the parameters.
        contents: What tensors hold, ``.npy`` files by argument.

    Raises:
        ArtifactError: A file with a tensor's contents is gone or unreadable.
        UnknownPathError: The parameters have no names.
    """
    from irlens.analyze.time.dataflow import UnknownPathError
    from irlens.analyze.time.launched import Arguments

    if source.kernel is None:
        raise UnknownPathError(f"the {source.stage} has no single kernel, or is not understood")
    return Arguments(
        names=tuple(e.name.removeprefix("%") for e in source.kernel.parameters),
        values=config.numbers(),
        grid=grid,
        warps=threads // _WARP,
        contents={name: npy.read(each).tobytes() for name, each in contents.items()},
    )


def _of_code(
    parsed: Parsed,
    machine_code: SassCode,
    launched: Launched,
    gpu: Gpu,
    occupancy: Occupancy,
    threads: int,
    provenance: Provenance,
) -> "CostedLaunch | str":
    from irlens.analyze.mlir_loops import outermost_loops
    from irlens.analyze.time import counting
    from irlens.analyze.time import launched as launches
    from irlens.analyze.time.transfers import Wave, transfers
    from irlens.artifacts import cubin as cubins
    from irlens.isa.sass import units

    capture = parsed.code.capture
    if (ctas := capture.config.num_ctas or 1) > 1:
        return f"clusters of {ctas} CTAs are not timed, only single ones (num_ctas=1)"
    section = noted(machine_code.kernel, "sass", parsed.code, provenance)
    cubin = cubins.read(capture.stages["cubin"].read())
    kernels = [each for each in cubin.kernels if each.name == capture.kernel]
    grid = capture.config.grid
    if section is None or not kernels or parsed.source is None or grid is None:
        return "the cubin holds no kernel of this name"
    flow, fields = machine_code.flow, machine_code.control
    control = [fields[each.line] for each in section.instructions if each.line in fields]
    if len(control) < len(section.instructions):
        return "the cubin's code is not what the disassembler read"
    arguments = arguments_of(parsed.source, capture.config, capture.contents, grid, threads)
    walker = machine_code.once(_reading_path_finder if arguments.contents else _path_finder)
    followed = launches.follow(walker, kernels[0], arguments)
    find = partial(launches.wavefronts_of_warps, walker, kernels[0], arguments, followed[0])
    found = find(warps=launches.all_warps if launched.priced else launches.one_warp)
    wavefronts = launches.mean_of_cta(followed[0], [each[:1] for each in found])
    products = launches.tensor_memory_products(walker, kernels[0], arguments, followed)
    barriers = launches.barrier_uses(walker, kernels[0], arguments, followed)
    code = counting.KernelCode(section, flow, control, wavefronts, products, barriers=barriers)
    if any(units.calls_driver(section.instructions[n]) for n in counting.executed(code, followed)):
        return "it calls a function of the driver, as to print, whose time is not known"
    machine = counting.Placement(gpu=gpu, resident=occupancy.blocks_per_sm)
    resources = launched.demand.resources
    shared = (resources.shared_dynamic_bytes or 0) + (resources.shared_static_bytes or 0)
    local = resources.local_bytes or 0
    stack = spilling.read_sass(section, parsed.ptx) if local else spilling.Stack()
    ctas = grid[0] * grid[1] * grid[2]
    copies = [
        (index, each)
        for index, each in enumerate(section.instructions)
        if each.locations and units.copies(each)
    ]
    copied = {each.locations[0]: True for _, each in copies}
    for index, each in copies:  # of several copies of a place, one without known lines decides
        copied[each.locations[0]] &= index in wavefronts and wavefronts[index].lines > 0
    bypassing = {
        each.locations[0]
        for each in section.instructions
        if each.locations and units.bypasses_l1(each)
    }
    looping = any(one.times > 1 for each in followed[0] for one in each.path.segments)
    loops = outermost_loops(parsed.source)
    moved = transfers(
        launched.launch,
        launched.program,
        Wave(ctas, occupancy.waves or 1.0, machine.abreast(ctas), looping),
        machine.caches(shared),
        loops,
        counting.spilled(code, followed, machine, local * threads, ctas),
        launched.in_groups,
        bypassing,
        copied,
    )
    if isinstance(moved, str):
        return moved
    traffic, footprint = launched.launch.traffic, launched.launch.footprint
    loads, stores = traffic.ideal_load_sectors, traffic.ideal_store_sectors
    costed = counting.CostedLaunch(
        code=code,
        followed=followed,
        moved=moved,
        machine=machine,
        grid=grid,
        ideal_sectors=None if loads is None or stores is None else (loads, stores),
        distinct_read_bytes=footprint.read_bytes if footprint is not None else 0.0,
        next_steps=occupancy.next_step,
        spills=frozenset() if stack.arrays else frozenset(each.index for each in stack.spills),
        spare={
            "registers": partial(_spare_registers, machine_code, resources.registers),
            "shared_memory": launched.spare_shared_bytes,
        },
        repeated=_repeated(launched.program, bypassing, loops, moved.evicted),
        of_warps=lambda: launches.mean_of_cta(
            followed[0], found if launched.priced else find(warps=launches.all_warps)
        ),
    )
    return costed if barriers is None else _followed(costed, walker)


def _followed(costed: "CostedLaunch", walker: "PathFinder") -> "CostedLaunch":
    """Return a launch whose barriers are known, or else without them if no warps need them.

    Raises:
        UnknownPathError: They need them, and how long they wait is not known.
    """
    from irlens.analyze.time.dataflow import UnknownPathError
    from irlens.analyze.time.launched import must_follow_barriers

    try:
        _ = costed.counts  # found once, and kept
    except UnknownPathError:
        if must_follow_barriers(walker):
            raise
        return msgspec.structs.replace(costed, code=costed.code.without_barriers())
    return costed


def _spare_registers(machine_code: SassCode, registers: int | None) -> int | None:
    """Return how many of a thread's registers are never live at once: those ``maxnreg`` can take.

    Of 29 kernels that were compiled again with the cap that admits another CTA, the estimate of the
    four with no more live registers than that came true within 0.06 of the time. Of the others 12
    should have taken less time: 3 did, and two attentions took 1.1 and 6.1 times as long.
    """
    live = machine_code.pressure.peak
    return None if live is None or registers is None else registers - live


def _path_finder(machine_code: SassCode) -> "PathFinder":
    """Return what follows the paths of a kernel: all of its launches share it."""
    from irlens.analyze.time.paths import PathFinder

    assert machine_code.kernel is not None
    return PathFinder(machine_code.kernel, machine_code.flow)


def _reading_path_finder(machine_code: SassCode) -> "PathFinder":
    """Return the same for launches that come with the contents of tensors."""
    from irlens.analyze.time.paths import PathFinder
    from irlens.isa.sass.semantics import TENSOR_LOADS

    assert machine_code.kernel is not None
    return PathFinder(machine_code.kernel, machine_code.flow, TENSOR_LOADS)


def _repeated(
    program: "Survey",
    bypassing: "Collection[SourceLocation]",
    loops: "Sequence[Span]",
    evicted: float,
) -> "dict[SourceLocation, Repeated]":
    """Return how far the loads of a CTA find their data in the L1, by their places.

    Args:
        loops: Lines of the ttir's outermost loops.
        evicted: Part of what another loop has loaded that the L1 has no more.
    """
    from irlens.analyze.time.counting import Repeated
    from irlens.analyze.time.transfers import loop_around

    at: dict[SourceLocation, list[Repetition]] = {}
    loaded: dict[str, set[int]] = {}
    for access, known in zip(program.traffic.accesses, program.repeated, strict=False):
        loop = loop_around(loops, access.line)
        elsewhere = loaded.setdefault(access.argument, set()) - {loop}
        loaded[access.argument].add(loop)
        source = access.source
        if source is not None and source not in bypassing and access.direction != "store":
            again = evicted * (known.distinct - known.new) if elsewhere else 0.0
            at.setdefault(source, []).append(known._replace(new=known.new + again))
    return {source: Repeated.of(accesses) for source, accesses in at.items()}
