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
* `dot_scaled` on a GPU without block-scaled products multiplies in bf16 or fp16. Where scales are
  the same along K, multiply fp8 with `tl.dot` and scale the result.

## Targets

NVIDIA and AMD, where the rates of the GPU's architecture are known.
"""

from collections.abc import Iterator

from irlens.analyze.facts import Facts
from irlens.model.report import Blame, Severity
from irlens.model.traffic import MatrixProduct
from irlens.rules import Match

CODE = "IRL405"
NAME = "converted-product"
SEVERITY: Severity = "warning"
NEEDS = ("ttgir", "assembly")


def find(facts: Facts) -> Iterator[Match]:
    """Yield a finding for each product that is slower than one of its operands' own type."""
    for product in facts.products:
        if product.slows_down:
            yield _finding(facts, product)


def unseen(facts: Facts) -> str:
    """Return which products' types are unknown; empty if none is."""
    lines = [str(each.source or each.line) for each in facts.products if each.computed is None]
    return f"the type that the product at {lines[0]} is computed in is unknown" if lines else ""


def _finding(facts: Facts, product: MatrixProduct) -> Match:
    place = f" at {product.source}" if product.source is not None else ""
    instruction = f" ({product.instruction})" if product.instruction else ""
    factor = f"{product.slowdown:.3g}".removesuffix(".0")
    return Match(
        message=(
            f"the product{place} of {product.operands} is computed {product.computed_how}"
            f"{instruction}, which takes {factor} times as long as in its operands' type"
        ),
        hint=_hint(facts, product),
        stage="ttir",
        line=product.line,
        source=product.source,
        blame=Blame(
            reason=f"{product.operands} is computed {product.computed_how}", kind=product.operands
        ),
    )


def _hint(facts: Facts, product: MatrixProduct) -> str:
    if product.computed == product.operands:
        return "pack the 4-bit values of both operands along K: the fast products take no others"
    if "scaled" in product.operation:
        return "without block-scaled products, multiply fp8 with tl.dot and scale the result"
    amd = facts.gpu is not None and facts.gpu.arch.vendor == "amd"
    if amd and product.operands.startswith(("e4m3", "e5m2")):
        return "use the fnuz formats if the GPU multiplies those alone: tl.float8e4b8"
    return "compile with another version of Triton, and compare"
