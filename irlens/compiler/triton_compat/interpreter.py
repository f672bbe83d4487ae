"""Triton's interpreter: what it runs, and the bytes that it loads and stores."""

import ast
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

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


class Interpreted:
    """A kernel that runs with NumPy, in one configuration of its autotuners.

    Args:
        namespace: The variables of the kernel's module.
        name: The kernel's.

    Attributes:
        config: What the first configuration of each autotuner sets.
        parameters: The function's parameters in order.

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
        """Run every program, and return the bytes that they load and store.

        Args:
            grid: Programs in x, y and z.
            args: Tensors and other run-time arguments.
            arguments: Their descriptions.
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
        with _counted_bytes() as moved:
            self._runnable[grid](**values, **chosen)  # type: ignore[index]  # Triton is not typed
        return moved["create_masked_load"], moved["create_masked_store"]


@contextmanager
def _counted_bytes() -> Iterator[dict[str, int]]:
    """Count the bytes of unmasked lanes that the interpreter loads and stores.

    Loads and stores without a mask, and those of descriptors, end in the masked ones.
    """
    builder = interpreter.InterpreterBuilder
    moved = {"create_masked_load": 0, "create_masked_store": 0}
    # By position: pointers and mask of a load, pointers, value and mask of a store.
    masks = {"create_masked_load": 1, "create_masked_store": 2}
    originals = {name: getattr(builder, name) for name in moved}

    def counting(name: str) -> Callable[..., Any]:
        def access(self: Any, *args: Any, **keywords: Any) -> Any:
            pointers, mask = args[0], args[masks[name]]
            bits = pointers.get_element_ty().primitive_bitwidth
            moved[name] += int(mask.data.sum()) * max(bits // 8, 1)
            return originals[name](self, *args, **keywords)

        return access

    try:
        for name in moved:
            setattr(builder, name, counting(name))
        yield moved
    finally:
        for name, original in originals.items():
            setattr(builder, name, original)


def _is_constexpr(annotation: object) -> bool:
    """Whether a parameter's annotation is ``tl.constexpr``, which may be text."""
    if isinstance(annotation, str):
        return ast.unparse(ast.parse(annotation, mode="eval")).endswith("constexpr")
    return annotation is tl.constexpr


def _to_triton(value: ConstexprValue) -> object:
    if isinstance(value, str) and value.startswith(DTYPE_PREFIX):
        return getattr(tl, value.removeprefix(DTYPE_PREFIX))
    return value
