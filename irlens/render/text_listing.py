"""Code as text: a stage with annotations in a gutter, and what became of a line of Python."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain

import msgspec

from irlens.model.listing import PipelineAnnotation, PythonLine, StageListing
from irlens.model.report import Pipeline
from irlens.model.text import plural, printable_line
from irlens.render.text_page import Page
from irlens.render.view import gutters
from irlens.render.view.nodes import Run

#: Marks instructions whose order the assembler serialised; the listing's note explains it.
_SERIALIZED = "*"
#: What a line moves.
_TRAFFIC = ("requested", "distinct", "sectors")
_MAX_PARTNERS = 2
_RAILS = 4


def annotated(
    listing: StageListing,
    lines: Iterable[tuple[int | None, str]],
    pipelines: Sequence[Pipeline],
    traffic: Mapping[int, tuple[str, str, str]] | None = None,
) -> Iterator[tuple[str, str]]:
    """Yield the gutter and the text of each line of a stage.

    The gutter holds the line number, the control fields of NVIDIA's machine code or what AMD's
    waits for, live 32-bit registers per thread, the line's role in a software pipeline with the
    lines of its partners, what the line moves, and a rail for each enclosing loop, as far as the
    stage has them.

    Args:
        lines: Its lines with their numbers, others without one.
        traffic: What each line moves: bytes requested and distinct, and sectors.
    """
    columns = list(_columns(listing, pipelines, traffic or {}))
    yield "".join(f"{each.padded(each.title)}  " for each in columns).rstrip(), ""
    notes = [listing.problem, listing.note and f"{_SERIALIZED} {listing.note}"]
    for loop in listing.loops:
        issued = gutters.describe_iteration(loop, listing.stage)
        notes.append(issued and f"loop {loop.first}–{loop.last}, {issued}")
    added = ((None, f"{listing.comment} {note}") for note in notes if note)
    for number, line in chain(added, lines):
        cells = (each.cells.get(number, "") if number is not None else "" for each in columns)
        gutter = (f"{each.padded(cell)}  " for each, cell in zip(columns, cells, strict=True))
        yield "".join(gutter), line


class _Column(msgspec.Struct, frozen=True):
    """A column of the gutter: its cells by line, aligned at the right if they are numbers."""

    title: str
    cells: Mapping[int, str]
    width: int
    numbers: bool = False

    def padded(self, cell: str) -> str:
        return cell.rjust(self.width) if self.numbers else cell.ljust(self.width)


def _columns(
    listing: StageListing,
    pipelines: Sequence[Pipeline],
    traffic: Mapping[int, tuple[str, str, str]],
) -> Iterator[_Column]:
    """Yield the columns that have cells."""
    roles: dict[int, str] = {}
    for mark in listing.marks:
        previous, role = roles.get(mark.line), _role(mark, pipelines)
        roles[mark.line] = f"{previous}; {role}" if previous else role
    lines = range(1, len(listing.lines) + 1)
    rails = gutters.Rails(listing.loops, _RAILS)
    waits = {n: gutters.describe_waits(each) for n, each in listing.waits.items()}
    found: list[tuple[str, dict[int, str], bool]] = [
        ("line", {n: str(n) for n in lines}, True),
        ("schedule", {n: gutters.notation(each) for n, each in listing.control.items()}, False),
        ("waits for", waits, False),
        ("live", {n: str(each) for n, each in enumerate(listing.live, 1) if each >= 0}, True),
        ("pipeline", roles, False),
        *((title, {n: row[at] for n, row in traffic.items()}, True)
          for at, title in enumerate(_TRAFFIC)),
        ("", {n: rails.at(n) for n in lines} if listing.loops else {}, False),
    ]  # fmt: skip
    for title, cells, numbers in found:
        if cells or title == "line":
            yield _Column(title, cells, max(map(len, (title, *cells.values()))), numbers)


def _role(mark: PipelineAnnotation, pipelines: Sequence[Pipeline]) -> str:
    """Return "copy → 122", "wait ← 122, 140 +1": the role, and the lines of its partners."""
    word = gutters.role_word(mark, pipelines) + (_SERIALIZED if mark.serialized else "")
    if not mark.partners:
        return word
    lines = ", ".join(map(str, mark.partners[:_MAX_PARTNERS]))
    more = len(mark.partners) - _MAX_PARTNERS
    arrow = "←" if mark.role == "wait" else "→"
    return f"{word} {arrow} {lines}" + (f" +{more}" if more > 0 else "")


def line_text(found: PythonLine, page: Page) -> str:
    """Return an empty page with the code of a Python line at every stage, as text."""
    code = printable_line(found.text)
    page.row([Run(str(found.place), "strong"), Run(f"  {code}".rstrip())])
    for stage in found.stages:
        page.blank()
        page.row([Run(stage.stage, "strong"), Run(f"  {plural(len(stage.lines), 'line')}")])
        width = len(str(stage.lines[-1].number)) if stage.lines else 0
        previous: int | None = None
        for line in stage.lines:
            if previous is not None and line.number > previous + 1:
                page.row([Run(" " * (width + 1) + "⋮", "dim")])
            previous = line.number
            frames = "".join(f" < {frame}" for frame in line.frames)
            text = f"  {line.number:>{width}}  {printable_line(line.text.rstrip())}"
            page.row([Run(text), Run(frames and f"  {frames}", "dim")])
    return page.text()
