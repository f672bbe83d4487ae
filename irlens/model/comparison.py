"""What moved between two reports, as records. ``None`` is always "unknown" or "does not apply".

Compared is what a capture means: its figures, loops, findings, instructions and pressure. Sizes
and hashes of artifacts, lines within them, names of labels and columns of source locations are
not: they change with a comment.
"""

from typing import Literal, TypeAlias

import msgspec

from irlens.model.config import Config, Target
from irlens.model.report import Finding, Multiprocessor
from irlens.model.source import SourceLocation

COMPARISON_SCHEMA = 1

Value: TypeAlias = bool | int | float | str | None
Unit: TypeAlias = Literal["count", "bytes", "ratio", "factor", "word"]
Weight: TypeAlias = Literal["much", "some", "little"]
Presence: TypeAlias = Literal["both", "appeared", "gone"]

WEIGHTS: tuple[Weight, ...] = ("much", "some", "little")


class Side(msgspec.Struct, frozen=True, kw_only=True):
    """One of the compared captures.

    Attributes:
        kernel: The kernel's name.
        target: What it was compiled for.
        triton_version: The compiler's version.
        config: Compile and launch parameters.
        label: What sets it apart from the other sides: "num_stages=4"; "before" or "after" where
            nothing that was asked for does.
        multiprocessor: "SM", "CU" or "WGP"; ``None`` where the occupancy is not known.
    """

    kernel: str
    target: Target | None
    triton_version: str | None
    config: Config
    label: str
    multiprocessor: Multiprocessor | None = None


class Delta(msgspec.Struct, frozen=True, kw_only=True):
    """One figure on both sides.

    Attributes:
        path: Where the report has it, dotted; within a loop the field's name alone.
        unit: "bytes", "count", "ratio" (0..1), "factor" (any number), or "word" for what is not a
            number.
        before: Its value on the first side.
        after: Its value on the second side.
        change: ``after - before`` where both are numbers, else ``None``.
        weight: How much a change of this figure matters: "much" can decide whether and how fast
            the kernel runs (launching, occupancy, spills, stages achieved), "some" is what these
            come from (registers, shared memory, bytes in flight), "little" is the rest.
    """

    path: str
    unit: Unit
    before: Value
    after: Value
    change: int | float | None
    weight: Weight

    @property
    def moved(self) -> bool:
        """Whether the two values differ."""
        return self.before != self.after


class LoopDelta(msgspec.Struct, frozen=True, kw_only=True):
    """A pipeline of a loop, or a load in one, on both sides.

    Attributes:
        what: Which of the two.
        source: The line of Python, on the second side if it is there.
        kind: The pipeline's mechanism or "load"; ``None`` for a loop without one.
        presence: "appeared" or "gone" where only one side has it.
        deltas: Figures that moved, and those one always wants to see, weightiest first.
    """

    what: Literal["pipeline", "load"]
    source: SourceLocation | None
    kind: str | None
    presence: Presence
    deltas: list[Delta]


class FindingDelta(msgspec.Struct, frozen=True, kw_only=True):
    """A finding that appeared (no ``before``), went (no ``after``), or says something else."""

    before: Finding | None
    after: Finding | None


class MixDelta(msgspec.Struct, frozen=True, kw_only=True):
    """Instructions of a stage that both sides have.

    Attributes:
        stage: "ptx", "amdgcn" or "sass".
        total: Instructions.
        classes: The classes that moved, by name, largest change first.
    """

    stage: str
    total: Delta
    classes: list[Delta]


class LineDelta(msgspec.Struct, frozen=True, kw_only=True):
    """A line of Python whose instructions or pressure moved.

    Attributes:
        stage: Where they were counted: "ptx", "amdgcn" or "sass".
        source: The line, on the second side if it is there.
        instructions: Instructions that belong to the line.
        peak: Live 32-bit registers per thread at its worst instruction; ``None`` on a side where
            the line has no instruction.
    """

    stage: str
    source: SourceLocation
    instructions: Delta
    peak: Delta


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """Two reports by what they mean; everything is sorted by how much it matters.

    Attributes:
        before: The first side.
        after: The second side.
        different: Whether anything moved. What was asked for (config, target, compiler) labels
            the sides and is no difference in itself.
        figures: Resources, occupancy, pressure: those that moved, and those one always wants to
            see.
        loops: Pipelines and loads: those that moved, and all pipelines.
        findings: Findings that are not the same on both sides.
        mix: Stages whose instructions moved.
        lines: Lines of Python whose instructions or pressure moved.
        code: The lines of Python that this speaks of, by "file:line", where a capture holds the
            source.
        not_compared: Parts that only one side has, such as "pressure.sass", which is read on
            demand.
        regain: Where occupancy was lost, what would bring some back, in words:
            "8 fewer registers/thread: 1 → 2 blocks/SM (50 %)".
        setting: What sets the pair apart from others of its kernel and target that are compared
            along with it: "num_stages=4"; "" where nothing does.
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
    regain: list[str] = []
    setting: str = ""


class Comparisons(msgspec.Struct, frozen=True, kw_only=True):
    """Two sets of reports, or several reports against the first of them.

    Attributes:
        schema: Version of this interface.
        different: Whether any pair differs, or a report has no counterpart.
        against_first: Whether every pair has the same first side.
        pairs: The matched reports, those that differ first.
        added: Kernels that only the second set has.
        removed: Kernels that only the first set has.
        unmatched_before: Reports of the first set whose kernel the second set has too, but not
            for this target and config.
        unmatched_after: The same the other way round.
    """

    schema: int
    different: bool
    against_first: bool
    pairs: list[Comparison]
    added: list[Side] = []
    removed: list[Side] = []
    unmatched_before: list[Side] = []
    unmatched_after: list[Side] = []
