"""Loads from global memory, where the launch says what it holds.

Lengths of sequences and tables of pages decide how often loops run. The addresses of tensors are
made up (``analyze.time.launched``), so that a load finds its tensor by its address.
"""

import re

from irlens.isa.sass.operands import WORD, Form, State, Step, position, signed
from irlens.isa.sass.units import lane_bytes

#: A pair of registers and an offset. A descriptor says nothing of the address.
_ADDRESS = re.compile(r"(?:desc\[UR\d+\])?\[R(?P<base>\d+)\.64(?:\+(?P<offset>-?0x[0-9a-f]+))?\]")
#: The widest load that is understood, in bytes: a pair of registers.
_WIDEST = 8


def load(form: Form) -> Step | None:
    """LDG; ``None`` where nothing of memory is known, and for other forms of addresses."""
    place = next((each.text for each in form.all if each.kind == "memory"), "")
    match, memory, at = _ADDRESS.fullmatch(place), form.launch.memory, form.result
    size = lane_bytes(form.instruction)
    if match is None or at is None or not memory or size > _WIDEST:
        return None
    base, offset = position("R", int(match["base"])), int(match["offset"] or "0", 16)
    extends = bool(form.modifiers & {"S8", "S16"})

    def run(state: State) -> None:
        low, high = state[base], state[base + 1]
        value = None
        if low is not None and high is not None:
            value = _read(memory, (high << 32 | low) + offset, size)
        if value is not None and extends:
            value = signed(value, 8 * size)
        state[at] = None if value is None else value & WORD
        if size == _WIDEST:
            state[at + 1] = None if value is None else value >> 32

    return run


def _read(memory: tuple[tuple[int, bytes], ...], address: int, size: int) -> int | None:
    """Return the unsigned number at an address; ``None`` outside of what is known."""
    for start, contents in memory:
        at = address - start
        if 0 <= at <= len(contents) - size:
            return int.from_bytes(contents[at : at + size], "little")
    return None
