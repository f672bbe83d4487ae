"""Read the kernels of a file and their descriptions without executing it.

A kernel file may assign a literal to ``IRLENS_KERNELS``: a dictionary from kernel names to
``Description``. ``ast.literal_eval`` reads it, so that listing kernels and looking up stored
captures never run the file.
"""

import ast
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from importlib.util import decode_source
from pathlib import Path
from types import MappingProxyType

import msgspec

from irlens.compiler.sources.inductor import GeneratedKernel, generated_kernels, is_generated
from irlens.compiler.sources.lookup import find_file, known_files, split_spec
from irlens.compiler.sources.running import how_to_run
from irlens.model import files
from irlens.model.config import ConstexprValue
from irlens.model.errors import CaptureError, UnknownNameError

VARIABLE = "IRLENS_KERNELS"


class Tolerance(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Allowed deviation of an output from its reference: ``atol + rtol * abs(reference)``."""

    rtol: float
    atol: float


class Traffic(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Bytes that all programs of a launch load and store, before any cache: expressions."""

    read: str
    written: str


class Description(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How to call a kernel. Every string is an expression, see ``expressions.evaluate``.

    Attributes:
        sizes: Names that the expressions below use, and their default values.
        args: Run-time arguments by parameter name: a number, an expression, a tensor such as
            "fp32[n_rows, n_cols]", one with its contents, "int32[n]:values[512]" or "@FILE.npy"
            relative to the kernel's file, or a ``TensorDescriptor`` made on the host such as
            "fp16[M, K]:block[BLOCK_M, BLOCK_K]"; for Gluon a layout other than the default may
            follow, ":NVMMASharedLayout(64, 16, 2)".
        constexprs: Defaults of ``tl.constexpr`` parameters; a string value is "'text'", a Gluon
            layout "BlockedLayout([1], [32], [4], [0])".
        options: Defaults of compile options: num_warps, num_stages, num_ctas, ...
        grid: CTAs in x, y and z; missing dimensions are 1. May use ``sm_count``, and
            ``blocks_per_sm``, the CTAs of the compiled kernel that fit an SM.
        inputs: Name of the function in the same file that replaces random inputs where a kernel
            cannot take any values, such as offsets. Its parameters have the names of the kernel's;
            it returns a dictionary of tensors by parameter name.
        reference: Name of the function in the same file that computes the outputs. Its parameters
            have the names of the kernel's; it returns a tensor, or one for each output.
        naive: Name of a function like the reference that computes the outputs in several passes,
            to compare times with.
        traffic: Bytes loaded and stored; the expressions may use constexprs as well.
    """

    args: dict[str, ConstexprValue]
    sizes: dict[str, int | float] = {}
    constexprs: dict[str, ConstexprValue] = {}
    options: dict[str, ConstexprValue] = {}
    grid: tuple[int | str, ...] = ()
    outputs: tuple[str, ...] = ()
    inputs: str | None = None
    reference: str | None = None
    naive: str | None = None
    tolerance: Tolerance = Tolerance(rtol=1e-5, atol=1e-8)
    traffic: Traffic | None = None


class KernelSource(msgspec.Struct, frozen=True):
    """A kernel in a file.

    Attributes:
        description: How to call it, or ``None`` if the file does not describe it.
        content: The bytes of the file when it was read.
    """

    path: Path
    function: str
    description: Description | None
    content: bytes
    generated: GeneratedKernel | None = None


def find_kernel(spec: str) -> KernelSource:
    """Return the kernel that ``spec`` names.

    Args:
        spec: A name from ``lookup.known_files``, ``path/file.py``, or a dotted module name,
            optionally followed by ``:kernel``; required if the file has several kernels.

    Raises:
        UnknownNameError: There is no such kernel.
        CaptureError: The file cannot be read, or has several kernels.
    """
    sources = find_kernels(spec)
    if len(sources) > 1:
        names = [source.function for source in sources]
        raise CaptureError(
            f"{sources[0].path} has several kernels: {', '.join(names)}",
            hint="\n".join(filter(None, [how_to_run(sources[0].path), f"write {spec}:{names[0]}"])),
        )
    return sources[0]


def find_kernels(spec: str) -> list[KernelSource]:
    """Return the kernels that ``spec`` names, never an empty list: several of a file.

    Raises:
        UnknownNameError: There is no such kernel.
        CaptureError: The file cannot be read, or has no kernel.
    """
    _, function = split_spec(spec)
    return read_kernels(find_file(spec), function)


def known_kernels() -> Iterator[str]:
    """Yield a name of each kernel in the known files."""
    for file, path in sorted(known_files().items()):
        yield from (name for name, _ in kernel_names(file, path))


def kernel_names(file: str, path: Path) -> Iterator[tuple[str, str]]:
    """Yield the name and place of each kernel in a known file; of the file if it is unreadable."""
    try:
        functions = [source.function for source in read_kernels(path)]
    except CaptureError:
        functions = [""]
    for function in functions:
        yield (f"{file}:{function}" if functions[1:] else file), f"{path.resolve()}:{function}"


def read_kernels(path: Path, function: str | None = None) -> list[KernelSource]:
    """Return the kernel ``function`` of a file, or all that can be called: never an empty list.

    Those are the kernels that the file describes, or else its jit functions that no other one
    calls.

    Raises:
        ArtifactError: Its path is not UTF-8.
        CaptureError: The file cannot be read, is not Python, has an invalid description, or no
            kernel.
    """
    files.require_utf8(path.resolve())
    try:
        content = path.read_bytes()
    except OSError as error:
        raise CaptureError(f"cannot read {path}: {error.strerror}") from error
    if generated := _generated(path, content):
        named = [each for each in generated if function in (None, each.function)]
        if not named:
            raise UnknownNameError("kernel", f"{function}", [each.function for each in generated])
        return named
    descriptions, callable_kernels = _contents(path, content)
    functions = [function] if function is not None else list(descriptions) or callable_kernels
    if not functions:
        raise CaptureError(f"{path} has no @triton.jit function", hint=how_to_run(path))
    return [KernelSource(path.resolve(), f, descriptions.get(f), content) for f in functions]


@lru_cache(maxsize=64)  # a sweep and the experiments of ``explain`` ask again for each compilation
def _contents(path: Path, content: bytes) -> tuple[Mapping[str, Description], tuple[str, ...]]:
    """Return the descriptions of a file by kernel, or else its functions that can be called."""
    tree = _parse(path, content)
    descriptions = _descriptions(path, tree)
    return MappingProxyType(descriptions), () if descriptions else tuple(_kernels(tree))


def _generated(path: Path, content: bytes) -> list[KernelSource]:
    """Return the kernels of a file or a log that TorchInductor wrote, nothing for other files."""
    text = content.decode("utf-8", "replace")
    kernels = generated_kernels(text) if is_generated(text) else ()
    return [
        KernelSource(path.resolve(), each.name, _description_of(each), content, each)
        for each in kernels
    ]


def _description_of(kernel: GeneratedKernel) -> Description:
    """Return how TorchInductor's wrapper calls a kernel."""
    numbers = {n: v for n, v in kernel.args.items() if isinstance(v, int | float)}
    return Description(
        args={name: name if name in numbers else value for name, value in kernel.args.items()},
        sizes=numbers,
        options=kernel.options,
        grid=kernel.grid,
    )


def _parse(path: Path, content: bytes) -> ast.Module:
    """Return the syntax tree of a file.

    Raises:
        CaptureError: The file is not Python; the hint shows the line with a caret.
    """
    try:
        tree = ast.parse(content, str(path))
    except SyntaxError as error:
        line = (error.text or "").rstrip("\n")
        caret = " " * max((error.offset or 1) - 1, 0) + "^"
        place = f"{path}:{error.lineno}" if error.lineno else path
        hint = f"{line}\n{caret}" if line else None
        raise CaptureError(f"{place}: {error.msg}", hint=hint) from error
    except files.PARSE_ERRORS as error:
        reason = str(error) or "nested too deeply"
        raise CaptureError(f"{path} is not readable Python: {reason}") from error
    _require_text(path, content)
    return tree


def _require_text(path: Path, content: bytes) -> None:
    """Raise ``CaptureError`` for a comment in another encoding, which Python's parser skips."""
    try:
        decode_source(content)
    except (SyntaxError, UnicodeDecodeError) as error:
        lines = content.decode("utf-8", "surrogateescape").split("\n")
        number = next((n for n, line in enumerate(lines, 1) if not files.is_utf8(line)), 1)
        raise CaptureError(
            f"{path}:{number}: not in the file's encoding",
            hint="save the file as UTF-8, or declare its encoding:  # -*- coding: latin-1 -*-",
        ) from error


def _descriptions(path: Path, tree: ast.Module) -> dict[str, Description]:
    """Return the descriptions that the module assigns to ``VARIABLE``, if any."""
    value = _assigned(tree, VARIABLE)
    if value is None:
        return {}
    where = f"{path}:{value.lineno}"
    try:
        described = msgspec.convert(ast.literal_eval(value), dict[str, Description])
    except msgspec.ValidationError as error:
        raise CaptureError(f"{where}: {VARIABLE}: {error}") from error
    except (ValueError, TypeError, RecursionError, MemoryError) as error:
        raise CaptureError(
            f"{where}: {VARIABLE} is not a literal",
            hint="it is read without running the file: use numbers, strings, lists and dicts",
        ) from error
    return {name: _with_files(each, path.parent) for name, each in described.items()}


def _with_files(description: Description, folder: Path) -> Description:
    """Return a description that names files of contents by absolute path."""
    files = {
        name: f"@{folder.resolve() / Path(value.strip()[1:]).expanduser()}"
        for name, value in description.args.items()
        if isinstance(value, str) and value.strip()[:1] == "@"
    }
    return msgspec.structs.replace(description, args=description.args | files)


def _assigned(tree: ast.Module, name: str) -> ast.expr | None:
    """Return the expression that the module assigns to a name, or ``None``."""
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=target)], value=value) if target == name:
                return value
            case ast.AnnAssign(target=ast.Name(id=target), value=value) if target == name:
                return value
    return None


