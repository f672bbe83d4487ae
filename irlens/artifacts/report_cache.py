"""Cache of reports on disk: an unchanged capture has an unchanged report.

An analysis takes a tenth of a second, most of it to import the analyses. A report's key covers
everything that it depends on: every byte of the capture, the calibrations that apply, and irlens's
own source. The page that reports were rendered to is cached too, under their keys and all that its
text depends on otherwise: showing it again loads neither records nor a format.
"""

import hashlib
import itertools
import os
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from irlens.artifacts import inventory, store
from irlens.model import calibration_files, files
from irlens.model.capture import Capture

if TYPE_CHECKING:  # a cached page needs none
    from irlens.model.report import Report

_SUFFIX = ".json"
#: Maximum size of the cached reports, and of the pages; beyond it, the least recently used are
#: removed.
_MAX_BYTES = 500_000_000
#: Files that are written between two looks at the size, which reads the whole folder.
_WRITES_PER_LOOK = 64
_BEGUN = time.time()


def _name(path: Path) -> str | None:
    return inventory.name_of(path, _SUFFIX)


REPORTS = inventory.Kind("reports", folder="reports", name=_name)
PAGES = inventory.Kind("pages", folder="pages", name=_name)


def report_of(capture: Capture, make: "Callable[[], Report]", *, sass: bool = False) -> "Report":
    """Return a capture's report from the cache, or make and cache it.

    Args:
        capture: The capture.
        make: Makes the report on a cache miss; only then are the analyses imported.
        sass: Whether the report covers the machine code, too.

    Raises:
        ArtifactError: An artifact is gone, unreadable or broken.
    """
    report_key = key(capture, sass=sass)
    report = recall(report_key)
    if report is None:
        report = make()
        remember(report_key, report)
    return report


def key(capture: Capture, *, sass: bool) -> str:
    """Return the key of a capture's report.

    Raises:
        ArtifactError: An artifact is gone or unreadable.
    """
    parts = (program_digest(), calibration_files.digest(), capture.digest, bytes([sass]))
    return hashlib.sha256(b"".join(parts)).hexdigest()


def recall(key: str) -> "Report | None":
    """Return the cached report of a key, ``None`` if there is none."""
    from irlens.model.report import Report

    content = store.recall(_path(REPORTS, key))
    try:
        return None if content is None else msgspec.json.decode(content, type=Report)
    except files.DECODE_ERRORS:
        return None


def remember(key: str, report: "Report") -> None:
    """Cache a report. A cache that cannot be written is no error."""
    _write(_path(REPORTS, key), msgspec.json.encode(report))


def page_key(reports: Sequence[str], facts: Sequence[object]) -> str:
    """Return the key of a page.

    Args:
        reports: The keys of its reports.
        facts: All else that its text depends on.
    """
    return hashlib.sha256(msgspec.json.encode((reports, facts))).hexdigest()


def recall_page(key: str, reports: Sequence[str]) -> str | None:
    """Return the cached page of a key, ``None`` if there is none; its reports count as used."""
    content = store.recall(_path(PAGES, key))
    try:
        page = None if content is None else msgspec.json.decode(content, type=str)
    except files.DECODE_ERRORS:
        return None
    if page is not None:
        for each in reports:
            store.touch(_path(REPORTS, each))
    return page


def remember_page(key: str, page: str, reports: Sequence[str]) -> None:
    """Cache a page, if its reports are cached: another one may be what is left without a tool."""
    if all(_path(REPORTS, each).exists() for each in reports):
        _write(_path(PAGES, key), msgspec.json.encode(page))


def _write(path: Path, content: bytes) -> None:
    store.remember(path, content)
    with suppress(OSError):
        if next(_writes[path.parent]) % _WRITES_PER_LOOK == 0:
            _evict(path.parent)


@lru_cache(maxsize=1)
def program_digest() -> bytes:
    """Return a digest of irlens's own files by name, size and time of the last change.

    It is that of the first call: a process goes on with the modules that it has loaded.
    """
    digest = hashlib.sha256()
    folders = [Path(__file__).parents[1]]
    while folders:
        with os.scandir(folders.pop()) as children:
            for child in sorted(children, key=lambda child: child.name):
                if child.name.endswith(".py"):
                    status = child.stat()
                    digest.update(f"{child.name} {status.st_size} {status.st_mtime_ns} ".encode())
                elif child.name != "__pycache__" and child.is_dir(follow_symlinks=False):
                    folders.append(Path(child.path))
    return digest.digest()


def _path(kind: inventory.Kind, key: str) -> Path:
    return store.root() / kind.folder / f"{key}{_SUFFIX}"


#: Numbers the files that this process writes to a folder. The first one is followed by a look at
#: the folder's size.
_writes: defaultdict[Path, "itertools.count[int]"] = defaultdict(itertools.count)


def _evict(folder: Path) -> None:
    """Remove the least recently used files, but none that was used since this process began.

    A pass over more reports than fit would otherwise remove what it needs next.
    """
    with os.scandir(folder) as children:
        found = [(child.path, child.stat()) for child in children if child.name.endswith(_SUFFIX)]
    excess = sum(status.st_size for _, status in found) - _MAX_BYTES
    for path, status in sorted(found, key=lambda each: each[1].st_mtime):
        if excess <= 0 or status.st_mtime >= _BEGUN:
            return
        Path(path).unlink(missing_ok=True)
        excess -= status.st_size
