"""What a kernel's source does with its program IDs, and the grid that they number.

A number follows from the names that it is computed from. What is loaded follows from nothing,
though its address may follow from a program ID.
"""

import ast
import math
from collections.abc import Collection, Iterator, Mapping, Sequence

import msgspec

from irlens.compiler.calls.pointers import assignments, called_name, names_in, plain_name

#: Operations with a program ID that the grid has to suit.
_DECISIVE = (ast.Mult, ast.FloorDiv, ast.Mod, ast.Div, ast.LShift, ast.RShift)
#: What an expression of sizes is made of.
_ARITHMETIC = (ast.BinOp, ast.operator, ast.Name, ast.Constant, ast.expr_context)
#: Functions whose result follows from no argument.
_SOURCES = frozenset({"load", "zeros", "full", "dot", "dot_scaled"})
#: What an index of elements follows from.
_ELEMENTS = "arange()"
#: What the functions belong to that are no helpers of the kernel.
_LIBRARIES = frozenset({"tl", "triton", "libdevice", "math"})
_BUILT_IN = frozenset({"range", "min", "max", "abs", "print", "float", "int"})


class Axis(msgspec.Struct):
    """What an axis of the grid numbers.

    Attributes:
        names: What its IDs are multiplied, divided or compared with, and what that follows from.
        tiles: Those of them whose programs it may number: an index of elements is not divided
            among programs once more.
        factors: Names that multiply its IDs where these number no tiles: strides.
        step: The constant that multiplies its IDs.
    """

    names: set[str] = set()
    tiles: set[str] = set()
    factors: set[str] = set()
    step: int | None = None


