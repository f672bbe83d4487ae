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

`max_num_imprecise_acc` adds up the sums of fp8 products in registers, after that many elements of
K. Then each part has accumulators of its own, which wait for its product.

Asked for by name, `irlens explain KERNEL IRL404` also answers for products that Triton awaits in
the iteration that issues them: their result is used in the loop, they add up in fp16, or threads
store an operand to shared memory first. Such waits are often inherent, as before the softmax of
attention.

`ptxas -v --gpu-name sm_90a kernel.ptx -o /dev/null` prints the reason. Triton's wheel has ptxas in
`backends/nvidia/bin`, next to `ptxas-blackwell`, which reads newer PTX.

## Targets

NVIDIA's Hopper (`wgmma`). No other GPU has asynchronous products with accumulators in registers.
"""

from collections.abc import Iterable, Iterator

from irlens.analyze.awaited_products import awaited_products
from irlens.analyze.facts import Facts
from irlens.analyze.mlir_loops import user_line
from irlens.isa.mlir.operations import IMPRECISE
from irlens.isa.mlir.types import Shaped
from irlens.isa.ptx import Function, Instruction
from irlens.isa.ptx.registers import access
from irlens.model.report import Blame, Severity
from irlens.model.source import user_frame
from irlens.rules import Match, Place

CODE = "IRL404"
NAME = "serialized-products"
SEVERITY: Severity = "warning"
NEEDS = ("serialized",)

_AWAITED = {
    "stored": "give the loop stages, and load the operand in the type in which it is multiplied",
    "type": "add up in fp32, and convert the sum after the loop",
    "used": "add up in the product alone, and scale or use the sum after the loop",
    "": "irlens passes shows what the pipeliner leaves",
}


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
        place=Place("ptx", products[0].line, source),
        blame=Blame(reason=reason, kind=kind),
    )


def on_request(facts: Facts) -> Iterator[Match]:
    """Yield also the products that the compiler awaits in the iteration that issues them."""
    module, reported = facts.ttgir, set[str]()
    for awaited in awaited_products(module) if module is not None and not facts.serialized else ():
        source = user_line(awaited.product)
        place = str(source or f"ttgir:{awaited.product.span.line}")
        if place in reported:
            continue
        reported.add(place)
        yield Match(
            message=(
                f"the product (wgmma) at {place} is awaited in the iteration that issues it, and"
                f" does not overlap with the next one's: {awaited.reason}"
            ),
            hint=_AWAITED[awaited.kind],
            place=Place("ttgir", awaited.product.span.line, source),
            blame=Blame(reason=awaited.reason, kind=awaited.kind),
        )


def _remedy(
    facts: Facts, kernel: Function, products: Iterable[Instruction]
) -> tuple[str, str, str]:
    """Return the kind of cause that the kernel shows, the cause, and a hint."""
    if any(instruction.opcode == "call" for instruction in kernel.instructions):
        hint = "remove tl.device_print, and functions that are not inlined, from the kernel"
        return "call", "the kernel calls functions", hint
    if (part := _partial_sums(facts)) is not None:
        reason = f"its sums leave the tensor cores after every {part} of K (max_num_imprecise_acc)"
        hint = "a larger max_num_imprecise_acc adds up in the tensor cores for longer, less exactly"
        return "parts", reason, hint
    accumulators, registers = _accumulators(products), facts.resources.registers
    if registers is not None and accumulators >= registers:
        need = f"the accumulators are {accumulators} registers per thread, of {registers}"
        return "registers", need, f"{facts.smaller_shares}: {need}"
    return (
        "",
        "ptxas says why",
        "make the bounds of the loop constexprs, or try another Triton: ptxas -v prints why",
    )


def _partial_sums(facts: Facts) -> int | None:
    """Return the elements of K after which sums of fp8 products are added up in registers.

    So ``WGMMA.cpp`` of Triton makes those of no more elements than a tile has.
    """
    for dot in facts.ttir.doing("multiply matrices") if facts.ttir is not None else ():
        part, operand = dot.integer(IMPRECISE), dot.operand_type
        if (
            part
            and isinstance(operand, Shaped)
            and str(operand.element).startswith("f8")
            and part <= operand.shape[-1]
        ):
            return part
    return None


def _accumulators(products: Iterable[Instruction]) -> int:
    """Return the number of accumulator registers: products of one dot add to the same ones."""
    accesses = (access(product) for product in products)
    return len({name for accessed in accesses if accessed is not None for name in accessed.writes})
