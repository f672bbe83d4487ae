"""Background compilations: the running one, the history, and how results reach the screen."""

import time
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, TypeAlias, TypeVar

import msgspec
from textual.app import App
from textual.screen import ModalScreen
from textual.signal import Signal
from textual.widgets import Input

from irlens.model.comparison import Comparison
from irlens.model.errors import CaptureError, IrlensError
from irlens.model.suggestion import Suggestion
from irlens.model.text import printable_line
from irlens.session.exchange import Entry, Inquiry
from irlens.tui.services.threads import run_in_thread

if TYPE_CHECKING:  # it loads what reads captures
    from irlens.session.interactive import Workbench

T = TypeVar("T")


#: What is shown of an entry that was compiled from another one.
Shown: TypeAlias = Literal["entry", "differences"]


class Compilation(msgspec.Struct, frozen=True, kw_only=True):
    """A compilation that runs.

    Attributes:
        saved_file: The file whose save triggered it; "" if the user did.
        shows: The new entry, or the differences above it.
        is_suggestion: Whether the neighbours of the entry are compiled instead.
    """

    key: str
    changes: dict[str, str] = {}
    saved_file: str = ""
    shows: Shown = "entry"
    is_suggestion: bool = False
    started: float

    @property
    def label(self) -> str:
        """What differs from the entry: "num_stages=2", "softmax.py (saved)", or "unchanged"."""
        if self.is_suggestion:
            return "neighbours"
        changes = " ".join(f"{name}={value}" for name, value in self.changes.items())
        label = f"{self.saved_file} (saved)" if self.saved_file else changes
        return printable_line(label) or "unchanged"


class Origin(msgspec.Struct, frozen=True):
    """How an entry was compiled from another one.

    Attributes:
        label: What differs: see ``Compilation.label``.
        has_changes: Whether settings were changed; if not, the source was saved.
        comparison: The differences; ``None`` if the two cannot be compared.
    """

    key: str
    label: str
    has_changes: bool
    comparison: Comparison | None


class Compilations:
    """Runs one compilation at a time.

    Args:
        on_end: Called last, however it ended.

    Attributes:
        pending_changes: The latest changes chosen for an entry, by key: the form starts with them.
    """

    def __init__(
        self,
        app: App[None],
        workbench: "Workbench",
        on_done: Callable[[Compilation, Entry], None],
        on_suggested: Callable[[str, Suggestion], None],
        on_failed: Callable[[Compilation, IrlensError], None],
        on_end: Callable[[], None],
    ) -> None:
        self._app = app
        self._workbench = workbench
        self._on_done, self._on_suggested = on_done, on_suggested
        self._on_failed, self._on_end = on_failed, on_end
        self._history: list[str] = []
        self._cancelled = False
        self.running: Compilation | None = None
        self.inquiry: Inquiry | None = None
        self.changed: Signal[None] = Signal(app, "compilations")
        self.origins: dict[str, Origin] = {}
        self.pending_changes: dict[str, dict[str, str]] = {}

    def start(self, key: str, changes: dict[str, str], shows: Shown = "entry") -> None:
        """Compile an entry with other settings."""
        self.pending_changes[key] = changes
        if self._is_free():
            compilation = Compilation(
                key=key, changes=changes, shows=shows, started=time.monotonic()
            )
            self._begin(compilation, lambda: self._workbench.recompile(key, changes))

    def start_suggestion(self, key: str) -> None:
        """Compile the neighbours of an entry."""
        if not self._is_free():
            return
        compilation = Compilation(key=key, is_suggestion=True, started=time.monotonic())
        self.inquiry = inquiry = Inquiry()
        self._run(
            compilation,
            lambda: self._workbench.suggest(key, inquiry),
            lambda suggestion: self._suggested(compilation, suggestion),
        )

    def start_after_save(self, key: str, saved_file: str) -> None:
        """Compile an entry from its saved source, with the same settings."""
        compilation = Compilation(key=key, saved_file=saved_file, started=time.monotonic())
        self._begin(compilation, lambda: self._workbench.remake(key))

    def cancel(self) -> None:
        """Abort the running compilation."""
        if self.running is not None:
            self._cancelled = True
            if self.inquiry is not None:
                self.inquiry.cancel()
            self._workbench.cancel()

    def history(self, key: str) -> tuple[list[str], int]:
        """Return the entries compiled from each other, and the index of one among them."""
        if key in self._history:
            return self._history, self._history.index(key)
        return [key], 0

    def _is_free(self) -> bool:
        """Whether nothing is being compiled; if something is, say so."""
        if self.running is not None:
            self._app.notify("another compilation is running", severity="warning")
        return self.running is None

    def _begin(self, compilation: Compilation, compile_entry: Callable[[], Entry]) -> None:
        bench, key = self._workbench, compilation.key

        def work() -> tuple[Entry, Comparison | None]:
            entry = compile_entry()
            try:
                return entry, bench.compare(key, entry.key)
            except IrlensError:  # the original was deleted: show the new entry alone
                return entry, None

        self._run(compilation, work, lambda result: self._done(compilation, *result))

    def _run(
        self, compilation: Compilation, call: Callable[[], T], on_result: Callable[[T], None]
    ) -> None:
        self._cancelled = False

        def work() -> T:
            if self._cancelled:  # before the workbench had anything to abort
                raise CaptureError(f"compiling {compilation.key} was cancelled")
            return call()

        self._set_running(compilation)
        run_in_thread(
            self._app,
            work,
            on_result,
            lambda error: self._failed(compilation, error),
            group="compilation",
        )

    def _set_running(self, compilation: Compilation | None) -> None:
        self.running = compilation
        if compilation is None:
            self.inquiry = None
        self.changed.publish(None)

    def _done(self, compilation: Compilation, entry: Entry, comparison: Comparison | None) -> None:
        self._set_running(None)
        key = compilation.key
        if self.pending_changes.get(key) is compilation.changes:  # nothing newer was chosen
            del self.pending_changes[key]
        if entry.key != key:
            self.origins[entry.key] = Origin(
                key, compilation.label, not compilation.saved_file, comparison
            )
        if key not in self._history:
            self._history = [key]
        if entry.key not in self._history:
            self._history.insert(self._history.index(key) + 1, entry.key)
        self._on_done(compilation, entry)
        self._on_end()

    def _suggested(self, compilation: Compilation, suggestion: Suggestion) -> None:
        self._set_running(None)
        self._on_suggested(compilation.key, suggestion)
        self._on_end()

    def _failed(self, compilation: Compilation, error: IrlensError) -> None:
        self._set_running(None)
        if self._cancelled:
            self._app.notify("compilation cancelled", timeout=3)
        else:
            self._on_failed(compilation, error)
        self._on_end()


class DeferredResults:
    """Shows results only while the user neither types nor answers a dialog.

    Keys meant for a prompt would otherwise act as commands on a new screen, and an open dialog
    would be covered.
    """

    def __init__(self, app: App[None]) -> None:
        self._app = app
        self._results: deque[Callable[[], None]] = deque()

    def show(self, show: Callable[[], None]) -> None:
        """Show a result now, or once the user has finished typing."""
        self._results.append(show)
        self.resume()

    def resume(self) -> None:
        """Show the results that waited, unless the user still types."""
        while self._results and not (
            isinstance(self._app.screen, ModalScreen) or isinstance(self._app.focused, Input)
        ):
            self._results.popleft()()
