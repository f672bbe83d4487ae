"""Nodes of the presentation tree.

A node is finished content: its texts have their units, its rows their order, and everything that
is good, bad or unknown says so with a ``Tone``. Text is *untrusted and unescaped*: whoever prints
a node escapes it for its medium.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec

from irlens.model.report import Report, Severity

if TYPE_CHECKING:  # most documents show no code
    from irlens.model.code import CodeComparison
    from irlens.model.listing import Listing

#: What a run of text says about its subject. "code" is source text, "strong" and "dim" say how
#: much it matters, "accent" is the ink of drawings; the others are verdicts, of which colour is
#: never the only sign.
Tone: TypeAlias = Literal[
    "neutral", "strong", "dim", "accent", "code",
    "good", "warn", "bad", "unknown", "better", "worse",
]  # fmt: skip

#: A sign for each verdict, for media without colours.
SIGNS: dict[Tone, str] = {
    "good": "✓", "better": "✓", "warn": "!", "worse": "!", "unknown": "?", "bad": "✗", "dim": "·",
}  # fmt: skip

SEVERITY_TONES: dict[Severity, Tone] = {"error": "bad", "warning": "warn", "note": "dim"}


class Place(msgspec.Struct, frozen=True):
    """A line that a medium may link to.

    Attributes:
        name: Base name of a Python file, or a stage's name.
        line: 1-based line; ``None`` for the file as a whole.
        in_stage: Whether ``name`` is a stage.
    """

    name: str
    line: int | None
    in_stage: bool = False

    def __str__(self) -> str:
        return self.name if self.line is None else f"{self.name}:{self.line}"


class Run(msgspec.Struct, frozen=True):
    """A run of text of one tone; ``place`` is the line it names, if it names one."""

    text: str
    tone: Tone = "neutral"
    place: Place | None = None


#: Runs that belong together; they stand on one line where there is room.
Text: TypeAlias = tuple[Run, ...]


class Phrases(msgspec.Struct, frozen=True):
    """Short statements in a row: "8 blocks/SM", "limited by registers".

    Attributes:
        items: At least one.
        stands_for: Key of the section that shows the same in full: a medium that shows that
            section leaves these out.
        separator: What stands between two of them.
    """

    items: tuple[Text, ...]
    stands_for: str = ""
    separator: str = " · "


class Sentence(msgspec.Struct, frozen=True):
    """Prose, which writers may wrap at any space.

    Attributes:
        text: The sentence.
        tone: Its verdict.
        label: What it is about: "Registers"; may be empty.
    """

    text: str
    tone: Tone = "neutral"
    label: str = ""


class Fact(msgspec.Struct, frozen=True):
    """One thing a reader asks for first, with what it comes from.

    Attributes:
        title: "Occupancy".
        value: "100 %"; "strong" runs are the figure, the others its unit.
        lines: Details, each on a line of its own; the first stands beside the value where there
            is room.
        tone: The verdict on the whole.
        stands_for: As of ``Phrases``.
        short: A shorter title for narrow media; empty if the title is short itself.
    """

    title: str
    value: Text
    lines: tuple[Phrases, ...] = ()
    tone: Tone = "neutral"
    stands_for: str = ""
    short: str = ""


class Facts(msgspec.Struct, frozen=True):
    """Facts in the order of their importance."""

    facts: tuple[Fact, ...]


class Setting(msgspec.Struct, frozen=True):
    """A name and its value: "num_warps" "8"; the name may be empty."""

    name: str
    value: str
    tone: Tone = "neutral"


class Settings(msgspec.Struct, frozen=True):
    """What the kernel was compiled or called with; ``folded`` where it matters less."""

    settings: tuple[Setting, ...]
    title: str = ""
    folded: bool = False


class Headline(msgspec.Struct, frozen=True):
    """The verdict on a whole document, as phrases."""

    phrases: tuple[str, ...]
    tone: Tone = "neutral"


class Bar(msgspec.Struct, frozen=True):
    """A bar in a table's cell: ``share`` (0..1) of the column's width."""

    share: float
    tone: Tone = "neutral"


Cell: TypeAlias = Text | Bar


class Column(msgspec.Struct, frozen=True):
    """A column of a table.

    Attributes:
        title: May be empty.
        numbers: Whether it holds numbers, which are aligned to the right.
        code: Whether it holds lines of code, which are shortened where there is no room.
    """

    title: str = ""
    numbers: bool = False
    code: bool = False


class Row(msgspec.Struct, frozen=True):
    """A row of a table.

    Attributes:
        cells: As many as the table has columns.
        tone: "strong" for a row that matters most, "dim" for one that did not change.
        note: A sentence about the row as a whole; may be empty.
        anchor: Key of the section that the row's first cell leads to; may be empty.
    """

    cells: tuple[Cell, ...]
    tone: Tone = "neutral"
    note: str = ""
    anchor: str = ""


class Table(msgspec.Struct, frozen=True):
    """A table.

    Attributes:
        columns: Its columns.
        rows: Its rows, the most important first.
        name: What it holds, for readers who do not see it.
        shown: How many rows a medium with little room shows; ``None`` for all.
        sortable: Whether an interactive medium should let the reader sort and filter it.
        noun: What to call a row: "configuration".
        more: Appended where rows are left out: "; --all shows them".
        stands_for: As of ``Phrases``.
    """

    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    name: str = ""
    shown: int | None = None
    sortable: bool = False
    noun: str = "row"
    more: str = ""
    stands_for: str = ""


class Items(msgspec.Struct, frozen=True):
    """A list.

    Attributes:
        items: Its items.
        label: Stands before it; may be empty.
        tone: Of the label.
        code: Lines of code under the label; may be empty.
    """

    items: tuple[Text, ...]
    label: str = ""
    tone: Tone = "dim"
    code: str = ""


class FindingItem(msgspec.Struct, frozen=True):
    """A finding.

    Attributes:
        state: "new", "gone", "was" or "now" in a comparison; else empty.
        state_tone: The verdict on that.
        severity: As reported.
        code: "IRL201".
        place: Where; ``None`` if unknown.
        line: The text of that line; empty if unknown.
        message: What is the case.
        hint: What to do; may be empty.
    """

    severity: Severity
    code: str
    place: Place | None
    line: str
    message: str
    hint: str
    state: str = ""
    state_tone: Tone = "neutral"

    @property
    def tone(self) -> Tone:
        """The verdict that the severity is."""
        return SEVERITY_TONES[self.severity]

    @property
    def names_place(self) -> bool:
        """Whether the message itself names the place."""
        return self.place is not None and str(self.place) in self.message


class Findings(msgspec.Struct, frozen=True):
    """Findings, the most severe first.

    Attributes:
        findings: At least one.
        summary: Counts them: "1 warning, 2 notes".
        explain: Where to read more; may be empty.
        title: What to call them.
    """

    findings: tuple[FindingItem, ...]
    summary: Text
    explain: str = ""
    title: str = "Findings"


class Phase(msgspec.Struct, frozen=True):
    """A part of a timeline: "prologue", "steady state" or "epilogue".

    Attributes:
        name: Its name.
        start: Where it begins, in iterations; the loop begins at 0.
        end: Where it ends.
    """

    name: str
    start: float
    end: float


class Tile(msgspec.Struct, frozen=True):
    """Data, or a product, on its way; all positions are in iterations.

    Attributes:
        name: "data 0", "product 0".
        issued: Where its copy (product) is issued; negative before the loop.
        used: Where it is computed with (waited for).
        done: Where that ends.
    """

    name: str
    issued: float
    used: float
    done: float


class Timeline(msgspec.Struct, frozen=True):
    """A software pipeline over the iterations of a short loop.

    Attributes:
        described: The picture in a sentence.
        phases: In order; their ends are the picture's.
        iterations: Iterations of the loop, epilogue included.
        steady: Those of the steady state.
        tiles: A row each.
        in_flight: Groups in flight during the compute of each steady iteration; ``None`` where
            that is unknown.
        issued: What the sign of an issue means: "copy issued".
        used: What the sign of a use means: "computed with".
    """

    described: str
    phases: tuple[Phase, ...]
    iterations: int
    steady: int
    tiles: tuple[Tile, ...]
    in_flight: int | None
    issued: str
    used: str

    @property
    def start(self) -> float:
        """Where the picture begins, in iterations."""
        return self.phases[0].start


class Staircase(msgspec.Struct, frozen=True):
    """CTAs per SM over the amount of one resource.

    Attributes:
        title: "blocks/SM over registers/thread".
        resource: What the amounts are of, in the vendor's words.
        unit: Of the amounts: "registers/thread".
        binary: Whether the amounts are bytes, whose axis has ticks in KiB.
        steps: From which amount on how many fit, ascending.
        last: The largest amount.
        at: The kernel's amount.
        blocks: How many fit with that.
        here: Both in words: "30 registers: 8 blocks".
        numbers: The steps as a table.
    """

    title: str
    resource: str
    unit: str
    binary: bool
    steps: tuple[tuple[int, int], ...]
    last: int
    at: int
    blocks: int
    here: str
    numbers: Table

    @property
    def top(self) -> int:
        """The most that fit with any amount."""
        return max(blocks for _, blocks in self.steps)

    def blocks_with(self, amount: int) -> int:
        """Return how many CTAs fit with an amount."""
        return max((step for step in self.steps if step[0] <= amount), default=(0, 0))[1]

    def spans(self) -> Iterator[tuple[int, int, int]]:
        """Yield each step's first and last amount and how many fit."""
        ends = [*(start for start, _ in self.steps[1:]), self.last]
        for (start, blocks), end in zip(self.steps, ends, strict=True):
            yield start, end, blocks


