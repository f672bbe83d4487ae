"""Code: Python and the stages linked line by line, and the two sides of a stage.

A stage may have a hundred thousand lines, so a line is one element and its numbers are attributes.
Lines are in blocks, which a browser lays out only when they come into view.
"""

import zlib
from base64 import b64encode
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from pygments.lexer import Lexer

from irlens.isa.highlight import lexer_for
from irlens.model.code import CodeHunk, Columns
from irlens.model.listing import Listing, StageListing
from irlens.model.report import Report
from irlens.model.source import SourceLocation, short_file
from irlens.model.text import count, plural
from irlens.render.html.highlighting import (
    MOST_COLOURED_LINES,
    coloured,
    coloured_line,
    has_colours,
)
from irlens.render.html.markup import Markup, escape, join, tag
from irlens.render.view import nodes
from irlens.render.view.code import hunk_place, pieces
from irlens.render.view.drawings import full_heat, register_budget
from irlens.render.view.gutters import Rails

_BLOCK = 100
_HEATS = 10
_DEEPEST = 4
#: A page opens with the Python and the first of these.
_OPENED = ("ptx", "amdgcn", "sass", "llir", "ttgir", "ttir")

#: Characters of code from which on a page is packed; its markup is about five times as large.
_LARGE = 400_000
_PACKED_NOTE = Markup(
    "<p class=note>This page is large, so its code is compressed: a browser with scripts shows it, "
    "and so does <code>irlens inspect KERNEL --stage NAME</code>.</p>"
)
_SIGNS = {"gone": "−", "new": "+"}

Line = tuple[str, int]
Chain = tuple[Line, ...]


class Links:
    """Anchors of the lines of one report's code on the page.

    Args:
        prefix: What the ids of this report begin with; there may be several on a page.
        listing: The code that the page shows; ``None`` if it shows none.
    """

    def __init__(self, prefix: str, listing: Listing | None) -> None:
        self._prefix = prefix
        self._files = {name: index for index, name in enumerate(_files(listing))}
        self._stages = {name: index for index, name in enumerate(listing.stages if listing else ())}

    def file_id(self, name: str) -> str:
        """Return the start of the ids of a Python file's lines."""
        return f"{self._prefix}f{self._files[name]}-"

    def stage_id(self, name: str) -> str:
        """Return the start of the ids of a stage's lines."""
        return f"{self._prefix}s{self._stages[name]}-"

    def place(self, place: nodes.Place, text: str) -> Markup:
        """Return the text of a place, linked if the place is on the page."""
        known = self._stages if place.in_stage else self._files
        shown = tag("code", text)
        if place.name not in known or place.line is None:
            return tag("code", text, class_="place")
        start = self.stage_id(place.name) if place.in_stage else self.file_id(place.name)
        return tag("a", shown, href=f"#{start}{place.line}", class_="place")


def _files(listing: Listing | None) -> list[str]:
    """Return the Python files that a page shows, the kernel's first.

    These are the files that the stages' lines come from and the capture holds; if it holds none,
    the kernel's alone, of which the line numbers are known.
    """
    if listing is None:
        return []
    lines: dict[str, int] = {}
    for stage in listing.stages.values():
        for chain in stage.chains:
            for place in chain:
                lines.setdefault(place.file, 0)
            if chain:
                lines[chain[-1].file] += 1
    # The outermost function is the kernel.
    ordered = sorted(lines, key=lambda name: (-lines[name], name))
    return [name for name in ordered if name in listing.python] or ordered[:1]


class _Chains:
    """The chains of source lines, numbered, and which lines of Python they go through."""

    def __init__(self, listing: Listing) -> None:
        self._numbers: dict[Chain, int] = {}
        shown = set(_files(listing))
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
            chains = self.outer if index else self.first
            chains.setdefault(line, []).append(number)


class Packed:
    """The stages of a page whose code is large: compressed, and equal ones once.

    A script inflates a stage when its section is opened; without scripts the page has the reports
    and the Python, and says what is missing.
    """

    def __init__(self) -> None:
        self._ids: dict[bytes, str] = {}

    def add(self, blocks: Iterable[Markup]) -> str:
        """Return the id of the element that will hold these blocks."""
        stream = zlib.compressobj(9)
        packed = b"".join(stream.compress(block.encode()) for block in blocks) + stream.flush()
        return self._ids.setdefault(packed, f"z{len(self._ids)}")

    def elements(self) -> Iterator[Markup]:
        """Yield the elements, which browsers do not show."""
        for packed, name in self._ids.items():
            yield tag("template", b64encode(packed).decode(), id=name)


def is_large(codes: Iterable[nodes.Code]) -> bool:
    """Whether the code of a page is so large that it should be packed."""
    texts = (len(stage.text) for node in codes for stage in node.listing.stages.values())
    return sum(texts) > _LARGE


