"""Remembers the entries of a directory that the TUI listed, so that the next listing has them all.

An entry whose files have not changed since is known at once: neither its metadata nor its binary
is read, and its capture only when it is completed or opened.
"""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec.structs import replace

from irlens.artifacts import store
from irlens.artifacts.entries import Broken, Listing, list_files, read_entry
from irlens.artifacts.load import find_entries, load_entry
from irlens.artifacts.scan_index import ScanIndex, signature
from irlens.model.capture import Capture
from irlens.model.errors import ArtifactError
from irlens.session.exchange import Entry

#: Entries after which the index is written while a directory is read for the first time.
_ENTRIES_PER_SAVE = 256


def key_of_capture(capture: Capture, index: int) -> str:
    """Return the key of a capture's entry.

    Args:
        index: Index in the listing, for a capture without files or a given launch.
    """
    place = f"{capture.first_path or index}:{capture.kernel}"
    if capture.manifest is None and (capture.config.args or capture.config.grid):
        return f"{place} {index}"  # one of several launches of the same artifacts
    return place


class Indexed(msgspec.Struct, frozen=True):
    """A capture that is not read yet, and its entry, as far as it was read before."""

    directory: Path
    entry: Entry

    def capture(self) -> Capture:
        """Return the capture.

        Raises:
            ArtifactError: It changed since it was listed, or was deleted.
        """
        with suppress(OSError):  # deleted meanwhile
            found = read_entry(self.directory, list_files(self.directory))
            for index, each in enumerate(found):
                if isinstance(each, Capture) and key_of_capture(each, index) == self.entry.key:
                    return each
        raise ArtifactError(f"{self.directory} was changed or deleted", hint="list it again")


class _Directory(msgspec.Struct):
    """A directory of captures, by their keys, and what is known of them."""

    name: str
    signature: bytes
    keys: list[str]
    known: dict[str, Entry]


class EntryIndex:
    """One listing of a directory: what is known comes with its entry, and the rest is learned.

    Args:
        root: The directory; displayed paths are relative to it.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._index = ScanIndex(root, Entry)
        self._reading: dict[str, _Directory] = {}
        self._unsaved = 0
        self._is_listed = False

    def items(self) -> Iterator[Indexed | Capture | Broken]:
        """Yield every capture, those that are known with their entries.

        Raises:
            ArtifactError: While iterating: the directory cannot be listed, or holds no entry.
        """
        for found in find_entries(self._root):
            if isinstance(found, Broken):
                yield found
            else:
                yield from self._captures(*found)
        self._is_listed = True

    def learn(self, entry: Entry) -> None:
        """Remember what is known of an entry now; a directory is indexed once all of it is."""
        directory = self._reading.get(entry.key)
        if directory is None or entry.problem:
            return
        directory.known[entry.key] = entry
        if len(directory.known) < len(directory.keys):
            return
        entries = [self._relative(directory.known[key]) for key in directory.keys]
        self._index.add(directory.name, directory.signature, entries)
        self._unsaved += 1
        if self._unsaved >= _ENTRIES_PER_SAVE:
            self.save()

    def save(self) -> None:
        """Write the index. One that cannot be written is no error."""
        self._index.save(complete=self._is_listed)
        self._unsaved = 0

    def _captures(self, directory: Path, listing: Listing) -> Iterator[Indexed | Capture | Broken]:
        digest, name = signature(directory, listing), self._index.name_of(directory)
        if digest is None or listing.is_trace:  # the captures of a trace have no files
            yield from load_entry(directory, listing)
            return
        known = [self._absolute(directory, entry, name) for entry in self._index.rows(name, digest)]
        if known:
            self._read(name, digest, {entry.key: entry for entry in known})
            yield from (Indexed(directory, entry) for entry in known)
            return
        found = list(read_entry(directory, listing))
        captures = [each for each in found if isinstance(each, Capture)]
        if len(captures) == len(found) and all(capture.stages for capture in captures):
            keys = [key_of_capture(capture, index) for index, capture in enumerate(captures)]
            self._read(name, digest, {}, keys)
        yield from found

    def _read(
        self, name: str, digest: bytes, known: dict[str, Entry], keys: list[str] | None = None
    ) -> None:
        """Note which directory the captures of some keys are in."""
        directory = _Directory(name, digest, keys or list(known), known)
        self._reading |= dict.fromkeys(directory.keys, directory)

    def _absolute(self, directory: Path, entry: Entry, name: str) -> Entry:
        """Return an entry of the index as a listing has it."""
        if name == ".":
            path, place = str(directory / entry.key), str(directory)
        else:  # many
            path, place = f"{directory}{os.sep}{entry.key}", name
        return replace(entry, key=f"{path}:{entry.kernel}", place=place)

    def _relative(self, entry: Entry) -> Entry:
        """Return an entry as it is kept: its key is the name of its first artifact."""
        path = entry.key.removesuffix(f":{entry.kernel}")
        return replace(entry, key=Path(path).name, place="")


def can_index(path: Path) -> bool:
    """Whether the entries below a path can be indexed.

    irlens's own store may hold a capture twice, which is found by reading both.
    """
    captures, root = store.captures().resolve(), path.resolve()
    apart = not (captures.is_relative_to(root) or root.is_relative_to(captures))
    return path.is_dir() and apart
