"""Post-import hooks: patch a module if and when the program imports it."""

import sys
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType

#: Receives a module that has just been imported.
Hook = Callable[[ModuleType], None]


def after_import(name: str, hook: Hook) -> None:
    """Call a hook once: after the module is imported, or now if it already is."""
    if name in sys.modules:
        hook(sys.modules[name])
        return
    _FINDER.hooks.setdefault(name, []).append(hook)
    if _FINDER not in sys.meta_path:
        sys.meta_path.insert(0, _FINDER)


class _HookFinder(MetaPathFinder):
    """Finds the modules that have pending hooks."""

    def __init__(self) -> None:
        self.hooks: dict[str, list[Hook]] = {}

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of the other finders, with a loader that calls the hooks."""
        hooks = self.hooks.pop(name, None)
        if hooks is None:
            return None
        spec = find_spec(name)  # by the other finders: the hooks are no longer pending here
        if spec is not None and spec.loader is not None:
            spec.loader = _HookLoader(spec.loader, hooks)
        return spec


class _HookLoader(Loader):
    """Loads a module, then calls its hooks."""

    def __init__(self, loader: Loader, hooks: Sequence[Hook]) -> None:
        self._loader = loader
        self._hooks = hooks

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        # `inspect` and others ask the module's own loader for its source.
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        for hook in self._hooks:
            hook(module)


_FINDER = _HookFinder()
