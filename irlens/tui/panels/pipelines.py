"""Software pipelines as timelines: what is copied when, and when it is used.

The picture is that of a short loop: as many iterations in the steady state as there is room for,
and the last ones, in which nothing new is fetched any more.
"""

from collections.abc import Iterator

from textual.content import Content

from irlens.model.report import Pipeline, Report
from irlens.model.text import printable_line
from irlens.model.words import Words, describe_cover, describe_depth, describe_prefetch
from irlens.tui.drawing import DIM, GOOD, MAIN, WARN, cut, flowing, hanging, lines

TITLE = "Pipelines"

_LABEL = 10
_MOST_STEADY = 3
_LEAST_CELL, _MOST_CELL = 5, 12
#: Columns of what comes before the loop.
_PROLOGUE = 10
#: Groups of these are begun in the iteration that they belong to, not ahead of it.
_PRODUCTS = frozenset({"wgmma", "tcgen05"})


def draw(report: Report, width: int) -> Content:
    """Draw every pipeline of a report, one below the other."""
    if not report.pipelines:
        reason = report.unknown.get("pipelines", "none was found")
        return Content.styled(reason, DIM)
    rows: list[Content] = []
    for number, pipeline in enumerate(report.pipelines):
        if number:
            rows.append(Content(""))
        rows += _rows(pipeline, report, Words(report), width)
    return lines(rows)


def _rows(pipeline: Pipeline, report: Report, words: Words, width: int) -> Iterator[Content]:
    place = pipeline.place
    code = printable_line(report.code.get(place, ""))
    room = width - len(place) - 2
    yield Content.assemble((place, "bold"), "  ", (cut(code, room), DIM))
    ahead = [Content(printable_line(told)) for told in describe_prefetch(pipeline)]
    yield flowing(Content(""), [verdict(pipeline), *ahead], " · ", width)
    if pipeline.reason:
        yield hanging(Content(""), pipeline.reason, DIM, width)
    traffic = filter(None, [*words.traffic(pipeline), describe_cover(pipeline)])
    if moved := [Content.styled(told, DIM) for told in traffic]:
        yield flowing(Content(""), moved, " · ", width)
    if drawn := timeline(pipeline, width):
        yield Content("")
        yield from drawn


def verdict(pipeline: Pipeline) -> Content:
    """Return "cp.async 4 of 4 stages ✓" or "unknown"."""
    stages = describe_depth(pipeline)
    if stages is None:
        return Content.styled(pipeline.verdict, WARN)
    good = pipeline.verdict == "pipelined"
    sign = " ✓" if good else " ✗"
    return Content.assemble(
        f"{pipeline.kind or 'loads'} ", (f"{stages}{sign}", GOOD if good else WARN)
    )


def timeline(pipeline: Pipeline, width: int) -> list[Content]:
    """Draw one pipeline over time.

    Nothing is drawn where the distance is not known, or where there is no room for it; nor for
    loads into registers that are waited for otherwise than they are used.
    """
    ahead = pipeline.prefetch_iterations
    if ahead is None or pipeline.kind is None:
        return []
    if pipeline.kind == "register" and pipeline.verdict != "pipelined":
        return []
    products = pipeline.kind in _PRODUCTS
    first = 0 if products or not ahead else _PROLOGUE
    room = width - _LABEL - first
    steady = min(_MOST_STEADY, room // _LEAST_CELL - ahead)
    if steady < 1:
        return []
    count = steady + ahead
    cell = min(room // count, _MOST_CELL)
    picture = _Picture(pipeline, cell=cell, first=first, steady=steady, products=products)
    return [
        picture.phases(),
        picture.iterations(),
        *(picture.tile(number) for number in range(steady if products else count)),
        *picture.in_flight(),
        Content.styled(_LEGEND_PRODUCTS if products else _LEGEND, DIM),
    ]


_LEGEND = "● copy begins  ━ in flight  ■ computed with"
_LEGEND_PRODUCTS = "● product begins  ━ in flight  ■ waited for"


class _Picture:
    """The rows of a timeline; a column of ``cell`` characters for each iteration."""

    def __init__(
        self, pipeline: Pipeline, *, cell: int, first: int, steady: int, products: bool
    ) -> None:
        self._pipeline = pipeline
        self._cell = cell
        self._steady = steady
        self._products = products
        self._ahead = pipeline.prefetch_iterations or 0
        self._first = first

    def phases(self) -> Content:
        """What the columns belong to."""
        prologue = "prologue".ljust(self._first) if self._first else ""
        steady = _phase("steady state", self._steady * self._cell)
        epilogue = _phase("epilogue", self._ahead * self._cell)
        return Content.assemble(
            " " * _LABEL, (prologue, DIM), (steady, MAIN), (epilogue.rstrip(), DIM)
        )

    def iterations(self) -> Content:
        """The numbers of the iterations."""
        numbers = [str(number).ljust(self._cell) for number in range(self._steady + self._ahead)]
        label = "iteration".ljust(_LABEL + self._first)
        return Content.assemble((label, DIM), "".join(numbers).rstrip())

    def tile(self, number: int) -> Content:
        """What is fetched for one iteration, or multiplied in it, from its begin to its use."""
        if self._products:
            begin = self._at(number) + self._cell // 2
            use = self._at(number + self._ahead) + (0 if self._ahead else self._cell - 2)
        else:
            begin = self._copied(number)
            use = self._at(number) + (self._cell // 2 if begin >= self._at(number) else 0)
        computed = 1 if self._products else max(self._cell // 2 - 1, 1)
        flight = max(use - begin - 1, 0)
        what = "product" if self._products else "data"
        return Content.assemble(
            (f"{what} {number}".ljust(_LABEL), DIM),
            " " * begin,
            ("●", MAIN),
            ("━" * flight, MAIN),
            ("■" * computed, GOOD),
        )

    def in_flight(self) -> Iterator[Content]:
        """How many groups are in flight during the compute, under each iteration that is steady."""
        during = self._pipeline.groups_during_compute
        if during is None:
            return
        cells = f"{during}".ljust(self._cell) * self._steady
        yield Content.assemble(
            ("in flight".ljust(_LABEL + self._first), DIM),
            (cells.rstrip(), WARN if during == 0 else ""),
            (" groups", DIM),
        )

    def _at(self, iteration: int) -> int:
        return self._first + iteration * self._cell

    def _copied(self, number: int) -> int:
        """Where the copy for an iteration begins."""
        if number < self._ahead:
            return min(number * 2, self._first - 1)
        # Before the wait of the iteration, or after it: what is outstanding at the wait tells.
        waiting, groups = self._pipeline.outstanding_at_wait, self._pipeline.groups_per_iteration
        early = waiting is not None and groups and waiting > self._ahead * groups
        begin = self._at(number - self._ahead)
        return begin + (0 if early or not self._ahead else self._cell - 2)


def _phase(name: str, width: int) -> str:
    """A name, or as many of its words as there is room for, and a line as wide as its columns."""
    room = max(width - 1, 0)
    while len(name) > room:
        name = name.rpartition(" ")[0]
    drawn = f"{name} " if name else ""
    return drawn.ljust(room, "─")[:room].ljust(width)
