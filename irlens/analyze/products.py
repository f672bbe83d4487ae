"""The types that matrix products are computed in, from the matrix instructions at their place.

The compiler converts operands that the GPU's tensor cores do not multiply. The conversion may be in
the ttgir, or in what it becomes: only the instructions show it. Where a product's place has none,
the ttgir's operands say what is known.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property, partial

import msgspec

from irlens.analyze.global_accesses import Assembly
from irlens.gpus import Dtype, Gpu
from irlens.gpus.rates import Unit, rate_of
from irlens.isa import ptx
from irlens.isa.events import MatrixInstruction
from irlens.isa.mlir import Module, Operation
from irlens.isa.mlir.encodings import encoding_of
from irlens.isa.mlir.products import Product, products
from irlens.isa.ptx.products import matrix_instruction as of_ptx
from irlens.model.several import only
from irlens.model.source import SourceLocation
from irlens.model.traffic import MatrixProduct

_Place = tuple[SourceLocation, ...]
#: The slowest first; of two operands' types the slower is the product's.
_SLOWEST: tuple[Dtype, ...] = ("fp64", "fp32", "tf32", "bf16", "fp16", "int8", "fp8", "fp4")


def matrix_products(
    source: Module,
    ttgir: Module | None,
    assembly: "Assembly | None",
    gpu: Gpu | None,
) -> dict[int, MatrixProduct]:
    """Return the products of a kernel by the index of their operation.

    Args:
        source: The ttir, or the ttgir of a kernel without one.
    """
    found = list(products(source))
    if not found:
        return {}
    compiled = _Compiled(ttgir, assembly, {operation.location for operation, _ in found})
    per_block = _per_block(found)
    return {
        operation.index: _record(operation, product, compiled, gpu, per_block[operation.location])
        for operation, product in found
    }


class _Twin(msgspec.Struct, frozen=True):
    """A product of the ttgir.

    Attributes:
        product: Its shape, and its operands' types after the compiler's conversions.
        blocked: Whether its result has the layout of products without tensor cores.
    """

    product: Product
    blocked: bool


class _Compiled:
    """What the compiler made of the products of a kernel, by their places."""

    def __init__(
        self,
        ttgir: Module | None,
        assembly: "Assembly | None",
        places: set[_Place],
    ) -> None:
        self.is_read = assembly is not None
        self.twins: defaultdict[_Place, list[_Twin]] = defaultdict(list)
        made = list(products(ttgir)) if ttgir is not None else []
        # Some passes give the products that they make the place of an operand. Those of a single
        # product are known all the same.
        missing = places - {operation.location for operation, _ in made}
        self._moved_to = only(missing)
        self._places = places
        self.per_block = _per_block(made, self._origin)
        for operation, product in made:
            twin = _Twin(product, ttgir is not None and _is_blocked(ttgir, operation))
            self.twins[self._origin(operation.location)].append(twin)
        self._blocked = {
            place for place, twins in self.twins.items() if any(each.blocked for each in twins)
        }
        self._instructions: defaultdict[_Place, set[MatrixInstruction]] = defaultdict(set)
        for place, instruction in _instructions(assembly):
            self._instructions[self._origin(place)].add(instruction)

    def _origin(self, place: _Place) -> _Place:
        """Return the place of the source's product that one of the ttgir was made from."""
        moved = self._moved_to is not None and place not in self._places
        return self._moved_to if moved and self._moved_to is not None else place

    def instructions(self, place: _Place) -> set[MatrixInstruction]:
        """Return the matrix instructions at a place.

        Without any there they are those of the whole kernel, if these all multiply one type.
        """
        if place in self._instructions:
            return self._instructions[place]
        return self._of_one_type

    @cached_property
    def _of_one_type(self) -> set[MatrixInstruction]:
        kernel = set().union(*self._instructions.values())
        return kernel if len(_types(kernel)) == 1 else set()

    def is_blocked(self, place: _Place) -> bool:
        """Whether a product at a place has the layout of those without tensor cores."""
        return place in self._blocked

    @property
    def has_instructions(self) -> bool:
        """Whether the kernel has matrix instructions at all."""
        return bool(self._instructions)


def _instructions(assembly: "Assembly | None") -> Iterator[tuple[_Place, MatrixInstruction]]:
    if isinstance(assembly, ptx.Function):
        for instruction in assembly.instructions:
            if (found := of_ptx(instruction)) is not None:
                yield instruction.locations, found
    elif assembly is not None:
        from irlens.isa.amdgcn.products import matrix_instruction as of_amdgcn

        for operation in assembly.instructions:
            if (found := of_amdgcn(operation)) is not None:
                yield operation.locations, found


