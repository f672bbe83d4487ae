"""Edits of a kernel's file that compute an integer in 64 bits, as an author would write them."""

import ast
from collections.abc import Iterator

from irlens.model.limits import Edit
from irlens.model.source import SourceLocation

_OPERATORS: dict[str, type[ast.operator]] = {
    "multiplication": ast.Mult, "addition": ast.Add, "subtraction": ast.Sub, "shift": ast.LShift,
}  # fmt: skip
_LANGUAGE = "triton.language"
#: Operands that a method can be called on as they are.
_PRIMARY = (ast.Name, ast.Attribute, ast.Call, ast.Subscript)


def widened_versions(text: str, at: SourceLocation, word: str) -> Iterator[tuple[str, Edit]]:
    """Yield versions of a file in which an operation has an operand of 64 bits, the best first.

    The program's number becomes wide where it is assigned, so that every use of it is. A sum is
    hardly larger than the product in it, of which a factor has to be wide.

    Args:
        at: The operation, as the compiler's debug information has it.
        word: What it does: "multiplication".
    """
    tree = ast.parse(text)
    operation = _operation(tree, at, word)
    if operation is None:
        return
    language = _language(tree)
    function = _function(tree, operation)
    operands = [each for each in (operation.left, operation.right) if _leaves(each)]
    leaves = [leaf for each in operands for leaf in _leaves(each)]
    if word in ("addition", "subtraction"):
        chosen = [*(_program(function, each) for each in leaves), *leaves]
    else:
        chosen = [n for each in operands for n in (_program(function, each, 1), each)]
    for each in dict.fromkeys(filter(None, [*chosen, *operands])):
        yield _widened(text, each, f"{language}.int64")


def _leaves(operand: ast.expr) -> list[ast.expr]:
    """Return what a sum or a product is of, but for constants."""
    if isinstance(operand, ast.BinOp) and isinstance(operand.op, tuple(_OPERATORS.values())):
        return _leaves(operand.left) + _leaves(operand.right)
    return [] if isinstance(operand, ast.Constant) else [operand]


def operation_start(text: str, at: SourceLocation, word: str) -> tuple[int, int] | None:
    """Return the line and column where an operation begins: edits of its operands keep both."""
    operation = _operation(ast.parse(text), at, word)
    return (operation.lineno, operation.col_offset) if operation is not None else None


def _operation(tree: ast.Module, at: SourceLocation, word: str) -> ast.BinOp | None:
    """Return the operation at a location: of several that begin there the innermost."""
    kind = _OPERATORS.get(word)
    found = [
        node
        for node in ast.walk(tree)
        if kind is not None and isinstance(node, ast.BinOp) and isinstance(node.op, kind)
        and any((at.line, at.column or column) == (line, column) for line, column in _places(node))
    ]  # fmt: skip
    return found[-1] if found else None  # walked breadth first


def _places(operation: ast.BinOp) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return where versions of Triton place an operation; no two operations share a place.

    Triton 3.9: the column of its first character, counted from 1. Triton 3.6: the place of its
    right operand, the column counted from 0.
    """
    right = operation.right
    return (operation.lineno, operation.col_offset + 1), (right.lineno, right.col_offset)


def _function(tree: ast.Module, operation: ast.BinOp) -> ast.AST:
    around = [
        node for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and any(each is operation for each in ast.walk(node))
    ]  # fmt: skip
    return around[-1] if around else tree


def _program(function: ast.AST, leaf: ast.expr, depth: int = 4) -> ast.expr | None:
    """Return the call of ``program_id`` that a leaf is, or follows from by assigned names."""
    if isinstance(leaf, ast.Call):
        called = leaf.func
        return leaf if isinstance(called, ast.Attribute) and called.attr == "program_id" else None
    if not isinstance(leaf, ast.Name) or not depth:
        return None
    values = [
        node.value if isinstance(node, ast.Assign) else None
        for node in ast.walk(function)
        if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign | ast.For)
        and any(
            isinstance(each, ast.Name) and each.id == leaf.id and isinstance(each.ctx, ast.Store)
            for each in ast.walk(node)
        )
    ]
    if len(values) != 1 or values[0] is None:
        return None
    found = (_program(function, each, depth - 1) for each in _leaves(values[0]))
    return next(filter(None, found), None)


def _language(tree: ast.Module) -> str:
    """Return how the file names ``triton.language``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            package = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
            for each in node.names:
                if f"{package}{each.name}" == _LANGUAGE and (each.asname or package):
                    return each.asname or each.name
    return _LANGUAGE


def _widened(text: str, operand: ast.expr, dtype: str) -> tuple[str, Edit]:
    """Return a file with an operand of 64 bits, and the edit."""
    lines = text.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line.encode()))
    first = starts[operand.lineno - 1] + operand.col_offset
    last = starts[(operand.end_lineno or operand.lineno) - 1] + (operand.end_col_offset or 0)
    content = text.encode()
    before = content[first:last].decode()
    after = f"{before if isinstance(operand, _PRIMARY) else f'({before})'}.to({dtype})"
    edited = content[:first] + after.encode() + content[last:]
    return edited.decode(), Edit(line=operand.lineno, before=before, after=after)
