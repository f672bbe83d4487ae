"""Grammar of MLIR's statements: pure predicates and readers at a token of the text."""

from irlens.isa.mlir.tokens import Tokens, is_location
from irlens.isa.mlir.tree import UnfinishedArgument

#: Separators of operand and result types: casts print ``arith.extf %x : f16 to f32``.
ARROWS = frozenset({"->", "to"})

# After these a name with a dot in it is not an operation's.
_EXPECTS_MORE = frozenset({",", "=", ":", "->", "to"})


def begins_statement(tokens: Tokens, index: int) -> bool:
    """Whether a token outside the brackets of a head begins the next statement."""
    values = tokens.values
    value, before = values[index], values[index - 1] if index else ""
    kind = value[:1]
    if kind in ("", "}"):
        return True
    if kind in "#!":
        return is_alias(tokens, index)
    if kind == "^":
        following = index + 1
        if values[following] == "(":
            following = tokens.after(following)
        return values[following] == ":"
    if before in _EXPECTS_MORE:
        return False
    if kind == "%":
        return name_after_results(tokens, index) is not None
    return _is_name(tokens, index)


def is_alias(tokens: Tokens, index: int) -> bool:
    """Whether a token that begins with ``#`` or ``!`` begins the definition of an alias."""
    return is_location(tokens.values[index]) or tokens.values[index + 1] == "="


def _is_name(tokens: Tokens, index: int) -> bool:
    """Whether a token can be the name of an operation."""
    value = tokens.values[index]
    if value[:1] == '"':
        return tokens.values[index + 1] == "("
    if "." not in value or value[-1] == ">":  # "tensor<4x!tt.ptr<f32>>"
        return value == "module"
    return value[0].isalpha() or value[0] == "_"


def name_after_results(tokens: Tokens, index: int) -> int | None:
    """Return the token that names an operation whose text begins at ``index``, if one does.

    The value bound in ``scf.for %i = %low`` is not a result: no name follows it.
    """
    values = tokens.values
    if values[index][:1] == "%":
        while values[index][:1] == "%" and values[index + 1] == ",":
            index += 2
        if values[index][:1] != "%" or values[index + 1] != "=":
            return None
        index += 2
    return index if _is_name(tokens, index) else None


def is_dictionary(tokens: Tokens, brace: int) -> bool:
    """Whether a brace opens an attribute dictionary, and not a region.

    A lone name is a unit attribute, unless it ends a region ("tt.return", "scf.yield").
    """
    name, following = tokens.values[brace + 1], tokens.values[brace + 2]
    if not (name[0] == '"' or name[0].isalpha() or name[0] == "_"):
        return False
    if following == "}":
        return not name.endswith(("return", "yield"))
    return following in ("=", ",")


def dictionary(tokens: Tokens, brace: int) -> dict[str, str]:
    """Read ``{name = value, "quoted.name" = value, unit}``."""
    attributes: dict[str, str] = {}
    for first, end in tokens.split(brace + 1, tokens.match[brace]):
        value = tokens.slice(first + 2, end) if end - first > 2 else "unit"
        attributes[tokens.values[first].strip('"')] = value
    return attributes


def arguments(tokens: Tokens, opener: int) -> list[UnfinishedArgument]:
    """Read ``(%x: type {attributes} loc(...), ...)``."""
    values = tokens.values
    block_arguments: list[UnfinishedArgument] = []
    for first, end in tokens.split(opener + 1, tokens.match[opener]):
        if values[first][0] != "%":
            continue
        index = first + 2
        while index < end and values[index] not in ("{", "loc") and not is_location(values[index]):
            index = tokens.after(index)
        argument = UnfinishedArgument(values[first])
        argument.type = tokens.slice(first + 2, index)
        if index < end and values[index] == "{":
            argument.attributes.update(dictionary(tokens, index))
            index = tokens.after(index)
        if index < end and is_location(values[index]):
            argument.location = (index, index + 1)
        elif index < end and values[index] == "loc" and tokens.match[index + 1]:
            argument.location = (index + 2, tokens.match[index + 1])
        block_arguments.append(argument)
    return block_arguments


def after_type(tokens: Tokens, index: int) -> int:
    """Return the token after a type, or ``index`` where there is none.

    Types are ``!tt.ptr<f32>``, ``i32``, ``tensor<...>`` and, where the rest is implied, ``<...>``.
    """
    value = tokens.values[index]
    if value[:1] == "!" or value[:1].isalpha():
        index += 1
    return tokens.after(index) if tokens.values[index] == "<" else index
