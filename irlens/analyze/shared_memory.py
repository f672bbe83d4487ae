"""Dynamic shared memory: the buffers it holds, their live ranges, and the rest.

ttgir has the buffers but not their offsets: Triton assigns those on the way to LLVM IR (the
``allocation.offset`` attributes are in no stage of the cache). Buffers that are never needed at the
same time share space, as does the scratch of reductions and layout conversions. So two figures are
exact: the bytes of buffers alive at once, and what they leave of the total.
"""

import re
from collections.abc import Iterable

from irlens.analyze.capture_code import AmdgcnCode, CaptureCode, PtxCode
from irlens.analyze.mlir_loops import user_line
from irlens.analyze.ttgir_buffers import Buffers
from irlens.isa.mlir import Module, Operation
from irlens.isa.mlir.encodings import allocated_bytes
from irlens.isa.mlir.operations import Deed
from irlens.model.memory import BufferPurpose, ScratchUse, SharedBuffer, SharedMemory
from irlens.model.several import total

# Operations for which getScratchValueSize (lib/Analysis/Allocation.cpp) may reserve memory.
_SCRATCH: tuple[Deed, ...] = (
    "reduce", "scan", "histogram", "gather", "atomic", "call", "relayout", "partition",
    "create descriptor",
)  # fmt: skip

UNKNOWN_TOTAL = "the metadata does not say how much shared memory the kernel gets"
UNKNOWN_SIZE = "the size of a buffer's layout is not known exactly"
CONTRADICTION = (
    "the buffers alive at once need more than the kernel gets: the metadata is not this ttgir's"
)


def explain(module: Module, total_bytes: int | None) -> SharedMemory:
    """Return what a kernel's dynamic shared memory holds.

    Args:
        total_bytes: ``shared`` of its metadata.
    """
    buffers = Buffers(module)
    sizes = {
        index: allocated_bytes(module, module.operations[index].result_type)
        for index in buffers.ranges
    }
    buffers_bytes = total(sizes.values())
    complete = buffers_bytes is not None
    peak, peak_at = _peak(buffers, sizes) if complete else (None, None)
    remainder = total_bytes - peak if total_bytes is not None and peak is not None else None
    reason = _reason(total_bytes, remainder) if complete else UNKNOWN_SIZE
    if remainder is not None and remainder < 0:
        remainder = None
    return SharedMemory(
        total_bytes=total_bytes,
        buffers=tuple(
            _buffer(module, buffers, index, size, peak_at) for index, size in sizes.items()
        ),
        buffers_bytes=buffers_bytes,
        peak_bytes=peak,
        peak_line=None if peak_at is None else module.operations[peak_at].span.line,
        remainder_bytes=remainder,
        scratch=tuple(_scratch(module.doing(*_SCRATCH))) if remainder else (),
        reason=reason,
    )


def _peak(buffers: Buffers, sizes: dict[int, int | None]) -> tuple[int, int | None]:
    """Return the most bytes alive at once, and the first operation at which they are."""
    changes: dict[int, int] = {}
    for allocation, (first, last) in buffers.ranges.items():
        size = sizes[allocation] or 0
        changes[first] = changes.get(first, 0) + size
        changes[last + 1] = changes.get(last + 1, 0) - size
    alive, peak, where = 0, 0, None
    for index in sorted(changes):
        alive += changes[index]
        if alive > peak:
            peak, where = alive, index
    return peak, where


def _reason(total: int | None, remainder: int | None) -> str:
    if total is None:
        return UNKNOWN_TOTAL
    return CONTRADICTION if remainder is not None and remainder < 0 else ""


def _buffer(
    module: Module, buffers: Buffers, index: int, size: int | None, peak_at: int | None
) -> SharedBuffer:
    operation = module.operations[index]
    descriptor = operation.result_type
    first, last = buffers.ranges[index]
    users = buffers.users[index]
    purpose: BufferPurpose = "data"
    if any(user.name.endswith("init_barrier") for user in users):
        purpose = "barrier"
    return SharedBuffer(
        line=operation.span.line,
        source=user_line(operation),
        purpose=purpose,
        shape=descriptor.shape,
        element=str(descriptor.element),
        copies=buffers.copies(index),
        bytes=size,
        last_line=module.operations[last].span.end_line,
        at_peak=peak_at is not None and first <= peak_at <= last,
    )


def _scratch(operations: Iterable[Operation]) -> Iterable[ScratchUse]:
    for operation in operations:
        yield ScratchUse(
            operation=operation.name, line=operation.span.line, source=user_line(operation)
        )


def without_dynamic(code: CaptureCode) -> str:
    """Return the stage that shows that a kernel accesses none: its launch needs none; "" if none.

    Raises:
        ArtifactError: The assembly is broken.
    """
    if code.ptx is not None:
        return "" if _ptx_accesses(code.ptx) else "ptx"
    if code.amdgcn is not None:
        return "" if _amdgcn_accesses(code.amdgcn) else "amdgcn"
    return ""


def _ptx_accesses(code: PtxCode) -> bool:
    """Whether a kernel, or a function that it may call, names an ``.extern .shared`` variable."""
    module, kernel = code.module, code.kernel
    if kernel is None:
        return True
    names = [re.escape(v.name) for v in module.variables if (v.linkage, v.space) == _DYNAMIC]
    if not names:
        return False
    name = re.compile(rf"(?<![\w$%])(?:{'|'.join(names)})(?![\w$%])")
    called = [kernel, *(each for each in module.functions if each.kind == "func")]
    return any(name.search(i.text) for each in called for i in each.instructions)


_DYNAMIC = ("extern", "shared")


def _amdgcn_accesses(code: AmdgcnCode) -> bool:
    """Whether a kernel accesses LDS, all of which Triton allocates at launch."""
    from irlens.isa.amdgcn.memory import reads_lds, writes_lds

    if code.kernel is None:
        return True
    return any(reads_lds(each) or writes_lds(each) for each in code.kernel.instructions)
