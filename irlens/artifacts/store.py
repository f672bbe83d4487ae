"""The store of captures on disk, written atomically.

A directory of the store is either complete or absent. Slow work happens in a workspace, a hidden
directory beside the destination and so in the same file system; the last step is one ``rename``.
A killed process leaves nothing but its workspace behind, which ``clean`` of a later run removes.
"""

import atexit
import errno
import hashlib
import itertools
import os
import re
import time
from collections import defaultdict
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

from irlens.artifacts import locks
from irlens.model import files
from irlens.model.capture import MANIFEST_NAME
from irlens.model.errors import ArtifactError
from irlens.model.recording import PROGRAM_NAME

#: What becomes of a capture in whose place another is published.
Older: TypeAlias = Literal["keep", "replace"]

ROOT_VARIABLE = "IRLENS_CACHE_DIR"
#: The folder of the captures.
CAPTURES = "captures"
#: The file beside a request's captures with the checksum of theirs.
CHECKSUM_NAME = "irlens.checksum"

#: A workspace younger than this, in seconds, is left alone even if its process seems to be gone:
#: process ids mean nothing across machines or containers that share a directory.
STALE_AFTER = 3600.0

#: Where nothing exists and nothing can be written: the root without a home directory.
_NOWHERE = Path(os.devnull, "irlens")
#: Characters below the root: a capture's folder, its key and a file.
_LONGEST_NAME = 240
#: Bytes that a store must have room for: the artifacts of a small kernel.
_PROBE = 1 << 18

_WORKSPACE = re.compile(r"\.irlens-tmp-(?P<pid>\d+)-[0-9a-f]+")


def root() -> Path:
    """Return the store's directory: ``$IRLENS_CACHE_DIR``, or the user's cache directory.

    Raises:
        ArtifactError: The variable's value is too long, or not UTF-8.
    """
    chosen = os.environ.get(ROOT_VARIABLE)
    if chosen:
        return _of_usable_name(Path(chosen).expanduser().absolute())
    import platformdirs  # the variable is often set, and this takes milliseconds

    try:
        path = platformdirs.user_cache_path("irlens")
    except RuntimeError:  # there is no home directory
        return _NOWHERE
    return path if path.is_absolute() else _NOWHERE  # older versions do not raise


def _of_usable_name(path: Path) -> Path:
    """Return a directory whose files' names no file system or compiler refuses."""
    if not files.is_utf8(path):
        raise ArtifactError(
            f"{ROOT_VARIABLE} is not UTF-8: {path}",
            hint="name another directory: Triton takes none",
        )
    try:
        os.lstat(f"{path}/{'x' * _LONGEST_NAME}")
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise ArtifactError(
                f"{ROOT_VARIABLE} is longer than the file system allows: {str(path)[:60]}…",
                hint="name a directory with a shorter path",
            ) from error
    return path


def ensure_writable() -> str | None:
    """Use a temporary directory for the rest of this process if the store cannot be written.

    Child processes use it too; the process that made it removes it.

    Returns:
        Why the store cannot be written, ``None`` if it can.
    """
    import tempfile  # slow to load, and not needed to read

    from irlens.artifacts.temporary_folders import TemporaryFolder

    path = root()
    try:
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path) as file:
            file.write(bytes(_PROBE))
    except OSError as error:
        if path == _NOWHERE:
            problem = "no cache directory: there is no home directory"
        else:
            problem = f"cannot write {path}: {error.strerror}"
        temporary = TemporaryFolder()
        atexit.register(temporary.cleanup)
        os.environ[ROOT_VARIABLE] = temporary.name
        return problem
    return None


def can_write(folder: str) -> bool:
    """Whether results can be handed over through a folder of the store, which is created."""
    path = root() / folder
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(path, os.W_OK)


