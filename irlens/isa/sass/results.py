"""Which operands of a SASS instruction are results; see ``sass_registers`` for the source."""

from irlens.isa.sass.records import Instruction, Operand

_NO_RESULT = {
    *("BAR", "BPT", "BRA", "BREAK", "BRX", "BRXU", "BSYNC", "CALL", "CCTL", "DEPBAR", "EXIT"),
    *("JMP", "JMX", "JMXU", "KILL", "NANOSLEEP", "NOP", "RET", "UVIRTCOUNT", "WARPSYNC", "YIELD"),
}
_TWO_RESULTS = (
    *("SETP", "SETP2", "PLOP3", "LOP3", "SHFL", "ATOM", "ATOMG", "ATOMS", "R2UR", "MATCH"),
    *("ELECT", "UTCATOMSWS"),
)


def written(instruction: Instruction) -> frozenset[int]:
    """Return the positions of the operands that are results.

    The first operand is one, if it is a register. A predicate there may be followed by a second
    result (``ISETP P0, P1, ...``, ``SHFL P0, R1, ...``), a value by the carries it makes
    (``IADD3 R8, P6, P5, R4, ...``).
    """
    operands = instruction.operands
    if instruction.opcode in _NO_RESULT or not operands or operands[0].kind != "register":
        return frozenset()
    if "ENL2" in instruction.modifiers and "LD" in instruction.opcode:
        return frozenset((0, 1))
    if is_predicate(operands[0]):
        two = instruction.opcode.endswith(_TWO_RESULTS) and len(operands) > 1
        return frozenset((0, 1) if two and operands[1].kind == "register" else (0,))
    last = 1
    while last < len(operands) - 1 and is_predicate(operands[last]):
        last += 1
    return frozenset(range(last))


def is_predicate(operand: Operand) -> bool:
    """Return whether an operand is a predicate by itself."""
    return operand.kind == "register" and operand.registers[0].file in ("P", "UP")
