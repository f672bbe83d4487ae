"""Execute the part of a file that one of its names needs.

A file of a library often does not run where its kernels are inspected: its package asks for a GPU
or for another package when it is imported, and the kernel uses nothing of that. A sliced module
executes the statements that a name needs, in their order, when the name is asked for.
"""

import __future__

import ast
import importlib.util
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from itertools import chain
from pathlib import Path
from types import ModuleType

from irlens.compiler.sources.statements import Statement, statements
from irlens.model.errors import CaptureError, IrlensError


def sliced_module(name: str, path: Path, content: bytes) -> ModuleType:
    """Return a module that executes what a name needs when it is asked for.

    Args:
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
        self._statements = statements(tree)
        self._executed: set[tuple[int, str]] = set()
        self._sought: set[str] = set()
        self._lists_public_names = any("__all__" in each.binds for each in self._statements)
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
        if name == "__all__" and not self._lists_public_names:
            bound = chain.from_iterable(each.binds for each in self._statements)
            return sorted({each for each in bound if not each.startswith("_")})
        # `__version__` is a file's own, `__path__` and the like Python's.
        if name.startswith("__") and not any(name in each.binds for each in self._statements):
            raise AttributeError(name)
        for step in self._needed(name):
            if step not in self._executed:
                self._check_order(step[0])
                self._executed.add(step)
                self._execute(_importing(self._statements[step[0]].code, step[1]))
        try:
            return self._names[name]
        except KeyError:
            raise AttributeError(f"{self._file} does not define {name}") from None

    def _check_order(self, number: int) -> None:
        """Refuse to evaluate names that a later statement has changed by now."""
        statement = self._statements[number]
        before = {ast.unparse(s.code) for s in self._statements[:number] if _imports(s.code)}
        for later in {n for n, _ in self._executed if n > number}:
            other = self._statements[later]
            changed = statement.evaluates & (other.binds | other.changes)
            if ast.unparse(other.code) in before:
                continue  # `import os` may come twice
            if changed:
                names, place = ", ".join(sorted(changed)), f"{self._file}:{statement.code.lineno}"
                raise CaptureError(f"{place}: line {other.code.lineno} has changed {names} already")

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
            raise self._raised(error, code) from error

    def _raised(self, error: Exception, code: ast.stmt) -> CaptureError:
        """Return what says that a statement raised an exception."""
        text = traceback.format_exception_only(error)[-1].strip()
        return CaptureError(f"{self._file}:{self._line(error, code)}: {text}")

    def _line(self, error: Exception, code: ast.stmt) -> int:
        """Return the line of the file that an exception passed through last."""
        frames = traceback.extract_tb(error.__traceback__)
        own = [frame.lineno for frame in frames if frame.filename == self._file]
        return (own[-1] if own else None) or code.lineno

    def _needed(self, name: str) -> list[tuple[int, str]]:
        """Return the numbers of the statements that a name needs, in the file's order.

        Each with the name to import where the statement is ``from module import *``.
        """
        pending, names, needed = [name], {name}, set[tuple[int, str]]()
        while pending:
            wanted = pending.pop()
            binding = [n for n, each in enumerate(self._statements) if each.decides(wanted)]
            for number in binding:
                needed.add((number, ""))
                more = self._statements[number].reads - names
                names |= more
                pending += more
            defining = (n for n in binding if wanted in self._statements[n].binds)
            needed |= self._starred(wanted, next(defining, 0))
        return sorted(needed)

    def _starred(self, name: str, first: int) -> set[tuple[int, str]]:
        """Return from which ``from module import *`` below a number a name comes."""
        if name in self._sought:  # modules that import each other's names
            return set()
        self._sought.add(name)
        stars = {n for n, each in enumerate(self._statements) if each.is_star and n >= first}
        found = {(n, name) for n in stars if self._exports(self._statements[n], name)}
        self._sought.remove(name)
        return found

    def _exports(self, star: Statement, name: str) -> bool:
        assert isinstance(star.code, ast.ImportFrom)
        package = str(self._names.get("__package__") or "")
        try:
            origin = "." * star.code.level + (star.code.module or "")
            module = importlib.import_module(origin, package)
        except ImportError:
            return False
        except IrlensError:
            raise
        except Exception as error:
            raise self._raised(error, star.code) from error
        slices = getattr(vars(module).get("__getattr__"), "__self__", None)
        is_whole = not isinstance(slices, _Slices) or slices._lists_public_names
        public = getattr(module, "__all__", None) if is_whole else None
        is_public = not name.startswith("_") if public is None else name in public
        return is_public and hasattr(module, name)


def _importing(code: ast.stmt, name: str) -> ast.stmt:
    """Return a statement, with the one name that is to be imported, if any, for ``*``."""
    if not name or not isinstance(code, ast.ImportFrom):
        return code
    return ast.copy_location(ast.ImportFrom(code.module, [ast.alias(name)], code.level), code)


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
        module = sliced_module(spec.name, path, path.read_bytes())
        if spec.submodule_search_locations is not None:
            # Python asks whether there is one, and a package may extend it: `extend_path(__path__`.
            module.__path__ = spec.submodule_search_locations
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing: a sliced module executes what is asked for."""


def _imports(code: ast.stmt) -> bool:
    return isinstance(code, ast.Import | ast.ImportFrom)
