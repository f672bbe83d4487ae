"""How a kernel's source addresses its pointer parameters: strides, accesses, and what they hold."""

import ast
import re
from collections.abc import Collection, Iterator, Sequence

import msgspec

_ACCESSES = re.compile(r"load|store|make_block_ptr|\w*make_tensor_descriptor")
#: Functions by the number of their arguments that are addresses, bounds of loops, or counted.
_INDICES = {"load": 1, "store": 1, "range": 3, "static_range": 3, "cdiv": 2, "histogram": 1}
#: Functions whose results are indices.
_INDEX_SOURCES = ("program_id", "arange", "load")
_BITWISE = (ast.LShift, ast.RShift, ast.BitAnd, ast.BitOr, ast.BitXor)
#: Functions and methods that move bits.
_SAME_BITS = ("interleave", "join", "reshape", "broadcast_to", "trans", "to")
#: Assignments to follow from an address to its pointer.
_DEPTH = 12


class Pointer(msgspec.Struct):
    """A pointer parameter.

    Attributes:
        strides: Parameters that its address multiplies with, in the order of the source.
        terms: Of each access what it adds by the parameter that multiplies it, "" for none.
        advanced: Parameters of ``strides``, or "", whose product a loop adds to an address.
        contiguous: Whether the address has a term that no parameter multiplies.
        stored: The types that what is stored to it is converted to; "" for none.
        widened: Whether what is loaded from it is converted to fp32.
        multiplied: Whether what is loaded from it is an operand of ``tl.dot``.
        names_data: Whether what is loaded from it is part of an address or a bound.
        locked: Whether it is the operand of ``tl.atomic_cas`` or ``tl.atomic_xchg``.
        packed: Whether bits of what is loaded from it are taken.
        format: As what ``tl.dot_scaled`` multiplies it, "e4m3", or "scale"; empty elsewhere.
    """

    strides: list[str] = []
    terms: list[dict[str, list[ast.expr]]] = []
    advanced: set[str] = set()
    contiguous: bool = False
    stored: set[str] = set()
    widened: bool = False
    multiplied: bool = False
    names_data: bool = False
    locked: bool = False
    packed: bool = False
    format: str = ""


