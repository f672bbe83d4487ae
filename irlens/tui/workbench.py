"""What the TUI asks of the rest of irlens."""

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

import msgspec

from irlens.model.code import CodeComparison
from irlens.model.comparison import Comparison
from irlens.model.config import Config, Target
from irlens.model.listing import Occurrences, StageListing
from irlens.model.report import Occupancy, Report, Severity
from irlens.model.resources import Resources


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """Something that can be looked at, and what is told of it in a list.

    A list may have thousands of them, so that an entry holds no report. What takes a moment to
    find out is ``None`` at first; then the entry comes once more, under the same key.

    Attributes:
        key: Its name among the others.
        kernel: The kernel's name.
        target: What it was compiled for, if that is known.
        triton_version: The compiler's version, if that is known.
        config: How it was compiled; ``None`` where nothing has been compiled yet.
        resources: Registers and memories.
        occupancy: Theoretical occupancy.
        stages: Stages achieved and asked for of each pipeline; ``None`` until it is read.
        findings: How many there are, by severity; ``None`` until they are looked for.
        problem: Why it cannot be read; empty if it can.
        place: Where it lies, for a person to read.
    """

    key: str
    kernel: str
    target: Target | None = None
    triton_version: str | None = None
    config: Config | None = None
    resources: Resources | None = None
    occupancy: Occupancy | None = None
    stages: tuple[tuple[int, int | None], ...] | None = None
    findings: dict[Severity, int] | None = None
    problem: str = ""
    place: str = ""


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """Something that can be chosen anew before the kernel is compiled again.

    Attributes:
        name: "num_stages", "BLOCK_SIZE", "target", ...
        value: What it is now, as ``--set`` takes it.
        choices: What it can be, in order, if that is a closed set; of a tensor what it was and
            the dtypes that it could have in the same shape.
        follows: The expression by which it follows from other settings unless it is chosen.
        is_argument: Whether it is a run-time argument, or a size that arguments follow from.
    """

    name: str
    value: str
    choices: tuple[str, ...] = ()
    follows: str = ""
    is_argument: bool = False


class Workbench(Protocol):
    """Answers with finished records.

    Every method may take a while, and is called from a thread that is not the interface's. All
    raise ``IrlensError`` with a message for the user, also where a capture has been deleted.
    """

    @property
    def title(self) -> str:
        """What is looked at, as the user named it."""

    def entries(self) -> Iterator[Entry]:
        """Yield what there is to look at, as it is found, and again as more of it is known."""

    def entry(self, key: str) -> Entry:
        """Return an entry anew, with all that is known of it by now; nothing is compiled."""

    def report(self, key: str, *, sass: bool = False) -> Report:
        """Return a report; with ``sass`` the machine code is disassembled, too.

        A kernel that has not been compiled yet is compiled for this.
        """

    def kernel(self, key: str) -> str:
        """Return the kernel's name."""

    def stages(self, key: str) -> Sequence[str]:
        """Return the stages that can be shown, in the compiler's order."""

    def python(self, key: str) -> dict[str, str]:
        """Return the Python files that the capture keeps, the kernel's own first."""

    def listing(self, key: str, stage: str, *, annotated: bool = True) -> StageListing:
        """Return a stage, line by line; if not ``annotated`` as text alone, and soon."""

    def occurrences(self, key: str, stage: str, name: str, line: int) -> Occurrences:
        """Return where an SSA value, a register or a label of a line is defined and used."""

    def what_if(
        self, key: str, *, registers: int, shared_bytes: int, num_warps: int
    ) -> Occupancy | None:
        """Return the occupancy with other demands; ``None`` where the GPU is not known.

        This one is quick, and called from the interface's own thread.
        """

    def compare(self, before: str, after: str) -> Comparison:
        """Return what moved between two entries."""

    def code(self, before: str, after: str, stage: str) -> CodeComparison:
        """Return what moved in a stage's text."""

    def settings(self, key: str) -> Sequence[Setting]:
        """Return what can be chosen anew; nothing for a saved report.

        The error of one whose source is not known, or is gone, says so.
        """

    def recompile(self, key: str, changes: dict[str, str]) -> Entry:
        """Compile again, with some settings changed, and return the new entry.

        Args:
            key: Of what.
            changes: The new values by name, as a setting's value is written; the source may have
                changed, too.
        """

    def saved(self, key: str, until: threading.Event, take: Callable[[str], bool]) -> str:
        """Wait until a file that an entry's kernel is made of is saved, and return its name.

        Args:
            key: The entry's.
            until: Ends the waiting when it is set.
            take: Is told the name, and whether that is compiled now. If not, it is told again to
                the next one who asks.

        Returns:
            "" if ``until`` was set or nothing was taken, and at once for an entry of which it is
            not known what it was compiled from. An entry that is older than what was saved already
            is told of at once, unless it has been compiled anew since.
        """

    def remake(self, key: str) -> Entry:
        """Compile again what an entry was compiled from, and return the new entry."""

    def cancel(self) -> None:
        """Abandon a ``recompile`` or ``remake`` that another thread waits for: that one raises."""

    def explain(self, code: str) -> str:
        """Return what a finding means, in Markdown."""
