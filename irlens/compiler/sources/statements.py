"""What the statements of a module define, read and change."""

import ast
import re
import symtable
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from itertools import chain

import msgspec

from irlens.compiler.calls.pointers import names_in

#: In `Statement.binds`: the statement may define any name, or change what holds for all of them.
ANY = "*"
#: Among what a function changes: the objects that it is called with.
_ARGUMENTS = "()"
#: Methods that change their object.
_MUTATORS = frozenset(
    ["add", "append", "appendleft", "clear", "discard", "extend", "insert", "pop", "popitem"]
) | {"popleft", "remove", "reverse", "setdefault", "sort", "update"}
#: Settings that the compiler, and so every kernel, depends on.
_SETTINGS = ("os.environ", "os.putenv", "triton.knobs")
#: The names of the module themselves.
_OWN_NAMES = ("globals()", "vars()", "locals()", "sys.modules[__name__]")
#: Functions that look names up by their spelling.
_NAMESPACES = frozenset({"globals", "vars", "locals", "eval", "exec"})
_Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


class Statement(msgspec.Struct, frozen=True):
    """A statement of a module; an import of several names is several.

    Attributes:
        reads: The global names that it reads, within its functions too.
        evaluates: Those that it reads when it is executed.
        changes: The names whose objects it may change; may contain `ANY`.
    """

    code: ast.stmt
    binds: frozenset[str]
    reads: frozenset[str] = frozenset()
    evaluates: frozenset[str] = frozenset()
    changes: frozenset[str] = frozenset()

    @property
    def is_star(self) -> bool:
        """Whether it is ``from module import *``."""
        return isinstance(self.code, ast.ImportFrom) and self.code.names[0].name == "*"

    def decides(self, name: str) -> bool:
        """Whether it defines a name, or may change its object."""
        return name in self.binds or name in self.changes or ANY in self.changes


def statements(tree: ast.Module) -> list[Statement]:
    """Return a module's statements; those of ``if __name__ == "__main__"`` do not count."""
    imported: dict[str, str] = {}
    described: list[Statement] = []
    for node in chain.from_iterable(map(_without_main, tree.body)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            for alias in node.names:
                one = type(node)(**{**dict(ast.iter_fields(node)), "names": [alias]})
                bound = (alias.asname or alias.name).partition(".")[0]
                parent = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
                imported[bound] = f"{parent}{alias.name}" if alias.asname or parent else bound
                binds = frozenset({bound} - {"*"})
                described.append(Statement(ast.copy_location(one, node), binds))
        else:
            described.append(_described(node, imported))
    effects = _effects(described, imported)
    aliases = [*chain.from_iterable(_aliases(n) for each in described for n in _own(each.code))]
    functions = {each.name for each in tree.body if isinstance(each, ast.FunctionDef)}
    return [_affecting(each, effects, aliases, imported, functions) for each in described]


def _without_main(node: ast.stmt) -> Sequence[ast.stmt]:
    if isinstance(node, ast.If) and "__name__ == '__main__'" in ast.unparse(node.test):
        return node.orelse
    return [node]


def _described(node: ast.stmt, imported: Mapping[str, str]) -> Statement:
    """Return what a statement by itself binds and reads; ``imported``: where names come from."""
    table = symtable.symtable(ast.unparse(node), "", "exec")
    symbols = table.get_symbols()
    binds = {each.get_name() for each in symbols if each.is_assigned() or each.is_imported()}
    evaluates = {each.get_name() for each in symbols if each.is_referenced()}
    reads = evaluates | set(_globals(table))
    if reads & _NAMESPACES:
        texts = (n.value for n in ast.walk(node) if isinstance(n, ast.Constant))
        reads |= {w for t in texts if isinstance(t, str) for w in re.findall(r"[A-Za-z_]\w*", t)}
    own = [*_own(node)]
    changes = _changes(own, imported)
    if not isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign):
        # A call of an imported module's function (`torch.manual_seed(0)`) defines nothing.
        changes -= imported.keys()
    renewed = set(chain.from_iterable(map(_renewed, own)))
    return Statement(
        node,
        frozenset(binds),
        frozenset((reads - binds) | renewed),
        frozenset(evaluates),
        frozenset(changes - {""}),
    )


