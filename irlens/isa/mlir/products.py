"""Matrix products: the one reader of their M, N and K and of their operands' types.

Sources: Triton, ``TritonOps.td`` (``DotScaledOp``) and ``TritonNvidiaGPUOps.td``. The result, or
the accumulator where a product writes to memory, has M rows and N columns. K is the left operand's
second dimension, times two where its bytes hold two values of 4 bits side by side along K.
"""

from collections.abc import Iterator
from math import prod

import msgspec

from irlens.isa.mlir.module import Module
from irlens.isa.mlir.tree import Operation
from irlens.isa.mlir.types import Scalar, Shaped, Type

#: The product of a warp group, which takes its right operand from shared memory.
WGMMA = "ttng.warp_group_dot"
#: Products by their name; the second is the position of the accumulator among the operand types,
#: ``None`` where the product is a result.
_ACCUMULATORS: dict[str, int | None] = {
    "tt.dot": None,
    "tt.dot_scaled": None,
    WGMMA: None,
    "ttng.tc_gen5_mma": 2,
    "ttng.tc_gen5_mma_scaled": 2,
}
PRODUCTS = frozenset(_ACCUMULATORS)
#: Operations that use the tile in a buffer.
BUFFER_USES = PRODUCTS | {"ttg.local_load"}
_SCALED = frozenset({"tt.dot_scaled", "ttng.tc_gen5_mma_scaled"})

_WIDENS = "arith.extf"
#: Names of elements as kernels and instructions spell them.
_NAMES = {
    "f64": "fp64",
    "f32": "fp32",
    "f16": "fp16",
    "bf16": "bf16",
    "f8E4M3FN": "e4m3",
    "f8E5M2": "e5m2",
    "f8E4M3FNUZ": "e4m3fnuz",
    "f8E5M2FNUZ": "e5m2fnuz",
    "f8E4M3B11FNUZ": "e4m3b11fnuz",
    "f4E2M1FN": "e2m1",
    "i8": "int8",
    "i4": "int4",
}
#: What ``input_precision`` computes fp32 in, as the operation spells it and as an enum's number.
_PRECISIONS = {
    "tf32": "tf32", "tf32x3": "tf32", "bf16x3": "bf16", "bf16x6": "bf16",
    "0": "tf32", "1": "tf32", "3": "bf16", "4": "bf16",
}  # fmt: skip


class Product(msgspec.Struct, frozen=True):
    """A matrix product of ``batch`` times M x K by K x N elements.

    Attributes:
        batch: Products that the operation computes; 1 without a batch dimension.
        k: Elements that are summed for each of the result's.
        left: Type of the left operand's elements: "fp16", "e4m3", "e2m1".
        precision: What fp32 is multiplied in, by the operation's word; "" if it is fp32.
    """

    batch: int
    m: int
    n: int
    k: int
    left: str
    right: str
    precision: str = ""

    @property
    def multiplications(self) -> int:
        """Multiply-adds of one execution."""
        return self.batch * self.m * self.n * self.k


def read_product(operation: Operation) -> Product | None:
    """Return the product that an operation computes; ``None`` if it is none, or not understood."""
    if operation.name not in PRODUCTS:
        return None
    at, left, formats = _ACCUMULATORS[operation.name], operation.operand_type, _formats(operation)
    kinds = operation.result_types if at is None else operation.operand_types[at:]
    if not kinds or formats is None:
        return None
    result = kinds[0]
    if len(result.shape) < 2 or len(left.shape) < 2:
        return None
    *batch, m, n = result.shape
    k = _depth(left, m, formats[0])
    precision = operation.attributes.get("inputPrecision", "").partition(" ")[0].lower()
    if k is None:
        return None
    return Product(
        batch=prod(batch), m=m, n=n, k=k, left=formats[0], right=formats[1],
        precision=_PRECISIONS.get(precision, "") if formats[0] == "fp32" else "",
    )  # fmt: skip


def products(module: Module) -> Iterator[tuple[Operation, Product]]:
    """Yield the products of a module that are understood, in the order of the text."""
    for operation in module.named(*PRODUCTS):
        if (product := read_product(operation)) is not None:
            yield operation, product


def widened(module: Module, dot: Operation) -> tuple[Operation, ...]:
    """Return the conversions to fp32 of both operands of a dot, both from one 16-bit type.

    Products of the values before them are the same: fp32 has room for them.
    """
    read = module.values.operands[dot.index][:2]
    made = [module.operations[each.operation] for each in read if each and each.region is None]
    kinds = {str(each.operand_type.element) for each in made if each.name == _WIDENS}
    names = [each.name for each in made]
    return tuple(made) if names == [_WIDENS] * 2 and kinds in ({"f16"}, {"bf16"}) else ()


def _depth(left: Type, rows: int, element: str) -> int | None:
    """Return K; ``None`` where the left operand does not fit the result.

    Values of 4 bits lie two in a byte, side by side along K, or along M: then the operand has half
    as many rows as the result.
    """
    own_rows, k = left.shape[-2:]
    packed = element == "e2m1" and left.element == Scalar("i8")
    if own_rows == rows:
        return 2 * k if packed else k
    return k if packed and 2 * own_rows == rows else None


def _formats(operation: Operation) -> tuple[str, str] | None:
    """Return the types of the operands' elements; those of scaled ones are attributes."""
    if operation.name in _SCALED:
        left, right = (operation.attributes.get(name, "") for name in ("lhs", "rhs"))
        return (left, right) if left and right else None
    kinds = [each for each in operation.operand_types[:2] if isinstance(each, Shaped)]
    names = [_NAMES.get(str(each.element), str(each.element)) for each in kinds]
    return (names[0], names[1]) if len(names) == 2 else None
