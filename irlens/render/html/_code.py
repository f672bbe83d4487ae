"""Python and the stages side by side, every line with what is known of it.

A stage may have a hundred thousand lines, so that a line is one element and its numbers are
attributes. Lines are in blocks, which a browser lays out only when they come into view.
"""

from collections.abc import Iterator, Sequence
from itertools import islice

from irlens.model.listing import Listing, StageListing
from irlens.model.report import Report
from irlens.model.source import SourceLocation
from irlens.model.text import count, plural
from irlens.render.html._markup import Markup, escape, join, tag
from irlens.render.html._places import Places, files
from irlens.render.html._pressure import STAGES
from irlens.render.html._tokens import coloured, has_colours

#: What links the panes; without it they are read all the same.
SCRIPT = "code.js"
_BLOCK = 100
_HEATS = 10
_DEEPEST = 4
#: What a page opens with: the Python and what is nearest to the machine of these.
_OPENED = ("ptx", "amdgcn", "sass", "llir", "ttgir", "ttir")

Line = tuple[str, int]
Chain = tuple[Line, ...]


class _Links:
    """Which lines of Python belong to which chains; chains have numbers on the page."""

    def __init__(self, listing: Listing) -> None:
        self._numbers: dict[Chain, int] = {}
        shown = set(files(listing))
        self.first: dict[Line, list[int]] = {}
        self.outer: dict[Line, list[int]] = {}
        for stage in listing.stages.values():
            for chain in stage.chains:
                self._add(_chain(chain), shown)

    def number(self, chain: Sequence[SourceLocation]) -> int:
        """Return a chain's number."""
        return self._numbers[_chain(chain)]

    def _add(self, chain: Chain, shown: set[str]) -> None:
        if chain in self._numbers:
            return
        number = self._numbers[chain] = len(self._numbers)
        # The innermost line that the page has is the chain's own; those that called it follow.
        lines = list(dict.fromkeys(line for line in chain if line[0] in shown))
        for index, line in enumerate(lines):
            found = self.outer if index else self.first
            found.setdefault(line, []).append(number)


def panes(report: Report, listing: Listing, places: Places) -> Markup:
    """Return the section."""
    links = _Links(listing)
    opened = next((name for name in _OPENED if name in listing.stages), None)
    python = [_python(name, report, listing, links, places) for name in files(listing)]
    stages = [
        _stage(stage, links, places, opened=name == opened)
        for name, stage in listing.stages.items()
    ]
    return tag(
        "section",
        tag("h2", "Code"),
        _legend(),
        tag("p", role="status", class_="selection", aria_live="polite"),
        tag("div", *python, *stages, class_="panes"),
        class_="code",
    )


def _legend() -> Markup:
    return tag(
        "p",
        tag("span", "12", class_="live h6"), " live 32-bit registers per thread, as a bar of the "
        "stage's peak", tag("span", "copy", class_="mark"), " part of a software pipeline",
        tag("span", "", class_="loop d1"), " in a loop",
        class_="legend",
    )  # fmt: skip


def _python(name: str, report: Report, listing: Listing, links: _Links, places: Places) -> Markup:
    text = listing.python.get(name)
    if text is None:
        known = sorted(number for file, number in (*links.first, *links.outer) if file == name)
        lines = {number: Markup("") for number in known}
    else:
        lines = dict(enumerate(coloured(text, "python"), 1))
    live, peak = _pressure(report, name)
    marks = {
        each.source.line: each.kind or "loop"
        for each in report.pipelines
        if each.source and each.source.file == name
    }
    prefix = places.file_id(name)
    rows = (
        _row(
            prefix, number, line,
            links=_linked(links, (name, number)),
            live=live.get(number, -1), peak=peak, mark=marks.get(number, ""),
        )
        for number, line in lines.items()
    )  # fmt: skip
    note = None if text is not None else "the capture does not hold this file"
    return _pane(name, rows, plural(len(lines), "line"), note, kind="python", opened=True)


