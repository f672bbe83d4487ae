"""The records of a report: the JSON interface. ``None`` is always "unknown" or "does not apply".

``Report.unknown`` has the reason for every ``None`` where a reader expects a number, and
``Report.sources`` the origin of every exact number, both by dotted path.
"""

from math import ceil
from typing import Annotated, Literal, TypeAlias

import msgspec

from irlens.model.capture import RunResult
from irlens.model.config import Config, Target
from irlens.model.conversions import Conversion, SharedAccesses
from irlens.model.estimate import Cause, TimeEstimate
from irlens.model.memory import LoopLoad, SharedMemory
from irlens.model.pressure import Pressure
from irlens.model.resources import LocalArray, Resources, SpillSite, WarpGroup
from irlens.model.source import SourceLocation
from irlens.model.traffic import MatrixProduct, Roofline, Traffic

SCHEMA = 1

PipelineKind: TypeAlias = Literal[
    "cp.async", "tma", "wgmma", "tcgen05", "register", "direct-to-lds"
]
#: The mechanisms of the tensor cores: a record is one product, issued in the iteration it belongs
#: to. The others bring data for a later iteration.
COMPUTE_KINDS: frozenset[PipelineKind] = frozenset({"wgmma", "tcgen05"})
Verdict: TypeAlias = Literal["pipelined", "shallower", "not pipelined", "unknown"]
Severity: TypeAlias = Literal["error", "warning", "note"]
#: The most severe first.
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")
Multiprocessor: TypeAlias = Literal["SM", "CU", "WGP"]
LimitName: TypeAlias = Literal["warps", "blocks", "registers", "shared_memory", "barriers"]
CurveName: TypeAlias = Literal["registers", "shared_memory"]
#: The resources that a kernel can have more or less of and stay the same kernel.
CURVES: tuple[CurveName, ...] = ("registers", "shared_memory")
#: A part of a whole, validated: anybody may have written a saved report.
Ratio: TypeAlias = Annotated[float, msgspec.Meta(ge=0, le=1)]


class StageSize(msgspec.Struct, frozen=True):
    """Size of one artifact: lines (``None`` for a binary), bytes, and its SHA-256 in hex."""

    lines: int | None
    bytes: int
    sha256: str


class OccupancyLimits(msgspec.Struct, frozen=True, kw_only=True):
    """CTAs per SM (AMD: workgroups per CU) that each resource alone allows.

    ``None``: the kernel does not use the resource, or the GPU does not limit it.
    """

    warps: int | None
    blocks: int | None
    registers: int | None
    shared_memory: int | None
    barriers: int | None


class NextStep(msgspec.Struct, frozen=True, kw_only=True):
    """The smallest change of one resource that changes how many CTAs fit.

    Attributes:
        resource: The resource to change.
        change: The change; negative is fewer.
        unit: Unit of ``change``: "registers/thread", "bytes/CTA", "barriers/CTA".
        blocks_per_sm: CTAs per SM after the change.
        theoretical: Occupancy after the change, 0..1.
    """

    resource: LimitName
    change: int
    unit: str
    blocks_per_sm: int
    theoretical: Ratio


class Refusal(msgspec.Struct, frozen=True, kw_only=True):
    """A limit that one CTA, or the grid, exceeds, so that the kernel cannot launch.

    Attributes:
        resource: The exceeded resource, or "grid".
        requested: The amount that the kernel requests.
        limit: The amount that one CTA, or the grid, may have.
        unit: Unit of both: "bytes/CTA", "registers/thread", "registers/CTA", "threads/CTA",
            "barriers/CTA", "CTAs in y".
    """

    resource: str
    requested: int
    limit: int
    unit: str


class OccupancyCurve(msgspec.Struct, frozen=True, kw_only=True):
    """CTAs per SM over the amount of one resource, all others as the kernel has them.

    Attributes:
        resource: The resource that varies.
        unit: Unit of the amounts, as in ``NextStep``: "registers/thread" or "bytes/CTA".
        at: The amount that the kernel uses.
        steps: Amounts from which on another number of CTAs fits, with that number; ascending,
            starting with the least amount that a kernel can use.
        last: The largest amount of the curve: the limit of one CTA, or ``at`` where that is more.
    """

    resource: CurveName
    unit: str
    at: int
    steps: Annotated[list[tuple[int, int]], msgspec.Meta(min_length=1)]
    last: int