def _per_block(
    found: list[tuple[Operation, Product]], place_of: Callable[[_Place], _Place] = lambda at: at
) -> Mapping[_Place, int]:
    """Return the multiply-adds at each place, of the block that has the most.

    Pipelining peels iterations off a loop: their products are the same ones again.
    """
    totals: Counter[tuple[_Place, int | None]] = Counter()
    for operation, product in found:
        totals[place_of(operation.location), operation.parent] += product.multiplications
    most: Counter[_Place] = Counter()
    for (place, _), total in totals.items():
        most[place] = max(most[place], total)
    return most


def _record(
    operation: Operation, product: Product, compiled: _Compiled, gpu: Gpu | None, own: int
) -> MatrixProduct:
    place = operation.location
    record = MatrixProduct(
        line=operation.span.line,
        source=place[0] if place else None,
        operation=operation.name,
        shape=(*((product.batch,) if product.batch > 1 else ()), product.m, product.n, product.k),
        operands=_pair(product.left, product.right),
        repeated=max(1, compiled.per_block.get(place, 0) // max(own, 1)),
    )
    put = partial(msgspec.structs.replace, record)
    twins = compiled.twins.get(place, [])
    multiplied = twins[0].product if twins else product
    as_converted = _pair(multiplied.left, multiplied.right)
    found = compiled.instructions(place)
    types = _types(found)
    if compiled.is_blocked(place) or (compiled.is_read and not compiled.has_instructions):
        # Products without tensor cores are multiply-adds in the type of the ttgir's operands.
        rate = _slower(multiplied.left, multiplied.right)
        slowdown = _slowdown(product, rate, gpu, "vector")
        return put(computed=as_converted, rate=rate, on_tensor_cores=False, slowdown=slowdown)
    if len(types) != 1:
        rate = _own_rate(multiplied)
        if types:
            reason = "its instructions multiply several types"
            return put(rate=rate, on_tensor_cores=True, reason=reason)
        if compiled.is_read or not twins:
            return put(rate=rate, reason="no matrix instruction has its location")
        slowdown = _slowdown(product, rate, gpu, "tensor")
        return put(computed=as_converted, rate=rate, on_tensor_cores=True, slowdown=slowdown)
    name, rate = _multiplied(*next(iter(types)), multiplied)
    return put(
        computed=name,
        rate=rate,
        on_tensor_cores=True,
        instruction=min(each.name for each in found),
        sums=only(each.sums for each in found) or None,
        slowdown=_slowdown(product, rate, gpu, "tensor"),
    )


def _multiplied(left: str, right: str, rate: Dtype, operands: Product) -> tuple[str, Dtype]:
    """Return what an instruction multiplies, as the operands spell it, and at which rate."""
    if left:
        # AMD's instructions may take the operands the other way round, and transpose the result.
        for one, other in ((left, right), (right, left)):
            names = (_spelled(one, operands.left), _spelled(other, operands.right))
            if names == (operands.left, operands.right):
                return _pair(*names), rate
        return _pair(_spelled(left, operands.left), _spelled(right, operands.right)), rate
    # tcgen05 leaves the types to its operands: kind::f16 stands for bf16, too.
    if operands.left == "fp32":
        return rate, rate
    rate = "bf16" if rate == "fp16" and operands.left == "bf16" else rate
    return _pair(operands.left, operands.right), rate


def _types(instructions: set[MatrixInstruction]) -> set[tuple[str, str, Dtype]]:
    return {(each.left, each.right, each.rate) for each in instructions}


def _spelled(name: str, operand: str) -> str:
    """Return a type as the operand spells it: AMD's "fp8" is "e4m3" on some GPUs, "e4m3fnuz"."""
    kinds = {"fp8": "e4m3", "bf8": "e5m2"}
    return operand if operand.startswith(kinds.get(name, " ")) else name


def _pair(left: str, right: str) -> str:
    return left if left == right else f"{left} × {right}"


def _slower(left: str, right: str) -> Dtype | None:
    rates = [rate_of(left), rate_of(right)]
    return next((each for each in _SLOWEST if each in rates), None) if None not in rates else None


def _own_rate(product: Product) -> Dtype | None:
    """Return the type by whose rate a product of such operands can run."""
    return rate_of(product.precision) if product.precision else _slower(product.left, product.right)


def _slowdown(product: Product, rate: Dtype | None, gpu: Gpu | None, unit: Unit) -> float | None:
    """Return how many times as long a product takes as in its operands' own type."""
    own = _own_rate(product)
    if gpu is None or gpu.rates is None or own is None or rate is None:
        return None
    actual = gpu.rates.of(unit).get(rate)
    best = gpu.rates.tensor.get(own)
    return best / actual if best and actual else None


def _is_blocked(module: Module, product: Operation) -> bool:
    """Return whether a product's result has the layout of products without tensor cores."""
    encoding = encoding_of(module, product.result_type)
    return encoding is not None and encoding.kind == "blocked"