class ProgramIds:
    """The program IDs of a kernel.

    Attributes:
        axes: The axes of its grid by number.
        is_opaque: Whether the grid may follow from more: the kernel asks for the number of
            programs, or calls a function of its own with an ID.
        passed: Names that it calls functions of its own with.
        shares: Of axes whose programs loop over equal shares of a size, the number that says how
            large a share is, and the size: ``range(pid * rows, min((pid + 1) * rows, M))``.
        strides: Of axes whose programs interleave a loop, the parameter that is how many they
            are: ``range(pid, tiles, NUM_SMS)``.
    """

    def __init__(self, function: ast.AST, constexprs: Collection[str]) -> None:
        self._constexprs = set(constexprs)
        self._nodes = list(ast.walk(function))
        self._assigned = assignments(self._nodes)
        for node in self._nodes:  # a loop begins where its range does
            match node:
                case ast.For(target=ast.Name(id=name), iter=ast.Call(args=[start, _, *_])):
                    self._assigned.setdefault(name, []).append(start)
        self._parameters = {each.arg for each in self._nodes if isinstance(each, ast.arg)}
        self._known = _LIBRARIES | self._parameters | self._assigned.keys()
        calls = [each for each in self._nodes if isinstance(each, ast.Call)]
        numbers = {_axis_of(each) for each in calls if called_name(each) == "program_id"}
        self.axes = {number: Axis() for number in range(3) if number in numbers}
        self.is_opaque = None in numbers or "num_programs" in map(called_name, calls)
        self.passed: set[str] = set()
        self.shares: dict[int, tuple[str, str]] = {}
        self.strides: dict[int, str] = {}
        self._has_helpers = False
        self._followed: dict[ast.AST, set[str]] = {}
        for node in self._nodes:
            self._note(node)

    def _note(self, node: ast.AST) -> None:
        match node:
            case ast.BinOp(left=left, op=op, right=right) if isinstance(op, _DECISIVE):
                self._combine([left, right])
                match op, right:
                    case ((ast.Mult() | ast.LShift()), ast.Constant(value=int(number))):
                        for axis in self._axes(left):
                            is_shift = isinstance(op, ast.LShift)
                            self.axes[axis].step = 1 << min(number, 32) if is_shift else number
            case ast.AugAssign(target=left, op=op, value=right) if isinstance(op, _DECISIVE):
                self._combine([left, right])
            case ast.Compare(left=left, comparators=others):
                self._combine([left, *others])
            case ast.While(test=test):
                self.is_opaque |= bool(self._axes(test))
            case ast.Call(args=[start, _, step]) if called_name(node) in ("range", "static_range"):
                self._combine([start, step])
                self._note_stride(start, step)
            case ast.Call(args=[start, stop]) if called_name(node) == "range":
                self._note_share(start, stop)
            case ast.Call(args=args) if called_name(node) == "swizzle2d":
                self._combine(args)
            case ast.Call(func=function) if not self._is_known(function):
                values = [*node.args, *(each.value for each in node.keywords)]
                self._has_helpers = True
                self.is_opaque |= any(map(self._axes, values))
                self.passed.update(*map(self._follow, values))

    def _note_stride(self, start: ast.expr, step: ast.expr) -> None:
        if (name := plain_name(step)) in self._parameters:
            for value in self._values(start):
                if isinstance(value, ast.Call) and called_name(value) == "program_id":
                    self.strides[_axis_of(value) or 0] = name

    def _note_share(self, start: ast.expr, stop: ast.expr) -> None:
        numbers = self._parameters - self._constexprs
        for value in self._values(start):
            match value:
                case ast.BinOp(left=left, op=ast.Mult(), right=right):
                    named = [(plain_name(right), left), (plain_name(left), right)]
                    found = [(n, self._axes(each)) for n, each in named if n in numbers]
                    sizes = {
                        plain_name(argument)
                        for end in self._values(stop)
                        if isinstance(end, ast.Call) and called_name(end) in ("min", "minimum")
                        for argument in end.args
                    } & numbers
                    for name, axes in found:
                        if len(axes) == len(sizes - {name}) == 1:
                            self.shares[axes[0]] = name, (sizes - {name}).pop()

    def _values(self, value: ast.expr) -> list[ast.expr]:
        """Return an expression, or what is assigned to the variable that it is."""
        return list(self._assigned.get(plain_name(value), [value]))

    def _is_known(self, function: ast.expr) -> bool:
        """Whether a function is Triton's or Python's, or a method of a value."""
        if isinstance(function, ast.Name):
            return function.id in _BUILT_IN
        while isinstance(function, ast.Attribute):
            function = function.value
        return not isinstance(function, ast.Name) or function.id in self._known

    def _combine(self, values: Sequence[ast.expr]) -> None:
        for value in values:
            for axis in self._axes(value):
                others = [each for each in values if each is not value]
                names = set[str]().union(*map(self._follow, others))
                self.axes[axis].names |= names
                if _ELEMENTS not in self._follow(value):
                    self.axes[axis].tiles |= names
                if not self._constexprs & self._follow(value):
                    self.axes[axis].factors |= set(map(plain_name, others)) - {""}

    def _axes(self, value: ast.expr) -> list[int]:
        """Return the axes whose IDs a value follows from."""
        return [axis for axis in self.axes if f"program_id({axis})" in self._follow(value)]

    def _follow(self, value: ast.expr) -> set[str]:
        """Return the names that a value follows from, calls as "program_id(0)" and "arange()"."""
        if value in self._followed:
            return self._followed[value]
        found: set[str] = set()
        pending: list[ast.AST] = [value]
        while pending:
            node = pending.pop()
            if isinstance(node, ast.Name) and node.id not in found:
                found.add(node.id)
                pending += self._assigned.get(node.id, ())
            elif isinstance(node, ast.Call) and called_name(node) == "program_id":
                found.add(f"program_id({_axis_of(node)})")
            elif isinstance(node, ast.Call) and called_name(node) == "arange":
                found.add(_ELEMENTS)
            elif not isinstance(node, ast.Call) or called_name(node) not in _SOURCES:
                pending += ast.iter_child_nodes(node)
        self._followed[value] = found
        return found

    def extents(self, dimensions: Sequence[Mapping[str, int]]) -> list[str]:
        """Return the extents of a grid that covers the kernel's tensors, "" where one is unknown.

        Args:
            dimensions: The extents of each tensor's dimensions by their stride's name.
        """
        if not self.axes and not self._has_helpers and self._parameters:
            return ["1"]
        if self.is_opaque or sorted(self.axes) != list(range(len(self.axes))):
            return []
        return [self._extent(axis, dimensions) for axis in sorted(self.axes)]

    def decide(self, changed: Collection[str], grid: Sequence[int]) -> bool:
        """Whether another grid may suit the kernel after some constexprs and sizes have changed."""
        numbered = {axis for axis, extent in enumerate(grid) if extent > 1}
        decisive = self.passed.union(*(axis.names for axis in self.axes.values()))
        decisive.update(two for one, two in self._products() if one in decisive)
        is_told = not self.is_opaque and numbered <= self.axes.keys()
        return not is_told or not decisive.isdisjoint(changed)

    def _extent(self, number: int, dimensions: Sequence[Mapping[str, int]]) -> str:
        if number in self.shares:
            share, size = self.shares[number]
            return f"cdiv({size}, {share})"
        if number in self.strides:
            return self.strides[number]
        axis = self.axes[number]
        sizes = self._sizes(number, dimensions)
        tiles = sorted(axis.tiles & sizes.keys())
        if not tiles and axis.step and len(told := self._numbered(number) & sizes.keys()) == 1:
            return f"cdiv({sizes[told.pop()]}, {axis.step})"
        splits = {one: two for one, two in self._products() if two not in sizes}
        factors = [splits.get(tile) or f"cdiv({sizes[tile]}, {tile})" for tile in tiles]
        if "" in map(sizes.get, set(tiles) - splits.keys()):
            return ""
        strided = ([e for n, e in each.items() if n in axis.factors] for each in dimensions)
        rows = min(strided, key=lambda each: (-len(each), math.prod(each)), default=[])
        return " * ".join([*factors, *([str(math.prod(rows))] if rows else [])])

    def _numbered(self, axis: int) -> set[str]:
        """Return the tiles whose elements are compared by numbers that follow from an axis."""
        compared = (each.left for each in self._nodes if isinstance(each, ast.Compare))
        return {self._tile(each) for each in compared if axis in self._axes(each)}

    def _products(self) -> Iterator[tuple[str, str]]:
        """Yield each product of two constexprs in both orders.

        What several programs split has steps of a tile times their number.
        """
        for each in self._nodes:
            match each:
                case ast.BinOp(left=ast.Name(id=one), op=ast.Mult(), right=ast.Name(id=two)):
                    if {one, two} <= self._constexprs:
                        yield from ((one, two), (two, one))

    def _sizes(self, axis: int, dimensions: Sequence[Mapping[str, int]]) -> dict[str, str]:
        """Return what each tile is a part of, "" if that is unknown: N of ``cdiv(N, BLOCK)``.

        What bounds an axis's own numbers comes before what bounds others of the same tile.
        """
        own: dict[str, str] = {}
        others: dict[str, str] = {}
        strides = {name: str(extent) for each in dimensions for name, extent in each.items()}
        strided: dict[str, str] = {}
        wrapped: dict[str, str] = {}
        unknown: dict[str, str] = {}
        for node in self._nodes:
            match node:
                case ast.Call(args=[size, tile]) if called_name(node) == "cdiv":
                    others.setdefault(plain_name(tile), self._size(size))
                case ast.Compare(left=left, comparators=[size]) if self._size(size):
                    found = own if axis in self._axes(left) else others
                    found.setdefault(self._tile(left), self._size(size))
                case ast.BinOp(left=left, op=ast.Mod(), right=size) if self._size(size):
                    wrapped.setdefault(self._tile(left), self._size(size))
                case ast.BinOp(left=left, op=ast.Mult(), right=size) if plain_name(size) in strides:
                    strided.setdefault(self._tile(left), strides[plain_name(size)])
                case ast.Call(args=[_, *_]) if called_name(node) == "arange":
                    unknown[plain_name(node.args[-1])] = ""
        found = unknown | strided | wrapped | others | own
        return {tile: size for tile, size in found.items() if tile in self._constexprs}

    def _size(self, value: ast.expr) -> str:
        """Return an expression of the kernel's parameters, or ""."""
        nodes = list(ast.walk(value))
        names = {each.id for each in nodes if isinstance(each, ast.Name)}
        is_plain = all(isinstance(each, _ARITHMETIC) for each in nodes)
        if isinstance(value, ast.Call):
            return plain_name(value) if plain_name(value) in self._parameters else ""
        return ast.unparse(value) if names and names <= self._parameters and is_plain else ""

    def _tile(self, value: ast.expr) -> str:
        """Return the tile whose elements a value numbers: T of ``… + tl.arange(0, T)``, or ""."""
        names = names_in(value)
        values = [value, *(each for name in names for each in self._assigned.get(name, ()))]
        nodes = (each for expression in values for each in ast.walk(expression))
        calls = (
            each for each in nodes if isinstance(each, ast.Call) and called_name(each) == "arange"
        )
        return next((plain_name(each.args[-1]) for each in calls if each.args), "")


def _axis_of(node: ast.Call) -> int | None:
    """Return the axis of a program ID; ``None`` where it is no number."""
    for axis in (*node.args, *(each.value for each in node.keywords)):
        if isinstance(axis, ast.Constant) and type(axis.value) is int:
            return axis.value
    return None
