"""Reading which kernels a file has and how to call them, without executing anything.

A kernel's file may assign a literal to ``IRLENS_KERNELS``: a dictionary from the names of its
kernels to their ``Description``. It is read with ``ast.literal_eval``, so that listing kernels
and answering from the store never run the file.
"""

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from irlens.compiler.finding import find_file, split_spec
from irlens.model.config import ConstexprValue
from irlens.model.errors import CaptureError

VARIABLE = "IRLENS_KERNELS"


class Tolerance(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How far an output may be from its reference: ``atol + rtol * abs(reference)``."""

    rtol: float
    atol: float


class Description(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How to call a kernel. Every string is an expression, see ``values.evaluate``.

    Attributes:
        sizes: Names that the expressions below use, and their default values.
        args: Run-time arguments by parameter name: a number, an expression, a tensor as
            "fp32[n_rows, n_cols]", or one by a ``TensorDescriptor`` made on the host as
            "fp16[M, K]:block[BLOCK_M, BLOCK_K]", for Gluon with a layout behind it that is not
            the default, ":NVMMASharedLayout(64, 16, 2)".
        constexprs: Defaults of ``tl.constexpr`` parameters; a string value is "'text'", and a
            layout of Gluon's "BlockedLayout([1], [32], [4], [0])".
        options: Defaults of compile options: num_warps, num_stages, num_ctas, ...
        grid: CTAs in x, y and z; fewer mean 1. May use ``sm_count``.
        outputs: The tensors that the kernel writes.
        reference: The function in the same file that computes the outputs. Its parameters are
            named like the kernel's; it returns a tensor, or as many as there are outputs.
        tolerance: For the comparison with the reference.
    """

    args: dict[str, ConstexprValue]
    sizes: dict[str, int | float] = {}
    constexprs: dict[str, ConstexprValue] = {}
    options: dict[str, ConstexprValue] = {}
    grid: tuple[int | str, ...] = ()
    outputs: tuple[str, ...] = ()
    reference: str | None = None
    tolerance: Tolerance = Tolerance(rtol=1e-5, atol=1e-8)


class KernelSource(msgspec.Struct, frozen=True):
    """A kernel in a file.

    Attributes:
        path: The file, absolute.
        function: The kernel function's name.
        description: How to call it, or ``None`` where the file does not say.
        content: The file's bytes as they were read.
    """

    path: Path
    function: str
    description: Description | None
    content: bytes


def find_kernel(spec: str) -> KernelSource:
    """Return the kernel that ``spec`` names.

    Args:
        spec: A name ``known_files`` knows, ``path/file.py``, or a dotted module name; each may
            be followed by ``:kernel``, and has to be where its file holds several.

    Raises:
        UnknownNameError: There is no such kernel.
        CaptureError: The file cannot be read, or leaves open which kernel is meant.
    """
    _, function = split_spec(spec)
    return read_file(find_file(spec), function)


def read_file(path: Path, function: str | None = None) -> KernelSource:
    """Return the kernel ``function`` of a file, or its only one.

    Raises:
        CaptureError: The file cannot be read, is not Python, has a faulty description, or
            has no or several kernels while ``function`` is ``None``.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise CaptureError(f"cannot read {path}: {error.strerror}") from error
    tree = _parse(path, content)
    descriptions = _descriptions(path, tree)
    if function is None:
        function = _only(path, list(descriptions) or _kernels(tree))
    return KernelSource(path.resolve(), function, descriptions.get(function), content)


def _parse(path: Path, content: bytes) -> ast.Module:
    """Parse a file's bytes."""
    try:
        return ast.parse(content, str(path))
    except SyntaxError as error:
        line = (error.text or "").rstrip("\n")
        caret = " " * max((error.offset or 1) - 1, 0) + "^"
        raise CaptureError(
            f"{path}:{error.lineno}: {error.msg}", hint=f"{line}\n{caret}" if line else None
        ) from error
    except (ValueError, RecursionError, MemoryError) as error:  # null bytes, absurd nesting
        raise CaptureError(f"{path} is not readable Python: {error}") from error


def _descriptions(path: Path, tree: ast.Module) -> dict[str, Description]:
    """Read the literal that the module assigns to ``VARIABLE``; empty if there is none."""
    value = _assigned(tree, VARIABLE)
    if value is None:
        return {}
    where = f"{path}:{value.lineno}"
    try:
        return msgspec.convert(ast.literal_eval(value), dict[str, Description])
    except msgspec.ValidationError as error:
        raise CaptureError(f"{where}: {VARIABLE}: {error}") from error
    except (ValueError, TypeError, RecursionError, MemoryError) as error:
        raise CaptureError(
            f"{where}: {VARIABLE} is not a literal",
            hint="it is read without running the file: use numbers, strings, lists and dicts",
        ) from error


def _assigned(tree: ast.Module, name: str) -> ast.expr | None:
    """Return the expression that the module assigns to a name, or ``None``."""
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=target)], value=value) if target == name:
                return value
            case ast.AnnAssign(target=ast.Name(id=target), value=value) if target == name:
                return value
    return None


def _only(path: Path, names: list[str]) -> str:
    """Return the single one of ``names``."""
    if not names:
        raise CaptureError(f"{path} has no @triton.jit function")
    if len(names) > 1:
        raise CaptureError(
            f"{path} has several kernels: {', '.join(names)}",
            hint=f"write {path}:{names[0]}",
        )
    return names[0]


def _kernels(tree: ast.Module) -> list[str]:
    """Return the module's jit functions, without those that another one calls."""
    functions = [
        node
        for node in _statements(tree.body)
        if isinstance(node, ast.FunctionDef) and any(map(_is_jit, node.decorator_list))
    ]
    called = {
        (function.name, call.func.id)
        for function in functions
        for call in ast.walk(function)
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name)
    }
    helpers = {callee for caller, callee in called if caller != callee}
    return [function.name for function in functions if function.name not in helpers]


def _statements(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements that run when the module is imported, those under ``if`` included."""
    pending = list(body)[::-1]
    while pending:
        node = pending.pop()
        yield node
        if isinstance(node, ast.If | ast.Try | ast.With):
            inner = [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.stmt)]
            pending += inner[::-1]


def _is_jit(decorator: ast.expr) -> bool:
    """Whether a decorator is ``triton.jit``, ``jit(...)`` or the like."""
    if isinstance(decorator, ast.Call):
        decorator = decorator.func
    if isinstance(decorator, ast.Attribute):
        return decorator.attr == "jit"
    return isinstance(decorator, ast.Name) and decorator.id == "jit"
