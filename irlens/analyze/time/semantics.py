"""Integer semantics of SASS: what control flow depends on, computed for one thread.

NVIDIA documents the names of the opcodes alone. What they compute follows from the PTX that they
are made from; the tests hold the paths found with them against instruction counts of a GPU.
"""

import struct
from collections.abc import Callable

from irlens.analyze.time.operands import (
    WORD,
    Form,
    Launch,
    Read,
    State,
    Step,
    immediate,
    is_predicate,
    position,
    read_pair,
    read_predicate,
    read_word,
    signed,
)
from irlens.isa.sass import Instruction, Operand
from irlens.isa.sass.registers import access


def compile_step(instruction: Instruction, launch: Launch) -> Step | None:
    """Return what an instruction does to a state; ``None`` if it is not understood."""
    rule = _RULES.get(instruction.opcode) or _RULES.get(instruction.opcode.removeprefix("U"))
    if rule is None:
        return None
    step = rule(Form(instruction, launch))
    guard = instruction.guard
    if step is None or guard is None or guard.register.index is None:
        return step
    where = position(guard.register.file, guard.register.index)
    return _guarded(step, where, guard.negated, written(instruction))


def written(instruction: Instruction) -> list[int]:
    """Return the positions of the registers that an instruction writes."""
    accessed = access(instruction)
    bits = accessed.writes if accessed is not None else 0
    return [at for at in range(bits.bit_length()) if bits >> at & 1]


def _guarded(step: Step, where: int, negated: bool, targets: list[int]) -> Step:
    def run(state: State) -> None:
        held = state[where]
        if held is None:
            for target in targets:
                state[target] = None
        elif bool(held) != negated:
            step(state)

    return run


def _compute(form: Form, reads: list[Read], function: Callable[..., int]) -> Step | None:
    """Return a step that writes one 32-bit result."""
    if form.target is None:
        return None
    at = form.put(form.target)
    if at is None:
        return lambda _: None
    if len(reads) == 1:
        (only,) = reads

        def single(state: State) -> None:
            value = only(state)
            state[at] = None if value is None else function(value) & WORD

        return single

    def run(state: State) -> None:
        values = [read(state) for read in reads]
        state[at] = None if None in values else function(*values) & WORD

    return run


def _sum(form: Form) -> Step | None:
    """IADD3 and its kin: a sum of up to three, with carries out and in."""
    if "64" in form.modifiers:
        return _wide(form, [form.pair(each) for each in form.sources], lambda *v: sum(v))
    reads = form.values()
    extended = "X" in form.modifiers
    # A predicate that is not there carries nothing in, PT as it is written here included.
    carries = [read_predicate(each) for each in form.predicates] if extended else []
    reads = [
        _complemented(each, read, 0 if extended else 1)
        for each, read in zip(form.sources, reads, strict=True)
    ]
    outs = [form.put(each) for each in form.carries]
    at = form.put(form.target) if form.target is not None else None

    def run(state: State) -> None:
        values = [read(state) for read in (*reads, *carries)]
        known = [value for value in values if value is not None]
        total = sum(known) if len(known) == len(values) else None
        if at is not None:
            state[at] = None if total is None else total & WORD
        for number, out in enumerate(outs):
            if out is not None:
                state[out] = None if total is None else int(total >> 32 > number)

    return run


def _complemented(operand: Operand, read: Read, one: int) -> Read:
    """Return a reader of a negated term as the adder sees it: the complement, and one.

    Where a carry comes in, that is the one; minus zero carries out.
    """
    if not operand.text.startswith("-") or operand.kind == "immediate":
        return read

    def run(state: State) -> int | None:
        value = read(state)
        return None if value is None else (value - 1 & WORD) + one

    return run


def _wide(form: Form, reads: list[Read], function: Callable[..., int]) -> Step | None:
    """Return a step that writes a pair."""
    at = form.put(form.target) if form.target is not None else None
    if at is None:
        return None

    def run(state: State) -> None:
        values = [read(state) for read in reads]
        known = None not in values
        total = function(*values) if known else 0
        state[at] = total & WORD if known else None
        state[at + 1] = total >> 32 & WORD if known else None

    return run


