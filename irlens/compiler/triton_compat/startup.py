"""Look up what Triton needs natively, without what compiling does not need."""

import sys
import threading
from functools import lru_cache
from importlib.abc import MetaPathFinder

from triton.runtime import jit


@lru_cache(maxsize=1)
def prepare_specialization() -> None:
    """Let Triton look up the classes of arguments without importing PyTorch.

    On the first call of a kernel Triton imports PyTorch for ``torch.Tensor``, which takes longer
    than to compile. It needs the class only to recognize tensors faster than by ``data_ptr``, so
    that a later launch with real tensors works as well.
    """
    if "torch" in sys.modules:
        return
    absent = _NoTorch()
    sys.meta_path.insert(0, absent)
    try:
        jit.mangle_type(0)
    finally:
        sys.meta_path.remove(absent)


class _NoTorch(MetaPathFinder):
    """Finds no PyTorch, for the thread that made it."""

    def __init__(self) -> None:
        self._thread = threading.get_ident()

    def find_spec(self, name: str, path: object, target: object = None) -> None:
        """Raise ``ModuleNotFoundError`` for PyTorch; leave others to the next finder."""
        if name == "torch" and threading.get_ident() == self._thread:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
