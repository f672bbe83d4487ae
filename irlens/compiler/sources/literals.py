"""Values of Python expressions that are read without being executed."""

import ast
from typing import Any

#: Deepest nesting of a value; metadata has five levels.
_MAX_DEPTH = 40


class NotLiteralError(ValueError):
    """An expression whose value cannot be read off it."""


def literal(node: ast.expr, depth: int = 0) -> Any:
    """Return the value of a literal that may contain calls and attributes.

    A call of a class, such as ``DeviceProperties(type='cuda', cc=90)``, becomes the dictionary of
    its keywords, or its only positional argument; an attribute such as ``ReductionHint.INNER``
    becomes its text.

    Args:
        node: The expression.
        depth: Nesting so far.

    Raises:
        NotLiteralError: It is another expression.
    """
    if depth > _MAX_DEPTH:
        raise NotLiteralError("nested too deeply")

    def value(inner: ast.expr) -> Any:
        return literal(inner, depth + 1)

    match node:
        case ast.Constant():
            return node.value
        case ast.Name() | ast.Attribute():
            return ast.unparse(node)
        case ast.Tuple() | ast.List():
            return [value(each) for each in node.elts]
        case ast.Set():
            return sorted(str(value(each)) for each in node.elts)
        case ast.Dict():
            pairs = zip(node.keys, node.values, strict=True)
            return {_key(value(key)): value(each) for key, each in pairs if key is not None}
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            inner = value(operand)
            if isinstance(inner, int | float):
                return -inner
        case ast.Call(args=[], keywords=keywords):
            return {each.arg: value(each.value) for each in keywords if each.arg}
        case ast.Call(args=[only], keywords=[]):
            return value(only)
    raise NotLiteralError(ast.unparse(node)[:80])


def _key(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
