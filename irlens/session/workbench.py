"""The interface between the TUI and the session, and the records that pass through it."""

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Literal, Protocol, TypeAlias

import msgspec

from irlens.figures import Figure
from irlens.model.capture import Disassembly
from irlens.model.code import CodeComparison
from irlens.model.comparison import Comparison, Value
from irlens.model.config import Config, Target
from irlens.model.layout import LayoutDrawing
from irlens.model.limits import Limits
from irlens.model.listing import Occurrences, StageListing
from irlens.model.passes import Crossing, CrossingKind, FollowedLine, Passes
from irlens.model.ranking import EstimatedTime
from irlens.model.report import Finding, Occupancy, Report, Severity
from irlens.model.resources import Resources
from irlens.model.source import SourceLocation
from irlens.model.suggestion import Suggestion
from irlens.model.variants import Variants
from irlens.model.why import Explanations

#: The parts of a listing, in their order: kernels of the current folder, captures, samples.
Section: TypeAlias = Literal["project", "captures", "samples"]


class Group(msgspec.Struct, frozen=True):
    """What belongs together in a listing of different things.

    Attributes:
        name: The kernel and its file, of which there may be many configurations; empty for what
            stands alone.
    """

    section: Section
    name: str = ""


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One row of the TUI's list of kernels.

    A list may have thousands of rows, so an entry holds no report. Fields that take time to
    compute are ``None`` at first; ``Workbench.complete`` returns the complete entry under the same
    key.

    Attributes:
        config: The configuration; ``None`` for a kernel that is not compiled yet.
        occupancy: Theoretical occupancy, without next steps and curves.
        figures: Values of the registry's columns that no record above holds, by path, with one
            value for each element of a list; ``None`` until analysed.
        stages: Achieved and requested stages of each pipeline; ``None`` until analysed.
        findings: Number of findings by severity; ``None`` until analysed.
        time: The estimated time of its launch; ``None`` until analysed.
        problem: Why the capture cannot be read; empty if it can.
        modified: When its artifacts were written, in seconds since the epoch; ``None`` if unknown.
        group: Where it stands in a listing of different things; ``None`` in one of a kind.
    """

    key: str
    kernel: str
    target: Target | None = None
    triton_version: str | None = None
    config: Config | None = None
    resources: Resources | None = None
    occupancy: Occupancy | None = None
    figures: dict[str, tuple[Value, ...]] | None = None
    stages: tuple[tuple[int, int | None], ...] | None = None
    findings: dict[Severity, int] | None = None
    time: EstimatedTime | None = None
    problem: str = ""
    place: str = ""
    modified: float | None = None
    group: Group | None = None

    @property
    def is_complete(self) -> bool:
        """Whether there is no more to know of it, unless it is compiled."""
        return self.findings is not None or self.config is None or bool(self.problem)

    def values(self, column: Figure) -> tuple[Value, ...] | None:
        """Return the values of one of the registry's columns; ``None`` until analysed."""
        if is_early(column):
            unread = column.compute is not None and self.resources is None
            return (None if unread else column.read(self),)
        return self.figures.get(column.path, ()) if self.figures is not None else None


def is_early(column: Figure) -> bool:
    """Return whether a record of the entry holds a figure, before the entry is analysed."""
    names = ("target.", "config.", "resources.", "occupancy.")
    return column.of_binary or column.path.startswith(names)


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """A value that can be changed before the kernel is recompiled.

    Attributes:
        name: "num_stages", "BLOCK_SIZE", "target", ...
        value: The current value, in the syntax of ``--set``.
        choices: All valid values, in order, if the set is closed. For a tensor: its current value
            and the dtypes that are possible with the same shape.
        follows: The expression that derives the value from other settings unless it is set.
        is_argument: Whether it is a run-time argument, or a size that arguments derive from.
    """

    name: str
    value: str
    choices: tuple[str, ...] = ()
    follows: str = ""
    is_argument: bool = False


class Inquiry:
    """A question that takes long, which other threads may follow and cancel.

    Attributes:
        reached: How far its answer is, in words: "3 of 22"; "" at first.
    """

    def __init__(self) -> None:
        self.reached = ""
        self.is_cancelled = False
        self._cancel: Callable[[], None] | None = None

    def begin(self, cancel: Callable[[], None]) -> None:
        """Note how to abandon the work on the answer, which is about to begin."""
        self._cancel = cancel
        if self.is_cancelled:
            cancel()

    def cancel(self) -> None:
        """Abandon the answer: whoever asked gets an error."""
        self.is_cancelled = True
        if self._cancel is not None:
            self._cancel()


