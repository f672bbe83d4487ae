"""Resolve a kernel's name on the command line to its Python file, without executing anything."""

import importlib.machinery
import importlib.util
from functools import lru_cache
from pathlib import Path

import msgspec

from irlens.compiler.sources.inductor import is_generated
from irlens.model import files
from irlens.model.errors import CaptureError, IrlensError, UnknownNameError

_PACKAGE = Path(__file__).resolve().parents[2]


class _IrlensTable(msgspec.Struct, frozen=True):
    kernels: str | None = None


class _ToolTable(msgspec.Struct, frozen=True):
    irlens: _IrlensTable = _IrlensTable()


class _Project(msgspec.Struct, frozen=True):
    """The part of a ``pyproject.toml`` that irlens reads."""

    tool: _ToolTable = _ToolTable()


def split_spec(spec: str) -> tuple[str, str | None]:
    """Return the file part of a kernel spec, and the function's name if the spec has one."""
    file, colon, function = spec.rpartition(":")
    return (file, function or None) if colon else (spec, None)


def find_file(spec: str) -> Path:
    """Return the file that a kernel spec names, see ``description.find_kernel``.

    Raises:
        UnknownNameError: There is no such kernel.
        CaptureError: There is no such file.
    """
    name, _ = split_spec(spec)
    path = Path(name).expanduser()
    if path.suffix == ".py" or "/" in name or is_log_of_kernels(path):
        if path.is_file():
            return path
        raise CaptureError(
            f"no such file: {name}",
            hint="write a sample's name, path/file.py:kernel or package.module:kernel",
        )
    own = (folder / f"{name}.py" for folder in reversed(_named_folders()))
    file = next((each for each in own if _is_named(each) and files.kind(each) == "file"), None)
    file = file or _find_module(name)
    if file is None:
        raise UnknownNameError("kernel", spec, known_files())
    return file


def is_log_of_kernels(path: Path) -> bool:
    """Whether a file is a log with kernels that TorchInductor generated."""
    if files.kind(path) != "file":
        return False
    try:
        content = files.read(path)
    except IrlensError:
        return False
    return is_generated(content.decode("utf-8", "replace"))


def known_files() -> dict[str, Path]:
    """Return the kernel files that have a name: irlens's samples and the project's own.

    The project's are the files in the folder that ``kernels = "..."`` under ``[tool.irlens]`` of
    the nearest ``pyproject.toml`` names; they override samples of the same name.
    """
    return {
        path.stem: path
        for folder in _named_folders()
        for path in sorted(folder.glob("*.py"))
        if _is_named(path)
    }


def _named_folders() -> list[Path]:
    """Return the folders whose files have a name; the last one's override the others'."""
    own = _project_folder(Path.cwd())
    return [samples_folder(), *([] if own is None else [own])]


def _is_named(path: Path) -> bool:
    return not path.stem.startswith("_")


def samples_folder() -> Path:
    """Return the folder of the sample kernels: inside the package in a wheel, else beside it."""
    inside = _PACKAGE / "kernels"
    return inside if inside.is_dir() else _PACKAGE.parent / "kernels"


def find_project(start: Path) -> Path | None:
    """Return the nearest ``pyproject.toml`` in or above ``start``, or ``None``."""
    paths = (folder / "pyproject.toml" for folder in (start, *start.parents))
    return next((path for path in paths if path.is_file()), None)


def _find_module(name: str) -> Path | None:
    """Return the file of a module without importing it or its parent packages.

    ``importlib.util.find_spec`` imports the parents of a dotted name, so it resolves the first
    part only; the rest is looked up in the package's folders.
    """
    first, *rest = name.split(".")
    if not all(part.isidentifier() for part in (first, *rest)):
        return None
    spec = importlib.machinery.PathFinder.find_spec(first, [str(Path.cwd())])
    if spec is None:
        try:
            spec = importlib.util.find_spec(first)
        except ValueError:  # a module in memory without a file, such as __main__
            return None
    if spec is None:
        return None
    if not rest:
        return Path(spec.origin) if spec.origin and spec.origin.endswith(".py") else None
    for folder in spec.submodule_search_locations or ():
        stem = Path(folder, *rest)
        for path in (stem.with_name(stem.name + ".py"), stem / "__init__.py"):
            if path.is_file():
                return path
    return None


def _project_folder(start: Path) -> Path | None:
    """Return the kernel folder that the nearest ``pyproject.toml`` names, or ``None``."""
    path = find_project(start)
    if path is None:
        return None
    try:
        folder = _kernels_setting(path, files.state(path))
    except (OSError, *files.DECODE_ERRORS) as error:
        raise CaptureError(f"cannot read {path}: {error}") from error
    if folder is None:
        return None
    if not (path.parent / folder).is_dir():
        raise CaptureError(
            f"{path}: kernels = {folder!r} under [tool.irlens] is not a folder",
            hint=f"name a folder relative to {path.parent}",
        )
    return path.parent / folder


@lru_cache(maxsize=8)
def _kernels_setting(path: Path, _state: files.State | None) -> str | None:
    """Return a project's ``kernels`` setting; parsing takes longer than to read a kernel's file.

    Most projects say nothing to irlens, so that their files need no parsing.

    Args:
        _state: Differs once the file was written or replaced.
    """
    content = path.read_bytes()
    if b"irlens" not in content:
        return None
    return msgspec.toml.decode(content, type=_Project).tool.irlens.kernels