class Addresses:
    """The pointer parameters of a function.

    Args:
        sizes: Its constexprs that may be strides.
    """

    def __init__(
        self,
        tree: ast.AST,
        parameters: set[str],
        sizes: set[str],
        constants: Collection[str] = (),
    ) -> None:
        self.pointers: dict[str, Pointer] = {}
        self._parameters = parameters
        self._factors = parameters | sizes
        self._constants = set(constants)
        self._nodes = in_order(tree)
        self.assigned = assignments(self._nodes)
        loops = (each for each in self._nodes if isinstance(each, ast.For | ast.While))
        ends = ((each.lineno, each.end_lineno or each.lineno) for each in loops)
        self._looped = {line for first, last in ends for line in range(first + 1, last + 1)}
        accesses = [each for each in self._nodes if isinstance(each, ast.Call)]
        for call in accesses:
            self._note_access(call)
        self._note_uses(accesses)

    def base(self, address: ast.expr, depth: int = _DEPTH) -> str | None:
        """Return the pointer parameter that an address begins with."""
        while isinstance(address, ast.BinOp) and isinstance(address.op, ast.Add | ast.Sub):
            address = address.left
        if isinstance(address, ast.Call) and address.args and _is_method(address, "to", "cast"):
            return self.base(_receiver(address) or address.args[0], depth - 1) if depth else None
        if not isinstance(address, ast.Name):
            return None
        if address.id in self._parameters:  # `x_ptr += stride` does not make it another one
            return address.id
        found = None
        if depth:
            for value in self.assigned.get(address.id, ()):
                found = found or self.base(value, depth - 1)
        return found

    def sources(self, expression: ast.AST, depth: int = 5) -> set[str]:
        """Return the pointers that an expression's values are loaded from."""
        found = set()
        for node in ast.walk(expression):
            if isinstance(node, ast.Call) and _is_method(node, "load") and node.args:
                found |= {self.base(node.args[0]) or ""}
            elif isinstance(node, ast.Name) and depth:
                for value in self.assigned.get(node.id, ()):
                    found |= self.sources(value, depth - 1)
        return found - {""}

    def _note_access(self, call: ast.Call) -> None:
        name = called_name(call) if isinstance(call.func, ast.Attribute) else ""
        is_atomic = name.startswith("atomic_")
        if not name:  # a helper may load from the addresses that it is called with
            for argument in call.args:
                self._note_address(argument, is_access=False)
            return
        if not (_ACCESSES.fullmatch(name) or is_atomic):
            return
        address = next(
            (each.value for each in call.keywords if each.arg in ("pointer", "base")),
            call.args[0] if call.args else None,
        )
        pointer = self._note_address(address, is_access=True) if address is not None else None
        if pointer is None:
            return
        if name == "store" and len(call.args) > 1:
            pointer.stored.add(_cast(call.args[1]))
        pointer.locked = pointer.locked or name in ("atomic_cas", "atomic_xchg")

    def _note_address(self, address: ast.expr, is_access: bool) -> Pointer | None:
        """Note the terms of an address, and return its pointer.

        Args:
            is_access: Whether it is one for certain; otherwise only strides tell it from a sum.
        """
        base = self.base(address)
        if base is None:
            return None
        found = list(self._terms(address, base))
        factors = [self._factor(term) or "" for term in found]
        if not is_access and not any("stride" in each.lower() for each in factors):
            return None
        pointer = self.pointers.setdefault(base, Pointer())
        terms: dict[str, list[ast.expr]] = {}
        pointer.terms.append(terms)
        for term, factor in zip(found, factors, strict=True):
            if factor and factor not in pointer.strides:
                pointer.strides.append(factor)
            if not self._is_index(term) and term.lineno in self._looped:
                pointer.advanced.add(factor)
                continue
            told = terms.setdefault(factor, [])
            # Two branches or two loops that compute the address alike add the term once.
            if ast.unparse(term) not in map(ast.unparse, told):
                told.append(term)
            # ``a_ptrs += BLOCK_K`` is no index, and neither is ``x + half``.
            pointer.contiguous |= not factor and self._is_index(term)
        return pointer

    def _terms(self, address: ast.expr, base: str) -> Iterator[ast.expr]:
        """Yield what an address adds to its pointer, in the order of the source."""
        seen: set[str] = set()
        found: list[ast.expr] = []

        def visit(expression: ast.expr) -> None:
            if isinstance(expression, ast.BinOp) and isinstance(expression.op, ast.Add | ast.Sub):
                visit(expression.left)
                visit(expression.right)
            elif isinstance(expression, ast.Name) and expression.id == base:
                follow(base)
            elif isinstance(expression, ast.Name) and self._expands(expression.id):
                follow(expression.id)
            else:
                found.append(expression)

        def follow(name: str) -> None:
            if name not in seen:
                seen.add(name)
                for value in self.assigned.get(name, ()):
                    visit(value)

        visit(address)
        yield from sorted(found, key=lambda term: (term.lineno, term.col_offset))

    def _is_index(self, term: ast.expr, depth: int = 4) -> bool:
        """Whether a term has more than constants, constexprs and parameters."""
        if any(called_name(node) in _INDEX_SOURCES for node in ast.walk(term)):
            return True
        names = names_in(term)
        for name in names - self._constants - self._parameters - {"tl", "triton", "min", "max"}:
            values = self.assigned.get(name, ()) if depth else ()
            if not values or any(self._is_index(each, depth - 1) for each in values):
                return True
        return False

    def _expands(self, name: str, depth: int = 4) -> bool:
        """Whether a variable is an address, or an offset that a parameter multiplies."""
        for value in self.assigned.get(name, ()):
            for node in ast.walk(value):
                if isinstance(node, ast.BinOp) and self._factor(node) is not None:
                    return True
                if isinstance(node, ast.Name) and node.id != name:
                    if node.id in self._parameters and node.id in self.pointers:
                        return True
                    if depth and self._expands(node.id, depth - 1):
                        return True
            if self.base(value) is not None and not isinstance(value, ast.Call):
                return True
        return False

    def _factor(self, term: ast.expr) -> str | None:
        """Return the parameter that multiplies a term."""
        if not (isinstance(term, ast.BinOp) and isinstance(term.op, ast.Mult)):
            return None
        factors = [term.left, term.right]
        names = [plain_name(each) for each in factors]
        known = [name for name in names if name in self._factors]
        if known:
            return max(known, key=lambda name: "stride" in name.lower())
        nested = (self._factor(each) for each in factors)
        return next((name for name in nested if name is not None), None)

    def _note_uses(self, calls: list[ast.Call]) -> None:
        """Note what becomes of loaded values."""
        for node in self._nodes:
            match node:
                case ast.BinOp(left=left, op=op, right=right) if isinstance(op, _BITWISE):
                    self._mark_packed(left)
                    self._mark_packed(right)
                case ast.AugAssign(target=target, op=op) if isinstance(op, _BITWISE):
                    self._mark_packed(target)
        for call in calls:
            if _is_method(call, "dot", "dot_scaled"):
                for operand in call.args[:2]:
                    self._mark(operand, "multiplied")
                if called_name(call) == "dot_scaled":
                    self._note_formats(call.args)
            elif _is_method(call, "to") and call.args and _ends_with(call.args[0], "float32"):
                loaded = _receiver(call)
                if loaded is not None:
                    self._mark(loaded, "widened", depth=1)
            name = called_name(call)
            addresses = 1 if name.startswith("atomic_") else _INDICES.get(name, 0)
            for index in call.args[:addresses]:
                self._mark(index, "names_data")

    def _note_formats(self, operands: Sequence[ast.expr]) -> None:
        """Note the format of each factor of ``tl.dot_scaled``, and which pointers are scales."""
        for at in range(0, len(operands) - 2, 3):
            factor, scale, kind = operands[at : at + 3]
            told = kind.value if isinstance(kind, ast.Constant) else ""
            for operand, form in ((factor, str(told)), (scale, "scale")):
                for name in self.sources(operand) & self.pointers.keys():
                    self.pointers[name].format = form

    def _mark_packed(self, expression: ast.expr) -> None:
        """Note the pointers that bits of an expression are loaded from."""
        pending, seen = [expression], set[ast.expr]()
        while pending:
            node = pending.pop()
            match node:
                case ast.Name(id=name, lineno=line):
                    before = [each for each in self.assigned.get(name, ()) if each.lineno < line]
                    pending += [each for each in before[-1:] if each not in seen]
                    seen.update(before[-1:])
                case ast.Call(args=[address, *_]) if _is_method(node, "load"):
                    base = self.base(address)
                    if base in self.pointers:
                        self.pointers[base].packed = True
                case ast.Call(func=ast.Attribute(value=value)) if _is_method(node, *_SAME_BITS):
                    pending += [value, *node.args]

    def _mark(self, expression: ast.expr, attribute: str, depth: int = 5) -> None:
        for name in self.sources(expression, depth):
            if name in self.pointers:
                setattr(self.pointers[name], attribute, True)


