"""What is known about one capture, each part computed on demand; all of them are its report."""

from collections.abc import Callable
from functools import cached_property, partial
from typing import TYPE_CHECKING

import msgspec

from irlens import rules
from irlens.analyze import shared_memory, ttgir_loads, work
from irlens.analyze.capture_code import CaptureCode
from irlens.analyze.facts import Facts, Moved, Provenance
from irlens.analyze.occupancy import all_curves, next_steps
from irlens.analyze.pipelines import warp_specialization
from irlens.analyze.pipelines.warp_specialization import Specialization
from irlens.analyze.pipelines.wgmma import find_serialized
from irlens.analyze.request_runs import Runs
from irlens.analyze.resources import Demand, find_gpu, find_occupancy, read_demand, with_grid
from irlens.analyze.spills import Stack
from irlens.analyze.tensor_memory import with_tensor_memory
from irlens.artifacts.compile_options import is_known_release
from irlens.figures import Figure
from irlens.gpus import Gpu
from irlens.isa.dialect import instruction_mix
from irlens.model.capture import BINARY_STAGES, STAGE_ORDER, Capture, Disassembly, RunResult, Stage
from irlens.model.comparison import Value
from irlens.model.config import Config, Target
from irlens.model.conversions import Conversion, SharedAccesses
from irlens.model.errors import OutOfWorkError
from irlens.model.estimate import TimeEstimate
from irlens.model.memory import LoopLoad, SharedMemory
from irlens.model.pressure import Pressure
from irlens.model.report import (
    SCHEMA,
    Finding,
    InstructionMix,
    Occupancy,
    Pipeline,
    Report,
    StageSize,
)
from irlens.model.resources import LocalArray, Resources, SpillSite, WarpGroup
from irlens.model.traffic import MatrixProduct, Roofline, Traffic
from irlens.report.agreement import Agreement, find_agreement
from irlens.report.assembly_figures import (
    find_local_arrays,
    find_loop_pipelines,
    find_pressure,
    find_spills,
    read_stack,
    with_bytes_per_sm,
)
from irlens.report.launch_figures import Machine, find_roofline, find_traffic, survey
from irlens.report.launch_time import (
    Launched,
    find_launch,
    find_time,
    share_of_waits,
    with_steps,
    without_steps,
)
from irlens.report.missing_facts import missing_facts
from irlens.report.parsed import (
    NO_ASSEMBLY,
    NO_TTGIR,
    Parsed,
    parse,
    with_machine_code,
)
from irlens.report.shared_costs import find_priced
from irlens.rules import out_of_bounds

if TYPE_CHECKING:
    from irlens.analyze.time.counting import CostedLaunch
    from irlens.analyze.time.shared_costs import SharedCosts
    from irlens.analyze.traffic import Survey, Updates
    from irlens.analyze.traffic.launch import Numbers


class _Fit(msgspec.Struct, frozen=True):
    """What the metadata and the binary say, without what would change it."""

    resources: Resources
    occupancy: Occupancy | None


