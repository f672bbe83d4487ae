"""What a capture is made of: Triton's artifacts, the Python files, the manifest."""

import hashlib
import shutil
from collections.abc import Mapping
from pathlib import Path

import msgspec

from irlens.model.capture import MANIFEST_NAME, Manifest


def copy_artifacts(cache_entry: Path, entry: Path) -> None:
    """Copy a Triton cache entry to its place in the capture.

    Left out are launchers (machine code, which irlens never loads) and Triton's ``__grp__``
    file, a list of absolute paths that would point into the removed workspace.
    """
    shutil.copytree(cache_entry, entry, ignore=shutil.ignore_patterns("*.so", "__grp__*", "lock"))


def keep_sources(sources: Mapping[Path, bytes], folder: Path) -> None:
    """Keep the files that may hold kernel code; of two with the same name one goes a level down.

    A kernel's file may import a whole project, of which Triton sees little.
    """
    folder.mkdir()
    for path, content in sources.items():
        if b"triton" not in content:
            continue
        copy = folder / path.name
        if copy.exists():
            copy = folder / sha256(content)[:8] / path.name
            copy.parent.mkdir(exist_ok=True)
        copy.write_bytes(content)


def write_manifest(manifest: Manifest, entry: Path) -> None:
    """Put the manifest into a capture."""
    text = msgspec.json.format(msgspec.json.encode(manifest), indent=2)
    (entry / MANIFEST_NAME).write_bytes(text + b"\n")


def sha256(content: bytes) -> str:
    """Return the SHA-256 in hex."""
    return hashlib.sha256(content).hexdigest()
