"""A grid of configurations, compiled and looked at, as records.

``None`` is always "unknown" or "does not apply".
"""

from typing import Literal, TypeAlias

import msgspec

from irlens.model.config import ConstexprValue, Target
from irlens.model.report import Finding, LimitName, PipelineKind, Verdict

SWEEP_SCHEMA = 1

#: What became of a configuration, best first. "unknown": it compiled, but an input of occupancy
#: is missing. "failed": it does not compile. "died": its worker process did, twice.
Outcome: TypeAlias = Literal["fits", "unknown", "does not fit", "failed", "died"]
OUTCOMES: tuple[Outcome, ...] = ("fits", "unknown", "does not fit", "failed", "died")


class Depth(msgspec.Struct, frozen=True, kw_only=True):
    """How deep the pipeline of a loop is.

    Attributes:
        place: The ``for`` in the user's Python, "file:line", or the loop's label.
        kind: Its mechanism; ``None`` for a loop without one.
        requested: Stages asked for.
        achieved: Stages found.
        verdict: The reading of both.
    """

    place: str
    kind: PipelineKind | None
    requested: int | None
    achieved: int | None
    verdict: Verdict


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """What a sweep tells of a compiled configuration. Filters and sort keys use these names.

    Attributes:
        occupancy: Theoretical occupancy, 0..1; 0 where it cannot launch.
        blocks_per_sm: CTAs resident per SM (AMD: workgroups per CU).
        registers: 32-bit registers per thread.
        local_bytes: Local memory per thread: spills and stack arrays.
        shared_bytes: Shared memory per CTA, dynamic and static, without what the system takes.
        stages_achieved: Stages of the shallowest loop that copies or loads, 1 where it is not
            pipelined; those of the tensor cores' own pipeline do not count. ``None`` too where
            one loop's are not known.
        stages_at_most: Where that depends on how far warps run apart at run time, as many as there
            can be; else ``None``.
        stages_requested: What that loop asked for.
        bytes_in_flight_per_sm: Bytes under way during the compute, of the loop that has fewest.
        live_registers: 32-bit registers live at the worst place, in ptx or amdgcn.
        instructions: Static instructions in ptx or amdgcn.
        code_bytes: Machine code.
    """

    occupancy: float | None
    blocks_per_sm: int | None
    registers: int | None
    local_bytes: int | None
    shared_bytes: int | None
    stages_achieved: int | None
    stages_at_most: int | None = None
    stages_requested: int | None
    bytes_in_flight_per_sm: int | None
    live_registers: int | None
    instructions: int | None
    code_bytes: int | None


class Timing(msgspec.Struct, frozen=True, kw_only=True):
    """How long the kernel took, in milliseconds, over many launches with a cold L2 cache.

    Attributes:
        median_ms: Half of the launches were faster.
        fast_ms: A fifth was faster.
        slow_ms: A fifth was slower.
    """

    median_ms: float
    fast_ms: float
    slow_ms: float


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """One configuration on one target.

    Attributes:
        label: What sets it apart from the other configurations: "num_warps=4 BLOCK=64".
        target: What it was compiled for.
        triton: Where several Tritons were asked for, which it is: its version, or the
            interpreter that was named where that does not tell it from the others.
        settings: Every constexpr and compile option that was chosen for it, by an option of the
            command line or by the kernel's autotuner.
        args: Arguments and sizes that were chosen for it.
        outcome: What became of it.
        reason: Why it does not fit, or where it failed; empty where it fits.
        hint: What to do about it, or the line that is meant; empty where nothing is known.
        figures: What the compiler made of it; ``None`` where it made nothing.
        limited_by: The resources that allow the fewest CTAs per SM.
        pipelines: Every loop's.
        findings: Most severe first.
        triton_version: The compiler's version.
        timing: How long it took, if that was measured.
    """

    label: str
    target: Target
    settings: dict[str, ConstexprValue]
    args: dict[str, ConstexprValue]
    outcome: Outcome
    reason: str = ""
    hint: str = ""
    figures: Figures | None = None
    limited_by: list[LimitName] = []
    pipelines: list[Depth] = []
    findings: list[Finding] = []
    triton_version: str | None = None
    triton: str | None = None
    timing: Timing | None = None


class Correlation(msgspec.Struct, frozen=True, kw_only=True):
    """How well a static figure alone predicts the order of the measured times.

    Attributes:
        figure: A field of ``Figures``.
        trials: Configurations for which both are known.
        rho: Spearman's rank correlation with the median time, -1..1: near 1 the larger the
            slower, near -1 the larger the faster. ``None`` where the figure or the time is the
            same everywhere, or fewer than three are known.
    """

    figure: str
    trials: int
    rho: float | None


class Sweep(msgspec.Struct, frozen=True, kw_only=True):
    """Every configuration of a grid.

    Attributes:
        schema: Version of this interface.
        kernel: The kernel function's name.
        targets: In the order they were asked for.
        where: Constraints that a configuration had to meet to be compiled at all.
        filters: Constraints that a result had to meet to be among the trials.
        trials: By target in the order of ``targets``, then in the order asked for: without one,
            what fits first, then the fastest, the least local memory, the highest occupancy, the
            deepest pipeline, the fewest registers.
        excluded: Configurations that ``where`` left out.
        filtered: Results that ``filters`` left out.
        device: The GPU that times were measured on.
        correlations: Of each figure with the measured times, the strongest first.
    """

    schema: int
    kernel: str
    targets: list[Target]
    where: list[str]
    filters: list[str]
    trials: list[Trial]
    excluded: int
    filtered: int
    device: str | None = None
    correlations: list[Correlation] = []

    def on(self, target: Target) -> list[Trial]:
        """Return the trials of one target."""
        return [trial for trial in self.trials if trial.target == target]
