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
    "load tensor memory",
]  # fmt: skip

#: Attributes of loops.
NUM_STAGES, FLATTENED, SPECIALIZED = "tt.num_stages", "tt.flatten", "tt.warp_specialize"
#: The names of the operations that do something.
_NAMES: dict[Deed, str] = {
    "function": "tt.func",
    "call": "tt.call",
    "return": "tt.return",
    "jump": "cf.br",
    "branch": "cf.cond_br",
    "for": "scf.for",
    "while": "scf.while",
    "if": "scf.if",
    "yield": "scf.yield",
    "condition": "scf.condition",
    "partition": "ttg.warp_specialize",
    "constant": "arith.constant",
    "range": "tt.make_range",
    "program": "tt.get_program_id",
    "programs": "tt.get_num_programs",
    "spread": "tt.splat",
    "stretch": "tt.broadcast",
    "insert": "tt.expand_dims",
    "reshape": "tt.reshape",
    "transpose": "tt.trans",
    "split": "tt.split",
    "relayout": "ttg.convert_layout",
    "recast": "tt.bitcast",
    "offset": "tt.addptr",
    "add": "arith.addi",
    "subtract": "arith.subi",
    "multiply": "arith.muli",
    "divide": "arith.divsi",
    "divide unsigned": "arith.divui",
    "remainder": "arith.remsi",
    "remainder unsigned": "arith.remui",
    "minimum": "arith.minsi",
    "minimum unsigned": "arith.minui",
    "maximum": "arith.maxsi",
    "maximum unsigned": "arith.maxui",
    "and": "arith.andi",
    "or": "arith.ori",
    "xor": "arith.xori",
    "shift left": "arith.shli",
    "shift right": "arith.shrsi",
    "shift right unsigned": "arith.shrui",
    "compare": "arith.cmpi",
    "select": "arith.select",
    "truncate": "arith.trunci",
    "extend": "arith.extsi",
    "extend unsigned": "arith.extui",
    "to index": "arith.index_cast",
    "add float": "arith.addf",
    "subtract float": "arith.subf",
    "multiply float": "arith.mulf",
    "divide float": "arith.divf",
    "maximum float": "arith.maximumf",
    "maximum number": "arith.maxnumf",
    "minimum float": "arith.minimumf",
    "minimum number": "arith.minnumf",
    "absolute": "math.absi",
    "floor": "math.floor",
    "ceil": "math.ceil",
    "compare float": "arith.cmpf",
    "to float": "arith.sitofp",
    "unsigned to float": "arith.uitofp",
    "from float": "arith.fptosi",
    "unsigned from float": "arith.fptoui",
    "load": "tt.load",
    "store": "tt.store",
    "atomic": "tt.atomic_rmw tt.atomic_cas",
    "load tile": (
        "tt.descriptor_load tt.descriptor_gather tt.experimental_descriptor_load "
        "tt.experimental_descriptor_gather"
    ),
    "store tile": "tt.descriptor_store tt.descriptor_scatter",
    "reduce tile": "tt.descriptor_reduce",
    "multiply matrices": "tt.dot",
    "multiply scaled matrices": "tt.dot_scaled",
    "opaque": "tt.elementwise_inline_asm tt.extern_elementwise",
    "reduce": "tt.reduce",
    "scan": "tt.scan",
    "histogram": "tt.histogram",
    "gather": "tt.gather",
    "allocate shared": "ttg.local_alloc",
    "allocate tensor memory": "ttng.tmem_alloc",
    "load tensor memory": "ttng.tmem_load",
    "free shared": "ttg.local_dealloc",
    "load shared": "ttg.local_load ttg.local_gather amdg.local_load_packed_transposed",
    "store shared": "ttg.local_store",
    "pick buffer": "ttg.memdesc_index",
    "slice buffer": "ttg.memdesc_subview",
    "view shared": (
        "ttg.memdesc_reinterpret ttg.memdesc_reshape ttg.memdesc_subslice ttg.memdesc_trans"
    ),
    "make tile": "tt.make_tensor_descriptor",
    "make block": "tt.make_tensor_ptr",
    "advance block": "tt.advance",
    "await barrier": "ttng.wait_barrier",
    "announce bytes": "ttng.barrier_expect",
    "create descriptor": "ttng.tensormap_create",
    "to pointer": "tt.int_to_ptr",
    "to address": "tt.ptr_to_int",
    "print": "tt.print tt.assert",
    "synchronize": "gpu.barrier ttg.barrier",
}
_IN_BUFFERS = frozenset({"tt.load", "tt.store", "tt.atomic_rmw", "tt.atomic_cas"})
_DEEDS = {name: does for does, names in _NAMES.items() for name in names.split()}
#: The attribute by which a value is known to be a multiple of a number.
DIVISIBILITY = "tt.divisibility"
#: The elements of K after which a dot's sums in fp8 are added up in registers (Hopper).
IMPRECISE = "maxNumImpreciseAcc"
#: The attribute by which a pointer is known to be to less than 2 GB (AMD).
POINTER_RANGE = "tt.pointer_range"


def names_of(*deeds: Deed) -> frozenset[str]:
    """Return the names of the operations that do one of these, AMD's of buffers among them."""
    plain = frozenset(name for name, does in _DEEDS.items() if does in deeds)
    of_memory = {each.partition(".")[2] for each in plain if each in _IN_BUFFERS}
    return plain | {f"{amd}.buffer_{each}" for amd in ("amdg", "amdgpu") for each in of_memory}


def deed(name: str) -> Deed | None:
    """Return what an operation does, by its name; ``None`` for all others."""
    return _DEEDS.get(name)


#: Loads of the source: of tensors of pointers, and of tiles.
LOADS = frozenset(name for name, does in _DEEDS.items() if does in ("load", "load tile"))
