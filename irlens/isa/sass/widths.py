"""How many registers each operand of a SASS instruction takes, and which operands are results.

An operand names its first register only: ``LDG.E.128 R4, desc[UR6][R2.64]`` writes R4 to R7 and
reads R2, R3, UR6 and UR7. The number follows from the opcode's family and the modifiers;
``irlens.isa.sass.registers`` says where the rules come from.
"""

import re
from collections.abc import Callable, Iterable
from functools import partial

import msgspec

from irlens.isa.sass.records import Instruction, Operand, Register


class Width(msgspec.Struct, frozen=True, gc=False):
    """Number of registers that each register of one operand stands for.

    Attributes:
        data: A register that is the operand itself.
        general: A general register in an address.
        uniform: A uniform register in an address or descriptor.
    """

    data: int = 1
    general: int = 1
    uniform: int = 1

    def of(self, operand: Operand, register: Register) -> int:
        """Return the number for one register of ``operand``."""
        if register.file not in ("R", "UR"):
            return 1
        if operand.kind in ("memory", "descriptor"):
            if register.file == "UR":
                return self.uniform
            # An address is one register if it is a 32-bit offset to a uniform base.
            return 1 if "U32" in register.suffixes else self.general
        # One operand of a packed FADD2 may be a scalar that both halves share.
        return 1 if "F32" in register.suffixes or operand.kind == "constant" else self.data


_ONE = Width()
_TWO = Width(2, 2, 2)
_GLOBAL_ADDRESS = Width(general=2, uniform=2)

_Widths = list[Width] | None


def widths(instruction: Instruction) -> _Widths:
    """Return the width of each operand; ``None`` where opcode or form are not known."""
    rule = _RULES.get(instruction.opcode)
    operand_widths = rule(instruction) if rule is not None else None
    # A disassembly is untrusted: operands may be missing, shapes may be impossible.
    if operand_widths is None or len(operand_widths) != len(instruction.operands):
        return None
    absurd = any(max(e.data, e.general, e.uniform) > 256 for e in operand_widths if e is not _ONE)
    return None if absurd else operand_widths


def _same(instruction: Instruction, width: Width) -> _Widths:
    return [width] * len(instruction.operands)


def _plain(instruction: Instruction) -> _Widths:
    """32 bits throughout, or 64 where a modifier says so and the opcode is known to have it."""
    wide = {"64", "F64", "S64", "U64"}.intersection(instruction.modifiers)
    if not wide or instruction.opcode in _FUNNELS:
        return _same(instruction, _ONE)
    return _same(instruction, _TWO) if instruction.opcode in _HAVE_64 else None


#: SHF.R.U64 shifts two registers that it names one by one, and writes one half.
_FUNNELS = frozenset({"SHF", "USHF"})
_HAVE_64 = frozenset({"IADD", "IMNMX", "ISETP", "MOV", "SEL", "UIADD3", "UISETP", "UMOV"})


#: 64-bit floats, pairs of 32-bit floats, and code addresses.
_double = partial(_same, width=_TWO)


def _special_pair(instruction: Instruction) -> _Widths:
    """CS2R reads a special register, or zero, into 64 bits."""
    return _same(instruction, _ONE if "32" in instruction.modifiers else _TWO)


def _multiply_add(instruction: Instruction) -> _Widths:
    """IMAD.WIDE multiplies 32 bits and adds and yields 64."""
    operand_widths = [_ONE] * len(instruction.operands)
    if "WIDE" in instruction.modifiers:
        values = [n for n, operand in enumerate(instruction.operands) if not operand.is_predicate]
        if len(values) != 4:
            return None
        operand_widths[0] = operand_widths[values[3]] = _TWO
    return operand_widths


def _convert(instruction: Instruction) -> _Widths:
    """The result's type comes before the source's; an omitted one has 32 bits."""
    modifiers = instruction.modifiers
    integer_wide = "S64" in modifiers or "U64" in modifiers
    float_wide = "F64" in modifiers
    match instruction.opcode.removeprefix("U"):
        case "F2F":
            types = [name for name in modifiers if re.fullmatch(r"[BT]?F(?:16|32|64)", name)]
            if len(types) != 2:
                return None
            wide = [name == "F64" for name in types]
        case "F2I":
            wide = [integer_wide, float_wide]
        case "I2F":
            wide = [float_wide, integer_wide]
        case _:
            wide = [float_wide, float_wide]
    return [_TWO if each else _ONE for each in wide]


def _moved(instruction: Instruction, address: Width) -> _Widths:
    """Loads, stores and atomics: one width for what is moved, one for each address."""
    size = _data_size(instruction.modifiers)
    if size is None:
        return None
    data = Width(size)
    return [data if operand.kind == "register" else address for operand in instruction.operands]


