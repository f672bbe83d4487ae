"""The records that pass between the TUI and the session."""

from collections.abc import Callable
from typing import Literal, TypeAlias

import msgspec

from irlens.figures import Figure
from irlens.model.comparison import Value
from irlens.model.config import Config, Target
from irlens.model.ranking import EstimatedTime
from irlens.model.report import Occupancy, Severity
from irlens.model.resources import Resources

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
    """A long-running question, which other threads may follow and cancel.

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
