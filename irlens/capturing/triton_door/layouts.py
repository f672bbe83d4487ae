"""Gluon's layouts and descriptors; imported for kernels of Gluon alone."""

import ast
from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import Any

import triton.language as tl
from triton.experimental.gluon import language
from triton.experimental.gluon.nvidia import hopper as nvidia

from irlens.model.errors import CaptureError, UnknownNameError

try:
    from triton.experimental.gluon.amd import gfx1250 as amd
except ImportError:  # before 3.6
    amd = None


def parse_layout(text: str) -> Any:
    """Return the layout that a text means, as ``BlockedLayout([1], [32], [4], [0])``.

    Its arguments are literals and other layouts.

    Raises:
        UnknownNameError: This Triton has no such layout.
        CaptureError: The text is not that of a layout, or the layout refuses its arguments.
    """
    try:
        return _value(ast.parse(text.strip(), mode="eval").body)
    except (AssertionError, SyntaxError, TypeError, ValueError) as error:
        raise CaptureError(f"'{text}' is not a layout: {error}") from error


def described(tensor: Any, element: str, block: Sequence[int], layout: str | None) -> object:
    """Return Gluon's descriptor of a tensor.

    Args:
        tensor: The tensor, or a stand-in for it.
        element: Its dtype's name in ``triton.language``.
        block: Extents of what one copy moves.
        layout: Of the block in shared memory; ``None`` means ``default_layout``.

    Raises:
        CaptureError: There is no such layout, or no default in this Triton.
        AssertionError, TypeError, ValueError: Triton refuses the descriptor.
    """
    if layout is not None:
        chosen = parse_layout(layout)
    else:
        chosen = default_layout(element, block)
        if chosen is None:
            raise CaptureError(
                "this Triton's Gluon has no default layout for a block",
                hint="write it behind the block: fp16[64, 64]:block[64, 64]:NVMMASharedLayout(...)",
            )
    kind = nvidia.TensorDescriptor
    if amd is not None and not isinstance(chosen, language.NVMMASharedLayout):
        kind = amd.TensorDescriptor
    return kind.from_tensor(tensor, list(block), chosen)


def default_layout(element: str, block: Sequence[int]) -> Any:
    """Return the layout that ``NVMMASharedLayout.get_default_for`` chooses; ``None`` before 3.5."""
    choose = getattr(language.NVMMASharedLayout, "get_default_for", None)
    return None if choose is None else choose(list(block), getattr(tl, element))


def _value(node: ast.expr) -> Any:
    if isinstance(node, ast.Call):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else ast.unparse(node.func)
        known = dict(_classes())
        if name not in known:
            raise UnknownNameError("layout", name, known)
        named = {each.arg or "": _value(each.value) for each in node.keywords}
        return known[name](*map(_value, node.args), **named)
    return ast.literal_eval(node)


def _classes() -> Iterator[tuple[str, type]]:
    """Yield the layouts that Gluon has, for every vendor, with their names."""
    vendors = [getattr(language, name, None) for name in ("nvidia", "amd")]
    inside = [module for vendor in vendors if vendor for module in vars(vendor).values()]
    for module in (language, *vendors, *inside):
        if isinstance(module, ModuleType):
            for name, value in vars(module).items():
                if isinstance(value, type) and name.endswith("Layout"):
                    yield name, value
