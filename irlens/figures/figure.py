"""One figure of a report: what it is called, what it counts, and how its values read."""

from collections.abc import Callable, Mapping
from typing import Literal, TypeAlias, cast

import msgspec

from irlens.figures import derived
from irlens.model.comparison import Unit, Value, Weight
from irlens.model.config import Vendor
from irlens.model.inspected import Inspected
from irlens.model.report import CurveName
from irlens.model.text import count, microseconds, percent, signed, size

UNKNOWN = "–"
UNCHANGED = "~"

#: Records that are read from the metadata and the binary, but for what tensor memory takes.
_OF_BINARY = frozenset({"resources", "occupancy"})
_OF_LAUNCH = frozenset({"traffic", "roofline", "time"})

#: The kind of record that a figure belongs to: "report", "pipeline", "load", "warp group".
Scope: TypeAlias = str
Direction: TypeAlias = Literal["more", "less"]
Per: TypeAlias = Literal["thread", "CTA"]
ChangeVerdict: TypeAlias = Literal["better", "worse", "neutral", "unknown"]


class Figure(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """One row of the registry.

    Attributes:
        path: Where the JSON report has it, dotted; "[]" stands for any element of a list.
        title: Its name in tables and sentences, unique within its scope.
        unit: What it counts in, as ``Delta.unit``.
        documentation: What it means, in one sentence.
        short: The title where room is scarce, such as a column's heading; "" is the title.
        importance: How much a change matters, as ``Delta.weight``; ``None``: not compared.
        better: Which direction is better for the kernel; ``None``: neither.
        worst_first: The values of a figure that is one of a few words, where some are better than
            others; words that are not among them are neither.
        tolerance: Share of a value by which a change may be noise, and is neither.
        per: Whose work it is an amount for; where a thread or a CTA does other work on one side of
            a comparison, a change is neither better nor worse.
        always_shown: Whether a comparison shows it even where it did not change.
        needs: The optional part of the report that it belongs to; figures of such a part are
            compared only where both reports have the part.
        in_baseline: Whether a baseline of ``irlens check`` keeps it.
        gates: Whether losing it fails a check.
        budget: Whether a budget may use it, if it is one of ``in_budgets`` at all.
        consumes: The limited resource that it takes part of, for the line of Python to look at.
        vendor: The only vendor whose GPUs have it; ``None``: both.
        amd: AMD's title; "{}" stands for its multiprocessor, "CU" or "WGP"; "" is the title.
        words: What to call the values that are words, where that is another name.
        amd_words: AMD's terms for them.
        aliases: Other names for budgets and ``irlens explain``.
        sweep: Its name in sweeps (``--filter``, ``--sort``, CSV); "": sweeps do not have it.
        fact: Whether reports list it among the facts of the kernel, where it is not 0 or unknown
            for a reason. Registers, shared memory and occupancy have facts of their own.
        column: Position in tables with one line per kernel, ascending; 0: no column.
        sweep_column: The same in a sweep's tables, where it differs.
        compute: Derives it from the report, where no field holds it.
    """

    path: str
    title: str
    unit: Unit
    documentation: str
    short: str = ""
    importance: Weight | None = None
    better: Direction | None = None
    worst_first: tuple[str, ...] = ()
    tolerance: float = 0.0
    per: Per | None = None
    always_shown: bool = False
    needs: str = ""
    in_baseline: bool = False
    gates: bool = False
    budget: bool = True
    consumes: CurveName | None = None
    vendor: Vendor | None = None
    amd: str = ""
    words: Mapping[str, str] = {}
    amd_words: Mapping[str, str] = {}
    aliases: tuple[str, ...] = ()
    sweep: str = ""
    fact: bool = False
    column: int = 0
    sweep_column: int = 0
    compute: Callable[[Inspected], Value] | None = None

    @property
    def scope(self) -> Scope:
        """The kind of record that it belongs to, after the list in its path."""
        elements, _, _ = self.path.rpartition("[].")
        return elements.removesuffix("s").replace("_", " ") or "report"

    @property
    def field(self) -> str:
        """Path within the record of its scope: "achieved_stages", "occupancy.waves"."""
        return self.path.rpartition("[].")[2]

    @property
    def of_launch(self) -> bool:
        """Whether it is about a whole launch, with its arguments."""
        return self.needs in _OF_LAUNCH or self.field in ("occupancy.waves", "occupancy.tail")

    @property
    def of_binary(self) -> bool:
        """Whether Triton's metadata and the binary decide it: no text has to be parsed."""
        record, _, field = self.path.partition(".")
        if self.compute is not None:
            return self.compute is derived.shared_bytes
        return record in _OF_BINARY and not field.startswith("tensor_memory")

    @property
    def budget_path(self) -> str:
        """Its path in budgets, which hold for each pipeline: "pipeline.achieved_stages"."""
        return self.path.replace("pipelines[].", "pipeline.")

    @property
    def in_budgets(self) -> bool:
        """Whether a budget may use it: exact facts of kernels and loops, no disassembly needed."""
        return not self.why_not_in_budgets

    @property
    def why_not_in_budgets(self) -> str:
        """Why no budget may use it; "" if one may."""
        if self.compute is not None:
            return "it is computed from other figures"
        if self.scope not in ("report", "pipeline"):
            return f"it belongs to one {self.scope}, and a budget holds for kernels and pipelines"
        if self.needs in ("pressure.sass", "run", "spills"):
            return f"it needs {self.needs}, which not every report has"
        return "" if self.budget else "it names things, and measures nothing"

    @property
    def heading(self) -> str:
        """Column heading, with the unit where it is bytes: "shared B"."""
        return f"{self.short or self.title}{' B' if self.unit == 'bytes' else ''}"

    def title_for(self, vendor: Vendor | None, multiprocessor: str = "CU") -> str:
        """Return the title in a vendor's terms.

        Args:
            vendor: Of the GPU; ``None`` (unknown, or several) reads as NVIDIA's.
            multiprocessor: What AMD's "{}" stands for.
        """
        return self.amd.format(multiprocessor) if vendor == "amd" and self.amd else self.title

    def format(self, value: Value, vendor: Vendor | None = None) -> str:
        """Return a value with its unit, in a vendor's terms; "–" where it is unknown."""
        return format_value(self._named(value, vendor), self.unit)

    def cell(self, value: Value) -> str:
        """Return a value for a column under ``heading``, which has the unit of bytes."""
        unit: Unit = "count" if self.unit == "bytes" else self.unit
        return format_value(self._named(value), unit)

    def _named(self, value: Value, vendor: Vendor | None = None) -> Value:
        """Return a value, of words what they are called."""
        words = (self.amd_words if vendor == "amd" else {}) or self.words
        if not isinstance(value, str) or not words:
            return value
        return ", ".join(words.get(word, word) for word in value.split(", "))

    def read(self, record: msgspec.Struct | Inspected) -> Value:
        """Return the value that a record of the figure's scope holds; ``None`` where unknown."""
        if self.compute is not None:
            return self.compute(cast(Inspected, record))  # of a report, which check_paths ensures
        return read_path(record, self.field)

    def read_each(self, report: Inspected) -> tuple[Value, ...]:
        """Return the values in a report: one, or one for each element of the list in its path."""
        elements, _, _ = self.path.rpartition("[].")
        return tuple(map(self.read, getattr(report, elements) if elements else [report]))


def read_path(record: msgspec.Struct | Inspected, path: str) -> Value:
    """Return a field of a record or of a record inside it; lists as their items or their names.

    Raises:
        TypeError: The field holds a record.
    """
    value: object = record
    for name in path.split("."):
        value = None if value is None else getattr(value, name)
    if isinstance(value, list | tuple):
        return ", ".join(str(getattr(item, "name", item)) for item in value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(f"{path} is a {type(value).__name__}, not a figure")


def format_value(value: Value, unit: Unit) -> str:
    """Return a value with its unit: "4,128 B", "50 %", "yes"; "–" where it is unknown."""
    if value is None:
        return UNKNOWN
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value.replace("_", " ") or "none"
    if unit == "ratio":
        return percent(value)
    if unit == "us":
        return microseconds(value)
    if isinstance(value, float):
        return f"{value:.4g}"
    return size(value) if unit == "bytes" else count(value)


def format_change(before: Value, after: Value, unit: Unit) -> str:
    """Return a change with sign and unit: "+8,192 B", "−50 points".

    "~" where nothing changed, "" where the values are not both numbers.
    """
    if before == after:
        return UNCHANGED
    change = subtract(before, after)
    if change is None:
        return ""
    if unit == "ratio":
        return f"{change * 100:+.3g} points".replace("-", "−")
    if unit == "us":
        return ("+" if change > 0 else "−") + microseconds(abs(change))
    if isinstance(change, float):
        return f"{change:+.4g}".replace("-", "−")
    return signed(change) + (" B" if unit == "bytes" else "")


def subtract(before: Value, after: Value) -> int | float | None:
    """Return ``after - before`` where both are numbers, else ``None``."""
    if isinstance(before, bool | str | None) or isinstance(after, bool | str | None):
        return None
    return after - before


def better_or_worse(figure: Figure, before: Value, after: Value) -> ChangeVerdict:
    """Return whether a change is good for the kernel; "neutral" where neither direction is."""
    if before == after:
        return "neutral"
    if before is None or after is None:
        return "unknown"
    if isinstance(before, str) or isinstance(after, str):
        ranks = figure.worst_first
        if before not in ranks or after not in ranks:
            return "neutral"
        return "better" if ranks.index(after) > ranks.index(before) else "worse"
    if figure.better is None or is_noise(figure, before, after):
        return "neutral"
    return "better" if (after > before) == (figure.better == "more") else "worse"


def is_noise(figure: Figure, before: Value, after: Value) -> bool:
    """Return whether two values differ, and by no more than the figure's tolerance."""
    change = subtract(before, after)
    if not change or isinstance(before, bool | str | None) or isinstance(after, bool | str | None):
        return False
    return abs(change) <= figure.tolerance * min(abs(before), abs(after))
