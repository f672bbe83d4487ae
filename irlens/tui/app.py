"""The app: which screen is shown, and what all of them can ask it for."""

import gc
import os
import re
import signal
import textwrap
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual.app import App, SystemCommand
from textual.binding import Binding, BindingType
from textual.events import Event, Key
from textual.screen import Screen

from irlens.model.errors import IrlensError
from irlens.model.text import plural, printable, printable_line
from irlens.session.workbench import Entry, Setting, Workbench
from irlens.tui import memory
from irlens.tui.commands import KeyedActions
from irlens.tui.drawing import cut
from irlens.tui.following import Following
from irlens.tui.keyboard import Acted, Keyboard
from irlens.tui.postponed import Postponed
from irlens.tui.recompiling import Recompiling
from irlens.tui.screens import VIEWS, load_view
from irlens.tui.screens.base import EntryScreen, Place
from irlens.tui.themes import DEFAULTS, THEMES
from irlens.tui.widgets.too_small import LEAST_HEIGHT, LEAST_WIDTH

if TYPE_CHECKING:
    from irlens.tui.screens.browser import BrowserScreen

#: Columns and lines from which a screen has a class, so that it can lay itself out for them.
_WIDTHS = [(0, "-tiny"), (LEAST_WIDTH, "-narrow"), (100, "-medium"), (180, "-wide")]
_HEIGHTS = [(0, "-flat"), (LEAST_HEIGHT, "-short"), (32, "-tall")]
#: Cells of a copied line that are told.
_COPIED = 60
#: The widest that a text over the screen becomes, and what of that is not for a fenced one's words.
_READING, _AROUND_FENCE, _LEAST_ROOM = 100, 14, 20


