"""Screens, one module each, loaded when they are first shown; here are their base classes."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import ClassVar, TypeVar

from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.geometry import Size
from textual.screen import Screen
from textual.widgets import Static

from irlens.model.errors import IrlensError
from irlens.model.report import Report
from irlens.session.interactive import Workbench
from irlens.tui.services import VIEWS, Context, Place
from irlens.tui.services.threads import run_in_thread
from irlens.tui.widgets import Panel
from irlens.tui.widgets.compile_status import ChangesSince, CompileStatus
from irlens.tui.widgets.heading import Heading, report_title, view_tabs
from irlens.tui.widgets.key_bar import KeyBar

T = TypeVar("T")

#: Columns and lines below which a screen is covered instead of being laid out.
MIN_WIDTH, MIN_HEIGHT = 60, 16


class TooSmall(Static):
    """Covers a screen that does not fit in the terminal."""

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

    def __init__(self) -> None:
        super().__init__(f"terminal too small: irlens needs {MIN_WIDTH} × {MIN_HEIGHT}")


def view_bindings(screen: str) -> Iterator[Binding]:
    """Yield the bindings that show an entry's views."""
    for view, (key, shown) in VIEWS.items():
        yield Binding(
            key,
            f"view('{view}')",
            view.capitalize(),
            tooltip=shown,
            id=f"{screen}.{view}",
            show=False,
        )


class IrlensScreen(Screen[None]):
    """A screen with the services of the app.

    Attributes:
        HELP_TEXT: Markdown that explains the screen; its keys are listed below it.
        PROMPT_BINDINGS: Bindings that open a prompt, by id.
    """

    HELP_TEXT: ClassVar[str] = ""
    PROMPT_BINDINGS: frozenset[str] = frozenset()
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("question_mark,f1", "app.help", "Help", id="help"),
    ]

    def __init__(self, context: Context) -> None:
        super().__init__()
        self.context = context

    def on_mount(self) -> None:
        """Add the compilation status, and the cover for a terminal that is too small."""
        self.mount(CompileStatus(self.context.compilations), before=self.query_one(KeyBar))
        self.mount(TooSmall())

    @property
    def bench(self) -> Workbench:
        """The workbench."""
        return self.context.workbench

    def run_in_thread(
        self,
        call: Callable[[], T],
        on_result: Callable[[T], None],
        on_error: Callable[[IrlensError], None] | None = None,
        *,
        group: str = "default",
    ) -> None:
        """Run a slow call, see ``workers.run_in_thread``; by default an error is a notification."""
        if not self.is_attached:  # replaced before it was drawn
            return
        on_error = on_error or self.context.navigator.show_error
        run_in_thread(
            self, call, self._while_open(on_result), self._while_open(on_error), group=group
        )

    def defers(self, binding: str) -> bool:
        """Return whether a binding (its id, "" for none) needs content that is still loading."""
        return False

    def abandons_loading(self, binding: str) -> bool:
        """Return whether a binding leads away from what is loading."""
        return binding == "help"

    @property
    def may_cancel(self) -> bool:
        """Whether the screen's Back key cancels the running compilation."""
        return False

    def compare(self, key: str) -> None:
        """Compare an entry with the one it was compiled from, or with one that the user picks."""
        navigator = self.context.navigator
        origin = self.context.compilations.origins.get(key)
        if origin is not None:
            navigator.show_comparison(origin.key, key)
        else:
            navigator.pick_entry(key, lambda other: navigator.show_comparison(key, other))

    def on_screen_resume(self) -> None:
        """Show the results that waited for the screen above this one."""
        self.context.deferred.resume()

    def on_descendant_blur(self) -> None:
        """Show the results that waited until the user had finished typing."""
        self.context.deferred.resume()

    def _screen_resized(self, size: Size) -> None:
        """Lay out for the size that the terminal has now.

        Textual lays out for the size of the event and posts another one. Two events that queue up
        while the screen is busy would then trigger each other forever.
        """
        super()._screen_resized(self.app.size)

    def _while_open(self, then: Callable[[T], None]) -> Callable[[T], None]:
        """Return a function that does nothing once the screen is being removed."""

        def call(result: T) -> None:
            if self.display and self.context.navigator.is_open(self):
                then(result)

        return call


