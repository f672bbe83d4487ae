"""The first line of a screen: what is shown, and how it stands."""

from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.screen import Screen
from textual.style import Style
from textual.widgets import Static

from irlens.model.report import Report
from irlens.model.text import printable_line
from irlens.tui.drawing import DIM
from irlens.tui.screens import VIEWS

#: Under which a part of the text says which view it is the name of.
_VIEW = "view"


class Heading(Horizontal):
    """Something at the left, something at the right."""

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
        # What is known may be told before they are laid out.
        self._sides = {name: Static(classes=name) for name in ("-left", "-right")}

    def compose(self) -> ComposeResult:
        """Lay out the two sides."""
        yield from self._sides.values()

    def show(self, left: Content | None = None, right: Content | None = None) -> None:
        """Change a side; ``None`` leaves it as it is."""
        for side, content in (("-left", left), ("-right", right)):
            if content is not None:
                self._sides[side].update(content)

    async def on_click(self, event: events.Click) -> None:
        """Show the view that is clicked on."""
        if name := event.style.meta.get(_VIEW):
            await self.screen.run_action(f"view({name!r})")


def title_of(report: Report) -> Content:
    """Return which kernel it is, what it was compiled for, and by what."""
    target = report.target
    product = f" ({target.product})" if target is not None and target.product else ""
    return Content.assemble(
        (printable_line(report.kernel), "bold"),
        printable_line(f"  {target.arch}{product}") if target is not None else "",
        (printable_line(f"  Triton {report.triton_version}") if report.triton_version else "", DIM),
    )


def views_with(chosen: str, screen: Screen[None]) -> Content:
    """Return the views of an entry by the screen's keys for them, with the one that is shown."""
    keys: dict[str | None, str] = {}
    for hint in screen.active_bindings.values():
        keys.setdefault(hint.binding.id, screen.app.get_key_display(hint.binding))
    return Content("  ").join(
        Content.styled(
            f"{keys.get(f'view.{name}', '')} {name.capitalize()}",
            Style(bold=name == chosen) + Style.from_meta({_VIEW: name}),
        )
        for name in VIEWS
    )
