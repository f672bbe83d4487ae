"""Cache of reports on disk: an unchanged capture has an unchanged report.

An analysis takes a tenth of a second, most of it to import the analyses. A report's key covers
everything that it depends on: every byte of the capture, the calibrations that apply, and irlens's
own source. The page that reports were rendered to is cached too, under their keys and all that its
text depends on otherwise: showing it again loads neither records nor a format.
"""

import hashlib
import os
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from irlens.artifacts import inventory, store
from irlens.model import calibration_files, files
from irlens.model.capture import Capture, Disassembly, ReportExtent
from irlens.model.errors import ArtifactError

if TYPE_CHECKING:  # a cached page needs none
    from irlens.model.report import Report

_SUFFIX = ".json"
#: Extents of cached reports that satisfy a request, in order of preference.
_SERVING: dict[ReportExtent, tuple[ReportExtent, ...]] = {
    "whole": ("whole",),
    "brief": ("whole", "brief"),
}


def _name(path: Path) -> str | None:
    return inventory.name_of(path, _SUFFIX)


REPORTS = inventory.Kind("reports", folder="reports", name=_name)
PAGES = inventory.Kind("pages", folder="pages", name=_name)


def report_of(
    capture: Capture,
    make: "Callable[[], Report]",
    disassembly: Disassembly,
    *,
    extent: ReportExtent = "whole",
) -> "Report":
    """Return the report of a capture from the cache, or make and cache it.

    A report for which a tool did not answer, although it may another time, is not cached.

    Args:
        make: Makes the report on a cache miss; only then are the analyses imported.
        extent: A brief report lacks what comparisons do not show.

    Raises:
        ArtifactError: An artifact is broken, gone, or changed since the capture was listed.
    """
    report = recall_of(capture.digest, disassembly, extent)
    if report is not None:
        capture.check_unchanged()
        return report
    from irlens.artifacts.tools import UnansweredError

    before = UnansweredError.count
    try:
        report = make()
    except ArtifactError:  # of a file that was being written, perhaps
        capture.check_unchanged()
        raise
    capture.check_unchanged()
    if UnansweredError.count == before:
        remember(key_of(capture.digest, disassembly, extent), report)
    return report


def key_of(digest: bytes, disassembly: Disassembly, extent: ReportExtent = "whole") -> str:
    """Return the key of the report of a capture with some ``digest``."""
    covers = bytes([disassembly is not Disassembly.SKIP, extent == "brief"])
    parts = (program_digest(), calibration_files.digest(), digest, covers)
    return hashlib.sha256(b"".join(parts)).hexdigest()


def recall_of(digest: bytes, disassembly: Disassembly, extent: ReportExtent) -> "Report | None":
    """Return the cached report of a capture with some ``digest``, ``None`` if there is none."""
    keys = (key_of(digest, disassembly, each) for each in _SERVING[extent])
    return next(filter(None, map(recall, keys)), None)


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
    store.remember(_path(REPORTS, key), msgspec.json.encode(report))


def page_key(reports: Sequence[str], facts: Sequence[object]) -> str:
    """Return the key of a page."""
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
        store.remember(_path(PAGES, key), msgspec.json.encode(page))


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
