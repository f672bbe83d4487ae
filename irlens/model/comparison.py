"""The records of a comparison. ``None`` is always "unknown" or "does not apply".

A comparison is by meaning: figures, loops, findings, instructions and pressure. Sizes and hashes
of artifacts, lines within them, labels and columns of source locations are not compared: they
change with a comment.
"""

from typing import Literal, TypeAlias

import msgspec

from irlens.model.config import Config, Target
from irlens.model.estimate import Bound
from irlens.model.label import Labelled
from irlens.model.recording import ProgramChange
from irlens.model.report import Finding, Multiprocessor
from irlens.model.source import SourceLocation

COMPARISON_SCHEMA = 1

Value: TypeAlias = bool | int | float | str | None
Unit: TypeAlias = Literal["count", "bytes", "ratio", "factor", "us", "word"]
Weight: TypeAlias = Literal["much", "some", "little"]
Presence: TypeAlias = Literal["both", "appeared", "gone"]
Outcome: TypeAlias = Literal["better", "worse", "same", "neither"]
Decider: TypeAlias = Literal["launch", "errors", "time", "figures", "findings"]

WEIGHTS: tuple[Weight, ...] = ("much", "some", "little")


class Side(msgspec.Struct, frozen=True, kw_only=True):
    """One of the compared captures.

    Attributes:
        kernel: The kernel's name.
        target: The GPU it was compiled for.
        triton_version: The compiler's version.
        config: Compile and launch parameters.
        label: The settings that tell it apart from the other sides: "num_stages=4"; "before" or
            "after" where no setting does.
        multiprocessor: "SM", "CU" or "WGP"; ``None`` where the occupancy is unknown.
        refusal: The limit of one CTA that it exceeds, in words; "" where it can launch, or that is
            unknown.
        estimate_us: The estimated time of its launch, in microseconds; ``None`` if unknown.
        measured_us: Its measured time; ``None`` if it was not measured.
        bound: What that is bound by.
    """

    kernel: str
    target: Target | None
    triton_version: str | None
    config: Config
    label: str
    multiprocessor: Multiprocessor | None = None
    refusal: str = ""
    estimate_us: float | None = None
    measured_us: float | None = None
    bound: Bound | None = None


def side_of(member: Labelled, label: str) -> Side:
    """Return what was compiled as a side of a comparison."""
    return Side(
        kernel=member.kernel,
        target=member.target,
        triton_version=member.triton_version,
        config=member.config,
        label=label,
    )


class Delta(msgspec.Struct, frozen=True, kw_only=True):
    """One figure on both sides.

    Attributes:
        path: Dotted path in the report; within a loop, the field's name alone.
        unit: "bytes", "count", "ratio" (0..1), "factor" (any number), "us" (microseconds), or
            "word" for what is not a number.
        before: Its value on the first side; ``None`` where it is unknown or does not apply.
        after: The same on the second side.
        change: ``after - before`` where both are numbers, else ``None``.
        weight: Importance of a change: "much" can decide whether and how fast the kernel runs
            (launching, occupancy, spills, stages achieved), "some" causes these (registers, shared
            memory, bytes in flight), "little" is the rest.
    """

    path: str
    unit: Unit
    before: Value
    after: Value
    change: int | float | None
    weight: Weight

    @property
    def moved(self) -> bool:
        """Whether the two values differ: one that is unknown, or does not apply, does not."""
        return None not in (self.before, self.after) and self.before != self.after


class LoopDelta(msgspec.Struct, frozen=True, kw_only=True):
    """A pipeline of a loop, or a load in one, on both sides.

    Attributes:
        what: "pipeline" or "load".
        source: The line of Python, on the second side if it exists there.
        kind: The pipeline's mechanism or "load"; ``None`` for a loop without one.
        product: The line of Python of the pipeline's matrix product, if it is one.
        presence: "appeared" or "gone" where only one side has it.
        deltas: Figures that changed or are always shown, most important first.
        exposed: Whether the machine code of a side waits at once for a load that runs ahead in the
            ttgir, which is then no improvement.
    """

    what: Literal["pipeline", "load"]
    source: SourceLocation | None
    kind: str | None
    presence: Presence
    deltas: list[Delta]
    product: SourceLocation | None = None
    exposed: bool = False

    @property
    def changes(self) -> list[Delta]:
        """The figures that changed; all of them where only one side has the loop."""
        return [each for each in self.deltas if each.moved or self.presence != "both"]


class FindingDelta(msgspec.Struct, frozen=True, kw_only=True):
    """A finding that is new (no ``before``), gone (no ``after``), or changed."""

    before: Finding | None
    after: Finding | None


class MixDelta(msgspec.Struct, frozen=True, kw_only=True):
    """Instructions of a stage that both sides have.

    Attributes:
        stage: "ptx", "amdgcn" or "sass".
        total: Number of instructions.
        classes: The classes that changed, largest change first.
    """

    stage: str
    total: Delta
    classes: list[Delta]


class LineDelta(msgspec.Struct, frozen=True, kw_only=True):
    """A line of Python whose instructions or pressure changed.

    Attributes:
        stage: The stage they are counted in: "ptx", "amdgcn" or "sass".
        source: The line, on the second side if it exists there.
        instructions: Instructions that belong to the line.
        peak: Live 32-bit registers per thread at its worst instruction; ``None`` on a side where
            the line has no instruction.
    """

    stage: str
    source: SourceLocation
    instructions: Delta
    peak: Delta


