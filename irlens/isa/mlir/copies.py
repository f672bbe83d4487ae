"""Asynchronous operations of ttgir: what an operation begins, commits or awaits.

Sources: Triton, ``TritonGPUOps.td``, ``TritonNvidiaGPUOps.td`` and ``TritonAMDGPUOps.td``. The
dialect "amdgpu" became "amdg" in Triton 3.6.
"""

from irlens.isa.events import Commit, Copy, Event, Wait
from irlens.isa.mlir import Operation
from irlens.model.report import PipelineKind

#: Loads from global memory to registers.
LOADS = frozenset({"tt.load", "tt.descriptor_load", "amdg.buffer_load", "amdgpu.buffer_load"})
#: Stores from registers to global memory, through pointers.
STORES = frozenset({"tt.store", "amdg.buffer_store", "amdgpu.buffer_store"})
#: Copies that threads issue, each its own elements; ``ttg.async_commit_group`` commits them.
COPIES = frozenset(
    {"ttg.async_copy_global_to_local", "amdg.buffer_load_to_local", "amdgpu.buffer_load_to_local"}
)
#: What they are on NVIDIA.
BY_THREADS: PipelineKind = "cp.async"
#: Copies of whole tiles by NVIDIA's TMA; barriers track them.
BULK_COPIES = frozenset({"ttng.async_tma_copy_global_to_local", "ttng.async_tma_gather"})
#: Those, and the copy that AMD's tensor data mover makes alone.
BULK_TO_SHARED = BULK_COPIES | {"amdg.async_tdm_copy_global_to_local"}
#: Each is a group of its own.
BULK_STORES = frozenset(
    {"ttng.async_tma_copy_local_to_global", "ttng.async_tma_reduce", "ttng.async_tma_scatter"}
)
#: Copies of the AMD tensor data mover. No commit groups them: waits count them one by one.
TDM_LOADS = frozenset(
    {
        "amdg.async_tdm_copy_global_to_local",
        "amdg.async_tdm_fused_copy_global_to_local",
        "amdg.async_tdm_gather",
    }
)
TDM_STORES = frozenset({"amdg.async_tdm_copy_local_to_global", "amdg.async_tdm_scatter"})
#: Matrix products to tensor memory, and their commit; both signal a barrier.
TCGEN05 = frozenset({"ttng.tc_gen5_mma", "ttng.tc_gen5_mma_scaled", "ttng.tc_gen5_commit"})
#: Waits whose results are their operands, each that of the same number.
HANDED_ON = frozenset({"ttng.warp_group_dot_wait"})
#: The mechanisms of the report that an asynchronous operation can belong to.
KINDS: dict[str, tuple[PipelineKind, ...]] = {
    **dict.fromkeys(COPIES, ("cp.async", "direct-to-lds")),
    **dict.fromkeys(BULK_COPIES, ("tma",)),
    **dict.fromkeys(BULK_STORES, ()),
    **dict.fromkeys(TDM_LOADS, ("direct-to-lds",)),
    **dict.fromkeys(TDM_STORES, ()),
    **dict.fromkeys(TCGEN05, ("tcgen05",)),
    "ttg.async_commit_group": ("cp.async", "direct-to-lds"),
    "ttg.async_wait": ("cp.async", "direct-to-lds"),
    "ttng.async_tma_store_wait": (),
    "amdg.async_tdm_wait": ("direct-to-lds",),
    "ttng.warp_group_dot": ("wgmma",),
    "ttng.warp_group_dot_wait": ("wgmma",),
    "ttng.barrier_expect": ("tma",),
    "ttng.wait_barrier": (),  # for whatever signals the barrier
}
#: For each wait, the operations that form the groups it waits for.
GROUPED = {
    "ttg.async_wait": (*COPIES, "ttg.async_commit_group"),
    "ttng.async_tma_store_wait": tuple(BULK_STORES),
    "amdg.async_tdm_wait": (*TDM_LOADS, *TDM_STORES),
    "ttng.warp_group_dot_wait": ("ttng.warp_group_dot",),
}
#: The attribute of a wait with the number of groups that it leaves outstanding.
_LIMITS = {
    "ttg.async_wait": "num",
    "ttng.async_tma_store_wait": "pendings",
    "amdg.async_tdm_wait": "num",
    "ttng.warp_group_dot_wait": "pendings",
}
#: Waits that count instructions of the machine code: what they retire is not visible in ttgir.
INSTRUCTION_WAITS = ("amdg.async_wait", "amdgpu.async_wait")


def group_event(operation: Operation) -> Event | None:
    """Return what an operation of ``GROUPED`` does; ``None`` if nothing that can be counted."""
    line, at, name = operation.span.line, operation.start, operation.name
    if name in COPIES:
        return Copy(line, None, at=at)
    if name == "ttng.warp_group_dot":
        # A product that is not awaited on the spot becomes a group of its own.
        waits = not operation.flag("isAsync")
        return None if waits else Commit(line, certain=True, at=at)
    if name == "ttg.async_commit_group" or name in BULK_STORES:
        return Commit(line, certain=True, at=at)
    if name not in _LIMITS:
        return Commit(line, certain=True, at=at, copies=True)
    limit = operation.integer(_LIMITS[name])
    return None if limit is None else Wait(line, limit, certain=True, at=at)
