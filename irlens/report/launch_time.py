"""How long a launch is estimated to take."""

from typing import TYPE_CHECKING

import msgspec

from irlens.analyze.facts import Provenance
from irlens.analyze.resources import Demand
from irlens.gpus import Gpu
from irlens.model.capture import Capture
from irlens.model.errors import ToolError
from irlens.model.estimate import TimeEstimate
from irlens.model.report import Occupancy
from irlens.report.parsed import Parsed, machine_code

if TYPE_CHECKING:
    from irlens.analyze.traffic import Survey

_WARP = 32
_BELOW_FLOOR = "the estimate is below the roofline floor: the machine code was not understood"


class Launched(msgspec.Struct, frozen=True, kw_only=True):
    """A launch, and what it runs on.

    Attributes:
        gpu: The GPU; ``None`` where it is unknown.
        occupancy: The kernel's occupancy there.
        demand: What a CTA uses.
        launch: The launch's traffic.
        program: The traffic of its first program.
        floor_us: The roofline's floor, in microseconds; ``None`` if unknown.
    """

    gpu: Gpu | None
    occupancy: Occupancy | None
    demand: Demand
    launch: "Survey"
    program: "Survey"
    floor_us: float | None


def find_time(
    capture: Capture, parsed: Parsed, launched: Launched, provenance: Provenance
) -> TimeEstimate:
    """Return the estimated time of a capture's launch.

    Args:
        capture: Its configuration has the launch.
        parsed: Its stages.
        launched: The launch, and what it runs on.
        provenance: Receives the origin under "time", or why it is unknown.

    Raises:
        ArtifactError: An artifact is broken.
    """
    result = _estimated(capture, parsed, launched, provenance)
    if result.estimate_us is not None and result.estimate_us < (launched.floor_us or 0.0):
        result = TimeEstimate(reason=_BELOW_FLOOR)
    if result.estimate_us is None:
        provenance.missing(result.reason, "time")
    else:
        origin = "cubin, the schedule of its instructions on the warps' paths; traffic; rates of "
        provenance.known(f"{origin}{launched.gpu.name if launched.gpu else 'the GPU'}", "time")
    return result


def _estimated(
    capture: Capture, parsed: Parsed, launched: Launched, provenance: Provenance
) -> TimeEstimate:
    gpu, occupancy, usage = launched.gpu, launched.occupancy, launched.demand.usage
    reason = launched.launch.traffic.reason
    if gpu is None or occupancy is None or usage is None:
        reason = reason or "the GPU or the kernel's occupancy is unknown"
    elif gpu.timing is None or gpu.sm_count is None or gpu.peak_flops("fp16", tensor=True) is None:
        reason = reason or f"how long instructions take on {gpu.name} is unknown"
    elif not occupancy.launchable:
        reason = reason or "the kernel cannot launch"
    elif "cubin" not in capture.stages:
        reason = reason or "there is no machine code in this capture"
    if reason or gpu is None or occupancy is None or usage is None:
        return TimeEstimate(reason=reason)
    from irlens.analyze.time.paths import UnknownPathError

    try:
        return _of_code(capture, parsed, launched, gpu, occupancy, usage.threads, provenance)
    except (UnknownPathError, ToolError) as error:
        return TimeEstimate(reason=str(error))


def _of_code(
    capture: Capture,
    parsed: Parsed,
    launched: Launched,
    gpu: Gpu,
    occupancy: Occupancy,
    threads: int,
    provenance: Provenance,
) -> TimeEstimate:
    from irlens.analyze import sass_cfg
    from irlens.analyze.time import changes, counting, paths
    from irlens.analyze.time import launched as launches
    from irlens.analyze.time.transfers import Wave, transfers
    from irlens.analyze.traffic.evaluation import public_function
    from irlens.artifacts import cubin as cubins
    from irlens.isa.sass.control import decode_all

    cubin = capture.stages["cubin"].read()
    section = machine_code(capture, parsed, provenance)
    kernels = [each for each in cubins.read(cubin).kernels if each.name == capture.kernel]
    grid = capture.config.grid
    if section is None or not kernels or parsed.ttir is None or grid is None:
        return TimeEstimate(reason="the cubin holds no kernel of this name")
    flow = sass_cfg.build(section)
    control = decode_all(cubins.code_sections(cubin).get(section.name, b""))
    if len(control) < len(section.instructions):
        return TimeEstimate(reason="the cubin's code is not what the disassembler read")
    parameters = public_function(parsed.ttir).regions[0].blocks[0].arguments
    arguments = launches.Arguments(
        names=tuple(each.name.removeprefix("%") for each in parameters),
        values={n: v for n, v in capture.config.args.items() if not isinstance(v, str)},
        grid=grid,
        warps=threads // _WARP,
    )
    walker = paths.Machine(section, flow)
    followed = launches.follow(walker, kernels[0], arguments)
    wavefronts = launches.wavefronts(walker, kernels[0], arguments, followed[0])
    code = counting.Code(section, flow, control, wavefronts)
    machine = counting.Machine(gpu=gpu, resident=occupancy.blocks_per_sm)
    resources = launched.demand.resources
    shared = (resources.shared_dynamic_bytes or 0) + (resources.shared_static_bytes or 0)
    local = resources.local_bytes or 0
    ctas = grid[0] * grid[1] * grid[2]
    looping = any(one.times > 1 for each in followed[0] for one in each.path.segments)
    moved = transfers(
        launched.launch,
        launched.program,
        Wave(ctas, occupancy.waves or 1.0, looping),
        machine.caches(shared),
        counting.spilled(code, followed, machine, local * threads),
    )
    if isinstance(moved, str):
        return TimeEstimate(reason=moved)
    traffic, footprint = launched.launch.traffic, launched.launch.footprint
    loads, stores = traffic.ideal_load_sectors, traffic.ideal_store_sectors
    launch = changes.Launch(
        code=code,
        followed=followed,
        moved=moved,
        machine=machine,
        ctas=ctas,
        ideal_sectors=None if loads is None or stores is None else (loads, stores),
        distinct_read_bytes=footprint.read_bytes if footprint is not None else 0.0,
        next_steps=occupancy.next_step,
    )
    return changes.estimate_with_steps(launch)
