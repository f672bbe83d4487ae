"""Triton's state for the length of a compilation: its settings, and what a kernel's file replaces.

Its settings are knobs, or its environment up to 3.3.
"""

import operator
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from irlens.artifacts.processes import with_variables

#: Triton up to 3.3 reads these when it compiles. An empty one counts as absent.
_OF_ENVIRONMENT = (
    "TRITON_CACHE_MANAGER",
    "TRITON_INTERPRET",
    "TRITON_KERNEL_DUMP",
    "TRITON_KERNEL_OVERRIDE",
    "TRITON_OVERRIDE_ARCH",
    "TRITON_REMOTE_CACHE_BACKEND",
    "TRITON_STORE_BINARY_ONLY",
)
_CACHE = "TRITON_CACHE_DIR"
#: Modules of PyTorch whose functions are restored; of Triton all are, with their classes.
_OF_TORCH = ("torch", "torch.cuda", "torch.nn.functional")
_HAS_KNOBS = find_spec("triton.knobs") is not None


@contextmanager
def compiling_into(directory: Path) -> Iterator[None]:
    """Make Triton compile into a directory, whatever the user's settings.

    Afterwards, knobs that the user's file has set are as they were.
    """
    if not _HAS_KNOBS:
        with with_variables({_CACHE: str(directory)}, without=_OF_ENVIRONMENT):
            yield
        return
    from triton import knobs

    with ExitStack() as stack:
        for group in vars(knobs).values():
            if isinstance(group, knobs.base_knobs):
                stack.enter_context(group.scope())
        knobs.cache.dir = str(directory)
        knobs.cache.manager_class = _writing_directly(directory)
        knobs.cache.remote_manager_class = None
        knobs.compilation.override = False
        knobs.compilation.dump_ir = False
        knobs.compilation.store_binary_only = False
        knobs.runtime.interpret = False
        knobs.runtime.override_arch = None
        yield


def _writing_directly(directory: Path) -> type:
    """Return a cache manager that writes files of a private directory in place.

    Triton makes a folder for each file and removes it, so that nobody reads a part of the file.
    """
    from triton.runtime.cache import FileCacheManager

    class Manager(FileCacheManager):  # type: ignore[misc]  # Triton has no types
        def put(self, data: object, filename: str, binary: bool = True) -> str:
            path = Path(self.cache_dir, filename)
            if path.parent.parent != directory:  # a kernel's file may set another
                return str(super().put(data, filename, binary))
            path.write_bytes(data if isinstance(data, bytes) else str(data).encode())
            return str(path)

    return Manager


def cache_directory() -> str:
    """Return the directory that Triton compiles into now."""
    if not _HAS_KNOBS:
        return os.environ.get(_CACHE, "")
    from triton import knobs

    return str(knobs.cache.dir)


def version_as_key(directory: Path) -> ExitStack:
    """Put Triton's version into the keys of a private cache instead of a hash of its files.

    The hash separates several Tritons that share a cache; a private cache has only one. Computing
    it takes as long as compiling, because it reads half a gigabyte.

    Returns:
        What undoes it when it is closed.
    """
    import triton
    from triton.compiler import compiler
    from triton.runtime import cache

    def key(triton_key: Callable[[], str]) -> str:
        is_private = cache_directory() == str(directory)  # a kernel's file may set another
        return str(triton.__version__) if is_private else triton_key()

    stack = ExitStack()
    for module in (cache, compiler):  # 3.4 has it in the latter
        if hasattr(module, "triton_key"):
            stack.callback(setattr, module, "triton_key", module.triton_key)
            module.triton_key = partial(key, module.triton_key)
    return stack


def never_interpret() -> None:
    """Make Triton compile in this process, even if ``TRITON_INTERPRET`` is set."""
    if not _HAS_KNOBS:
        os.environ.pop("TRITON_INTERPRET", None)
        return
    from triton import knobs

    knobs.runtime.interpret = False


@contextmanager
def replacements_undone() -> Iterator[None]:
    """Restore each function and class of Triton and PyTorch that is replaced, added or removed."""
    before = {owner: vars(owner).copy() for owner in _owners()}
    try:
        yield
    finally:
        for owner, known in before.items():
            if _is_unchanged(owner, known):
                continue
            for name, value in {**vars(owner), **known}.items():  # without submodules
                if callable(value) and name not in known:
                    delattr(owner, name)
                elif callable(value) and vars(owner).get(name) is not value:
                    setattr(owner, name, value)


def _is_unchanged(owner: Any, known: dict[str, Any]) -> bool:
    """Whether a module or class has the same objects by the same names, in the same order."""
    now = vars(owner)
    return (
        len(now) == len(known)
        and all(map(operator.eq, now, known))
        and all(map(operator.is_, now.values(), known.values()))
    )


def _owners() -> Iterator[Any]:
    """Yield the modules, and the classes that are defined in those of Triton."""
    for name, module in sys.modules.copy().items():
        is_tritons = name == "triton" or name.startswith("triton.")
        if module is not None and (is_tritons or name in _OF_TORCH):
            yield module
            classes = (each for each in vars(module).values() if isinstance(each, type))
            yield from (each for each in classes if each.__module__ == name != "torch")


try:
    from triton.runtime.errors import PTXASError
except ImportError:  # Triton 3.2 raises a RuntimeError

    class PTXASError(Exception):  # type: ignore[no-redef]  # it stands for what is never raised
        """Stands for an exception that this Triton does not raise."""


__all__ = ["PTXASError"]