def panes(node: nodes.Code, links: Links, packed: Packed | None) -> Markup:
    """Return a section with a pane for each Python file and each stage."""
    report, listing = node.report, node.listing
    chains = _Chains(listing)
    opened = next((name for name in _OPENED if name in listing.stages), None)
    python = [_python(name, report, listing, chains, links) for name in _files(listing)]
    stages = [
        _stage(stage, report, chains, links, packed, opened=name == opened)
        for name, stage in listing.stages.items()
    ]
    return tag(
        "section",
        tag("h2", "Code"),
        _legend(report),
        tag("p", role="status", class_="selection", aria_live="polite"),
        tag("div", *python, *stages, class_="panes"),
        class_="code",
    )


def _legend(report: Report) -> Markup:
    budget = register_budget(report)
    full = f"{count(budget.registers)}: {budget.words}" if budget else "the stage's peak"
    return tag(
        "p",
        tag("span", "12", class_="live h6"),
        f" live 32-bit registers per thread; a full bar is {full}",
        tag("span", "copy", class_="mark"), " part of a software pipeline",
        tag("span", "", class_="loop d1"), " in a loop",
        class_="legend",
    )  # fmt: skip


def _python(name: str, report: Report, listing: Listing, chains: _Chains, links: Links) -> Markup:
    text = listing.python.get(name)
    if text is None:
        known = sorted(number for file, number in (*chains.first, *chains.outer) if file == name)
        lines = {number: Markup("") for number in known}
    else:
        lines = dict(enumerate(coloured(text, "python"), 1))
    live, peak = _pressure(report, name)
    full = full_heat(peak, register_budget(report))
    marks = {
        each.source.line: each.kind or "loop"
        for each in report.pipelines
        if each.source and each.source.file == name
    }
    prefix = links.file_id(name)
    rows = (
        _row(
            prefix, number, line,
            links=_linked(chains, (name, number)),
            live=live.get(number, -1), full=full, mark=marks.get(number, ""),
        )
        for number, line in lines.items()
    )  # fmt: skip
    note = None if text is not None else "the capture does not hold this file"
    title = short_file(name)
    return _pane(title, rows, plural(len(lines), "line"), note, kind="python", opened=True)


def _linked(chains: _Chains, line: Line) -> str:
    """A line's chains as attributes: ``data-k`` for its own, ``data-o`` for those it calls."""
    own = " ".join(map(str, chains.first.get(line, ())))
    outer = " ".join(map(str, chains.outer.get(line, ())))
    return (f' data-k="{own}"' if own else "") + (f' data-o="{outer}"' if outer else "")


def _pressure(report: Report, name: str) -> tuple[dict[int, int], int]:
    """Peaks by line of a Python file, and the largest."""
    for _, pressure in report.pressure.stages():
        if pressure.peak:
            lines = {e.source.line: e.peak for e in pressure.lines if e.source.file == name}
            return lines, pressure.peak
    return {}, 0


def _stage(
    stage: StageListing,
    report: Report,
    chains: _Chains,
    links: Links,
    packed: Packed | None,
    *,
    opened: bool,
) -> Markup:
    rails = Rails(stage.loops, _DEEPEST)
    marks = {mark.line: mark for mark in stage.marks}
    numbers = [chains.number(chain) for chain in stage.chains]
    prefix = links.stage_id(stage.stage)
    full = full_heat(stage.peak, register_budget(report))

    def rows() -> Iterator[str]:
        lines = coloured(stage.text, stage.stage)
        for number, line in enumerate(lines, 1):
            chain = stage.chain[number - 1] if number <= len(stage.chain) else -1
            mark = marks.get(number)
            yield _row(
                prefix if packed is None else None, number, line,
                links=f" data-c={numbers[chain]}" if chain >= 0 else "",
                live=stage.live[number - 1] if number <= len(stage.live) else -1,
                full=full,
                mark=mark.role if mark else "",
                partners=mark.partners if mark else (),
                depth=rails.depth(number),
            )  # fmt: skip

    summary = plural(len(stage.lines), "line")
    if stage.peak is not None:
        summary += f", at most {count(stage.peak)} live"
    if not has_colours(stage.text):
        summary += ", too long for colours"
    # Without live registers and marks the gutter has only the number to hold.
    kind = "stage" if stage.live or stage.marks else "stage bare"
    note = "; ".join(filter(None, (stage.problem, stage.note))) or None
    content = rows() if packed is None else _Inflated(prefix, packed.add(_blocks(rows())))
    return _pane(stage.stage, content, summary, note, kind=kind, opened=opened)


class _Inflated(NamedTuple):
    """Lines that a script inserts: what their ids begin with, and the element that has them."""

    prefix: str
    id: str


