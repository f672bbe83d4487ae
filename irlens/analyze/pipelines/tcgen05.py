"""Pipelines of Blackwell's tensor core (PTX ISA, ``tcgen05.mma`` and ``tcgen05.commit``).

The matrix instructions run asynchronously. A commit ends a barrier's phase when they are done, and
whoever reads the result, or overwrites the operands, waits for it.
"""

from msgspec.structs import replace

from irlens.analyze.pipelines.verdicts import PtxKernel, with_ring
from irlens.isa.ptx.copies import is_tcgen05_mma
from irlens.model.report import Pipeline

SERIAL = "each iteration waits for the matrix products that it issues"


def find(kernel: PtxKernel) -> list[Pipeline]:
    """Describe every innermost loop that issues matrix instructions to tensor memory.

    The stages achieved are the products under way at once; no number of them is requested.
    """
    loops = kernel.loops
    chosen = loops.innermost(is_tcgen05_mma)
    if not chosen:
        return []
    return [
        replace(  # nothing announces bytes to these barriers
            with_ring(
                kernel.blank(index, "tcgen05"),
                kernel,
                index,
                kernel.products.barriers,
                work="the matrix products",
                serial=SERIAL,
            ),
            bytes_per_iteration=None,
            bytes_in_flight=None,
        )
        for index in chosen
    ]
