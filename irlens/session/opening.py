"""What the TUI lists without a KERNEL: the project's kernels, the store's captures, the samples.

Files are read and never executed. Those of the current folder come before what was captured, and
what was captured last comes before the rest.
"""

import os
import re
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

from irlens.artifacts import store
from irlens.artifacts.entries import Broken, Listing, read_entry
from irlens.artifacts.load import find_entries
from irlens.model.capture import Capture
from irlens.model.errors import ArtifactError, CaptureError, IrlensError
from irlens.session.exchange import Group
from irlens.session.listed_entries import Item, Uncompiled

#: Folders searched below the current one, and Python files looked at, at most.
_MOST_FOLDERS, _MOST_FILES = 400, 2000
#: Levels of folders below the current one.
_MAX_DEPTH = 3
#: Folders of other people's files.
_FOREIGN = frozenset({"node_modules", "site-packages", "dist-packages", "__pycache__", "venv"})
#: A line that may decorate a kernel.
_DECORATOR = re.compile(rb"^(?P<indent>[ \t]*)@(?:\w+\.)*jit\b", re.MULTILINE)

#: The name of a kernel and its "path:function", or a file that cannot be read.
_Found: TypeAlias = tuple[str, str] | Broken


class Opening:
    """The user's own work in a folder, and what irlens has of it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        #: The names of the project's kernels by "path:function".
        self._own: dict[str, str] = {}
        self._places: dict[str, str] = {}

    @property
    def title(self) -> str:
        """The folder, from the user's home."""
        with suppress(ValueError, RuntimeError):
            return str(Path("~", self._folder.relative_to(Path.home())))
        return str(self._folder)

    def items(self) -> Iterator[Item]:
        """Yield the project's kernels, the captures from the newest, and the samples."""
        store.hold()
        yield from self._kernels()
        for directory, listing in _newest_first():
            yield from read_entry(directory, listing)
        yield from (Uncompiled(name) for name, _ in _samples())

    def group(self, item: Item) -> Group:
        """Return the group in which an item of the listing stands."""
        if isinstance(item, Capture):
            source = item.source
            place = item.kernel if source is None else f"{source.path}:{item.kernel}"
            return Group("project" if place in self._own else "captures", place)
        if isinstance(item, Uncompiled):
            place = self._places.get(item.name, "")
            return Group("project", place) if place else Group("samples", item.name)
        is_own = isinstance(item, Broken) and not item.path.is_relative_to(store.captures())
        return Group("project" if is_own else "captures")

    def _kernels(self) -> Iterator[Item]:
        """Yield the kernels that the project's settings name, and those of the folder's files."""
        self._own.clear()
        self._places.clear()
        for find in (self._configured, self._checked, self._in_files):
            try:
                for found in find():
                    if isinstance(found, Broken):
                        yield found
                        continue
                    name, place = found
                    if place not in self._own:
                        self._own[place], self._places[name] = name, place
                        yield Uncompiled(name)
            except IrlensError as error:  # invalid settings hide neither files nor captures
                yield Broken(self._folder / "pyproject.toml", error.joined("; "))

    def _configured(self) -> Iterator[_Found]:
        """Yield the kernels of the folder that ``[tool.irlens]`` names."""
        from irlens.compiler.sources.lookup import known_files, samples_folder

        known = known_files().items()
        yield from _named({n: path for n, path in known if path.parent != samples_folder()})

    def _checked(self) -> Iterator[_Found]:
        """Yield the KERNELS of ``[tool.irlens.check]`` that are files."""
        from irlens.checks import project
        from irlens.compiler.sources.description import find_kernels

        for name in project.find(self._folder).kernels:
            try:
                for source in find_kernels(name):
                    yield name, f"{source.path}:{source.function}"
            except CaptureError as error:
                yield Broken(self._folder / name, error.message)

    def _in_files(self) -> Iterator[_Found]:
        """Yield the kernels of the Python files in and below the folder, the nearest first."""
        for number, path in enumerate(_python_files(self._folder)):
            if number == _MOST_FILES:
                reason = f"looked at the first {_MOST_FILES:,} Python files: name others on"
                yield Broken(self._folder, f"{reason} the command line")
                return
            yield from _of_file(path, str(path.relative_to(self._folder)))


def _of_file(path: Path, name: str) -> Iterator[_Found]:
    """Yield the kernels of a file, or why it cannot be read where it certainly has some."""
    from irlens.compiler.sources.description import read_kernels

    try:
        content = path.read_bytes()
    except OSError:
        return
    decorators = list(_DECORATOR.finditer(content)) if b"triton" in content else []
    if not decorators:
        return
    try:
        for source in read_kernels(path):
            yield f"{name}:{source.function}", f"{source.path}:{source.function}"
    except CaptureError as error:
        if not all(each["indent"] for each in decorators):  # others may be local to a function
            yield Broken(path, error.message)


def _samples() -> Iterator[tuple[str, str]]:
    """Yield the names and places of irlens's samples."""
    from irlens.compiler.sources.lookup import known_files, samples_folder

    try:
        known = known_files()
    except CaptureError:  # of the project's setting
        known = {path.stem: path for path in samples_folder().glob("[!_]*.py")}
    yield from _named({n: path for n, path in known.items() if path.parent == samples_folder()})


def _named(files: Mapping[str, Path]) -> Iterator[tuple[str, str]]:
    """Yield the names and places of the kernels of files with a name."""
    from irlens.compiler.sources.description import kernel_names

    for name, path in sorted(files.items()):
        yield from kernel_names(name, path)


def _python_files(folder: Path) -> Iterator[Path]:
    """Yield the Python files in and below a folder, level by level; links are not followed."""
    waiting = deque([(folder, 0)])
    for _ in range(_MOST_FOLDERS):
        if not waiting:
            return
        directory, depth = waiting.popleft()
        try:
            with os.scandir(directory) as scanned:
                children = sorted(scanned, key=lambda child: child.name)
        except OSError:
            continue
        if any(child.name == "pyvenv.cfg" for child in children):
            continue
        below = []
        for child in children:
            if child.name.startswith("."):
                continue
            if child.name.endswith(".py") and child.is_file():
                yield Path(child.path)
            elif child.name not in _FOREIGN and child.is_dir(follow_symlinks=False):
                below.append((Path(child.path), depth + 1))
        waiting += below if depth < _MAX_DEPTH else ()


def _newest_first() -> list[tuple[Path, Listing]]:
    """Return the entries of irlens's store."""
    found = []
    with suppress(ArtifactError):  # nothing has been compiled yet
        for each in find_entries(store.captures()):
            if not isinstance(each, Broken):
                with suppress(OSError):  # deleted meanwhile
                    found.append((each[0].stat().st_mtime, each))
    found.sort(key=lambda each: each[0], reverse=True)
    return [each for _, each in found]
