"""Noticing that what a kernel is made of has been saved with other content."""

import threading
from collections.abc import Callable, Generator, Iterable
from contextlib import closing, suppress
from pathlib import Path

from irlens.compiler.finding import find_file
from irlens.compiler.keeping import sha256
from irlens.model.capture import PYTHON_FOLDER, Capture

#: Milliseconds after which the files are read again even if nobody has told of a change: some
#: file systems (NFS, a container's mounts) tell of none.
_LOOK_AGAIN = 1000


class Saves:
    """The Python files that a kernel is made of, as they were when it was compiled last.

    Args:
        kernel: Which, see ``describe.find_kernel``.

    Raises:
        IrlensError: There is no such file.
    """

    def __init__(self, kernel: str) -> None:
        self._source = find_file(kernel).resolve()
        self._known = {self._source: _digest(self._source)}

    @property
    def files(self) -> list[Path]:
        """What is watched, the kernel's own file first."""
        return list(self._known)

    def compiled(self, captures: Iterable[Capture]) -> None:
        """Watch what these captures were made of, and no more; what that was they tell."""
        own = self._known[self._source]
        others: dict[Path, str | None] = {}
        for capture in captures:
            if capture.directory is not None and capture.manifest is not None:
                own = _digest(capture.directory / PYTHON_FOLDER / capture.manifest.file) or own
                told = capture.manifest.dependencies.items()
                others |= {Path(path): digest for path, digest in told}
        self._known = {self._source: own, **others}

    def failed(self) -> None:
        """Watch all Python beside it, too: what could not be loaded has not told its files."""
        beside = sorted(self._source.parent.glob("*.py"))
        # Another thread may be looking at what is there now.
        others = {file: _digest(file) for file in beside if file not in self._known}
        self._known = self._known | others

    def forget(self) -> None:
        """Take what the files hold now for what was compiled."""
        self._saved()

    def wait(
        self,
        until: threading.Event | None = None,
        take: Callable[[list[Path]], bool] = lambda _: True,
    ) -> list[Path]:
        """Wait until a file holds something else than what was compiled.

        Args:
            until: Ends the waiting when it is set.
            take: Is told what was saved, and whether to count that as compiled. If not, the next
                one who waits hears of it.

        Returns:
            The files that were saved; none if ``until`` was set, or if they were not taken.
        """
        stop = until or threading.Event()
        with closing(_occasions({file.parent for file in self.files}, stop)) as occasions:
            while not stop.is_set():
                before = self._known
                if saved := self._saved():
                    if take(saved):
                        return saved
                    self._known = self._known | {file: before[file] for file in saved}
                    break
                next(occasions)
        return []

    def _saved(self) -> list[Path]:
        """Return what holds something else than it did, and remember what that is."""
        known = self._known
        now = {file: _digest(file) for file in known}
        saved = {f: now[f] for f in known if now[f] not in (None, known[f])}
        self._known = known | saved
        return list(saved)


def _occasions(folders: Iterable[Path], stop: threading.Event) -> Generator[None, None, None]:
    """Yield for ever: whenever it is time to look at the files of some folders again.

    Args:
        folders: Those that are not there are looked at now and then.
        stop: Ends the waiting for the next time.
    """
    import watchfiles

    # A folder may be gone since it was looked for, and a system watches so many and no more.
    with suppress(OSError):
        for _ in watchfiles.watch(
            *(folder for folder in folders if folder.is_dir()),
            # Whatever happens there, also to an editor's temporary files: only content counts.
            watch_filter=None,
            stop_event=stop,
            rust_timeout=_LOOK_AGAIN,
            yield_on_timeout=True,
            recursive=False,
        ):
            yield
    while True:
        stop.wait(_LOOK_AGAIN / 1000)
        yield


def _digest(file: Path) -> str | None:
    """Return a file's hash; ``None`` for one that an editor has removed or emptied to write it."""
    try:
        return sha256(content) if (content := file.read_bytes()) else None
    except OSError:
        return None
