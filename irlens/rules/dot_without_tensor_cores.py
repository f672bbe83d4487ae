"""A dot is computed with ordinary multiply-adds, not on the tensor cores.

## What it means

Tensor cores (AMD: matrix cores) compute a dot at many times the rate of ordinary arithmetic, but
only for some types and tile shapes. For others the compiler silently falls back to multiply-adds in
a blocked layout.

## Example

```python
c = tl.dot(a, b, c, input_precision="ieee")     # a and b are fp32
```

NVIDIA's tensor cores multiply fp32 rounded to tf32 (10 bits of mantissa), which "ieee" forbids.

## What to do

* fp32: `input_precision="tf32"`, or "tf32x3" for nearly the precision of fp32 at a third of the
  speed; or cast the operands to fp16 or bf16.
* Small tiles: at least 16 x 16 with 16 along K for 16-bit types.
* If neither is possible, try a plain sum of products, and measure which is faster.

## Targets

NVIDIA's tensor cores and AMD's matrix cores (MFMA and WMMA instructions).
"""

from collections.abc import Iterator

from irlens.analyze.facts import Facts
from irlens.analyze.mlir_loops import user_line
from irlens.gpus import support_note
from irlens.isa.mlir import Operation
from irlens.isa.mlir.products import Product, products, widened
from irlens.model.report import Blame, Severity
from irlens.rules import Match, Place

CODE = "IRL401"
NAME = "dot-without-tensor-cores"
SEVERITY: Severity = "warning"
NEEDS = ("ttir", "ttgir")


_REASONS = {
    "precision": "matrix instructions do not multiply fp32 at full precision",
    "target": "Triton uses the tensor cores of sm_80 and newer alone",
    "tile": "a side of the tile is shorter than 16",
}


def find(facts: Facts) -> Iterator[Match]:
    """Yield a finding for each dot that is computed by multiply-adds."""
    if facts.ttgir is None or facts.ttir is None:
        return
    # The compiler may have cast the operands: what the author wrote is in ttir.
    on_vectors = {each.line for each in facts.products if each.on_tensor_cores is False}
    compiled = {dot.location: dot for dot, _ in products(facts.ttgir)}
    reported = set()
    for dot, product in products(facts.ttir):
        made = compiled.get(dot.location)
        if dot.span.line not in on_vectors or dot.location in reported or made is None:
            continue
        reported.add(dot.location)
        source = user_line(dot)
        kind, hint = _remedy(product, dot, facts)
        yield Match(
            message=(
                f"the dot at {source} of {product.m} x {product.k} {product.left} by {product.k} x"
                f" {product.n} {product.right} does not use {facts.words.tensor_core}s"
            ),
            hint=hint,
            place=Place(facts.ttgir.stage, made.span.line, source),
            blame=Blame(reason=_REASONS.get(kind) or _no_instruction(product, facts), kind=kind),
        )


def _remedy(product: Product, dot: Operation, facts: Facts) -> tuple[str, str]:
    """Return what the matrix instructions do not take, and a hint."""
    if facts.gpu is not None and support_note(facts.gpu):
        return "target", "use a GPU from sm_80 on: no other type or tile changes this"
    amd, cast = facts.gpu is not None and facts.gpu.arch.vendor == "amd", "cast to fp16 or bf16"
    if product.left == "fp32" and facts.ttir is not None and widened(facts.ttir, dot):
        kind = "type" if amd else "precision"
        return kind, "multiply the 16-bit values themselves: the products are the same"
    if product.left == "fp32" and amd:
        return "type", cast
    if product.left == "fp32" and "inputPrecision" not in dot.attributes:
        return "precision", f'allow input_precision="tf32", or {cast}'
    if product.left == "fp64":
        return "type", "use a narrower type, if the precision allows it"
    if min(product.m, product.n, product.k) < 16:
        return "tile", "make every side of the tile at least 16"
    unit = facts.words.tensor_core
    return "type", f"the compiler has no {unit} instruction for this type on this GPU: try another"


def _no_instruction(product: Product, facts: Facts) -> str:
    name = facts.gpu.arch.name if facts.gpu is not None else "this GPU"
    left, right = product.left, product.right
    kinds = left if left == right else f"{left} × {right}"
    return f"Triton has no matrix instruction of {name} for {kinds}"
