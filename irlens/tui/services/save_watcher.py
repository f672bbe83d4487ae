"""Recompile the kernel on show whenever its source is saved."""

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from textual.app import App

from irlens.model.errors import IrlensError
from irlens.tui.services.preferences import Preferences

if TYPE_CHECKING:  # it loads what reads captures
    from irlens.session.interactive import Workbench


class SaveWatcher:
    """Watches the source files of one entry at a time.

    Args:
        app: The app in whose thread ``recompile`` is called.
        recompile: Compiles an entry (its key) because of a save (the file's name); returns
            whether it started to.
    """

    def __init__(
        self,
        app: App[None],
        workbench: "Workbench",
        preferences: Preferences,
        recompile: Callable[[str, str], bool],
    ) -> None:
        self._app = app
        self._workbench = workbench
        self._preferences = preferences
        self._recompile = recompile
        self._key: str | None = None
        #: Stops the current wait.
        self._stop = threading.Event()

    def watch(self, key: str | None) -> None:
        """Watch the sources of an entry and of no other; ``None`` watches nothing."""
        if key != self._key:
            self._key = key
            self.resume()

    def resume(self) -> None:
        """Wait for the next save, or take up the last one if it was not compiled."""
        self.stop()
        if self._key is None or not self._preferences.follow:
            return
        self._stop = stop = threading.Event()
        # Not a Textual worker: waiting until all workers are complete would never end.
        threading.Thread(target=self._wait, args=(self._key, stop), daemon=True).start()

    def toggle(self) -> None:
        """Turn recompiling on save on or off."""
        self._preferences.follow = not self._preferences.follow
        state = "on" if self._preferences.follow else "off"
        self._app.notify(f"recompile on save: {state}", timeout=3)
        self.resume()

    def stop(self) -> None:
        """Stop waiting."""
        self._stop.set()

    def _wait(self, key: str, stop: threading.Event) -> None:
        """Wait in a thread of its own."""

        def take(file: str) -> bool:
            with suppress(RuntimeError):  # the app has ended
                return self._app.call_from_thread(self._compile, key, stop, file)
            return False

        with suppress(IrlensError):  # the file is gone
            self._workbench.saved(key, stop, take)

    def _compile(self, key: str, stop: threading.Event, file: str) -> bool:
        return not stop.is_set() and self._recompile(key, file)
