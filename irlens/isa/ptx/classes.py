"""Classes of PTX instructions (PTX ISA, Instruction Set)."""

from functools import lru_cache

from irlens.isa.ptx.records import Instruction

#: Instructions of each class, by the dotted prefix of their name that decides it. Those of
#: ``_TYPED`` and ``_MEMORY`` are classified by their type and their state space instead.
_CLASSES = {
    "integer": "addc bfe bfi bfind bmsk brev clz dp2a dp4a fns mad24 madc mul24 popc rem sad subc"
    " szext",
    "floating point": "copysign fma",
    "special function": "cos ex2 lg2 rcp rsqrt sin sqrt tanh",
    "compare & select": "selp set setp slct testp",
    "logic & shift": "and cnot lop3 not or prmt shf shl shr xor",
    "conversion": "cvt cvta",
    "move": "mov",
    "shared load": "ldmatrix",
    "shared store": "stmatrix",
    "async copy": "cp.async cp.reduce",
    "async control": "cp.async.commit_group cp.async.wait_group cp.async.wait_all"
    " cp.async.mbarrier cp.async.bulk.commit_group cp.async.bulk.wait_group"
    " wgmma.fence wgmma.commit_group wgmma.wait_group"
    " tcgen05.commit tcgen05.fence tcgen05.wait",
    "atomic": "atom multimem red",
    "barrier & fence": "bar barrier fence griddepcontrol mbarrier membar",
    "tensor core": "mma wgmma wmma tcgen05",
    "tensor memory": "tcgen05.alloc tcgen05.cp tcgen05.dealloc tcgen05.ld"
    " tcgen05.relinquish_alloc_permit tcgen05.shift tcgen05.st",
    "shuffle": "movmatrix shfl",
    "vote & reduce": "activemask elect match redux vote",
    "control": "bra brkpt brx call clusterlaunchcontrol exit ret trap",
    "cache control": "applypriority createpolicy discard prefetch prefetchu cp.async.bulk.prefetch",
    "texture & surface": "istypep suld suq sured sust tex tld4 txq",
    "video": "vabsdiff vabsdiff2 vabsdiff4 vadd vadd2 vadd4 vavrg2 vavrg4 vmad vmax vmax2 vmax4"
    " vmin vmin2 vmin4 vset vset2 vset4 vshl vshr vsub vsub2 vsub4",
    "other": "alloca getctarank isspacep mapa nanosleep pmevent setmaxnreg stackrestore stacksave"
    " tensormap",
}
_CLASS_OF = {name: kind for kind, names in _CLASSES.items() for name in names.split()}
#: The longest name above has this many parts.
_PARTS = max(name.count(".") + 1 for name in _CLASS_OF)

_TYPED = frozenset({"abs", "add", "div", "mad", "max", "min", "mul", "neg", "sub"})
_FLOATS = frozenset({"f16", "f16x2", "bf16", "bf16x2", "f32", "f32x2", "f64"})
_MEMORY = {"ld": "load", "ldu": "load", "st": "store"}
_SPACES = {
    "const": "constant",
    "global": "global",
    "local": "local",
    "param": "parameter",
    "shared": "shared",
}


def classify(instruction: Instruction) -> str | None:
    """Return an instruction's class; ``None`` if its opcode is not in the PTX ISA."""
    return _classify(instruction.opcode, instruction.modifiers)


@lru_cache(maxsize=4096)
def _classify(opcode: str, modifiers: tuple[str, ...]) -> str | None:
    if opcode in _TYPED:
        return "integer" if _FLOATS.isdisjoint(modifiers) else "floating point"
    if opcode in _MEMORY:
        spaces = (_SPACES.get(modifier.partition("::")[0]) for modifier in modifiers)
        return f"{next(filter(None, spaces), 'generic')} {_MEMORY[opcode]}"
    name = (opcode, *modifiers)
    for parts in range(min(_PARTS, len(name)), 0, -1):
        kind = _CLASS_OF.get(".".join(name[:parts]))
        if kind is not None:
            return kind
    return None
