"""What all screens share."""

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, TypeAlias, TypeVar, cast

from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.screen import Screen

from irlens.model.errors import IrlensError
from irlens.model.source import SourceLocation, Span
from irlens.session.workbench import Workbench
from irlens.tui.asking import ask
from irlens.tui.widgets.compiling import CompileStatus, MovedSince
from irlens.tui.widgets.heading import Heading
from irlens.tui.widgets.hints import Hints
from irlens.tui.widgets.too_small import TooSmall

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
    #: Bindings that open a prompt, by name.
    PROMPTS: ClassVar[frozenset[str]] = frozenset()
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("question_mark,f1", "app.help", "Help", id="help"),
    ]

    def on_mount(self) -> None:
        """Add what every screen has: what is compiled, and what covers it where it is too small."""
        _ = self.lens  # it is known from now on
        self.mount(CompileStatus(), before=self.query_one(Hints))
        self.mount(TooSmall())

    @cached_property
    def lens(self) -> "Lens":
        """The app; still known while the screen is being taken apart."""
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
        if not self.is_attached:  # replaced before it had been drawn
            return
        tell_error = failed or self.lens.tell_error
        ask(self, call, self._unless_gone(then), self._unless_gone(tell_error), group=group)

    def is_too_early(self, binding: str) -> bool:
        """Return whether a binding is about something that is still being read: then it waits.

        Args:
            binding: Its name, "" for a key that is none.
        """
        return False

    def leads_away(self, binding: str) -> bool:
        """Return whether a binding leads away from what is being read, and waits for nothing."""
        return binding == "help"

    @property
    def may_cancel(self) -> bool:
        """Whether something is being compiled that the screen's way back cancels."""
        return False

    def show_outside(self, kind: str, *, name: str, text: str, line: int = 1) -> None:
        """Show a text in the user's own program, see ``irlens.tui.outside.show_outside``."""
        from irlens.tui.outside import show_outside

        try:
            show_outside(self.lens, kind, name=name, text=text, line=line)
        except IrlensError as error:
            self.lens.tell_error(error)

    def recompile(self, key: str) -> None:
        """Ask what to choose anew for an entry, and compile it again."""
        self.lens.show_form(key)

    def compare(self, key: str) -> None:
        """Compare an entry with what it was compiled from, or else with what the user picks."""
        origin = self.lens.recompiling.origins.get(key)
        if origin is not None:
            self.lens.show_comparison(origin.key, key)
        else:
            self.lens.pick(key, lambda other: self.lens.show_comparison(key, other))

    def _screen_resized(self, size: Size) -> None:
        """Lay out for the size that the terminal has by now.

        Textual lays out for that of the event, and sends itself another one. Two of them that wait
        behind each other, while the screen is busy, would follow each other for ever.
        """
        super()._screen_resized(self.lens.size)

    def on_screen_resume(self) -> None:
        """Show what has waited for the screen above this one."""
        self.lens.postponed.go_on()

    def on_descendant_blur(self) -> None:
        """Show what has waited until nothing is typed."""
        self.lens.postponed.go_on()

    def _unless_gone(self, then: Callable[[T], None]) -> Callable[[T], None]:
        """Return what does nothing while the screen is being taken apart."""

        def tell(answer: T) -> None:
            app = self.lens
            if self.display and (self in app.screen_stack or app.is_screen_installed(self)):
                then(answer)

        return tell


class EntryScreen(LensScreen):
    """A view of one entry.

    Args:
        key: The entry's.
        at: Where to look first, if it matters.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("1", "view('overview')", "Overview", id="view.overview", show=False),
        Binding("2", "view('inspector')", "Inspector", id="view.inspector", show=False),
        Binding("c", "compare", "Compare", id="view.compare"),
        Binding("r", "recompile", "Recompile", id="view.recompile"),
        Binding("A", "follow", "Compile every save, or none", id="view.follow", show=False),
        Binding("comma", "compilation(-1)", "Earlier compilation", id="view.earlier", show=False),
        Binding("full_stop", "compilation(1)", "Later compilation", id="view.later", show=False),
        Binding("escape,b", "back", "Back", id="view.back"),
    ]

    def __init__(self, key: str, at: Place | None = None) -> None:
        super().__init__()
        self.key = key
        self.at = at

    def leads_away(self, binding: str) -> bool:
        """Return whether a binding is one of all views, and not of this one."""
        return binding.startswith("view.") or super().leads_away(binding)

    def action_view(self, name: str) -> None:
        """Show another view of the same entry."""
        self.lens.show_view(name, self.key)

    def on_mount(self) -> None:
        """Say what moved since the entry from which this one was compiled."""
        self.mount(MovedSince(self.key), after=self.query_one(Heading))

    def action_compare(self) -> None:
        """Compare with what this was compiled from, or else with what the user picks."""
        self.compare(self.key)

    def action_recompile(self) -> None:
        """Ask what to choose anew, and compile again."""
        self.recompile(self.key)

    def action_follow(self) -> None:
        """Follow saves of the kernel, or follow them no more."""
        self.lens.following.toggle()

    def action_compilation(self, step: int) -> None:
        """Show the entry that was compiled after (-1: before) this one, in the same view."""
        entries, at = self.lens.recompiling.history(self.key)
        if 0 <= at + step < len(entries):
            self.lens.show_view(self.lens.view, entries[at + step], like=self)

    def action_back(self) -> None:
        """Return to the list of entries; while something is compiled from this one, cancel it."""
        if self.may_cancel:
            self.lens.recompiling.cancel()
        else:
            self.lens.show_browser()

    @property
    def may_cancel(self) -> bool:
        """Whether something is being compiled from this entry."""
        running = self.lens.recompiling.running
        return running is not None and running.key == self.key

    def resemble(self, other: "EntryScreen") -> None:
        """Begin where the same view of another entry is, as far as this one has the same."""

    def go_to(self, at: Place) -> None:
        """Look at another place."""
        self.at = at
