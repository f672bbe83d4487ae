"""Tensors that a kernel is given by a descriptor, made on the host."""

from collections.abc import Mapping

from triton.tools.tensor_descriptor import TensorDescriptor

from irlens.compiler.triton_compat.kernels import Kernel, Values
from irlens.compiler.values import Argument, Descriptor
from irlens.model.errors import CaptureError


def with_descriptors(kernel: Kernel, values: Values, args: Mapping[str, Argument]) -> Values:
    """Return values with Triton's descriptors instead of the tensors that are passed by one.

    Args:
        kernel: For whom: Gluon has descriptors of its own.
        values: Tensors, or stand-ins for them, and all else.
        args: What each is. A block that is not evaluated yet is given as Triton's own examples
            do until an autotuner has chosen: as ones.

    Raises:
        CaptureError: There is no such descriptor.
    """
    return {
        name: _described(kernel, name, value, args[name]) if name in args else value
        for name, value in values.items()
    }


def _described(kernel: Kernel, name: str, tensor: object, argument: Argument) -> object:
    if not isinstance(argument, Descriptor):
        return tensor
    block = [extent if isinstance(extent, int) else 1 for extent in argument.block]
    try:
        if kernel.gluon:
            from irlens.compiler.triton_compat import layouts

            element = argument.tensor.dtype.language
            return layouts.described(tensor, element, block, argument.layout)
        return TensorDescriptor.from_tensor(tensor, block)
    except (AssertionError, TypeError, ValueError) as error:
        raise CaptureError(f"{name}: {argument} cannot be described: {error}") from error