def _multiply(form: Form) -> Step | None:
    unsigned = "U32" in form.modifiers
    if len(form.sources) != 3:
        return None
    a, b, _ = form.values()
    number = (lambda v: v) if unsigned else signed
    if "WIDE" in form.modifiers:
        return _wide(form, [a, b, form.pair(form.sources[2])],
                     lambda x, y, z: number(x) * number(y) + z)  # fmt: skip
    if "HI" in form.modifiers:
        return _compute(form, [a, b, form.pair(form.sources[2])],
                        lambda x, y, z: number(x) * number(y) + z >> 32)  # fmt: skip
    if "X" in form.modifiers:
        reads = [*form.values(), *map(read_predicate, form.predicates)]
        return _compute(form, reads, lambda x, y, z, *carry: x * y + z + sum(carry))
    return _compute(form, form.values(), lambda x, y, z: x * y + z)


def _lea(form: Form) -> Step | None:
    """LEA: a shifted, plus b. .HI takes the upper half, .SX32 extends a's sign."""
    high, extends = "HI" in form.modifiers, "SX32" in form.modifiers
    sources = form.values()
    if high and not extends and len(sources) == 4:
        low, base, upper, shift = sources
    elif len(sources) == 3:
        (low, base, shift), upper = sources, None
    else:
        return None
    carries = [read_predicate(each) for each in form.predicates] if "X" in form.modifiers else []
    outs = [form.put(each) for each in form.carries]
    at = form.put(form.target) if form.target is not None else None
    reads = [low, base, shift, *([upper] if upper is not None else []), *carries]

    def run(state: State) -> None:
        values = [read(state) for read in reads]
        total: int | None = None
        if None not in values:
            x, y, s, *more = (value for value in values if value is not None)
            whole = more.pop(0) << 32 | x if upper is not None else signed(x) if extends else x
            shifted = (whole << s) >> 32 if high else whole << s
            total = (shifted & WORD) + y + sum(more)
        if at is not None:
            state[at] = None if total is None else total & WORD
        for out in outs:
            if out is not None:
                state[out] = None if total is None else int(total > WORD)

    return run


def _shift(form: Form) -> Step | None:
    modifiers = form.modifiers
    if len(form.sources) != 3:
        return None
    left = "L" in modifiers
    wide = bool(modifiers & {"U64", "S64"})
    arithmetic = bool(modifiers & {"S32", "S64"})
    most = 63 if wide else 32

    def function(low: int, by: int, high: int) -> int:
        by = by & 63 if "W" in modifiers else min(by, most)
        whole = (signed(high) if arithmetic else high) << 32 | low
        if left:
            return (whole << by) >> 32 if "HI" in modifiers else low << by
        if "HI" in modifiers:
            return (signed(high) if arithmetic else high) >> by
        return whole >> by

    return _compute(form, form.values(), function)


def _logic(form: Form) -> Step | None:
    """LOP3: a truth table of three inputs, given as the last number."""
    if form.target is None:
        return None
    result, outs = form.target, form.carries
    sources = form.sources
    if is_predicate(form.target):  # LOP3.LUT P0, RZ, R4, ...: the register comes second
        outs, result, sources = [form.target], sources[0], sources[1:]
    if len(sources) != 4:
        return None
    table = immediate(sources[3].text)
    if table is None:
        return None
    reads = [read_word(each, form.launch) for each in sources[:3]]
    at = form.put(result)
    flags = [form.put(each) for each in outs]

    def run(state: State) -> None:
        values = [read(state) for read in reads]
        value = None if None in values else _looked_up(table, *(v or 0 for v in values))
        if value is None and table == 0xC0 and 0 in values[:2]:
            value = 0
        if at is not None:
            state[at] = value
        for flag in flags:
            if flag is not None:
                state[flag] = None if value is None else int(value != 0)

    return run


def _looked_up(table: int, a: int, b: int, c: int) -> int:
    result = 0
    for row in range(8):
        if table >> row & 1:
            result |= (a if row & 4 else ~a) & (b if row & 2 else ~b) & (c if row & 1 else ~c)
    return result & WORD


