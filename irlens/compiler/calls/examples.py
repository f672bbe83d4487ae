"""Example values for a kernel's parameters, from how its source uses them."""

import ast
import re
from collections.abc import Iterator, Sequence

import msgspec

_POINTER_CALLS = re.compile(r"load|store|atomic_\w+|make_block_ptr|\w*make_tensor_descriptor")
_DESCRIPTOR_CALLS = re.compile(r"load|store|gather|scatter|atomic_\w+")
_POINTER_NAME = re.compile(r"ptr|pointer", re.IGNORECASE)
_FLOAT_NAME = re.compile(r"eps|scale|prob|alpha|beta|momentum|(^|_)(lr|p)($|_)", re.IGNORECASE)
_TILE_NAME = re.compile(r"block|tile|size|dim", re.IGNORECASE)


class Uses(msgspec.Struct):
    """How a kernel's source uses names.

    Attributes:
        assigned: The first expression assigned to each variable.
        pointers: Names that are loaded from or stored to.
        blocks: Index expressions of each descriptor's first load or store.
        ranges: Names in the extents of tiles.
        conditions: Names that are conditions by themselves.
        texts: A text that each name is compared with.
        dtypes: Names that values are converted to.
    """

    assigned: dict[str, ast.expr] = {}
    pointers: set[str] = set()
    blocks: dict[str, list[ast.expr]] = {}
    ranges: set[str] = set()
    conditions: set[str] = set()
    texts: dict[str, str] = {}
    dtypes: set[str] = set()


def find_uses(source: str) -> Uses:
    """Return how a function's source uses its names; nothing is known of invalid source."""
    uses = Uses()
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return uses
    nodes = list(ast.walk(tree))
    for node in nodes:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            uses.assigned.setdefault(node.targets[0].id, node.value)
    for node in nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            _note_call(uses, node, node.func)
        elif isinstance(node, ast.If | ast.IfExp | ast.While):
            uses.conditions |= {each.id for each in _terms(node.test)}
        elif isinstance(node, ast.Compare) and isinstance(node.left, ast.Name):
            (other, *_) = node.comparators
            if isinstance(other, ast.Constant) and isinstance(other.value, str):
                uses.texts.setdefault(node.left.id, other.value)
    return uses


def example(name: str, uses: Uses, constexprs: Sequence[str], *, constexpr: bool) -> str:
    """Return an option that sets a parameter; capital letters stand for what cannot be guessed.

    Args:
        name: The parameter.
        uses: How the kernel's source uses it.
        constexprs: Every constexpr of the kernel, which the block of a descriptor may name.
        constexpr: Whether the parameter is one.
    """
    if constexpr:
        return f"--set {name}={_constexpr(name, uses)}"
    if name in uses.blocks:
        extents = [_extent(index, uses, constexprs) for index in uses.blocks[name]]
        shape = ",".join("1024" for _ in extents)
        if extents and None not in extents:
            return f"--arg {name}=fp16[{shape}]:block[{','.join(map(str, extents))}]"
        return f"--arg {name}=DTYPE[SHAPE]:block[EXTENTS]"
    if name in uses.pointers or _POINTER_NAME.search(name):
        return f"--arg {name}=fp32[1024]"
    return f"--arg {name}={'0.5' if _FLOAT_NAME.search(name) else '1024'}"


def _constexpr(name: str, uses: Uses) -> str:
    if name in uses.ranges:
        return "128"
    if name in uses.texts:
        return uses.texts[name]
    if name in uses.dtypes:
        return "fp16"
    if name in uses.conditions:
        return "true"
    return "128" if _TILE_NAME.search(name) else "8"


def _note_call(uses: Uses, call: ast.Call, function: ast.Attribute) -> None:
    """Note what a method or a function of ``tl`` does with its arguments."""
    owner = function.value.id if isinstance(function.value, ast.Name) else ""
    first = call.args[0] if call.args else None
    if owner == "tl" and first is not None:
        if _POINTER_CALLS.fullmatch(function.attr):
            uses.pointers |= set(_base(first, uses))
        elif function.attr in ("arange", "zeros", "full"):
            extents = call.args if function.attr == "arange" else [first]
            names = (each for extent in extents for each in ast.walk(extent))
            uses.ranges |= {each.id for each in names if isinstance(each, ast.Name)}
    elif _DESCRIPTOR_CALLS.fullmatch(function.attr) and isinstance(first, ast.List | ast.Tuple):
        uses.blocks.setdefault(owner, first.elts)
    if function.attr == "to" and isinstance(first, ast.Name):
        uses.dtypes.add(first.id)
    uses.dtypes |= {
        each.value.id
        for each in call.keywords
        if each.arg == "dtype" and isinstance(each.value, ast.Name)
    }


def _base(expression: ast.expr, uses: Uses, depth: int = 8) -> Iterator[str]:
    """Yield the name of a pointer: ``x`` of ``x + offsets``, or what was assigned to it."""
    while isinstance(expression, ast.BinOp) and isinstance(expression.op, ast.Add | ast.Sub):
        expression = expression.left
    if isinstance(expression, ast.Name):
        yield expression.id
        value = uses.assigned.get(expression.id)
        if value is not None and depth:
            yield from _base(value, uses, depth - 1)


def _terms(test: ast.expr) -> Iterator[ast.Name]:
    """Yield the names of a condition that stand alone: ``A`` and ``B`` of ``A and not B``."""
    if isinstance(test, ast.Name):
        yield test
    elif isinstance(test, ast.UnaryOp):
        yield from _terms(test.operand)
    elif isinstance(test, ast.BoolOp):
        for each in test.values:
            yield from _terms(each)


def _extent(index: ast.expr, uses: Uses, constexprs: Sequence[str], depth: int = 4) -> str | None:
    """Return the only constexpr in an index, which is the block's extent; ``None`` if in doubt."""
    names = {each.id for each in ast.walk(index) if isinstance(each, ast.Name)}
    found = names & set(constexprs)
    if not found and depth:
        values = (uses.assigned[name] for name in names if name in uses.assigned)
        found = {e for v in values if (e := _extent(v, uses, constexprs, depth - 1)) is not None}
    return next(iter(found)) if len(found) == 1 else None
