"""Which names of a kernel's source are sizes: those that compute offsets, or bound them."""

import ast
import re
from collections.abc import Iterator

from irlens.compiler.calls.pointers import assignments, called_name
from irlens.compiler.sources.description import KernelSource
from irlens.model import files

#: Functions whose first argument is an address, and those whose others are sizes and strides, too.
_ACCESSES = re.compile(r"load|store|atomic_\w+")
_SHAPED = re.compile(r"advance|make_block_ptr|\w*tensor_descriptor")
#: Functions that return a size when they are given one.
_OF_SIZES = frozenset({"cdiv", "min", "max", "minimum", "maximum", "multiple_of"})
_RANGES = frozenset({"range", "static_range"})
_ORDERS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)


def index_names(source: KernelSource) -> set[str]:
    """Return the names that a kernel computes addresses, bounds of masks and of loops from.

    A call's arguments do not count, but for those of ``tl.cdiv`` and the like: what random numbers
    are made of is no size, even where they are compared. Nothing is known of what the kernel calls.
    """
    function = function_of(source)
    if function is None:
        return set()
    nodes = list(ast.walk(function))
    assigned = assignments(nodes)
    found = {name for node in nodes for each in _indexed(node) for name in _names(each)}
    left = list(found)
    while left:
        more = {name for value in assigned.get(left.pop(), ()) for name in _names(value)} - found
        found |= more
        left += more
    return found


def function_of(source: KernelSource) -> ast.FunctionDef | None:
    """Return a kernel's function; ``None`` where its file defines it otherwise, or is a log."""
    try:
        tree = ast.parse(source.content)
    except files.PARSE_ERRORS:
        return None
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
    name = source.function.rpartition(".")[2]
    return next((each for each in functions if each.name == name), None)


def _indexed(node: ast.AST) -> Iterator[ast.expr]:
    """Yield the expressions of a node that are addresses or bounds."""
    match node:
        case ast.Compare(left=left, ops=ops, comparators=comparators):
            if any(isinstance(each, _ORDERS) for each in ops):
                yield from (left, *comparators)
        case ast.Call(args=args, keywords=keywords):
            name = called_name(node)
            if name in _RANGES or _SHAPED.fullmatch(name):
                yield from (*args, *(each.value for each in keywords))
            elif _ACCESSES.fullmatch(name):
                yield from args[:1]


def _names(expression: ast.expr) -> Iterator[str]:
    """Yield the names that a number follows from by arithmetic."""
    match expression:
        case ast.Name(id=name):
            yield name
        case ast.Call(args=args):
            if called_name(expression) == "to" and isinstance(expression.func, ast.Attribute):
                yield from _names(expression.func.value)
            elif called_name(expression) in _OF_SIZES:
                yield from (name for each in args for name in _names(each))
        case _:
            for child in ast.iter_child_nodes(expression):
                if isinstance(child, ast.expr):
                    yield from _names(child)