#: Outside of global memory addresses have 32 bits, in it 64, written .E.
_transfer, _global = (partial(_moved, address=each) for each in (_ONE, _GLOBAL_ADDRESS))


def _data_size(modifiers: Iterable[str]) -> int | None:
    """Registers of data per operand. ENL2.256 names two operands of 128 bits each."""
    size = 1
    for name in modifiers:
        if name in ("64", "F64"):
            size = 2
        elif name in ("128", "256"):
            size = 4
        elif match := re.fullmatch(r"B?F(16|32)x([248])", name):
            size = int(match[1]) * int(match[2]) // 32
        elif re.fullmatch(r"[VXx]\d+", name):
            return None
    return size


def _copy_to_shared(instruction: Instruction) -> _Widths:
    """LDGSTS: to a shared address, from a global one."""
    return [
        _ONE if position == 0 else _GLOBAL_ADDRESS for position in range(len(instruction.operands))
    ]


def _matrix_transfer(instruction: Instruction) -> _Widths:
    """LDSM and STSM: one, two or four 8x8 matrices, one register each."""
    if not {"M88", "MT88"}.intersection(instruction.modifiers):
        return None
    last = instruction.modifiers[-1]
    return _same(instruction, Width(int(last) if last in ("2", "4") else 1))


def _tensor_memory(instruction: Instruction) -> _Widths:
    """LDTM and STTM: ``.xN`` times what one row of the shape gives a thread."""
    count = 1
    for name in instruction.modifiers:
        if match := re.fullmatch(r"x(\d{1,3})", name):
            count *= int(match[1])
        elif match := re.match(r"\d+dp(\d{1,3})bit", name):
            count *= max(1, int(match[1]) // 64)
        else:
            return None
    return _same(instruction, Width(count))


#: Bits of an element of A and B: by opcode, unless a modifier says otherwise.
_MMA_BITS = {"HMMA": 16, "QMMA": 8, "IMMA": 8, "OMMA": 4, "DMMA": 64, "BMMA": 1}
_ELEMENT_BITS = {"TF32": 32, "S8": 8, "U8": 8, "S4": 4, "U4": 4}


def _mma(instruction: Instruction) -> _Widths:
    """Warp-wide D = A B + C of shape m, n = 8, k: a fragment is spread over 32 lanes."""
    shape = next((name for name in instruction.modifiers if name[0].isdigit()), None)
    match = re.fullmatch(r"(16|8)x?8x?(\d{1,3})", shape or "")
    if match is None or "SP" in instruction.modifiers:
        return None
    rows, depth = int(match[1]), int(match[2])
    element = _MMA_BITS[instruction.opcode]
    for name in instruction.modifiers:
        element = _ELEMENT_BITS.get(name, element)
    result = 64 if instruction.opcode == "DMMA" else 32
    if instruction.opcode in ("HMMA", "QMMA") and "F32" not in instruction.modifiers:
        result = 16
    accumulator = Width(rows * 8 * result // 1024)
    fragments = [Width(rows * depth * element // 1024), Width(8 * depth * element // 1024)]
    scales = len(instruction.operands) - 4
    return [accumulator, *fragments, accumulator, *[_ONE] * scales]


def _warpgroup_mma(instruction: Instruction) -> _Widths:
    """wgmma: D and C are 64 x n over 128 threads; A is a descriptor or four registers."""
    shape = next((name for name in instruction.modifiers if name[0].isdigit()), None)
    match = re.fullmatch(r"64x(\d{1,3})x\d{1,3}", shape or "")
    if match is None or "SP" in instruction.modifiers:
        return None
    narrow = instruction.opcode in ("HGMMA", "QGMMA") and "F32" not in instruction.modifiers
    accumulator = Width(int(match[1]) // (4 if narrow else 2))
    operands = instruction.operands
    general = [
        position
        for position, operand in enumerate(operands)
        if operand.kind == "register" and operand.registers[0].file == "R"
    ]
    if not general:
        return None
    operand_widths = [Width(4, uniform=4) for _ in operands]
    operand_widths[0] = operand_widths[general[-1]] = accumulator
    return operand_widths


def _tensor_core(instruction: Instruction) -> _Widths:
    """tcgen05: 64-bit matrix descriptors, 32-bit tensor memory addresses, a pair of scales."""
    operand_widths = []
    for position, operand in enumerate(instruction.operands):
        scales = position == 5 and operand.text.startswith("tmem")
        operand_widths.append(_TWO if scales or operand.text.startswith("gdesc") else _ONE)
    return operand_widths


def _tensor_map(instruction: Instruction) -> _Widths:
    """TMA: shared address, barrier (loads only) and coordinates, then the descriptor's address."""
    if instruction.opcode == "UTMACCTL":
        return _same(instruction, _TWO)
    dimensions = (
        re.fullmatch(r"([1-5])D", instruction.modifiers[0]) if instruction.modifiers else None
    )
    rows = instruction.modifiers[1:] in (("GATHER4",), ("SCATTER4",))
    if dimensions is None or len(instruction.operands) > 2:
        return None
    if len(instruction.modifiers) > 1 and not rows:
        return None
    heads = {"UTMALDG": 2, "UTMASTG": 1, "UTMAREDG": 1}[instruction.opcode]
    # A column and four rows.
    return [Width(uniform=heads + (5 if rows else int(dimensions[1]))), _TWO]


def _barrier(instruction: Instruction) -> _Widths:
    """SYNCS: mbarrier operations; the barrier itself is exchanged whole, as 64 bits."""
    return _same(instruction, Width(2) if "64" in instruction.modifiers else _ONE)


def _rules() -> dict[str, Callable[[Instruction], _Widths]]:
    families: dict[Callable[[Instruction], _Widths], str] = {
        _plain: """
            FADD FADD32I FCHK FFMA FFMA32I FHADD FMNMX FMNMX3 FMUL FMUL32I FSEL FSET FSETP
            HADD2 HADD2_32I HFMA2 HFMA2_32I HMNMX2 HMUL2 HMUL2_32I HSET2 HSETP2 MUFU
            BMSK BREV FLO IABS IADD IADD3 IDP IMNMX ISETP LEA LOP3 POPC PRMT SEL SGXT SHF
            VABSDIFF VABSDIFF4 VHMNMX VIADD VIADDMNMX VIMNMX VIMNMX3
            F2FP F2IP I2FP I2IP MOV MOVM P2R PLOP3 R2P R2UR REDUX CREDUX S2R S2UR SHFL VOTE
            VOTEU MATCH ELECT
            UBMSK UBREV UF2FP UFADD UFFMA UFLO UFMNMX UFMUL UFSEL UFSET UFSETP UI2FP UIABS
            UIADD3 UIMNMX UISETP ULEA ULOP3 UMOV UP2UR UPLOP3 UPOPC UPRMT UR2UP USEL USGXT
            USHF UVIADD UVIMNMX
            BAR BMOV BPT BRA BREAK BSSY BSYNC CCTLL CGAERRBAR DEPBAR ENDCOLLECTIVE ERRBAR
            EXIT FENCE KILL LDGDEPBAR MEMBAR NANOSLEEP NOP UCGABAR USETMAXREG UTMACMDFLUSH
            UVIRTCOUNT WARPGROUP WARPSYNC YIELD
        """,
        _double: "DADD DFMA DMUL DMNMX DSETP FADD2 FFMA2 FMUL2 LEPC BRX BRXU CALL RET",
        _special_pair: "CS2R",
        _multiply_add: "IMAD UIMAD",
        _convert: "F2F F2I I2F FRND UF2F UF2I UI2F UFRND",
        _transfer: "LDS STS LDL STL LDC LDCU ULDC ATOMS",
        _global: "LD ST LDG STG ATOM ATOMG RED REDG CCTL",
        _copy_to_shared: "LDGSTS",
        _matrix_transfer: "LDSM STSM",
        _tensor_memory: "LDTM STTM",
        _mma: "HMMA QMMA IMMA OMMA DMMA BMMA",
        _warpgroup_mma: "HGMMA QGMMA IGMMA BGMMA",
        _tensor_core: "UTCHMMA UTCIMMA UTCQMMA UTCOMMA UTCBAR UTCCP UTCATOMSWS",
        _tensor_map: "UTMALDG UTMASTG UTMAREDG UTMACCTL",
        _barrier: "SYNCS",
    }
    return {name: rule for rule, names in families.items() for name in names.split()}


_RULES = _rules()


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
    (``IADD3 R8, P6, P5, R4, ...``). ``IMNMX.S64 P0, P1, R4, R8, R10, ...`` has three.
    """
    operands = instruction.operands
    if instruction.opcode in _NO_RESULT or not operands or operands[0].kind != "register":
        return frozenset()
    if "ENL2" in instruction.modifiers and "LD" in instruction.opcode:
        return frozenset((0, 1))
    if operands[0].is_predicate:
        if instruction.opcode == "IMNMX":
            values = (n for n, operand in enumerate(operands) if not operand.is_predicate)
            return frozenset(range(next(values, 0) + 1))
        two = instruction.opcode.endswith(_TWO_RESULTS) and len(operands) > 1
        return frozenset((0, 1) if two and operands[1].kind == "register" else (0,))
    last = 1
    while last < len(operands) - 1 and operands[last].is_predicate:
        last += 1
    return frozenset(range(last))
