"""The inventory of irlens's store on disk: its items by kind, their size, and their removal.

Only items that irlens wrote are listed, recognised by their folder, name and content. No link is
followed, neither into a folder nor out of one. Items that another irlens may be using are left
alone, and removal is atomic: a directory is renamed before it is emptied.
"""

import os
import re
import stat
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import msgspec

from irlens.artifacts import locks, store
from irlens.model import files
from irlens.model.errors import ArtifactError

_KEY = re.compile(r"[0-9a-f]{64}")
#: The name of an item whose process was killed while writing it.
UNFINISHED = "unfinished"
_BLOCK = 512  # bytes; the unit of st_blocks, whatever the file system's own


class StoredItem(msgspec.Struct, frozen=True):
    """One file or directory of the store.

    Attributes:
        name: What a person calls it: "Triton 3.6.0", or its key.
        used: When it was made or last used, seconds since 1970.
    """

    path: Path
    name: str
    bytes: int
    used: float


class Kind(msgspec.Struct, frozen=True):
    """A kind of items.

    Attributes:
        title: The plural that a person reads: "captures".
        name: Returns the name of the item at a path in that folder, ``None`` if it is no item of
            this kind. The path is neither a link nor a workspace.
        stamp: Returns the file whose age is the item's.
        guard: Locks an item against its users, and yields whether that was possible.
    """

    title: str
    folder: str
    name: Callable[[Path], str | None]
    stamp: Callable[[Path], Path] = lambda path: path
    guard: Callable[[Path], AbstractContextManager[bool]] = lambda _: nullcontext(True)


def name_of(path: Path, suffix: str) -> str | None:
    """Return the key in the name of a file, or that it is unfinished; ``None`` for other files."""
    temporary = files.TEMPORARY.fullmatch(path.name)
    name = temporary["name"] if temporary else path.name
    key = name.removesuffix(suffix)
    if not name.endswith(suffix) or not _KEY.fullmatch(key):
        return None
    if temporary:
        return UNFINISHED if store.is_abandoned(path, int(temporary["pid"])) else None
    return key if path.is_file() else None


def _capture(path: Path) -> str | None:
    is_one = _KEY.fullmatch(path.name) and store.holds_captures(path)
    return path.name if is_one else None


CAPTURES = Kind(
    "captures",
    folder=store.CAPTURES,
    name=_capture,
    guard=lambda _: locks.alone(store.captures_lock()),
)


def list_items(kind: Kind) -> list[StoredItem]:
    """Return the items of a kind, least recently used first.

    Raises:
        ArtifactError: The user may not read the folder.
    """
    return sorted(_items(kind), key=lambda each: (each.used, each.name))


def is_link(kind: Kind) -> bool:
    """Whether a kind's folder is a link, which is not followed."""
    return (store.root() / kind.folder).is_symlink()


def is_used(kind: Kind, item: StoredItem) -> bool:
    """Whether another irlens may be using an item."""
    with kind.guard(item.path) as free:
        return not free


def remove(kind: Kind, item: StoredItem) -> bool:
    """Remove an item, unless another irlens uses it or has used it since it was listed.

    Returns:
        Whether it was removed.

    Raises:
        ArtifactError: The user may not remove it.
    """
    try:
        if item.path.is_dir():
            return _remove_directory(kind, item)
        with kind.guard(item.path) as free:
            if not free or _used(kind, item.path) != item.used:
                return False
            item.path.unlink()
            return True
    except FileNotFoundError:
        return False  # another process removed it
    except OSError as error:
        raise ArtifactError(
            f"cannot remove {item.path}: {error.strerror}", hint="it belongs to somebody else"
        ) from error


def _remove_directory(kind: Kind, item: StoredItem) -> bool:
    # The workspace is emptied after the lock is released, since that may take a while.
    with store.workspace(item.path) as aside, kind.guard(item.path) as free:
        if not free or _used(kind, item.path) != item.used:
            return False
        item.path.rename(aside / "old")
    if aside.exists():
        raise ArtifactError(f"cannot remove all of {aside}", hint="something in it is protected")
    return True


def _items(kind: Kind) -> Iterator[StoredItem]:
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
            yield StoredItem(path, name, _size(path), used)


def _used(kind: Kind, path: Path) -> float | None:
    """Return when an item was made or last used; ``None`` if it is gone."""
    for stamp in (kind.stamp(path), path):
        try:
            return stamp.lstat().st_mtime
        except OSError:
            continue
    return None


def _size(path: Path) -> int:
    """Return an item's size on disk; a file with several names counts once."""
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
            continue  # removed meanwhile, or not readable
    return sum(sizes.values())
