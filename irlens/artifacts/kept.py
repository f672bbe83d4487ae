"""What irlens keeps on disk, kind by kind: how much it is, and how to be rid of it.

Only what irlens wrote is seen at all, known by its place, its name and what it is. No link is
followed, neither into a folder nor out of one. What another irlens may be using is left alone, and
what is removed is gone in one step: a directory is renamed before it is emptied.
"""

import os
import re
import stat
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import msgspec

from irlens.artifacts import locks, store
from irlens.model.errors import ArtifactError

_KEY = re.compile(r"[0-9a-f]{64}")
#: The name of what was being written when its process was killed.
UNFINISHED = "unfinished"
_BLOCK = 512  # bytes; the unit of st_blocks, whatever the file system's own


class Kept(msgspec.Struct, frozen=True):
    """One thing that is kept.

    Attributes:
        path: Where it is: a file, or a directory with all that is in it.
        name: What it is: "Triton 3.6.0", or the key that it is kept under.
        bytes: What it takes on disk.
        used: When it was made or last used, seconds since 1970.
    """

    path: Path
    name: str
    bytes: int
    used: float


class Kind(msgspec.Struct, frozen=True):
    """A kind of things that are kept.

    Attributes:
        title: What they are called: "captures".
        folder: Their folder in the store.
        name: Says what a path in that folder is, ``None`` if it is none of them. The path is
            neither a link nor a workspace.
        stamp: Says which file's age is a thing's.
        guard: Holds one against those who use it, and says whether that was possible.
    """

    title: str
    folder: str
    name: Callable[[Path], str | None]
    stamp: Callable[[Path], Path] = lambda path: path
    guard: Callable[[Path], AbstractContextManager[bool]] = lambda _: nullcontext(True)


def keyed(path: Path, suffix: str) -> str | None:
    """Return the key that a file is kept under, ``None`` if it is no such file."""
    key = path.name.removesuffix(suffix)
    is_one = path.name.endswith(suffix) and _KEY.fullmatch(key) and path.is_file()
    return key if is_one else None


def _capture(path: Path) -> str | None:
    is_one = _KEY.fullmatch(path.name) and store.holds_captures(path)
    return path.name if is_one else None


CAPTURES = Kind(
    "captures",
    folder=store.CAPTURES,
    name=_capture,
    guard=lambda _: locks.alone(store.captures_lock()),
)


def survey(kind: Kind) -> list[Kept]:
    """Return everything of a kind, what was not used for longest first.

    Raises:
        ArtifactError: The user may not look.
    """
    return sorted(_survey(kind), key=lambda each: (each.used, each.name))


def is_link(kind: Kind) -> bool:
    """Whether a kind's folder is a link, so that nothing in it is looked at."""
    return (store.root() / kind.folder).is_symlink()


def is_used(kind: Kind, kept: Kept) -> bool:
    """Whether another irlens may be using it."""
    with kind.guard(kept.path) as free:
        return not free


def remove(kind: Kind, kept: Kept) -> bool:
    """Remove something, unless another irlens uses it or has used it since it was found.

    Returns:
        Whether it was removed.

    Raises:
        ArtifactError: The user may not remove it.
    """
    try:
        if kept.path.is_dir():
            return _remove_directory(kind, kept)
        with kind.guard(kept.path) as free:
            if not free or _used(kind, kept.path) != kept.used:
                return False
            kept.path.unlink()
            return True
    except FileNotFoundError:
        return False  # another one has removed it
    except OSError as error:
        raise ArtifactError(
            f"cannot remove {kept.path}: {error.strerror}", hint="it belongs to somebody else"
        ) from error


def _remove_directory(kind: Kind, kept: Kept) -> bool:
    # The workspace is emptied after the guard has let go: that may take a while.
    with store.workspace(kept.path) as aside, kind.guard(kept.path) as free:
        if not free or _used(kind, kept.path) != kept.used:
            return False
        kept.path.rename(aside / "old")
    if aside.exists():
        raise ArtifactError(f"cannot remove all of {aside}", hint="something in it is protected")
    return True


def _survey(kind: Kind) -> Iterator[Kept]:
    folder = store.root() / kind.folder
    if folder.is_symlink():
        return
    try:
        paths = sorted(folder.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        raise ArtifactError(f"cannot read {folder}: {error.strerror}") from error
    for path in paths:
        if path.is_symlink():
            continue
        name = UNFINISHED if store.is_left_behind(path) else kind.name(path)
        used = _used(kind, path)
        if name is not None and used is not None:
            yield Kept(path, name, _size(path), used)


def _used(kind: Kind, path: Path) -> float | None:
    """Return when something was made or last used; ``None`` if it is gone."""
    for stamp in (kind.stamp(path), path):
        try:
            return stamp.lstat().st_mtime
        except OSError:
            continue
    return None


def _size(path: Path) -> int:
    """Return the bytes that something takes on disk; a file with several names takes them once."""
    sizes: dict[tuple[int, int], int] = {}
    pending = [path]
    while pending:
        current = pending.pop()
        try:
            found = current.lstat()
            sizes[found.st_dev, found.st_ino] = found.st_blocks * _BLOCK
            if stat.S_ISDIR(found.st_mode):
                pending += [Path(each.path) for each in os.scandir(current)]
        except OSError:
            continue  # removed meanwhile, or not ours to read
    return sum(sizes.values())
