"""Between KERNEL and options on a command line, and what a baseline keeps to ask the same again."""

import os
from collections.abc import Hashable, Iterator
from pathlib import Path

import msgspec

from irlens.check.baseline import Baseline, Entry, Recipe
from irlens.check.pairing import RecipeResult
from irlens.cli.options import Asked
from irlens.cli.subject import find_reports, is_compiled
from irlens.compiler.describe import KernelSource, find_kernel
from irlens.compiler.finding import known_files
from irlens.model.errors import IrlensError
from irlens.model.report import Report


class Spellings:
    """Which names mean the same kernel: ``mine``, ``kernels/mine.py`` and ``kernels/mine.py:f``.

    Of a kernel's names the one that was met first stands for it. What is found nowhere is a kernel
    of its own.

    Args:
        root: The project's folder, which a path in a name is relative to.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self._first: dict[Hashable, str] = {}

    def first(self, name: str) -> str:
        """Return the name that stands for the kernel of another; this one, if it is the first."""
        return self._first.setdefault(self._kernel(name), name)

    def all(self, name: str) -> tuple[str, ...]:
        """Return a kernel's name, and the others that it could be asked for by."""
        source = self._source(name)
        if source is None:
            return (name,)
        places = [stem for stem, path in known_files().items() if path.resolve() == source.path]
        root = self.root.resolve()  # as a source's path is
        if source.path.is_relative_to(root):
            places.append(_path(str(source.path.relative_to(root))))
        others = [each for place in places for each in (place, f"{place}:{source.function}")]
        kernel = self._kernel(name)
        return (name, *(each for each in others if each != name and self._kernel(each) == kernel))

    def _kernel(self, name: str) -> Hashable:
        source = self._source(name)
        return (source.path, source.function) if source is not None else name

    def _source(self, name: str) -> KernelSource | None:
        """Return where a kernel is, ``None`` for what is compiled or is found nowhere."""
        here = to_here(name, self.root)
        if is_compiled(here):
            return None
        try:
            return find_kernel(here)
        except IrlensError:
            return None


def with_one_name(baseline: Baseline, spellings: Spellings) -> Baseline:
    """Return a baseline in which each kernel has one name, and one entry for the same under two.

    Before irlens knew that two names are one kernel, it kept an entry for each.
    """
    entries: list[Entry] = []
    met: dict[bytes, str] = {}
    for one in baseline.entries:
        recipe = msgspec.structs.replace(one.recipe, kernel=spellings.first(one.recipe.kernel))
        named = msgspec.structs.replace(one, recipe=recipe)
        same = msgspec.json.encode(msgspec.structs.replace(named, triton_version=None))
        # Twins under the same name are as many captures that were asked for alike.
        if met.setdefault(same, one.recipe.kernel) == one.recipe.kernel:
            entries.append(named)
    return msgspec.structs.replace(baseline, entries=entries)


def recipes(kernel: str, asked: Asked, spellings: Spellings) -> Iterator[Recipe]:
    """Yield a recipe for each combination of what the options ask for.

    Args:
        kernel: KERNEL.
        asked: The options.
        spellings: The names of kernels in the project.
    """
    if kernel == "-":
        raise IrlensError("a check cannot be made again from stdin", hint="name a file")
    portable = spellings.first(from_root(kernel, spellings.root))
    if is_compiled(kernel):
        if asked != Asked():
            find_reports(kernel, asked)  # says that options have no effect there
        yield Recipe(kernel=portable)
        return
    for target, settings, args in asked.as_written():
        yield Recipe(kernel=portable, target=_named(target), settings=settings, args=args)


def make(recipe: Recipe, spellings: Spellings, by: Asked) -> RecipeResult:
    """Return what a recipe makes.

    Args:
        recipe: The recipe. Where it names no target that of what it makes is written down.
        spellings: The names of kernels in the project.
        by: With which Triton, and whether to launch it: it is not without being told to.

    Raises:
        IrlensError: It makes nothing.
    """
    kernel = to_here(recipe.kernel, spellings.root)
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
    return RecipeResult(recipe=recipe, names=spellings.all(recipe.kernel), reports=reports)


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
    from irlens import gpus as arch

    return arch.find(target).target.name


def _target(report: Report) -> str | None:
    return report.target.name if report.target else None
