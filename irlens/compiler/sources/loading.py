"""Execute kernel files: the only place where irlens runs the user's Python."""

import ast
import importlib.util
import io
import linecache
import symtable
import sys
import sysconfig
import traceback
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from types import ModuleType

import msgspec

from irlens.compiler.sources.absent_imports import remedy, stand_ins_for_absent_modules
from irlens.compiler.sources.description import KernelSource
from irlens.compiler.sources.inductor import module_of
from irlens.compiler.sources.stand_ins import StandInError, is_stand_in
from irlens.model.errors import CaptureError, IrlensError


class _TritonPackages:
    """Installed packages that use Triton: on import they may have asked for the active GPU."""

    def __init__(self) -> None:
        self._arch: str | None = None
        self._modules: set[str] = set()

    def remember(self, arch: str | None, added: Collection[str]) -> None:
        """Keep the names of modules that were imported while a GPU was active."""
        triton = sys.modules.get("triton")
        users = {_package(n) for n in added if getattr(sys.modules[n], "triton", None) is triton}
        # Extension modules cannot be imported twice, and PyTorch does not depend on the GPU. They
        # may have been imported long before: PyTorch imports its compiler when it is first used.
        native = {
            _package(name)
            for name, module in sys.modules.items()
            if str(getattr(module, "__file__", "")).endswith(".so")
        }
        packages = users - native - {"triton", "irlens"}
        self._modules |= {name for name in added if _package(name) in packages}
        self._arch = arch

    def forget_other_than(self, arch: str | None) -> None:
        """Remove those modules that were imported for another GPU."""
        if self._arch != arch:
            for name in self._modules:
                sys.modules.pop(name, None)
            self._modules.clear()


_PACKAGES = _TritonPackages()


def _package(module: str) -> str:
    return module.partition(".")[0]


class Loaded(msgspec.Struct, frozen=True):
    """An executed kernel file.

    Attributes:
        sources: Content of the file and of its local imports, as it was executed: compiling takes
            a while, and a file may be saved meanwhile.
        absent: Imported modules that are not installed, with stand-ins in their place; grows
            while functions of the file import more.
        stopped: The exception that ended the file below its kernel; ``None`` if it ran through.
    """

    module: ModuleType
    sources: Mapping[Path, bytes]
    absent: list[str]
    stopped: str | None

    def stand_ins(self) -> set[str]:
        """Return the names that the file may use a stand-in by."""
        names = {name for name, value in vars(self.module).items() if is_stand_in(value)}
        return names.union(self.absent)


@contextmanager
def loaded(source: KernelSource, arch: str | None = None) -> Iterator[Loaded]:
    """Execute a kernel's file.

    The file can import from its folder, as if it were run as a script, and from the package that
    contains it. Afterwards the module and its local imports are removed from ``sys.modules``, so
    that the next capture sees the files on disk. Output of the file goes to stderr.

    Args:
        arch: The active GPU's: packages that were imported for another one are imported again.

    Raises:
        CaptureError: The file raised an exception before its kernel was complete.
    """
    name, folders = _module_name(source.path)
    module = importlib.util.module_from_spec(
        ModuleSpec(name, SourceFileLoader(name, str(source.path)), origin=str(source.path))
    )
    module.__file__ = str(source.path)
    _PACKAGES.forget_other_than(arch)
    path, modules, bytecode = list(sys.path), dict(sys.modules), sys.dont_write_bytecode
    # Python considers bytecode current if the size and the mtime in seconds of the source match:
    # a file edited twice within a second would be captured in its previous state.
    sys.dont_write_bytecode = True
    sys.path[:0] = [folder for folder in folders if folder not in path]
    sys.modules[name] = module
    _cache_lines(source)
    try:
        with redirect_stdout(sys.stderr), stand_ins_for_absent_modules() as absent:
            stopped = _execute(source, module)
            imported = set(sys.modules) - set(modules)
            # A generated kernel imports nothing but PyTorch.
            others = local_files(module, imported) if source.generated is None else []
            sources = {source.path: source.content} | {f: f.read_bytes() for f in others}
            yield Loaded(module, sources, absent, stopped)
    finally:
        linecache.cache.pop(str(source.path), None)
        sys.path[:] = path
        sys.dont_write_bytecode = bytecode
        added = set(sys.modules) - set(modules)
        _PACKAGES.remember(arch, added)
        for other in added:
            if other == name or _local_file(sys.modules[other]):
                del sys.modules[other]
        if name in modules:
            sys.modules[name] = modules[name]


def _execute(source: KernelSource, module: ModuleType) -> str | None:
    """Execute a file; return the exception that ended it below its kernel, if any.

    Raises:
        CaptureError: The kernel is not complete.
    """
    generated = source.generated
    try:
        if generated is not None:
            exec(compile(module_of(generated, str(source.path)), source.path, "exec"), vars(module))
            vars(module)[source.function] = vars(module)[generated.function]
        else:
            exec(compile(source.content, source.path, "exec"), vars(module))
    except (Exception, SystemExit) as error:  # a user's file may raise anything
        description = _describe_error(source.path, error)
        if generated is None and _is_complete(source, vars(module), error):
            return description.replace(str(source.path), source.path.name)
        hint = remedy([str(error.name)]) if isinstance(error, StandInError) else None
        raise CaptureError(description, hint=hint) from error
    return None


