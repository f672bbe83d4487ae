"""Post-import hooks: patch a module if and when the program imports it."""

import sys
from collections.abc import Callable, Sequence
from functools import partial
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any, SupportsIndex

#: Receives a module that has just been imported.
Hook = Callable[[ModuleType], None]


def after_import(name: str, hook: Hook) -> None:
    """Call a hook once: after the module is imported, or now if it already is.

    A hook that is already pending for the module is not added again.
    """
    if name in sys.modules:
        hook(sys.modules[name])
        return
    hooks = _FINDER.hooks.setdefault(name, [])
    if hook not in hooks:
        hooks.append(hook)
    if _FINDER not in sys.meta_path:
        sys.meta_path = _HooksFirst([_FINDER, *sys.meta_path])


def postpone_dynamo() -> None:
    """Let PyTorch, which is imported later, import TorchDynamo when a program needs it.

    Functions that TorchDynamo shall not compile import it on their first call, to tell it so:
    ``torch.ones`` is one on a fake GPU. That takes as long as importing PyTorch. As long as it is
    not imported, it compiles nothing.
    """
    after_import("torch._compile", _mark_undisturbed)


def _mark_undisturbed(module: Any) -> None:
    """Replace the decorator of these functions by one that takes them as told already."""
    decorate: Callable[..., Any] = module._disable_dynamo
    untold: list[Any] = []

    def postponed(function: Any = None, recursive: bool = True) -> Any:
        if function is None:
            return partial(postponed, recursive=recursive)
        if "torch._dynamo" not in sys.modules:
            function.__dynamo_disable = function
            untold.append(function)
        return decorate(function, recursive)

    def tell(_: ModuleType) -> None:
        for function in untold:
            vars(function).pop("__dynamo_disable", None)

    module._disable_dynamo = postponed
    after_import("torch._dynamo", tell)


class _HooksFirst(list[Any]):
    """Finders, of which ``_FINDER`` stays the first.

    With ``python_files = *.py``, pytest's finder takes every module, PyTorch included.
    """

    def insert(self, index: SupportsIndex, finder: Any) -> None:
        """Insert a finder, at the second place for the first."""
        super().insert(index.__index__() or 1, finder)


class _HookFinder(MetaPathFinder):
    """Finds the modules that have pending hooks."""

    def __init__(self) -> None:
        self.hooks: dict[str, list[Hook]] = {}
        self._searching: set[str] = set()

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of the other finders, with a loader that calls the hooks.

        Programs also ask for a spec to see whether a module is installed, and import it later.
        """
        if name not in self.hooks or name in self._searching:
            return None
        self._searching.add(name)
        try:
            spec = find_spec(name)  # by the other finders
        finally:
            self._searching.discard(name)
        if spec is not None and spec.loader is not None:
            spec.loader = _HookLoader(spec.loader, self.hooks)
        return spec


class _HookLoader(Loader):
    """Loads a module, then calls its hooks."""

    def __init__(self, loader: Loader, hooks: dict[str, list[Hook]]) -> None:
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
        for hook in self._hooks.pop(module.__name__, ()):
            hook(module)


_FINDER = _HookFinder()
