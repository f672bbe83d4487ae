"""The first line of a screen, with its subject and views; below the panes, facts about a line."""

from collections.abc import Sequence

from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.screen import Screen
from textual.style import Style
from textual.widgets import Static

from irlens.model.report import Report
from irlens.model.text import printable_line
from irlens.render.view.nodes import Headline, text
from irlens.tui.drawing import DIM, flowed, headline, lines, shortened
from irlens.tui.services import VIEWS

#: Style metadata that names the view a part of the text leads to.
_VIEW = "view"
#: Columns from which all views are named.
_NAMING_ALL = 100


class Heading(Horizontal):
    """Text on the left and on the right."""

    DEFAULT_CSS = """
    Heading {
        height: 1;
        background: $panel;
        Static { width: 1fr; padding: 0 1; text-wrap: nowrap; text-overflow: ellipsis; }
        .-right { width: auto; max-width: 60%; color: $text-muted; }
    }
    """

    def __init__(self) -> None:
        super().__init__()
        # Created here, since ``show`` may be called before the heading is composed.
        self._left, self._right = Static(classes="-left"), Static(classes="-right")

    def compose(self) -> ComposeResult:
        """Lay out the two sides."""
        yield self._left
        yield self._right

    def show(self, left: Content | None = None, right: Content | None = None) -> None:
        """Change a side; ``None`` leaves it as it is."""
        if left is not None:
            self._left.update(left)
        if right is not None:
            self._right.update(right)

    async def on_click(self, event: events.Click) -> None:
        """Show the view that is clicked."""
        if name := event.style.meta.get(_VIEW):
            await self.screen.run_action(f"view({name!r})")


class Verdict(Static):
    """The verdict on what a screen shows, below its heading."""

    DEFAULT_CSS = """
    Verdict { height: auto; padding: 0 1; display: none; }
    """

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id, markup=False)
        self._headline: Headline | None = None

    def show(self, headline: Headline) -> None:
        """Show a verdict."""
        self._headline = headline
        self.display = True
        self._draw()

    def on_resize(self) -> None:
        """Draw for another width."""
        self._draw()

    def _draw(self) -> None:
        if self._headline is not None:
            width = self.content_size.width or self.screen.size.width - 2
            self.update(lines(headline(self._headline, width)))


def report_title(report: Report) -> Content:
    """Return the kernel's name, its target and the compiler's version."""
    target = report.target
    return Content.assemble(
        (printable_line(report.kernel), "bold"),
        printable_line(f"  {target.full_name}") if target is not None else "",
        (printable_line(f"  Triton {report.triton_version}") if report.triton_version else "", DIM),
    )


def view_tabs(current: str, screen: Screen[None]) -> Content:
    """Return the views of an entry with their keys, the current one in bold.

    In a narrow terminal only that one is named.
    """
    keys: dict[str | None, str] = {}
    for active in screen.active_bindings.values():
        keys.setdefault(active.binding.id, screen.app.get_key_display(active.binding))
    is_wide = screen.app.size.width >= _NAMING_ALL
    return Content("  ").join(
        Content.styled(
            f"{keys.get(f'view.{name}', '')}"
            + (f" {name.capitalize()}" if is_wide or name == current else ""),
            Style(bold=name == current) + Style.from_meta({_VIEW: name}),
        )
        for name in VIEWS
    )


_MIN_HEIGHT, _MAX_HEIGHT = 2, 5


class LineFacts(Static):
    """The source of a line, and what the gutters show about it.

    The widget never shrinks, so that the panes above it do not move with the cursor.
    """

    DEFAULT_CSS = f"""
    LineFacts {{
        height: auto;
        min-height: {_MIN_HEIGHT};
        max-height: {_MAX_HEIGHT};
        padding: 0 1;
        background: $panel;
        color: $foreground;
    }}
    """

    def __init__(self) -> None:
        super().__init__(id="facts", markup=False)
        self._first, self._facts = "", tuple[str, ...]()
        self._width, self._height = 0, _MIN_HEIGHT

    def show(self, first: str, facts: Sequence[str] = ()) -> None:
        """Show a first line, and the facts below it; a fact is wrapped only if it does not fit."""
        self._first, self._facts = first, tuple(facts)
        self._draw()

    def on_resize(self) -> None:
        """Draw for another width, at which the facts may need another height."""
        if self.content_size.width != self._width:
            self._width = self.content_size.width
            self._height = _MIN_HEIGHT
            self._draw()

    def _draw(self) -> None:
        width = self._width or self.screen.size.width
        wrapped = flowed([text(self._first)], width)
        if self._facts:
            wrapped += flowed([text(fact) for fact in self._facts], width, gap="   ")
        self.update(lines(shortened(wrapped, _MAX_HEIGHT, width)))
        if self._width:
            self._height = min(max(len(wrapped), self._height), _MAX_HEIGHT)
            self.styles.min_height = self._height
