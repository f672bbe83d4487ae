"""The calls of generated kernels: shapes, numbers and grids that TorchInductor's wrapper says."""

import ast
import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import msgspec

from irlens.model import files

#: Deepest nesting of a value; metadata has five levels.
_MAX_DEPTH = 40


class NotLiteralError(ValueError):
    """An expression whose value cannot be read off it."""


def literal(node: ast.expr, depth: int = 0) -> Any:
    """Return the value of a literal that may contain calls and attributes.

    A call of a class, such as ``DeviceProperties(type='cuda', cc=90)``, becomes the dictionary of
    its keywords, or its only positional argument; an attribute such as ``ReductionHint.INNER``
    becomes its text.

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


#: A number, or the shape of a tensor.
Value: TypeAlias = int | float | tuple[int, ...]

#: Functions of the wrapper that make or check a tensor: position of its shape.
_ALLOCATIONS = {
    "empty_strided_cuda": 0, "empty_strided": 0, "empty_strided_p2p": 0, "rand_strided": 0,
    "reinterpret_tensor": 1, "alloc_from_pool": 3, "randint": 2,
}  # fmt: skip
_MAX_Y_GRID = 65535


class CallOf(msgspec.Struct, frozen=True):
    """How the wrapper calls a kernel.

    Attributes:
        args: A number or a shape by parameter; unknown ones are left out.
        grid: CTAs in x, y and z, or expressions; empty if the call does not say them.
    """

    args: dict[str, Value] = {}
    grid: tuple[int | str, ...] = ()


class Calls:
    """The calls in the code of a wrapper.

    Args:
        code: The code; what cannot be parsed has no calls.
    """

    def __init__(self, code: str) -> None:
        self._values: dict[str, Value] = {}
        self._meta: dict[str, dict[str, Any]] = {}
        self._passed: list[ast.expr] = []
        self._runs: dict[str, tuple[ast.Call, dict[str, Value]]] = {}
        try:
            tree = ast.parse(code)
        except files.PARSE_ERRORS:
            return
        functions = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)]
        self._read(tree.body)
        # Example inputs first: they have numbers where the call has symbols.
        for function in sorted(functions, key=lambda each: each.name == "call"):
            if not function.decorator_list:
                self._read(function.body)

    def launch_of(
        self, kernel: str, parameters: Sequence[str], inductor: Mapping[str, Any]
    ) -> CallOf:
        """Return the first call of a kernel."""
        call, values = self._runs.get(kernel, (None, {}))
        if call is None:
            return CallOf()
        passed = call.args
        if passed and isinstance(passed[0], ast.Starred):
            passed = self._passed
        extra = inductor.get("extra_launcher_args")
        names = [*parameters, *(extra if isinstance(extra, list) else ())]
        args = {
            n: v
            for n, e in zip(names, passed, strict=False)
            if (v := _value(e, values)) is not None
        }
        grid = next((each.value for each in call.keywords if each.arg == "grid"), None)
        fixed = inductor.get("fixed_grid")
        if isinstance(fixed, list) and all(isinstance(args.get(n, n), int) for n in fixed):
            extents: tuple[int | str, ...] = tuple(int(str(args.get(n, n))) for n in fixed)
        else:
            extents = self._old_grid(grid, values)
        own = {n: v for n, v in args.items() if n in parameters}
        return CallOf(own, extents)

    def _read(self, body: Sequence[ast.stmt]) -> None:
        """Note what the statements of a function assign and call."""
        pending = list(body)[::-1]
        while pending:
            node = pending.pop()
            match node:
                case ast.With() | ast.If():
                    pending += node.body[::-1]
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    self._assign(name, value)
                case ast.Expr(value=ast.Call() as call):
                    self._call(call)
                case ast.Return(value=ast.Tuple(elts=elements)):
                    self._passed = self._passed or elements

    def _assign(self, name: str, node: ast.expr) -> None:
        if name.startswith("meta") and isinstance(node, ast.Dict):
            try:
                self._meta[name] = literal(node)
            except NotLiteralError:
                return
        elif (value := _value(node, self._values)) is not None:
            self._values[name] = value

    def _call(self, call: ast.Call) -> None:
        match call:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=kernel), attr="run")):
                if kernel not in self._runs:
                    self._runs[kernel] = call, dict(self._values)
            case ast.Call(
                func=ast.Name(id="assert_size_stride"), args=[ast.Name(id=name), shape, *_]
            ):
                if (
                    name not in self._values
                    and (extents := _shape(shape, self._values)) is not None
                ):
                    self._values[name] = extents

    def _old_grid(
        self, node: ast.expr | None, values: Mapping[str, Value]
    ) -> tuple[int | str, ...]:
        """Return the grid of a template up to PyTorch 2.6: ``mm_grid(M, N, meta0)``."""
        match node:
            case ast.Call(args=[*extents, ast.Name(id=meta)]) if meta in self._meta:
                tile = self._meta[meta]
                numbers = [_value(each, values) for each in extents]
                if len(numbers) < 2 or not all(isinstance(each, int) for each in numbers):
                    return ()
                name = ast.unparse(node.func).rpartition(".")[2]
                m, n = (
                    -(-int(str(number)) // int(tile.get(key, 1)))
                    for number, key in zip(numbers[-2:], ("BLOCK_M", "BLOCK_N"), strict=True)
                )
                if name == "mm_grid" and len(numbers) == 2:
                    return m * n, 1, 1
                if name == "bmm_grid" and len(numbers) == 3:
                    return m * n, int(str(numbers[0])), 1
        return ()


def _value(node: ast.expr, values: Mapping[str, Value]) -> Value | None:
    """Return a number or a tensor's shape, ``None`` for anything else."""
    match node:
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            return value
        case ast.Name(id=name):
            return values.get(name)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            inner = _value(operand, values)
            return -inner if isinstance(inner, int | float) else None
        case ast.BinOp(left=left, op=operator, right=right):
            return _arithmetic(_value(left, values), operator, _value(right, values))
        case ast.Call(func=function, args=args):
            name = ast.unparse(function).rpartition(".")[2]
            if name in ("copy_if_misaligned", "int"):
                return _value(args[0], values) if args else None
            position = _ALLOCATIONS.get(name)
            if position is not None and position < len(args):
                return _shape(args[position], values)
    return None


