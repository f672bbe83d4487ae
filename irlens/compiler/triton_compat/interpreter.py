"""Triton's interpreter: what it runs, and the bytes that it loads and stores."""

import ast
import inspect
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

import numpy as np
import triton.language as tl
from triton.runtime import interpreter
from triton.runtime.autotuner import Autotuner
from triton.tools.tensor_descriptor import TensorDescriptor

from irlens.compiler.calls.argument_values import Descriptor
from irlens.compiler.calls.binding import Parameter
from irlens.compiler.calls.dtypes import DTYPE_PREFIX
from irlens.compiler.triton_compat.jit import Values
from irlens.model.config import ConstexprValue
from irlens.model.errors import CaptureError

#: Gets "load", "store", "atomic_rmw" or "atomic_cas", the lanes' addresses, the mask, and the bytes
#: of a lane.
Observer: TypeAlias = Callable[[str, Any, Any, int], None]


class Interpreted:
    """A kernel that runs with NumPy, in one configuration of its autotuners.

    Attributes:
        config: What the first configuration of each autotuner sets.

    Raises:
        CaptureError: The module has no jit function of that name.
    """

    def __init__(self, namespace: dict[str, Any], name: str) -> None:
        self._runnable = namespace.get(name)
        self.config: Values = {}
        while isinstance(self._runnable, Autotuner):
            self.config |= self._runnable.configs[0].all_kwargs() if self._runnable.configs else {}
            self._runnable = self._runnable.fn
        function: Any = self._runnable
        while hasattr(function, "fn"):  # heuristics, then the interpreted function
            function = function.fn
        if function is self._runnable or not inspect.isfunction(function):
            raise CaptureError(f"Triton's interpreter cannot run {name}")
        self.parameters = [
            Parameter(each.name, _is_constexpr(each.annotation), each.default is each.empty)
            for each in inspect.signature(function).parameters.values()
        ]

    def launch(
        self,
        grid: tuple[int, int, int],
        args: Values,
        arguments: Values,
        settings: dict[str, ConstexprValue],
    ) -> tuple[int, int]:
        """Run every program, and return the bytes that they read and write.

        An atomic operation reads and writes.

        Args:
            settings: Constexprs; options have no effect here.
        """
        constexprs = {p.name for p in self.parameters if p.constexpr}
        chosen = {n: _to_triton(v) for n, v in settings.items() if n in constexprs}
        values = {
            name: TensorDescriptor.from_tensor(value, list(described.block))
            if isinstance(described := arguments.get(name), Descriptor)
            else value
            for name, value in args.items()
        }
        moved = Counter[str]()

        def observe(function: str, _addresses: Any, mask: Any, bytes_per_lane: int) -> None:
            moved[function] += int(mask.sum()) * bytes_per_lane

        with observed_accesses(observe):
            self._runnable[grid](**values, **chosen)  # type: ignore[index]  # Triton is not typed
        atomic = moved["atomic_rmw"] + moved["atomic_cas"]
        return moved["load"] + atomic, moved["store"] + atomic


@contextmanager
def observed_accesses(observe: Observer) -> Iterator[None]:
    """Call ``observe`` before every access to memory that the interpreter does.

    Descriptors, atomic operations, and accesses with and without a mask all end in four functions
    that take an address for each lane.
    """
    functions: Any = interpreter._interpreter  # private: compiled, and no API
    originals = {name: getattr(functions, name) for name in _LANES}

    def observing(name: str) -> Callable[..., Any]:
        read_lanes = _LANES[name]

        def access(*args: Any) -> Any:
            observe(name, *read_lanes(*args))
            return originals[name](*args)

        return access

    try:
        for name in originals:
            setattr(functions, name, observing(name))
        yield
    finally:
        for name, original in originals.items():
            setattr(functions, name, original)


#: For each function that accesses memory: addresses, mask and bytes of a lane from its arguments.
_LANES: dict[str, Callable[..., tuple[Any, Any, int]]] = {
    "load": lambda addresses, mask, _other, dtype: (addresses, mask, dtype.itemsize),
    "store": lambda addresses, value, mask: (addresses, mask, value.itemsize),
    "atomic_rmw": lambda _kind, addresses, value, mask, _order: (addresses, mask, value.itemsize),
    "atomic_cas": lambda addresses, _expected, value, _order: (
        addresses,
        np.ones(addresses.shape, dtype=bool),
        value.itemsize,
    ),
}


def _is_constexpr(annotation: object) -> bool:
    """Whether a parameter's annotation is ``tl.constexpr``, which may be text."""
    if isinstance(annotation, str):
        return ast.unparse(ast.parse(annotation, mode="eval")).endswith("constexpr")
    return annotation is tl.constexpr


def _to_triton(value: ConstexprValue) -> object:
    if isinstance(value, str) and value.startswith(DTYPE_PREFIX):
        return getattr(tl, value.removeprefix(DTYPE_PREFIX))
    return value
