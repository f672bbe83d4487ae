"""Execute the part of a file that one of its names needs.

A file of a library often does not run where its kernels are inspected: its package asks for a GPU
or for another package when it is imported, and the kernel uses nothing of that. A sliced module
executes the statements that a name needs, in their order, when the name is asked for.
"""

import __future__

import ast
import builtins
import importlib.util
import symtable
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from itertools import chain
from pathlib import Path
from types import ModuleType

import msgspec

from irlens.model.errors import CaptureError, IrlensError


class _Statement(msgspec.Struct, frozen=True):
    """A statement of a module; an import of several names is several.

    Attributes:
        code: It.
        binds: The names that it defines, or whose objects it changes.
        reads: The global names that it reads, within its functions too.
    """

    code: ast.stmt
    binds: frozenset[str]
    reads: frozenset[str]


def sliced_module(name: str, path: Path, content: bytes) -> ModuleType:
    """Return a module that executes what a name needs when it is asked for.

    Args:
        name: In `sys.modules`.
        path: The file that it is made of.
        content: The bytes of that file.

    Raises:
        SyntaxError: The content is not Python.
    """
    # Not of a class of its own: Triton recognizes modules by their type.
    module = ModuleType(name)
    module.__file__ = str(path)
    vars(module)["__getattr__"] = _Slices(module, content).value
    return module


class _Slices:
    """The statements of a module, executed on demand."""

    def __init__(self, module: ModuleType, content: bytes) -> None:
        self._names = vars(module)
        self._file = str(module.__file__)
        tree = ast.parse(importlib.util.decode_source(content), self._file)
        self._statements = [*_statements(tree)]
        self._executed: set[int] = set()
        postponed = any(
            isinstance(each, ast.ImportFrom)
            and each.module == "__future__"
            and any(alias.name == "annotations" for alias in each.names)
            for each in tree.body
        )
        self._flags = __future__.annotations.compiler_flag if postponed else 0

    def value(self, name: str) -> object:
        """Execute what ``name`` needs and return it.

        Raises:
            AttributeError: The file does not define it.
            CaptureError: The file raised an exception.
        """
        if name == "__all__":  # of `from module import *`
            bound = chain.from_iterable(each.binds for each in self._statements)
            return sorted({each for each in bound if not each.startswith("_")})
        if name.startswith("__"):
            raise AttributeError(name)
        for number in self._needed(name):
            if number not in self._executed:
                self._executed.add(number)
                self._execute(self._statements[number].code)
        try:
            return self._names[name]
        except KeyError:
            raise AttributeError(f"{self._file} does not define {name}") from None

    def _execute(self, code: ast.stmt) -> None:
        tree = ast.fix_missing_locations(ast.Module([code], []))
        try:
            exec(compile(tree, self._file, "exec", self._flags, True), self._names)
        except ImportError:
            # `import a.b` is executed for every use of `a`, which need not be of `a.b`.
            if not isinstance(code, ast.Import) or code.names[0].asname is not None:
                raise
            package, dot, _ = code.names[0].name.partition(".")
            if not dot:
                raise
            self._names[package] = importlib.import_module(package)
        except IrlensError:
            raise
        except Exception as error:  # a user's file may raise anything
            text = traceback.format_exception_only(error)[-1].strip()
            raise CaptureError(f"{self._file}:{self._line(error, code)}: {text}") from error

    def _line(self, error: Exception, code: ast.stmt) -> int:
        """Return the line of the file that an exception passed through last."""
        frames = traceback.extract_tb(error.__traceback__)
        own = [frame.lineno for frame in frames if frame.filename == self._file]
        return (own[-1] if own else None) or code.lineno

    def _needed(self, name: str) -> list[int]:
        """Return the numbers of the statements that a name needs, in the file's order."""
        pending, names, needed = [name], {name}, set[int]()
        while pending:
            wanted = pending.pop()
            binding = [n for n, each in enumerate(self._statements) if wanted in each.binds]
            if not binding and not hasattr(builtins, wanted) and wanted not in self._names:
                self._take_from_star(wanted)
            for number in binding:
                needed.add(number)
                more = self._statements[number].reads - names
                names |= more
                pending += more
        return sorted(needed)

    def _take_from_star(self, name: str) -> None:
        """Import a name that only a ``from module import *`` can define."""
        for each in self._statements:
            if isinstance(each.code, ast.ImportFrom) and each.code.names[0].name == "*":
                one = ast.ImportFrom(each.code.module, [ast.alias(name)], each.code.level)
                with suppress(ImportError):
                    self._execute(ast.copy_location(one, each.code))


