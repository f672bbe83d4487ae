"""Other keys: a file of the user's that gives bindings, by their names, keys of their choice."""

import importlib
import pkgutil
import tomllib
from collections.abc import Iterator
from pathlib import Path

from textual.binding import Binding
from textual.dom import DOMNode
from textual.keys import Keys

from irlens.model.errors import IrlensError, UnknownNameError

#: Keys by the names of bindings; several keys are separated by commas.
Keymap = dict[str, str]

_HINT = 'write a line for each binding, such as  quit = "ctrl+q, q"'


def default_path() -> Path:
    """Return where the file is looked for: ``keys.toml`` in the user's configuration."""
    import platformdirs

    return platformdirs.user_config_path("irlens") / "keys.toml"


def read(path: Path) -> Keymap:
    """Return the keys that a file gives; none if there is no file.

    Raises:
        IrlensError: The file cannot be read, or gives a key to something that is no binding.
    """
    try:
        given = tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise IrlensError(f"cannot read {path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise IrlensError(f"{path}: {error}", hint=_HINT) from error
    if not given:
        return {}
    known = set(names())
    for name, keys in _flat(given):
        if name not in known:
            raise _unknown(path, name, known)
        if not isinstance(keys, str) or not all(map(_is_key, keys.split(","))):
            raise IrlensError(f"{path}: {name} = {keys!r} names no key", hint=_HINT)
    return {name: str(keys) for name, keys in _flat(given)}


def names() -> Iterator[str]:
    """Yield the name of every binding of this app, those of its screens and widgets included."""
    package = importlib.import_module("irlens.tui")
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        for value in vars(importlib.import_module(module.name)).values():
            if isinstance(value, type) and issubclass(value, DOMNode):
                for binding in vars(value).get("BINDINGS", ()):
                    if isinstance(binding, Binding) and binding.id:
                        yield binding.id


def _flat(table: dict[str, object], prefix: str = "") -> Iterator[tuple[str, object]]:
    """Yield names with dots in them, written as ``view.back`` or in a table ``[view]``."""
    for name, value in table.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def _is_key(text: str) -> bool:
    """Whether it may be a key: one character, or modifiers and one of the terminal's names."""
    name = text.strip().rpartition("+")[2]
    return len(name) == 1 or name in {key.value for key in Keys} or name.replace("_", "").isalpha()


def _unknown(path: Path, name: str, known: set[str]) -> IrlensError:
    error = UnknownNameError("binding", name, known)
    return IrlensError(f"{path}: {error.message}", hint=error.hint)
