"""Drawings: timelines, staircases, curves, strips, and two of a kind as one."""

from collections.abc import Iterator
from typing import Literal, TypeAlias

import msgspec

from irlens.render.view.nodes.charts import Chart
from irlens.render.view.nodes.prose import Place, Text
from irlens.render.view.nodes.tables import Table


class Phase(msgspec.Struct, frozen=True):
    """A part of a timeline: "prologue", "steady state" or "epilogue".

    Attributes:
        start: Where it begins, in iterations; the loop begins at 0.
    """

    name: str
    start: float
    end: float


class Tile(msgspec.Struct, frozen=True):
    """Data, or a product, in flight; all positions are in iterations.

    Attributes:
        name: "data 0", "product 0".
        issued: Where its copy (product) is issued; negative before the loop.
        used: Where it is computed with (waited for).
        arrived: Where it has arrived, if it is then kept until it is used.
    """

    name: str
    issued: float
    used: float
    done: float
    arrived: float | None = None


class Timeline(msgspec.Struct, frozen=True):
    """A software pipeline over the iterations of a short loop.

    Attributes:
        phases: In order; their ends are the picture's.
        iterations: Iterations of the loop, epilogue included.
        in_flight: Groups in flight during the compute of each steady iteration, of a matrix
            product at the end of one; ``None`` where that is unknown.
        issued: What the sign of an issue means: "copy issued".
        used: What the sign of a use means: "computed with".
        kept: What the sign between arrival and use means: "kept"; empty where there is none.
    """

    described: str
    phases: tuple[Phase, ...]
    iterations: int
    steady: int
    tiles: tuple[Tile, ...]
    in_flight: int | None
    issued: str
    used: str
    kept: str = ""

    @property
    def start(self) -> float:
        """Where the picture begins, in iterations."""
        return self.phases[0].start

    def shorter(self) -> "Timeline | None":
        """Return the picture with one steady iteration less; ``None`` if there is but one."""
        if self.steady <= 1:
            return None
        phases = tuple(
            Phase(each.name, each.start - (each.start > 0), each.end - (each.end > 0))
            for each in self.phases
        )
        return msgspec.structs.replace(
            self, phases=phases, iterations=self.iterations - 1, steady=self.steady - 1,
            tiles=self.tiles[:-1],
        )  # fmt: skip


class Staircase(msgspec.Struct, frozen=True):
    """CTAs per SM over the amount of one resource.

    Attributes:
        unit: Of the amounts: "registers/thread".
        binary: Whether the amounts are bytes, whose axis has ticks in KiB.
        steps: From which amount on how many fit, ascending.
        here: Both in words: "30 registers: 8 blocks".
    """

    title: str
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
        amount: Bytes; 0 where it takes no room of its own.
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


class Overlay(msgspec.Struct, frozen=True):
    """A drawing of both sides of a comparison, over each other or side by side.

    Attributes:
        before: The first side's; ``None`` where it has none.
        after: The second side's, of the same kind.
    """

    before: "Timeline | Staircase | Curve | None"
    after: "Timeline | Staircase | Curve | None"
    names: tuple[str, str]


#: A drawing of one thing.
Picture: TypeAlias = Timeline | Staircase | Curve | Strip | Chart
Drawing: TypeAlias = Picture | Overlay
