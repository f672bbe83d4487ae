"""Charts: a frame with axes that data is drawn in, in units of the data."""

from collections.abc import Sequence

import msgspec

from irlens.render.html._markup import Content, Markup, join, number, tag

_TICKS = 5


class Frame(msgspec.Struct, frozen=True, kw_only=True):
    """Where the data goes.

    Attributes:
        right: The largest x.
        top: The largest y; both axes begin at 0.
        width: Of all, in pixels.
        height: Of all, in pixels.
        margins: Pixels at the left, right, top and bottom.
    """

    right: float
    top: float
    width: int = 420
    height: int = 190
    margins: tuple[int, int, int, int] = (34, 18, 16, 34)

    def x(self, value: float) -> float:
        """Return where a value is, in pixels from the left."""
        left, right, _, _ = self.margins
        return left + value / max(self.right, 1) * (self.width - left - right)

    def y(self, value: float) -> float:
        """Return where a value is, in pixels from the top."""
        _, _, top, bottom = self.margins
        return self.height - bottom - value / max(self.top, 1) * (self.height - top - bottom)

    def axes(
        self, x_ticks: Sequence[tuple[float, str]], y_ticks: Sequence[tuple[float, str]], title: str
    ) -> Markup:
        """Return lines and numbers of both axes, and what x is."""
        left, bottom = self.x(0), self.y(0)
        lines = [
            join(
                [
                    line(left, self.y(value), self.x(self.right), self.y(value), class_="grid"),
                    label(left - 6, self.y(value) + 4, text, class_="end"),
                ]
            )
            for value, text in y_ticks
        ]
        lines += [label(self.x(value), bottom + 15, text) for value, text in x_ticks]
        lines.append(label((left + self.x(self.right)) / 2, self.height - 3, title, class_="title"))
        return join(lines)

    def svg(self, described: str, *content: Content) -> Markup:
        """Return the chart; ``described`` is what it shows, for whoever does not see it."""
        return svg(self.width, self.height, described, *content)


def svg(width: float, height: float, described: str, *content: Content) -> Markup:
    """Return a picture that scales with its place."""
    box = f"0 0 {number(width)} {number(height)}"
    return tag("svg", *content, viewBox=box, role="img", aria_label=described, class_="chart")


def path(points: Sequence[tuple[float, float]], *, class_: str, closed: bool = False) -> Markup:
    """Return a line through points given in pixels."""
    told = "L".join(f"{number(x)} {number(y)}" for x, y in points)
    return tag("path", d=f"M{told}{'Z' if closed else ''}", class_=class_)


def line(x1: float, y1: float, x2: float, y2: float, *, class_: str) -> Markup:
    """Return a straight line."""
    return tag("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=class_)


def rectangle(
    x: float, y: float, width: float, height: float, *content: Content, class_: str
) -> Markup:
    """Return a rectangle; its content is a title, if anything."""
    return tag(
        "rect", *content, x=x, y=y, width=max(width, 0.0), height=height, rx=2, class_=class_
    )


def dot(x: float, y: float, *, class_: str) -> Markup:
    """Return a point."""
    return tag("circle", cx=x, cy=y, r=4.5, class_=class_)


def label(x: float, y: float, text: str, *, class_: str | None = None) -> Markup:
    """Return a word, in the middle of x unless its class says "start" or "end"."""
    return tag("text", text, x=x, y=y, class_=class_)


def bar(share: float, *, state: str = "plain") -> Markup:
    """Return a bar for the cell of a table: ``share`` (0..1) of its full width."""
    filled = rectangle(0, 0, 100 * min(max(share, 0), 1), 10, class_=f"bar {state}")
    return tag(
        "svg", filled, viewBox="0 0 100 10", preserveAspectRatio="none", class_="inline",
        aria_hidden="true",
    )  # fmt: skip


def whole_ticks(most: int) -> list[tuple[float, str]]:
    """Return a few whole numbers from 0 up to at most ``most``, with their texts."""
    step = 1
    while most / step > _TICKS:
        step *= 5 if str(step)[0] == "2" else 2
    return [(value, f"{value:,}") for value in range(0, most + 1, step)]


def binary_ticks(most: int) -> list[tuple[float, str]]:
    """Return a few numbers of bytes, in KiB."""
    step = 1024
    while most / step > _TICKS:
        step *= 2
    return [(value, f"{value // 1024} KiB" if value else "0") for value in range(0, most + 1, step)]
