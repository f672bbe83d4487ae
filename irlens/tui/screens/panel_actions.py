"""What views made of panels have in common: scroll, copy, open elsewhere."""

from collections.abc import Iterator

from textual.binding import Binding
from textual.containers import VerticalScroll

from irlens.tui.screens.base import EntryScreen
from irlens.tui.widgets.panel import Panel


def panel_bindings(screen: str) -> Iterator[Binding]:
    """Yield the bindings of ``PanelActions``.

    Args:
        screen: What the bindings' ids begin with.
    """
    for key, action, description, name in (
        ("g", "scroll_to(0)", "Top", "top"),
        ("G", "scroll_to(1)", "Bottom", "bottom"),
        ("ctrl+d", "scroll(12)", "Page down", "page_down"),
        ("ctrl+u", "scroll(-12)", "Page up", "page_up"),
        ("v", "external('pager')", "Open in $PAGER", "pager"),
        ("e", "external('editor')", "Open in $EDITOR", "editor"),
        ("y", "copy", "Copy as text", "copy"),
    ):
        yield Binding(key, action, description, id=f"{screen}.{name}", show=False)


class PanelActions(EntryScreen):
    """A view with panels in one ``VerticalScroll``."""

    @property
    def scrolled(self) -> VerticalScroll:
        """What scrolls."""
        return self.query_one(VerticalScroll)

    def action_scroll(self, rows: int) -> None:
        """Scroll by some rows."""
        self.scrolled.scroll_relative(y=rows, animate=False, immediate=True)

    def action_scroll_to(self, share: int) -> None:
        """Scroll to the top (0) or to the bottom (1)."""
        row = self.scrolled.max_scroll_y * share
        self.scrolled.scroll_to(y=row, animate=False, immediate=True)

    def action_external(self, kind: str) -> None:
        """Open the focused panel in the user's editor or pager."""
        if isinstance(self.focused, Panel):
            text = str(self.focused.content)
            self.context.navigator.open_externally(kind, name="panel.txt", text=text)

    def action_copy(self) -> None:
        """Copy the focused panel."""
        if isinstance(self.focused, Panel):
            self.context.navigator.copy(str(self.focused.content))
