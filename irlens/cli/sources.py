"""Where the Python files are that annotations name: captures know their base names alone."""

import os
from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import islice
from pathlib import Path

from irlens.model.capture import MANIFEST_NAME

#: Directories that hold other people's code, or none.
_PRUNED = frozenset({"__pycache__", "build", "dist", "node_modules", "site-packages", "venv"})
#: A mistaken ``--source-root /`` must not walk the whole disk.
_MOST_DIRECTORIES = 20_000


class Sources:
    """Finds files below a directory, which is walked when the first is asked for.

    Args:
        root: The directory.
    """

    def __init__(self, root: Path) -> None:
        self._root = root

    def locate(self, name: str, lines: Mapping[int, str]) -> str | None:
        """Return where a Python file is, relative to the root and with slashes.

        Args:
            name: Its base name.
            lines: What is known of it: code by line, without indentation. A file that says
                something else on one of them is another one, or was edited since: a remark on
                its lines would stand at the wrong place.

        Returns:
            ``None`` if there is no such file, or more than one.
        """
        found = [path for path in self._files.get(name, ()) if self._agrees(path, lines)]
        return found[0].relative_to(self._root).as_posix() if len(found) == 1 else None

    @cached_property
    def _files(self) -> dict[str, list[Path]]:
        found: dict[str, list[Path]] = {}
        for path in self._walk():
            found.setdefault(path.name, []).append(path)
        return found

    def _walk(self) -> Iterator[Path]:
        for folder, folders, files in islice(os.walk(self._root), _MOST_DIRECTORIES):
            if MANIFEST_NAME in files:  # a capture keeps a copy of its source
                folders.clear()
                continue
            folders[:] = sorted(f for f in folders if f not in _PRUNED and not f.startswith("."))
            yield from (Path(folder, name) for name in files if name.endswith(".py"))

    def _agrees(self, path: Path, lines: Mapping[int, str]) -> bool:
        try:
            there = path.read_text("utf-8", "replace").splitlines()
        except OSError:
            return False
        return all(
            0 < number <= len(there) and there[number - 1].strip() == code
            for number, code in lines.items()
        )
