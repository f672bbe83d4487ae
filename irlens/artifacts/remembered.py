"""Files of the store that are made again if they are lost: each begins with its own checksum.

A disk or a sync tool can change a bit, and what was changed may still decode, as another figure.
"""

import hashlib
from contextlib import suppress
from pathlib import Path

from irlens.artifacts import store
from irlens.model import files

_CHECKSUM_BYTES = 16


def read(path: Path) -> bytes | None:
    """Return the content of a file, which counts as used; ``None`` if it is lost or damaged."""
    try:
        content = path.read_bytes()
    except OSError:
        return None
    checksum, content = content[:_CHECKSUM_BYTES], content[_CHECKSUM_BYTES:]
    if checksum != _checksum(content):
        return None
    store.touch(path)
    return content


def write(path: Path, content: bytes) -> None:
    """Write a file atomically. One that cannot be written only costs time."""
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        files.replace(path, [_checksum(content), content])


def _checksum(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=_CHECKSUM_BYTES).digest()