@contextmanager
def sliced_imports(is_local: Callable[[str, Path], bool]) -> Iterator[None]:
    """Import as sliced modules those for whose name and file ``is_local`` answers yes."""
    finder = _Finder(is_local)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)


class _Finder(MetaPathFinder):
    def __init__(self, is_local: Callable[[str, Path], bool]) -> None:
        self._is_local = is_local

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of a sliced module, ``None`` where the usual finders shall go on."""
        found = PathFinder.find_spec(name, path)
        if found is None or found.origin is None or not found.origin.endswith(".py"):
            return None
        if not self._is_local(name, Path(found.origin)):
            return None
        spec = ModuleSpec(name, _SlicingLoader(), origin=found.origin)
        spec.submodule_search_locations = found.submodule_search_locations
        return spec


class _SlicingLoader(Loader):
    def create_module(self, spec: ModuleSpec) -> ModuleType:
        path = Path(str(spec.origin))
        return sliced_module(spec.name, path, path.read_bytes())

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing: a sliced module executes what is asked for."""


def _statements(tree: ast.Module) -> Iterator[_Statement]:
    """Yield a module's statements; those of ``if __name__ == "__main__"`` do not count."""
    imported: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            for alias in node.names:
                one = type(node)(**{**dict(ast.iter_fields(node)), "names": [alias]})
                bound = (alias.asname or alias.name).partition(".")[0]
                imported.add(bound)
                yield _Statement(ast.copy_location(one, node), frozenset({bound}), frozenset())
        elif not _is_main(node):
            yield _described(node, imported)


def _described(node: ast.stmt, imported: set[str]) -> _Statement:
    """Return what a statement binds and reads; ``imported`` are the names of modules."""
    table = symtable.symtable(ast.unparse(node), "", "exec")
    symbols = table.get_symbols()
    binds = {each.get_name() for each in symbols if each.is_assigned() or each.is_imported()}
    reads = {each.get_name() for each in symbols if each.is_referenced()} | set(_globals(table))
    changed = set(_changed(node))
    return _Statement(
        node,
        # A call of an imported module's function (`torch.manual_seed(0)`) defines nothing.
        frozenset(binds | (changed if _is_assignment(node) else changed - imported)),
        frozenset(reads - binds),
    )


def _is_assignment(node: ast.stmt) -> bool:
    return isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign)


def _changed(node: ast.stmt) -> Iterator[str]:
    """Yield the names of the objects that a statement changes: ``x.append(1)``, ``x[0] = 1``."""
    match node:
        case ast.Expr(ast.Call(func=ast.Attribute() as target)):
            yield from _root(target)
        case ast.Assign(targets=targets):
            yield from chain.from_iterable(map(_root, targets))
        case ast.AugAssign(target=target) | ast.AnnAssign(target=target):
            yield from _root(target)
        case ast.For() | ast.While() | ast.If() | ast.With() | ast.Try():
            for child in ast.iter_child_nodes(node):
                if isinstance(child, ast.stmt):
                    yield from _changed(child)


def _root(target: ast.expr) -> Iterator[str]:
    while isinstance(target, ast.Attribute | ast.Subscript):
        target = target.value
    if isinstance(target, ast.Name):
        yield target.id


def _globals(table: symtable.SymbolTable) -> Iterator[str]:
    """Yield the global names that the functions and classes of a module read."""
    for child in table.get_children():
        yield from (symbol.get_name() for symbol in child.get_symbols() if symbol.is_global())
        yield from _globals(child)


def _is_main(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and "__name__" in ast.unparse(node.test)
