"""Checks: from kernels, a baseline and a project's settings to the finished record."""

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from irlens.checks import check
from irlens.checks import project as projects
from irlens.checks.baseline import NAME, Baseline, Recipe, read, written
from irlens.checks.pairing import RecipeResult
from irlens.checks.project import Project, Requirements
from irlens.compiler.sources.description import find_kernels
from irlens.model import files
from irlens.model.check import Check
from irlens.model.errors import ArtifactError, IrlensError, UnknownNameError
from irlens.session import Configurations, is_compiled
from irlens.session.launch_budgets import with_launch_verdicts
from irlens.session.recipes import (
    KernelNames,
    canonicalize,
    from_root,
    is_gone,
    make,
    recipes,
    to_cwd,
)
from irlens.session.session import Session


class CheckRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What to check.

    Attributes:
        kernels: KERNELs; all that the baseline and the project name if there is none.
        configurations: The configurations of the kernels; those of the baseline if empty.
        file: The baseline; the project's if ``None``.
    """

    kernels: tuple[str, ...] = ()
    configurations: Configurations = Configurations()
    file: Path | None = None
    update: bool = False
    strict: bool = False


class Checked(msgspec.Struct, frozen=True):
    """A check, and the baseline that ``--update`` writes."""

    check: Check
    baseline: bytes
    path: Path


def run_check(request: CheckRequest, session: Session) -> Checked:
    """Compile what a check needs, and compare it with the baseline and the budgets.

    Raises:
        IrlensError: There is nothing to check, or a kernel cannot be compiled.
    """
    project = projects.find(Path.cwd())
    path = request.file.absolute() if request.file is not None else project.baseline
    baseline = read(path)
    if baseline is None and not request.update and path != project.root / NAME:
        raise IrlensError(
            f"there is no {os.path.relpath(path)}",
            hint=f"create it with `irlens check {_named(request)} --update`",
        )
    names = KernelNames(project.root)
    if baseline is not None:
        baseline = _canonical(baseline, names, session)
        requested = [from_root(each, project.root) for each in request.kernels] or project.kernels
        baseline = follow_renames(baseline, requested, names, session)
    chosen = _choose(request, baseline, project, names)
    result, renewed = check(
        [
            with_launch_verdicts(each, project, request.configurations, session)
            for each in _make_all(chosen, baseline, names, request, session)
        ],
        Requirements(
            baseline=baseline,
            baseline_file=os.path.relpath(path, project.root),
            budgets=project.budgets,
            launch_budgets=project.launch_budgets,
            whole_project=not request.kernels,
            strict=request.strict or project.strict,
            update=request.update,
        ),
    )
    return Checked(result, written(renewed), path)


def _named(request: CheckRequest) -> str:
    """Return the kernels as a command names them; "KERNEL" for none, or paths with blanks."""
    plain = all(re.fullmatch(r"[\w./:~-]+", each) for each in request.kernels)
    return " ".join(request.kernels) if plain and request.kernels else "KERNEL"


def _choose(
    request: CheckRequest, baseline: Baseline | None, project: Project, names: KernelNames
) -> list[Recipe]:
    """Return the recipes to check: those that are asked for, or of the baseline and project."""
    configurations = request.configurations
    if len(configurations.tritons) > 1:
        raise IrlensError("a check uses one Triton: name one")
    has_options = msgspec.structs.replace(configurations, tritons=(), run=None) != Configurations()
    known = _recipes_of(baseline)
    chosen: list[Recipe] = []
    if not request.kernels:
        if has_options:
            raise IrlensError("options select configurations of a KERNEL: name one")
        chosen += known
        targeted = Configurations(targets=project.targets)
        for named in project.kernels:
            kernel = to_cwd(named, project.root)
            chosen += recipes(kernel, Configurations() if is_compiled(kernel) else targeted, names)
    for kernel in request.kernels:
        name = names.canonical(from_root(kernel, project.root))
        own = [recipe for recipe in known if recipe.kernel == name]
        chosen += own if own and not has_options else recipes(kernel, configurations, names)
    if not chosen:
        raise IrlensError(
            "no kernel to check",
            hint="create a baseline with `irlens check KERNEL --update`",
        )
    has_budgets = project.budgets or project.launch_budgets
    if baseline is None and not has_budgets and not request.update:
        raise IrlensError(
            f"nothing to check against: no {project.baseline.name} and no [tool.irlens.budgets]",
            hint=f"create a baseline with `irlens check {_named(request)} --update`",
        )
    return chosen


def _make_all(
    chosen: Sequence[Recipe],
    baseline: Baseline | None,
    names: KernelNames,
    request: CheckRequest,
    session: Session,
) -> list[RecipeResult]:
    """Return the reports of each distinct recipe.

    A recipe of the baseline that fails is a result. ``--update`` removes recipes whose source is
    gone from the baseline, but raises the error of a broken one.
    """
    configurations = request.configurations
    known = _recipes_of(baseline)
    if any(recipe.target is not None for recipe in chosen):
        session.require_triton(configurations.tritons[0] if configurations.tritons else None)
    results: list[RecipeResult] = []
    for recipe in chosen:
        if any(recipe == result.recipe for result in results):
            continue
        try:
            made = make(recipe, names, configurations, session)
        except IrlensError as error:
            gone = isinstance(error, UnknownNameError) or is_gone(recipe, names.root)
            if recipe not in known or (request.update and not gone):
                raise
            moved = where_it_is(baseline, recipe.kernel, names) if baseline and gone else ""
            why = "; ".join(filter(None, [error.message, moved]))
            made = RecipeResult(recipe=recipe, failure=why)
        # A recipe without a target has one now, and may equal an earlier one.
        if all(made.recipe != result.recipe for result in results):
            results.append(made)
    return results


def _recipes_of(baseline: Baseline | None) -> list[Recipe]:
    return [entry.recipe for entry in baseline.entries] if baseline is not None else []


def _canonical(before: Baseline, names: KernelNames, session: Session) -> Baseline:
    """Return the canonicalized baseline, and report the names that it no longer has."""
    after = canonicalize(before, names)
    if len(after.entries) < len(before.entries):
        aliases = {entry.recipe.kernel for entry in before.entries}
        aliases -= {entry.recipe.kernel for entry in after.entries}
        session.note_once(
            [
                f"the baseline lists the same kernels under several names; "
                f"entries under {', '.join(sorted(aliases))} count once"
            ]
        )
    return after


#: Files and folders of a project that are searched for a kernel, and bytes of a file.
_MOST, _MOST_FOLDERS, _LARGEST = 2000, 10_000, 500_000
#: Folders without sources of the project, beside hidden ones.
_SKIPPED = frozenset({"__pycache__", "node_modules", "venv", "site-packages", "build"})


def follow_renames(
    baseline: Baseline, requested: Sequence[str], names: KernelNames, session: Session
) -> Baseline:
    """Return a baseline whose entries of a file that is gone go by the one that now has the kernel.

    Args:
        requested: The kernels to check, from the project's folder: only these are looked at. One
            that the baseline has entries of is no new name of another.
    """
    known = {_file(entry.recipe.kernel) for entry in baseline.entries}
    new = [name for name in requested if _file(name) not in known]
    entries, renamed = [], {}
    for entry in baseline.entries:
        old, recipe = _file(entry.recipe.kernel), entry.recipe
        if new and is_gone(recipe, names.root):
            having = {_file(each) for each in new if _has(each, entry.kernel, names)}
            if len(having) == 1:
                renamed[old] = having.pop()
                kernel = renamed[old] + recipe.kernel.removeprefix(old)
                entry = msgspec.structs.replace(
                    entry, recipe=msgspec.structs.replace(recipe, kernel=names.canonical(kernel))
                )
        entries.append(entry)
    session.note_once(
        [f"{old} is gone: its entries are those of {name}" for old, name in renamed.items()]
    )
    return msgspec.structs.replace(baseline, entries=entries)


def where_it_is(baseline: Baseline, kernel: str, names: KernelNames) -> str:
    """Return which file now has the kernels of a recipe whose file is gone; "" if none has."""
    functions = {each.kernel for each in baseline.entries if each.recipe.kernel == kernel}
    pattern = re.compile(
        rb"^def (?:" + b"|".join(re.escape(each.encode()) for each in functions) + rb")\(", re.M
    )
    known = {_file(entry.recipe.kernel) for entry in baseline.entries}
    found = [
        name
        for path in _sources(names.root)
        if (name := os.path.relpath(path, names.root)) not in known
        and pattern.search(_content(path))
    ]
    if len(found) != 1:
        return ""
    named = to_cwd(found[0], names.root)
    return f"{found[0]} has {' and '.join(sorted(functions))}: `irlens check {named}` compares it"


def _sources(root: Path) -> Iterator[Path]:
    """Yield the Python files of a project."""
    seen = 0
    for entered, (folder, folders, names) in enumerate(os.walk(root)):
        folders[:] = sorted(e for e in folders if not e.startswith(".") and e not in _SKIPPED)
        for name in sorted(names):
            if name.endswith(".py"):
                seen += 1
                yield Path(folder, name)
        if seen > _MOST or entered > _MOST_FOLDERS:
            return


def _content(path: Path) -> bytes:
    """Return the text of a Python file; none of one that is too large, or cannot be read."""
    with suppress(ArtifactError):
        content = files.read(path, most=_LARGEST + 1)
        return content if len(content) <= _LARGEST else b""
    return b""


def _file(kernel: str) -> str:
    """Return "a/k.py" for "a/k.py:add"."""
    stem, colon, _ = kernel.partition(".py:")
    return f"{stem}.py" if colon else kernel


def _has(name: str, function: str, names: KernelNames) -> bool:
    try:
        return function in {e.function for e in find_kernels(to_cwd(name, names.root))}
    except IrlensError:
        return False
