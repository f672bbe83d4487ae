"""The records of a sweep: a grid of configurations, compiled and inspected.

``None`` is always "unknown" or "does not apply".
"""

from typing import Literal, TypeAlias

import msgspec

from irlens.model.capture import Timing
from irlens.model.config import ConstexprValue, Target
from irlens.model.errors import IrlensError
from irlens.model.estimate import Bound, Standing
from irlens.model.report import Finding, LimitName, PipelineKind, Verdict

SWEEP_SCHEMA = 1

#: The outcome of a configuration, best first. "unknown": it compiles, but an input of occupancy
#: is missing. "failed": it does not compile. "died": its worker process crashed twice. "timed out":
#: it exceeded --timeout.
Outcome: TypeAlias = Literal["fits", "unknown", "does not fit", "failed", "died", "timed out"]
OUTCOMES: tuple[Outcome, ...] = (
    "fits", "unknown", "does not fit", "failed", "died", "timed out",
)  # fmt: skip
#: An implementation to compare a kernel with: its PyTorch reference, that one compiled by
#: ``torch.compile``, and the naive form that its description names.
ProviderName: TypeAlias = Literal["eager", "compile", "naive"]
PROVIDERS: tuple[ProviderName, ...] = ("eager", "compile", "naive")
#: Value of a figure; the names are those of ``irlens.figures.SWEEP_FIGURES``.
FigureValue: TypeAlias = int | float | None


class Depth(msgspec.Struct, frozen=True, kw_only=True):
    """Depth of a loop's pipeline.

    Attributes:
        place: The ``for`` in the user's Python, "file:line", or the loop's label.
        kind: Its mechanism; ``None`` for a loop without one.
        requested: Requested stages.
        achieved: Achieved stages.
        verdict: Verdict on both.
    """

    place: str
    kind: PipelineKind | None
    requested: int | None
    achieved: int | None
    verdict: Verdict


class Rate(msgspec.Struct, frozen=True, kw_only=True):
    """What an implementation achieves, of the bytes and operations that the kernel needs.

    Attributes:
        gb_per_s: The kernel's distinct bytes over the time, in 10^9 bytes per second.
        tflop_per_s: The kernel's floating-point operations over the time, in 10^12 per second.
        roofline_share: The kernel's roofline floor over the time.
    """

    gb_per_s: float | None = None
    tflop_per_s: float | None = None
    roofline_share: float | None = None


class ProviderTime(msgspec.Struct, frozen=True, kw_only=True):
    """Run time of another implementation on the kernel's inputs.

    Attributes:
        name: The implementation.
        timing: Its run time, measured like the kernel's; ``None`` if unknown.
        rate: What it achieves.
        reason: Why it has no time; empty where it has one.
    """

    name: ProviderName
    timing: Timing | None = None
    rate: Rate | None = None
    reason: str = ""


