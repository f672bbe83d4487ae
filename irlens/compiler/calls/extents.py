"""How far a kernel's indices reach, from what its source compares them with."""

import ast
from collections.abc import Callable, Collection, Iterator, Mapping

from irlens.compiler.calls.expressions import evaluate
from irlens.compiler.calls.pointers import assignments, called_name, in_order, names_in, plain
from irlens.model.config import ConstexprValue
from irlens.model.errors import CaptureError

#: Assignments to follow from an index to what it is computed from.
_DEPTH = 8
#: Programs of an axis whose IDs are indices.
_PROGRAMS = 1024


class Extents:
    """The extents of a kernel's indices.

    Args:
        names: The values of its numbers, and of its constexprs that are no tiles.
        tiles: Its other constexprs.
        programs: Returns the number of programs by the name of a variable that has their ID, if
            the name says it.
    """

    def __init__(
        self,
        tree: ast.AST,
        names: Mapping[str, ConstexprValue],
        tiles: Collection[str],
        programs: Callable[[str], int | None],
    ) -> None:
        nodes = in_order(tree)
        self._assigned = assignments(nodes)
        self._names, self._tiles, self._programs = dict(names), tiles, programs
        self._bounds: list[tuple[ast.expr, ast.expr]] = []
        self._counted: dict[str, list[ast.expr]] = {}
        for node in nodes:
            match node:
                case ast.Compare(left=left, ops=[ast.Lt() | ast.LtE(), *_], comparators=[size, *_]):
                    self._bounds.append((plain(left), size))
                case ast.For(target=ast.Name(id=name), iter=ast.Call(args=[*parts])) if parts:
                    self._counted.setdefault(name, parts)
        for name, values in self._assigned.items():
            if name not in self._names and len(values) == 1:
                value = self.value(values[0])
                self._names |= {name: value} if value is not None else {}

    def value(self, expression: ast.expr) -> int | None:
        """Return the value of an expression of numbers and constexprs."""
        text = ast.unparse(expression).replace("triton.", "").replace("tl.", "")
        try:
            value = evaluate(text, self._names, "")
        except CaptureError:
            return None
        return value if type(value) is int else None

    def tile(self, name: str) -> tuple[int, bool] | None:
        """Return how many elements a tile has at most, and whether one covers all of them."""
        for left, size in self._bounds:
            reached = list(self._reached(left))
            names = {each.id for each in reached if isinstance(each, ast.Name)}
            steps = any(map(_is_program, reached)) or not names.isdisjoint(self._counted)
            for node in reached:
                match node:
                    case ast.Call(args=[_, ast.Name(id=end)]) if end == name:
                        value, factor = self.value(size), 1
                    case ast.Call(
                        args=[_, ast.BinOp(left=ast.Name(id=end), op=ast.FloorDiv(), right=parts)]
                    ) if end == name:
                        value, factor = self.value(size), self.value(parts) or 1
                    case _:
                        continue
                if value is not None and value > 0:
                    return (1 << (value - 1).bit_length()) * factor, not steps
        return None

    def of(self, index: ast.expr, depth: int = _DEPTH) -> int | None:
        """Return the exclusive upper bound of an index; ``None`` if it is unknown."""
        index = plain(index)
        text = ast.unparse(index)
        sizes = (size for left, size in self._bounds if ast.unparse(left) == text)
        value = next((v for v in map(self.value, sizes) if v is not None), None)
        if value is not None:
            return value
        if (value := self.value(index)) is not None:
            return value + 1
        match index:
            case ast.Name(id=name) if name in self._counted:
                start, *others = self._counted[name]
                last = self.value(others[0] if others else start)
                # What begins at a program ID, say, may end with any number below the last.
                is_aligned = len(others) > 1 and self.value(start) is not None
                step = self.value(others[1]) if is_aligned else 1
                return None if last is None or step is None else max(1, last - step + 1)
            case ast.Name(id=name) if depth and name in self._assigned:
                values = self._assigned[name]
                told = self._programs(name)
                if told is not None and any(map(_is_program, self._reached(index))):
                    return told
                found = [self.of(each, depth - 1) for each in values]
                return None if None in found else max(filter(None, found), default=None)
            case ast.Call(args=[_, end, *_]) if called_name(index) == "arange":
                return self.value(end)
            case ast.Call() if _is_program(index):
                return _PROGRAMS
            case ast.BinOp(op=ast.Mod(), right=right):
                return self.value(right)
            case ast.BinOp(left=left, op=op, right=right) if depth:
                one, other = self.of(left, depth - 1), self.of(right, depth - 1)
                if isinstance(op, ast.Mult):
                    if self._numbers_tiles(left, right):
                        return None
                    # Rows of a tile that nothing bounds: as many as there are of anything.
                    one = one or (_PROGRAMS if self.value(right) is not None else None)
                return _combined(op, one, other)
        return None

    def _numbers_tiles(self, *factors: ast.expr) -> bool:
        """Whether a product is that of a program ID and a tile."""
        names = names_in(*factors)
        ids = [
            v
            for each in map(plain, factors)
            for v in self._assigned.get(getattr(each, "id", ""), [each])
        ]
        return not names.isdisjoint(self._tiles) and any(map(_is_program, map(plain, ids)))

    def _reached(self, expression: ast.expr) -> Iterator[ast.AST]:
        """Yield the nodes of an expression, and of what its names are assigned."""
        pending, seen = [*ast.walk(expression)], set[str]()
        while pending:
            node = pending.pop()
            yield node
            if isinstance(node, ast.Name) and node.id not in seen:
                seen.add(node.id)
                for value in self._assigned.get(node.id, ()):
                    pending += ast.walk(value)


def _is_program(node: ast.AST) -> bool:
    return called_name(node) == "program_id"


def _combined(operator: ast.operator, one: int | None, other: int | None) -> int | None:
    """Return the extent of the sum, the product or another combination of two indices."""
    if not one or not other:
        return None
    match operator:
        case ast.Add():
            return one + other - 1
        case ast.Sub():
            return one
        case ast.Mult():
            return (one - 1) * (other - 1) + 1
        case ast.LShift() if other < 32:
            return ((one - 1) << (other - 1)) + 1
        case ast.FloorDiv() if other > 1:
            return (one - 1) // (other - 1) + 1
    return None
