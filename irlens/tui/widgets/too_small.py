"""What is shown where nothing fits."""

from textual.widgets import Static

#: Columns and lines below which screens are not laid out.
LEAST_WIDTH, LEAST_HEIGHT = 60, 16


class TooSmall(Static):
    """Covers a screen for which the terminal is too small."""

    DEFAULT_CSS = """
    TooSmall {
        display: none;
        layer: too_small;
        dock: top;
        width: 100%;
        height: 100%;
        content-align: center middle;
        text-align: center;
        background: $background;
    }
    .-tiny TooSmall, .-flat TooSmall { display: block; }
    """

    def on_mount(self) -> None:
        """Say so."""
        self.update(f"too small: irlens needs {LEAST_WIDTH} × {LEAST_HEIGHT}")
