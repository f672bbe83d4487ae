"""Write captures: Triton's artifacts, the Python sources and the manifest.

A capture names the file that it was compiled from, and recompiling it executes that file. Anyone
can write a capture that names any file, so irlens seals what it writes with a key of the user's
own store, and follows a name only under a seal of that key.
"""

import hashlib
import hmac
import os
import shutil
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path

import msgspec

from irlens.artifacts import store
from irlens.compiler.sources.lookup import samples_folder
from irlens.model.capture import MANIFEST_NAME, Capture, Manifest, SourceFile
from irlens.model.config import ConstexprValue


class Launch(msgspec.Struct, frozen=True):
    """The first launch of a compiled variant in a recorded program.

    Attributes:
        entry: Triton's cache entry, an absolute directory.
        file: The Python file that defines the kernel; ``None`` if another process compiled it.
        grid: CTAs in x, y and z; ``None`` if the kernel was only compiled (``warmup``).
        options: See ``Config.options``; ``None`` if unknown.
        grid_formula: How ``grid`` follows from the constexprs; empty where that is unknown.
    """

    entry: str
    file: str | None
    constexprs: dict[str, ConstexprValue]
    args: dict[str, int | float | str]
    grid: tuple[int, int, int] | None
    options: dict[str, ConstexprValue] | None = None
    grid_formula: tuple[int | str, ...] = ()
    fixed: tuple[str, ...] = ()
    contents: dict[str, bytes] = {}


class CompileFailure(msgspec.Struct, frozen=True):
    """A kernel of a recorded program that did not compile."""

    kernel: str
    message: str


def copy_artifacts(
    cache_entry: Path, entry: Path, copy: Callable[[str, str], object] = shutil.copy2
) -> None:
    """Copy a Triton cache entry into a capture.

    Launchers (machine code, which irlens never loads) are left out, and so is Triton's ``__grp__``
    file, a list of absolute paths into the workspace, which is removed afterwards.

    Args:
        copy: Copies a file; or moves it, from a cache that nobody reads afterwards.
    """
    left_out = shutil.ignore_patterns("*.so", "__grp__*", "lock")
    shutil.copytree(cache_entry, entry, ignore=left_out, copy_function=copy)


def copy_sources(sources: Mapping[Path, bytes], folder: Path) -> None:
    """Write the source files that may contain kernel code into a capture.

    A kernel's file may import a whole project of which few files use Triton. A second file of the
    same name goes into a subfolder.
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
    """Write the manifest of a capture."""
    text = msgspec.json.format(msgspec.json.encode(manifest), indent=2)
    (entry / MANIFEST_NAME).write_bytes(text + b"\n")


def source_file(path: Path, content: bytes, kernel: str) -> SourceFile | None:
    """Return the record of a kernel's file; ``None`` for a sample, which irlens knows by name."""
    if path.is_relative_to(samples_folder()):
        return None
    return sealed(SourceFile(str(path.absolute()), sha256(content)), kernel)


def sha256(content: bytes) -> str:
    """Return the SHA-256 in hex."""
    return hashlib.sha256(content).hexdigest()


_KEY_NAME = "key"
_KEY_BYTES = 32


def sealed(source: SourceFile, kernel: str) -> SourceFile:
    """Return the source of a kernel with this user's seal; without one if there is no key."""
    _make_key()
    key = _key()
    return SourceFile(source.path, source.sha256, _seal(key, source, kernel) if key else "")


def is_own(source: SourceFile, kernel: str) -> bool:
    """Whether the seal of a kernel's source is this user's."""
    key = _key()
    return key is not None and hmac.compare_digest(_seal(key, source, kernel), source.seal)


def edited_sources(captures: Iterable[Capture]) -> list[str]:
    """Return the files of this user's captures that have changed since these were compiled."""
    compiled: dict[str, set[str]] = {}
    for capture in captures:
        source = capture.source
        if source is not None and is_own(source, capture.kernel):
            compiled.setdefault(source.path, set()).add(source.sha256)
    now = {path: _content(path) for path in compiled}
    return [path for path, content in now.items() if content and compiled[path] != {content}]


def _content(path: str) -> str | None:
    """Return the SHA-256 of a file; ``None`` if it is gone."""
    try:
        return sha256(Path(path).read_bytes())
    except (OSError, ValueError):
        return None


def _seal(key: bytes, source: SourceFile, kernel: str) -> str:
    facts = "\0".join((source.path, source.sha256, kernel))
    return hmac.new(key, facts.encode("utf-8", "surrogateescape"), hashlib.sha256).hexdigest()


def _make_key() -> None:
    """Make the key in the user's store, if there is none and one can be written."""
    path = store.root() / _KEY_NAME
    with suppress(OSError):
        if path.exists():
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".{_KEY_NAME}-{os.getpid()}-{os.urandom(4).hex()}")
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "wb") as stream:
            stream.write(os.urandom(_KEY_BYTES))  # as `secrets` does, which imports more
        try:
            os.link(temporary, path)  # of two processes the first one's key stays
        except FileExistsError:
            pass
        finally:
            temporary.unlink()


def _key() -> bytes | None:
    """Return the key in the user's store; ``None`` if there is none."""
    try:
        key = (store.root() / _KEY_NAME).read_bytes()
    except OSError:
        return None
    return key if len(key) == _KEY_BYTES else None
