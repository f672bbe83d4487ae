"""Gluon's layouts and descriptors; only imported for Gluon kernels."""

import ast
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType
from typing import Any

import triton.language as tl
from triton.experimental.gluon import language
from triton.experimental.gluon.nvidia import hopper as nvidia

from irlens.compiler.calls.dtypes import DTYPES
from irlens.model.errors import CaptureError, UnknownNameError

try:
    from triton.experimental.gluon.amd import gfx1250 as amd
except ImportError:  # before 3.6
    amd = None


def parse_layout(text: str) -> Any:
    """Return the layout of a text such as ``BlockedLayout([1], [32], [4], [0])``.

    Static methods of a layout class may make it too, such as
    ``NVMMASharedLayout.get_default_for``. The arguments are literals, dtypes and other layouts.

    Raises:
        UnknownNameError: This Triton has no such layout or static method.
        CaptureError: The text is not a layout, or the layout rejects its arguments.
    """
    try:
        return _value(ast.parse(text.strip(), mode="eval").body)
    except (AssertionError, SyntaxError, TypeError, ValueError) as error:
        raise CaptureError(f"'{text}' is not a layout: {error}") from error


def make_descriptor(tensor: Any, element: str, block: Sequence[int], layout: str | None) -> object:
    """Return Gluon's descriptor of a tensor.

    Args:
        element: Its dtype's name in ``triton.language``.
        block: Extents of one copy.
        layout: Layout of the block in shared memory; ``None`` means ``default_layout``.

    Raises:
        CaptureError: There is no such layout, or no default in this Triton.
        AssertionError, TypeError, ValueError: Triton rejects the descriptor.
    """
    if layout is not None:
        chosen = parse_layout(layout)
    else:
        chosen = default_layout(element, block)
        if chosen is None:
            raise CaptureError(
                "this Triton's Gluon has no default layout for a block",
                hint="add a layout: fp16[64, 64]:block[64, 64]:NVMMASharedLayout(...)",
            )
    kind = nvidia.TensorDescriptor
    if amd is not None and not isinstance(chosen, language.NVMMASharedLayout):
        kind = amd.TensorDescriptor
    return kind.from_tensor(tensor, list(block), chosen)


def default_layout(element: str, block: Sequence[int]) -> Any:
    """Return the layout of ``NVMMASharedLayout.get_default_for``; ``None`` before 3.5."""
    get_default = getattr(language.NVMMASharedLayout, "get_default_for", None)
    return None if get_default is None else get_default(list(block), getattr(tl, element))


def _value(node: ast.expr) -> Any:
    """Return the value of a literal, a dtype or a layout."""
    if isinstance(node, ast.Call):
        named = {each.arg or "": _value(each.value) for each in node.keywords}
        return _constructor(ast.unparse(node.func))(*map(_value, node.args), **named)
    dtype = DTYPES.get(ast.unparse(node).rpartition(".")[2])
    return ast.literal_eval(node) if dtype is None else getattr(tl, dtype.language)


def _constructor(dotted: str) -> Callable[..., Any]:
    """Return the class or static method of a name, which a module's name may precede."""
    classes: dict[str, Callable[..., Any]] = dict(_classes())
    *_, qualifier, last = ("", *dotted.split("."))
    if qualifier not in classes:
        constructors, name = classes, last
    else:
        members = vars(classes[qualifier]).items()
        static = {n: each.__func__ for n, each in members if isinstance(each, staticmethod)}
        constructors = {f"{qualifier}.{n}": each for n, each in static.items()}
        name = f"{qualifier}.{last}"
    if name not in constructors:
        raise UnknownNameError("layout", name, constructors)
    return constructors[name]


def _classes() -> Iterator[tuple[str, type]]:
    """Yield Gluon's layout classes for every vendor, with their names."""
    vendors = [getattr(language, name, None) for name in ("nvidia", "amd")]
    nested = [module for vendor in vendors if vendor for module in vars(vendor).values()]
    for module in (language, *vendors, *nested):
        if isinstance(module, ModuleType):
            for name, value in vars(module).items():
                if isinstance(value, type) and name.endswith("Layout"):
                    yield name, value
