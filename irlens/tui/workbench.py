"""What the TUI asks of the rest of irlens."""

from collections.abc import Iterator, Sequence
from typing import Protocol

import msgspec

from irlens.model.code import CodeComparison
from irlens.model.comparison import Comparison
from irlens.model.config import ConstexprValue
from irlens.model.listing import Occurrences, StageListing
from irlens.model.report import Occupancy, Report


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """Something that can be looked at.

    Attributes:
        key: Its name among the others.
        report: What is known of it; ``None`` where it cannot be read.
        problem: Why it cannot be read; empty if it can.
        age: Seconds since it was made, if that is known.
    """

    key: str
    report: Report | None
    problem: str = ""
    age: float | None = None


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """Something that can be chosen anew before the kernel is compiled again.

    Attributes:
        name: "num_stages", "BLOCK_SIZE", "target", ...
        value: What it is now.
        choices: What it can be, if that is a closed set.
    """

    name: str
    value: ConstexprValue
    choices: tuple[str, ...] = ()


class Workbench(Protocol):
    """Answers with finished records.

    Every method may take a while, and is called from a thread that is not the interface's. All
    raise ``IrlensError`` with a message for the user, also where a capture has been deleted.
    """

    def entries(self) -> Iterator[Entry]:
        """Yield what there is to look at, as it is found."""

    def report(self, key: str, *, sass: bool = False) -> Report:
        """Return a report; with ``sass`` the machine code is disassembled, too."""

    def stages(self, key: str) -> Sequence[str]:
        """Return the stages that can be shown, in the compiler's order."""

    def python(self, key: str) -> dict[str, str]:
        """Return the Python files that the capture keeps, the kernel's own first."""

    def listing(self, key: str, stage: str) -> StageListing:
        """Return a stage, line by line."""

    def occurrences(self, key: str, stage: str, name: str) -> Occurrences:
        """Return where an SSA value, a register or a label is defined and used."""

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
        """Return what can be chosen anew; empty where the kernel's source is not known."""

    def recompile(self, key: str, changes: dict[str, str]) -> Entry:
        """Compile again with some settings changed, and return the new entry."""

    def cancel(self) -> None:
        """Abandon a ``recompile`` that another thread waits for: that one raises."""

    def explain(self, code: str) -> str:
        """Return what a finding means, in Markdown."""