class Workbench(Protocol):
    """Answers the TUI's questions with finished records.

    Any method may take a while, so the TUI calls them from worker threads. All raise
    ``IrlensError`` with a message for the user, also when a capture was deleted meanwhile.
    """

    @property
    def title(self) -> str:
        """The subject, as the user named it."""

    def entries(self) -> Iterator[Entry]:
        """Yield each entry as soon as it is found, and again with what its binary says."""

    def complete(self, keys: Sequence[str]) -> Iterator[Entry]:
        """Yield the complete entry of each listed key as soon as it is read, in any order.

        Compiles nothing. A key whose capture is gone is left out.
        """

    def entry(self, key: str) -> Entry:
        """Return the complete entry; compiles nothing."""

    def report(self, key: str, disassembly: Disassembly = Disassembly.SKIP) -> Report:
        """Return the report of an entry; with the machine code, if that is required.

        Compiles a kernel that is not compiled yet.
        """

    def kernel(self, key: str) -> str:
        """Return the kernel's name."""

    def stages(self, key: str) -> Sequence[str]:
        """Return the stages that can be shown, in the compiler's order."""

    def python(self, key: str) -> dict[str, str]:
        """Return the Python files of the capture by name, the kernel's own file first."""

    def listing(self, key: str, stage: str, *, annotated: bool = True) -> StageListing:
        """Return a stage line by line; without annotations it is available sooner."""

    def occurrences(self, key: str, stage: str, name: str, line: int) -> Occurrences:
        """Return the definitions and uses of an SSA value, a register or a label of a line."""

    def what_if(
        self, key: str, *, registers: int, shared_bytes: int, num_warps: int
    ) -> Occupancy | None:
        """Return the occupancy for other resource demands; ``None`` if the GPU is unknown.

        This method is fast: the TUI calls it from its own thread.
        """

    def compare(self, before: str, after: str) -> Comparison:
        """Return the comparison of two entries' reports."""

    def code(self, before: str, after: str, stage: str) -> CodeComparison:
        """Return the comparison of a stage's code."""

    def settings(self, key: str) -> Sequence[Setting]:
        """Return the settings that can be changed; empty for a saved report.

        Raises ``CaptureError`` if the kernel's source is unknown or was deleted.
        """

    def recompile(self, key: str, changes: dict[str, str]) -> Entry:
        """Recompile with changed settings, and return the new entry.

        Args:
            key: The entry to recompile. The source may have changed since it was compiled.
            changes: New values by name, in the syntax of ``Setting.value``.
        """

    def saved(self, key: str, until: threading.Event, take: Callable[[str], bool]) -> str:
        """Wait until a source file of the entry is saved, and return the file's name.

        Args:
            take: Receives the file's name and returns whether the caller recompiles now. If it
                does not, the next call reports the same save again.

        Returns:
            The name, or "" if ``until`` was set or ``take`` declined, and at once if the source
            of the entry is unknown. A save that is newer than the entry is reported at once,
            unless the entry was recompiled since.
        """

    def remake(self, key: str) -> Entry:
        """Recompile an entry with its own settings from the current source."""

    def suggest(self, key: str, inquiry: Inquiry) -> Suggestion:
        """Compile the neighbours of an entry's configuration, and return the fastest.

        The source may have changed since the entry was compiled. Raises ``IrlensError`` if the
        kernel's source or the entry's time is unknown, or the inquiry is cancelled.
        """

    def why(self, key: str, finding: Finding, inquiry: Inquiry) -> Explanations:
        """Return what decides a finding of an entry, and what was tried against it.

        Compiles the entry again, with and without the blamed cause. Raises as ``suggest`` does.
        """

    def passes(self, key: str, inquiry: Inquiry) -> Passes:
        """Return the compiler's passes of an entry, which is compiled again if it keeps none."""

    def pass_change(self, key: str, number: int) -> CodeComparison:
        """Return what a pass changed, of an entry whose ``passes`` were returned before."""

    def line_through_passes(self, key: str, line: SourceLocation) -> FollowedLine:
        """Return what the passes made of a line of Python, as far as the IR can be read."""

    def crossing(self, key: str, operation: str, kind: CrossingKind) -> Crossing:
        """Return the pass that brings an operation first, or removes the last one."""

    def variants(self, key: str, ranges: Sequence[str], inquiry: Inquiry) -> Variants:
        """Return the variants that launches of an entry need, or those in the listing.

        Args:
            ranges: Values of arguments: "n=1..131072". Without any, the entry's launch.

        Where the kernel's source is unknown, the variants are the listed captures of the kernel.
        """

    def limits(self, key: str, sizes: Sequence[str], inquiry: Inquiry) -> Limits:
        """Return the smallest sizes at which an entry breaks.

        Args:
            sizes: The sizes to vary, over a range, "n=1..4096", or the default one, "n"; all of
                them if there are none.
        """

    def layout(self, key: str, names: Sequence[str], line: int) -> LayoutDrawing:
        """Return the layout of the first of some values, as a line of ttgir names them, with one.

        Raises ``IrlensError`` if none has a layout that irlens draws.
        """

    def cancel(self) -> None:
        """Cancel the ``recompile`` or ``remake`` of another thread, which raises."""

    def close(self) -> None:
        """Cancel as ``cancel`` does, and save what the next session can use."""

    def explain(self, code: str) -> str:
        """Return the documentation of a finding, in Markdown."""
