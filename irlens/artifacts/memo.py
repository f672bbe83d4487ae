"""Reports that were made before: the same capture has the same report.

Analysing a capture takes a tenth of a second, most of it for loading the analyses. A report is
kept under everything it depends on: each byte of the capture, and irlens itself.
"""

import hashlib
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from irlens.artifacts import kept, store
from irlens.model.capture import PYTHON_FOLDER, Capture
from irlens.model.report import Report

#: Reports kept; when there are more, the half goes that was not used for longest.
_MOST = 2000
_TEMPORARY = re.compile(r"\.[0-9a-f]{64}\.json\.(?P<pid>\d+)\.tmp")


def _name(path: Path) -> str | None:
    """Return what a file among the reports is, ``None`` if it is none of them."""
    temporary = _TEMPORARY.fullmatch(path.name)
    if temporary is not None:
        return kept.UNFINISHED if store.is_abandoned(path, int(temporary["pid"])) else None
    return kept.keyed(path, ".json")


REPORTS = kept.Kind("reports", folder="reports", name=_name)


def key(capture: Capture, *, sass: bool) -> str:
    """Return what the report of a capture is kept under.

    Raises:
        ArtifactError: An artifact is gone or unreadable.
    """
    digest = hashlib.sha256()
    facts = (capture.kernel, capture.target, capture.config, capture.metadata, capture.manifest)
    for piece in (program(), msgspec.json.encode((*facts, sass))):
        digest.update(piece)
    for name, stage in sorted(capture.stages.items()):
        content = stage.read()
        digest.update(f"{name} {len(content)} ".encode())
        digest.update(content)
    for name, content in _python(capture):
        digest.update(f"{name} {len(content)} ".encode())
        digest.update(content)
    return digest.hexdigest()


def report_of(capture: Capture, make: Callable[[], Report], *, sass: bool = False) -> Report:
    """Return a capture's report, from memory if it was made before.

    Args:
        capture: The capture.
        make: What makes the report if it was not. It is the caller's to load what that takes.
        sass: Whether the report has the machine code's part, too.

    Raises:
        ArtifactError: An artifact is gone, unreadable or broken.
    """
    known_as = key(capture, sass=sass)
    report = recall(known_as)
    if report is None:
        report = make()
        keep(known_as, report)
    return report


def recall(key: str) -> Report | None:
    """Return the report that is kept under a key, ``None`` if there is none."""
    path = _path(key)
    try:
        report = msgspec.json.decode(path.read_bytes(), type=Report)
    except (OSError, msgspec.DecodeError):
        return None
    store.touch(path)
    return report


def keep(key: str, report: Report) -> None:
    """Keep a report. Where that is not possible it will be made again: no error is raised."""
    path = _path(key)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_bytes(msgspec.json.encode(report))
        temporary.replace(path)
        _thin(path.parent)
    except OSError:
        return


def _path(key: str) -> Path:
    return store.root() / REPORTS.folder / f"{key}.json"


def program() -> bytes:
    """Tell one irlens from another, an edited checkout from its last commit included."""
    digest = hashlib.sha256()
    folders = [Path(__file__).parents[1]]
    while folders:
        with os.scandir(folders.pop()) as children:
            for child in sorted(children, key=lambda child: child.name):
                if child.is_dir(follow_symlinks=False):
                    folders.append(Path(child.path))
                elif child.name.endswith(".py"):
                    found = child.stat()
                    digest.update(f"{child.name} {found.st_size} {found.st_mtime_ns} ".encode())
    return digest.digest()


def _python(capture: Capture) -> Iterator[tuple[str, bytes]]:
    """The Python that a capture keeps: a report shows lines of it."""
    folder = capture.directory / PYTHON_FOLDER if capture.directory is not None else None
    if folder is None or not folder.is_dir():
        return
    for path in sorted(folder.iterdir()):
        try:
            yield path.name, path.read_bytes()
        except OSError:
            continue


def _thin(folder: Path) -> None:
    with os.scandir(folder) as children:
        there = [child for child in children if child.name.endswith(".json")]
    if len(there) > _MOST:
        there.sort(key=lambda child: child.stat().st_mtime)
        for child in there[: len(there) // 2]:
            Path(child.path).unlink(missing_ok=True)
