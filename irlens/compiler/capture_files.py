"""Write captures: Triton's artifacts, the Python sources and the manifest."""

import hashlib
import shutil
from collections.abc import Mapping
from pathlib import Path

import msgspec

from irlens.artifacts.authorship import sealed
from irlens.compiler.sources.lookup import samples_folder
from irlens.model.capture import MANIFEST_NAME, Manifest, SourceFile
from irlens.model.config import ConstexprValue


class Launch(msgspec.Struct, frozen=True):
    """The first launch of a compiled variant in a recorded program.

    Attributes:
        entry: Triton's cache entry, an absolute directory.
        file: The Python file that defines the kernel; ``None`` if another process compiled it.
        constexprs: Value of every constexpr parameter.
        args: Every run-time argument in the manifest's form.
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


class CompileFailure(msgspec.Struct, frozen=True):
    """A kernel of a recorded program that did not compile.

    Attributes:
        kernel: Its name.
        message: Where and why.
    """

    kernel: str
    message: str


def copy_artifacts(cache_entry: Path, entry: Path) -> None:
    """Copy a Triton cache entry into a capture.

    Launchers (machine code, which irlens never loads) are left out, and so is Triton's ``__grp__``
    file, a list of absolute paths into the workspace, which is removed afterwards.
    """
    shutil.copytree(cache_entry, entry, ignore=shutil.ignore_patterns("*.so", "__grp__*", "lock"))


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
