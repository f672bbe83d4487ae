"""Execute kernel files: the only place where irlens runs the user's Python."""

import ast
import importlib.util
import io
import linecache
import sys
import sysconfig
import traceback
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from types import ModuleType

from irlens.compiler.sources.description import KernelSource
from irlens.model.errors import CaptureError


@contextmanager
def loaded(source: KernelSource) -> Iterator[tuple[ModuleType, Mapping[Path, bytes]]]:
    """Execute a kernel's file; yield the module and the content of its local source files.

    The contents, the kernel's own file first, are those that were executed: compiling takes a
    while, and a file may be saved meanwhile.

    The file can import from its folder, as if it were run as a script, and from the package that
    contains it. Afterwards the module and its local imports are removed from ``sys.modules``, so
    that the next capture sees the files on disk. Output of the file goes to stderr.

    Raises:
        CaptureError: The file raised an exception.
    """
    name, folders = _module_name(source.path)
    module = importlib.util.module_from_spec(
        ModuleSpec(name, SourceFileLoader(name, str(source.path)), origin=str(source.path))
    )
    module.__file__ = str(source.path)
    path, modules, bytecode = list(sys.path), dict(sys.modules), sys.dont_write_bytecode
    # Python considers bytecode current if the size and the mtime in seconds of the source match:
    # a file edited twice within a second would be captured in its previous state.
    sys.dont_write_bytecode = True
    sys.path[:0] = [folder for folder in folders if folder not in path]
    sys.modules[name] = module
    _cache_lines(source)
    try:
        with redirect_stdout(sys.stderr):
            try:
                exec(compile(source.content, source.path, "exec"), vars(module))
            except (Exception, SystemExit) as error:  # a user's file may raise anything
                raise CaptureError(_describe_error(source.path, error)) from error
            others = local_files(module, set(sys.modules) - set(modules))
            yield module, {source.path: source.content} | {f: f.read_bytes() for f in others}
    finally:
        linecache.cache.pop(str(source.path), None)
        sys.path[:] = path
        sys.dont_write_bytecode = bytecode
        for added in set(sys.modules) - set(modules):
            if added == name or _local_file(sys.modules[added]):
                del sys.modules[added]
        if name in modules:
            sys.modules[name] = modules[name]


def _cache_lines(source: KernelSource) -> None:
    """Make ``inspect``, and so Triton, read the executed lines and not those of a later save."""
    lines = io.StringIO(importlib.util.decode_source(source.content)).readlines()
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
    text = traceback.format_exception_only(error)[-1].strip()
    return f"{file}:{line}: {text}" if line else f"{file}: {text}"
