"""What text in colours has in common: a frame, and the styles of the theme at hand."""

from collections.abc import Mapping
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual.geometry import Size
from textual.strip import Strip

from irlens.isa.highlight import KINDS
from irlens.model.text import printable_line
from irlens.tui.code.highlighting import Palette
from irlens.tui.widgets.scrolling import Scrolling


class PaintedText(Scrolling):
    """Lines that are drawn as they are looked at, in a theme's colours.

    Attributes:
        LINES: Kinds of lines that are not like the others.
        STYLES: What parts of a line can look like, besides ``highlight.KINDS``.
    """

    # Textual's selection would have to tag every piece of every line; here lines are selected.
    ALLOW_SELECT = False
    LINES: ClassVar[tuple[str, ...]] = ("cursor",)
    STYLES: ClassVar[tuple[str, ...]] = ("match", "line-number")
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        f"code-view--{name}" for name in ("cursor", "match", "line-number", *KINDS)
    }
    DEFAULT_CSS = """
    PaintedText {
        background: $surface;
        color: $foreground;
        border: round $border-blurred;
        border-title-color: $text-muted;
        border-subtitle-color: $text-muted;
        scrollbar-size: 0 1;
        overflow: auto;
        &:focus {
            border: round $primary;
            border-title-color: $primary;
            border-title-style: bold;
        }
        & > .code-view--comment { color: $dim; }
        & > .code-view--keyword { color: $primary; }
        & > .code-view--type { color: $foreground 82%; }
        & > .code-view--operation { color: $primary; }
        & > .code-view--value { color: $secondary; }
        & > .code-view--function { color: $accent; }
        & > .code-view--label { color: $accent; text-style: bold; }
        & > .code-view--number { color: $foreground 85%; }
        & > .code-view--string { color: $success; }
        & > .code-view--punctuation { color: $foreground 75%; }
        & > .code-view--cursor { background: $foreground 10%; }
        & > .code-view--line-number { color: $dim; }
        & > .code-view--match { background: $warning; color: $background; }
    }
    """

    def __init__(self) -> None:
        super().__init__()
        self._palettes: dict[str, Palette] = {}
        self._note = ""

    def show_note(self, note: str) -> None:
        """Show a sentence instead of lines: that they are being read, or why there are none."""
        self._note = printable_line(note)
        self.virtual_size = Size(0, 0)
        self.refresh()

    def note_line(self, y: int) -> Strip:
        """Draw a row while there is only a sentence to show."""
        plain = self.palette("")[""]
        note = [Segment(f" {self._note}", plain)] if y == 0 else []
        return Strip(note).crop_extend(0, self.scrollable_content_region.width, plain)

    def palette(self, kind: str) -> Palette:
        """Return the styles on a kind of line: an ordinary one is "", others as in ``LINES``."""
        if not self._palettes:
            base = self.rich_style
            lines = {"": base} | {name: base + self._component(name) for name in self.LINES}
            names = (*KINDS, *self.STYLES)
            own: Mapping[str, Style] = {name: self._component(name) for name in names}
            self._palettes = {
                line: {name: style + part for name, part in own.items()} | {"": style}
                for line, style in lines.items()
            }
        return self._palettes[kind]

    def notify_style_update(self) -> None:
        """Take the colours of another theme."""
        super().notify_style_update()
        self._palettes.clear()

    def _component(self, name: str) -> Style:
        """Return what a component sets by itself, with its colours blended into the pane's."""
        own = self.get_component_rich_style(f"code-view--{name}", partial=True)
        blended = self.get_component_rich_style(f"code-view--{name}")
        return own + Style(
            color=blended.color if own.color else None,
            bgcolor=blended.bgcolor if own.bgcolor else None,
        )
