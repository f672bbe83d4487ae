"""Between KERNEL and options on a command line, and what a baseline keeps to ask the same again."""

import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from irlens.capturing.describe import known_files
from irlens.cli.options import Asked
from irlens.cli.subject import find_reports, is_compiled
from irlens.gate.baseline import Recipe
from irlens.gate.matching import Made
from irlens.model.errors import IrlensError
from irlens.model.report import Report


def recipes(kernel: str, asked: Asked, root: Path) -> Iterator[Recipe]:
    """Yield a recipe for each combination of what the options ask for.

    Args:
        kernel: KERNEL.
        asked: The options.
        root: The project's folder.
    """
    if kernel == "-":
        raise IrlensError("a check cannot be made again from stdin", hint="name a file")
    portable = from_root(kernel, root)
    if is_compiled(kernel):
        if asked != Asked():
            find_reports(kernel, asked)  # says that options have no effect there
        yield Recipe(kernel=portable)
        return
    for target, settings, args in asked.as_written():
        yield Recipe(kernel=portable, target=_named(target), settings=settings, args=args)


def make(recipe: Recipe, root: Path, by: Asked) -> Made:
    """Return what a recipe makes.

    Args:
        recipe: The recipe. Where it names no target that of what it makes is written down.
        root: The folder that its path is relative to.
        by: With which Triton, and whether to launch it: it is not without being told to.

    Raises:
        IrlensError: It makes nothing.
    """
    kernel = to_here(recipe.kernel, root)
    compiled = is_compiled(kernel)
    asked = Asked()
    if not compiled:
        asked = Asked(
            targets=(recipe.target,) if recipe.target else (),
            settings=tuple((name, (value,)) for name, value in recipe.settings.items()),
            args=tuple((name, (value,)) for name, value in recipe.args.items()),
            tritons=by.tritons,
            run=by.run or False,
        )
    reports = tuple(find_reports(kernel, asked))
    if not compiled and recipe.target is None:
        recipe = msgspec.structs.replace(recipe, target=_target(reports[0]))
    return Made(recipe=recipe, reports=reports)


def is_gone(recipe: Recipe, root: Path) -> bool:
    """Whether the file that a recipe names is not there any more."""
    path, _ = _split(recipe.kernel, below=root)
    return path is not None and not (root / path.expanduser()).exists()


def from_root(kernel: str, root: Path) -> str:
    """Return KERNEL with a path in it relative to a folder."""
    path, function = _split(kernel)
    if path is None or kernel.startswith("~"):
        return kernel
    absolute = Path(os.path.normpath(path.absolute()))
    if path.is_absolute() and not absolute.is_relative_to(root):
        return kernel
    return _path(os.path.relpath(absolute, root)) + function


def to_here(kernel: str, root: Path) -> str:
    """Return KERNEL with a path in it relative to the current folder."""
    path, function = _split(kernel, below=root)
    if path is None or path.is_absolute() or kernel.startswith("~"):
        return kernel
    return _path(os.path.relpath(root / path)) + function


def _split(kernel: str, below: Path = Path()) -> tuple[Path | None, str]:
    """Return the path that KERNEL starts with, ``None`` if it is a name, and what follows it."""
    place, colon, function = kernel.partition(".py:")
    if colon:
        return Path(f"{place}.py"), f":{function}"
    is_path = "/" in kernel or kernel.endswith(".py") or (below / kernel).is_file()
    # As on the command line, a name wins over a folder that is called the same.
    if is_path or ((below / kernel).is_dir() and kernel not in known_files()):
        return Path(kernel), ""
    return None, ""


def _path(path: str) -> str:
    """Return a path that nobody takes for a name."""
    return path if "/" in path or path.endswith(".py") else f"./{path}"


def _named(target: str | None) -> str | None:
    """Return a target by the name that reports have for it."""
    if target is None:
        return None
    from irlens import arch

    found = arch.find(target).target
    return found.product or found.arch


def _target(report: Report) -> str | None:
    target = report.target
    return (target.product or target.arch) if target else None
