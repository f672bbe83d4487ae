"""What is compiled while the interface runs, and what entries were made of."""

import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from irlens.model.capture import Capture
from irlens.model.errors import CaptureError
from irlens.session.compiling import Compiler
from irlens.session.found import key_of

# The interface is on the screen before it asks for anything, and sooner without these.
if TYPE_CHECKING:
    from irlens.compiler import Request
    from irlens.compiler.saves import Saves


class Made:
    """Compiles, and remembers which request an entry came of.

    Args:
        origins: Captures that were made before, and what asked for them.
        key_for: Tells the key under which a capture is listed.

    Attributes:
        captures: What was compiled here, by key.
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
        self._saves: dict[str, Saves] = {}
        #: Keys of what has been compiled anew: it may stay as old as it is.
        self._outdated: set[str] = set()

    def request(self, key: str) -> "Request | None":
        """Return what an entry came of; ``None`` where that is not known."""
        origin = self._origins.get(key)
        return origin[1] if origin is not None else None

    @property
    def cancels(self) -> int:
        """How often it was cancelled: see ``compiling.Compiler``."""
        return self._compiler.cancels

    def compile(self, request: "Request", cancels: int) -> dict[str, Capture]:
        """Compile a kernel, and return what comes of it by key, never nothing.

        Args:
            request: What asks for it.
            cancels: See ``compiling.Compiler``.

        Raises:
            CaptureError: It cannot be compiled, or that was cancelled.
        """
        captures = self._compiler.compile(request, cancels)
        made = {self._key_for(capture): capture for capture in captures}
        self.captures |= made
        self._origins |= {key: (capture, request) for key, capture in made.items()}
        self._outdated -= made.keys()
        return made

    def compile_as(self, key: str, request: "Request", cancels: int) -> dict[str, Capture]:
        """Compile a kernel that is listed before it is, under the key that it has there."""
        made = self.compile(request, cancels)
        first = next(iter(made.values()))
        self.captures[key] = first
        self._origins[key] = (first, request)
        return made | {key: first}

    def compile_anew(self, key: str) -> dict[str, Capture]:
        """Compile what an entry came of, from what its files hold now.

        Raises:
            CaptureError: It cannot be compiled, or it is not known what it came of.
        """
        cancels = self.cancels
        request = self.request(key)
        if request is None:
            raise CaptureError("the kernel's source is not known")
        try:
            made = self.compile(request, cancels)
        except CaptureError:
            self._saves_of(key).failed()
            raise
        if key not in made:
            self._outdated.add(key)
        return made

    def wait_for_save(self, key: str, until: threading.Event, take: Callable[[str], bool]) -> str:
        """Wait until an entry's files are saved; see ``Workbench.saved``."""
        if key not in self._origins:
            return ""
        saves = self._saves_of(key)
        if key in self._outdated:
            saves.forget()
        return _called(saves.wait(until, lambda files: take(_called(files))))

    def cancel(self) -> None:
        """Abandon what another thread compiles."""
        self._compiler.cancel()

    def _saves_of(self, key: str) -> "Saves":
        from irlens.compiler.saves import Saves

        if key not in self._saves:
            capture, request = self._origins[key]
            saves = Saves(request.kernel)
            saves.compiled([capture])
            self._saves.setdefault(key, saves)  # two threads may ask at once
        return self._saves[key]


def _called(files: Iterable[Path]) -> str:
    return ", ".join(file.name for file in files)