def _is_complete(source: KernelSource, module: Mapping[str, object], error: BaseException) -> bool:
    """Whether a file had defined its kernel, and all it uses, when an exception ended it.

    Files often end in calls of their kernels, which need a GPU. Code that did not run may define
    other names, but must not change one that a function of the file reads.
    """
    frames = traceback.extract_tb(error.__traceback__)
    line = next((f.lineno for f in frames if f.name == "<module>" and _is_in(f, source)), None)
    if line is None or source.function not in module:
        return False
    text = importlib.util.decode_source(source.content)
    skipped = [node for node in ast.parse(text).body if (node.end_lineno or 0) >= line]
    if any(isinstance(n, ast.ImportFrom) and n.names[0].name == "*" for n in skipped):
        return False
    changed = {
        name
        for node in skipped
        for name in _names(symtable.symtable(ast.unparse(node), "", "exec"))
        if name in module
    }
    table = symtable.symtable(text, str(source.path), "exec")
    return changed.isdisjoint({source.function, *_globals(table)})


def _is_in(frame: traceback.FrameSummary, source: KernelSource) -> bool:
    return frame.filename == str(source.path)


def _names(table: symtable.SymbolTable) -> list[str]:
    """Return the names that the code of a module assigns."""
    return [symbol.get_name() for symbol in table.get_symbols() if symbol.is_assigned()]


def _globals(table: symtable.SymbolTable) -> Iterator[str]:
    """Yield the global names that the functions and classes of a module read."""
    for child in table.get_children():
        yield from (symbol.get_name() for symbol in child.get_symbols() if symbol.is_global())
        yield from _globals(child)


def _cache_lines(source: KernelSource) -> None:
    """Make ``inspect``, and so Triton, read the executed lines and not those of a later save."""
    if source.generated is not None:
        code = source.generated.code
    else:
        code = importlib.util.decode_source(source.content)
    lines = io.StringIO(code).readlines()
    # linecache.checkcache does not compare entries without an mtime with the file.
    linecache.cache[str(source.path)] = (len(source.content), None, lines, str(source.path))


def local_files(module: ModuleType, imported: Collection[str]) -> list[Path]:
    """Return the local source files that a module depends on, without its own.

    Local files are neither installed nor part of the standard library. An ``import`` statement
    counts even if this process had imported its module before. ``imported`` names the modules
    that were imported while this one was loaded.
    """
    pending = [module, *(sys.modules[name] for name in imported if name in sys.modules)]
    files: set[Path] = set()
    while pending:
        current = pending.pop()
        file = _local_file(current)
        if file is None or file in files:
            continue
        files.add(file)
        pending += _imports(current, file)
    return sorted(files - {Path(str(module.__file__)).resolve()})


def _imports(module: ModuleType, file: Path) -> list[ModuleType]:
    """Return the loaded modules that the ``import`` statements of a module's file name."""
    package = module.__package__ or ""
    names: set[str] = set()
    for node in ast.walk(ast.parse(file.read_bytes())):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            origin = node.module or ""
            if node.level and package:
                origin = importlib.util.resolve_name("." * node.level + origin, package)
            names.add(origin)
            names.update(f"{origin}.{alias.name}" for alias in node.names)
    return [sys.modules[name] for name in names if name in sys.modules]


def _module_name(path: Path) -> tuple[str, list[str]]:
    """Return the module name for a file, and the folders it may import from.

    The name is the same in every process, since Triton includes it in the names of functions
    that are not inlined; and it is inside the file's package, so that relative imports work.
    """
    folder, package = path.parent, ""
    while (folder / "__init__.py").is_file() and folder.name.isidentifier():
        package = f"{folder.name}.{package}"
        folder = folder.parent
    return f"{package}_irlens_{path.stem}", list(dict.fromkeys([str(path.parent), str(folder)]))


def _local_file(module: ModuleType) -> Path | None:
    """Return a module's source file unless it is installed or in the standard library."""
    file = getattr(module, "__file__", None)
    if not isinstance(file, str) or not file.endswith(".py"):
        return None
    path = Path(file).resolve()
    if {"site-packages", "dist-packages"} & set(path.parts) or not path.is_file():
        return None
    return None if any(path.is_relative_to(root) for root in _NOT_LOCAL) else path


#: The standard library, and irlens itself when it runs from a checkout.
_NOT_LOCAL = (
    Path(sysconfig.get_path("stdlib")).resolve(),
    Path(sysconfig.get_path("platstdlib")).resolve(),
    Path(__file__).resolve().parents[2],
)


def _describe_error(path: Path, error: BaseException) -> str:
    """Return "FILE:LINE: EXCEPTION", with the deepest frame that is in the file."""
    if isinstance(error, SyntaxError):
        line, file = error.lineno, error.filename or str(path)
    else:
        frames = traceback.extract_tb(error.__traceback__)
        own = [frame for frame in frames if frame.filename == str(path)]
        line, file = (own[-1].lineno if own else None), str(path)
    is_ours = isinstance(error, IrlensError | StandInError)
    text = str(error) if is_ours else traceback.format_exception_only(error)[-1].strip()
    return f"{file}:{line}: {text}" if line else f"{file}: {text}"
