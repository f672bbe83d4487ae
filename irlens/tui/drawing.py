"""Draws nodes of ``irlens.render.view`` and text in the styles of the theme.

A style is the name of a theme colour ("$warning"), so that drawings follow the theme.
"""

from collections.abc import Iterable, Sequence
from itertools import zip_longest

from textual.content import Content

from irlens.model.report import Occupancy, Severity
from irlens.model.text import plural, printable_line
from irlens.render.options import Options
from irlens.render.text import rows
from irlens.render.text_page import Page
from irlens.render.view.nodes import Headline, Node, Run, Section, Text, Tone, text

DIM = "$dim"
#: Like ``DIM``, but blended with the background: readable under a cursor as well.
MUTED = "$text-muted"
GOOD = "$success"
WARN = "$warning"
BAD = "$error"
MAIN = "$primary"
BOLD = "bold"

#: A sign for each severity: colour must not be the only one.
SEVERITY_SIGN: dict[Severity, str] = {"error": "✗", "warning": "▲", "note": "•"}
SEVERITY_STYLE: dict[Severity, str] = {"error": BAD, "warning": WARN, "note": DIM}

#: The style of each tone of a node.
STYLES: dict[Tone, str] = {
    "neutral": "",
    "strong": "bold",
    "dim": DIM,
    "accent": MAIN,
    "code": DIM,
    "good": GOOD,
    "warn": WARN,
    "bad": BAD,
    "unknown": WARN,
    "better": GOOD,
    "worse": BAD,
}

#: The least and the most cells of a table's bars, and the lines of a curve.
_BARS, _CURVE = (4, 40), 6


def page(document: Section, width: int) -> Content:
    """Return a document as the command line prints it, in the styles of the theme."""
    return lines(drawn((document,), width))


def drawn(content: Iterable[Node], width: int) -> list[Content]:
    """Return the rows of some nodes."""
    options = Options(width=width, subject=None, bars=_BARS, curve=_CURVE)
    return contents_of(rows(Section("", tuple(content)), options))


def flowed(
    items: Sequence[Text], width: int, *, first: Text = (), gap: str = " · "
) -> list[Content]:
    """Return items one after the other, in a column beside ``first``."""
    flow = Page(width=width, color=False)
    flow.flow(items, first=first, gap=gap)
    return contents_of(flow.rows)


def headline(node: Headline, width: int, first: Text = ()) -> list[Content]:
    """Return a verdict with its sign, in a column beside ``first``."""
    phrases = [(phrase,) for phrase in node.phrases]
    told = flowed(phrases, width, first=text(*first, Run(node.sign, node.tone)))
    return [row.stylize(BOLD) for row in told]


def content_of(content: Text) -> Content:
    """Return a text in the styles of its tones."""
    return Content.assemble(*((printable_line(run.text), STYLES[run.tone]) for run in content))


def contents_of(drawing: Iterable[Text]) -> list[Content]:
    """Return the rows of a drawing."""
    return [content_of(row).rstrip() for row in drawing]


def occupancy_style(occupancy: Occupancy) -> str:
    """Return the style of an occupancy: bad if it cannot launch, a warning below a quarter."""
    if not occupancy.launchable:
        return BAD
    return WARN if occupancy.theoretical < 0.25 else MAIN


def lines(drawing: Sequence[Content]) -> Content:
    """Join rows."""
    return Content("\n").join(drawing)


def beside(left: Sequence[Content], right: Sequence[Content], width: int) -> list[Content]:
    """Return rows next to each other, the left ones in a column of ``width`` cells."""
    rule = Content.styled(" │ ", DIM)
    return [
        first + Content(" " * (width - first.cell_length)) + rule + second
        for first, second in zip_longest(left, right, fillvalue=Content(""))
    ]


def shortened(drawing: Sequence[Content], most: int, width: int, more: str = "") -> list[Content]:
    """Return at most ``most`` rows; the last one says so where some are left out.

    Args:
        drawing: The rows, none wider than ``width``.
        most: At least 1.
    """
    if len(drawing) <= most:
        return list(drawing)
    if more:
        left = Content.styled(f"… {plural(len(drawing) - most + 1, 'more line')}{more}", DIM)
        return [*drawing[: most - 1], left.truncate(width, ellipsis=True)]
    last = drawing[most - 1].rstrip()
    return [*drawing[: most - 1], Content.assemble(last.truncate(width - 2), (" …", DIM))]