def _arithmetic(left: Value | None, operator: ast.operator, right: Value | None) -> int | None:
    if not isinstance(left, int) or not isinstance(right, int):
        return None
    match operator:
        case ast.Add():
            return left + right
        case ast.Sub():
            return left - right
        case ast.Mult():
            return left * right
        case ast.FloorDiv() if right:
            return left // right
        case ast.Mod() if right:
            return left % right
    return None


def _shape(node: ast.expr, values: Mapping[str, Value]) -> tuple[int, ...] | None:
    if not isinstance(node, ast.Tuple | ast.List):
        return None
    extents = [_value(each, values) for each in node.elts]
    numbers = tuple(each for each in extents if isinstance(each, int))
    return numbers if len(numbers) == len(extents) else None


def grid_of(inductor: Mapping[str, Any], names: Mapping[str, Any]) -> tuple[int | str, ...]:
    """Return the expressions of a generated kernel's grid; nothing if they are unknown.

    Args:
        inductor: Its ``inductor_meta``; up to PyTorch 2.6 it says no type of grid.
    """

    def blocks(axis: str) -> str:
        block = f"{axis.upper()}BLOCK"
        return f"cdiv({axis}numel, {block})" if block in names else f"{axis}numel"

    rows = "r0_numel" if "r0_numel" in names else "rnumel"
    tile = "R0_BLOCK" if "R0_BLOCK" in names else "RBLOCK"
    axes = [axis for axis in "xyz" if f"{axis}numel" in names]
    parts = f"cdiv({blocks('y')}, {_MAX_Y_GRID})"
    by_type: dict[str, tuple[str, ...]] = {
        "Grid1D": (blocks("x"),),
        "Grid2D": (blocks("x"), blocks("y")),
        "Grid3D": (blocks("x"), blocks("y"), blocks("z")),
        "BatchMatmulGrid3D": (blocks("z"), blocks("y"), blocks("x")),
        "Grid2DWithYZOverflow": (blocks("x"), f"cdiv({blocks('y')}, {parts})", parts),
        "CooperativeReductionGrid": ("RSPLIT", blocks("x")),
        "SplitScanGrid": (f"cdiv({rows}, {tile})", "xnumel"),
        "MixOrderReductionGrid": ("cdiv(xnumel, RSPLIT_SIZE)",),
    }
    kind = inductor.get("grid_type")
    if kind in by_type:
        return by_type[kind]
    if kind in ("SequentialComboKernelGrid", "RoundRobinComboKernelGrid"):
        return _combined(kind, inductor.get("combo_grid_meta"))
    if kind is None and "RSPLIT" not in names:
        return tuple(blocks(axis) for axis in axes)
    return ()


def _combined(kind: str, meta: Any) -> tuple[int | str, ...]:
    """Return the grid of several kernels that were combined into one."""
    if not isinstance(meta, dict) or any(re.match(r"y", str(key)) for key in meta):
        return ()
    default = meta.get("default_config")
    block = default.get("XBLOCK", "XBLOCK") if isinstance(default, dict) else "XBLOCK"
    single: list[str] = []
    tiled: list[str] = []
    for number in range(int(meta.get("num_kernels", 0))):
        extent = meta.get(f"xnumel_{number}") or f"xnumel_{number}"
        (single if meta.get(f"no_x_dim_{number}") else tiled).append(str(extent))
    if kind.startswith("Sequential"):
        total = " + ".join([*single, *(f"cdiv({each}, {block})" for each in tiled)])
    else:
        most = [f"cdiv(max({', '.join(tiled)}, 1), {block})"] if tiled else []
        total = f"max({', '.join([*single, *most, '1'])}) * {meta.get('num_kernels', 1)}"
    least = meta.get("min_blocks")
    return (f"max({total}, {least})" if least else total,)
