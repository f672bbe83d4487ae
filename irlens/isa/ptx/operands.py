"""Operands of PTX instructions (PTX ISA, Instruction Operands)."""

import re
from functools import lru_cache
from struct import unpack
from typing import TypeAlias

import msgspec


class Register(msgspec.Struct, frozen=True, gc=False):
    """A virtual or special register.

    Attributes:
        name: As declared ("%r1"), or a special register's name ("%tid").
        element: What a dot selects: "x" of "%tid.x", "b0" of a video instruction's operand.
    """

    name: str
    element: str = ""


class Symbol(msgspec.Struct, frozen=True, gc=False):
    """A name that is no register: variable, parameter, function, label, or the sink "_"."""

    name: str


class Immediate(msgspec.Struct, frozen=True, gc=False):
    """A literal: as written, and its value (a float for the 0f/0d hexadecimal forms too)."""

    text: str
    value: int | float


class Address(msgspec.Struct, frozen=True, gc=False):
    """``[base+offset]``.

    Attributes:
        base: Register, symbol or literal address.
        offset: Bytes added to it.
        rest: What follows inside the brackets: a tensor's or texture's coordinates.
    """

    base: "Operand"
    offset: int
    rest: tuple["Operand", ...] = ()


class Vector(msgspec.Struct, frozen=True, gc=False):
    """``{a, b}``."""

    items: tuple["Operand", ...]


class Pair(msgspec.Struct, frozen=True, gc=False):
    """``%r1|%p1``: two destinations of one instruction."""

    first: "Operand"
    second: "Operand"


class Negated(msgspec.Struct, frozen=True, gc=False):
    """``!%p1``."""

    operand: "Operand"


class ArgumentList(msgspec.Struct, frozen=True, gc=False):
    """``(a, b)`` of a call."""

    items: tuple["Operand", ...]


class Expression(msgspec.Struct, frozen=True, gc=False):
    """A constant expression or another rare form, as written."""

    text: str


Operand: TypeAlias = (
    Register | Symbol | Immediate | Address | Vector | Pair | Negated | ArgumentList | Expression
)

#: Forms nest at most twice ("[%rd1, {%r1, %r2}]"); deeper is not PTX, and recursion has a bound.
MAX_DEPTH = 8

_NAME = r"[%A-Za-z_$][\w$%]*+"
# Bounded, since Python refuses to convert thousands of digits.
_INTEGER = r"0[xX][0-9a-fA-F]{1,32}+U?|0[bB][01]{1,64}+U?|[0-9]{1,32}+U?(?!\.)"
_NAMED = re.compile(rf"({_NAME})(?:\.(\w++))?", re.ASCII)
_PAIR = re.compile(rf"({_NAME})\s*\|\s*({_NAME})", re.ASCII)
_LITERAL = re.compile(
    rf"[-+]?\s*(?:0[fF][0-9a-fA-F]{{8}}|0[dD][0-9a-fA-F]{{16}}|{_INTEGER}"
    r"|(?:[0-9]++\.[0-9]*+|\.[0-9]++|[0-9]++(?=[eE]))(?:[eE][-+]?[0-9]++)?)"
)
_ADDRESS = re.compile(rf"({_NAME}|{_INTEGER})(?:\s*([-+])\s*([-+]?)\s*({_INTEGER}))?", re.ASCII)
# First characters of what ``_read_common`` reads.
_COMMON = frozenset("%0123456789")
# Brackets that hold no others, or else a single bracket or comma.
_BRACKET = re.compile(r"[\[{(][^\[\]{}()]*+[\]})]|[\[\]{}(),]")
_CLOSING = {"[": "]", "{": "}", "(": ")"}
_NESTED = re.compile(r"[\[\]{}()]")
_EXPRESSION = re.compile(r"[\w$%.+\-*/<>&|^~!?:=()\[\]\s]++")
_TWO_WORDS = re.compile(r"[\w$%\])]\s++[\w$%\[(]")


def split_operands(text: str) -> list[str]:
    """Split at the commas outside of brackets."""
    if not _NESTED.search(text):
        return [piece.strip() for piece in text.split(",")] if text.strip() else []
    pieces: list[str] = []
    depth = begin = 0
    for match in _BRACKET.finditer(text):
        mark = match.group()
        if mark == ",":
            if depth == 0:
                pieces.append(text[begin : match.start()].strip())
                begin = match.end()
        elif len(mark) == 1:
            depth += 1 if mark in "[{(" else -1
    pieces.append(text[begin:].strip())
    return pieces


def parse_integer(text: str) -> int:
    """Return the value of an integer literal: decimal, 0x, 0b or a leading zero for octal."""
    digits = text.rstrip("U")
    if digits[:2] in ("0x", "0X", "0b", "0B"):
        return int(digits, 0)
    octal = len(digits) > 1 and digits[0] == "0" and not set(digits) & {"8", "9"}
    return int(digits, 8 if octal else 10)


