"""Charts with axes: bars, heat maps, and plots of lines and points, each with its numbers."""

import math
from typing import Literal, TypeAlias

import msgspec

from irlens.model.estimate import Mark
from irlens.render.view.nodes.tables import Table

#: The sign of each mark; none for what has no mark.
MARK_SIGNS: dict[Mark | None, str] = {"fastest": "★", "as fast": "≈", None: ""}

#: What the colour of a mark stands for. A bound of a time is its own kind; the others are of bytes.
KindKey: TypeAlias = Literal[
    "dram", "l2", "l1", "shared", "tensor", "fma", "alu", "xu", "issue", "latency", "launch",
    "distinct", "again", "written", "beside", "plain",
]  # fmt: skip


class Axis(msgspec.Struct, frozen=True, kw_only=True):
    """An axis of numbers.

    Attributes:
        title: What the numbers are, with their unit: "estimated time (µs)".
        log: Whether equal ratios are equally far apart; ``start`` is then positive.
    """

    title: str
    start: float = 0.0
    end: float
    ticks: tuple[tuple[float, str], ...]
    log: bool = False

    def share(self, value: float) -> float:
        """Return where a number is, as a share (0..1) of the axis; at most at its ends."""
        within = min(max(value, self.start), self.end)
        first, last, here = map(self._scaled, (self.start, self.end, within))
        return (here - first) / (last - first) if last > first else 0.5

    def _scaled(self, value: float) -> float:
        return math.log(value) if self.log else value


class Kind(msgspec.Struct, frozen=True):
    """An entry of a legend: a kind of mark and what it stands for."""

    key: KindKey
    name: str


class Part(msgspec.Struct, frozen=True):
    """A stretch of a bar; those of a row follow each other."""

    amount: float
    kind: KindKey


class BarRow(msgspec.Struct, frozen=True, kw_only=True):
    """A bar.

    Attributes:
        name: Stands before it: "64, 8, 3".
        described: All about it in a phrase, for a reader who points at it.
        words: Its amount: "338 µs".
        label: Its kind in a word or two, so that colour is not the only sign: "L2".
        low: Where the range of its amount begins; ``None`` where there is none.
        measured: The amount that was measured; ``None`` where none was.
        mark: Whether it is the fastest, or as fast; ``None`` for neither.
    """

    name: str
    described: str
    parts: tuple[Part, ...]
    words: str
    label: str = ""
    low: float | None = None
    high: float | None = None
    measured: float | None = None
    mark: Mark | None = None

    @property
    def amount(self) -> float:
        """The sum of its parts."""
        return sum(part.amount for part in self.parts)


class Bars(msgspec.Struct, frozen=True, kw_only=True):
    """Horizontal bars over one axis.

    Attributes:
        names: What the names of the rows are: "BLOCK_M, num_warps".
        range: What the range of a row is; empty where no row has one.
        measured: What the mark of a measured amount is; empty where no row has one.
        marks: What the signs of marked rows mean.
        repeats: Whether a table beside it shows the same rows; text then leaves the bars out.
    """

    described: str
    names: str
    axis: Axis
    rows: tuple[BarRow, ...]
    kinds: tuple[Kind, ...]
    range: str = ""
    measured: str = ""
    marks: dict[Mark, str] = {}
    numbers: Table
    repeats: bool = False


class HeatCell(msgspec.Struct, frozen=True, kw_only=True):
    """A cell of a heat map.

    Attributes:
        described: All about it in a phrase, for a reader who points at it.
        step: Index in the map's steps; ``None`` where the amount is unknown.
        words: The amount: "338 µs"; "–" where there is none.
        kind: The kind of its mark; ``None`` for none.
        label: The kind in a word, so that colour is not the only sign.
        detail: The range, or what was measured: "300–380".
        mark: Whether it is the fastest, or as fast; ``None`` for neither.
    """

    described: str
    step: int | None = None
    words: str
    kind: KindKey | None = None
    label: str = ""
    detail: str = ""
    mark: Mark | None = None


class HeatMap(msgspec.Struct, frozen=True, kw_only=True):
    """An amount over two axes of settings.

    Attributes:
        amount: What the cells hold: "estimated time".
        cells: By row; ``None`` where there is no configuration.
        steps: What each shade means, from the best to the worst.
        detail: What stands under the amount; empty where nothing does.
    """

    described: str
    amount: str
    unit: str
    across: str
    down: str
    columns: tuple[str, ...]
    rows: tuple[str, ...]
    cells: tuple[tuple[HeatCell | None, ...], ...]
    steps: tuple[str, ...]
    kinds: tuple[Kind, ...]
    detail: str
    marks: dict[Mark, str]
    numbers: Table


class Line(msgspec.Struct, frozen=True):
    """A line of a plot through points (x, y), ascending in x."""

    name: str
    points: tuple[tuple[float, float], ...]
    ceiling: bool = False


class Point(msgspec.Struct, frozen=True, kw_only=True):
    """A point of a plot.

    Attributes:
        described: All about it in a phrase, for a reader who points at it.
        low: Where the range of y begins; ``None`` where there is none.
        mark: Whether it is the fastest, or as fast; ``None`` for neither.
    """

    x: float
    y: float
    described: str
    kind: KindKey = "plain"
    low: float | None = None
    high: float | None = None
    measured: bool = False
    mark: Mark | None = None


class Band(msgspec.Struct, frozen=True):
    """A stretch of the x axis at which one thing holds.

    Attributes:
        name: What holds: "bound by DRAM".
    """

    start: float
    end: float
    kind: KindKey
    name: str


class Plot(msgspec.Struct, frozen=True, kw_only=True):
    """Lines and points over two axes.

    Attributes:
        lines: The first matters most.
        measured: What the mark of a measured point is; empty where there is none.
        range: What the range of a point is; empty where none has one, or it needs no word.
        bands: What holds where, from left to right. Lines then go through the points that were not
            measured, so that a medium with little room leaves these out.
        numbers: The same as a table; ``None`` where a table beside it has them.
    """

    described: str
    x: Axis
    y: Axis
    lines: tuple[Line, ...]
    points: tuple[Point, ...] = ()
    kinds: tuple[Kind, ...] = ()
    measured: str = ""
    marks: dict[Mark, str] = {}
    range: str = ""
    bands: tuple[Band, ...] = ()
    numbers: Table | None = None


Chart: TypeAlias = Bars | HeatMap | Plot