def _row(
    prefix: str | None,
    number: int,
    line: Markup,
    *,
    links: str,
    live: int,
    full: int,
    mark: str,
    partners: Sequence[int] = (),
    depth: int = 0,
) -> str:
    """A line. Everything but its code is generated here and needs no escaping.

    A packed line has no prefix: the script that inflates it knows its id.
    """
    gutter = ""
    if live >= 0 or mark:
        level = round(min(live / full, 1.0) * _HEATS)
        heat = f" class=h{level} data-v={live}" if live >= 0 else ""
        role = f' data-m="{escape(mark)}"' if mark else ""
        gutter = f"<i{heat}{role}></i>"
    if partners:
        links += f' data-p="{" ".join(map(str, partners))}"'
    loop = f" d{min(depth, _DEEPEST)}" if depth else ""
    style = f'"l{loop}"' if loop else "l"
    id_ = "" if prefix is None else f" id={prefix}{number}"
    return f"<div class={style}{id_} data-n={number}{links}>{gutter}{line}</div>"


def _blocks(rows: Iterator[str]) -> Iterator[Markup]:
    for block in iter(lambda: list(islice(rows, _BLOCK)), []):
        # The style sheet knows the height of full blocks alone before they are laid out.
        style = "b" if len(block) == _BLOCK else "e"
        yield Markup(f"<div class={style}>{''.join(block)}</div>")


def _pane(
    name: str,
    rows: Iterator[str] | _Inflated,
    summary: str,
    note: str | None,
    *,
    kind: str,
    opened: bool,
) -> Markup:
    later = rows if isinstance(rows, _Inflated) else None
    content = _PACKED_NOTE if isinstance(rows, _Inflated) else join(_blocks(rows))
    return tag(
        "details",
        tag("summary", tag("b", name), " ", tag("small", summary)),
        tag("p", note, class_="note") if note else None,
        tag(
            "div", content, class_="lines", tabindex=0, role="region", aria_label=name,
            translate="no", data_packed=later and later.id, data_prefix=later and later.prefix,
        ),
        class_=f"pane {kind}", open=opened, data_name=name,
    )  # fmt: skip


def _chain(chain: Sequence[SourceLocation]) -> Chain:
    return tuple((place.file, place.line) for place in chain)


def code_diff(node: nodes.CodeDiff) -> Markup:
    """Return the two sides of a stage beside each other."""
    comparison = node.comparison
    rows = sum(len(hunk.rows) for hunk in comparison.hunks)
    lexer = lexer_for(comparison.stage) if 2 * rows <= MOST_COLOURED_LINES else None
    summary = node.summary if lexer else f"{node.summary}, too long for colours"
    title = join([tag("b", node.title), " ", tag("small", summary)])
    if not comparison.different:
        return tag("div", tag("p", title), class_="code")
    head = tag(
        "tr",
        tag("th", comparison.before.label, colspan=2, scope="col"),
        tag("th", comparison.after.label, colspan=2, scope="col"),
    )
    columns = tag("colgroup", *(tag("col", class_=name) for name in ("n", None, "n", None)))
    hunks = (tag("tbody", *_rows(hunk, lexer)) for hunk in comparison.hunks)
    whole = tag("table", columns, tag("thead", head), *hunks, class_="sides", translate="no")
    fold = tag("details", tag("summary", title), whole, open=not node.folded)
    return tag("div", fold, class_="code")


def _rows(hunk: CodeHunk, lexer: Lexer | None) -> Iterator[Markup]:
    heading = " · ".join(filter(None, (hunk_place(hunk), hunk.heading)))
    yield tag("tr", tag("td", heading, colspan=4), class_="heading")
    for row in hunk.rows:
        same = row.kind == "same"
        gone, new = row.before is not None and not same, row.after is not None and not same
        before = _cells(row.before_line, row.before, row.before_words, lexer, "gone" * gone)
        after = _cells(row.after_line, row.after, row.after_words, lexer, "new" * new)
        yield Markup(f"<tr>{before}{after}</tr>")


def _cells(
    number: int | None,
    text: str | None,
    words: Sequence[Columns],
    lexer: Lexer | None,
    style: str,
) -> str:
    """Return the number of a line and its text; a line that is absent is empty.

    The words that differ are marked, and all are coloured if there is a lexer.
    """
    if text is None:
        line, kind = "", ' class="void"'
    else:
        line = coloured_line([(piece.text, piece.changed) for piece in pieces(text, words)], lexer)
        kind = f' class="{style}"' if style else ""
    numbered = "" if number is None else f"{_SIGNS.get(style, '')} {number}".strip()
    return f'<td class="{f"n {style}".strip()}">{numbered}</td><td{kind}>{line}</td>'
