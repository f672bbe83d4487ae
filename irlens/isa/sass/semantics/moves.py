"""Moves, loads, conversions, and what a division by a multiplication is made of.

Loads are followed where the launch says what memory holds. The addresses of tensors are made up
(``analyze.time.launched``), so that a load finds its tensor by its address.
"""

import re
import struct
from collections.abc import Callable
from math import ceil, copysign, floor, inf, isnan, trunc

from irlens.isa.sass.operands import (
    LANE,
    WORD,
    Form,
    State,
    Step,
    compute,
    position,
    read_word,
    signed,
    wide,
)
from irlens.isa.sass.units import lane_bytes

#: Rounding of F2I by its modifier; to the nearest even without one.
_ROUNDED: dict[str, Callable[[float], int]] = {"TRUNC": trunc, "FLOOR": floor, "CEIL": ceil}


def move(form: Form) -> Step | None:
    """MOV, and loads of constants and special registers, of 32 or 64 bits."""
    if form.target is None or not form.sources:
        return None
    if form.modifiers & {"64"} or (form.name == "CS2R" and "32" not in form.modifiers):
        if form.name == "CS2R":
            zero = form.sources[0].text == "SRZ"
            return wide(form, [lambda _: 0 if zero else None], lambda v: v)
        return wide(form, [form.pair(form.sources[0])], lambda v: v)
    if form.name == "CS2R" and form.sources[0].text == "SRZ":
        return compute(form, [lambda _: 0], lambda v: v)
    return compute(form, form.values()[:1], lambda v: v)


def permute(form: Form) -> Step | None:
    """PRMT: four bytes of eight."""
    if len(form.sources) != 3 or form.modifiers:
        return None

    def function(a: int, selector: int, b: int) -> int:
        whole, result = b << 32 | a, 0
        for byte in range(4):
            choice = selector >> 4 * byte & 15
            value = whole >> 8 * (choice & 7) & 255
            result |= (255 * (value >> 7) if choice & 8 else value) << 8 * byte
        return result

    return compute(form, form.values(), function)


def from_first_lane(form: Form) -> Step | None:
    """SHFL.IDX of lane 0, which is how warps number themselves: known in that lane."""
    if len(form.sources) < 2:
        return None
    at, source = form.put(form.sources[0]), read_word(form.sources[1], form.launch)

    def run(state: State) -> None:
        if at is not None:
            state[at] = source(state) if state[LANE] == 0 else None

    return run


def _float(value: int) -> float:
    return float(struct.unpack("<f", struct.pack("<I", value))[0])


def _bits(value: float) -> int:
    try:
        return int(struct.unpack("<I", struct.pack("<f", value))[0])
    except OverflowError:
        return int(struct.unpack("<I", struct.pack("<f", copysign(inf, value)))[0])


def to_float(form: Form) -> Step | None:
    """I2F: an integer of 32 or 64 bits as a float."""
    if form.modifiers & {"F64", "F16", "U8", "S8", "U16", "S16"}:
        return None
    if form.modifiers & {"S64", "U64"}:
        bits = 64 if "S64" in form.modifiers else 65
        read = form.pair(form.sources[0])
        return compute(form, [read], lambda v: _bits(float(signed(v, bits))))
    return compute(form, form.values()[:1], lambda v: _bits(float(form.number(v))))


def to_integer(form: Form) -> Step | None:
    """F2I: a float as an integer, rounded as the instruction says and saturated."""
    if form.modifiers & {"F64", "S64", "U64", "F16"}:
        return None
    rounding = next((to for name, to in _ROUNDED.items() if name in form.modifiers), round)
    low, high = (0, WORD) if "U32" in form.modifiers else (-(1 << 31), (1 << 31) - 1)

    def convert(value: int) -> int:
        number = _float(value)
        return 0 if isnan(number) else rounding(min(max(number, low), high))

    return compute(form, form.values()[:1], convert)


def multiply_floats(form: Form) -> Step | None:
    """FMUL: a product of floats, as a division by a power of two is one."""
    signs = any(each.text.startswith(("-", "|")) and each.registers for each in form.sources)
    if len(form.sources) != 2 or signs or form.modifiers - {"FTZ"}:
        return None
    return compute(form, form.values(), lambda a, b: _bits(_float(a) * _float(b)))


def reciprocal(form: Form) -> Step | None:
    """MUFU.RCP: one over a float, as integer divisions begin."""
    if "RCP" not in form.modifiers:
        return None
    return compute(form, form.values()[:1], lambda v: _bits(1 / _float(v)) if _float(v) else 0)


def packed_constant(form: Form) -> Step | None:
    """HFMA2 of zeros: how ptxas loads a constant where its multiplier is idle."""
    texts = [each.text for each in form.sources]
    if len(texts) != 4 or {text.lstrip("-") for text in texts[:2]} != {"RZ"}:
        return None
    product = 0.0 if texts[0] == texts[1] else -0.0  # to which -0.0 can be added
    try:
        halves = struct.pack("<ee", product + float(texts[3]), product + float(texts[2]))
    except (ValueError, OverflowError):
        return None
    value = struct.unpack("<I", halves)[0]
    return compute(form, [lambda _: value], lambda v: v)


#: A pair of registers and an offset. A descriptor says nothing of the address.
_ADDRESS = re.compile(
    r"(?:desc\[UR\d+\])?\[R(?P<base>\d+)(?:\.64)?(?:\+(?P<offset>-?0x[0-9a-f]+))?\]"
)
#: The widest load that is understood, in bytes: a pair of registers.
_WIDEST = 8


def load(form: Form) -> Step | None:
    """LDG; ``None`` where nothing of memory is known, and for other forms of addresses."""
    place = next((each.text for each in form.all if each.kind == "memory"), "")
    match, memory, at = _ADDRESS.fullmatch(place), form.launch.memory, form.result
    size = lane_bytes(form.instruction)
    # sm_75 does not write .64 for the pair of registers that .E means.
    is_long = ".64" in place or "E" in form.modifiers
    if match is None or at is None or not memory or size > _WIDEST or not is_long:
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