class Lens(App[None]):
    """irlens in a terminal.

    Args:
        workbench: What answers every question.
        entry: The entry to open at once; ``None`` lists all of them.
        state: The file that remembers what the user chose; ``None`` remembers nothing.
        keymap: Other keys, by the name of a binding.
    """

    TITLE = "irlens"
    CSS_PATH = "app.tcss"
    HORIZONTAL_BREAKPOINTS = _WIDTHS
    VERTICAL_BREAKPOINTS = _HEIGHTS

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q", "quit", "Quit", id="quit"),
        Binding("T", "next_theme", "Next theme", id="theme", show=False),
    ]
    COMMANDS = App.COMMANDS | {KeyedActions}

    def __init__(
        self,
        workbench: Workbench,
        *,
        entry: str | None = None,
        state: Path | None = None,
        keymap: dict[str, str] | None = None,
    ) -> None:
        super().__init__()
        self.workbench = workbench
        self.remembered = memory.recall(state)
        self._first_entry = entry
        self._browser: BrowserScreen | None = None
        self._state = state
        self._views: dict[str, EntryScreen] = {}
        self._failure: Screen[object] | None = None
        #: The view of an entry that was shown last, by its name.
        self.view = VIEWS[0]
        self.recompiling = Recompiling(self)
        self.following = Following(self)
        self.keyboard = Keyboard(self)
        self.postponed = Postponed(self)
        for theme in THEMES:
            self.register_theme(theme)
        known = self.available_themes
        self.theme = self.remembered.theme if self.remembered.theme in known else THEMES[0].name
        self.set_keymap(keymap or {})
        # What still moves when the next key is pressed would go on to where the last one led.
        self.animation_level = "none"

    def on_mount(self) -> None:
        """Show the first screen."""
        if not self.is_headless:
            signal.signal(signal.SIGHUP, self._hung_up)
        # Whoever starts the app may have stopped it meanwhile: nothing imported is garbage.
        self.call_after_refresh(gc.enable)
        if self._first_entry is None:
            self.show_browser()
        else:
            self.show_view("overview", self._first_entry)

    async def on_event(self, event: Event) -> None:
        """Give a key to what it is meant for, when its turn has come."""
        if not isinstance(event, Key) or event.is_forwarded or self.keyboard.repeats(event):
            await super().on_event(event)
        elif not self.keyboard.takes(event):
            target = self.focused or self.screen
            await super().on_event(event)
            acted = Acted(target)
            if not target.post_message(acted):
                self.keyboard.follow(acted)

    def on_acted(self, event: Acted) -> None:
        """Take notice that a key has come up to here, if nothing has stopped it."""
        self.keyboard.follow(event)

    def on_unmount(self) -> None:
        """Remember what the user chose, and leave nothing running."""
        self._remember()
        self.following.end()
        self.workbench.cancel()

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """Yield what Textual offers by itself, but for what has a key here."""
        for command in super().get_system_commands(screen):
            if command.title not in ("Quit", "Keys"):
                yield command

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Return irlens's own colours for themes that do not have them."""
        return DEFAULTS

    def copy(self, text: str) -> None:
        """Copy text to the clipboard of the user's own terminal (OSC 52), also over ssh."""
        self.copy_to_clipboard(text)
        number = text.count("\n") + 1
        told = plural(number, "line") if number > 1 else cut(printable_line(text.strip()), _COPIED)
        self.notify(f"copied {told}", timeout=2, markup=False)

    def show_browser(self) -> None:
        """Show the list of entries."""
        from irlens.tui.screens.browser import BrowserScreen

        if self._browser is None:
            self._browser = BrowserScreen()
            self.install_screen(self._browser, "browser")
        self.following.look_at(None)
        self._show("browser")

    def show_view(
        self, name: str, key: str, at: Place | None = None, *, like: EntryScreen | None = None
    ) -> None:
        """Show an entry.

        Args:
            name: Which view of it: one of ``irlens.tui.screens.VIEWS``.
            key: The entry's.
            at: Where to look.
            like: The same view of another entry, to go on from.
        """
        self.view = name
        self.following.look_at(key)
        installed = f"{name} {key}"
        others = [other for other, view in self._views.items() if view.key != key]
        if installed not in self._views:
            self._views[installed] = load_view(name)(key, at)
            if like is not None:
                self._views[installed].resemble(like)
            self.install_screen(self._views[installed], installed)
        elif at is not None:
            self._views[installed].go_to(at)
        self._show(installed)
        # A view may hold megabytes of text: only those of the entry that is shown stay.
        for other in others:
            self.uninstall_screen(other)
            self._views.pop(other).remove()

    def pick(self, key: str, then: Callable[[str], None]) -> None:
        """Let the user pick another entry, of the same kernel if there is one.

        Args:
            key: The entry that is not picked.
            then: Receives the other's key.
        """
        from irlens.tui.screens.picking import Picking

        def picked(other: str | None) -> None:
            if other is not None:
                then(other)

        known = self._browser.table.rows.entries if self._browser else {}
        listing = self._browser is None or self._browser.is_listing
        self.push_screen(Picking(self.workbench, key, known, listing=listing), picked)

    def show_comparison(self, before: str, after: str) -> None:
        """Show what moved from one entry to another, over the screen."""
        from irlens.tui.screens.compare import Compare

        self.push_screen(Compare(before, after))

    def show_form(self, key: str) -> None:
        """Let the user choose how an entry's kernel is compiled again."""
        from irlens.tui.screens.recompile import Recompile

        bench = self.workbench

        def chosen(changes: dict[str, str] | None) -> None:
            if changes is not None:
                self.recompiling.start(key, changes)

        def find() -> tuple[str, Sequence[Setting]]:
            return bench.kernel(key), bench.settings(key)

        self.push_screen(Recompile(find, self.recompiling.last.get(key, {})), chosen)

    def show_compiled(self, origin: str, entry: Entry) -> None:
        """Show what has been compiled, if the user still looks at what it was compiled from."""
        if self._browser is not None:
            self._browser.add_compiled(origin, entry)
        self.postponed.do(lambda: self._show_compiled(origin, entry))

    def _show_compiled(self, origin: str, entry: Entry) -> None:
        if isinstance(self.screen, EntryScreen) and self.screen.key == origin:
            self.show_view(self.view, entry.key, like=self.screen)
        else:
            self.notify(f"compiled {printable_line(entry.kernel)}", timeout=3, markup=False)

    def show_failure(self, what: str, error: IrlensError) -> None:
        """Show at length what went wrong."""
        # What is fenced is not broken by itself, and a compiler's lines have to stay lines.
        room = max(min(self.size.width * 9 // 10, _READING) - _AROUND_FENCE, _LEAST_ROOM)
        lines = error.told("\n\n").split("\n")
        said = "\n".join(textwrap.fill(line, room, drop_whitespace=False) for line in lines)
        runs = re.findall("`+", said)
        fence = "`" * max(3, *(len(run) + 1 for run in runs)) if runs else "```"
        text = f"### {what}\n\n{fence}text\n{said}\n{fence}\n"

        def show() -> None:
            self.show_text(text)
            self._failure = self.screen

        self.postponed.do(show)

    def close_failure(self) -> None:
        """Put away what was shown of a failure, if it is still there."""
        if self._failure is self.screen:
            self.pop_screen()
        self._failure = None

    def show_text(self, markdown: str) -> None:
        """Show a text over the screen."""
        from irlens.tui.screens.reading import Reading

        self.push_screen(Reading(printable(markdown)))

    def action_help(self) -> None:
        """Say what the screen shows, and which keys it has."""
        from irlens.tui.help import help_of

        self.show_text(help_of(self.screen))

    def tell_error(self, error: IrlensError) -> None:
        """Say what went wrong."""
        self.notify(printable(error.told("\n")), severity="error", timeout=10, markup=False)

    def action_next_theme(self) -> None:
        """Change to the next of irlens's own themes."""
        names = [theme.name for theme in THEMES]
        index = names.index(self.theme) + 1 if self.theme in names else 0
        self.theme = names[index % len(names)]

    def _hung_up(self, *_: object) -> None:
        """Leave at once when the terminal is gone, and remember what was chosen.

        To end in the usual way would wait for ever: for the thread that writes to the terminal.
        """
        self._remember()
        self.workbench.cancel()
        os._exit(128 + signal.SIGHUP)

    def _remember(self) -> None:
        self.remembered.theme = self.theme
        memory.keep(self._state, self.remembered)

    def _show(self, name: str) -> None:
        """Make a screen the only one above Textual's own blank one."""
        if len(self.screen_stack) > 1:
            self.switch_screen(name)
        else:
            self.push_screen(name)
