"""Encodings of ttgir tensors, read from their text with everything that is nested in them.

``#ttg.slice<{dim = 1, parent = #blocked}>`` names its parent by an alias, which the module resolves
(MLIR Language Reference, "Attribute Value Aliases").
"""

import re
from collections.abc import Mapping

import msgspec

from irlens.model.text import split_list

_ENCODING = re.compile(r"#ttg\.(\w{1,40})<\{(.*)\}>", re.DOTALL)
_INTEGER = re.compile(r"-?\d{1,9}")
_BRACKETS = "()[]{}<>"
#: Triton nests at most a slice of a slice of a dot operand of a matrix product.
_DEEPEST = 8

Bases = tuple[tuple[int, ...], ...]


class Encoding(msgspec.Struct, frozen=True):
    """One encoding attribute.

    Attributes:
        kind: "blocked", "slice", "linear", "nvidia_mma", ...
        numbers: Fields that are an integer; ``true`` is 1 and ``false`` 0.
        lists: Fields that are a list of integers.
        bases: Fields that are a list of such lists; an inner dictionary's field as
            "ctaLayout.warp".
        fields: The names of all fields.
        parent: The encoding that a slice or a dot operand is derived from.
    """

    kind: str
    numbers: dict[str, int]
    lists: dict[str, tuple[int, ...]]
    bases: dict[str, Bases]
    fields: frozenset[str]
    parent: "Encoding | None"


def read_encoding(
    layout: str, aliases: Mapping[str, str], depth: int = _DEEPEST
) -> Encoding | None:
    """Read an encoding in full or by its alias; ``None`` for what is not one of Triton's.

    Args:
        layout: As it stands in a type.
        aliases: The module's.
        depth: Nested encodings that are read at most.
    """
    match = _ENCODING.fullmatch(aliases.get(layout, layout).strip())
    if match is None or depth == 0:
        return None
    written = dict(_fields(match[2]))
    parent = None
    if "parent" in written:
        parent = read_encoding(written["parent"], aliases, depth - 1)
        if parent is None:
            return None
    numbers, lists, bases = dict[str, int](), dict[str, tuple[int, ...]](), dict[str, Bases]()
    for name, text in written.items():
        if text in ("true", "false"):
            numbers[name] = int(text == "true")
        elif _INTEGER.fullmatch(text):
            numbers[name] = int(text)
        elif text.startswith("["):
            if (values := _integers(text)) is not None:
                lists[name] = values
            if (vectors := _vectors(text)) is not None:
                bases[name] = vectors
    return Encoding(match[1], numbers, lists, bases, frozenset(written), parent)


def _fields(text: str, prefix: str = "") -> list[tuple[str, str]]:
    """Return the fields of a dictionary's text, those of inner dictionaries among them."""
    fields = []
    for item in split_list(text, _BRACKETS):
        name, _, value = (part.strip() for part in item.partition("="))
        if value.startswith("{") and not prefix:
            fields += [(name, value), *_fields(value[1:-1], f"{name}.")]
        elif name:
            fields.append((prefix + name, value))
    return fields


def _items(text: str) -> list[str]:
    inside = text.strip().removeprefix("[").removesuffix("]").strip()
    return split_list(inside, _BRACKETS) if inside else []


def _integers(text: str) -> tuple[int, ...] | None:
    items = _items(text)
    return tuple(map(int, items)) if all(map(_INTEGER.fullmatch, items)) else None


def _vectors(text: str) -> Bases | None:
    vectors = []
    for item in _items(text):
        vector = _integers(item) if item.startswith("[") else None
        if vector is None:
            return None
        vectors.append(vector)
    return tuple(vectors)