def _linked(links: _Links, line: Line) -> str:
    """The chains of a line, as attributes: k those that are its own, o those that it calls."""
    own = " ".join(map(str, links.first.get(line, ())))
    outer = " ".join(map(str, links.outer.get(line, ())))
    return (f' data-k="{own}"' if own else "") + (f' data-o="{outer}"' if outer else "")


def _pressure(report: Report, name: str) -> tuple[dict[int, int], int]:
    """Peaks by line of a Python file, and the largest."""
    for stage in STAGES:
        found = getattr(report.pressure, stage)
        if found is not None and found.peak:
            lines = {e.source.line: e.peak for e in found.lines if e.source.file == name}
            return lines, found.peak
    return {}, 0


def _stage(stage: StageListing, links: _Links, places: Places, *, opened: bool) -> Markup:
    depths = _depths(stage)
    marks = {mark.line: mark for mark in stage.marks}
    numbers = [links.number(chain) for chain in stage.chains]
    prefix = places.stage_id(stage.stage)

    def rows() -> Iterator[str]:
        lines = coloured(stage.text, stage.stage)
        for number, line in enumerate(lines, 1):
            chain = stage.chain[number - 1] if number <= len(stage.chain) else -1
            mark = marks.get(number)
            yield _row(
                prefix, number, line,
                links=f" data-c={numbers[chain]}" if chain >= 0 else "",
                live=stage.live[number - 1] if number <= len(stage.live) else -1,
                peak=stage.peak or 0,
                mark=mark.role if mark else "",
                partners=mark.partners if mark else (),
                depth=depths[number - 1],
            )  # fmt: skip

    told = plural(len(stage.lines), "line")
    if stage.peak is not None:
        told += f", at most {count(stage.peak)} live"
    if not has_colours(stage.text):
        told += ", too long for colours"
    # Without live registers and marks the gutter has only the number to hold.
    kind = "stage" if stage.live or stage.marks else "stage bare"
    note = "; ".join(filter(None, (stage.problem, stage.note))) or None
    return _pane(stage.stage, rows(), told, note, kind=kind, opened=opened)


def _depths(stage: StageListing) -> list[int]:
    """How many loops are around each line."""
    depths = [0] * len(stage.lines)
    for loop in stage.loops:
        for index in range(loop.first - 1, min(loop.last, len(depths))):
            depths[index] = max(depths[index], loop.depth)
    return depths


def _row(
    prefix: str,
    number: int,
    line: Markup,
    *,
    links: str,
    live: int,
    peak: int,
    mark: str,
    partners: Sequence[int] = (),
    depth: int = 0,
) -> str:
    """A line. All but the code are numbers and words of ours."""
    gutter = ""
    if live >= 0 or mark:
        heat = f" class=h{round(live / max(peak, 1) * _HEATS)} data-v={live}" if live >= 0 else ""
        role = f' data-m="{escape(mark)}"' if mark else ""
        gutter = f"<i{heat}{role}></i>"
    if partners:
        links += f' data-p="{" ".join(map(str, partners))}"'
    loop = f" d{min(depth, _DEEPEST)}" if depth else ""
    style = f'"l{loop}"' if loop else "l"
    return f"<div class={style} id={prefix}{number} data-n={number}{links}>{gutter}{line}</div>"


def _pane(
    name: str, rows: Iterator[str], told: str, note: str | None, *, kind: str, opened: bool
) -> Markup:
    blocks = (
        # Only of full blocks does the style sheet know the height before they are laid out.
        Markup(f"<div class={'b' if len(block) == _BLOCK else 'e'}>{''.join(block)}</div>")
        for block in iter(lambda: list(islice(rows, _BLOCK)), [])
    )
    return tag(
        "details",
        tag("summary", tag("b", name), " ", tag("small", told)),
        tag("p", note, class_="note") if note else None,
        tag(
            "div", join(blocks), class_="lines", tabindex=0, role="region", aria_label=name,
            translate="no",
        ),
        class_=f"pane {kind}", open=opened, data_name=name,
    )  # fmt: skip


def _chain(chain: Sequence[SourceLocation]) -> Chain:
    return tuple((place.file, place.line) for place in chain)
