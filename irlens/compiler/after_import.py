"""Changing modules that a program may import, without importing them for one that does not."""

import sys
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType

#: Receives a module that has just been imported.
Change = Callable[[ModuleType], None]


def after_import(name: str, change: Change) -> None:
    """Change a module as soon as it has been imported, or now if it has been.

    Args:
        name: Its full name.
        change: Is called once.
    """
    if name in sys.modules:
        change(sys.modules[name])
        return
    _WAITING.changes.setdefault(name, []).append(change)
    if _WAITING not in sys.meta_path:
        sys.meta_path.insert(0, _WAITING)


class _Waiting(MetaPathFinder):
    """Waits for modules to be imported."""

    def __init__(self) -> None:
        self.changes: dict[str, list[Change]] = {}

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find what the others find, to be changed when it has been loaded."""
        changes = self.changes.pop(name, None)
        if changes is None:
            return None
        spec = find_spec(name)  # of the others: this one does not wait for it any more
        if spec is not None and spec.loader is not None:
            spec.loader = _Changing(spec.loader, changes)
        return spec


class _Changing(Loader):
    """Loads a module, and changes it."""

    def __init__(self, loader: Loader, changes: Sequence[Change]) -> None:
        self._loader = loader
        self._changes = changes

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        # What looks for its source, as `inspect` does, asks its own loader.
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        for change in self._changes:
            change(module)


_WAITING = _Waiting()
