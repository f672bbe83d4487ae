"""Numbers of a narrower type are converted to fp64 and computed in it.

## What it means

A constant or a scalar of fp64 promotes what it meets: fp32 times fp64 is fp64. GPUs have few units
for it. Data-center GPUs compute it at a half of the rate of fp32, consumer GPUs at a 64th, and each
conversion takes the unit of special functions, at an eighth or a sixteenth of the rate of fp32. A
number takes two registers, too.

The finding is reported where no tensor of the kernel's arguments is fp64, so that the precision is
lost again before the result is stored. A kernel may well accumulate in fp64 on purpose.

## Example

```python
half = tl.full((BLOCK,), 0.5, tl.float64)
y = x * half                                 # x is fp32, and y is fp64
```

## What to do

* Give constants the type of the data: `tl.full(shape, 0.5, tl.float32)`, or a plain `0.5`, which
  promotes nothing.
* Convert a scalar of fp64 once, `scale.to(tl.float32)`, before it meets a tensor.

## Targets

NVIDIA and AMD.
"""

from collections.abc import Iterator

from irlens.analyze.facts import Facts
from irlens.analyze.mlir_loops import user_line
from irlens.isa.mlir.types import Scalar, Tensor
from irlens.model.report import Severity
from irlens.rules import Match, Place

CODE = "IRL406"
NAME = "promoted-to-fp64"
SEVERITY: Severity = "note"
NEEDS = ("ttir",)

_EXTENSION = "arith.extf"


def find(facts: Facts) -> Iterator[Match]:
    """Yield a finding for each line that converts a tensor to fp64, in a kernel without any."""
    if facts.ttir is None or facts.ttir.kernel is None:
        return
    types = [each.type for each in facts.ttir.kernel.parameters]
    if any("f64" in str(each) for each in types if not isinstance(each, Scalar)):
        return
    reported = set()
    for operation in facts.ttir.operations:
        if operation.name != _EXTENSION or not isinstance(operation.result_type, Tensor):
            continue
        element, source = operation.result_type.element, user_line(operation)
        if not isinstance(element, Scalar) or element.name != "f64" or source in reported:
            continue
        reported.add(source)
        place = Place("ttir", operation.span.line, source)
        yield Match(
            message=f"a tensor is converted to fp64{place}, and no argument is a tensor of fp64",
            hint="give the constant or scalar that it meets the type of the data",
            place=place,
        )
