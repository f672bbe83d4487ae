"""Watch the source files of a kernel for changes of their content."""

import threading
from collections.abc import Callable, Generator, Iterable
from contextlib import closing, suppress
from pathlib import Path

from irlens.compiler.capture_files import sha256
from irlens.compiler.sources.lookup import find_file
from irlens.model.capture import PYTHON_FOLDER, Capture

#: Interval in milliseconds at which files are read even without an event: some file systems
#: (NFS, container mounts) report none.
_POLL_INTERVAL = 1000


class SourceWatcher:
    """The Python files of a kernel, with their content as of the last compilation.

    Args:
        kernel: The kernel's spec, see ``description.find_kernel``.

    Raises:
        IrlensError: There is no such file.
    """

    def __init__(self, kernel: str) -> None:
        self._source = find_file(kernel).resolve()
        self._digests = {self._source: _digest(self._source)}

    @property
    def files(self) -> list[Path]:
        """The watched files, the kernel's own first."""
        return list(self._digests)

    def compiled(self, captures: Iterable[Capture]) -> None:
        """Watch exactly the files that these captures were compiled from, as they were then."""
        own = self._digests[self._source]
        others: dict[Path, str | None] = {}
        for capture in captures:
            if capture.directory is not None and capture.manifest is not None:
                own = _digest(capture.directory / PYTHON_FOLDER / capture.manifest.file) or own
                dependencies = capture.manifest.dependencies.items()
                others |= {Path(path): digest for path, digest in dependencies}
        self._digests = {self._source: own, **others}

    def failed(self) -> None:
        """Watch all Python files in the folder too: a failed load leaves its imports unknown."""
        siblings = sorted(self._source.parent.glob("*.py"))
        # Replaced, not updated: another thread may be iterating over the dictionary.
        others = {file: _digest(file) for file in siblings if file not in self._digests}
        self._digests = self._digests | others

    def accept(self) -> None:
        """Consider the current content of the files as compiled."""
        self._take_changes()

    def wait(
        self,
        until: threading.Event | None = None,
        take: Callable[[list[Path]], bool] = lambda _: True,
    ) -> list[Path]:
        """Block until a file's content differs from what was compiled.

        Args:
            take: Called with the changed files; returns whether to consider them compiled. If
                not, the next ``wait`` reports them again.

        Returns:
            The changed files; none if ``until`` was set or ``take`` declined them.
        """
        stop = until or threading.Event()
        with closing(_wakeups({file.parent for file in self.files}, stop)) as wakeups:
            while not stop.is_set():
                before = self._digests
                if changed := self._take_changes():
                    if take(changed):
                        return changed
                    self._digests = self._digests | {file: before[file] for file in changed}
                    break
                next(wakeups)
        return []

    def _take_changes(self) -> list[Path]:
        """Return the files whose content has changed, and remember the new content."""
        before = self._digests
        now = {file: _digest(file) for file in before}
        changed = {f: now[f] for f in before if now[f] not in (None, before[f])}
        self._digests = before | changed
        return list(changed)


def _wakeups(folders: Iterable[Path], stop: threading.Event) -> Generator[None, None, None]:
    """Yield whenever the files of some folders should be read again; ``stop`` ends a wait."""
    import watchfiles

    # A folder may have been removed, and the system's watch limit may be reached: then poll.
    with suppress(OSError):
        for _ in watchfiles.watch(
            *(folder for folder in folders if folder.is_dir()),
            # Every event counts, also of an editor's temporary files: only content decides.
            watch_filter=None,
            stop_event=stop,
            rust_timeout=_POLL_INTERVAL,
            yield_on_timeout=True,
            recursive=False,
        ):
            yield
    while True:
        stop.wait(_POLL_INTERVAL / 1000)
        yield


def _digest(file: Path) -> str | None:
    """Return a file's hash; ``None`` if an editor has removed or emptied it to rewrite it."""
    try:
        return sha256(content) if (content := file.read_bytes()) else None
    except OSError:
        return None