def _renewed(node: ast.AST) -> set[str]:
    """Return the names that a node assigns a value made of theirs: ``x += 1``, ``x = f(x)``."""
    if not isinstance(node, ast.Assign | ast.AugAssign):
        return set()
    names = [each for each in ast.walk(node) if isinstance(each, ast.Name)]
    stored = {each.id for each in names if isinstance(each.ctx, ast.Store)}
    if isinstance(node, ast.AugAssign):
        return stored
    return stored & {each.id for each in names if isinstance(each.ctx, ast.Load)}


def _globals(table: symtable.SymbolTable) -> Iterator[str]:
    """Yield the global names that the functions and classes of a module read."""
    for child in table.get_children():
        yield from (symbol.get_name() for symbol in child.get_symbols() if symbol.is_global())
        yield from _globals(child)


def _own(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes that a statement executes: those of functions only when they are called."""
    yield node
    for name, value in ast.iter_fields(node):
        if isinstance(node, _Function) and name not in {"decorator_list", "args"}:
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _own(child)


def _changes(nodes: Sequence[ast.AST], imported: Mapping[str, str]) -> set[str]:
    """Return the names of the objects that nodes change, by whichever name."""
    changed = set(chain.from_iterable(_changed_by(node, imported) for node in nodes))
    _follow([*chain.from_iterable(map(_aliases, nodes))], changed)
    return changed


def _changed_by(node: ast.AST, imported: Mapping[str, str]) -> Iterator[str]:
    """Yield the names of the objects that a node changes: ``x.append(1)``, ``x[0] = 1``."""
    match node:
        case ast.Assign(targets=targets) | ast.Delete(targets=targets):
            flat = chain.from_iterable(map(_flat, targets))
            changed: Iterable[ast.expr] = [t for t in flat if not isinstance(t, ast.Name)]
        case ast.AnnAssign(target=ast.Attribute() | ast.Subscript() as target):
            changed = [target]
        case ast.AugAssign(target=target):
            changed = [target]
        case ast.Expr(ast.Call(func=ast.Attribute() as method) as call):
            changed = [method, *(call.args if _root(method) in imported else [])]
        case ast.Expr(ast.Call(func=ast.Name(name), args=arguments)) if name in imported:
            changed = arguments
        case ast.Call(func=ast.Name("setattr" | "delattr" | "next"), args=[first, *_]):
            changed = [first]
        case ast.Call(func=ast.Attribute(attr=attr) as method) if attr in _MUTATORS:
            changed = [method]
        case ast.FunctionDef(decorator_list=decorators) | ast.ClassDef(decorator_list=decorators):
            called = (each.func if isinstance(each, ast.Call) else each for each in decorators)
            changed = [each for each in called if isinstance(each, ast.Attribute)]
        case ast.Call(func=ast.Name("exec")):
            yield ANY
            return
        case _:
            return
    for each in chain.from_iterable(map(_flat, changed)):
        root = _root(each)
        path = imported.get(root, root) + ast.unparse(each).removeprefix(root)
        if path.startswith((*_SETTINGS, *_OWN_NAMES)):
            yield ANY
        yield root


def _flat(target: ast.expr) -> Iterator[ast.expr]:
    if isinstance(target, ast.Tuple | ast.List):
        yield from chain.from_iterable(map(_flat, target.elts))
    else:
        yield target.value if isinstance(target, ast.Starred) else target


def _root(target: ast.expr) -> str:
    while isinstance(target, ast.Attribute | ast.Subscript):
        target = target.value
    return target.id if isinstance(target, ast.Name) else ""


def _aliases(node: ast.AST) -> Iterator[tuple[str, str]]:
    """Yield names with the name of an object that they may be, or be a part of."""
    match node:
        case ast.Assign(targets=targets, value=value):
            sources = {_root(value)}
        case ast.For(target=target, iter=value) | ast.comprehension(target=target, iter=value):
            targets = [target]
            sources = names_in(value)
        case ast.withitem(context_expr=value, optional_vars=ast.expr() as target):
            targets = [target]
            sources = names_in(value)
        case _:
            return
    for each in chain.from_iterable(map(_flat, targets)):
        if isinstance(each, ast.Name):
            yield from ((each.id, source) for source in sources if source)


def _effects(described: Sequence[Statement], imported: Mapping[str, str]) -> Mapping[str, set[str]]:
    """Return what may change where a name's object is called."""
    effects: dict[str, set[str]] = {}
    users: dict[str, set[str]] = {}
    for each in described:
        for read in each.reads:
            users.setdefault(read, set()).update(each.binds)
        if changed := _changed_inside(each.code, imported):
            for name in each.binds:
                effects.setdefault(name, set()).update(changed)
    pending = [*effects]
    while pending:
        name = pending.pop()
        for user in users.get(name, ()):
            known = effects.setdefault(user, set())
            if effects[name] - known:
                known |= effects[name]
                pending.append(user)
    return effects


def _affecting(
    statement: Statement,
    effects: Mapping[str, set[str]],
    aliases: Sequence[tuple[str, str]],
    imported: Mapping[str, str],
    functions: Set[str],
) -> Statement:
    """Return a statement with what it changes by calling functions, and by other names."""
    nodes = [*_own(statement.code)]
    calls = [each for each in nodes if isinstance(each, ast.Call)]
    changed = set(statement.changes)
    # Decorators and base classes (`__init_subclass__`) are called, too.
    if calls or any(getattr(n, "decorator_list", 0) or getattr(n, "bases", 0) for n in nodes):
        changed.update(*(effects.get(name, ()) for name in statement.evaluates))
        if not isinstance(statement.code, _Function | ast.ClassDef):
            changed |= _changed_inside(statement.code, imported)
    if _ARGUMENTS in changed:
        fixed = imported.keys() | functions
        passed = chain.from_iterable([*c.args, *(k.value for k in c.keywords)] for c in calls)
        names = chain.from_iterable(map(ast.walk, passed))
        changed |= {each.id for each in names if isinstance(each, ast.Name)} - fixed
    _follow(aliases, changed)
    return msgspec.structs.replace(statement, changes=frozenset(changed - {_ARGUMENTS, ""}))


def _follow(aliases: Iterable[tuple[str, str]], changed: set[str]) -> None:
    """Add the names of the objects that changed names may be other names of."""
    while changed and (more := {s for name, s in aliases if name in changed} - changed):
        changed |= more


def _changed_inside(node: ast.stmt, imported: Mapping[str, str]) -> set[str]:
    """Return the global names that the functions of a statement change when they are called."""
    changed = set[str]()
    methods = {
        id(each)
        for parent in ast.walk(node)
        if isinstance(parent, ast.ClassDef)
        for each in parent.body
    }
    for function in ast.walk(node):
        if not isinstance(function, _Function):
            continue
        body = function.body if isinstance(function.body, list) else [function.body]
        nodes = [*chain.from_iterable(map(_own, body))]
        names = (each.names for each in nodes if isinstance(each, ast.Global))
        shared = set(chain.from_iterable(names))
        parameters = {each.arg for each in ast.walk(function.args) if isinstance(each, ast.arg)}
        own = function.args.posonlyargs + function.args.args
        if id(function) in methods and own:
            parameters.discard(own[0].arg)
        stored = {
            each.id
            for each in nodes
            if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)
        }
        found = _changes(nodes, imported)
        if found & parameters:
            changed.add(_ARGUMENTS)
        changed |= (found - stored - parameters - imported.keys()) | (shared & (stored | found))
    return changed - {"", "self"}
