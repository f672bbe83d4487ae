"""The folders that a server may read: what a tool is asked for must be in one of them."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from irlens.artifacts import store
from irlens.compiler.sources.lookup import known_files, samples_folder
from irlens.model import files
from irlens.model.errors import IrlensError

#: Options of the compiler that name files.
_FILE_OPTIONS = frozenset({"ir_override", "extern_libs"})


class Roots:
    """The folders that may be read, and irlens's own: its store and its samples."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self._folders = tuple(folder.expanduser().absolute() for folder in folders)
        own = (store.captures(), samples_folder())
        self._all = (*self._folders, *(folder.absolute() for folder in own))

    def check_kernel(self, kernel: str) -> None:
        """Raise ``IrlensError`` unless KERNEL is a name, or leads to a file in one of the folders.

        Modules of installed packages are named without a path, as the samples are.
        """
        if kernel == "-":
            raise IrlensError("stdin carries the protocol", hint="name a file")
        name, _ = files.numbered(Path(kernel))
        stem, colon, _ = str(name).rpartition(":")
        named = Path(stem if colon and files.kind(name) is None else name).expanduser()
        is_path = "/" in kernel or named.suffix == ".py" or files.kind(named) is not None
        if is_path and kernel not in known_files():
            self.check_path(named)

    def check_path(self, path: Path) -> None:
        """Raise ``IrlensError`` unless a path is in one of the folders, and no link."""
        absolute = Path(*_normal(path.expanduser().absolute()))
        for folder in self._all:
            below = next(
                (f for f in (folder, folder.resolve()) if absolute.is_relative_to(f)), None
            )
            if below is None:
                continue
            try:
                resolved = absolute.resolve()
            except (OSError, RuntimeError, ValueError) as error:
                raise IrlensError(f"cannot read {path}: {error}") from error
            if resolved == folder.resolve() / absolute.relative_to(below):
                return
            raise IrlensError(
                f"{path} is a link, or is below one, and this server follows none",
                hint=f"name what it leads to, if that is in {self._names}",
            )
        raise IrlensError(
            f"{path} is outside of the folders that this server reads: {self._names}",
            hint="whoever starts the server can add folders: irlens mcp DIR...",
        )

    def check_values(self, values: Mapping[str, object]) -> None:
        """Raise ``IrlensError`` for a setting or an argument that names a file elsewhere."""
        for name, value in values.items():
            for each in value if isinstance(value, list) else [value]:
                text = str(each).strip()
                if name in _FILE_OPTIONS:
                    self.check_path(Path(text))
                elif text.startswith("@"):
                    self.check_path(Path(text.removeprefix("@")))

    @property
    def _names(self) -> str:
        return ", ".join(map(str, self._folders)) or "none"


def _normal(path: Path) -> list[str]:
    """Return the parts of an absolute path without "..", which a link would change."""
    parts: list[str] = []
    for part in path.parts:
        if part == "..":
            parts[1:] = parts[1:-1]
        else:
            parts.append(part)
    return parts
