"""Operations of ttir and ttgir that access global memory, and those that certainly do not.

Sources: Triton, ``TritonOps.td``, ``TritonGPUOps.td``, ``TritonNvidiaGPUOps.td`` and
``TritonAMDGPUOps.td``. The dialect "amdgpu" became "amdg" in Triton 3.6.
"""

import msgspec

from irlens.isa.mlir.tree import Operation
from irlens.isa.mlir.types import Pointer, Shaped, Tensor, Type


class Operands(msgspec.Struct, frozen=True):
    """Where an access through pointers has its operands.

    Attributes:
        pointer: The pointers; AMD buffer accesses have one pointer, which the offsets follow.
        offsets: Whether offsets in elements follow the pointer.
    """

    pointer: int
    mask: int | None
    offsets: bool = False


#: Accesses through pointers.
POINTERS: dict[str, Operands] = {
    "tt.load": Operands(0, 1),
    "tt.store": Operands(0, 2),
    "tt.atomic_rmw": Operands(0, 2),
    "tt.atomic_cas": Operands(0, None),
    "ttg.async_copy_global_to_local": Operands(0, 2),
    "amdg.buffer_load": Operands(0, 2, offsets=True),
    "amdg.buffer_load_to_local": Operands(0, 2, offsets=True),
    "amdg.buffer_store": Operands(1, 3, offsets=True),
    "amdg.buffer_atomic_rmw": Operands(1, 3, offsets=True),
    "amdg.buffer_atomic_cas": Operands(2, None, offsets=True),
}
#: Accesses of a tile through a descriptor, and the number of operands between the tile's place and
#: the predicate, where there is one.
TILES: dict[str, int | None] = {
    "tt.descriptor_load": None,
    "tt.descriptor_store": None,
    "tt.descriptor_reduce": None,
    "ttng.async_tma_copy_global_to_local": 2,
    "ttng.async_tma_copy_local_to_global": None,
    "ttng.async_tma_reduce": None,
    "amdg.async_tdm_copy_global_to_local": 1,
    "amdg.async_tdm_copy_local_to_global": None,
}
#: Accesses of rows of a tensor, whose numbers are an operand.
ROWS: dict[str, int | None] = {
    "tt.descriptor_gather": None,
    "tt.descriptor_scatter": None,
    "ttng.async_tma_gather": 2,
    "ttng.async_tma_scatter": None,
}
BULK_LOADS = frozenset(
    {
        "tt.descriptor_load", "tt.descriptor_gather", "ttng.async_tma_copy_global_to_local",
        "ttng.async_tma_gather", "amdg.async_tdm_copy_global_to_local",
    }
)  # fmt: skip
BULK_STORES = frozenset(
    {
        "tt.descriptor_store", "tt.descriptor_scatter", "tt.descriptor_reduce",
        "ttng.async_tma_copy_local_to_global", "ttng.async_tma_scatter", "ttng.async_tma_reduce",
        "amdg.async_tdm_copy_local_to_global",
    }
)  # fmt: skip
LOADS = BULK_LOADS | {
    "tt.load", "ttg.async_copy_global_to_local", "amdg.buffer_load", "amdg.buffer_load_to_local",
}  # fmt: skip
ATOMICS = frozenset(
    {
        "tt.atomic_rmw", "tt.atomic_cas", "tt.descriptor_reduce", "ttng.async_tma_reduce",
        "amdg.buffer_atomic_rmw", "amdg.buffer_atomic_cas",
    }
)  # fmt: skip
STORES = (BULK_STORES - ATOMICS) | {"tt.store", "amdg.buffer_store"}
#: Loads that yield their data as a value.
VALUES = frozenset({"tt.load", "amdg.buffer_load"})

#: What operations do that make a descriptor in memory of the kernel's own, which is not counted.
TENSORMAPS = {
    "ttg.global_scratch_alloc": "memory",
    "ttng.tensormap_create": "write",
    "ttng.reinterpret_tensor_descriptor": "read",
}

