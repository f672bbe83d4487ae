"""Compiling again whenever the kernel that is looked at has been saved."""

import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from irlens.model.errors import IrlensError

if TYPE_CHECKING:
    from irlens.tui.app import Lens


class Following:
    """Waits for saves of one kernel, the one that is looked at, and compiles it again.

    Args:
        app: Whose user looks at it.
    """

    def __init__(self, app: "Lens") -> None:
        self._app = app
        self._key: str | None = None
        #: Ends the waiting that goes on.
        self._until = threading.Event()

    def look_at(self, key: str | None) -> None:
        """Follow an entry's kernel from now on, and no other; ``None`` follows nothing."""
        if key != self._key:
            self._key = key
            self.go_on()

    def go_on(self) -> None:
        """Wait for the next save, or hear of the last one if that was not compiled."""
        self._until.set()
        if self._key is None or not self._app.remembered.follow:
            return
        self._until = until = threading.Event()
        # Not a worker: those have an end that others may wait for.
        threading.Thread(target=self._wait, args=(self._key, until), daemon=True).start()

    def toggle(self) -> None:
        """Follow saves if they were not followed, or the other way round."""
        remembered = self._app.remembered
        remembered.follow = not remembered.follow
        told = "every save is compiled" if remembered.follow else "saves are not compiled any more"
        self._app.notify(told, timeout=3)
        self.go_on()

    def end(self) -> None:
        """Wait for nothing any more."""
        self._until.set()

    def _wait(self, key: str, until: threading.Event) -> None:
        """Wait in a thread of its own."""

        def take(saved: str) -> bool:
            with suppress(RuntimeError):  # the app has ended
                return self._app.call_from_thread(self._compile, key, until, saved)
            return False

        with suppress(IrlensError):  # a file that is gone cannot be followed
            self._app.workbench.saved(key, until, take)

    def _compile(self, key: str, until: threading.Event, saved: str) -> bool:
        """Compile what was saved, unless nobody looks at it any more or something is compiled."""
        if until.is_set() or self._app.recompiling.running is not None:
            return False
        self._app.close_failure()
        self._app.recompiling.start_anew(key, saved)
        return True