def _predicate_logic(form: Form) -> Step | None:
    operands = [each for each in form.all if is_predicate(each)]
    tables = [immediate(each.text) for each in form.all if each.kind == "immediate"]
    if len(operands) != 5 or not tables or tables[0] is None:
        return None
    table = tables[0]
    at, reads = form.put(operands[0]), [read_predicate(each) for each in operands[2:]]

    def run(state: State) -> None:
        if at is None:
            return
        values = [read(state) for read in reads]
        # An unknown input does not matter where the table gives the same for both values.
        rows = [0]
        for value in values:
            options = (0, 1) if value is None else (value,)
            rows = [row << 1 | option for row in rows for option in options]
        outcomes = {table >> row & 1 for row in rows}
        state[at] = outcomes.pop() if len(outcomes) == 1 else None

    return run


_COMPARE: dict[str, Callable[[int, int], bool]] = {
    "LT": lambda a, b: a < b,
    "LE": lambda a, b: a <= b,
    "GT": lambda a, b: a > b,
    "GE": lambda a, b: a >= b,
    "EQ": lambda a, b: a == b,
    "NE": lambda a, b: a != b,
}


def _compare(form: Form) -> Step | None:
    names = form.modifiers & _COMPARE.keys()
    operands = form.all
    if len(names) != 1 or len(operands) < 5 or form.modifiers & {"XOR"}:
        return None
    name = next(iter(names))
    wide = bool(form.modifiers & {"64", "S64", "U64"})
    unsigned = bool(form.modifiers & {"U32", "U64"})
    reader = read_pair if wide else read_word
    a, b = (reader(each, form.launch) for each in operands[2:4])
    combined = read_predicate(operands[4])
    lower = read_predicate(operands[5]) if "EX" in form.modifiers and len(operands) > 5 else None
    at, other = form.put(operands[0]), form.put(operands[1])
    disjunction = "OR" in form.modifiers
    test, bits = _COMPARE[name], 64 if wide else 32

    def run(state: State) -> None:
        x, y, z = a(state), b(state), combined(state)
        held: bool | None = None
        if x is not None and y is not None:
            if not unsigned:
                x, y = signed(x, bits), signed(y, bits)
            held = test(x, y)
            if lower is not None:  # of two words, compared from the lower one up
                below = lower(state)
                held = _extended(name, x, y, below)
        for target, value in ((at, held), (other, None if held is None else not held)):
            if target is not None:
                state[target] = _combined(value, z, disjunction=disjunction)

    return run


def reduces_argument(instruction: Instruction) -> bool:
    """Whether an instruction asks if an argument of sine or cosine is too large for their fast way.

    libdevice's ``__nv_sinf`` and its kin reduce arguments of 105,615 and more with a loop.
    """
    return instruction.opcode == "FSETP" and any(
        each.text == "105615" for each in instruction.operands
    )


def _compare_argument(form: Form) -> Step | None:
    """FSETP of data: unknown, but arguments of sine and cosine are taken to be small."""
    names = form.modifiers & {"GE", "GEU", "LT", "LTU"}
    if not reduces_argument(form.instruction) or len(names) != 1 or len(form.all) < 5:
        return None
    held = names <= {"LT", "LTU"}
    combined = read_predicate(form.all[4])
    targets = [(form.put(form.all[0]), held), (form.put(form.all[1]), not held)]
    disjunction = "OR" in form.modifiers

    def run(state: State) -> None:
        other = combined(state)
        for target, value in targets:
            if target is not None:
                state[target] = _combined(value, other, disjunction=disjunction)

    return run


def _extended(name: str, x: int, y: int, below: int | None) -> bool | None:
    if name in ("EQ", "NE"):
        if x != y:
            return name == "NE"
    elif x != y:
        return x < y if name in ("LT", "LE") else x > y
    return None if below is None else bool(below)


def _combined(value: bool | None, other: int | None, *, disjunction: bool) -> int | None:
    decisive = int(disjunction)
    if other == decisive or (value is not None and int(value) == decisive):
        return decisive
    return None if value is None or other is None else 1 - decisive


