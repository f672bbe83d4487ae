"""From what a kernel is called on the command line to the Python file that holds it.

Nothing is executed or imported on the way.
"""

import importlib.machinery
import importlib.util
from pathlib import Path

import msgspec

from irlens.model.errors import CaptureError, UnknownNameError


class _IrlensTable(msgspec.Struct, frozen=True):
    kernels: str | None = None


class _ToolTable(msgspec.Struct, frozen=True):
    irlens: _IrlensTable = _IrlensTable()


class _Project(msgspec.Struct, frozen=True):
    """What irlens reads of a ``pyproject.toml``."""

    tool: _ToolTable = _ToolTable()


def split_spec(spec: str) -> tuple[str, str | None]:
    """Return where ``spec`` says the kernel is, and its function's name if it gives one."""
    place, colon, function = spec.rpartition(":")
    return (place, function or None) if colon else (spec, None)


def find_file(spec: str) -> Path:
    """Return the file that ``spec`` names, see ``describe.find_kernel``.

    Raises:
        UnknownNameError: There is no such kernel.
        CaptureError: There is no such file.
    """
    place, _ = split_spec(spec)
    path = Path(place).expanduser()
    if path.suffix == ".py" or "/" in place:
        if path.is_file():
            return path
        raise CaptureError(
            f"no such file: {place}",
            hint="write a sample's name, path/file.py:kernel or package.module:kernel",
        )
    known = known_files()
    if place in known:
        return known[place]
    module = _find_module(place)
    if module is None:
        raise UnknownNameError("kernel", spec, known)
    return module


def known_files() -> dict[str, Path]:
    """Return the files that can be named without a path: irlens's samples and the project's own.

    The latter are the files in the folder that ``kernels = "..."`` under ``[tool.irlens]`` of the
    nearest ``pyproject.toml`` names; they win over a sample of the same name.
    """
    folders = [samples_folder()]
    own = _project_folder(Path.cwd())
    if own is not None:
        folders.append(own)
    return {
        path.stem: path
        for folder in folders
        for path in sorted(folder.glob("*.py"))
        if not path.stem.startswith("_")
    }


def samples_folder() -> Path:
    """Return the folder of irlens's own kernels: in a wheel inside the package, else beside it."""
    package = Path(__file__).resolve().parents[1]
    inside = package / "kernels"
    return inside if inside.is_dir() else package.parent / "kernels"


def find_project(start: Path) -> Path | None:
    """Return the nearest ``pyproject.toml`` in or above ``start``, ``None`` if there is none."""
    files = (folder / "pyproject.toml" for folder in (start, *start.parents))
    return next((path for path in files if path.is_file()), None)


def _find_module(name: str) -> Path | None:
    """Return the file of a module without importing anything, not even its parent packages.

    ``importlib.util.find_spec`` imports the parents of a dotted name, so only the first part is
    asked for that way and the rest is looked up below its folders.
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
    """Return the kernel folder that the nearest ``pyproject.toml`` above ``start`` names."""
    path = find_project(start)
    if path is None:
        return None
    try:
        named = msgspec.toml.decode(path.read_bytes(), type=_Project).tool.irlens.kernels
    except (OSError, msgspec.DecodeError) as error:
        raise CaptureError(f"cannot read {path}: {error}") from error
    if named is None:
        return None
    if not (path.parent / named).is_dir():
        raise CaptureError(
            f"{path}: kernels = {named!r} under [tool.irlens] is not a folder",
            hint=f"name a folder relative to {path.parent}",
        )
    return path.parent / named
