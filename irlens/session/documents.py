"""JSON documents that irlens wrote and reads back: reports, sweeps, scans, comparisons."""

import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO

import msgspec

from irlens.model import files
from irlens.model.errors import ArtifactError
from irlens.model.results import KINDS, Kind, name_of, record_of

if TYPE_CHECKING:  # help needs no report
    from irlens.model.report import Report

#: A file of saved reports may be this many times as large as an artifact: it holds a whole cache's.
_REPORTS = 8


class Document(NamedTuple):
    """A saved result: its kind, and its record."""

    kind: Kind
    record: Any


def _kind(document: object) -> Kind | None:
    """Return what irlens has written, by the fields that it must have; ``None`` for a report."""
    if not isinstance(document, dict) or _needed("reports") <= document.keys():
        return None
    others = [kind for kind in KINDS if kind != "reports" and _needed(kind) <= document.keys()]
    return max(others, key=lambda kind: len(_needed(kind)), default=None)


def _needed(kind: Kind) -> set[str]:
    """Return the fields that a kind of result must have."""
    fields = msgspec.structs.fields(record_of(kind))
    return {each.encode_name for each in fields if each.required}


def saved_document(kernel: str) -> Document | None:
    """Return the saved result that KERNEL is; ``None`` for reports and anything else.

    Raises:
        ArtifactError: It is incomplete.
    """
    content = _content(kernel)
    if content is None or content.lstrip()[:1] != b"{":  # only reports come as an array
        return None
    try:
        document = msgspec.json.decode(content)
    except files.DECODE_ERRORS:
        return None  # whoever reads reports says why
    kind = _kind(document)
    if kind is None:
        return None
    try:
        return Document(kind, msgspec.convert(document, record_of(kind)))
    except msgspec.ValidationError as error:
        raise ArtifactError(f"{Path(kernel).name}: incomplete {name_of(kind)}: {error}") from error


@contextmanager
def shown_document(kernel: str, document: Document) -> Iterator[None]:
    """Raise ``ArtifactError`` where a document whose parts contradict each other is shown.

    Its fields have the right types, but a figure that a table needs may be missing.
    """
    try:
        yield
    except (LookupError, ArithmeticError, TypeError, ValueError, AssertionError) as error:
        raise ArtifactError(
            f"{Path(kernel).name}: the {name_of(document.kind)} contradicts itself: {error!r}"
        ) from error


def saved_reports(kernel: str) -> "list[Report] | None":
    """Return the reports in a JSON file that irlens wrote, ``None`` for anything else.

    Args:
        kernel: KERNEL: a file's name, or "-" for stdin.

    Raises:
        ArtifactError: The JSON is incomplete, or has another schema version.
    """
    name = "stdin" if kernel == "-" else kernel
    try:
        content = _content(kernel)
        if content is None:
            return None
        from irlens.model.report import SCHEMA, Report

        document = msgspec.json.decode(content)
        items = document if isinstance(document, list) else [document]
        if not items or not all(isinstance(item, dict) and "schema" in item for item in items):
            return None
        if (kind := _kind(document)) is not None:
            raise ArtifactError(
                f"{name} is a saved {name_of(kind)}, not a report",
                hint=f"show it with  irlens inspect {shlex.quote(kernel)}",
            )
        for item in items:
            if item["schema"] != SCHEMA:
                raise ArtifactError(
                    f"{name}: report of schema {item['schema']!r}; this irlens reads {SCHEMA}",
                    hint="write the report again with this version of irlens",
                )
        return msgspec.convert(items, list[Report])
    except msgspec.ValidationError as error:
        raise ArtifactError(f"{name}: incomplete report: {error}") from error
    except files.DECODE_ERRORS as error:
        raise ArtifactError(f"{name}: invalid JSON: {error}") from error


def read_stdin() -> bytes:
    """Return the content of stdin, which is read once and cached.

    Raises:
        ArtifactError: It is larger than the limit for one input.
    """
    return _read_stream(sys.stdin)


@lru_cache(maxsize=1)
def _read_stream(stream: TextIO) -> bytes:
    content = stream.buffer.read(_REPORTS * files.size_limit() + 1)
    is_report = content.lstrip()[:1] in (b"{", b"[")
    files.check_size(len(content), "stdin", multiple=_REPORTS if is_report else 1)
    return content


def _content(kernel: str) -> bytes | None:
    """Return the content that may be a saved report: a ``.json`` file, or stdin that looks so."""
    if kernel == "-":
        content = read_stdin()
        return content if content.lstrip()[:1] in (b"{", b"[") else None
    path = Path(kernel).expanduser()
    return (
        files.read(path, multiple=_REPORTS)
        if path.suffix == ".json" and files.kind(path) == "file"
        else None
    )
