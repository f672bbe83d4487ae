"""Reports that were saved as JSON, in a file or from stdin."""

import sys
from functools import lru_cache
from pathlib import Path
from typing import TextIO

import msgspec

from irlens.model.errors import ArtifactError
from irlens.model.report import SCHEMA, Report


def stdin() -> bytes:
    """Return all of stdin, which can be read once and has to be looked at more than once."""
    return _content(sys.stdin)


@lru_cache(maxsize=1)
def _content(stream: TextIO) -> bytes:
    return stream.buffer.read()


def saved_reports(kernel: str) -> list[Report] | None:
    """Return the reports in JSON that irlens wrote, ``None`` for anything else.

    Args:
        kernel: KERNEL: a file's name, or "-" for stdin.

    Raises:
        ArtifactError: It is no report after all, or that of another version.
    """
    name = "stdin" if kernel == "-" else kernel
    try:
        content = _json(kernel)
        if content is None:
            return None
        document = msgspec.json.decode(content)
        items = document if isinstance(document, list) else [document]
        if not items or not all(isinstance(item, dict) and "schema" in item for item in items):
            return None
        for item in items:
            if item["schema"] != SCHEMA:
                raise ArtifactError(
                    f"{name}: a report of schema {item['schema']!r}, this irlens reads {SCHEMA}",
                    hint="write it again with this version of irlens",
                )
        return msgspec.convert(items, list[Report])
    except OSError as error:
        raise ArtifactError(f"cannot read {name}: {error.strerror}") from error
    except msgspec.ValidationError as error:
        raise ArtifactError(f"{name}: not a whole report: {error}") from error
    except msgspec.DecodeError as error:
        raise ArtifactError(f"{name}: not JSON: {error}") from error


def _json(kernel: str) -> bytes | None:
    """Return what may be a saved report: a file by its name, stdin by how it begins."""
    if kernel == "-":
        content = stdin()
        return content if content.lstrip()[:1] in (b"{", b"[") else None
    path = Path(kernel).expanduser()
    return path.read_bytes() if path.suffix == ".json" and path.is_file() else None