def _kernels(tree: ast.Module) -> list[str]:
    """Return the jit functions of a module that no other one calls or passes on.

    A method is "Class.method".
    """
    functions = dict(jit_functions(tree.body))
    helpers = {each for function in functions.values() for each in _called(function)}
    return [name for name in functions if name not in helpers]


def _called(function: ast.FunctionDef) -> set[str]:
    """Return the names that are not a function's own and that it calls, or calls others with."""
    nodes = list(ast.walk(function))
    own = {each.arg for each in nodes if isinstance(each, ast.arg)} | {function.name}
    own |= {e.id for e in nodes if isinstance(e, ast.Name) and isinstance(e.ctx, ast.Store)}
    used = (
        name
        for call in nodes
        if isinstance(call, ast.Call)
        for name in (call.func, *call.args, *(each.value for each in call.keywords))
    )
    return {name.id for name in used if isinstance(name, ast.Name)} - own


def jit_functions(
    body: Iterable[ast.stmt], owner: str = ""
) -> Iterator[tuple[str, ast.FunctionDef]]:
    """Yield the jit functions of a module by name, "Class.method" of a class."""
    for node in _import_time_statements(body):
        if isinstance(node, ast.FunctionDef) and any(map(_is_jit, node.decorator_list)):
            yield owner + node.name, node
        elif isinstance(node, ast.ClassDef):
            yield from jit_functions(node.body, f"{owner}{node.name}.")


def _import_time_statements(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements that run on import, including nested ones (if, try, with)."""
    pending = list(body)[::-1]
    while pending:
        node = pending.pop()
        yield node
        if isinstance(node, ast.If | ast.Try | ast.With):
            inner = [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.stmt)]
            pending += inner[::-1]


def _is_jit(decorator: ast.expr) -> bool:
    """Whether a decorator is ``triton.jit``, ``jit(...)`` or similar."""
    if isinstance(decorator, ast.Call):
        decorator = decorator.func
    if isinstance(decorator, ast.Attribute):
        return decorator.attr == "jit"
    return isinstance(decorator, ast.Name) and decorator.id == "jit"
