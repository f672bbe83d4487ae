"""The grid that a Python file launches a kernel with, without executing anything.

It is an expression of the kernel's own parameters: what the launch passes for them stands in the
grid under other names.
"""

import ast
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from irlens.compiler.calls.pointers import called_name, names_in
from irlens.model import files
from irlens.model.several import only

#: Variables to follow from a grid to what they are computed from.
_DEPTH = 8
_ARITHMETIC = (ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod)
_FUNCTIONS = frozenset({"cdiv", "next_power_of_2", "min", "max"})
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Module)


def launch_grid(path: Path, kernel: str, parameters: Sequence[str]) -> list[str]:
    """Return the extents of a kernel's grid in terms of its parameters.

    Args:
        path: The file that defines the kernel.
        kernel: The function's name.
        parameters: Its parameters in order.

    Returns:
        An empty list where the file does not launch it, launches it with several grids, or with
        one that follows from something else: a number of programs that the file writes out suits
        tensors of one size.
    """
    try:
        found = {tuple(e) for e in _grids(ast.parse(path.read_bytes()), kernel, parameters)}
    except (OSError, *files.PARSE_ERRORS):
        return []
    return list(only(found) or ())


def _grids(tree: ast.Module, kernel: str, parameters: Sequence[str]) -> Iterator[list[str]]:
    """Yield the grid of each launch, an empty one where it is unknown."""
    for scope in ast.walk(tree):
        if not isinstance(scope, _SCOPES):
            continue
        nodes = list(_own(scope))
        for node in nodes:
            match node:
                case ast.Call(func=ast.Subscript(value=ast.Name(id=name), slice=grid)) if (
                    name == kernel
                ):
                    passed = _passed(node, parameters)
                    yield _Translation(_assigned(nodes), passed, parameters).extents(grid)


def _own(scope: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a scope, but for those of functions in it."""
    pending = list(ast.iter_child_nodes(scope))
    while pending:
        node = pending.pop()
        yield node
        if not isinstance(node, _SCOPES):
            pending += ast.iter_child_nodes(node)


def _assigned(nodes: Sequence[ast.AST]) -> dict[str, ast.expr]:
    """Return the value of each variable that is assigned once; a function's what it returns."""
    values: dict[str, list[ast.expr | None]] = {}
    for node in nodes:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                values.setdefault(name, []).append(value)
            case ast.FunctionDef(name=name, args=args, body=[*_, ast.Return(value=value)]) if value:
                values.setdefault(name, []).append(ast.Lambda(args=args, body=value))
            case ast.Name(id=name, ctx=ast.Store()):
                values.setdefault(name, []).append(None)
    told = {name: [each for each in found if each is not None] for name, found in values.items()}
    # A plain assignment is found twice: as a whole, and as the name that it stores.
    return {
        name: found[0]
        for name, found in told.items()
        if len(found) == 1 and values[name].count(None) <= 1
    }


def _passed(call: ast.Call, parameters: Sequence[str]) -> dict[str, str]:
    """Return the parameter that each expression is passed for."""
    pairs = [*zip(parameters, call.args, strict=False)]
    pairs += [(each.arg, each.value) for each in call.keywords if each.arg is not None]
    passed: dict[str, str] = {}
    for name, value in pairs:
        text = ast.unparse(value)
        if not isinstance(value, ast.Constant) and (text == name or text not in passed):
            passed[text] = name
    return passed


class _UntoldError(Exception):
    """The grid follows from something else than the kernel's parameters."""


class _Translation:
    """Writes what a launch calls by other names in terms of a kernel's parameters."""

    def __init__(
        self,
        assigned: Mapping[str, ast.expr],
        passed: Mapping[str, str],
        parameters: Collection[str],
    ) -> None:
        self._assigned, self._passed, self._parameters = assigned, passed, parameters
        self._settings = ""

    def extents(self, grid: ast.expr) -> list[str]:
        """Return the extents of a grid; an empty list where one is unknown."""
        for _ in range(_DEPTH):
            match grid:
                case ast.Name(id=name) if name in self._assigned:
                    grid = self._assigned[name]
                case ast.Lambda(args=ast.arguments(args=[ast.arg(arg=name)]), body=body):
                    self._settings, grid = name, body
        parts = grid.elts if isinstance(grid, ast.Tuple | ast.List) else [grid]
        try:
            found = [ast.unparse(self._told(each, _DEPTH)) for each in parts]
        except _UntoldError:
            return []
        return found if all(each == "1" or names_in(ast.parse(each)) for each in found) else []

    def _told(self, node: ast.expr, depth: int) -> ast.expr:
        if name := self._passed.get(ast.unparse(node)):
            return ast.Name(id=name)
        match node:
            case ast.Constant(value=int()):
                return node
            case ast.BinOp(left=left, op=op, right=right) if isinstance(op, _ARITHMETIC):
                return ast.BinOp(
                    left=self._told(left, depth), op=op, right=self._told(right, depth)
                )
            case ast.Call(args=args, keywords=[]) if called_name(node) in _FUNCTIONS:
                told = [self._told(each, depth) for each in args]
                return ast.Call(func=ast.Name(id=called_name(node)), args=told, keywords=[])
            case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=str(setting))) if (
                name == self._settings and setting in self._parameters
            ):
                return ast.Name(id=setting)
            case ast.Name(id=name) if name in self._assigned and depth:
                return self._told(self._assigned[name], depth - 1)
        raise _UntoldError
