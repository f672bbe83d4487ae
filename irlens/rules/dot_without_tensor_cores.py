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
from irlens.isa.mlir import Module, Operation
from irlens.isa.mlir.layouts import Shaped, layout_of, read_shaped
from irlens.model.report import Severity
from irlens.rules import Match

CODE = "IRL401"
NAME = "dot-without-tensor-cores"
SEVERITY: Severity = "warning"

_FALLBACK = "#ttg.blocked<"


def find(facts: Facts) -> Iterator[Match]:
    """Yield a finding for each dot whose result has the layout of the fallback."""
    if facts.ttgir is None or facts.ttir is None:
        return
    written = {dot.location: dot for dot in facts.ttir.named("tt.dot") if dot.location}
    reported = set()
    for dot in facts.ttgir.named("tt.dot"):
        # The compiler may have cast the operands: what the author wrote is in ttir.
        original = written.get(dot.location)
        if dot.location in reported or original is None or not _falls_back(facts.ttgir, dot):
            continue
        reported.add(dot.location)
        operands = [read_shaped(type_) for type_ in original.operand_types[:2]]
        if len(operands) < 2 or operands[0] is None or operands[1] is None:
            continue
        source = user_line(dot)
        yield Match(
            message=(
                f"the dot at {source} of {_written(operands[0])} by {_written(operands[1])} does"
                f" not use {facts.words.tensor_core}s"
            ),
            hint=_hint(operands[0], operands[1], original, facts),
            stage=facts.ttgir.stage,
            line=dot.span.line,
            source=source,
        )


def _falls_back(module: Module, dot: Operation) -> bool:
    result = read_shaped(dot.result_types[0]) if dot.result_types else None
    return result is not None and layout_of(module, result).startswith(_FALLBACK)


def _written(operand: Shaped) -> str:
    return f"{' x '.join(map(str, operand.shape))} {operand.element}"


def _hint(a: Shaped, b: Shaped, dot: Operation, facts: Facts) -> str:
    amd = facts.gpu is not None and facts.gpu.arch.vendor == "amd"
    if a.element == "f32" and "inputPrecision" not in dot.attributes:
        cast = "cast to fp16 or bf16"
        return cast if amd else f'allow input_precision="tf32" where the GPU has it, or {cast}'
    if a.element == "f64":
        return "use a narrower type, if the precision allows it"
    if min(*a.shape[-2:], *b.shape[-2:]) < 16:
        return "make every side of the tile at least 16"
    unit = facts.words.tensor_core
    return f"the compiler has no {unit} instruction for this type on this GPU: try another"