def _select(form: Form) -> Step | None:
    if len(form.sources) != 2 or not form.predicates:
        return None
    one, two = form.values()
    which = read_predicate(form.predicates[0])
    at = form.put(form.target) if form.target is not None else None

    def run(state: State) -> None:
        chosen = which(state)
        first, second = one(state), two(state)
        if at is not None:
            if chosen is None:
                state[at] = first if first == second else None
            else:
                state[at] = first if chosen else second

    return run


def _minimum(form: Form) -> Step | None:
    if len(form.sources) != 2 or not form.predicates:
        return None
    least = read_predicate(form.predicates[0])
    key = (lambda v: v) if "U32" in form.modifiers else signed
    return _compute(form, [*form.values(), least],
                    lambda a, b, low: (min if low else max)(a, b, key=key))  # fmt: skip


def _minimum_of_sum(form: Form) -> Step | None:
    """VIADDMNMX: the lesser or greater of a sum and a third."""
    if len(form.sources) != 3 or not form.predicates:
        return None
    least = read_predicate(form.predicates[0])
    key = (lambda v: v) if "U32" in form.modifiers else signed

    def function(a: int, b: int, c: int, low: int) -> int:
        return (min if low else max)(a + b & WORD, c, key=key)

    return _compute(form, [*form.values(), least], function)


def _move(form: Form) -> Step | None:
    if form.target is None or not form.sources:
        return None
    if form.modifiers & {"64"} or (form.name == "CS2R" and "32" not in form.modifiers):
        if form.name == "CS2R":
            zero = form.sources[0].text == "SRZ"
            return _wide(form, [lambda _: 0 if zero else None], lambda v: v)
        return _wide(form, [form.pair(form.sources[0])], lambda v: v)
    if form.name == "CS2R" and form.sources[0].text == "SRZ":
        return _compute(form, [lambda _: 0], lambda v: v)
    return _compute(form, form.values()[:1], lambda v: v)


def _absolute(form: Form) -> Step | None:
    return _compute(form, form.values()[:1], lambda v: abs(signed(v)))


def _extend_sign(form: Form) -> Step | None:
    if len(form.sources) != 2:
        return None

    def function(value: int, bits: int) -> int:
        low = value & (1 << bits) - 1 if bits < 32 else value
        return low if "U32" in form.modifiers or not bits else signed(low, min(bits, 32))

    return _compute(form, form.values(), function)


def _permute(form: Form) -> Step | None:
    if len(form.sources) != 3 or form.modifiers:
        return None

    def function(a: int, selector: int, b: int) -> int:
        whole, result = b << 32 | a, 0
        for byte in range(4):
            choice = selector >> 4 * byte & 15
            value = whole >> 8 * (choice & 7) & 255
            result |= (255 * (value >> 7) if choice & 8 else value) << 8 * byte
        return result

    return _compute(form, form.values(), function)


def _float(value: int) -> float:
    return float(struct.unpack("<f", struct.pack("<I", value))[0])


def _bits(value: float) -> int:
    return int(struct.unpack("<I", struct.pack("<f", value))[0])


def _to_float(form: Form) -> Step | None:
    if form.modifiers & {"F64", "S64", "U64", "F16", "U8", "S8", "U16", "S16"}:
        return None
    number = (lambda v: v) if "U32" in form.modifiers else signed
    return _compute(form, form.values()[:1], lambda v: _bits(float(number(v))))


def _to_integer(form: Form) -> Step | None:
    if form.modifiers & {"F64", "S64", "U64", "F16"}:
        return None
    return _compute(form, form.values()[:1], lambda v: int(min(max(_float(v), 0.0), WORD)))


def _reciprocal(form: Form) -> Step | None:
    if "RCP" not in form.modifiers:
        return None
    return _compute(form, form.values()[:1], lambda v: _bits(1 / _float(v)) if _float(v) else 0)


def _packed_constant(form: Form) -> Step | None:
    """HFMA2 of zeros: how ptxas loads a constant where its multiplier is idle."""
    texts = [each.text.lstrip("-") for each in form.sources]
    if len(texts) != 4 or texts[0] != "RZ" or texts[1] != "RZ":
        return None
    try:
        halves = struct.pack("<ee", float(texts[3]), float(texts[2]))
    except (ValueError, OverflowError):
        return None
    value = struct.unpack("<I", halves)[0]
    return _compute(form, [lambda _: value], lambda v: v)


