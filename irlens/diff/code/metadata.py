"""Triton's metadata as statements: one key a line, by name."""

import msgspec

from irlens.diff.code.statements import Code, Statement
from irlens.model.errors import ParseError

#: Names the content of what was compiled, and so moves with anything.
_NOISE = frozenset({"hash"})


def read(text: str) -> Code:
    """Read the JSON. The hash is noise. Lines count from the first key, in their order.

    Raises:
        ParseError: It is no JSON object.
    """
    try:
        values = msgspec.json.decode(text, type=dict[str, object])
    except msgspec.DecodeError as error:
        raise ParseError(
            f"no JSON object: {error}", stage="metadata", line=1, column=1, text=text[:80]
        ) from error
    statements = []
    for number, (key, value) in enumerate(sorted(values.items()), 1):
        if key not in _NOISE:
            told = f'"{key}": {msgspec.json.encode(value, order="sorted").decode()}'
            statements.append(Statement(number, told, told))
    return Code(statements, [], [], len(values))
