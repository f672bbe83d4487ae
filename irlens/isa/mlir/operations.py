"""What operations do, in words that the dialects and versions of Triton share.

Engines ask an operation what it ``does``, and know no names of operations. Those that move data
between memories are in ``global_memory`` and ``copies``, products in ``products``.
"""

from typing import Literal, TypeAlias

#: "spread" is a scalar to a tensor, "stretch" a dimension of 1 to a longer one, "insert" a
#: dimension of 1; "offset" adds to a pointer; "partition" runs regions by different warps.
Deed: TypeAlias = Literal[
    "function", "call", "return", "jump", "branch", "for", "while", "if", "yield", "condition",
    "partition", "constant", "range", "program", "programs", "spread", "stretch", "insert",
    "reshape", "transpose", "split", "relayout", "recast", "offset", "add", "subtract", "multiply",
    "divide", "divide unsigned", "remainder", "remainder unsigned", "minimum", "minimum unsigned",
    "maximum", "maximum unsigned", "and", "or", "xor", "shift left", "shift right",
    "shift right unsigned", "compare", "select", "truncate", "extend", "extend unsigned",
    "to index",
    "add float", "subtract float", "multiply float", "divide float", "maximum float",
    "maximum number", "minimum float", "minimum number", "floor", "ceil", "absolute",
    "compare float", "to float", "unsigned to float", "from float", "unsigned from float",
    "load", "store", "atomic", "load tile", "store tile", "reduce tile", "multiply matrices",
    "multiply scaled matrices", "opaque", "reduce", "scan", "histogram", "gather",
    "allocate shared", "free shared", "load shared", "store shared", "view shared", "pick buffer",
    "slice buffer", "make tile", "make block", "advance block", "await barrier", "announce bytes",
    "create descriptor", "to pointer", "to address", "print", "synchronize",
    "allocate tensor memory",
]  # fmt: skip

#: Attributes of loops.
NUM_STAGES, FLATTENED, SPECIALIZED = "tt.num_stages", "tt.flatten", "tt.warp_specialize"
_DEEDS: dict[str, Deed] = {
    "tt.func": "function",
    "tt.call": "call",
    "tt.return": "return",
    "cf.br": "jump",
    "cf.cond_br": "branch",
    "scf.for": "for",
    "scf.while": "while",
    "scf.if": "if",
    "scf.yield": "yield",
    "scf.condition": "condition",
    "ttg.warp_specialize": "partition",
    "arith.constant": "constant",
    "tt.make_range": "range",
    "tt.get_program_id": "program",
    "tt.get_num_programs": "programs",
    "tt.splat": "spread",
    "tt.broadcast": "stretch",
    "tt.expand_dims": "insert",
    "tt.reshape": "reshape",
    "tt.trans": "transpose",
    "tt.split": "split",
    "ttg.convert_layout": "relayout",
    "tt.bitcast": "recast",
    "tt.addptr": "offset",
    "arith.addi": "add",
    "arith.subi": "subtract",
    "arith.muli": "multiply",
    "arith.divsi": "divide",
    "arith.divui": "divide unsigned",
    "arith.remsi": "remainder",
    "arith.remui": "remainder unsigned",
    "arith.minsi": "minimum",
    "arith.minui": "minimum unsigned",
    "arith.maxsi": "maximum",
    "arith.maxui": "maximum unsigned",
    "arith.andi": "and",
    "arith.ori": "or",
    "arith.xori": "xor",
    "arith.shli": "shift left",
    "arith.shrsi": "shift right",
    "arith.shrui": "shift right unsigned",
    "arith.cmpi": "compare",
    "arith.select": "select",
    "arith.trunci": "truncate",
    "arith.extsi": "extend",
    "arith.extui": "extend unsigned",
    "arith.index_cast": "to index",
    "arith.addf": "add float",
    "arith.subf": "subtract float",
    "arith.mulf": "multiply float",
    "arith.divf": "divide float",
    "arith.maximumf": "maximum float",
    "arith.maxnumf": "maximum number",
    "arith.minimumf": "minimum float",
    "arith.minnumf": "minimum number",
    "math.absi": "absolute",
    "math.floor": "floor",
    "math.ceil": "ceil",
    "arith.cmpf": "compare float",
    "arith.sitofp": "to float",
    "arith.uitofp": "unsigned to float",
    "arith.fptosi": "from float",
    "arith.fptoui": "unsigned from float",
    "tt.load": "load",
    "tt.store": "store",
    "tt.atomic_rmw": "atomic",
    "tt.atomic_cas": "atomic",
    "tt.descriptor_load": "load tile",
    "tt.descriptor_gather": "load tile",
    "tt.experimental_descriptor_load": "load tile",
    "tt.experimental_descriptor_gather": "load tile",
    "tt.descriptor_store": "store tile",
    "tt.descriptor_scatter": "store tile",
    "tt.descriptor_reduce": "reduce tile",
    "tt.dot": "multiply matrices",
    "tt.dot_scaled": "multiply scaled matrices",
    "tt.elementwise_inline_asm": "opaque",
    "tt.extern_elementwise": "opaque",
    "tt.reduce": "reduce",
    "tt.scan": "scan",
    "tt.histogram": "histogram",
    "tt.gather": "gather",
    "ttg.local_alloc": "allocate shared",
    "ttng.tmem_alloc": "allocate tensor memory",
    "ttg.local_dealloc": "free shared",
    "ttg.local_load": "load shared",
    "ttg.local_gather": "load shared",
    "amdg.local_load_packed_transposed": "load shared",
    "ttg.local_store": "store shared",
    "ttg.memdesc_index": "pick buffer",
    "ttg.memdesc_subview": "slice buffer",
    "ttg.memdesc_reinterpret": "view shared",
    "ttg.memdesc_reshape": "view shared",
    "ttg.memdesc_subslice": "view shared",
    "ttg.memdesc_trans": "view shared",
    "tt.make_tensor_descriptor": "make tile",
    "tt.make_tensor_ptr": "make block",
    "tt.advance": "advance block",
    "ttng.wait_barrier": "await barrier",
    "ttng.barrier_expect": "announce bytes",
    "ttng.tensormap_create": "create descriptor",
    "tt.int_to_ptr": "to pointer",
    "tt.ptr_to_int": "to address",
    "tt.print": "print",
    "tt.assert": "print",
    "gpu.barrier": "synchronize",
    "ttg.barrier": "synchronize",
}
#: The attribute by which a value is known to be a multiple of a number.
DIVISIBILITY = "tt.divisibility"
#: Loads of the source: of tensors of pointers, and of tiles.


def names_of(*deeds: Deed) -> frozenset[str]:
    """Return the names of the operations that do one of these, AMD's of buffers among them."""
    buffers = {f"{amd}.buffer_{each}" for amd in ("amdg", "amdgpu") for each in deeds}
    return frozenset(name for name, does in _DEEDS.items() if does in deeds) | buffers


def deed(name: str) -> Deed | None:
    """Return what an operation does, by its name; ``None`` for all others."""
    return _DEEDS.get(name)


LOADS = frozenset(name for name, does in _DEEDS.items() if does in ("load", "load tile"))
