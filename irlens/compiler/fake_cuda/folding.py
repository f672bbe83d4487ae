"""What TorchInductor computes of a graph for itself, on a GPU that is not there.

It runs what can only have one value in all elements, reads that value, and writes it into kernels:
``x + torch.zeros(n)`` is then ``x``. On the GPU it runs that there, with tensors of one element.
Here the same is run on the CPU, where there are values.
"""

from functools import wraps
from types import ModuleType
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map

from irlens.compiler.fake_cuda.constants import values_of

_CPU = torch.device("cpu")


def fold_on_cpu(passes: ModuleType) -> None:
    """Let values be computed on the CPU that are to be put into the graph.

    Args:
        passes: ``torch._inductor.fx_passes.joint_graph``.
    """
    folder = passes.UniformValueConstantFolder
    folder.__init__ = _on_cpu(folder.__init__)
    folder.run = _on_cpu(folder.run)


def _on_cpu(method: Any) -> Any:
    @wraps(method)
    def computed(*args: Any, **kwargs: Any) -> Any:
        # What pretends is a function's mode: it would take "cuda" for "meta" before this one does.
        with torch._C.DisableTorchFunction(), _OnCpu():
            return method(*args, **kwargs)

    return computed


class _OnCpu(TorchDispatchMode):  # type: ignore[misc]  # mypy does not follow torch
    """Computes on the CPU what is meant for "cuda"."""

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        args, given = tree_map(_there, (args, kwargs or {}))
        if given.get("pin_memory"):  # needs the GPU's runtime
            given["pin_memory"] = False
        return func(*args, **given)


def _there(value: Any) -> Any:
    """Return the CPU for "cuda", a constant's values for the constant, and all else as it is."""
    if isinstance(value, torch.Tensor) and value.is_meta:
        values = values_of(value)
        return value if values is None else values
    return _CPU if isinstance(value, torch.device) and value.type == "cuda" else value
