"""From KERNEL and options to the recipes of a baseline, and from a recipe to reports."""

import os
from collections.abc import Hashable, Iterator
from pathlib import Path

import msgspec

from irlens.checks.baseline import Baseline, Entry, Recipe
from irlens.checks.pairing import RecipeResult
from irlens.compiler.sources.description import KernelSource, find_kernel, find_kernels
from irlens.compiler.sources.lookup import known_files
from irlens.model import files
from irlens.model.errors import IrlensError
from irlens.session import Configurations, is_compiled
from irlens.session.session import Session


class KernelNames:
    """Knows which names mean the same kernel: ``mine``, ``kernels/mine.py``, ``kernels/mine.py:f``.

    The first name of a kernel that is looked up becomes its canonical name. A name that leads to
    no source stands for itself.

    Args:
        root: The project's folder; paths in names are relative to it.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self._canonical: dict[Hashable, str] = {}

    def canonical(self, name: str) -> str:
        """Return the canonical name of a kernel: this one, if it is the first."""
        return self._canonical.setdefault(self._identity(name), name)

    def aliases(self, name: str) -> tuple[str, ...]:
        """Return a kernel's name, and its other names."""
        source = self._source(name)
        if source is None:
            return (name,)
        stems = [stem for stem, path in known_files().items() if path.resolve() == source.path]
        root = self.root.resolve()  # as is a source's path
        if source.path.is_relative_to(root):
            stems.append(_as_path(str(source.path.relative_to(root))))
        others = [each for stem in stems for each in (stem, f"{stem}:{source.function}")]
        kernel = self._identity(name)
        return (name, *(each for each in others if each != name and self._identity(each) == kernel))

    def _identity(self, name: str) -> Hashable:
        source = self._source(name)
        return (source.path, source.function) if source is not None else name

    def _source(self, name: str) -> KernelSource | None:
        """Return a kernel's source, ``None`` for a compiled or unknown kernel."""
        kernel = to_cwd(name, self.root)
        if is_compiled(kernel):
            return None
        try:
            return find_kernel(kernel)
        except IrlensError:
            return None


def canonicalize(baseline: Baseline, names: KernelNames) -> Baseline:
    """Return a baseline with one name for each kernel, and without duplicate entries.

    Earlier versions of irlens kept an entry for each name of a kernel.
    """
    entries: list[Entry] = []
    seen: dict[bytes, str] = {}
    for entry in baseline.entries:
        recipe = msgspec.structs.replace(entry.recipe, kernel=names.canonical(entry.recipe.kernel))
        renamed = msgspec.structs.replace(entry, recipe=recipe)
        content = msgspec.json.encode(msgspec.structs.replace(renamed, triton_version=None))
        # Equal entries under the same name are as many captures of equal requests.
        if seen.setdefault(content, entry.recipe.kernel) == entry.recipe.kernel:
            entries.append(renamed)
    return msgspec.structs.replace(baseline, entries=entries)


def recipes(kernel: str, configurations: Configurations, names: KernelNames) -> Iterator[Recipe]:
    """Yield a recipe for each configuration."""
    if kernel == "-":
        raise IrlensError("a check of stdin cannot be repeated", hint="name a file")
    portable = names.canonical(from_root(kernel, names.root))
    if configurations.grid:
        raise IrlensError("a baseline keeps no grid: give it in the kernel's description")
    compiled = is_compiled(kernel)
    if compiled and configurations.is_empty:
        yield Recipe(kernel=portable)
        return
    functions = [] if compiled else _described(kernel)
    if len(functions) > 1:
        for function in functions:
            yield from recipes(f"{kernel}:{function}", configurations, names)
        return
    for target, settings, args in configurations.as_written():
        yield Recipe(kernel=portable, target=_report_name(target), settings=settings, args=args)


def _described(kernel: str) -> list[str]:
    """Return the described functions of KERNEL; none where making it reports an error."""
    try:
        return [each.function for each in find_kernels(kernel) if each.description is not None]
    except IrlensError:
        return []


def make(
    recipe: Recipe, names: KernelNames, options: Configurations, session: Session
) -> RecipeResult:
    """Return the reports of a recipe.

    Args:
        recipe: The recipe. One without a target receives that of its first report.
        options: The Triton to compile with, and whether to launch; not by default.

    Raises:
        IrlensError: The recipe yields no report.
    """
    kernel = to_cwd(recipe.kernel, names.root)
    reports = tuple(session.reports(kernel, configurations_of(recipe, kernel, options)))
    if not is_compiled(kernel) and recipe.target is None:
        target = reports[0].target
        recipe = msgspec.structs.replace(recipe, target=target.name if target else None)
    return RecipeResult(
        recipe=recipe,
        names=names.aliases(recipe.kernel),
        reports=reports,
        edited=tuple(from_root(each, names.root) for each in session.edited.get(kernel, ())),
    )


def configurations_of(recipe: Recipe, kernel: str, options: Configurations) -> Configurations:
    """Return the configuration of a recipe.

    Args:
        kernel: Its kernel, with a path relative to the current folder.
        options: The Triton to compile with, and whether to launch; not by default.
    """
    if is_compiled(kernel) and not (recipe.target or recipe.settings or recipe.args):
        return Configurations()
    return Configurations(
        targets=(recipe.target,) if recipe.target else (),
        settings=tuple((name, (value,)) for name, value in recipe.settings.items()),
        args=tuple((name, (value,)) for name, value in recipe.args.items()),
        tritons=options.tritons,
        run=options.run or False,
    )


def is_gone(recipe: Recipe, root: Path) -> bool:
    """Whether the file that a recipe names no longer exists."""
    path, _ = _split(recipe.kernel, below=root)
    return path is not None and not (root / path.expanduser()).exists()


def from_root(kernel: str, root: Path) -> str:
    """Return KERNEL with its path relative to a folder."""
    path, function = _split(kernel)
    if path is None or kernel.startswith("~"):
        return kernel
    absolute = Path(os.path.normpath(path.absolute()))
    if path.is_absolute() and not absolute.is_relative_to(root):
        return kernel
    return _as_path(os.path.relpath(absolute, root)) + function


def to_cwd(kernel: str, root: Path) -> str:
    """Return KERNEL with its path, which is relative to a folder, relative to the current one."""
    path, function = _split(kernel, below=root)
    if path is None or path.is_absolute() or kernel.startswith("~"):
        return kernel
    return _as_path(os.path.relpath(root / path)) + function


def _split(kernel: str, below: Path = Path()) -> tuple[Path | None, str]:
    """Return the path in KERNEL, ``None`` if it is a name, and the rest."""
    stem, colon, function = kernel.partition(".py:")
    if colon:
        return Path(f"{stem}.py"), f":{function}"
    is_path = "/" in kernel or kernel.endswith(".py") or files.kind(below / kernel) == "file"
    # As on the command line, a kernel's name takes precedence over a folder's.
    is_folder = bool(kernel) and files.kind(below / kernel) == "directory"
    if is_path or (is_folder and kernel not in known_files()):
        return Path(kernel), ""
    return None, ""


def _as_path(path: str) -> str:
    """Return a path in a form that is not a name."""
    return path if "/" in path or path.endswith(".py") else f"./{path}"


def _report_name(target: str | None) -> str | None:
    """Return a target's name in reports."""
    if target is None:
        return None
    from irlens import gpus

    return gpus.find(target).target.name
