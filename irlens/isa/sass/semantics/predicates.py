"""What sets, combines, packs and reads predicates."""

from collections.abc import Callable, Mapping, Sequence

from irlens.isa.sass import Instruction, Register
from irlens.isa.sass.operands import (
    WORD,
    Form,
    State,
    Step,
    immediate,
    position,
    read_pair,
    read_predicate,
    read_word,
    signed,
)


def predicate_logic(form: Form) -> Step | None:
    """PLOP3: a table over three predicates."""
    operands = [each for each in form.all if each.is_predicate]
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


def compare(form: Form) -> Step | None:
    """ISETP: a comparison of integers and its opposite, each combined with a predicate."""
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
    decisive = int("OR" in form.modifiers)
    test, bits = _COMPARE[name], 64 if wide else 32
    mask = (1 << bits) - 1

    def run(state: State) -> None:
        x, y, z = a(state), b(state), combined(state)
        held: int | None = None
        if x is not None and y is not None:
            x, y = (x & mask, y & mask) if unsigned else (signed(x, bits), signed(y, bits))
            held = test(x, y)
            if lower is not None:  # of two words, compared from the lower one up
                below = lower(state)
                held = _extended(name, x, y, below)
        for target, value in ((at, held), (other, None if held is None else 1 - held)):
            if target is not None:
                state[target] = _combined(value, z, decisive)

    return run


def reduces_argument(instruction: Instruction) -> bool:
    """Whether an instruction asks if an argument of sine or cosine is too large for their fast way.

    libdevice's ``__nv_sinf`` and its kin reduce arguments of 105,615 and more with a loop.
    """
    return instruction.opcode == "FSETP" and any(
        each.text == "105615" for each in instruction.operands
    )


def compared_floats(instruction: Instruction) -> Sequence[Register]:
    """Return the predicates that a comparison of floating-point numbers sets, none of others."""
    if instruction.opcode not in ("FSETP", "DSETP", "HSETP2"):
        return ()
    return [register for each in instruction.operands[:2] for register in each.registers]


def compare_argument(form: Form) -> Step | None:
    """FSETP of data: unknown, but arguments of sine and cosine are taken to be small."""
    names = form.modifiers & {"GE", "GEU", "LT", "LTU"}
    if not reduces_argument(form.instruction) or len(names) != 1 or len(form.all) < 5:
        return None
    held = names <= {"LT", "LTU"}
    combined = read_predicate(form.all[4])
    targets = [(form.put(form.all[0]), held), (form.put(form.all[1]), not held)]
    decisive = int("OR" in form.modifiers)

    def run(state: State) -> None:
        other = combined(state)
        for target, value in targets:
            if target is not None:
                state[target] = _combined(value, other, decisive)

    return run


def _extended(name: str, x: int, y: int, below: int | None) -> bool | None:
    if name in ("EQ", "NE"):
        if x != y:
            return name == "NE"
    elif x != y:
        return x < y if name in ("LT", "LE") else x > y
    return None if below is None else bool(below)


def _combined(value: int | None, other: int | None, decisive: int) -> int | None:
    if value is not None and other is not None:
        return value | other if decisive else value & other
    return decisive if decisive in (value, other) else None


def select(form: Form) -> Step | None:
    """SEL: one of two, by a predicate."""
    if len(form.sources) != 2 or not form.predicates or "64" in form.modifiers:
        return None
    one, two = form.values()
    which = read_predicate(form.predicates[0])
    at = form.result

    def run(state: State) -> None:
        chosen = which(state)
        first, second = one(state), two(state)
        if at is not None:
            if chosen is None:
                state[at] = first if first == second else None
            else:
                state[at] = first if chosen else second

    return run


def hold(form: Form) -> Step | None:
    """ELECT, the test of a phase, a request for registers: the path of the thread that goes on."""
    return _written(form, {True: 1})


def allocate(form: Form) -> Step | None:
    """UTCATOMSWS: an allocation of tensor memory that succeeds at once, at an unknown place."""
    return _written(form, {False: None, True: 1})


def _written(form: Form, values: Mapping[bool, int | None]) -> Step:
    """Return a step that writes the first predicate (``True``), or the first register."""
    found = {kind: [e for e in form.all if e.is_predicate is kind][:1] for kind in values}
    places = [(form.put(e), values[kind]) for kind, first in found.items() for e in first]

    def run(state: State) -> None:
        for place, value in places:
            if place is not None:
                state[place] = value

    return run


def vote(form: Form) -> Step | None:
    """A vote of lanes that all are as the one that is followed."""
    predicates = [each for each in form.all if each.is_predicate]
    if len(predicates) < 2 or predicates[0].text == "PT":
        return None
    at, read = form.put(predicates[0]), read_predicate(predicates[-1])

    def run(state: State) -> None:
        if at is not None:
            state[at] = read(state)

    return run


def pack(form: Form) -> Step | None:
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


def unpack(form: Form) -> Step | None:
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
