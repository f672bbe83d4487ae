"""The assembler serialized Hopper's matrix products, so that the tensor core waits between them.

## What it means

`wgmma.mma_async` is asynchronous: a dot is several such products, issued one after the other, and a
pipelined loop lets the last of them overlap with the next iteration. Their accumulators are
registers. Where ptxas cannot keep these untouched until the wait, it gives up and, in the whole
kernel, waits for each product before it issues the next. It emits a warning ("Potential Performance
Loss: wgmma.mma_async instructions are serialized due to ..."), which Triton does not show, and
which is not in the PTX. irlens detects it in the machine code.

## Example

```python
acc = tl.zeros((256, 128), dtype=tl.float32)     # num_warps=4: 256 registers per thread
for k in range(0, K, BLOCK_K):
    acc = tl.dot(tl.load(a_ptrs + k), tl.load(b_ptrs + k * N), acc)
```

## What to do

ptxas's reasons, in its words:

* *insufficient register resources*: a tile of M x N takes M * N / (32 * num_warps) registers per
  thread, of 255 at the most, for each accumulator. Raise `num_warps`, make the tile smaller, or
  raise `maxnreg`. Such a kernel spills, too.
* *function call*, *Extern calls*: remove `tl.device_print` and functions that are not inlined from
  the kernel.
* *non wgmma instructions defining accumulator registers*: seen where a loop may run zero iterations
  and the accumulators are set to zero on the path around it. Make the loop's bound a
  `tl.constexpr`, or try another version of Triton: the affected versions differ from kernel to
  kernel.

`ptxas -v --gpu-name sm_90a kernel.ptx -o /dev/null` prints the reason. Triton's wheel has ptxas in
`backends/nvidia/bin`, next to `ptxas-blackwell`, which reads newer PTX.

## Targets

NVIDIA's Hopper (`wgmma`). No other GPU has asynchronous products with accumulators in registers.
"""

from collections.abc import Iterable, Iterator

from irlens.analyze.facts import Facts
from irlens.isa.ptx import Function, Instruction
from irlens.isa.ptx.registers import access
from irlens.model.report import Blame, Severity
from irlens.model.source import user_frame
from irlens.rules import Match

CODE = "IRL404"
NAME = "serialized-products"
SEVERITY: Severity = "warning"
NEEDS = ("serialized",)


def find(facts: Facts) -> Iterator[Match]:
    """Yield one finding for a kernel whose products ptxas serialized, at the first of them."""
    if facts.ptx is None or not facts.serialized:
        return
    products = [i for i in facts.ptx.instructions if i.name.startswith("wgmma.mma_async")]
    source = user_frame(products[0].locations)
    place = source or f"ptx:{products[0].line}"
    kind, reason, hint = _remedy(facts, facts.ptx, products)
    yield Match(
        message=(
            f"ptxas serialized the matrix products (wgmma), first at {place}: it waits for each"
            " before it issues the next"
        ),
        hint=hint,
        stage="ptx",
        line=products[0].line,
        source=source,
        blame=Blame(reason=reason, kind=kind),
    )


def _remedy(
    facts: Facts, kernel: Function, products: Iterable[Instruction]
) -> tuple[str, str, str]:
    """Return the kind of cause that the kernel shows, the cause, and a hint."""
    if any(instruction.opcode == "call" for instruction in kernel.instructions):
        hint = "remove tl.device_print, and functions that are not inlined, from the kernel"
        return "call", "the kernel calls functions", hint
    accumulators, registers = _accumulators(products), facts.resources.registers
    if registers is not None and accumulators >= registers:
        need = f"the accumulators are {accumulators} registers per thread, of {registers}"
        return "registers", need, f"raise num_warps or make the tile smaller: {need}"
    return (
        "",
        "ptxas says why",
        "make the bounds of the loop constexprs, or try another Triton: ptxas -v prints why",
    )


def _accumulators(products: Iterable[Instruction]) -> int:
    """Return the number of accumulator registers: products of one dot add to the same ones."""
    accesses = (access(product) for product in products)
    return len({name for accessed in accesses if accessed is not None for name in accessed.writes})