class Inspection:
    """What can be known about a capture, each part computed when it is first read.

    Its attributes are those of ``Report``, with the same values: a figure read from it costs what
    that figure needs. Registers and occupancy need the metadata and the binary alone. Where an
    artifact is broken, a part that needs it raises ``ArtifactError``.

    Args:
        subject: Any capture, however little it holds, or its code, if more is asked of that.
    """

    #: Whether a report has all parts.
    _shows_all = True
    #: Whether all parts are going to be read.
    _is_whole = False

    def __init__(
        self, subject: Capture | CaptureCode, disassembly: Disassembly = Disassembly.SKIP
    ) -> None:
        self._code = subject if isinstance(subject, CaptureCode) else CaptureCode(subject)
        self._given = self._code.capture
        self._disassembly = disassembly
        self._provenance = Provenance()

    @cached_property
    def _agreement(self) -> Agreement:
        return find_agreement(self._code, self._provenance)

    @property
    def _as_loaded(self) -> Capture:
        return self._agreement.capture

    @property
    def kernel(self) -> str:
        """The kernel's name."""
        return self._given.kernel

    @property
    def target(self) -> Target | None:
        """The GPU it was compiled for."""
        return self._as_loaded.target

    @property
    def config(self) -> Config:
        """Compile and launch parameters, with the grid that follows from the occupancy."""
        return self._capture.config

    @property
    def run(self) -> RunResult | None:
        """The launch on a real GPU."""
        return self._as_loaded.manifest.run if self._as_loaded.manifest else None

    @cached_property
    def _gpu(self) -> Gpu | None:
        return find_gpu(self.target, self._as_loaded.metadata, self._provenance)

    @cached_property
    def _complete(self) -> Capture:
        """The capture, with a cubin of its ptx where it has no machine code."""
        if "cubin" in self._given.stages:  # put aside, perhaps
            return self._as_loaded
        return with_machine_code(self._as_loaded, self._provenance)

    @cached_property
    def _demand(self) -> Demand:
        code = self._code.with_capture(self._complete)
        return read_demand(code, self._gpu, self._provenance)

    @cached_property
    def _capture(self) -> Capture:
        return with_grid(self._complete, self._gpu, self._demand)

    @cached_property
    def _parsed(self) -> Parsed:
        code = self._code.with_capture(self._capture)
        return parse(code, self._provenance, self._disassembly)

    def values(self, figure: Figure) -> tuple[Value, ...]:
        """Return ``figure.read_each`` of the report, and compute no more than the figure needs.

        Raises:
            ArtifactError: An artifact that it needs is broken.
        """
        return (figure.read(self._fit),) if figure.of_binary else figure.read_each(self)

    @cached_property
    def _fit(self) -> "_Fit":
        return _Fit(
            resources=self._demand.resources,
            occupancy=find_occupancy(self._capture, self._gpu, self._demand, Provenance()),
        )

    @cached_property
    def triton_version(self) -> str | None:
        """The compiler's version."""
        version = self._as_loaded.triton_version
        if version is None:
            reason = "Triton's metadata is not in this capture, or too old to say"
            self._provenance.missing(reason, "triton_version")
        return version

    @cached_property
    def stages(self) -> dict[str, StageSize]:
        """Sizes of the artifacts."""
        for note in self._given.notes:
            self._provenance.known(note, "stages")
        stages = self._given.stages.values()
        ordered = sorted(stages, key=lambda stage: STAGE_ORDER.index(stage.name))
        return {stage.name: _stage_size(stage) for stage in ordered}

    @cached_property
    def resources(self) -> Resources:
        """Registers and memories."""
        parsed, metadata = self._parsed, self._capture.metadata
        return with_tensor_memory(
            self._demand.resources, metadata.tmem_size if metadata is not None else None,
            parsed.ptx, parsed.flows.get("ptx"), self._gpu, self._provenance,
        )  # fmt: skip

    @cached_property
    def occupancy(self) -> Occupancy | None:
        """Theoretical occupancy."""
        known, gpu, usage = self._occupancy, self._gpu, self._demand.usage
        if known is None or gpu is None or usage is None:
            return known
        return msgspec.structs.replace(known, curves=all_curves(gpu.arch, usage))

    @cached_property
    def _occupancy(self) -> Occupancy | None:
        """The occupancy without its curves."""
        fitted = find_occupancy(self._capture, self._gpu, self._demand, self._provenance)
        gpu, usage = self._gpu, self._demand.usage
        if fitted is None or gpu is None or usage is None:
            return fitted
        steps = next_steps(gpu.arch, usage, fitted.blocks_per_sm)
        return msgspec.structs.replace(fitted, next_step=steps)

    @cached_property
    def loads(self) -> list[LoopLoad]:
        """Reads of global memory in the loops of the ttgir."""
        ttgir = self._parsed.ttgir
        if ttgir is None:
            self._provenance.missing(NO_TTGIR, "loads")
        elif ttgir_loads.lacks_locations(ttgir):
            self._provenance.missing("the ttgir does not say which lines its loads are of", "loads")
            return []
        return list(ttgir_loads.find(ttgir, self._capture.config.num_stages)) if ttgir else []

    @cached_property
    def _specialization(self) -> Specialization | None:
        parsed, provenance = self._parsed, self._provenance
        if parsed.ptx is None:
            if parsed.amdgcn is None:
                reason = provenance.unknown.get("pipelines", NO_ASSEMBLY)
                provenance.missing(reason, "warp_groups")
            elif parsed.ttgir is not None and warp_specialization.is_specialized(parsed.ttgir):
                provenance.missing(warp_specialization.NO_PTX, "warp_groups")
            return None
        specialization = warp_specialization.find(parsed.ptx, parsed.flows["ptx"], parsed.ttgir)
        if specialization is not None and specialization.reason:
            provenance.missing(specialization.reason, "warp_groups")
        elif specialization is not None:
            provenance.known("ttgir, ttg.warp_specialize; ptx, setmaxnreg", "warp_groups")
        return specialization

    @property
    def warp_groups(self) -> list[WarpGroup]:
        """Groups of warps that run different parts of the kernel."""
        return list(self._specialization.groups) if self._specialization is not None else []

    @cached_property
    def _serialized(self) -> bool | None:
        ptx, cubin = self._parsed.ptx, self._capture.stages.get("cubin")
        return find_serialized(ptx, cubin, self.kernel) if ptx is not None else None

    @cached_property
    def pipelines(self) -> list[Pipeline]:
        """One record per loop and mechanism."""
        try:
            with work.budget():
                found = find_loop_pipelines(
                    self._parsed, self._demand, tuple(self.loads), self._serialized,
                    self._specialization, self._provenance,
                )  # fmt: skip
        except OutOfWorkError as error:
            self._provenance.missing(error.message, "pipelines")
            return []
        return [with_bytes_per_sm(pipeline, self._gpu, self._occupancy) for pipeline in found]

    @cached_property
    def pressure(self) -> Pressure:
        """Register pressure by stage."""
        return find_pressure(self._parsed, self._provenance)

    @cached_property
    def _stack(self) -> Stack | None:
        return read_stack(self._parsed, self._demand)

    @cached_property
    def spills(self) -> list[SpillSite] | None:
        """Instructions that spill or reload registers."""
        return find_spills(self._parsed, self._demand, self._stack, self._provenance)

    @cached_property
    def local_arrays(self) -> list[LocalArray]:
        """Arrays in local memory."""
        return find_local_arrays(self._parsed, self._demand, self._stack)

    @cached_property
    def memory(self) -> SharedMemory | None:
        """Use of dynamic shared memory."""
        ttgir, metadata = self._parsed.ttgir, self._capture.metadata
        if ttgir is None:
            self._provenance.missing(NO_TTGIR, "memory")
            return None
        self._provenance.known("ttgir, ttg.local_alloc and their live ranges", "memory")
        return shared_memory.explain(ttgir, metadata.shared if metadata is not None else None)

    @cached_property
    def _machine(self) -> Machine:
        return Machine(parsed=self._parsed, gpu=self._gpu, occupancy=self._occupancy)

    @cached_property
    def _survey(self) -> "Survey | None":
        return find_traffic(self._machine, self._provenance)

    @cached_property
    def products(self) -> list[MatrixProduct]:
        """Matrix products, and the types that they are computed in."""
        found = self._machine.products
        return [found[index] for index in sorted(found)]

    @property
    def traffic(self) -> Traffic | None:
        """Traffic of global memory."""
        return self._survey.traffic if self._survey is not None else None

    @property
    def runs(self) -> tuple[Runs | None, ...]:
        """The runs of bytes of each access of the traffic, in its order."""
        return self._survey.runs if self._survey is not None else ()

    @cached_property
    def _launched(self) -> Launched | None:
        return self._surveyed("random")

    def _surveyed(self, numbers: "Numbers") -> Launched | None:
        launch = self._survey
        assuming = launch is not None and bool(launch.traffic.reason)
        assumed = partial(survey, self._machine, numbers=numbers if assuming else None)
        if launch is not None and work.EXCEEDED in launch.traffic.reason:
            return None
        if assuming:  # a time may rest on what a count of bytes must not
            launch = assumed()
        program = launch and assumed(first=1)
        if launch is None or program is None or 0 in (self._capture.config.grid or ()):
            return None  # "traffic" has the reason, or nothing runs
        return Launched(
            gpu=self._gpu, occupancy=self._occupancy, demand=self._demand, launch=launch,
            program=program,
            in_groups=lambda ctas: assumed(wave=ctas),
            spare_shared_bytes=lambda: max((e.spare_bytes for e in self.pipelines), default=0),
            priced=self._is_whole and numbers == "random",
        )  # fmt: skip

    @cached_property
    def launch(self) -> "CostedLaunch | str":
        """What the time of the launch is estimated from, or why that is unknown."""
        if self._launched is None:
            return self._provenance.unknown.get("traffic", "")
        return find_launch(self._parsed, self._launched, self._provenance)

    @cached_property
    def time(self) -> TimeEstimate | None:
        """Estimated time of the launch."""
        return self._find_time(with_steps)

    @cached_property
    def time_alone(self) -> TimeEstimate | None:
        """The estimated time without what would change it."""
        return self._find_time(without_steps)

    def _find_time(self, estimate: "Callable[[CostedLaunch], TimeEstimate]") -> TimeEstimate | None:
        if self._launched is None:
            return None
        floor = self.roofline.floor_us if self.roofline else None
        near = None
        if self._launched.launch.scattered and (ascending := self._surveyed("ascending")):
            near = find_launch(self._parsed, ascending, self._provenance)
        may_return = self._launched.launch.may_return
        return find_time(
            self.launch,
            self._gpu,
            floor,
            self._provenance,
            near=near,
            may_return=may_return,
            estimate=estimate,
        )

    @property
    def unknown(self) -> dict[str, str]:
        """Why figures are unknown, of those that were read."""
        return self._provenance.unknown

    @property
    def why_untimed(self) -> str:
        """Why the estimated time is unknown."""
        unknown = self._provenance.unknown
        return unknown.get("time") or unknown.get("traffic", "")

    @cached_property
    def _shared_costs(self) -> "SharedCosts | str":
        if isinstance(self.launch, str):
            return self.launch
        from irlens.analyze.time.shared_costs import SharedCosts

        return SharedCosts(self.launch)

    @cached_property
    def conversions(self) -> list[Conversion]:
        """Conversions between layouts, the most expensive first."""
        ttgir = self._parsed.ttgir
        if ttgir is None:
            self._provenance.missing(NO_TTGIR, "conversions")
            return []
        costs = self._shared_costs
        return find_priced(ttgir, costs, self._gpu, self.config, self._provenance)

    @cached_property
    def shared_accesses(self) -> list[SharedAccesses]:
        """The accesses of each line to shared memory, the most expensive first."""
        costs = self._shared_costs
        return [] if isinstance(costs, str) else costs.by_line()

    @cached_property
    def roofline(self) -> Roofline | None:
        """Lower bounds of the launch's time."""
        return find_roofline(self.traffic, self._gpu, self._provenance, self.products)

    @cached_property
    def mix(self) -> list[InstructionMix]:
        """Instruction mix."""
        parsed = self._parsed
        if parsed.ptx is not None:
            return [instruction_mix(parsed.ptx, parsed.functions_left_out)]
        return [instruction_mix(parsed.amdgcn)] if parsed.amdgcn is not None else []

    @cached_property
    def findings(self) -> list[Finding]:
        """Findings, most severe first."""
        missing = missing_facts(self.facts, self._provenance.unknown)
        for code, reason in rules.not_looked_for(self.facts, missing).items():
            self._provenance.missing(reason, f"findings.{code}")
        return rules.run(self.facts)

    def findings_of(self, code: str) -> list[Finding]:
        """Return the findings of one rule.

        The programs of the launch are evaluated only if the rule looks at what they move: hints do
        not ask whether the launch waits for its loads.
        """
        return rules.run(msgspec.structs.replace(self.facts, share_of_waits=lambda: None), code)

    @property
    def accesses_outside(self) -> list[Finding]:
        """Accesses outside of their tensor, found without what other rules look at."""
        traffic = self.traffic
        if traffic is None or not any(each.out_of_bounds for each in traffic.accesses):
            return []
        facts = Facts(
            gpu=self._gpu,
            config=self._capture.config,
            resources=self._demand.resources,
            ttir=self._parsed.source,
            evaluate_launch=lambda: Moved(traffic),
        )
        return rules.run(facts, out_of_bounds.CODE)

    @cached_property
    def facts(self) -> Facts:
        """What the rules look at."""
        parsed, usage = self._parsed, self._demand.usage
        return Facts(
            gpu=self._gpu,
            config=self._capture.config,
            resources=self.resources,
            occupancy=self._occupancy,
            pipelines=self.pipelines,
            threads=usage.threads if usage else None,
            usage=usage,
            warp_groups=tuple(self.warp_groups),
            ttir=parsed.source,
            ttgir=parsed.ttgir,
            loads=tuple(self.loads),
            ptx=parsed.ptx,
            amdgcn=parsed.amdgcn,
            spills=self.spills,
            spare_registers=self._spare_registers,
            share_of_waits=self._share_of_waits,
            evaluate_launch=lambda: Moved(self.traffic, self.runs, self.roofline),
            find_data_updates=self._find_data_updates,
            serialized=self._serialized,
            contradictions=self._agreement.contradictions,
            products=tuple(self.products),
            contents=self._capture.contents,
        )

    def _find_data_updates(self) -> "tuple[tuple[Updates, Updates], ...]":
        launch = self._launched.launch if self._launched is not None else None
        if launch is None or not launch.scattered or not launch.updates:
            return ()
        equal = survey(self._machine, numbers="equal")
        met = {(each.line, each.argument): each for each in equal.updates} if equal else {}
        pairs = ((each, met.get((each.line, each.argument), each)) for each in launch.updates)
        return tuple(pair for pair in pairs if pair[0] != pair[1])

    def _share_of_waits(self) -> float | None:
        return None if isinstance(self.launch, str) else share_of_waits(self.launch)

    def _spare_registers(self) -> int | None:
        launch = self.launch
        if not isinstance(launch, str):
            return launch.spare["registers"]()
        allocated, sass = self._demand.resources.registers, self.pressure.sass
        if sass is None or sass.peak is None or allocated is None:
            return None
        return allocated - sass.peak

    @cached_property
    def code(self) -> dict[str, str]:
        """Text of the lines of Python that the report mentions, as far as they are kept."""
        locations = [
            *(pipeline.source for pipeline in self.pipelines),
            *(pipeline.product_source for pipeline in self.pipelines),
            *(load.source for load in self.loads),
            *(finding.source for finding in self.findings),
            *(line.source for _, stage in self.pressure.stages() for line in stage.lines),
            *(each.source for each in (self.traffic.accesses if self.traffic else [])),
        ]
        named = sorted({each for each in locations if each is not None})
        for file in dict.fromkeys(each.file for each in named):
            if self._capture.refuses_python(file):
                reason = f"python/{file} leads out of the capture and is not read"
                self._provenance.missing(reason, "code")
        lines = {str(each): self._capture.python_line(each) for each in named}
        return {place: line for place, line in lines.items() if line is not None}

    def report(self) -> Report:
        """Return all of it.

        Raises:
            ArtifactError: An artifact is broken.
            ToolError: Disassembly is requested, and the disassembler is missing or failed.
        """
        self._is_whole = self._shows_all
        self._note_options()
        parts = {
            name: getattr(self, name)
            for name in Report.__struct_fields__
            if name not in ("schema", "sources", "unknown")
        }
        return Report(
            schema=SCHEMA,
            sources=self._provenance.sources,
            unknown=self._provenance.unknown,
            **parts,
        )

    def _note_options(self) -> None:
        """Note whether the compile options are known, and whether they are all that were chosen."""
        capture = self._capture
        version = capture.metadata.triton_version if capture.metadata else None
        if capture.config.options is None:
            reason = "Triton's metadata is not in this capture"
        elif capture.manifest is not None and capture.manifest.options is not None:
            return  # the compiler itself stated its defaults
        elif is_known_release(version):
            return
        else:
            reason = (
                f"the defaults of Triton {version} are not known to this irlens"
                if version
                else "Triton's metadata is too old to say which version's defaults it has"
            )
        self._provenance.missing(reason, "config.options")


class Brief(Inspection):
    """What lists and comparisons show of a capture; the parts that they do not show are empty.

    These are what would change the estimated time, what conversions and accesses to shared memory
    cost, and the curves of the occupancy: a fifth of the time of a report.
    """

    _shows_all = False

    @cached_property
    def occupancy(self) -> Occupancy | None:
        """Theoretical occupancy, without its curves."""
        return self._occupancy

    @cached_property
    def time(self) -> TimeEstimate | None:
        """Estimated time of the launch, without what would change it."""
        return self.time_alone

    @cached_property
    def conversions(self) -> list[Conversion]:
        """No conversions between layouts."""
        return []

    @cached_property
    def shared_accesses(self) -> list[SharedAccesses]:
        """No accesses to shared memory."""
        return []


def _stage_size(stage: Stage) -> StageSize:
    content = stage.read()
    lines = None if stage.name in BINARY_STAGES else len(content.splitlines())
    return StageSize(lines=lines, bytes=len(content), sha256=stage.sha256)
