"""The report: the JSON interface, as records. ``None`` is always "unknown" or "does not apply".

Every ``None`` that a reader could have expected to be a number has its reason in
``Report.unknown`` under its dotted path, and every exact number has its origin in
``Report.sources``.
"""

from typing import Annotated, Literal, TypeAlias

import msgspec

from irlens.model.capture import RunResult
from irlens.model.config import Config, Target
from irlens.model.curve import OccupancyCurve
from irlens.model.memory import LoopLoad, SharedMemory
from irlens.model.pressure import Pressure
from irlens.model.resources import Resources
from irlens.model.source import SourceLocation
from irlens.model.spills import SpillSite
from irlens.model.warp_groups import WarpGroup

SCHEMA = 1

PipelineKind: TypeAlias = Literal[
    "cp.async", "tma", "wgmma", "tcgen05", "register", "direct-to-lds"
]
#: The mechanisms that overlap matrix products; the others overlap copies.
COMPUTE_KINDS: frozenset[PipelineKind] = frozenset({"wgmma", "tcgen05"})
Verdict: TypeAlias = Literal["pipelined", "shallower", "not pipelined", "unknown"]
Severity: TypeAlias = Literal["error", "warning", "note"]
#: The most severe first.
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")
Multiprocessor: TypeAlias = Literal["SM", "CU", "WGP"]
LimitName: TypeAlias = Literal["warps", "blocks", "registers", "shared_memory", "barriers"]
#: A part of a whole. A saved report is read back, whoever wrote it.
Ratio: TypeAlias = Annotated[float, msgspec.Meta(ge=0, le=1)]


class StageSize(msgspec.Struct, frozen=True):
    """Size of one artifact: lines (``None`` for a binary), bytes, and its SHA-256 in hex."""

    lines: int | None
    bytes: int
    sha256: str


class OccupancyLimits(msgspec.Struct, frozen=True, kw_only=True):
    """CTAs per SM (AMD: workgroups per CU) that each resource alone would allow.

    ``None``: the kernel uses none of it, or the GPU has no such limit.
    """

    warps: int | None
    blocks: int | None
    registers: int | None
    shared_memory: int | None
    barriers: int | None


class NextStep(msgspec.Struct, frozen=True, kw_only=True):
    """The smallest change of one resource that changes how many CTAs fit.

    Attributes:
        resource: What to change.
        change: By how much; negative is fewer.
        unit: Of ``change``: "registers/thread", "bytes/CTA", "barriers/CTA".
        blocks_per_sm: CTAs per SM after it.
        theoretical: Occupancy after it, 0..1.
    """

    resource: LimitName
    change: int
    unit: str
    blocks_per_sm: int
    theoretical: Ratio


class Refusal(msgspec.Struct, frozen=True, kw_only=True):
    """A limit of one CTA that the kernel exceeds, so that it cannot launch.

    Attributes:
        resource: What there is too much of.
        requested: How much the kernel wants.
        limit: How much one CTA may have.
        unit: Of both: "bytes/CTA", "registers/thread", "registers/CTA", "threads/CTA",
            "barriers/CTA".
    """

    resource: str
    requested: int
    limit: int
    unit: str


