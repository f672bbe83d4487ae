"""The inspector: Python and stages side by side."""

from textual.app import ComposeResult
from textual.widgets import Footer, Static

from irlens.tui.screens.base import EntryScreen


class View(EntryScreen):
    """The text of an entry's stages."""

    def compose(self) -> ComposeResult:
        """Lay it out."""
        yield Static("", markup=False)
        yield Footer()
