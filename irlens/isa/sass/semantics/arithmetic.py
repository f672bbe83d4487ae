"""Integer arithmetic: sums, products, shifts, logic, minima."""

from collections.abc import Callable
from typing import cast

from irlens.isa.sass import Operand
from irlens.isa.sass.operands import (
    WORD,
    Form,
    Read,
    State,
    Step,
    compute,
    immediate,
    looked_up,
    read_predicate,
    read_word,
    signed,
    unknown,
    wide,
)


def add(form: Form) -> Step | None:
    """IADD3 and its kin: a sum of up to three, with carries out and in."""
    if "64" in form.modifiers:
        # UIADD3.64 of sm_120 writes UPT where nothing is carried out.
        if "X" in form.modifiers or any(form.put(each) is not None for each in form.carries):
            return None
        return wide(form, [form.pair(each) for each in form.sources], lambda *v: sum(v))
    reads = form.values()
    extended = "X" in form.modifiers
    # A predicate that is not there carries nothing in, PT as it is written here included.
    carries = [read_predicate(each) for each in form.predicates] if extended else []
    reads = [
        _complemented(each, read, 0 if extended else 1)
        for each, read in zip(form.sources, reads, strict=True)
    ]
    return _summed(form, [*reads, *carries], lambda *v: sum(v))


def _summed(form: Form, reads: list[Read], add: Callable[..., int], bits: int = 32) -> Step:
    """Return a step that writes a word or a pair of a sum, and what it carries out."""
    at, outs = form.result, [form.put(each) for each in form.carries]

    def run(state: State) -> None:
        values = [read(state) for read in reads]
        total: int | None = None if unknown(values) else add(*values)
        if at is not None:
            state[at] = None if total is None else total & WORD
            if bits > 32:
                state[at + 1] = None if total is None else total >> 32 & WORD
        for number, out in enumerate(outs):
            if out is not None:
                state[out] = None if total is None else int(total >> bits > number)

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


def multiply(form: Form) -> Step | None:
    """IMAD: a product and a sum, of 32 or 64 bits."""
    if len(form.sources) != 3:
        return None
    a, b, _ = form.values()
    number = form.number
    if "WIDE" in form.modifiers:
        if form.carries or "X" in form.modifiers:
            return _multiply_with_carries(form)
        return wide(form, [a, b, form.pair(form.sources[2])],
                     lambda x, y, z: number(x) * number(y) + z)  # fmt: skip
    if form.carries:
        return None
    if "HI" in form.modifiers:
        return compute(form, [a, b, form.pair(form.sources[2])],
                        lambda x, y, z: number(x) * number(y) + z >> 32)  # fmt: skip
    if "X" in form.modifiers:
        reads = [*form.values(), *map(read_predicate, form.predicates)]
        return compute(form, reads, lambda x, y, z, *carry: x * y + z + sum(carry))
    return compute(form, form.values(), lambda x, y, z: x * y + z)


def _multiply_with_carries(form: Form) -> Step | None:
    """IMAD.WIDE.U32 of longer numbers, whose sum carries a bit out, or takes one in."""
    if "U32" not in form.modifiers or form.result is None:
        return None
    a, b, _ = form.values()
    carries = [read_predicate(each) for each in form.predicates] if "X" in form.modifiers else []
    reads = [a, b, form.pair(form.sources[2]), *carries]
    return _summed(form, reads, lambda x, y, z, *carry: x * y + z + sum(carry), 64)


def lea(form: Form) -> Step | None:
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
    reads = [low, base, shift, *([upper] if upper is not None else []), *carries]

    def add(x: int, y: int, s: int, *more: int) -> int:
        above, *carry = more if upper is not None else (0, *more)
        whole = above << 32 | x if upper is not None else signed(x) if extends else x
        shifted = (whole << s) >> 32 if high else whole << s
        return (shifted & WORD) + y + sum(carry)

    return _summed(form, reads, add)


def shift(form: Form) -> Step | None:
    """SHF: a word of two, shifted."""
    modifiers = form.modifiers
    if len(form.sources) != 3:
        return None
    left = "L" in modifiers
    wide = bool(modifiers & {"U64", "S64"})
    arithmetic = bool(modifiers & {"S32", "S64"})
    most = 63 if wide else 32

    def function(low: int, by: int, high: int) -> int:
        by = by & 63 if "W" in modifiers else min(by, most)
        if not left and by > 32:
            return (signed(high) if arithmetic else high) >> (by if "HI" in modifiers else by - 32)
        whole = (signed(high) if arithmetic else high) << 32 | low
        if left:
            return (whole << by) >> 32 if "HI" in modifiers else low << by
        if "HI" in modifiers:
            return (signed(high) if arithmetic else high) >> by
        return whole >> by

    return compute(form, form.values(), function)


def logic(form: Form) -> Step | None:
    """LOP3: a truth table of three inputs, given as the last number."""
    if form.target is None:
        return None
    result, outs = form.target, form.carries
    sources = form.sources
    if form.target.is_predicate:  # LOP3.LUT P0, RZ, R4, ...: the register comes second
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
        value = None if unknown(values) else looked_up(table, *cast(list[int], values))
        if value is None and table == 0xC0 and 0 in values[:2]:
            value = 0
        if at is not None:
            state[at] = value
        for flag in flags:
            if flag is not None:
                state[flag] = None if value is None else int(value != 0)

    return run


def minimum(form: Form) -> Step | None:
    """IMNMX and its kin: the lesser or greater of two words."""
    if len(form.sources) != 2 or not form.predicates or form.modifiers & {"S64", "U64"}:
        return None
    least = read_predicate(form.predicates[0])
    return compute(form, [*form.values(), least],
                    lambda a, b, low: (min if low else max)(a, b, key=form.number))  # fmt: skip


def minimum_of_sum(form: Form) -> Step | None:
    """VIADDMNMX: the lesser or greater of a sum and a third."""
    if len(form.sources) != 3 or not form.predicates:
        return None
    least = read_predicate(form.predicates[0])

    def function(a: int, b: int, c: int, low: int) -> int:
        return (min if low else max)(a + b & WORD, c, key=form.number)

    return compute(form, [*form.values(), least], function)


def absolute(form: Form) -> Step | None:
    """IABS: without its sign."""
    return compute(form, form.values()[:1], lambda v: abs(signed(v)))


def extend_sign(form: Form) -> Step | None:
    """SGXT: a number of few bits as one of 32."""
    if len(form.sources) != 2:
        return None

    def function(value: int, bits: int) -> int:
        low = value & (1 << bits) - 1 if bits < 32 else value
        return low if "U32" in form.modifiers or not bits else signed(low, min(bits, 32))

    return compute(form, form.values(), function)