class Occupancy(msgspec.Struct, frozen=True, kw_only=True):
    """Theoretical occupancy. For AMD a block is a workgroup and a warp a wave.

    Attributes:
        multiprocessor: What "SM" refers to: "SM", "CU", or "WGP" where the workgroups of an RDNA
            kernel share a work-group processor of two CUs.
        blocks_per_sm: CTAs resident per SM; 0 if the kernel cannot launch.
        active_warps: Warps resident per SM.
        max_warps: Warps an SM can hold.
        theoretical: ``active_warps / max_warps``, 0..1.
        launchable: Whether one CTA fits at all, and the grid is none that the GPU refuses.
        limits: CTAs per SM that each resource alone allows.
        limited_by: The resources with the smallest limit.
        next_step: Smallest change of each resource that admits one more CTA (or the first).
        refusals: Why it cannot launch; empty if it can.
        waves: CTAs of the grid over the CTAs that the GPU holds at once; ``None`` where the grid
            or the SM count is unknown.
        tail: Part of the last wave that is filled, 0..1 (1 is a full last wave).
        curves: CTAs per SM over the amount of registers and of shared memory.
    """

    multiprocessor: Multiprocessor
    blocks_per_sm: int
    active_warps: int
    max_warps: int
    theoretical: Ratio
    launchable: bool
    limits: OccupancyLimits
    limited_by: list[LimitName]
    next_step: list[NextStep]
    refusals: list[Refusal]
    waves: float | None = None
    tail: Ratio | None = None
    curves: list[OccupancyCurve] = []

    @property
    def ctas_abreast(self) -> int:
        """CTAs that an SM runs at once: those that fit, or fewer where the launch has fewer."""
        if self.waves is None or self.waves >= 1:
            return self.blocks_per_sm
        return max(1, ceil(round(self.waves * self.blocks_per_sm, 6)))

    @property
    def why_refused(self) -> str:
        """Why it cannot launch, by the resources; empty if it can."""
        if self.launchable:
            return ""
        if self.blocks_per_sm and self.refusals:  # of the grid
            first = self.refusals[0]
            return f"the grid has {first.requested:,} {first.unit}, the GPU takes {first.limit:,}"
        exceeded = ", ".join(each.replace("_", " ") for each in self.limited_by)
        return f"a CTA exceeds the GPU's {exceeded}"


class PipelineLoad(msgspec.Struct, frozen=True, kw_only=True):
    """Load instructions of a loop that stand at one place and run equally far ahead: AMD only.

    Attributes:
        line: 1-based line of the first one in the pipeline's stage.
        wait_line: 1-based line of the wait that retires it; ``None`` if unknown.
        source: Their line of Python.
        instructions: How many there are in the loop's body.
        bytes_per_lane: Width of each, bytes; ``None`` if unknown.
        iterations_ahead: Iterations that memory has to answer: to the wait or to the first use of
            the data, whichever comes first; ``None`` if unknown.
        computes_before_wait: Whether the loop computes between their issue and the wait that
            retires them. If not, every iteration waits for all of memory's latency.
        verdict: The verdict on them.
    """

    line: int
    wait_line: int | None
    source: SourceLocation | None
    instructions: int
    bytes_per_lane: int | None
    iterations_ahead: int | None
    computes_before_wait: bool | None
    verdict: Verdict

    @property
    def is_exposed(self) -> bool:
        """Whether the loop waits for them at once."""
        return self.computes_before_wait is False


