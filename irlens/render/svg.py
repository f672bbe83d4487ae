"""SVG: the charts of a result in a file of its own, to read in a browser or show in a document."""

from collections.abc import Iterator, Sequence
from importlib.resources import files
from typing import Any

from irlens.model.errors import IrlensError
from irlens.render import Kind, Options, build_view
from irlens.render.html.markup import CHARACTER, Content, Markup, join, label, line, rectangle, tag
from irlens.render.html.plots import Chart, Key, chart
from irlens.render.view import nodes

#: In pixels: width of the file, its margin, height of a caption, of a line of a legend, and gaps.
_WIDTH, _MARGIN, _CAPTION, _LINE, _GAP = 760, 16, 30, 20, 18
_SWATCH, _BETWEEN = 16, 18
_NAMESPACE = "http://www.w3.org/2000/svg"


class NothingToDrawError(IrlensError):
    """A result has no chart."""


def render(kind: Kind, subject: Any, options: Options) -> str:
    """Return the charts of a result below each other.

    Raises:
        NothingToDrawError: It has none.
    """
    found = list(_charts(build_view(kind, subject, options)))
    if not found:
        raise NothingToDrawError(
            "no chart to draw: an SVG shows times, rooflines and the bytes of a launch",
            hint="give the launch with --arg and --grid and a product with --target, "
            "or choose another format",
        )
    return standalone(found)


def standalone(charts: Sequence[nodes.Chart]) -> str:
    """Return charts as a file that needs nothing else, light or dark as its reader prefers."""
    drawn: list[Content] = []
    y = float(_MARGIN)
    for each in map(chart, charts):
        placed, y = _placed(each, y)
        drawn += placed
        y += _GAP
    described = "; ".join(each.described for each in charts)
    return tag(
        "svg", tag("title", described), tag("style", _style()),
        rectangle(0, 0, "100%", "100%", class_="ground"), *drawn,
        xmlns=_NAMESPACE, viewBox=f"0 0 {_WIDTH} {y:.0f}", width=_WIDTH, height=round(y),
        role="img", class_="chart",
    ) + "\n"  # fmt: skip


def _placed(each: Chart, y: float) -> tuple[list[Content], float]:
    """Return a chart with its caption and legend at a height, and where it ends."""
    inner = _WIDTH - 2 * _MARGIN - each.left - each.right
    picture = tag(
        "svg", each.drawn, x=_MARGIN + each.left, y=y + _CAPTION, width=inner,
        height=each.height, overflow="visible",
    )  # fmt: skip
    caption = label(float(_MARGIN), y + 16, each.caption, class_="start best")
    keys, end = _legend(each.keys, y + _CAPTION + each.height + 14)
    return [caption, picture, join(keys)], end


def _legend(keys: Sequence[Key], y: float) -> tuple[list[Markup], float]:
    """Return a legend, and where it ends."""
    x = float(_MARGIN)
    drawn: list[Markup] = []
    for style, name in keys:
        mark = 0 if style == "bare" else _SWATCH + 6
        width = mark + len(name) * CHARACTER
        if x > _MARGIN and x + width > _WIDTH - _MARGIN:
            x, y = float(_MARGIN), y + _LINE
        drawn += _swatch(style, x, y)
        drawn.append(label(x + mark, y, name, class_="start"))
        x += width + _BETWEEN
    return drawn, y + _LINE / 2


def _swatch(style: str, x: float, y: float) -> Iterator[Markup]:
    if style.startswith(("k-", "step-")):
        yield rectangle(x, y - 9, _SWATCH, 10, class_=f"{style} swatch")
    elif style == "measured":
        yield tag("circle", cx=x + _SWATCH / 2, cy=y - 4, r=4.5, class_="measured")
    elif style != "bare":
        yield line(x, y - 4, x + _SWATCH, y - 4, class_=f"line {style}")


def _charts(section: nodes.Section) -> Iterator[nodes.Chart]:
    for child in section.children:
        match child:
            case nodes.Section() if child.is_part:
                pass  # one of several: their charts show them together
            case nodes.Section():
                yield from _charts(child)
            case nodes.Bars() | nodes.HeatMap() | nodes.Plot():
                yield child


def _style() -> Markup:
    """The colours of a page, and the rules of its charts."""
    folder = files("irlens.render.html")
    colours = folder.joinpath("page.css").read_text("utf-8").partition("* {")[0]
    return Markup(colours + folder.joinpath("charts.css").read_text("utf-8"))
