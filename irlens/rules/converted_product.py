"""A product is computed in another type than its operands', which takes longer on this GPU.

## What it means

Where the tensor cores (AMD: matrix cores) do not multiply the operands' type, or the compiler has
no way to use it, the operands are converted and multiplied in a wider type. Products of fp16 take
twice as long as those of fp8, and the conversions take instructions and registers of their own.

The type is read from the matrix instructions at the product's place. The finding compares its peak
rate with that of the operands' own type on the same GPU, and is silent where the GPU does not
multiply that type at all.

## Example

```python
acc = tl.dot(a, b, acc)      # e4m3 on sm_120, compiled by Triton 3.4: products of fp16
```

## What to do

* Compile with a newer version of Triton, and compare: `irlens diff KERNEL --triton 3.4.0,3.6.0`
  names the types that products are computed in.
* AMD's CDNA 3 multiplies the formats "fnuz" alone: `tl.float8e4b8` and `tl.float8e5b16` in place
  of `tl.float8e4nv` and `tl.float8e5`.
* 4-bit values of `dot_scaled` that are packed along M or N (`lhs_k_pack=False`) are multiplied at
  the rate of 8 bits: pack them along K.
* Operands that are fp16 or bf16 in memory and converted to fp32 before the dot: multiply them as
  they are. Products of two such values are exact in fp32, in which the dot adds them up.
* `dot_scaled` on a GPU without block-scaled products multiplies in bf16 or fp16. Where scales are
  the same along K, multiply fp8 with `tl.dot` and scale the result.

Asked for by name, `irlens explain KERNEL IRL405` also answers for products that Hopper and
Blackwell compute by `mma.sync`, the instruction of earlier GPUs, and says what `wgmma` or
`tcgen05.mma` asks for.

## Targets

NVIDIA and AMD, where the rates of the GPU's architecture are known.
"""

from collections.abc import Iterator
from typing import NamedTuple

from irlens.analyze.facts import Facts
from irlens.isa.mlir.products import widened
from irlens.model.report import Blame, Severity
from irlens.model.traffic import MatrixProduct
from irlens.rules import Match, Place

CODE = "IRL405"
NAME = "converted-product"
SEVERITY: Severity = "warning"
NEEDS = ("ttgir", "assembly")

#: Types that products widen, as the IR and as rates spell them.
_NARROW = {"f16": "fp16", "bf16": "bf16"}


def find(facts: Facts) -> Iterator[Match]:
    """Yield a finding for each product that is slower than one of its operands' own type."""
    for product in facts.products:
        if product.slows_down:
            yield _finding(facts, product)
        elif (match := _widened(facts, product)) is not None:
            yield match


def _widened(facts: Facts, product: MatrixProduct) -> Match | None:
    """Return the finding for a product of fp32 that could be one of the 16 bits that it had."""
    module, rates = facts.ttir, facts.gpu.rates if facts.gpu is not None else None
    dots = module.doing("multiply matrices") if module is not None else ()
    made = next((widened(module, e) for e in dots if module and e.span.line == product.line), ())
    if not made or rates is None or not product.on_tensor_cores:
        return None
    narrow = _NARROW[str(made[0].operand_type.element)]
    peaks = {str(each): rate for each, rate in rates.tensor.items()}
    now, then = peaks.get(product.rate or ""), peaks.get(narrow)
    if not now or not then or (factor := product.repeated * then / now) <= 1:
        return None
    place = Place("ttir", product.line, product.source)
    reason = f"its operands are {narrow}, widened to fp32 before it"
    return Match(
        message=(
            f"the product{place} is computed in {product.computed}, which takes {factor:.3g} times"
            f" as long as in {narrow}: {reason}"
        ),
        hint=f"multiply the {narrow} values themselves: the products are the same",
        place=place,
        blame=Blame(reason=reason, kind="widened"),
    )


def on_request(facts: Facts) -> Iterator[Match]:
    """Yield also products of types that the GPU lacks, and in the instructions of earlier GPUs."""
    yield from filter(None, (_absent(facts, product) for product in facts.products))
    for product in facts.products:
        newest, kind, reason = _refusal(facts, product)
        if not newest or product.slows_down or _widened(facts, product) or _absent(facts, product):
            continue
        place = Place("ttir", product.line, product.source)
        yield Match(
            message=(
                f"the product{place} is computed by {product.instruction}, and not by"
                f" {newest}: {reason}"
            ),
            hint=_TAKEN[kind],
            place=place,
            blame=Blame(reason=reason, kind=kind),
        )


def _refusal(facts: Facts, product: MatrixProduct) -> tuple[str, str, str]:
    """Return the GPU's own products, and why it uses those of earlier ones; all empty if not."""
    arch = facts.gpu.arch if facts.gpu is not None else None
    earlier = (product.instruction or "").startswith("mma.sync")
    if arch is None or arch.vendor != "nvidia" or not earlier:
        return "", "", ""
    capability = int(arch.name.removeprefix("sm_"))
    newest = next((each for each in _NEWEST if capability in each.capabilities), None)
    if newest is None:
        return "", "", ""
    return newest.name, *newest.refusal(product, facts.config.num_warps)


