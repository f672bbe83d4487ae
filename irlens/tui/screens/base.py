"""What all screens share."""

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar, TypeAlias, TypeVar, cast

from textual.binding import Binding, BindingType
from textual.screen import Screen

from irlens.model.errors import IrlensError
from irlens.model.source import SourceLocation, Span
from irlens.tui.asking import ask
from irlens.tui.widgets.too_small import TooSmall
from irlens.tui.workbench import Workbench

if TYPE_CHECKING:
    from irlens.tui.app import Lens

T = TypeVar("T")

#: Where to look: lines of a stage, or a line of Python.
Place: TypeAlias = Span | SourceLocation


class LensScreen(Screen[None]):
    """A screen of this app.

    Attributes:
        HELP_TEXT: Markdown: what the screen shows and how to read it. The keys are listed below
            it by themselves.
    """

    HELP_TEXT: ClassVar[str] = ""

    def on_mount(self) -> None:
        """Add what covers the screen where the terminal is too small for it."""
        self.mount(TooSmall())

    @property
    def lens(self) -> "Lens":
        """The app."""
        return cast("Lens", self.app)

    @property
    def bench(self) -> Workbench:
        """What answers."""
        return self.lens.workbench

    def ask(
        self,
        call: Callable[[], T],
        then: Callable[[T], None],
        failed: Callable[[IrlensError], None] | None = None,
        *,
        group: str = "default",
    ) -> None:
        """Ask in a thread, see ``irlens.tui.asking.ask``; an error is told in a notification."""
        ask(self, call, then, failed or self.lens.tell_error, group=group)


class EntryScreen(LensScreen):
    """A view of one entry.

    Args:
        key: The entry's.
        at: Where to look first, if it matters.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("1", "view('overview')", "Overview", id="view.overview"),
        Binding("2", "view('inspector')", "Inspector", id="view.inspector"),
        Binding("escape,b", "back", "Back", id="view.back"),
    ]

    def __init__(self, key: str, at: Place | None = None) -> None:
        super().__init__()
        self.key = key
        self.at = at

    def action_view(self, name: str) -> None:
        """Show another view of the same entry."""
        self.lens.show_view(name, self.key)

    def action_back(self) -> None:
        """Return to the list of entries."""
        self.lens.show_browser()

    def go_to(self, at: Place) -> None:
        """Look at another place."""
        self.at = at
