"""Prepares how Triton looks up the classes of arguments, without importing PyTorch or Gluon."""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from importlib.abc import MetaPathFinder
from types import ModuleType
from typing import Any

from triton.runtime import jit

from irlens.compiler.import_hooks import after_import

_GLUON = "triton.experimental.gluon"
#: Names that Triton up to 3.9 imports from Gluon's modules: classes of arguments that its binder
#: distinguishes, and functions that its code generator evaluates at compile time.
_TAKEN = {
    "language": ("static_assert", "static_print"),
    "nvidia.hopper": ("TensorDescriptor", "TensorDescriptorIm2Col"),
    "amd.gfx1250": ("TensorDescriptor",),
    "amd.cdna5": ("TensorDescriptor",),
}


@lru_cache(maxsize=1)
def prepare_specialization() -> None:
    """Let Triton look up the classes of arguments without importing PyTorch or Gluon.

    On the first call of a kernel Triton imports PyTorch for ``torch.Tensor``, which takes longer
    than to compile. It needs the class only to recognize tensors faster than by ``data_ptr``, so
    that a later launch with real tensors works as well. It also imports Gluon, which takes a third
    as long as to compile; a kernel in Gluon imports it itself.
    """
    with _torch_later():
        try:
            with _gluon_later():
                _look_up()
        except (AttributeError, ImportError):  # a later Triton takes more of Gluon
            _look_up()


def _look_up() -> None:
    import triton.compiler.code_generator  # noqa: F401  # imports Gluon, too

    jit.mangle_type(0)


@contextmanager
def _torch_later() -> Iterator[None]:
    """Hide PyTorch from this thread in a context, unless it is imported already."""
    if "torch" in sys.modules:
        yield
        return
    absent = _NoTorch()
    sys.meta_path.insert(0, absent)
    try:
        yield
    finally:
        sys.meta_path.remove(absent)


class _NoTorch(MetaPathFinder):
    """Finds no PyTorch, for the thread that made it."""

    def __init__(self) -> None:
        self._thread = threading.get_ident()

    def find_spec(self, name: str, path: object, target: object = None) -> None:
        """Raise ``ModuleNotFoundError`` for PyTorch; return ``None`` for any other module."""
        if name == "torch" and threading.get_ident() == self._thread:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


class _Later(type):
    """A class that stands for a class or function of a module that may be imported later."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, getattr(sys.modules.get(cls.__module__), cls.__name__, ()))


@contextmanager
def _gluon_later() -> Iterator[None]:
    """Let stand-ins take the place of Gluon in a context, unless it is imported already."""
    if _GLUON in sys.modules:
        yield
        return
    modules = {_GLUON: ModuleType(_GLUON)}
    for place, names in _TAKEN.items():
        name = f"{_GLUON}.{place}"
        modules[name] = ModuleType(name)
        vars(modules[name]).update({n: _Later(n, (), {"__module__": name}) for n in names})
    vars(modules[_GLUON])["language"] = modules[f"{_GLUON}.language"]
    sys.modules.update(modules)
    try:
        yield
    finally:
        for name in modules:
            del sys.modules[name]
    after_import(f"{_GLUON}.language", _complete_code_generator)


def _complete_code_generator(language: Any) -> None:
    """Let the code generator know Gluon's own functions, in place of their stand-ins."""
    from triton.compiler.code_generator import CodeGenerator

    functions = CodeGenerator.statically_implemented_functions
    for known in [each for each in functions if isinstance(each, _Later)]:
        functions[getattr(language, known.__name__)] = functions.pop(known)
