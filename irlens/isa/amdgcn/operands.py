"""Operations and their operands (LLVM, "Syntax of AMDGPU Instruction Operands" and "Modifiers")."""

import re

import msgspec


class RegisterRange(msgspec.Struct, frozen=True, gc=False):
    """Consecutive 32-bit registers of one file.

    Attributes:
        file: "v", "s", "a", "ttmp", or the name of a special one: "vcc", "exec", "m0", "scc",
            "flat_scratch", "xnack_mask".
        first: Number of the first one. The halves of a special pair are 0 (low) and 1 (high).
        count: How many. ``vcc`` and ``exec`` are pairs; in wave32 code only their low halves
            are named.
        half: "l" or "h" where only 16 bits of one register are meant.
    """

    file: str
    first: int
    count: int
    half: str = ""


class Operand(msgspec.Struct, frozen=True, gc=False):
    """One operand: how it is written, and the registers it covers, in the order of the text.

    ``v3 /*v259*/``, which LLVM writes where the upper bits of a register's number were set by an
    earlier instruction (gfx1250), is the register in the comment.
    """

    text: str
    registers: tuple[RegisterRange, ...] = ()


class Operation(msgspec.Struct, frozen=True, gc=False):
    """What one instruction does; a dual-issue one (``v_dual_... :: v_dual_...``) does two.

    Attributes:
        mnemonic: As written, with the suffix of its encoding: "v_add_f32_e32".
        operands: Destinations first, by AMD's convention.
        modifiers: What follows the operands: ("offen", "offset:16").
    """

    mnemonic: str
    operands: tuple[Operand, ...] = ()
    modifiers: tuple[str, ...] = ()


_GROUP = r"\((?:[^()]++|\([^()]*+\))*+\)|\[[^\[\]]*+\]"
_OPERATION = re.compile(r"([a-z][a-z0-9]*+(?:_[a-z0-9]++)++|exp)(?:[ \t]++(.*))?", re.DOTALL)
_PIECES = re.compile(rf"(?:[^,()\[\]]++|{_GROUP})++")
_WORDS = re.compile(rf"(?:[^\s()\[\]]++|{_GROUP})++")
_MODIFIER = re.compile(r"[a-z]\w*+(?::\S+)?")
_NAMED_MODIFIER = re.compile(r"[a-z]\w*+:\S+")
#: Modifiers that may follow a mnemonic with no operand between.
_CACHE_MODIFIERS = frozenset({"dlc", "glc", "nt", "sc0", "sc1", "slc"})

_RENAMED = re.compile(r"\b[vsa](?:\d++|\[[\d:]++\])(?:\.[lh])?\s*+/\*([vsa][\d\[\]:.lh]++)\*/")
_COMMENT = re.compile(r"/\*.*?\*/")
_REGISTER = re.compile(
    r"(?<![\w$.@])(?:"
    r"(?P<file>v|s|a|ttmp)(?:(?P<number>\d{1,4})|\[(?P<first>\d{1,4})(?::(?P<last>\d{1,4}))?\])"
    r"(?:\.(?P<half>[lh]))?"
    r"|(?P<pair>vcc|exec|flat_scratch|xnack_mask)(?:_(?P<part>lo|hi))?"
    r"|(?P<single>m0|scc)"
    r")(?![\w$.@:])"
)


def read_operations(code: str) -> tuple[Operation, ...] | None:
    """Read an instruction without its comment; ``None`` where it has no known form."""
    if "/*" in code:
        code = _COMMENT.sub(" ", _RENAMED.sub(r"\1", code))
    operations = []
    for part in code.split(" :: "):
        operation = _operation(part.strip())
        if operation is None:
            return None
        operations.append(operation)
    return tuple(operations)


def _operation(code: str) -> Operation | None:
    match = _OPERATION.fullmatch(code)
    if match is None:
        return None
    mnemonic, rest = match.groups()
    if not rest:
        return Operation(mnemonic)
    pieces = _PIECES.findall(rest)
    if sum(map(len, pieces)) + len(pieces) - 1 != len(rest):
        return None  # a bracket that is not closed, or an empty operand
    operands: list[Operand] = []
    modifiers: list[str] = []
    for piece in pieces:
        for index, word in enumerate(_WORDS.findall(piece)):
            if word in ("|", "&"):  # between the counters of s_waitcnt, s_delay_alu
                continue
            if _is_modifier(word, leads=index == 0):
                modifiers.append(word)
            else:
                operands.append(Operand(word, register_ranges(word)))
    return Operation(mnemonic, tuple(operands), tuple(modifiers))


def _is_modifier(word: str, *, leads: bool) -> bool:
    """Whether a word is a modifier; what leads, behind a comma or the mnemonic, rarely is."""
    if leads:
        return word in _CACHE_MODIFIERS or _NAMED_MODIFIER.fullmatch(word) is not None
    register = _REGISTER.fullmatch(word)
    return _MODIFIER.fullmatch(word) is not None and not (register and register["file"])


def register_ranges(text: str) -> tuple[RegisterRange, ...]:
    """Return the registers that a text names, in order."""
    return tuple(_range(match) for match in _REGISTER.finditer(text))


def _range(match: "re.Match[str]") -> RegisterRange:
    if match["pair"]:
        if match["part"]:
            return RegisterRange(match["pair"], int(match["part"] == "hi"), 1)
        return RegisterRange(match["pair"], 0, 2)
    if match["single"]:
        return RegisterRange(match["single"], 0, 1)
    first = int(match["number"] or match["first"])
    last = int(match["last"] or first)
    return RegisterRange(match["file"], first, max(last - first + 1, 0), match["half"] or "")
