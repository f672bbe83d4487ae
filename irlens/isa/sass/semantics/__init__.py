"""Integer semantics of SASS: what control flow depends on, computed for one thread.

NVIDIA documents the names of the opcodes alone. What they compute follows from the PTX that they
are made from; the tests hold the paths found with them against instruction counts of a GPU.
"""

from collections.abc import Callable

from irlens.isa.dialect import Access
from irlens.isa.sass.local_words import as_step, word_access
from irlens.isa.sass.operands import SPECIAL, Form, State, Step, ThreadInputs, position
from irlens.isa.sass.records import Instruction
from irlens.isa.sass.registers import FILES
from irlens.isa.sass.semantics import arithmetic, moves, predicates
from irlens.isa.sass.semantics.shared import load_shared, pass_barrier, with_barriers


def compile_step(instruction: Instruction, launch: ThreadInputs) -> Step | None:
    """Return what an instruction does to a state; ``None`` if it is not understood."""
    rule = _RULES.get(instruction.opcode) or _RULES.get(instruction.opcode.removeprefix("U"))
    if rule is None:
        return None
    step = rule(Form(instruction, launch))
    guard = instruction.guard
    if step is None or guard is None or guard.register.index is None:
        return step
    where = position(guard.register.file, guard.register.index)
    return _guarded(step, where, int(not guard.negated), written(instruction))


def step_of(instruction: Instruction, launch: ThreadInputs, words: tuple[int, ...] | None) -> Step:
    """Return what an instruction does to a state: what is not understood makes it unknown.

    Args:
        words: The words of local memory that it accesses, if any (``local_words``).
    """
    if words is not None:
        return as_step(instruction, words)
    step = None
    if not _brings_data(instruction) or instruction.opcode in _KNOWN_LOADS:
        step = compile_step(instruction, launch)
    if step is not None:
        return step
    targets = written(instruction)

    def forget(state: State) -> None:
        for target in targets:
            state[target] = None

    return forget


def dependencies(
    instruction: Instruction,
    accessed: Access,
    words: tuple[int, ...] | None,
    known: frozenset[str] = frozenset(),
) -> Access:
    """Return what the results of an instruction depend on: data depends on nothing.

    Args:
        words: The words of local memory that it accesses, if any.
        known: The loads whose results may be known, which depend on their addresses:
            ``TENSOR_LOADS`` where a launch comes with the contents of tensors, ``HANDED_LOADS``
            where warps work for others.
    """
    reads, writes, kills = accessed.reads, accessed.writes, accessed.kills
    if instruction.opcode in ("IMAD", "UIMAD") and "HI" in instruction.modifiers:
        reads |= _upper_halves(instruction)
    reads |= _special(instruction)
    if words is not None:
        more = word_access(instruction, words)
        return Access(reads | more[0], writes | more[1], kills | more[2])
    if _brings_data(instruction) and instruction.opcode not in known:
        reads = 0
    found = Access(reads, writes, kills)
    return with_barriers(instruction, found) if known >= HANDED_LOADS else found


def _special(instruction: Instruction) -> int:
    """Return the special registers that a step depends on, as bits."""
    names = [each.text for each in instruction.operands if each.kind == "special"]
    if instruction.opcode == "SHFL":
        names.append("SR_LANEID")
    return sum(1 << SPECIAL[name] for name in names if name in SPECIAL)


def _upper_halves(instruction: Instruction) -> int:
    """IMAD.HI adds a pair, of which the disassembly names the lower half."""
    last = next((o for o in reversed(instruction.operands) if o.registers), None)
    if last is None or last.registers[0].index is None:
        return 0
    return FILES.bits(last.registers[0].file, last.registers[0].index, 2)


def _brings_data(instruction: Instruction) -> bool:
    if instruction.opcode == "SHFL" and "IDX" in instruction.modifiers:
        return [each.text for each in instruction.operands][-2:-1] != ["RZ"]
    return instruction.opcode in ("LDG", "LDS", "LDL", "LD", "SHFL", "ATOMG", "ATOM", "ATOMS")


def written(instruction: Instruction) -> list[int]:
    """Return the positions of the registers that an instruction writes."""
    accessed = instruction.access
    bits = accessed.writes if accessed is not None else 0
    return [at for at in range(bits.bit_length()) if bits >> at & 1]


def _guarded(step: Step, where: int, passing: int, targets: list[int]) -> Step:
    def run(state: State) -> None:
        held = state[where]
        if held is None:
            for target in targets:
                state[target] = None
        elif bool(held) == passing:
            step(state)

    return run


#: Loads whose results a launch may tell: of tensors whose contents come with it, and of what warps
#: hand to others.
TENSOR_LOADS, HANDED_LOADS = frozenset({"LDG"}), frozenset({"LDS"})
_KNOWN_LOADS = TENSOR_LOADS | HANDED_LOADS
_RULES: dict[str, Callable[[Form], Step | None]] = {
    **dict.fromkeys(("IADD3", "IADD", "VIADD", "UIADD3", "UVIADD"), arithmetic.add),
    **dict.fromkeys(("IMAD", "UIMAD"), arithmetic.multiply),
    **dict.fromkeys(("LEA", "ULEA"), arithmetic.lea),
    **dict.fromkeys(("SHF", "USHF"), arithmetic.shift),
    **dict.fromkeys(("LOP3", "ULOP3"), arithmetic.logic),
    **dict.fromkeys(("PLOP3", "UPLOP3"), predicates.predicate_logic),
    **dict.fromkeys(("ISETP", "UISETP"), predicates.compare),
    "FSETP": predicates.compare_argument,
    **dict.fromkeys(("SEL", "USEL"), predicates.select),
    **dict.fromkeys(("IMNMX", "VIMNMX", "UIMNMX", "UVIMNMX"), arithmetic.minimum),
    "VIADDMNMX": arithmetic.minimum_of_sum,
    **dict.fromkeys(
        ("MOV", "UMOV", "S2R", "S2UR", "R2UR", "CS2R", "LDC", "ULDC", "LDCU", "UCS2R"), moves.move
    ),
    "IABS": arithmetic.absolute,
    "SGXT": arithmetic.extend_sign,
    "PRMT": moves.permute,
    "I2F": moves.to_float,
    "I2FP": moves.to_float,
    "F2I": moves.to_integer,
    "FMUL": moves.multiply_floats,
    "MUFU": moves.reciprocal,
    "HFMA2": moves.packed_constant,
    "ELECT": predicates.hold,
    "LDG": moves.load,
    "LDS": load_shared,
    "BAR": pass_barrier,
    "USETMAXREG": predicates.hold,
    "SHFL": moves.from_first_lane,
    "SYNCS": predicates.hold,
    "UTCATOMSWS": predicates.allocate,
    **dict.fromkeys(("P2R", "UP2UR"), predicates.pack),
    **dict.fromkeys(("R2P", "UR2UP"), predicates.unpack),
    "VOTE": predicates.vote,
    "VOTEU": predicates.vote,
}
