"""Executing a kernel's file: the one place where irlens runs the user's Python."""

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

from irlens.compiler.describe import KernelSource
from irlens.model.errors import CaptureError


@contextmanager
def loaded(source: KernelSource) -> Iterator[tuple[ModuleType, Mapping[Path, bytes]]]:
    """Execute the kernel's file; hand out the module and all local files it is made from.

    Of each file there is what it held, its own first: whoever compiles takes a while, and it may
    be saved meanwhile.

    Its folder can be imported from, as if the file were run as a script, and so can the package
    that it is part of. Afterwards the module and the local ones that it imported are forgotten,
    so that the next capture sees what then is on disk. What the file prints goes to stderr.

    Raises:
        CaptureError: The file raised an exception.
    """
    name, folders = _module_name(source.path)
    module = importlib.util.module_from_spec(
        ModuleSpec(name, SourceFileLoader(name, str(source.path)), origin=str(source.path))
    )
    module.__file__ = str(source.path)
    path, modules, bytecode = list(sys.path), dict(sys.modules), sys.dont_write_bytecode
    # Bytecode is taken for current when the source's size and second of change are the same,
    # so a file edited twice in a second would be captured as it was before.
    sys.dont_write_bytecode = True
    sys.path[:0] = [folder for folder in folders if folder not in path]
    sys.modules[name] = module
    _show_lines(source)
    try:
        with redirect_stdout(sys.stderr):
            try:
                exec(compile(source.content, source.path, "exec"), vars(module))
            except (Exception, SystemExit) as error:  # whatever a user's file may raise
                raise CaptureError(_where(source.path, error)) from error
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


def _show_lines(source: KernelSource) -> None:
    """Let ``inspect`` read the lines that are executed, which Triton compiles, and no later ones.

    It would look at the file again, which may have been saved since.
    """
    lines = io.StringIO(importlib.util.decode_source(source.content)).readlines()
    # What has no time of change is not compared with the file, see ``linecache.checkcache``.
    linecache.cache[str(source.path)] = (len(source.content), None, lines, str(source.path))


def local_files(module: ModuleType, imported: Collection[str]) -> list[Path]:
    """Return the local source files that a module was made from, without its own.

    Local is what is neither the standard library's nor installed. An ``import`` statement counts
    even if its module had been imported before by others in this process.

    Args:
        module: A module made by ``loaded``.
        imported: The modules that were imported along with it, by ``import`` or otherwise.
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
    """Return a name for the module of a file, and the folders it may import from.

    The name is the same in every process, since Triton writes it into the names of functions
    that are not inlined; and it is inside the file's package, so that relative imports work.
    """
    folder, package = path.parent, ""
    while (folder / "__init__.py").is_file() and folder.name.isidentifier():
        package = f"{folder.name}.{package}"
        folder = folder.parent
    return f"{package}_irlens_{path.stem}", list(dict.fromkeys([str(path.parent), str(folder)]))


def _local_file(module: ModuleType) -> Path | None:
    """Return a module's source file if it is neither the standard library's nor installed."""
    file = getattr(module, "__file__", None)
    if not isinstance(file, str) or not file.endswith(".py"):
        return None
    path = Path(file).resolve()
    if {"site-packages", "dist-packages"} & set(path.parts) or not path.is_file():
        return None
    return None if any(path.is_relative_to(root) for root in _OURS) else path


#: The standard library, and irlens itself when it runs from a checkout.
_OURS = (
    Path(sysconfig.get_path("stdlib")).resolve(),
    Path(sysconfig.get_path("platstdlib")).resolve(),
    Path(__file__).resolve().parents[1],
)


def _where(path: Path, error: BaseException) -> str:
    """Return one line: the deepest line of the file that took part, and the exception."""
    if isinstance(error, SyntaxError):
        line, place = error.lineno, error.filename or str(path)
    else:
        frames = traceback.extract_tb(error.__traceback__)
        own = [frame for frame in frames if frame.filename == str(path)]
        line, place = (own[-1].lineno if own else None), str(path)
    text = traceback.format_exception_only(error)[-1].strip()
    return f"{place}:{line}: {text}" if line else f"{place}: {text}"
