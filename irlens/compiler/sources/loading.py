"""Execute kernel files: the only place where irlens runs the user's Python."""

import ast
import importlib.util
import io
import linecache
import sys
import sysconfig
import traceback
from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager, redirect_stdout
from functools import lru_cache
from importlib.machinery import ModuleSpec, SourceFileLoader
from itertools import takewhile
from pathlib import Path
from types import CodeType, ModuleType

import msgspec

from irlens.compiler.compiler_output import restored_environment
from irlens.compiler.sources.absent_imports import remedy, stand_ins_for_absent_modules
from irlens.compiler.sources.description import KernelSource
from irlens.compiler.sources.inductor import module_of
from irlens.compiler.sources.running import why_absent
from irlens.compiler.sources.slicing import sliced_imports, sliced_module
from irlens.compiler.sources.stand_ins import StandInError, is_stand_in
from irlens.compiler.sources.target_facts import described_to_torch
from irlens.model.config import Target
from irlens.model.errors import CaptureError, IrlensError


class _TritonPackages:
    """Installed packages that use Triton: on import they may have asked for the active GPU."""

    def __init__(self) -> None:
        self._arch: str | None = None
        self._modules: set[str] = set()

    def remember(self, arch: str | None, added: Collection[str]) -> None:
        """Keep the names of modules that were imported while a GPU was active."""
        triton = sys.modules.get("triton")
        # A sliced module executes what an attribute needs, which may raise anything.
        own = {name: getattr(sys.modules[name], "__dict__", {}) for name in added}
        users = {_package(name) for name in added if own[name].get("triton") is triton}
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
        stopped: The exception that ended the file, of which what the kernel needs was executed
            alone; ``None`` if it ran through.
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
def loaded(
    source: KernelSource, target: Target | None = None, toolkit: str | None = None
) -> Iterator[Loaded]:
    """Execute a kernel's file.

    The file can import from its folder, as if it were run as a script, and from the package that
    contains it. Afterwards the module and its local imports are removed from ``sys.modules``, so
    that the next capture sees the files on disk, and the environment is as it was. Output of the
    file goes to stderr.

    Args:
        target: The active GPU, which PyTorch describes to the file; ``None`` for the local one.
            Packages that were imported for another one are imported again.
        toolkit: The version of CUDA or HIP that PyTorch is to have been built with for it.

    Raises:
        CaptureError: What the kernel needs raised an exception.
    """
    name, folders = _module_name(source.path)
    arch = target.arch if target is not None else None
    _PACKAGES.forget_other_than(arch)
    path, modules, bytecode = list(sys.path), dict(sys.modules), sys.dont_write_bytecode
    # Python considers bytecode current if the size and the mtime in seconds of the source match:
    # a file edited twice within a second would be captured in its previous state.
    sys.dont_write_bytecode = True
    sys.path[:0] = [folder for folder in folders if folder not in path]
    _cache_lines(source)
    try:
        with ExitStack() as stack:
            stack.enter_context(restored_environment())
            stack.enter_context(described_to_torch(target, toolkit))
            stack.enter_context(redirect_stdout(sys.stderr))
            module, absent, stopped = _executed(source, name, stack)
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
        removed = {each for each in added if each == name or _is_own(sys.modules[each])}
        if added > removed:
            _PACKAGES.remember(arch, added)
        for other in removed:
            del sys.modules[other]
        if name in modules:
            sys.modules[name] = modules[name]


def _executed(
    source: KernelSource, name: str, stack: ExitStack
) -> tuple[ModuleType, list[str], str | None]:
    """Return a file's module, the absent modules, and the exception that ended it, if any.

    Libraries' files often fail where their kernels are inspected: they or their package ask for a
    GPU or another package, or end in calls of their kernels. Then what the kernel needs is
    executed alone.

    Args:
        name: The module's name in ``sys.modules``.
        stack: Ends the conditions in which the module works.
    """
    before = set(sys.modules)
    with ExitStack() as attempt:
        absent = attempt.enter_context(stand_ins_for_absent_modules())
        try:
            module = _whole(source, name)
        except CaptureError as error:
            if source.generated is not None or isinstance(error.__cause__, SyntaxError):
                raise
            stopped = error.message.replace(str(source.path), source.path.name)
        else:
            stack.push(attempt.pop_all())
            return module, absent, None
    for each in [name for name in set(sys.modules) - before if _is_own(sys.modules[name])]:
        del sys.modules[each]
    absent = stack.enter_context(stand_ins_for_absent_modules())
    package = _package(name) + "."
    stack.enter_context(
        sliced_imports(lambda other, path: other.startswith(package) or _is_local(path))
    )
    try:
        with _described_errors(source):
            module = sys.modules[name] = sliced_module(name, source.path, source.content)
            module.__package__ = name.rpartition(".")[0]
            try:
                getattr(module, source.function.partition(".")[0])
            except AttributeError as error:
                raise why_absent(source.path, source.content, source.function) or error from error
    except CaptureError as error:
        # What is executed alone may fail for want of what the rest would have set.
        whole = f"executed as a whole: {stopped}" if stopped not in error.message else None
        hint = "\n".join(filter(None, [error.hint, whole]))
        raise CaptureError(error.message, hint=hint or None) from error
    return module, absent, stopped


