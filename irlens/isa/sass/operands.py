"""Operands of machine instructions, as nvdisasm writes them."""

import re
from functools import lru_cache

from irlens.isa.sass.records import Operand, OperandKind, Register, RegisterFile

#: A label that an instruction names.
TARGET = re.compile(r"`\((?P<label>[^)]*+)\)")
_REGISTER = re.compile(
    r"\b(?P<file>UR|R|UP|P|B)(?P<index>\d{1,3}+|Z|T)(?P<suffixes>\|?(?:\.\w++)*+)"
)
_IMMEDIATE = re.compile(r"[-+]?(?:0x[0-9a-f]++|[\d.]|INF|QNAN|SNAN)", re.IGNORECASE)
_FILES: dict[str, RegisterFile] = {"R": "R", "UR": "UR", "P": "P", "UP": "UP", "B": "B"}


def split(text: str) -> list[str]:
    """Cut at the commas that stand outside of brackets."""
    text = text.strip()
    if not text:
        return []
    if "{" not in text and "(" not in text:
        return [part.strip() for part in text.split(",")]
    parts, depth, start = [], 0, 0
    for at, character in enumerate(text):
        if character in "({[":
            depth += 1
        elif character in ")}]":
            depth -= 1
        elif character == "," and depth <= 0:
            parts.append(text[start:at].strip())
            start = at + 1
    return [*parts, text[start:].strip()]


@lru_cache(maxsize=1 << 14)
def operand(text: str) -> Operand:
    """Read one operand."""
    bare = TARGET.sub("", text).strip()
    if not bare:
        return Operand("label", text, ())
    registers = tuple(register(found.group()) for found in _REGISTER.finditer(bare))
    return Operand(_kind(bare.lstrip("-+~!|")), text, registers)


def _kind(bare: str) -> OperandKind:
    before, bracket, _ = bare.partition("[")
    if bracket:
        if before in ("", "desc"):
            return "memory"
        return "constant" if before in ("c", "cx") else "descriptor"
    if _REGISTER.fullmatch(bare):
        return "register"
    if bare.startswith("SR"):
        return "special"
    return "immediate" if _IMMEDIATE.match(bare) else "other"


@lru_cache(maxsize=1 << 12)
def register(text: str) -> Register:
    """Read a register.

    Raises:
        ValueError: It is none.
    """
    found = _REGISTER.match(text)
    if found is None:
        raise ValueError(f"not a register: {text!r}")
    index = int(found["index"]) if found["index"].isdecimal() else None
    suffixes = found["suffixes"].lstrip("|").split(".")[1:]
    return Register(_FILES[found["file"]], index, tuple(suffixes))