def in_order(tree: ast.AST) -> list[ast.expr | ast.stmt]:
    """Return a function's expressions and statements in the order of its source."""
    nodes = (node for node in ast.walk(tree) if isinstance(node, ast.expr | ast.stmt))
    return sorted(nodes, key=lambda node: (node.lineno, node.col_offset))


def plain(index: ast.expr) -> ast.expr:
    """Return ``i`` of ``i[:, None]``, of ``i.to(tl.int64)`` and of both."""
    while isinstance(index, ast.Subscript) or (
        isinstance(index, ast.Call) and _is_method(index, "to") and _receiver(index) is not None
    ):
        index = index.value if isinstance(index, ast.Subscript) else _receiver(index) or index
    return index


def assignments(nodes: Sequence[ast.AST]) -> dict[str, list[ast.expr]]:
    """Return the expressions that are assigned to each name."""
    assigned: dict[str, list[ast.expr]] = {}
    for node in nodes:
        if isinstance(node, ast.Assign):
            targets, value = node.targets, node.value
        elif isinstance(node, ast.AugAssign | ast.AnnAssign) and node.value is not None:
            targets, value = [node.target], node.value
        else:
            continue
        for target in targets:
            if isinstance(target, ast.Name):
                assigned.setdefault(target.id, []).append(value)
            elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
                for name, each in zip(target.elts, value.elts, strict=False):
                    if isinstance(name, ast.Name):
                        assigned.setdefault(name.id, []).append(each)
    return assigned


def _receiver(call: ast.Call) -> ast.expr | None:
    """Return ``x`` of ``x.to(...)``."""
    function = call.func
    return function.value if isinstance(function, ast.Attribute) else None


def names_in(*nodes: ast.AST) -> set[str]:
    """Return all names that stand in some nodes."""
    return {each.id for node in nodes for each in ast.walk(node) if isinstance(each, ast.Name)}


def called_name(call: ast.AST) -> str:
    """Return "load" of ``tl.load(...)`` and "range" of ``range(...)``."""
    function = call.func if isinstance(call, ast.Call) else None
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def _is_method(call: ast.Call, *names: str) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr in names


def plain_name(expression: ast.expr) -> str:
    """Return the name of ``n`` and of ``n.to(tl.int64)``."""
    if isinstance(expression, ast.Call) and _is_method(expression, "to"):
        expression = _receiver(expression) or expression
    return expression.id if isinstance(expression, ast.Name) else ""


def index_of(term: ast.expr, stride: str) -> ast.expr:
    """Return what a stride multiplies in a term."""
    if not stride or not isinstance(term, ast.BinOp) or not isinstance(term.op, ast.Mult):
        return term
    if plain_name(term.left) == stride:
        return term.right
    if plain_name(term.right) == stride:
        return term.left
    left, right = index_of(term.left, stride), index_of(term.right, stride)
    return ast.copy_location(ast.BinOp(left, term.op, right), term)


def _ends_with(expression: ast.expr, name: str) -> bool:
    return isinstance(expression, ast.Attribute) and expression.attr == name


def _cast(value: ast.expr) -> str:
    """Return the type of ``tl`` that a stored value is converted to; "" for none."""
    if isinstance(value, ast.Call) and _is_method(value, "to") and value.args:
        kind = value.args[0]
        if isinstance(kind, ast.Attribute) and isinstance(kind.value, ast.Name):
            return kind.attr
    return ""
