"""Cache of reports on disk: an unchanged capture has an unchanged report.

An analysis takes a tenth of a second, most of it to import the analyses. A report's key covers
everything that it depends on: every byte of the capture, and irlens's own source.
"""

import hashlib
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from irlens.artifacts import inventory, store
from irlens.model.capture import PYTHON_FOLDER, Capture
from irlens.model.report import Report

#: Maximum number of cached reports; beyond it, the least recently used half is removed.
_MAX_REPORTS = 2000
_TEMPORARY = re.compile(r"\.[0-9a-f]{64}\.json\.(?P<pid>\d+)\.tmp")


def _name(path: Path) -> str | None:
    """Return the key of a file in the reports' folder, ``None`` for an unrelated file."""
    temporary = _TEMPORARY.fullmatch(path.name)
    if temporary is not None:
        return inventory.UNFINISHED if store.is_abandoned(path, int(temporary["pid"])) else None
    return inventory.key_of(path, ".json")


REPORTS = inventory.Kind("reports", folder="reports", name=_name)


def report_of(capture: Capture, make: Callable[[], Report], *, sass: bool = False) -> Report:
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
    digest = hashlib.sha256()
    facts = (capture.kernel, capture.target, capture.config, capture.metadata, capture.manifest)
    digest.update(program_digest())
    digest.update(msgspec.json.encode((*facts, sass)))
    stages = ((name, stage.read()) for name, stage in sorted(capture.stages.items()))
    for files in (stages, _python(capture)):
        for name, content in files:
            digest.update(f"{name} {len(content)} ".encode())
            digest.update(content)
    return digest.hexdigest()


def recall(key: str) -> Report | None:
    """Return the cached report of a key, ``None`` if there is none."""
    path = _path(key)
    try:
        report = msgspec.json.decode(path.read_bytes(), type=Report)
    except (OSError, msgspec.DecodeError):
        return None
    store.touch(path)
    return report


def remember(key: str, report: Report) -> None:
    """Cache a report. A cache that cannot be written is no error."""
    path = _path(key)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_bytes(msgspec.json.encode(report))
        temporary.replace(path)
        _evict(path.parent)
    except OSError:
        return


def program_digest() -> bytes:
    """Return a digest of irlens's own files by name, size and time of the last change."""
    digest = hashlib.sha256()
    folders = [Path(__file__).parents[1]]
    while folders:
        with os.scandir(folders.pop()) as children:
            for child in sorted(children, key=lambda child: child.name):
                if child.is_dir(follow_symlinks=False):
                    folders.append(Path(child.path))
                elif child.name.endswith(".py"):
                    status = child.stat()
                    digest.update(f"{child.name} {status.st_size} {status.st_mtime_ns} ".encode())
    return digest.digest()


def _path(key: str) -> Path:
    return store.root() / REPORTS.folder / f"{key}.json"


def _python(capture: Capture) -> Iterator[tuple[str, bytes]]:
    """Yield the Python files of a capture, lines of which a report shows."""
    folder = capture.directory / PYTHON_FOLDER if capture.directory is not None else None
    if folder is None or not folder.is_dir():
        return
    for path in sorted(folder.iterdir()):
        try:
            yield path.name, path.read_bytes()
        except OSError:
            continue


def _evict(folder: Path) -> None:
    with os.scandir(folder) as children:
        reports = [child for child in children if child.name.endswith(".json")]
    if len(reports) > _MAX_REPORTS:
        reports.sort(key=lambda report: report.stat().st_mtime)
        for report in reports[: len(reports) // 2]:
            Path(report.path).unlink(missing_ok=True)
