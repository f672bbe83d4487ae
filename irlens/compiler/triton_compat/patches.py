"""Undo what a kernel's file replaces in Triton and PyTorch, for the files after it."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

#: Modules of PyTorch whose functions are restored; of Triton all are, with their classes.
_OF_TORCH = ("torch", "torch.cuda", "torch.nn.functional")


@contextmanager
def undone() -> Iterator[None]:
    """Restore each function and class of Triton and PyTorch that is replaced, added or removed."""
    before = {owner: dict(vars(owner)) for owner in _owners()}
    try:
        yield
    finally:
        for owner, known in before.items():
            for name, value in {**vars(owner), **known}.items():  # without submodules
                if callable(value) and name not in known:
                    delattr(owner, name)
                elif callable(value) and vars(owner).get(name) is not value:
                    setattr(owner, name, value)


def _owners() -> Iterator[Any]:
    """Yield the modules, and the classes that are defined in those of Triton."""
    for name, module in sys.modules.copy().items():
        if module is not None and (name in _OF_TORCH or name.partition(".")[0] == "triton"):
            yield module
            classes = (each for each in vars(module).values() if isinstance(each, type))
            yield from (each for each in classes if each.__module__ == name != "torch")
