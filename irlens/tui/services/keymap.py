"""Other keys: a file of the user's that gives bindings, by their names, keys of their choice."""

import importlib
import pkgutil
import string
from collections.abc import Iterator
from pathlib import Path

from textual.app import App
from textual.binding import Binding
from textual.dom import DOMNode
from textual.keys import KEY_NAME_REPLACEMENTS, KEY_TO_UNICODE_NAME, Keys
from textual.screen import ModalScreen, Screen
from textual.widget import Widget
from textual.widgets import Input

from irlens.model.errors import IrlensError, UnknownNameError

#: Keys by the names of bindings; several keys are separated by commas.
Keymap = dict[str, str]

#: Keys that have a name because they cannot be written: "slash", "question_mark".
_NAMED = frozenset({"space", "comma", *KEY_NAME_REPLACEMENTS.values(), *KEY_TO_UNICODE_NAME})
_MODIFIERS = frozenset({"ctrl", "shift", "alt", "super", "hyper", "meta"})

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
        content = path.read_bytes()
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise IrlensError(f"cannot read {path}: {error.strerror}") from error
    import tomllib

    try:
        given = tomllib.loads(content.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise IrlensError(f"{path}: {error}", hint=_HINT) from error
    if not given:
        return {}
    known = {binding.id for binding in bindings() if binding.id}
    for name, keys in _flat(given):
        if name not in known:
            raise _unknown(path, name, known)
        if not isinstance(keys, str) or not all(map(_is_key, keys.split(","))):
            raise IrlensError(f"{path}: {name} = {keys!r} names no key", hint=_HINT)
    keymap = {name: str(keys) for name, keys in _flat(given)}
    _check_taken(path, keymap)
    return keymap


def bindings() -> Iterator[Binding]:
    """Yield every binding of this app, those of its screens and widgets included."""
    for each in _classes():
        yield from _own(each)


def lines() -> Iterator[str]:
    """Yield every binding with its keys as a line of the file, and what it does."""
    known = {binding.id: binding for binding in bindings() if binding.id}
    for name, binding in sorted(known.items()):
        # In quotes, since browser.sort is a name and has names below it, too.
        yield f'"{name}" = "{binding.key}"  # {binding.description}'


def _classes() -> Iterator[type[DOMNode]]:
    package = importlib.import_module("irlens.tui")
    seen: set[type] = set()
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        for value in vars(importlib.import_module(module.name)).values():
            if isinstance(value, type) and issubclass(value, DOMNode) and value not in seen:
                seen.add(value)
                if value.__module__.startswith(package.__name__):
                    yield value


def _own(node: type) -> list[Binding]:
    own = vars(node).get("BINDINGS", ())
    return [binding for binding in own if isinstance(binding, Binding)]


def _together() -> Iterator[list[Binding]]:
    """Yield the bindings that work in the same place: in a screen, and in each part of one.

    While a part is in use its own go before the screen's, so that one of these would be out of
    reach. A dialogue hides what is below it, and to an input a key is text.
    """
    classes = list(_classes())
    everywhere = [each for node in classes if issubclass(node, App) for each in _of(node)]
    for node in classes:
        if not issubclass(node, Screen):
            yield _of(node)
            continue
        found = [*_of(node), *([] if issubclass(node, ModalScreen) else everywhere)]
        yield found
        for part in _parts(node):
            yield [*_of(part), *found]


def _of(node: type) -> list[Binding]:
    """Return a class's bindings, those that it inherits in this package included."""
    return [each for part in node.__mro__ for each in _own(part)]


def _parts(screen: type[DOMNode]) -> list[type[DOMNode]]:
    """Return the parts of a screen that have keys: of the widgets that its modules name."""
    modules = {each.__module__ for each in screen.__mro__}
    known = [
        each
        for each in _classes()
        if issubclass(each, Widget) and not issubclass(each, Screen | Input)
    ]
    found: dict[type[DOMNode], None] = {}
    while modules:
        named = vars(importlib.import_module(modules.pop())).values()
        new = [each for each in known if each in named and each not in found]
        found.update(dict.fromkeys(new))
        modules.update(each.__module__ for each in new)
    return list(found)


def _check_taken(path: Path, keymap: Keymap) -> None:
    """Raise ``IrlensError`` if a key is given to one thing that is another's in the same place."""
    for together in _together():
        given = {
            (key, binding.id)
            for binding in together
            for key in set(_keys(keymap.get(binding.id or "", ""))) - set(_keys(binding.key))
        }
        owners: dict[str, str] = {}
        for binding in together:
            name = binding.id or binding.action
            for key in _keys(keymap.get(name, binding.key)):
                owner = owners.setdefault(key, name)
                if owner != name and not given.isdisjoint({(key, owner), (key, name)}):
                    raise IrlensError(
                        f"{path}: {key} is the key of {owner} and of {name}",
                        hint="give one of them another key",
                    )


def _keys(text: str) -> list[str]:
    """Split a list of keys; a sign goes by the name that Textual has for it."""
    return [each.key for each in Binding.make_bindings([Binding(text, "")])] if text else []


def _flat(table: dict[str, object], prefix: str = "") -> Iterator[tuple[str, object]]:
    """Yield names with dots in them, written as ``view.back`` or in a table ``[view]``."""
    for name, value in table.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def _is_key(text: str) -> bool:
    """Whether it may be a key: one character, or modifiers and one of the terminal's names."""
    *modifiers, name = text.strip().split("+")
    signs = _keys(",".join(set(string.punctuation) - {","}))  # "colon" for ":"
    known = len(name) == 1 or name in {*_NAMED, *signs, *(key.value for key in Keys)}
    return known and _MODIFIERS.issuperset(modifiers)


def _unknown(path: Path, name: str, known: set[str]) -> IrlensError:
    error = UnknownNameError("binding", name, known)
    is_near = (error.hint or "").startswith("did you mean")
    hint = error.hint if is_near else "irlens tui --keys lists them"
    return IrlensError(f"{path}: {error.message}", hint=hint)
