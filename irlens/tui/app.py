"""The app: owns the screens and the services, and moves between them."""

import gc
import importlib
import os
import re
import signal
import textwrap
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual.app import App, SystemCommand
from textual.binding import Binding, BindingType
from textual.command import Provider
from textual.events import Event, Key
from textual.screen import Screen

from irlens.model.errors import IrlensError
from irlens.model.report import Finding
from irlens.model.suggestion import Suggestion
from irlens.model.text import plural, printable, printable_line
from irlens.render.view.characters import cut
from irlens.render.view.nodes import Section
from irlens.session.exchange import Entry, Setting
from irlens.session.interactive import Workbench
from irlens.tui.help import Commands, help_text
from irlens.tui.screens import MIN_HEIGHT, MIN_WIDTH, EntryScreen
from irlens.tui.services import Context, Place, preferences
from irlens.tui.services.compilations import Compilation, Compilations, DeferredResults
from irlens.tui.services.external_program import open_externally
from irlens.tui.services.key_queue import KeyHandled, KeyQueue
from irlens.tui.services.save_watcher import SaveWatcher
from irlens.tui.themes import DEFAULTS, THEMES

if TYPE_CHECKING:
    from irlens.tui.screens.browser import BrowserScreen

#: Columns and lines from which a screen has a CSS class.
_WIDTHS = [(0, "-tiny"), (MIN_WIDTH, "-narrow"), (100, "-medium"), (160, "-wide")]
_HEIGHTS = [(0, "-flat"), (MIN_HEIGHT, "-short"), (32, "-tall")]
#: Cells of copied text quoted in the notification.
_COPIED_WIDTH = 60
#: The widest text dialog, the cells around a fenced block in it, and the least for its text.
_DIALOG_WIDTH, _AROUND_FENCE, _MIN_FENCE_WIDTH = 100, 14, 20
#: Modules of views that are not called after them.
_VIEW_MODULES = {"variants": "answers", "limits": "answers"}


