"""Put stand-ins in the place of modules that a kernel's file imports and that are not installed."""

import ast
import linecache
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import FrameType, ModuleType

from irlens.compiler.calls.pointers import names_in
from irlens.compiler.sources.stand_ins import Namespace, StandInModule, is_stand_in
from irlens.model import files

#: Importers that go on without an optional module by themselves.
_OWN_ARRANGEMENTS = frozenset({"triton", "irlens", *sys.stdlib_module_names})
#: Handlers that a program goes on with where a module is not installed.
_HANDLES_ABSENCE = frozenset({"ImportError", "ModuleNotFoundError", "Exception", "BaseException"})
#: Modules that ``irlens[run]`` installs.
_IN_RUN = ("torch", "numpy")


@contextmanager
def stand_ins_for_absent_modules() -> Iterator[list[str]]:
    """Let unguarded imports of absent modules succeed; yield the names of those modules so far.

    An installed module is never replaced: the finder comes after all others. An import whose
    program handles the absence (``try: import numba`` with ``except ImportError``, ``find_spec``)
    fails as it does without irlens. Afterwards no module that has met a stand-in is left in
    ``sys.modules``.
    """
    finder = _AbsentFinder()
    before = set(sys.modules)
    sys.meta_path.append(finder)
    try:
        yield finder.absent
    finally:
        sys.meta_path.remove(finder)
        if finder.absent:
            _forget(set(sys.modules) - before)


def remedy(absent: Iterable[str]) -> str:
    """Return what to do about absent modules."""
    installable = [name for name in _IN_RUN if name in absent]
    if not installable:
        # Not `pip install NAME`: a module's name is often that of another, unrelated package.
        return f"install {', '.join(absent)} for {sys.executable}, or add its folder to PYTHONPATH"
    import importlib.metadata  # rarely needed, and slow to import

    try:
        importlib.metadata.distribution("irlens")
    except importlib.metadata.PackageNotFoundError:  # it compiles with another interpreter's Triton
        return f"{sys.executable} -m pip install {' '.join(installable)}"
    return "pip install 'irlens[run]'"


class _AbsentFinder(MetaPathFinder):
    """Finds a stand-in for each absent module; must be the last finder."""

    def __init__(self) -> None:
        self.absent: list[str] = []
        self._loader = _StandInLoader()

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of a stand-in, ``None`` where the import should fail."""
        package, dot, _ = name.partition(".")
        if dot:
            is_ours = isinstance(sys.modules.get(package), StandInModule)
        else:
            is_ours = _is_unguarded_import(sys._getframe(1))
            if is_ours:
                self.absent.append(name)
        return ModuleSpec(name, self._loader, is_package=True) if is_ours else None


class _StandInLoader(Loader):
    def __init__(self) -> None:
        self._names = Namespace()

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return StandInModule(spec.name, self._names)

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing: a stand-in makes its attributes when they are asked for."""


def _is_unguarded_import(frame: FrameType | None) -> bool:
    """Whether a program imports a module, and does not handle its absence itself."""
    while frame is not None:
        module = str(frame.f_globals.get("__name__", ""))
        if module == "importlib.util":  # find_spec: the program asks whether it is installed
            return False
        if module.partition(".")[0] != "importlib" and "importlib" not in frame.f_code.co_filename:
            break
        frame = frame.f_back
    # Code without a module is generated: Triton's binders, which look for PyTorch themselves.
    if frame is None or not module or module.partition(".")[0] in _OWN_ARRANGEMENTS:
        return False
    # The guard may be around the import of what imports it: of an optional part of a package.
    while frame is not None and _package_of(frame) != "irlens":
        source = "".join(linecache.getlines(frame.f_code.co_filename, frame.f_globals))
        if any(first <= frame.f_lineno <= last for first, last in _guarded_lines(source)):
            return False
        frame = frame.f_back
    return True


def _package_of(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]


@lru_cache(maxsize=64)
def _guarded_lines(source: str) -> tuple[tuple[int, int], ...]:
    """Return the first and last lines of the blocks that handle the absence of a module."""
    try:
        tree = ast.parse(source)
    except files.PARSE_ERRORS:
        return ()
    blocks: list[list[ast.stmt]] = []
    for node in ast.walk(tree):
        match node:
            case ast.Try() | ast.TryStar():
                is_guard = any(map(_handles_absence, node.handlers))
            case ast.With():
                is_guard = any(_names_any(i.context_expr, {"suppress"}) for i in node.items)
            case _:
                continue
        if is_guard:
            blocks.append(node.body)
    return tuple((body[0].lineno, body[-1].end_lineno or body[-1].lineno) for body in blocks)


def _handles_absence(handler: ast.ExceptHandler) -> bool:
    """Whether the program goes on in this handler, and does not merely explain its failure."""
    if handler.type is not None and not _names_any(handler.type, _HANDLES_ABSENCE):
        return False
    last = handler.body[-1]
    if any(isinstance(each, ast.Return) for each in ast.walk(handler)):
        return True
    ends = isinstance(last, ast.Raise) or (
        isinstance(last, ast.Expr)
        and isinstance(last.value, ast.Call)
        and _names_any(last.value.func, {"exit"})
    )
    return not ends


def _names_any(expression: ast.expr, names: Iterable[str]) -> bool:
    found = names_in(expression)
    found |= {node.attr for node in ast.walk(expression) if isinstance(node, ast.Attribute)}
    return not found.isdisjoint(names)


def _forget(added: set[str]) -> None:
    """Remove stand-ins, and the packages that hold one, from the imported modules."""
    tainted = set()
    for name in added:
        module = sys.modules[name]
        values = list(getattr(module, "__dict__", {}).values())
        if any(map(is_stand_in, (module, *values))):
            tainted.add(name.partition(".")[0])
    for name in added:
        if name.partition(".")[0] in tainted:
            del sys.modules[name]
