"""Steps that write a result of one or two registers."""

from collections.abc import Callable

from irlens.isa.sass.operands import WORD, Form, Read, State, Step


def compute(form: Form, reads: list[Read], function: Callable[..., int]) -> Step | None:
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


def wide(form: Form, reads: list[Read], function: Callable[..., int]) -> Step | None:
    """Return a step that writes a pair."""
    at = form.result
    if at is None:
        return None

    def run(state: State) -> None:
        values = [read(state) for read in reads]
        known = None not in values
        total = function(*values) if known else 0
        state[at] = total & WORD if known else None
        state[at + 1] = total >> 32 & WORD if known else None

    return run


def looked_up(table: int, a: int, b: int, c: int) -> int:
    """Return a bitwise function of three words, by its table of eight results."""
    result = 0
    for row in range(8):
        if table >> row & 1:
            result |= (a if row & 4 else ~a) & (b if row & 2 else ~b) & (c if row & 1 else ~c)
    return result & WORD