class IrlensApp(App[None]):
    """irlens in a terminal.

    Args:
        entry: Key of the entry to open; ``None`` lists all entries.
        state: The file that keeps the user's preferences; ``None`` keeps none.
    """

    TITLE = "irlens"
    CSS_PATH = "app.tcss"
    HORIZONTAL_BREAKPOINTS = _WIDTHS
    VERTICAL_BREAKPOINTS = _HEIGHTS

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q", "quit", "Quit", id="quit"),
        Binding("T", "next_theme", "Next theme", id="theme", show=False),
    ]
    COMMANDS: ClassVar[set[type[Provider] | Callable[[], type[Provider]]]] = {Commands}

    def __init__(
        self,
        workbench: Workbench,
        *,
        entry: str | None = None,
        state: Path | None = None,
        keymap: dict[str, str] | None = None,
    ) -> None:
        super().__init__()
        self._first_entry = entry
        self._state = state
        self._browser: BrowserScreen | None = None
        self._views: dict[str, EntryScreen] = {}
        self._failure: Screen[object] | None = None
        #: Suggestions that have not been shown: the user had left their entry.
        self._suggestions: dict[str, Suggestion] = {}
        chosen = preferences.load(state)
        self.context = Context(
            workbench=workbench,
            preferences=chosen,
            navigator=self,
            keys=KeyQueue(self),
            compilations=Compilations(
                self,
                workbench,
                self._show_compiled,
                self._show_suggested,
                self._show_failed,
                lambda: self.context.save_watcher.resume(),
            ),
            deferred=DeferredResults(self),
            save_watcher=SaveWatcher(self, workbench, chosen, self._recompile_saved),
        )
        for theme in THEMES:
            self.register_theme(theme)
        self.theme = chosen.theme if chosen.theme in self.available_themes else THEMES[0].name
        self.set_keymap(keymap or {})
        # An animation that still runs when the next key is pressed would override that key.
        self.animation_level = "none"

    def on_mount(self) -> None:
        """Show the first screen."""
        if not self.is_headless:
            signal.signal(signal.SIGHUP, self._on_hangup)
        # The caller may have disabled the collector: while importing there is no garbage.
        self.call_after_refresh(gc.enable)
        if self._first_entry is None:
            self.show_browser()
        else:
            self.show_view("overview", self._first_entry)

    async def on_event(self, event: Event) -> None:
        """Handle an event; a key in its turn, see ``irlens.tui.services.key_queue``."""
        keys = self.context.keys
        if not isinstance(event, Key) or event.is_forwarded:
            await super().on_event(event)
        elif keys.accept(event):
            target = self.focused or self.screen
            await super().on_event(event)
            if keys.is_turn_of(event):
                handled = KeyHandled(target)
                if not target.post_message(handled):
                    keys.follow(handled)

    def on_key_handled(self, event: KeyHandled) -> None:
        """Note that a key has been handled by every widget that it bubbled to."""
        self.context.keys.follow(event)

    def on_unmount(self) -> None:
        """Save the preferences and stop the services."""
        self._save_preferences()
        self.context.save_watcher.stop()
        self.context.workbench.close()

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """Yield Textual's own commands, except those that have a key here."""
        for command in super().get_system_commands(screen):
            if command.title not in ("Quit", "Keys"):
                yield command

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Return irlens's own colours for themes that lack them."""
        return DEFAULTS

    def action_next_theme(self) -> None:
        """Switch to the next of irlens's own themes."""
        names = [theme.name for theme in THEMES]
        index = names.index(self.theme) + 1 if self.theme in names else 0
        self.theme = names[index % len(names)]

    def action_help(self) -> None:
        """Explain the screen and list its keys."""
        self.show_text(help_text(self.screen))

    # Navigation, see ``irlens.tui.services.Navigator``.

    def show_browser(self) -> None:
        """Show the list of entries."""
        from irlens.tui.screens.browser import BrowserScreen

        if self._browser is None:
            self._browser = BrowserScreen(self.context)
            self.install_screen(self._browser, "browser")
        self.context.save_watcher.watch(None)
        self._switch_to("browser")

    def show_view(
        self, name: str, key: str, at: Place | None = None, *, like: Screen[None] | None = None
    ) -> None:
        """Show a view of an entry."""
        self.context.save_watcher.watch(key)
        installed = f"{name} {key}"
        others = [other for other, view in self._views.items() if view.key != key]
        if installed not in self._views:
            view = self._views[installed] = _view_class(name)(self.context, key, at)
            if isinstance(like, EntryScreen):
                view.adopt_layout(like)
            self.install_screen(view, installed)
        elif at is not None:
            self._views[installed].go_to(at)
        self._switch_to(installed)
        # A view may hold megabytes of text: keep only those of the entry on show.
        for other in others:
            self.uninstall_screen(other)
            self._views.pop(other).remove()

    def pick_entry(self, key: str, then: Callable[[str], None]) -> None:
        """Let the user pick an entry to compare with."""
        from irlens.tui.screens.entry_picker import EntryPicker

        def on_picked(other: str | None) -> None:
            if other is not None:
                then(other)

        known = self._browser.table.rows.entries if self._browser else {}
        listing = self._browser is None or self._browser.is_listing
        self.push_screen(EntryPicker(self.context, key, known, listing=listing), on_picked)

    def show_comparison(self, before: str, after: str) -> None:
        """Show the differences between two entries, above the current screen."""
        from irlens.tui.screens.compare import CompareScreen

        self.push_screen(CompareScreen(self.context, before, after))

    def show_recompile_form(self, key: str) -> None:
        """Ask for other settings of an entry, and compile it with them."""
        from irlens.tui.screens.recompile_form import RecompileForm

        bench, compilations = self.context.workbench, self.context.compilations

        def on_chosen(changes: dict[str, str] | None) -> None:
            if changes is not None:
                compilations.start(key, changes)

        def find_settings() -> tuple[str, Sequence[Setting]]:
            return bench.kernel(key), bench.settings(key)

        changes = compilations.pending_changes.get(key, {})
        self.push_screen(RecompileForm(self.context, find_settings, changes), on_chosen)

    def show_suggestion(self, key: str) -> None:
        """Compile the neighbours of an entry, and offer the fastest."""
        suggestion = self._suggestions.pop(key, None)
        if suggestion is None:
            self.context.compilations.start_suggestion(key)
            return
        from irlens.tui.screens.suggestion import Chosen, SuggestionDialog

        def on_chosen(chosen: Chosen | None) -> None:
            if chosen is not None:
                self.context.compilations.start(key, chosen.changes, chosen.shows)

        self.push_screen(SuggestionDialog(suggestion), on_chosen)

    def show_finding(self, key: str, finding: Finding) -> None:
        """Explain a finding of an entry, above the current screen."""
        from irlens.tui.screens.finding import FindingDialog

        self.push_screen(FindingDialog(self.context, key, finding))

    def show_drawing(self, document: Section) -> None:
        """Show a document of nodes above the current screen."""
        from irlens.tui.screens.dialogs import DrawingDialog

        self.push_screen(DrawingDialog(document))

    def show_text(self, markdown: str) -> None:
        """Show Markdown above the current screen."""
        from irlens.tui.screens.dialogs import TextDialog

        self.push_screen(TextDialog(printable(markdown)))

    def show_error(self, error: IrlensError) -> None:
        """Show an error and its hint in a notification."""
        self.notify(printable(error.joined("\n")), severity="error", timeout=10, markup=False)

    def close_screen(self) -> None:
        """Return to the screen below the current one."""
        self.pop_screen()

    def copy(self, text: str) -> None:
        """Copy text to the clipboard of the user's terminal (OSC 52), over ssh as well."""
        self.copy_to_clipboard(text)
        lines = text.count("\n") + 1
        quoted = cut(printable_line(text.strip()), _COPIED_WIDTH)
        copied = plural(lines, "line") if lines > 1 else quoted
        self.notify(f"copied {copied}", timeout=2, markup=False)

    def open_externally(self, kind: str, *, name: str, text: str, line: int = 1) -> None:
        """Open text in the user's editor or pager; show the error if that fails."""
        try:
            open_externally(self, kind, name=name, text=text, line=line)
        except IrlensError as error:
            self.show_error(error)

    def is_open(self, screen: Screen[None]) -> bool:
        """Return whether a screen is shown, or kept to be shown again."""
        return screen in self.screen_stack or self.is_screen_installed(screen)

    # Compilations.

    def show_failure(self, title: str, error: IrlensError) -> None:
        """Show an error at length."""
        # Markdown does not wrap a fenced block, and a compiler's lines must stay lines.
        width = max(min(self.size.width * 9 // 10, _DIALOG_WIDTH) - _AROUND_FENCE, _MIN_FENCE_WIDTH)
        lines = error.joined("\n\n").split("\n")
        message = "\n".join(textwrap.fill(line, width, drop_whitespace=False) for line in lines)
        fence = "`" * max([3, *(len(run) + 1 for run in re.findall("`+", message))])
        text = f"### {title}\n\n{fence}text\n{message}\n{fence}\n"

        def show() -> None:
            self.show_text(text)
            self._failure = self.screen

        self.context.deferred.show(show)

    def _show_failed(self, compilation: Compilation, error: IrlensError) -> None:
        if compilation.is_suggestion and "\n" not in error.joined("; "):
            self.context.deferred.show(lambda: self.show_error(error))
        else:
            self.show_failure(f"Failed to compile {compilation.label}", error)

    def _show_suggested(self, key: str, suggestion: Suggestion) -> None:
        self._suggestions[key] = suggestion

        def show() -> None:
            """Show the suggestion if the user still looks at the entry."""
            if isinstance(self.screen, EntryScreen) and self.screen.key == key:
                self.show_suggestion(key)
            else:
                kernel = printable_line(suggestion.kernel)
                text = f"a suggestion for {kernel} is ready: suggest again to see it"
                self.notify(text, timeout=5, markup=False)

        self.context.deferred.show(show)

    def _show_compiled(self, compilation: Compilation, entry: Entry) -> None:
        origin = compilation.key
        if self._browser is not None:
            self._browser.add_compiled(origin, entry)

        def show() -> None:
            """Show the entry if the user still looks at the one that it was compiled from."""
            screen = self.screen
            if isinstance(screen, EntryScreen) and screen.key == origin:
                self.show_view(screen.VIEW, entry.key, like=screen)
                if compilation.shows == "differences":
                    self.show_comparison(origin, entry.key)
            else:
                self.notify(f"compiled {printable_line(entry.kernel)}", timeout=3, markup=False)

        self.context.deferred.show(show)

    def _recompile_saved(self, key: str, file: str) -> bool:
        """Compile an entry whose source was saved, unless a compilation runs."""
        if self.context.compilations.running is not None:
            return False
        if self._failure is self.screen:  # it is about the source before this save
            self.pop_screen()
        self._failure = None
        self.context.compilations.start_after_save(key, file)
        return True

    def _on_hangup(self, *_: object) -> None:
        """Save the preferences and exit at once when the terminal is gone.

        A regular exit would wait forever for the thread that writes to the terminal.
        """
        self._save_preferences()
        self.context.workbench.close()
        os._exit(128 + signal.SIGHUP)

    def _save_preferences(self) -> None:
        self.context.preferences.theme = self.theme
        preferences.save(self._state, self.context.preferences)

    def _switch_to(self, name: str) -> None:
        """Make a screen the only one above Textual's own blank one."""
        if len(self.screen_stack) > 1:
            self.switch_screen(name)
        else:
            self.push_screen(name)


def _view_class(name: str) -> type[EntryScreen]:
    """Return the screen class of a view; a screen is loaded when it is first shown."""
    module = importlib.import_module(f"irlens.tui.screens.{_VIEW_MODULES.get(name, name)}")
    view: type[EntryScreen] = getattr(module, f"{name.capitalize()}Screen")
    return view