class Measurement(msgspec.Struct, frozen=True, kw_only=True):
    """What is measured of one configuration.

    Attributes:
        timing: The kernel's run time.
        max_abs_error: Largest absolute difference of its outputs from the reference's, which is
            within the tolerance; ``None`` without a reference, or if it is not finite.
        against: Other implementations.
    """

    timing: Timing
    max_abs_error: float | None = None
    against: list[ProviderTime] = []


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of one configuration; see ``Trial`` for the fields."""

    outcome: Outcome
    reason: str = ""
    hint: str = ""
    figures: dict[str, FigureValue] | None = None
    limited_by: list[LimitName] = []
    pipelines: list[Depth] = []
    findings: list[Finding] = []
    bound: Bound | None = None
    compute_type: str = ""
    compute_flops: int | None = None
    untimed: str = ""


def from_error(error: IrlensError) -> Result:
    """Return the result of a configuration that cannot be compiled or read."""
    return Result(outcome="failed", reason=error.message, hint=error.hint or "")


class Trial(Result, frozen=True, kw_only=True):
    """One configuration on one target.

    Attributes:
        label: The settings that tell it apart from the others: "num_warps=4 BLOCK=64".
        target: The GPU it was compiled for.
        triton: Its Triton, where the sweep has several: the version, or the interpreter as the
            user names it where two have the same version.
        settings: Constexprs and compile options chosen by the command line or by the kernel's
            autotuner.
        args: Arguments and sizes chosen for it.
        outcome: Its outcome.
        reason: Why it does not fit, or how it failed; empty where it fits.
        hint: What to do about it, or the offending line; empty where nothing is known.
        figures: Its figures by name; ``None`` where it did not compile.
        limited_by: The resources that allow the fewest CTAs per SM.
        pipelines: The pipeline of every loop.
        findings: Most severe first.
        triton_version: The compiler's version.
        timing: Its run time, if measured.
        rate: What it achieves, if measured.
        max_abs_error: Largest absolute difference of its outputs from the reference's, if measured.
        against: Other implementations, if measured.
        bound: What binds its estimated time; ``None`` where that is unknown.
        compute_type: The operations that make its compute floor: "fp16 tensor"; empty where that
            is unknown.
        compute_flops: How many these are; ``None`` if unknown.
        untimed: Why its estimated time is unknown; empty where it is known, or it does not fit.
        standing: How its time stands among those of the same problem; ``None`` before they are
            compared.
        variant: How Triton specializes its arguments, where sizes of a sweep differ in that:
            "n divisible by 16".
        fixed: Settings that say what is computed and not how, see ``Config.fixed``.
    """

    label: str
    target: Target
    settings: dict[str, ConstexprValue]
    args: dict[str, ConstexprValue]
    triton_version: str | None = None
    triton: str | None = None
    timing: Timing | None = None
    rate: Rate | None = None
    max_abs_error: float | None = None
    against: list[ProviderTime] = []
    standing: Standing | None = None
    variant: str = ""
    fixed: tuple[str, ...] = ()

    def figure(self, name: str) -> FigureValue:
        """Return a figure by name; ``None`` if unknown."""
        return None if self.figures is None else self.figures.get(name)

    def value(self, name: str) -> int | None:
        """Return a size or an argument that is a whole number; ``None`` if it is none."""
        value = self.args.get(name)
        if isinstance(value, str) and value.isascii() and value.isdigit():
            return int(value)
        return value if isinstance(value, int) and not isinstance(value, bool) else None


class Correlation(msgspec.Struct, frozen=True, kw_only=True):
    """Rank correlation of a static figure with the measured times.

    Attributes:
        figure: Name of the figure.
        trials: Number of configurations for which both are known.
        rho: Spearman's rank correlation with the median time, -1..1: near 1 larger is slower,
            near -1 larger is faster. ``None`` where all values of the figure or the time are
            equal, or fewer than three are known.
    """

    figure: str
    trials: int
    rho: float | None


class SampledSizes(msgspec.Struct, frozen=True, kw_only=True):
    """Sizes of which some are evaluated, where the time bends.

    Attributes:
        first: The smallest.
        last: The largest.
        number: How many sizes there are to choose from.
        multiple_of: What divides all of them where others of the range are left out; 1 where none
            is.
    """

    first: int
    last: int
    number: int
    multiple_of: int = 1


class Sweep(msgspec.Struct, frozen=True, kw_only=True):
    """Every configuration of a grid.

    Attributes:
        schema: Version of this interface.
        kernel: The kernel function's name.
        targets: In the requested order.
        where: Constraints that decide which configurations are compiled.
        filters: Constraints that decide which results are among the trials.
        trials: By target in the order of ``targets``; configurations that fit first, then by the
            requested sort keys. By default the fastest first, by the measured time where there is
            one and else by the estimated time; without times, the least local memory, the highest
            occupancy, the deepest pipeline, the fewest registers.
        excluded: Number of configurations that ``where`` excludes.
        filtered: Number of results that ``filters`` removes.
        device: The GPU that the trials were timed on.
        correlations: Of each figure with the measured times, strongest first; none over several
            sizes.
        axis: The size or argument that varies, if all other arguments follow from it. Trials that
            fit are then in its order first.
        ranked_by: The figure that ranks the trials, where one was asked for.
        sorted_by: The sort keys that were asked for; a minus sorts the largest first.
        outranked: Configurations that fit and rank below the requested number, best first.
        sizes: What ``axis`` ranges over, if only some of its sizes are evaluated. Between two
            neighbours of one variant the time is near a power of the size.
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
    axis: str | None = None
    ranked_by: str | None = None
    sorted_by: list[str] = []
    outranked: list[Trial] = []
    sizes: SampledSizes | None = None

    def on(self, target: Target) -> list[Trial]:
        """Return the trials of one target."""
        return [trial for trial in self.trials if trial.target == target]


def with_measurement(trial: Trial, measurement: Measurement) -> Trial:
    """Return a trial with its times and with what they achieve."""
    against = [
        msgspec.structs.replace(
            each, rate=None if each.timing is None else rate(trial, each.timing)
        )
        for each in measurement.against
    ]
    return msgspec.structs.replace(
        trial,
        timing=measurement.timing,
        rate=rate(trial, measurement.timing),
        max_abs_error=measurement.max_abs_error,
        against=against,
    )


def rate(trial: Trial, timing: Timing) -> Rate:
    """Return what a time achieves, of the bytes and operations that the trial's kernel needs.

    An implementation that moves more bytes, because it takes several passes, gets no credit for
    them: rates of one trial compare as their times do.
    """
    figures = trial.figures or {}
    seconds = timing.median_ms / 1e3
    moved = moved_bytes(figures)
    operations, floor = figures.get("flops"), figures.get("floor_us")
    return Rate(
        gb_per_s=None if moved is None else moved / 1e9 / seconds,
        tflop_per_s=None if operations is None else operations / 1e12 / seconds,
        roofline_share=None if floor is None else floor / 1e6 / seconds,
    )


def moved_bytes(figures: dict[str, FigureValue]) -> FigureValue:
    """Return the distinct bytes that a launch reads and writes; ``None`` if unknown."""
    read, written = figures.get("distinct_read_bytes"), figures.get("distinct_written_bytes")
    return None if read is None or written is None else read + written