class Curve(msgspec.Struct, frozen=True):
    """A figure at each instruction of a stage.

    Attributes:
        described: The picture in a sentence.
        values: One per instruction.
        peak: The largest, as reported.
        level: A line to compare with, such as the registers allocated; ``None`` for none.
        level_name: What it is: "30 allocated".
        unit: Of the values: "live".
        over: What the values are counted over: "instruction".
    """

    described: str
    values: tuple[int, ...]
    peak: int
    level: int | None
    level_name: str
    unit: str
    over: str

    @property
    def at(self) -> int:
        """Index of the first of the largest values."""
        return self.values.index(max(self.values))

    def thinned(self, most: int) -> list[tuple[int, int]]:
        """Return at most ``most`` points (index, value): the highest of each stretch."""
        columns = min(most, len(self.values))
        points = []
        for column in range(columns):
            start = len(self.values) * column // columns
            stretch = self.values[start : len(self.values) * (column + 1) // columns]
            highest = max(stretch)
            points.append((start + stretch.index(highest), highest))
        return points


class Segment(msgspec.Struct, frozen=True):
    """A part of a strip.

    Attributes:
        name: What it is: "3 × 4,096 B f32[1024]".
        place: The line it was made for.
        amount: Bytes; 0 where it takes no room of its own.
        kind: How to draw it.
        copies: How many equal cells it is made of.
        alive: Where its contents are needed: "ttgir:60 to 128"; may be empty.
        note: "not alive at the peak"; may be empty.
    """

    name: str
    amount: int
    kind: Literal["buffer", "barrier", "scratch"]
    place: Place | None = None
    copies: int = 1
    alive: Text = ()
    note: str = ""


class Strip(msgspec.Struct, frozen=True):
    """Memory cut into what it is used for; ``drawn`` is false where a size is unknown."""

    described: str
    total: int
    segments: tuple[Segment, ...]
    drawn: bool = True


class Point(msgspec.Struct, frozen=True):
    """A point of a scatter plot and what it stands for."""

    x: float
    y: float
    name: str


class Scatter(msgspec.Struct, frozen=True):
    """Points over two axes; y is a share (0..1)."""

    described: str
    points: tuple[Point, ...]
    over: str


class Code(msgspec.Struct, frozen=True):
    """The Python and the stages of a report, linked line by line."""

    report: Report
    listing: "Listing"


class CodeDiff(msgspec.Struct, frozen=True):
    """A stage of two captures.

    Attributes:
        title: What is compared.
        summary: How much moved.
        comparison: The rows.
        folded: Whether an interactive medium folds it at first.
    """

    title: str
    summary: str
    comparison: "CodeComparison"
    folded: bool = True


class Section(msgspec.Struct, frozen=True):
    """A titled part of the document.

    Attributes:
        title: May be empty.
        children: What it holds.
        key: Stable name: "occupancy", "pipelines"; several sections may share one.
        aside: Stands beside the title, smaller.
        tone: The verdict on it.
        detail: Name of the option that asks a medium with little room for it; empty where it is
            always shown.
        folded: Whether an interactive medium folds it at first.
        full: Whether a comment leaves it to the folded text of the whole.
        wide: Whether it takes the whole width.
    """

    title: str
    children: "tuple[Node, ...]"
    key: str = ""
    aside: Text = ()
    tone: Tone = "neutral"
    detail: str = ""
    folded: bool = False
    full: bool = False
    wide: bool = False

    @property
    def is_part(self) -> bool:
        """Whether it is a fold around a whole report or comparison of a document of several."""
        return self.folded and len(self.children) == 1 and isinstance(self.children[0], Section)


Drawing: TypeAlias = Timeline | Staircase | Curve | Strip | Scatter
Node: TypeAlias = (
    Section | Headline | Settings | Facts | Phrases | Sentence | Items | Table | Findings | Code
    | CodeDiff | Drawing
)  # fmt: skip


def text(*parts: str | Run) -> Text:
    """Return runs and plain strings as one text; empty strings are left out."""
    runs = (Run(part) if isinstance(part, str) else part for part in parts)
    return tuple(run for run in runs if run.text)


def phrases(*items: str | Run | Text, stands_for: str = "", separator: str = " · ") -> Phrases:
    """Return phrases; empty ones are left out."""
    texts = (item if isinstance(item, tuple) else text(item) for item in items)
    return Phrases(tuple(each for each in texts if each), stands_for, separator)


#: The cells of a row before they are texts.
Cells: TypeAlias = list[str | Run | Cell]


def table(columns: Iterable[Column], rows: Iterable[Cells], name: str = "") -> Table:
    """Return a table of plain rows."""
    return Table(tuple(columns), tuple(Row(tuple(map(cell, row))) for row in rows), name)


def cell(content: str | Run | Cell) -> Cell:
    """Return a cell of a table."""
    return text(content) if isinstance(content, str | Run) else content


def plain(content: Sequence[Run]) -> str:
    """Return a text without its tones."""
    return "".join(run.text for run in content)
