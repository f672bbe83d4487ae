"""Run a kernel's PyTorch reference: make its inputs, and compare the kernel's outputs."""

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any

from irlens.compiler.calls.argument_values import Argument, Tensor, tensor_of
from irlens.compiler.sources.description import Description
from irlens.model.errors import CaptureError
from irlens.model.sweep import ProviderName

_SEED = 0


class Reference:
    """A kernel's reference function, with its inputs, outputs and tolerance.

    Args:
        device: Device of the tensors: PyTorch's "cuda" (AMD too) or "cpu".

    Raises:
        CaptureError: The file lacks a function that the description names.
    """

    def __init__(self, description: Description, module: ModuleType, device: str) -> None:
        self._description = description
        self._device = device
        self._make_inputs = _function(module, description.inputs, "make inputs with")
        self._function = _function(module, description.reference, "compare the outputs with")
        self._naive = _function(module, description.naive, "compare times with")
        self._inputs: Sequence[str] = description.outputs
        if self._function is not None:
            self._inputs = list(inspect.signature(self._function).parameters)

    def tensors(self, args: Mapping[str, Argument]) -> dict[str, Any]:
        """Return the arguments, the same ones on every call.

        Floating-point tensors are normally distributed; integers are 0 or 1, so that they are
        valid as indices too. An output that the reference does not read starts as NaN (an
        integer one as its smallest value), so that elements that are never stored show up.
        """
        import torch

        generator = torch.Generator(self._device).manual_seed(_SEED)
        values: dict[str, Any] = {}
        for name, argument in args.items():
            tensor = tensor_of(argument)
            if tensor is None:
                values[name] = argument
            elif tensor.offset:
                raise CaptureError(f"{name}: a tensor with an offset cannot be launched")
            elif name in self._description.outputs and name not in self._inputs:
                values[name] = self._unwritten(tensor)
            else:
                values[name] = self._random(tensor, generator)
        if self._make_inputs is not None:
            wanted = inspect.signature(self._make_inputs).parameters
            values |= self._make_inputs(**{name: values[name] for name in wanted})
        return values

    def expected(self, arguments: Mapping[str, Any]) -> list[Any] | None:
        """Return the outputs that the reference computes on copies of the tensors.

        Args:
            arguments: Arguments and constexprs; the reference gets those that it has parameters
                for.

        Returns:
            One tensor per output, or ``None`` if there is no reference.

        Raises:
            CaptureError: The reference does not match the description.
        """
        import torch

        if self._function is None:
            return None
        inputs = self._arguments_of(self._function, arguments)
        copies = {n: v.clone() if torch.is_tensor(v) else v for n, v in inputs.items()}
        return self._outputs(self._function(**copies))

    def provider(
        self, name: ProviderName, arguments: Mapping[str, Any]
    ) -> Callable[[], list[Any]] | None:
        """Return a call that computes the outputs with another implementation.

        Args:
            arguments: Arguments and constexprs, see ``expected``.

        Returns:
            ``None`` if the description names no such function. The call returns one tensor per
            output.

        Raises:
            CaptureError: The function does not match the description.
        """
        import torch

        function = self._naive if name == "naive" else self._function
        if function is None:
            return None
        inputs = self._arguments_of(function, arguments)
        if name == "compile":
            # After a few recompilations for other sizes it would fall back to eager mode.
            torch.compiler.reset()
            function = torch.compile(function, dynamic=False)
        return lambda: self._outputs(function(**inputs))

    def only_returns(self, call: Callable[[], Sequence[Any]], arguments: Mapping[str, Any]) -> bool:
        """Return whether a call writes nothing, and returns nothing but views of the arguments."""
        import torch

        tensors = [each for each in arguments.values() if torch.is_tensor(each)]
        held = {each.untyped_storage().data_ptr() for each in tensors}
        written = [each._version for each in tensors]
        outputs = call()
        return written == [each._version for each in tensors] and all(
            each.untyped_storage().data_ptr() in held for each in outputs
        )

    def _arguments_of(
        self, function: Callable[..., Any], arguments: Mapping[str, Any]
    ) -> dict[str, Any]:
        names = inspect.signature(function).parameters
        unknown = [name for name in names if name not in arguments]
        if unknown:
            raise CaptureError(
                f"{function.__name__} takes {', '.join(unknown)}, which the kernel does not have"
            )
        return {name: arguments[name] for name in names}

    def _outputs(self, result: Any) -> list[Any]:
        outputs = list(result) if isinstance(result, tuple | list) else [result]
        if len(outputs) != len(self._description.outputs):
            raise CaptureError(
                f"{self._description.reference} returned {len(outputs)} tensors "
                f"for {len(self._description.outputs)} outputs"
            )
        return outputs

    def matches(self, outputs: Sequence[Any], expected: Sequence[Any]) -> bool:
        """Return whether a provider's outputs match the expected ones within the tolerance."""
        values = dict(zip(self._description.outputs, outputs, strict=True))
        return self.compare(values, expected)[0]

    def compare(
        self, values: Mapping[str, Any], expected: Sequence[Any]
    ) -> tuple[bool, float | None]:
        """Compare the outputs among ``values`` with the expected ones.

        Returns:
            Whether all match within the description's tolerance, and the largest absolute
            difference; ``None`` if it is not finite.
        """
        import torch

        tolerance = self._description.tolerance
        matches, largest = True, 0.0
        for name, reference in zip(self._description.outputs, expected, strict=True):
            left, right = values[name].double(), reference.double()
            if left.shape != right.shape:
                raise CaptureError(
                    f"{self._description.reference} returned {name} with the shape "
                    f"{tuple(right.shape)} instead of {tuple(left.shape)}"
                )
            matches &= torch.allclose(
                left, right, rtol=tolerance.rtol, atol=tolerance.atol, equal_nan=True
            )
            same = (left == right) | (left.isnan() & right.isnan())
            difference = (left - right).abs().masked_fill(same, 0.0)
            if difference.numel():
                largest = max(largest, float(difference.nan_to_num(nan=math.inf).max()))
        return matches, largest if math.isfinite(largest) else None

    def _random(self, tensor: Tensor, generator: object) -> Any:
        import torch

        dtype = torch_dtype(tensor)
        if dtype.is_floating_point:
            values = torch.randn(tensor.shape, generator=generator, device=self._device)
        else:
            values = torch.randint(0, 2, tensor.shape, generator=generator, device=self._device)
        return values.to(dtype)

    def _unwritten(self, tensor: Tensor) -> Any:
        import torch

        dtype = torch_dtype(tensor)
        if dtype.is_floating_point:
            return torch.full(tensor.shape, math.nan, device=self._device).to(dtype)
        lowest = False if dtype == torch.bool else torch.iinfo(dtype).min
        return torch.full(tensor.shape, lowest, dtype=dtype, device=self._device)


def _function(module: ModuleType, name: str | None, purpose: str) -> Callable[..., Any] | None:
    """Return the module's function of a name; ``None`` for no name."""
    if name is None:
        return None
    function = getattr(module, name, None)
    if not inspect.isfunction(function):
        raise CaptureError(f"{module.__file__} has no function '{name}' to {purpose}")
    return function


def torch_dtype(tensor: Tensor) -> Any:
    """Return PyTorch's dtype of a tensor argument.

    Raises:
        CaptureError: This version of PyTorch has no such dtype.
    """
    import torch

    dtype = getattr(torch, tensor.dtype.torch or "", None)
    if dtype is None:
        raise CaptureError(f"this PyTorch has no {tensor.dtype.name} tensors")
    return dtype