#: Operations of ttgir that access no global memory: those of shared and tensor memory, barriers,
#: waits, conversions and products.
ON_CHIP = frozenset(
    {
        "amdg.arrive_barrier", "amdg.async_copy_mbarrier_arrive", "amdg.async_tdm_intrinsic_wait",
        "amdg.async_tdm_wait", "amdg.async_wait", "amdg.cluster_barrier_arrive",
        "amdg.cluster_barrier_wait", "amdg.concat", "amdg.cond_barrier", "amdg.extract_slice",
        "amdg.in_thread_transpose", "amdg.init_barrier", "amdg.instruction_sched_hint",
        "amdg.local_load_packed_tranposed", "amdg.local_load_packed_transposed",
        "amdg.memory_counter_wait", "amdg.scaled_downcast_fp4", "amdg.scaled_downcast_fp8",
        "amdg.scaled_upcast_fp4", "amdg.scaled_upcast_fp8", "amdg.upcast_mxfp",
        "amdg.wait_barrier", "gpu.barrier", "rocdl.sched.barrier", "rocdl.s.setprio",
        "rocdl.s.barrier", "rocdl.sched.group.barrier", "ttg.async_commit_group", "ttg.async_wait",
        "ttg.barrier", "ttg.fp4_to_fp", "ttg.local_alloc", "ttg.local_atomic_scatter_rmw",
        "ttg.local_barrier", "ttg.local_dealloc", "ttg.local_gather", "ttg.local_load",
        "ttg.local_scatter", "ttg.local_store", "ttg.memdesc_index", "ttg.memdesc_reinterpret",
        "ttg.memdesc_reshape", "ttg.memdesc_subslice", "ttg.memdesc_subview", "ttg.memdesc_trans",
        "ttg.warp_id", "ttng.arrive_barrier", "ttng.async_copy_mbarrier_arrive",
        "ttng.async_shared_store", "ttng.async_tma_store_wait", "ttng.barrier_expect",
        "ttng.clc_get_program_id", "ttng.clc_is_canceled", "ttng.clc_load_result",
        "ttng.clc_try_cancel", "ttng.cluster_arrive", "ttng.cluster_barrier", "ttng.cluster_wait",
        "ttng.fence_async_shared", "ttng.fence_mbarrier_init_release_cluster",
        "ttng.init_barrier", "ttng.inval_barrier", "ttng.packed_arith", "ttng.tc_gen5_commit",
        "ttng.tc_gen5_mma", "ttng.tc_gen5_mma_scaled", "ttng.tensormap_fenceproxy_acquire",
        "ttng.tmem_alloc", "ttng.tmem_copy", "ttng.tmem_load", "ttng.tmem_store",
        "ttng.tmem_subslice", "ttng.tmem_wait", "ttng.wait_barrier", "ttng.warp_group_dot",
        "ttng.warp_group_dot_wait",
    }
)  # fmt: skip


def buffer_values(operation: Operation) -> tuple[tuple[int, ...], Type | None]:
    """Return the shape and the element type of what an AMD buffer access moves.

    They print their pointer's type, or the tensor of their values alone up to Triton 3.6; those to
    LDS print the tensor of offsets.
    """
    tensor = next((each for each in operation.types if isinstance(each, Tensor)), None)
    for each in operation.types:
        if isinstance(each, Pointer) or (type(each) is Shaped and not each.shape):
            element = each.pointee if isinstance(each, Pointer) else each.element
            return tensor.shape if tensor else (), element
    return (tensor.shape, tensor.element) if tensor else ((), None)


#: Operations with a region that accesses no memory and computes data.
DATA_REGIONS = frozenset({"tt.reduce", "tt.scan", "tt.map_elementwise"})
#: Dialects and operations without side effects.
_PURE_DIALECTS = ("arith.", "math.")
_PURE = frozenset(
    {
        "tt.addptr", "tt.bitcast", "tt.broadcast", "tt.cat", "tt.clampf", "tt.dot",
        "tt.dot_scaled", "tt.elementwise_inline_asm", "tt.expand_dims", "tt.extern_elementwise",
        "tt.fp_to_fp", "tt.gather", "tt.histogram", "tt.int_to_ptr", "tt.join", "tt.make_range",
        "tt.mulhiui", "tt.precise_divf", "tt.precise_sqrt", "tt.ptr_to_int", "tt.reshape",
        "tt.splat", "tt.split", "tt.trans", "tt.unsplat", "ttg.convert_layout", "ub.poison",
        *ON_CHIP,
    }
)  # fmt: skip
#: Operations that neither compute a value nor access memory that is counted.
SILENT = frozenset({"tt.print", "tt.assert", "llvm.intr.assume", "gpu.barrier", "ttg.barrier"})
#: Operations that end a block.
TERMINATORS = frozenset(
    {
        "scf.yield", "scf.condition", "tt.return", "cf.br", "cf.cond_br", "ttg.warp_yield",
        "ttg.warp_return",
    }
)  # fmt: skip
#: Operations that each compute one floating-point number an element, those of ``math`` aside.
_FLOATING = frozenset(
    f"arith.{name}f"
    for name in ("add", "sub", "mul", "div", "rem", "neg", "maxnum", "minnum", "maximum", "minimum")
)
_FLOATING |= frozenset({"tt.clampf", "tt.precise_divf", "tt.precise_sqrt"})
#: Dialects of operations that may write through any of their operands.
_OPAQUE_DIALECTS = ("ttng.", "nvws.", "amdg.", "amdgpu.")


def is_pure(name: str) -> bool:
    """Whether an operation has no side effects: its results depend on its operands alone."""
    return name in _PURE or name.startswith(_PURE_DIALECTS)


def is_floating(name: str) -> bool:
    """Whether an operation computes a floating-point number an element."""
    return name in _FLOATING or name.startswith("math.")


def may_write(name: str) -> bool:
    """Whether an operation of a vendor's dialect may write through any operand."""
    return name.startswith(_OPAQUE_DIALECTS)


def loaded_type(load: Operation) -> Type:
    """Return the type of what a load returns, of which MLIR prints that of the pointers."""
    pointers = load.operand_type
    if isinstance(pointers, Tensor) and isinstance(pointers.element, Pointer):
        return Tensor(pointers.shape, pointers.element.pointee)
    return pointers.pointee if isinstance(pointers, Pointer) else load.result_type
