"""The user's keymap: a file that assigns keys to bindings by their ids."""

import importlib
import pkgutil
import string
from collections.abc import Iterator
from pathlib import Path

import platformdirs
from textual.app import App
from textual.binding import Binding
from textual.dom import DOMNode
from textual.keys import KEY_NAME_REPLACEMENTS, KEY_TO_UNICODE_NAME, Keys
from textual.screen import ModalScreen, Screen
from textual.widget import Widget
from textual.widgets import Input

from irlens.model.errors import IrlensError, UnknownNameError

#: Keys by binding id; several keys are separated by commas.
Keymap = dict[str, str]

#: Keys with names of their own: "slash", "question_mark".
_NAMED = frozenset({"space", "comma", *KEY_NAME_REPLACEMENTS.values(), *KEY_TO_UNICODE_NAME})
_MODIFIERS = frozenset({"ctrl", "shift", "alt", "super", "hyper", "meta"})

_HINT = 'write one line per binding, such as  quit = "ctrl+q, q"'


def default_path() -> Path | None:
    """Return the path of ``keys.toml`` in the user's configuration directory, if there is one."""
    try:
        return platformdirs.user_config_path("irlens") / "keys.toml"
    except RuntimeError:  # no home directory
        return None


def read(path: Path | None) -> Keymap:
    """Return the keymap in a file; empty if there is no file.

    Raises:
        IrlensError: The file cannot be read, names an unknown binding or key, or assigns a key
            twice.
    """
    if path is None:
        return {}
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise IrlensError(f"cannot read {path}: {error.strerror}") from error
    import tomllib

    try:
        parsed = tomllib.loads(content.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise IrlensError(f"{path}: {error}", hint=_HINT) from error
    if not parsed:
        return {}
    known = {binding.id for binding in bindings() if binding.id}
    for name, keys in _flatten(parsed):
        if name not in known:
            raise _unknown(path, name, known)
        if not isinstance(keys, str) or not all(map(_is_key, keys.split(","))):
            raise IrlensError(f"{path}: {name} = {keys!r} is not a key", hint=_HINT)
    keymap = {name: str(keys) for name, keys in _flatten(parsed)}
    _check_conflicts(path, keymap)
    return keymap


def bindings() -> Iterator[Binding]:
    """Yield every binding of the app, its screens and its widgets."""
    for each in _classes():
        yield from _own(each)


def lines() -> Iterator[str]:
    """Yield a line of the file for every binding, with its description as a comment."""
    known = {binding.id: binding for binding in bindings() if binding.id}
    for name, binding in sorted(known.items()):
        # In quotes: browser.sort is an id, and a prefix of other ids as well.
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


def _scopes() -> Iterator[list[Binding]]:
    """Yield the bindings that are active together: on a screen, and in each widget of one.

    A focused widget's bindings shadow the screen's. A dialog hides the screen below it, and an
    input takes keys as text.
    """
    classes = list(_classes())
    global_bindings = [
        each for node in classes if issubclass(node, App) for each in _bindings_of(node)
    ]
    for node in classes:
        if not issubclass(node, Screen):
            yield _bindings_of(node)
            continue
        shared = [] if issubclass(node, ModalScreen) else global_bindings
        on_screen = [*_bindings_of(node), *shared]
        yield on_screen
        for widget in _widgets(node):
            yield [*_bindings_of(widget), *on_screen]


def _bindings_of(node: type) -> list[Binding]:
    """Return the bindings of a class, inherited ones of this package included."""
    return [each for part in node.__mro__ for each in _own(part)]


def _widgets(screen: type[DOMNode]) -> list[type[DOMNode]]:
    """Return the widgets that the modules of a screen import, directly or indirectly."""
    modules = {each.__module__ for each in screen.__mro__}
    known = [
        each
        for each in _classes()
        if issubclass(each, Widget) and not issubclass(each, Screen | Input)
    ]
    widgets: dict[type[DOMNode], None] = {}
    while modules:
        names = vars(importlib.import_module(modules.pop())).values()
        new = [each for each in known if each in names and each not in widgets]
        widgets.update(dict.fromkeys(new))
        modules.update(each.__module__ for each in new)
    return list(widgets)


def _check_conflicts(path: Path, keymap: Keymap) -> None:
    """Raise ``IrlensError`` if a key is assigned to two bindings that are active together."""
    for scope in _scopes():
        assigned = {
            (key, binding.id)
            for binding in scope
            for key in set(_keys(keymap.get(binding.id or "", ""))) - set(_keys(binding.key))
        }
        owners: dict[str, str] = {}
        for binding in scope:
            name = binding.id or binding.action
            for key in _keys(keymap.get(name, binding.key)):
                owner = owners.setdefault(key, name)
                if owner != name and not assigned.isdisjoint({(key, owner), (key, name)}):
                    raise IrlensError(
                        f"{path}: {key} is assigned to both {owner} and {name}",
                        hint="assign another key to one of them",
                    )


def _keys(text: str) -> list[str]:
    """Split a list of keys; a sign is replaced with Textual's name for it."""
    return [each.key for each in Binding.make_bindings([Binding(text, "")])] if text else []


def _flatten(table: dict[str, object], prefix: str = "") -> Iterator[tuple[str, object]]:
    """Yield dotted names, written as ``view.back`` or in a table ``[view]``."""
    for name, value in table.items():
        if isinstance(value, dict):
            yield from _flatten(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def _is_key(text: str) -> bool:
    """Whether a text is a key: one character or a terminal's name for a key, with modifiers."""
    *modifiers, name = text.strip().split("+")
    signs = _keys(",".join(set(string.punctuation) - {","}))  # "colon" for ":"
    known = len(name) == 1 or name in {*_NAMED, *signs, *(key.value for key in Keys)}
    return known and _MODIFIERS.issuperset(modifiers)


def _unknown(path: Path, name: str, known: set[str]) -> IrlensError:
    error = UnknownNameError("binding", name, known)
    is_near = (error.hint or "").startswith("did you mean")
    hint = error.hint if is_near else "irlens tui --keys lists all bindings"
    return IrlensError(f"{path}: {error.message}", hint=hint)