class OperandReader:
    """Reads operands, remembering each text: a register occurs many times in a kernel.

    Names without a percent sign are registers only where a declaration says so; the parser
    reports these through ``declare`` and ``forget``.
    """

    def __init__(self) -> None:
        self._memo: dict[str, Operand | None] = {}
        self._plain: dict[str, int] = {}

    def declare(self, name: str) -> None:
        """Add a register without a percent sign that comes into scope."""
        self._plain[name] = self._plain.get(name, 0) + 1
        self._memo.clear()

    def forget(self, name: str) -> None:
        """Remove a register whose scope ends."""
        self._plain[name] -= 1
        self._memo.clear()

    def read_all(self, text: str) -> tuple[Operand, ...] | None:
        """Read an operand list; ``None`` where one of them has no known form."""
        return self._read_list(text, 0)

    def _read_list(self, text: str, depth: int) -> tuple[Operand, ...] | None:
        operands = []
        # Most lists are of operands that occurred before, separated as LLVM prints them.
        for piece in text.strip().split(", "):
            operand = _read_common(piece) if piece[:1] in _COMMON else self._memo.get(piece)
            if operand is None:
                return self._read_pieces(split_operands(text), depth)
            operands.append(operand)
        return tuple(operands)

    def _read_pieces(self, pieces: list[str], depth: int) -> tuple[Operand, ...] | None:
        operands = []
        for piece in pieces:
            operand = self._read(piece, depth)
            if operand is None:
                return None
            operands.append(operand)
        return tuple(operands)

    def _read(self, text: str, depth: int) -> Operand | None:
        if text not in self._memo:
            self._memo[text] = self._read_new(text, depth) if depth < MAX_DEPTH else None
        return self._memo[text]

    def _read_new(self, text: str, depth: int) -> Operand | None:
        closing = _CLOSING.get(text[:1])
        if closing is None:
            if match := _NAMED.fullmatch(text):
                return self._named(match.group(1), match.group(2) or "")
            if _LITERAL.fullmatch(text):
                return Immediate(text, _literal_value(text))
        elif text.endswith(closing):
            bracketed = self._bracketed(text[0], text[1:-1], depth + 1)
            if bracketed is not None:
                return bracketed
        if text.startswith("!"):
            operand = self._read(text[1:].strip(), depth + 1)
            return None if operand is None else Negated(operand)
        if match := _PAIR.fullmatch(text):
            first, second = (self._read(name, depth + 1) for name in match.groups())
            return None if first is None or second is None else Pair(first, second)
        if _EXPRESSION.fullmatch(text) and not _TWO_WORDS.search(text):
            return Expression(text)
        return None

    def _named(self, name: str, element: str) -> Operand:
        if name.startswith("%") or self._plain.get(name):
            return Register(name, element)
        return Symbol(f"{name}.{element}" if element else name)

    def _bracketed(self, opening: str, inner: str, depth: int) -> Operand | None:
        if opening == "[":
            return self._address(inner, depth)
        items = self._read_list(inner, depth)
        if items is None:
            return None
        return Vector(items) if opening == "{" else ArgumentList(items)

    def _address(self, inner: str, depth: int) -> Operand | None:
        tail: list[str] = []
        match = _ADDRESS.fullmatch(inner.strip())
        if match is None:  # coordinates follow
            head, *tail = split_operands(inner) or [""]
            match = _ADDRESS.fullmatch(head)
        if match is None:
            return None
        base = self._read(match.group(1), depth)
        rest = self._read_list(",".join(tail), depth) if tail else ()
        if base is None or rest is None:
            return None
        offset = parse_integer(match.group(4)) if match.group(4) else 0
        negative = (match.group(2) == "-") != (match.group(3) == "-")
        return Address(base, -offset if negative else offset, rest)


@lru_cache(maxsize=1 << 14)  # kernels have thousands of registers, and all the same names
def _read_common(text: str) -> Register | Immediate | None:
    """Read an operand that is the same in every kernel: a name with a percent sign, a literal."""
    if text[0] == "%":
        match = _NAMED.fullmatch(text)
        return Register(match.group(1), match.group(2) or "") if match else None
    return Immediate(text, _literal_value(text)) if _LITERAL.fullmatch(text) else None


def _literal_value(text: str) -> int | float:
    sign = -1 if text.startswith("-") else 1
    digits = text.lstrip("+-").strip()
    if digits[:2] in ("0f", "0F"):
        return sign * float(unpack(">f", bytes.fromhex(digits[2:]))[0])
    if digits[:2] in ("0d", "0D"):
        return sign * float(unpack(">d", bytes.fromhex(digits[2:]))[0])
    if digits.isdigit() or digits[:2] in ("0x", "0X") or not set(digits) & set(".eE"):
        return sign * parse_integer(digits)
    return sign * float(digits)
