"""What operations do besides computing their results, and which of them compute data alone."""

from irlens.isa.mlir.global_memory import ON_CHIP

#: Operations with a region that accesses no memory and computes data.
DATA_REGIONS = frozenset({"tt.reduce", "tt.scan", "tt.map_elementwise"})
#: Dialects without side effects, and other operations of this kind.
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