def _absent(facts: Facts, product: MatrixProduct) -> Match | None:
    """Return the finding for a product of a type that no matrix instruction of the GPU takes."""
    if facts.gpu is None or facts.gpu.rates is None or not product.on_tensor_cores:
        return None
    if product.slowdown is not None or product.computed in (None, product.operands):
        return None
    place = Place("ttir", product.line, product.source)
    reason = f"{facts.gpu.arch.name} has no matrix instruction for {product.operands}"
    return Match(
        message=f"the product{place} is computed {product.computed_how}: {reason}",
        hint=f"use a GPU that multiplies {product.operands}; here the type saves memory alone",
        place=place,
        blame=Blame(reason=reason, kind="absent"),
    )


class _Newest(NamedTuple):
    """The products of a generation, and what they take (``AccelerateMatmul.cpp``: ``supportMMA``).

    Attributes:
        warps: Numbers of warps that can issue them; empty for multiples of a warp group.
        types: The types of operands that it multiplies.
    """

    capabilities: range
    name: str
    warps: tuple[int, ...]
    types: frozenset[str]

    def refusal(self, product: MatrixProduct, warps: int | None) -> tuple[str, str]:
        """Return the kind of condition that a product does not meet, and the condition."""
        *batch, m, n, _ = product.shape
        if not set(product.operands.split(" × ")) <= self.types:
            return "type", f"it takes no {product.operands}"
        if batch:
            return "batch", "it multiplies a batch of matrices"
        if warps is not None and (warps not in self.warps if self.warps else warps % _GROUP):
            allowed = " or ".join(map(str, self.warps)) or f"a multiple of {_GROUP}"
            return "warps", f"num_warps is {warps}, and must be {allowed}"
        if m % _ROWS:
            return "rows", f"the tile has {m} rows, and must have a multiple of {_ROWS}"
        if n % _COLUMNS:
            return (
                "columns",
                f"the tile has {n} columns, and must have a multiple of {_COLUMNS}",
            )
        return "", "the IR does not show why"


_GROUP, _ROWS, _COLUMNS = 4, 64, 8
_FLOATS = frozenset({"fp32", "fp16", "bf16", "e4m3", "e5m2"})
_NEWEST = (
    _Newest(range(90, 100), "wgmma", (), _FLOATS | {"int8"}),
    _Newest(range(100, 120), "tcgen05.mma", (4, 8), _FLOATS),
)
_TAKEN = {
    "batch": "multiply one matrix of the batch at a time",
    "warps": "compile with num_warps=4 or 8",
    "rows": "make the tile 64 rows tall, or more, or swap the operands",
    "columns": "make the tile wider",
    "type": "convert the operands, if the precision allows it",
    "": "irlens passes shows what TritonGPUAccelerateMatmul leaves",
}


def unseen(facts: Facts) -> str:
    """Return which products' types are unknown; empty if none is."""
    lines = [str(each.source or each.line) for each in facts.products if each.computed is None]
    return f"the type that the product at {lines[0]} is computed in is unknown" if lines else ""


def _finding(facts: Facts, product: MatrixProduct) -> Match:
    place = Place("ttir", product.line, product.source)
    instruction = f" ({product.instruction})" if product.instruction else ""
    factor = f"{product.slowdown:.3g}".removesuffix(".0")
    newest, kind, reason = _refusal(facts, product)
    because = f", since {newest} does not take it: {reason}" if kind else ""
    return Match(
        message=(
            f"the product{place} of {product.operands} is computed {product.computed_how}"
            f"{instruction}, which takes {factor} times as long as in its operands' type"
        ),
        hint=_TAKEN[kind] if kind else _hint(facts, product),
        place=place,
        blame=Blame(
            reason=f"{product.operands} is computed {product.computed_how}{because}",
            kind="scaled" if "scaled" in product.operation else product.operands,
        ),
    )


def _hint(facts: Facts, product: MatrixProduct) -> str:
    if product.computed == product.operands:
        return "pack the 4-bit values of both operands along K: the fast products take no others"
    if "scaled" in product.operation:
        return "without block-scaled products, multiply fp8 with tl.dot and scale the result"
    amd = facts.gpu is not None and facts.gpu.arch.vendor == "amd"
    if amd and product.operands.startswith(("e4m3", "e5m2")):
        if "fnuz" in product.operands:
            return "use the formats without fnuz, tl.float8e4nv and tl.float8e5"
        return "use the fnuz formats if the GPU multiplies those alone: tl.float8e4b8"
    return "compile with another version of Triton, and compare"