class Occupancy(msgspec.Struct, frozen=True, kw_only=True):
    """Theoretical occupancy. For AMD a block is a workgroup and a warp a wave.

    Attributes:
        multiprocessor: What "SM" means here: "SM", "CU", or "WGP" where the workgroups of an
            RDNA kernel share a work-group processor of two CUs.
        blocks_per_sm: CTAs resident per SM; 0 if the kernel cannot launch.
        active_warps: Warps resident per SM.
        max_warps: Warps an SM can hold.
        theoretical: ``active_warps / max_warps``, 0..1.
        launchable: Whether one CTA fits at all.
        limits: CTAs per SM that each resource would allow.
        limited_by: The resources whose limit is the smallest.
        next_step: Smallest change of each resource that would admit one more CTA (or the first).
        refusals: Why it cannot launch; empty if it can.
        waves: Grid size over what the GPU holds at once, if grid and SM count are known.
        tail: Part of the last wave that is filled, 0..1 (1 is a full last wave).
        curves: CTAs per SM if the kernel had more or less of one resource: registers, shared
            memory.
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


class Pipeline(msgspec.Struct, frozen=True, kw_only=True):
    """Software pipelining of one loop, as found in the machine-level IR.

    Attributes:
        stage: Where it was read: "ptx" or "amdgcn".
        loop: The loop's name there: the label of its header.
        line: 1-based line of the header in that stage.
        source: The ``for`` in the user's Python, if the debug information leads there.
        kind: Mechanism.
        requested_stages: What the loop or the kernel asked for.
        achieved_stages: ``prefetch_iterations + 1``.
        prefetch_iterations: Iterations between a group's commit and the first use of its data;
            the wait that retires it stands in the using iteration, or at the end of the one
            before where the loop reads ahead.
        groups_before_loop: Commit groups outstanding on entry to the loop.
        groups_per_iteration: Groups committed per iteration.
        outstanding_at_wait: Groups outstanding just before the wait, in the steady state.
        outstanding_after_wait: Groups still in flight after it.
        groups_during_compute: Groups in flight while the released data is computed with: those
            after the wait, unless the loop reads ahead.
        copies_per_iteration: Asynchronous copy instructions per thread and iteration; of kind
            "register" the loads that run ahead.
        bytes_per_copy: Width of one such copy, bytes; ``None`` if they differ.
        bytes_per_iteration: Bytes that one thread's instructions copy per iteration, times the
            CTA's threads that run the loop, less ``bytes_repeated``; of kind "tma" what the
            barriers are told to expect. AMD's scalar loads are left out.
        bytes_repeated: What threads that share data, by the layout, would copy beyond the first of
            them; ``None`` where that is not known.
        bytes_in_flight: Bytes per CTA still in flight during the compute; of plain loads only
            machine code tells, and the ptx does not: ptxas may issue those of several iterations
            together.
        bytes_in_flight_per_sm: The same for all CTAs that an SM holds.
        bytes_to_cover_latency: What each SM must have in flight, at the least, to keep this GPU's
            memory busy: bandwidth times latency over the number of SMs.
        warp_group: The warps that run the loop, by their name in ``Report.warp_groups``; ``None``
            where all warps of a CTA do, or it is not known.
        stages_at_most: Where other warps wait for the copies than those that issue them, how far
            apart they are is up to the warps at run time: the barriers of the ring that they share
            are as many stages as there can be.
        verdict: The reading of all this.
        reason: Why, in one sentence; empty where the verdict needs none.
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
    verdict: Verdict
    reason: str

    @property
    def place(self) -> str:
        """The line of Python where the loop is, or else the stage's."""
        return str(self.source) if self.source else f"{self.stage}:{self.line}"


class InstructionMix(msgspec.Struct, frozen=True, kw_only=True):
    """Static instruction counts of one stage, by class. Classes with no instruction are absent.

    Attributes:
        stage: "ptx" or "amdgcn".
        total: Instructions in the kernel, each counted once however often it runs.
        classes: Count by class name.
        unknown: Opcodes that no class knows, with their counts; they are part of ``total``.
    """

    stage: str
    total: int
    classes: dict[str, int]
    unknown: dict[str, int]


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """Something worth the author's attention.

    Attributes:
        code: "IRL" and three digits.
        severity: "error", "warning" or "note".
        message: One sentence: what is the case.
        hint: One sentence: what to do.
        stage: Where it was seen.
        line: 1-based line there.
        source: The line of Python it belongs to.
    """

    code: str
    severity: Severity
    message: str
    hint: str
    stage: str | None
    line: int | None
    source: SourceLocation | None


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """Everything irlens knows about one capture.

    Attributes:
        schema: Version of this interface.
        kernel: The kernel's name.
        target: What it was compiled for; ``None`` where no artifact says.
        triton_version: The compiler's version.
        config: Compile and launch parameters.
        stages: Sizes of the artifacts, in the compiler's order.
        resources: Registers and memories.
        occupancy: Theoretical occupancy; ``None`` where an input is unknown.
        warp_groups: What the warps do that run parts of the kernel of their own, the default ones
            first; empty where all warps do the same, or it is not known.
        pipelines: One record per loop and mechanism.
        loads: Reads of global memory in the loops of the ttgir.
        memory: Where the dynamic shared memory goes; ``None`` without a ttgir.
        pressure: Live registers, by stage.
        spills: Accesses of the machine code to spilled registers, and to stack arrays where there
            are any; ``None`` where the machine code was not read.
        mix: Instruction mix, one record per stage.
        findings: Most severe first.
        run: The launch on a real GPU, if there was one.
        code: The lines of Python that the report speaks of, by "file:line", where the capture
            holds the source.
        sources: Where a figure was read, by its dotted path.
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
    memory: SharedMemory | None
    pressure: Pressure
    spills: list[SpillSite] | None
    mix: list[InstructionMix]
    findings: list[Finding]
    run: RunResult | None
    code: dict[str, str]
    sources: dict[str, str]
    unknown: dict[str, str]