class EntryScreen(IrlensScreen):
    """A view of one entry, opened at a position."""

    VIEW: ClassVar[str] = ""
    BINDINGS: ClassVar[list[BindingType]] = [
        *view_bindings("view"),
        Binding("c", "compare", "Compare", id="view.compare"),
        Binding("r", "recompile", "Recompile", id="view.recompile"),
        Binding(
            "t",
            "suggest",
            "Suggest",
            id="view.suggest",
            tooltip="Suggest a faster configuration: compile those near this one",
        ),
        Binding("A", "follow", "Recompile on save: on/off", id="view.follow", show=False),
        Binding("comma", "compilation(-1)", "Previous compilation", id="view.earlier", show=False),
        Binding("full_stop", "compilation(1)", "Next compilation", id="view.later", show=False),
        Binding("escape,b", "back", "Back", id="view.back"),
    ]

    def __init__(self, context: Context, key: str, at: Place | None = None) -> None:
        super().__init__(context)
        self.key = key
        self.at = at

    def on_mount(self) -> None:
        """Summarize the changes since the entry from which this one was compiled."""
        changes = ChangesSince(self.key, self.context.compilations)
        self.mount(changes, after=self.query_one(Heading))

    def go_to(self, at: Place) -> None:
        """Open a position."""
        self.at = at

    def adopt_layout(self, other: "EntryScreen") -> None:
        """Start with the layout and the cursor of another entry's view."""

    def load_heading(self) -> None:
        """Show the views in the heading, then the kernel as well."""
        self.query_one(Heading).show(Content("loading …"), view_tabs(self.VIEW, self))
        report = partial(self.bench.report, self.key)
        self.run_in_thread(report, self.show_heading, self._drop_heading, group="report")

    def _drop_heading(self, _: IrlensError) -> None:
        """Name no kernel: the view's own content needs the report as well, and shows the error."""
        self.query_one(Heading).show(Content(""))

    def show_heading(self, report: Report) -> None:
        """Show the kernel and the views in the heading."""
        self.query_one(Heading).show(report_title(report), view_tabs(self.VIEW, self))

    def abandons_loading(self, binding: str) -> bool:
        """Return whether a binding belongs to every view, and not to the content of this one."""
        return binding.startswith("view.") or super().abandons_loading(binding)

    @property
    def may_cancel(self) -> bool:
        """Whether this entry is being recompiled."""
        running = self.context.compilations.running
        return running is not None and running.key == self.key

    def action_view(self, name: str) -> None:
        """Show another view of the same entry."""
        self.context.navigator.show_view(name, self.key)

    def action_compare(self) -> None:
        """Compare with the entry's origin, or with an entry that the user picks."""
        self.compare(self.key)

    def action_recompile(self) -> None:
        """Ask for other settings, and compile with them."""
        self.context.navigator.show_recompile_form(self.key)

    def action_suggest(self) -> None:
        """Suggest a faster configuration near this one."""
        self.context.navigator.show_suggestion(self.key)

    def action_follow(self) -> None:
        """Turn recompiling on save on or off."""
        self.context.save_watcher.toggle()

    def action_compilation(self, step: int) -> None:
        """Show the entry that was compiled after (-1: before) this one, in the same view."""
        entries, index = self.context.compilations.history(self.key)
        if 0 <= index + step < len(entries):
            self.context.navigator.show_view(self.VIEW, entries[index + step], like=self)

    def action_back(self) -> None:
        """Cancel the compilation of this entry, or return to the list of entries."""
        if self.may_cancel:
            self.context.compilations.cancel()
        else:
            self.context.navigator.show_browser()


def panel_bindings(screen: str) -> Iterator[Binding]:
    """Yield the bindings of ``PanelActions``."""
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