class Pipeline(msgspec.Struct, frozen=True, kw_only=True):
    """Software pipelining of one loop, found in the machine-level IR.

    Attributes:
        stage: The stage it was found in: "ptx" or "amdgcn".
        loop: The label of the loop's header in that stage.
        line: 1-based line of the header.
        source: The ``for`` in the user's Python, if the debug information leads there.
        kind: Mechanism.
        requested_stages: Stages that the loop or the kernel requests.
        achieved_stages: ``prefetch_iterations + 1``.
        prefetch_iterations: Iterations between a group's commit and the first use of its data;
            the wait that retires it is in the using iteration, or at the end of the previous one
            where the loop reads ahead. For a matrix product, iterations between its issue and the
            wait that retires the last of its groups. AMD: of the load that runs least far ahead,
            apart from loads that their own iteration uses after other computation.
        groups_before_loop: Commit groups outstanding on entry to the loop; of a matrix product,
            its own.
        groups_per_iteration: Groups committed per iteration; of a matrix product, its own.
        outstanding_at_wait: Groups outstanding just before the wait, in the steady state.
        outstanding_after_wait: Groups still in flight after it.
        groups_during_compute: Groups in flight during the compute on the released data: those
            after the wait, unless the loop reads ahead. Where the compute is an asynchronous
            matrix product, the most at once while one runs.
        copies_per_iteration: Asynchronous copy instructions per thread and iteration; for kind
            "register" of PTX, the loads that run ahead; of AMD, all vector loads.
        bytes_per_copy: Width of one such copy, bytes; ``None`` if they differ.
        bytes_per_iteration: Bytes that one thread copies per iteration, times the CTA's threads
            that run the loop, less ``bytes_repeated``; for kind "tma", the bytes that the barriers
            expect. AMD's scalar loads are excluded.
        bytes_repeated: Bytes that threads sharing data, by the layout, copy beyond the first of
            them; ``None`` where unknown.
        bytes_in_flight: Bytes per CTA still in flight during the compute. For plain loads only
            machine code shows it, not ptx: ptxas may issue the loads of several iterations
            together.
        bytes_in_flight_per_sm: The same for all CTAs that an SM holds, as far as the launch has as
            many (``Occupancy.ctas_abreast``).
        bytes_to_cover_latency: Bytes that each SM needs in flight to keep this GPU's memory busy:
            bandwidth times latency over the number of SMs.
        warp_group: Name in ``Report.warp_groups`` of the warps that run the loop; ``None`` where
            all warps of a CTA do, or it is unknown.
        stages_at_most: Upper bound of the stages where some warps issue the copies and others
            wait for them. Their distance is decided at run time; the barriers of the ring that
            they share bound it.
        kept_iterations: Iterations that loaded data then waits for its first use, in registers or
            LDS, beyond ``prefetch_iterations``: AMD only, a lower bound; ``None`` for none.
        product_line: For a matrix product, 1-based line of its first instruction in the loop.
        product_source: For a matrix product, its line of Python.
        outstanding_at_end: For a matrix product, its groups outstanding at the end of an
            iteration: those that a later iteration waits for.
        loads: The loop's loads one by one, AMD only; empty where they could not be followed.
        verdict: The verdict on all this. Where the loads differ, that of the worst one.
        reason: Why, in one sentence; empty where the verdict needs no reason.
    """

    stage: str
    loop: str
    line: int
    source: SourceLocation | None
    kind: PipelineKind | None
    requested_stages: int | None
    achieved_stages: int | None
    prefetch_iterations: int | None
    groups_before_loop: int | None
    groups_per_iteration: int | None
    outstanding_at_wait: int | None
    outstanding_after_wait: int | None
    groups_during_compute: int | None
    copies_per_iteration: int | None
    bytes_per_copy: int | None
    bytes_per_iteration: int | None
    bytes_in_flight: int | None
    bytes_in_flight_per_sm: int | None = None
    bytes_to_cover_latency: int | None = None
    bytes_repeated: int | None = None
    warp_group: str | None = None
    stages_at_most: int | None = None
    kept_iterations: int | None = None
    product_line: int | None = None
    product_source: SourceLocation | None = None
    outstanding_at_end: int | None = None
    loads: tuple[PipelineLoad, ...] = ()
    verdict: Verdict
    reason: str

    @property
    def place(self) -> str:
        """Place of the loop: its line of Python, or else its line in the stage."""
        return str(self.source) if self.source else f"{self.stage}:{self.line}"

    @property
    def holds_stages(self) -> bool:
        """Whether data of several iterations are held, so that fewer stages need less for them."""
        copies = self.kind is not None and self.kind not in COMPUTE_KINDS
        return copies and self.achieved_stages != 1

    @property
    def spare_bytes(self) -> int:
        """Shared memory of the stages beyond the third: three keep copies in flight."""
        if self.kind not in ("cp.async", "tma", "direct-to-lds"):
            return 0
        return max(0, (self.achieved_stages or 0) - 3) * (self.bytes_per_iteration or 0)

    @property
    def product(self) -> str:
        """Place of the matrix product, like ``place``; empty for every other record."""
        if self.product_line is None:
            return ""
        known = self.product_source
        return str(known) if known else f"{self.stage}:{self.product_line}"


def blank_pipeline(
    *,
    stage: str,
    loop: str,
    line: int,
    source: SourceLocation | None,
    kind: PipelineKind | None,
    requested: int | None,
    reason: str,
) -> Pipeline:
    """Return the record of a loop whose figures are unknown."""
    return Pipeline(
        stage=stage,
        loop=loop,
        line=line,
        source=source,
        kind=kind,
        requested_stages=requested,
        achieved_stages=None,
        prefetch_iterations=None,
        groups_before_loop=None,
        groups_per_iteration=None,
        outstanding_at_wait=None,
        outstanding_after_wait=None,
        groups_during_compute=None,
        copies_per_iteration=None,
        bytes_per_copy=None,
        bytes_per_iteration=None,
        bytes_in_flight=None,
        verdict="unknown",
        reason=reason,
    )


class InstructionMix(msgspec.Struct, frozen=True, kw_only=True):
    """Static instruction counts of one stage by class; classes without instructions are absent.

    Attributes:
        stage: "ptx" or "amdgcn".
        total: Instructions in the kernel, each counted once.
        classes: Count by class.
        unknown: Count by opcode of instructions outside all classes; included in ``total``.
        functions_left_out: Functions of the module with a body of their own (".func"), which the
            kernel may call, and whose instructions are not counted.
    """

    stage: str
    total: int
    classes: dict[str, int]
    unknown: dict[str, int]
    functions_left_out: int = 0