def _whole(source: KernelSource, name: str) -> ModuleType:
    """Execute a file and return its module."""
    module = importlib.util.module_from_spec(
        ModuleSpec(name, SourceFileLoader(name, str(source.path)), origin=str(source.path))
    )
    module.__file__ = str(source.path)
    sys.modules[name] = module
    generated = source.generated
    with _described_errors(source):
        if generated is not None:
            exec(compile(module_of(generated, str(source.path)), source.path, "exec"), vars(module))
            vars(module)[source.function] = vars(module)[generated.function]
        else:
            exec(_compiled(source.content, source.path), vars(module))
    return module


@lru_cache(maxsize=64)  # a sweep executes its kernel's file for each configuration
def _compiled(content: bytes, path: Path) -> CodeType:
    """Return the bytecode of a file; it raises what ``compile`` raises."""
    return compile(content, path, "exec")


@contextmanager
def _described_errors(source: KernelSource) -> Iterator[None]:
    """Raise what the user's file raises as ``CaptureError``."""
    try:
        yield
    except (CaptureError, KeyboardInterrupt):
        raise
    except BaseException as error:  # a user's file may raise anything: `pytest.skip` does
        hint = remedy([str(error.name)]) if isinstance(error, StandInError) else None
        raise CaptureError(describe_error(source.path, error), hint=hint) from error


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
    names = _imported_names(file.read_bytes(), module.__package__ or "")
    return [sys.modules[name] for name in names if name in sys.modules]


@lru_cache(maxsize=256)  # a sweep loads its kernel's file for each configuration
def _imported_names(code: bytes, package: str) -> frozenset[str]:
    """Return the names of modules, and what may be some, that a file of a package imports."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            origin = node.module or ""
            if node.level > len(package.split(".")):  # Python does not execute it either
                continue
            if node.level and package:
                origin = importlib.util.resolve_name("." * node.level + origin, package)
            names.add(origin)
            names.update(f"{origin}.{alias.name}" for alias in node.names)
    return frozenset(names)


def _module_name(path: Path) -> tuple[str, list[str]]:
    """Return the module name for a file, and the folders it may import from.

    The name is the same in every process, since Triton includes it in the names of functions
    that are not inlined; and it is inside the file's package, so that relative imports work.
    """
    parents = path.parents
    named = sum(1 for _ in takewhile(lambda each: each.name.isidentifier(), parents))
    depth = sum(1 for _ in takewhile(_is_package, parents[:named]))
    project = next((n for n, each in enumerate(parents) if _is_project(each)), 0)
    # A folder inside a project's package may lack an `__init__.py`.
    for number, each in enumerate(parents[: min(named, project)], 1):
        if _is_package(each):
            depth = max(depth, number)
    package = "".join(f"{each.name}." for each in reversed(parents[:depth]))
    folders = dict.fromkeys([str(path.parent), str(path.parents[depth])])
    return f"{package}_irlens_{path.stem}", list(folders)


def _is_package(folder: Path) -> bool:
    return (folder / "__init__.py").is_file()


def _is_project(folder: Path) -> bool:
    return any((folder / name).exists() for name in (".git", "pyproject.toml", "setup.py"))


def _is_own(module: ModuleType) -> bool:
    """Whether a module is a local file, or a namespace package of local folders alone.

    A namespace package that outlives its parent cannot be searched: its path is its parent's.
    """
    if getattr(module, "__file__", None) is None:
        folders = [Path(each).resolve() for each in getattr(module, "__path__", ())]
        return bool(folders) and all(map(_is_local, folders))
    return _local_file(module) is not None


def _local_file(module: ModuleType) -> Path | None:
    """Return a module's source file unless it is installed, Triton's or the standard library's."""
    file = getattr(module, "__file__", None)
    if not isinstance(file, str) or not file.endswith(".py"):
        return None
    if _package(module.__name__) == "triton":  # perhaps a checkout
        return None
    path = Path(file).resolve()
    return path if _is_local(path) and path.is_file() else None


def _is_local(path: Path) -> bool:
    if {"site-packages", "dist-packages"} & set(path.parts):
        return False
    return not any(path.is_relative_to(root) for root in _NOT_LOCAL)


#: The standard library, and irlens itself when it runs from a checkout.
_NOT_LOCAL = (
    Path(sysconfig.get_path("stdlib")).resolve(),
    Path(sysconfig.get_path("platstdlib")).resolve(),
    Path(__file__).resolve().parents[2],
)


def describe_error(path: Path, error: BaseException) -> str:
    """Return "FILE:LINE: EXCEPTION", with the deepest frame that is in the file."""
    if isinstance(error, SyntaxError):
        line, file = error.lineno, error.filename or str(path)
    else:
        frames = traceback.extract_tb(error.__traceback__)
        own = [frame for frame in frames if frame.filename == str(path)]
        line, file = (own[-1].lineno if own else None), str(path)
    is_ours = isinstance(error, IrlensError | StandInError)
    text = str(error) if is_ours else traceback.format_exception_only(error)[-1].strip()
    described = f"{file}:{line}: {text}" if line else f"{file}: {text}"
    return described.encode("utf-8", "backslashreplace").decode()  # captures record it
