"""Compilation in a child process that can be killed, and the history of compiled entries."""

import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from irlens.artifacts import store
from irlens.artifacts.entries import Broken
from irlens.artifacts.load import load
from irlens.model.capture import Capture
from irlens.model.errors import CaptureError
from irlens.session import inquiries
from irlens.session.child import Child
from irlens.session.listed_entries import key_of

# The first screen appears before anything is compiled, and sooner without these.
if TYPE_CHECKING:
    from irlens.compiler import Request
    from irlens.compiler.sources.watcher import SourceWatcher


class Compiler(Child):
    """Runs one compilation at a time; ``cancel`` may be called from any thread."""

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()

    def compile(self, request: "Request", cancels: int | None = None) -> list[Capture]:
        """Compile a kernel into the store.

        Args:
            cancels: ``self.cancels`` at the time of the user's request: a later cancellation
                counts even if it came before the child was started. Now, if not given.

        Returns:
            One capture for each variant, never an empty list.

        Raises:
            CaptureError: The kernel does not compile, another compilation is running, or this one
                was cancelled.
        """
        from irlens.compiler.calls.contents import with_contents

        known = self.cancels if cancels is None else cancels
        if not self._lock.acquire(blocking=False):
            raise CaptureError("another kernel is being compiled", hint="wait, or cancel it")
        store.ensure_writable()
        store.hold()
        try:
            ended = self.run(inquiries.__name__, inquiries.question("compile", request), known)
        finally:
            self._lock.release()
        if self.cancels != known:
            raise CaptureError(f"compiling {request.kernel} was cancelled")
        entries = inquiries.answer_of(ended, request.kernel, list[str])
        loaded = [each for entry in entries for each in load(Path(entry))]
        captures = with_contents((e for e in loaded if not isinstance(e, Broken)), request)
        if not captures:
            raise CaptureError(f"compiling {request.kernel} left no readable capture")
        return captures


class Compilations:
    """Compiles requests, and remembers the request of each entry.

    Args:
        key_for: Returns the key under which a capture is listed.
    """

    def __init__(
        self,
        origins: "Iterable[tuple[Capture, Request]]",
        key_for: Callable[[Capture], str],
    ) -> None:
        self.captures: dict[str, Capture] = {}
        self._key_for = key_for
        self._compiler = Compiler()
        self._origins = {key_of(capture, 0): (capture, request) for capture, request in origins}
        self._saves: dict[str, SourceWatcher] = {}
        #: Entries that were recompiled: their source is newer than they are, which is known.
        self._superseded: set[str] = set()

    def request(self, key: str) -> "Request | None":
        """Return the request of an entry, ``None`` if unknown."""
        origin = self._origins.get(key)
        return origin[1] if origin is not None else None

    @property
    def cancels(self) -> int:
        """Number of cancellations so far; see ``Compiler``."""
        return self._compiler.cancels

    def compile(self, request: "Request", cancels: int) -> dict[str, Capture]:
        """Compile a kernel, and return its captures by key, at least one.

        Raises:
            CaptureError: The kernel does not compile, or the compilation was cancelled.
        """
        captures = {self._key_for(each): each for each in self._compiler.compile(request, cancels)}
        self.captures |= captures
        self._origins |= {key: (capture, request) for key, capture in captures.items()}
        self._superseded -= captures.keys()
        return captures

    def compile_listed(self, key: str, request: "Request", cancels: int) -> dict[str, Capture]:
        """Compile a kernel that is already listed, and keep the key of its entry."""
        captures = self.compile(request, cancels)
        first = next(iter(captures.values()))
        self.captures[key] = first
        self._origins[key] = (first, request)
        return captures | {key: first}

    def recompile(self, key: str) -> dict[str, Capture]:
        """Compile the request of an entry again, from the current source.

        Raises:
            CaptureError: The kernel does not compile, or the entry's request is unknown.
        """
        cancels = self.cancels
        request = self.request(key)
        if request is None:
            raise CaptureError("the kernel's source is unknown")
        try:
            captures = self.compile(request, cancels)
        except CaptureError:
            self._saves_of(key).failed()
            raise
        if key not in captures:
            self._superseded.add(key)
        return captures

    def wait_for_save(self, key: str, until: threading.Event, take: Callable[[str], bool]) -> str:
        """Wait until an entry's files are saved; see ``Workbench.saved``."""
        if key not in self._origins:
            return ""
        saves = self._saves_of(key)
        if key in self._superseded:
            saves.accept()
        return _names(saves.wait(until, lambda saved: take(_names(saved))))

    def cancel(self) -> None:
        """Abandon the compilation of another thread."""
        self._compiler.cancel()

    def _saves_of(self, key: str) -> "SourceWatcher":
        from irlens.compiler.sources.watcher import SourceWatcher

        if key not in self._saves:
            capture, request = self._origins[key]
            saves = SourceWatcher(request.kernel)
            saves.compiled([capture])
            self._saves.setdefault(key, saves)  # two threads may ask at once
        return self._saves[key]


def _names(saved: Iterable[Path]) -> str:
    return ", ".join(file.name for file in saved)
