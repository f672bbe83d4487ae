"""Floating-point operations of a launch, from its ttir and how often its operations run.

An addition, a product, a comparison's larger value and a function such as ``exp`` are one each, a
fused multiply-add two. A reduction of n elements is n - 1 of its combining operation, and a product
of M × K by K × N matrices is 2 MNK.
"""

from collections import Counter
from collections.abc import Mapping
from math import prod

import msgspec

from irlens.analyze.issue_table import IssueTable
from irlens.analyze.traffic.arithmetic import element_of
from irlens.isa.mlir import Module, Operation

_VECTOR = {"f64": "fp64", "f32": "fp32", "f16": "fp16", "bf16": "bf16"}
_TENSOR = {**_VECTOR, "i8": "int8", "i4": "int4"}
_ARITHMETIC = frozenset(
    f"arith.{name}f"
    for name in ("add", "sub", "mul", "div", "rem", "neg", "maxnum", "minnum", "maximum", "minimum")
)
_TRITON = frozenset({"tt.clampf", "tt.precise_divf", "tt.precise_sqrt"})
_PRODUCTS = frozenset({"tt.dot", "tt.dot_scaled"})
_COMBINATIONS = frozenset({"tt.reduce", "tt.scan"})


class Flops(msgspec.Struct, frozen=True):
    """Floating-point operations by type: all, and those that tensor cores do."""

    total: dict[str, int]
    tensor: dict[str, int]


def count_flops(
    module: Module, executed: Mapping[int, int], issued: IssueTable | None = None
) -> Flops:
    """Count the operations of a launch.

    Args:
        module: The kernel's ttir.
        executed: How often each operation is executed, by index.
        issued: What the compiler makes of the kernel; without it, products are the tensor cores'.
    """
    total: Counter[str] = Counter()
    tensor: Counter[str] = Counter()
    for index, times in sorted(executed.items()):
        operation = module.operations[index]
        if operation.name in _PRODUCTS:
            dtype, each = _product(operation)
            total[dtype] += times * each
            if issued is None or issued.on_tensor_cores(operation):
                tensor[dtype] += times * each
        elif operation.name in _COMBINATIONS:
            for inner in module.body(operation):
                dtype, each = _elementwise(inner)
                if each:
                    total[dtype] += times * _combined(operation)
        else:
            dtype, each = _elementwise(operation)
            if each:
                total[dtype] += times * each
    return Flops(dict(sorted(total.items())), dict(sorted(tensor.items())))


def _elementwise(operation: Operation) -> tuple[str, int]:
    """Return the type of an operation's elements, and how many operations it is."""
    name = operation.name
    if name not in _ARITHMETIC and name not in _TRITON and not name.startswith("math."):
        return "", 0
    kinds = operation.result_types or operation.operand_types
    shape, element = element_of(kinds[0]) if kinds else ((), "")
    dtype = _VECTOR.get(element, "")
    return dtype, prod(shape) * (2 if name == "math.fma" else 1) if dtype else 0


def _combined(operation: Operation) -> int:
    """Return how often a reduction or a scan combines two elements."""
    shape, _ = element_of(operation.operand_types[0])
    axis = int(operation.attributes["axis"].split()[0])
    return prod(shape) // shape[axis] * (shape[axis] - 1)


def _product(operation: Operation) -> tuple[str, int]:
    left, right = operation.operand_types[0], operation.operand_types[1]
    shape, element = element_of(left)
    columns = element_of(right)[0][-1]
    if operation.name == "tt.dot_scaled":
        right = operation.operand_types[-1] if len(operation.operand_types) > 2 else right
    dtype = _TENSOR.get(element, "fp8" if element.startswith("f8") else element)
    if element == "f32" and "tf32" in operation.attributes.get("inputPrecision", ""):
        dtype = "tf32"
    return dtype, 2 * prod(shape) * columns
