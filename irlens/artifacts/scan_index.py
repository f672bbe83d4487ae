"""An index of a scanned directory: what was read of each entry, as long as its files are the same.

A row is valid for the name, size, times and inode of every file of its entry, and for this irlens.
The time of the last status change cannot be set back, so that an edit that keeps size and
modification time is seen, too. Entries that changed just now are not indexed: another edit might
carry the same time.
"""

import hashlib
import os
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Generic, TypeAlias, TypeVar

import msgspec

from irlens.artifacts import inventory, report_cache, store
from irlens.artifacts.entries import Listing, list_files
from irlens.model import calibration_files, files
from irlens.model.capture import PYTHON_FOLDER

#: Age in nanoseconds that an entry's last change needs: the coarsest time that file systems keep.
SETTLED_NS = 2_000_000_000

#: The values of one capture by key, as JSON has them.
Row: TypeAlias = dict[str, Any]
T = TypeVar("T")

SCANS = inventory.Kind(
    "scans", folder="scans", name=lambda path: inventory.name_of(path, ".msgpack")
)


class _Entry(msgspec.Struct, frozen=True, array_like=True):
    signature: bytes
    rows: msgspec.Raw


class _Content(msgspec.Struct, frozen=True):
    """An index on disk; the rows of an entry are decoded when they are asked for."""

    program: bytes
    entries: dict[str, _Entry]


_encode = msgspec.msgpack.Encoder().encode


def signature(directory: Path, listing: Listing) -> bytes | None:
    """Return a digest of the status of all files of an entry; ``None`` if one changed just now."""
    named = [f"{name}.{stage}" for name, stages in listing.artifacts.items() for stage in stages]
    named += listing.files
    facts = []
    folder = directory
    if listing.is_trace:
        named, folder = [directory.name], directory.parent
    above = f"{folder}{os.sep}"
    newest = 0
    try:
        if any(child.name == PYTHON_FOLDER for child in listing.directories):
            with os.scandir(directory / PYTHON_FOLDER) as children:
                named += [f"{PYTHON_FOLDER}{os.sep}{child.name}" for child in children]
        named.sort()
        for name in named:
            status = os.stat(above + name)  # noqa: PTH116  # faster
            facts.append((status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns))
            newest = max(newest, status.st_ctime_ns)
        content = _encode(facts)
    except (OSError, OverflowError):  # deleted meanwhile, or changed after the year 2500
        return None
    if time.time_ns() - newest < SETTLED_NS:
        return None
    return hashlib.blake2b(os.fsencode("\0".join(named)) + content, digest_size=16).digest()


def has_changed(directory: Path, digest: bytes | None) -> bool:
    """Whether the files of an entry have another signature now."""
    try:
        return digest != signature(directory, list_files(directory))
    except OSError:  # deleted meanwhile
        return True


class ScanIndex(Generic[T]):
    """What is known of the entries below a directory; nothing if there is no valid index.

    Args:
        record: What is kept of each capture: ``Row``, or a record.
    """

    def __init__(self, root: Path, record: type[T]) -> None:
        named = f"{root.resolve()}\0{record.__name__}"
        key = hashlib.sha256(os.fsencode(named)).hexdigest()
        self._above = len(str(root / "_")) - 1
        self._path = store.root() / SCANS.folder / f"{key}.msgpack"
        self._decode = msgspec.msgpack.Decoder(list[record]).decode  # type: ignore[valid-type]
        # Whether an artifact is too large to be read depends on the limit.
        limit = str(files.size_limit()).encode()
        self._program = report_cache.program_digest() + calibration_files.digest() + limit
        self._known = self._load()
        self._seen: dict[str, _Entry] = {}
        self._is_changed = False

    def name_of(self, directory: Path) -> str:
        """Return the path of an entry below the directory, "." for the directory itself."""
        return str(directory)[self._above :] or "."  # many times faster than `relative_to`

    def rows(self, name: str, digest: bytes) -> list[T]:
        """Return what is known of an entry's captures; nothing if it changed."""
        entry = self._known.get(name)
        if entry is None or entry.signature != digest:
            return []
        self._seen[name] = entry
        return self._decode(entry.rows)

    def add(self, name: str, digest: bytes, rows: Sequence[T]) -> None:
        """Remember all rows of an entry; not those with a number that has no place in the index.

        Args:
            digest: Its ``signature``, taken before it was read.
        """
        with suppress(OverflowError):  # of more than 64 bits
            self._seen[name] = _Entry(digest, msgspec.Raw(_encode(rows)))
            self._is_changed = True

    def save(self, *, complete: bool) -> None:
        """Write the index. One that cannot be written is no error.

        Args:
            complete: Whether all entries were visited, so that others are gone.
        """
        if complete and not self._is_changed and len(self._seen) == len(self._known):
            store.touch(self._path)
            return
        entries = self._seen if complete else {**self._known, **self._seen}
        store.remember(self._path, _encode(_Content(self._program, entries)))

    def _load(self) -> dict[str, _Entry]:
        encoded = store.recall(self._path)
        try:
            content = msgspec.msgpack.decode(encoded, type=_Content) if encoded else None
        except files.DECODE_ERRORS:  # written by another irlens
            return {}
        return content.entries if content and content.program == self._program else {}