def _true(form: Form) -> Step | None:
    """ELECT and the test of a barrier's phase: the path of the thread that goes on."""
    places = [form.put(each) for each in form.all if is_predicate(each)][:1]

    def run(state: State) -> None:
        for place in places:
            if place is not None:
                state[place] = 1

    return run


def _vote(form: Form) -> Step | None:
    """A vote of lanes that all are as the one that is followed."""
    predicates = [each for each in form.all if is_predicate(each)]
    if len(predicates) < 2 or predicates[0].text == "PT":
        return None
    at, read = form.put(predicates[0]), read_predicate(predicates[-1])

    def run(state: State) -> None:
        if at is not None:
            state[at] = read(state)

    return run


def _pack(form: Form) -> Step | None:
    """P2R: the predicates of a mask as bits of a byte, the others from a register."""
    if form.target is None or len(form.sources) < 2:
        return None
    base = read_word(form.sources[-2], form.launch)
    places, shift = _masked(form), _byte(form)
    at = form.put(form.target)

    def run(state: State) -> None:
        value = base(state)
        bits = [state[each] for each in places.values()]
        if at is None:
            return
        if value is None or None in bits:
            state[at] = None
            return
        for bit, each in zip(places, bits, strict=True):
            value = value & ~(1 << bit + shift) | bool(each) << bit + shift
        state[at] = value & WORD

    return run


def _unpack(form: Form) -> Step | None:
    """R2P: the predicates of a mask from the bits of a byte."""
    if not form.sources:
        return None
    source = form.values()[0]
    places, shift = _masked(form), _byte(form)

    def run(state: State) -> None:
        value = source(state)
        for bit, at in places.items():
            state[at] = None if value is None else value >> bit + shift & 1

    return run


def _masked(form: Form) -> dict[int, int]:
    """Positions of the predicates in an instruction's mask, by bit."""
    mask = immediate(form.all[-1].text) or 0
    file = "UP" if form.name.startswith("U") else "P"
    return {bit: position(file, bit) for bit in range(7) if mask >> bit & 1}


def _byte(form: Form) -> int:
    """Shift of the byte that an instruction packs into or takes from."""
    return next((8 * int(name[1]) for name in form.modifiers if name in ("B1", "B2", "B3")), 0)


_RULES: dict[str, Callable[[Form], Step | None]] = {
    **dict.fromkeys(("IADD3", "IADD", "VIADD", "UIADD3", "UVIADD"), _sum),
    **dict.fromkeys(("IMAD", "UIMAD"), _multiply),
    **dict.fromkeys(("LEA", "ULEA"), _lea),
    **dict.fromkeys(("SHF", "USHF"), _shift),
    **dict.fromkeys(("LOP3", "ULOP3"), _logic),
    **dict.fromkeys(("PLOP3", "UPLOP3"), _predicate_logic),
    **dict.fromkeys(("ISETP", "UISETP"), _compare),
    "FSETP": _compare_argument,
    **dict.fromkeys(("SEL", "USEL"), _select),
    **dict.fromkeys(("IMNMX", "VIMNMX", "UIMNMX", "UVIMNMX"), _minimum),
    "VIADDMNMX": _minimum_of_sum,
    **dict.fromkeys(
        ("MOV", "UMOV", "S2R", "S2UR", "R2UR", "CS2R", "LDC", "ULDC", "LDCU", "UCS2R"), _move
    ),
    "IABS": _absolute,
    "SGXT": _extend_sign,
    "PRMT": _permute,
    "I2F": _to_float,
    "I2FP": _to_float,
    "F2I": _to_integer,
    "MUFU": _reciprocal,
    "HFMA2": _packed_constant,
    "ELECT": _true,
    "SYNCS": _true,
    "P2R": _pack,
    "R2P": _unpack,
    "VOTE": _vote,
    "VOTEU": _vote,
}