def digest(request: object) -> str:
    """Return the SHA-256, in hex, of a request's canonical JSON.

    Args:
        request: Records, dictionaries, lists and scalars. The order of keys does not matter;
            ``1``, ``1.0``, ``True`` and ``"1"`` are four different values, and so are an
            infinity, a NaN and ``None`` (which is why this is not msgspec's own JSON).
    """
    import json

    canonical = json.dumps(msgspec.to_builtins(request), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


def path_for(key: str) -> Path:
    """Return the path of the capture of ``key``, whether it exists or not."""
    return captures() / key


@contextmanager
def workspace(destination: Path) -> Iterator[Path]:
    """Make a private directory beside ``destination``, and remove it at the end.

    Raises:
        ArtifactError: The directory cannot be created.
    """
    # Names have equal length: code compiled from a file in the workspace contains its path.
    path = destination.parent / f".irlens-tmp-{os.getpid():08}-{os.urandom(8).hex()}"
    try:
        path.mkdir(parents=True)
        made = os.open(path, os.O_RDONLY)
    except OSError as error:
        raise unwritable(destination.parent, error) from error
    try:
        yield path
    except Exception as error:  # whatever the body raises once its directory is gone
        if os.fstat(made).st_nlink:  # the compiler may make another of its name
            raise
        raise ArtifactError(
            f"{destination.parent} was removed while irlens was using it", hint="run it again"
        ) from error
    finally:
        os.close(made)
        _remove(path)


def captures() -> Path:
    """Return the directory of the captures."""
    return root() / CAPTURES


def captures_lock() -> Path:
    """Return the file that every user of the store's captures locks."""
    return root() / f"{CAPTURES}.lock"


def hold() -> None:
    """Protect the store's captures from being cleaned as long as this process lives.

    Their artifacts are read on demand, which may be hours after they were listed.
    """
    lock = captures_lock()
    with suppress(OSError):  # then captures will not be stored either
        lock.parent.mkdir(parents=True, exist_ok=True)
        lock.touch()
    locks.hold(lock)


def touch(path: Path) -> None:
    """Mark an item of the store as used now."""
    with suppress(OSError):
        os.utime(path)


def publish(build: Path, destination: Path, *, older: Older = "keep") -> bool:
    """Move a finished capture to its destination, atomically.

    Concurrent publishers of one destination all succeed, and one complete capture remains.

    Args:
        build: The capture's directory, best inside a ``workspace``: from another file system it
            is copied there first. It is removed afterwards.
        destination: A path that does not exist, an empty directory, or an older capture.
        older: What becomes of an older capture; where it is kept, ``build`` is removed.

    Returns:
        Whether ``build`` was moved there.

    Raises:
        ArtifactError: The destination cannot be written, or holds something else than a capture.
    """
    try:
        destination.parent.mkdir(parents=True, exist_ok=True)
        try:
            moved = _move(build, destination, older)
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
            import shutil

            with workspace(destination) as near:
                copy = near / "copy"
                shutil.copytree(build, copy)
                moved = _move(copy, destination, older)
    except OSError as error:
        raise unwritable(destination, error) from error
    _remove(build)
    return moved


def clean(directory: Path, *, min_age: float = STALE_AFTER) -> int:
    """Remove the workspaces of killed processes in ``directory``.

    Args:
        directory: The parent of published captures, such as ``path_for(key).parent``.
        min_age: Seconds since the workspace was last written to.

    Returns:
        The number of removed workspaces.
    """
    try:
        paths = list(directory.iterdir())
    except OSError:
        return 0
    removed = 0
    for path in paths:
        if is_left_behind(path, min_age=min_age):
            _remove(path)
            removed += 1
    return removed


def remove_workspaces(pids: Collection[int]) -> None:
    """Remove what processes that were just killed were writing into the store's captures.

    Args:
        pids: Of processes on this machine that have ended and been waited for.
    """
    with suppress(OSError):
        for path in captures().iterdir():
            match = _WORKSPACE.fullmatch(path.name)
            if match is not None and int(match["pid"]) in pids:
                _remove(path)


def is_left_behind(path: Path, *, min_age: float = STALE_AFTER) -> bool:
    """Whether a path is the workspace of a killed process; see ``clean``."""
    match = _WORKSPACE.fullmatch(path.name)
    return match is not None and is_abandoned(path, int(match["pid"]), min_age=min_age)


def is_abandoned(path: Path, pid: int, *, min_age: float = STALE_AFTER) -> bool:
    """Whether a process's unfinished output exists, but the process does not."""
    return is_old(path, min_age=min_age) and not _alive(pid)


def is_old(path: Path, *, min_age: float = STALE_AFTER) -> bool:
    """Whether a path exists and was last written to at least ``min_age`` seconds ago."""
    try:
        return time.time() - path.stat().st_mtime >= min_age
    except OSError:
        return False


def _remove(path: Path) -> None:
    """Remove a directory with everything in it, as far as possible."""
    import shutil  # most commands only read

    shutil.rmtree(path, ignore_errors=True)


def seal(build: Path) -> None:
    """Write the checksum of captures that are about to be published, beside them."""
    (build / CHECKSUM_NAME).write_bytes(_checksum_of(build))


def is_whole(captures: Path) -> bool:
    """Whether every file of published captures is as ``seal`` saw it.

    Raises:
        OSError: One cannot be read.
    """
    return (captures / CHECKSUM_NAME).read_bytes() == _checksum_of(captures)


def _checksum_of(folder: Path) -> bytes:
    digest = hashlib.blake2b(digest_size=_CHECKSUM_BYTES)
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.name != CHECKSUM_NAME:
            content = path.read_bytes()
            digest.update(f"{path.relative_to(folder)}\0{len(content)}\0".encode() + content)
    return digest.digest()


def _move(build: Path, destination: Path, older: Older) -> bool:
    """Rename ``build`` to ``destination``; see ``publish`` for what may be there."""
    while True:
        try:
            build.rename(destination)
            return True
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
                raise
        there = _identity(destination)
        if not holds_captures(destination):
            if there is None or there != _identity(destination):
                continue  # another publisher is moving a capture away or in right now
            raise ArtifactError(
                f"{destination} exists and is not a capture",
                hint="name a directory that does not exist yet, or an empty one",
            )
        if older == "keep":
            return False
        # A directory cannot be renamed over one with files in it, so the old one moves aside first.
        # Between the two renames a reader finds nothing, never half a capture.
        with workspace(destination) as aside:
            try:
                destination.rename(aside / "old")
            except FileNotFoundError:
                continue


def _identity(path: Path) -> tuple[int, int] | None:
    """Return the device and inode at a path, which tell a replaced file apart."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def holds_captures(path: Path) -> bool:
    """Whether ``path`` is a capture, or a directory of nothing but captures."""
    if (path / MANIFEST_NAME).is_file():
        return True
    try:
        children = list(path.iterdir())
    except OSError:
        return False
    entries = [child for child in children if child.name not in (PROGRAM_NAME, CHECKSUM_NAME)]
    return bool(entries) and all((child / MANIFEST_NAME).is_file() for child in entries)


def _alive(pid: int) -> bool:
    """Whether a process with this id runs on this machine, as any user."""
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except (ProcessLookupError, OverflowError):
        return False
    return True


def unwritable(path: Path, error: OSError) -> ArtifactError:
    """Return the error for a path that cannot be written."""
    return ArtifactError(
        f"cannot write {path}: {error.strerror or error}",
        hint=f"set {ROOT_VARIABLE} to a directory that can be written, or name another output",
    )


_CHECKSUM_BYTES = 16
#: Maximum size of each folder of files that can be made again: reports, pages, disassemblies,
#: indexes of scans. Beyond it, the least recently used are removed.
_MAX_BYTES = 500_000_000
#: Files that are written between two looks at the size, which reads the whole folder.
_WRITES_PER_LOOK = 64
_BEGUN = time.time()
#: Numbers the files that this process writes to a folder. The first one is followed by a look at
#: the folder's size.
_writes: defaultdict[Path, "itertools.count[int]"] = defaultdict(itertools.count)


def recall(path: Path) -> bytes | None:
    """Return the content of a file, which counts as used; ``None`` if it is lost or damaged."""
    try:
        content = path.read_bytes()
    except OSError:
        return None
    checksum, content = content[:_CHECKSUM_BYTES], content[_CHECKSUM_BYTES:]
    if checksum != _checksum(content):
        return None
    touch(path)
    return content


def remember(path: Path, content: bytes) -> None:
    """Write a file atomically. One that cannot be written only costs time."""
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        files.replace(path, [_checksum(content), content])
        if next(_writes[path.parent]) % _WRITES_PER_LOOK == 0:
            _evict(path.parent)


def _evict(folder: Path) -> None:
    """Remove the least recently used files, but none that was used since this process began.

    A pass over more reports than fit would otherwise remove what it needs next.
    """
    with os.scandir(folder) as children:
        found = [(child.path, child.stat()) for child in children if child.name[0] != "."]
    excess = sum(status.st_size for _, status in found) - _MAX_BYTES
    for path, status in sorted(found, key=lambda each: each[1].st_mtime):
        if excess <= 0 or status.st_mtime >= _BEGUN:
            return
        Path(path).unlink(missing_ok=True)
        excess -= status.st_size


def _checksum(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=_CHECKSUM_BYTES).digest()
