"""Files that a baseline names and that are gone: under which name their kernels are now."""

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from irlens.checks.baseline import Baseline
from irlens.compiler.sources.description import find_kernels
from irlens.model import files
from irlens.model.errors import ArtifactError, IrlensError
from irlens.session.recipes import KernelNames, is_gone, to_cwd
from irlens.session.session import Session

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