class Blame(msgspec.Struct, frozen=True, kw_only=True):
    """What a finding blames, as far as its rule knows it.

    Attributes:
        reason: The cause, in the words of the message.
        kind: The rule's name for the kind of cause; empty if it has a single one.
        arguments: The kernel's arguments that are blamed.
        dimension: The dimension of the tile that is blamed; ``None`` if none is.
        suffices: The number of warps, stages or elements that would do; ``None`` if none is known.
    """

    reason: str
    kind: str = ""
    arguments: list[str] = []
    dimension: int | None = None
    suffices: int | None = None


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """Something worth the author's attention.

    Attributes:
        code: "IRL" and three digits.
        severity: "error", "warning" or "note".
        message: What was found, in one sentence.
        hint: What to do, in one sentence.
        stage: The stage it was found in.
        line: 1-based line there.
        source: The line of Python it belongs to.
        cause: What would go with it, as in ``time.steps``, which has what that saves; ``None``
            where no estimate tries it.
        blame: What it blames; ``None`` where the rule does not say.
    """

    code: str
    severity: Severity
    message: str
    hint: str
    stage: str | None
    line: int | None
    source: SourceLocation | None
    cause: Cause | None = None
    blame: Blame | None = None


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """Documentation of one kind of finding.

    Attributes:
        code: "IRL201".
        name: "pipeline-shallower".
        severity: Severity of its findings.
        summary: What it finds, in one sentence.
        documentation: The full documentation, in Markdown.
    """

    code: str
    name: str
    severity: Severity
    summary: str
    documentation: str


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """All facts about one capture.

    Attributes:
        schema: Version of this interface.
        kernel: The kernel's name.
        target: The GPU it was compiled for; ``None`` where no artifact says.
        triton_version: The compiler's version.
        config: Compile and launch parameters.
        stages: Sizes of the artifacts, in the compiler's order.
        resources: Registers and memories.
        occupancy: Theoretical occupancy; ``None`` where an input is unknown.
        warp_groups: Groups of warps that run different parts of the kernel, the default group
            first; empty where all warps run the same, or it is unknown.
        pipelines: One record per loop and mechanism; of matrix products, one for each.
        loads: Reads of global memory in the loops of the ttgir.
        products: Matrix products, and the types that they are computed in.
        memory: Use of dynamic shared memory; ``None`` without a ttgir.
        traffic: Traffic of global memory; ``None`` where the launch's arguments or its grid are
            not known, or there is neither ttir nor ttgir.
        roofline: Lower bounds of the launch's time; ``None`` where the traffic is or the GPU is
            unknown.
        time: Estimated time of the launch; ``None`` where the traffic is.
        conversions: Conversions between layouts in the ttgir, the most expensive first.
        shared_accesses: Accesses to shared memory and shuffles by line, the most expensive first;
            empty where the time is unknown.
        pressure: Register pressure by stage.
        spills: Instructions that spill registers or reload them; ``None`` where the machine code
            was not read, or they cannot be told from accesses to arrays.
        local_arrays: Arrays in local memory.
        mix: Instruction mix, one record per stage.
        findings: Most severe first.
        run: The launch on a real GPU, if there was one.
        code: Text of the lines of Python that the report mentions, by "file:line", where the
            capture holds the source.
        sources: Origin of a figure, by its dotted path.
        unknown: Why a figure is missing, by its dotted path.
    """

    schema: int
    kernel: str
    target: Target | None
    triton_version: str | None
    config: Config
    stages: dict[str, StageSize]
    resources: Resources
    occupancy: Occupancy | None
    warp_groups: list[WarpGroup] = []
    pipelines: list[Pipeline]
    loads: list[LoopLoad]
    products: list[MatrixProduct] = []
    memory: SharedMemory | None
    traffic: Traffic | None = None
    roofline: Roofline | None = None
    time: TimeEstimate | None = None
    conversions: list[Conversion] = []
    shared_accesses: list[SharedAccesses] = []
    pressure: Pressure
    spills: list[SpillSite] | None
    local_arrays: list[LocalArray] = []
    mix: list[InstructionMix]
    findings: list[Finding]
    run: RunResult | None
    code: dict[str, str]
    sources: dict[str, str]
    unknown: dict[str, str]

    def exposes(self, load: LoopLoad) -> bool:
        """Whether the machine code waits at once for a load, however far ahead the ttgir has it."""
        return load.source is not None and any(
            each.is_exposed and each.source == load.source
            for pipeline in self.pipelines
            for each in pipeline.loads
        )
