"""Floating-point operations of a launch, from its ttir and how often its operations run.

An addition, a product, a comparison's larger value and a function such as ``exp`` are one each, a
fused multiply-add two. A reduction of n elements is n - 1 of its combining operation, and a product
of M × K by K × N matrices is 2 MNK, of the type that it is computed in.
"""

from collections import Counter
from collections.abc import Mapping
from math import prod

import msgspec

from irlens.analyze.products import matrix_products
from irlens.isa.mlir import Module, Operation
from irlens.isa.mlir.global_memory import is_floating
from irlens.isa.mlir.products import PRODUCTS
from irlens.model.traffic import MatrixProduct

_VECTOR = {"f64": "fp64", "f32": "fp32", "f16": "fp16", "bf16": "bf16"}
_COMBINATIONS = frozenset({"reduce", "scan"})


class Flops(msgspec.Struct, frozen=True):
    """Floating-point operations by the type that they are computed in.

    Attributes:
        tensor: Those of products that tensor cores compute.
        multiplied: What the tensor cores multiply for them, where a product takes several.
    """

    total: dict[str, int]
    tensor: dict[str, int]
    multiplied: dict[str, int]


def count_flops(
    module: Module,
    executed: Mapping[int, int],
    products: Mapping[int, MatrixProduct] | None = None,
) -> Flops | None:
    """Count the operations of a launch.

    Args:
        executed: How often each operation is executed, by index; without the operations of loops
            that run until data say so.
        products: The products of the module by the index of their operation, as they are computed;
            without them, products are the tensor cores', in their operands' own types.

    Returns:
        ``None`` where a product or a reduction is not understood, or how often a loop runs.
    """
    if products is None:
        products = matrix_products(module, None, None, None)
    if any(_runs_on(module, module.operations[index], executed) for index in executed):
        return None
    total: Counter[str] = Counter()
    tensor: Counter[str] = Counter()
    multiplied: Counter[str] = Counter()
    for index, times in sorted(executed.items()):
        operation = module.operations[index]
        if operation.name in PRODUCTS:
            product = products.get(index)
            if product is None:
                return None
            dtype, each = product.rate or product.operands, 2 * product.multiplications
            total[dtype] += times * each
            if product.on_tensor_cores is not False:
                tensor[dtype] += times * each
                multiplied[dtype] += times * each * product.repeated
        elif operation.does in _COMBINATIONS:
            for inner in module.body(operation):
                dtype, each = _elementwise(inner)
                combined = _combined(operation)
                if combined is None:
                    return None
                if each:
                    total[dtype] += times * combined
        else:
            dtype, each = _elementwise(operation)
            if each:
                total[dtype] += times * each
    return Flops(*(dict(sorted(each.items())) for each in (total, tensor, multiplied)))


def _runs_on(module: Module, operation: Operation, executed: Mapping[int, int]) -> bool:
    """Whether an operation is a while loop with arithmetic and an unknown trip count."""
    if operation.does != "while":
        return False
    inside = list(module.body(operation))
    counts = any(each.name in PRODUCTS or _elementwise(each)[1] for each in inside)
    return counts and not any(each.index in executed for each in inside)


def _elementwise(operation: Operation) -> tuple[str, int]:
    """Return the type of an operation's elements, and how many operations it is."""
    name = operation.name
    if not is_floating(name):
        return "", 0
    kind = operation.result_type
    dtype = _VECTOR.get(str(kind.element), "")
    return dtype, prod(kind.shape) * (2 if name == "math.fma" else 1) if dtype else 0


def _combined(operation: Operation) -> int | None:
    """Return how often a reduction or a scan combines two elements."""
    shape, axis = operation.operand_type.shape, operation.integer("axis")
    if axis is None or axis not in range(len(shape)):
        return None
    return prod(shape) // shape[axis] * (shape[axis] - 1)