class TimeRatio(msgspec.Struct, frozen=True, kw_only=True):
    """The time on the second side over that on the first.

    Attributes:
        ratio: The ratio of both estimates; of both measured times where there are some.
        low: The ratio of both times is at least so much in nine of ten cases, together with
            ``high``. Of two configurations of one kernel on one GPU, what is wrong alike in both
            estimates cancels; otherwise the errors of both count. Of measured times, the fast
            launches of the second side over the slow ones of the first.
        high: It is at most so much.
        noise: Whether the times are too near to tell which side is the faster.
        moved_by: The unit whose part moved the time the most; ``None`` where that is unknown.
        parts: What each unit alone would take, in microseconds, on both sides; the largest first.
        device: The GPU that both times were measured on; empty if they are estimates.
        estimated: The ratio of the estimates beside measured times; ``None`` if unknown.
    """

    ratio: float
    low: float
    high: float
    noise: bool
    moved_by: Bound | None = None
    parts: list[Delta] = []
    device: str = ""
    estimated: float | None = None

    @property
    def is_likely(self) -> bool:
        """Whether the range holds a change of the other direction, too."""
        return self.low < 1 < self.high


class ComparisonVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """Whether the second side is better, and by what.

    Attributes:
        outcome: "better" or "worse"; "same" where the times are within noise of each other, or
            nothing changed; "neither" where what changed does not say, or the times are of other
            work.
        by: What decides: whether a side can launch; errors, such as an access out of bounds; the
            estimated times, where both are known; otherwise the figures, then the findings.
        likely: Whether the range of the predicted time holds the other outcome, too.
        because: Figures that changed and that the time's change comes from, by their path in the
            report.
        despite: Figures that changed against it.
        no_time: Why there is no time to decide by, and what would give it; "" where there is one,
            or a side cannot launch.
    """

    outcome: Outcome
    by: Decider
    likely: bool = False
    because: list[str] = []
    despite: list[str] = []
    no_time: str = ""


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """Two reports compared by meaning; everything is sorted by importance.

    Attributes:
        before: The first side.
        after: The second side.
        different: Whether anything changed. The request (config, target, compiler) labels the
            sides and is not a difference in itself.
        figures: Figures of the kernel that changed or are always shown.
        loops: All pipelines, and the loads that changed.
        findings: Findings that are not the same on both sides.
        mix: Stages whose instructions changed.
        lines: Lines of Python whose instructions or pressure changed.
        code: Text of the lines of Python that the comparison mentions, by "file:line", where a
            capture holds the source.
        code_before: Text of these lines on the first side, where the second has another text by
            the same number.
        not_compared: Parts and figures that only one side knows, such as "pressure.sass", which is
            read on request, and findings that only one side could look for: "findings.IRL302".
        not_compared_because: Why, by the same names: which side lacks it, and its reason.
        regain: Where occupancy was lost, changes that would regain it:
            "8 fewer registers/thread: 1 → 2 blocks/SM (50 %)".
        time_ratio: Predicted change of the launch's time; ``None`` where either time is unknown.
        other_work: Why the launches do not compute the same: the arguments that differ, "x_ptr
            fp32[512] → fp32[1024]"; empty where they do, as far as arguments say.
        not_judged: Figures that mean something else on either side, and are neither better nor
            worse: why, by their path in the report.
        verdict: Whether the second side is better, and by what.
        setting: The settings that tell the pair apart from other pairs of its kernel and target:
            "num_stages=4"; "" where none do.
    """

    before: Side
    after: Side
    different: bool
    figures: list[Delta]
    loops: list[LoopDelta]
    findings: list[FindingDelta]
    mix: list[MixDelta]
    lines: list[LineDelta]
    code: dict[str, str]
    not_compared: list[str]
    code_before: dict[str, str] = {}
    not_compared_because: dict[str, str] = {}
    regain: list[str] = []
    time_ratio: TimeRatio | None = None
    other_work: list[str] = []
    not_judged: dict[str, str] = {}
    verdict: ComparisonVerdict = ComparisonVerdict(outcome="same", by="figures")
    setting: str = ""

    @property
    def takes_less_time(self) -> bool:
        """Whether time decides, and the second side's launch takes less of it."""
        time = self.time_ratio
        return self.verdict.by == "time" and time is not None and not time.noise and time.ratio < 1


class Comparisons(msgspec.Struct, frozen=True, kw_only=True):
    """Two sets of reports, or several reports against the first of them.

    Attributes:
        schema: Version of this interface.
        different: Whether any pair differs, or a report has no counterpart.
        against_first: Whether every pair has the same first side, or the first of its target.
        pairs: The paired reports, different ones first.
        added: Kernels that only the second set has.
        removed: Kernels that only the first set has.
        unmatched_before: Reports of the first set whose kernel the second set has, too, but not
            for this target and config.
        unmatched_after: The same of the second set.
        programs: What the programs gain and lose, where both sides are recordings.
    """

    schema: int
    different: bool
    against_first: bool
    pairs: list[Comparison]
    added: list[Side] = []
    removed: list[Side] = []
    unmatched_before: list[Side] = []
    unmatched_after: list[Side] = []
    programs: list[ProgramChange] = []
