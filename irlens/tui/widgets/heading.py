"""The first line of a screen: what is shown, and how it stands."""

from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.widgets import Static


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

    def compose(self) -> ComposeResult:
        """Lay out the two sides."""
        yield Static(classes="-left")
        yield Static(classes="-right")

    def show(self, left: Content | None = None, right: Content | None = None) -> None:
        """Change a side; ``None`` leaves it as it is."""
        for side, content in (("-left", left), ("-right", right)):
            if content is not None:
                self.query_one(f".{side}", Static).update(content)
