"""Compiling again in the background: what runs now, and the entries that came of it."""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec
from textual.signal import Signal

from irlens.model.comparison import Comparison
from irlens.model.errors import CaptureError, IrlensError
from irlens.model.text import printable_line
from irlens.session.workbench import Entry
from irlens.tui.asking import ask

if TYPE_CHECKING:
    from irlens.tui.app import Lens


class Attempt(msgspec.Struct, frozen=True):
    """A compilation.

    Attributes:
        key: The entry that it began with.
        changes: What was chosen anew, by name.
        saved: The files that were saved, where that is why it is compiled.
        since: When it began, by the monotonic clock.
    """

    key: str
    changes: dict[str, str]
    saved: str
    since: float

    @property
    def told(self) -> str:
        """What is compiled: "num_stages=2", or "softmax.py as saved"."""
        chosen = (f"{name}={value}" for name, value in self.changes.items())
        told = f"{self.saved} as saved" if self.saved else " ".join(chosen)
        return printable_line(told) or "the same"


class Origin(msgspec.Struct, frozen=True):
    """Where an entry came from.

    Attributes:
        key: The entry that it was compiled from.
        told: What was compiled: see ``Attempt.told``.
        chosen: Whether something was chosen anew; if not, the kernel was saved.
        comparison: What moved since; ``None`` where that cannot be told.
    """

    key: str
    told: str
    chosen: bool
    comparison: Comparison | None


class Recompiling:
    """The compilations of one app.

    Attributes:
        running: The one that runs.
        changed: Tells of one that begins or ends.
        origins: Where entries came from, by key.
        last: What was chosen last for an entry, by key, to choose from there.
    """

    def __init__(self, app: "Lens") -> None:
        self._app = app
        self._history: list[str] = []
        self._cancelled = False
        self.running: Attempt | None = None
        self.changed: Signal[None] = Signal(app, "recompiling")
        self.origins: dict[str, Origin] = {}
        self.last: dict[str, dict[str, str]] = {}

    def start(self, key: str, changes: dict[str, str]) -> None:
        """Compile an entry again.

        Args:
            key: The entry's.
            changes: What is chosen anew.
        """
        self.last[key] = changes
        if self.running is not None:
            self._app.notify("another compilation is running", severity="warning")
            return
        attempt = Attempt(key, changes, "", time.monotonic())
        self._begin(attempt, lambda: self._app.workbench.recompile(key, changes))

    def start_anew(self, key: str, saved: str) -> None:
        """Compile what an entry was compiled from, since that has been saved.

        Args:
            key: The entry's.
            saved: The files that were.
        """
        attempt = Attempt(key, {}, saved, time.monotonic())
        self._begin(attempt, lambda: self._app.workbench.remake(key))

    def _begin(self, attempt: Attempt, compile_it: Callable[[], Entry]) -> None:
        bench, key = self._app.workbench, attempt.key
        self._cancelled = False

        def work() -> tuple[Entry, Comparison | None]:
            if self._cancelled:  # before there was anything that the workbench could abandon
                raise CaptureError(f"compiling {key} was cancelled")
            entry = compile_it()
            try:
                return entry, bench.compare(key, entry.key)
            except IrlensError:  # deleted meanwhile: what was compiled is shown without
                return entry, None

        self._set_running(attempt)
        ask(
            self._app,
            work,
            lambda made: self._done(attempt, *made),
            lambda error: self._failed(attempt, error),
            group="recompile",
        )

    def cancel(self) -> None:
        """Abandon what runs."""
        if self.running is not None:
            self._cancelled = True
            self._app.workbench.cancel()

    def history(self, key: str) -> tuple[list[str], int]:
        """Return the entries that came of each other, and where among them one is."""
        if key in self._history:
            return self._history, self._history.index(key)
        return [key], 0

    def _set_running(self, attempt: Attempt | None) -> None:
        self.running = attempt
        self.changed.publish(None)

    def _done(self, attempt: Attempt, entry: Entry, comparison: Comparison | None) -> None:
        self._set_running(None)
        if self.last.get(attempt.key) is attempt.changes:  # nothing else was chosen meanwhile
            del self.last[attempt.key]
        if entry.key != attempt.key:
            self.origins[entry.key] = Origin(
                attempt.key, attempt.told, not attempt.saved, comparison
            )
        if attempt.key not in self._history:
            self._history = [attempt.key]
        if entry.key not in self._history:
            self._history.insert(self._history.index(attempt.key) + 1, entry.key)
        self._app.show_compiled(attempt.key, entry)
        self._app.following.go_on()

    def _failed(self, attempt: Attempt, error: IrlensError) -> None:
        self._set_running(None)
        if self._cancelled:
            self._app.notify("cancelled: nothing was compiled", timeout=3)
        else:
            self._app.show_failure(f"{attempt.told} was not compiled", error)
        self._app.following.go_on()
