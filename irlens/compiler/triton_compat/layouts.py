"""Gluon's layouts and descriptors; imported for kernels of Gluon alone."""

import ast
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType
from typing import Any

import triton.language as tl
from triton.experimental.gluon import language
from triton.experimental.gluon.nvidia import hopper as nvidia

from irlens.compiler.dtypes import DTYPES
from irlens.model.errors import CaptureError, UnknownNameError

try:
    from triton.experimental.gluon.amd import gfx1250 as amd
except ImportError:  # before 3.6
    amd = None


def parse_layout(text: str) -> Any:
    """Return the layout that a text means, as ``BlockedLayout([1], [32], [4], [0])``.

    It may be made by a class's own function, as ``NVMMASharedLayout.get_default_for`` does. The
    arguments are literals, dtypes and other layouts.

    Raises:
        UnknownNameError: This Triton has no such layout, or no such way to make one.
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
        named = {each.arg or "": _value(each.value) for each in node.keywords}
        return _maker(ast.unparse(node.func))(*map(_value, node.args), **named)
    dtype = DTYPES.get(ast.unparse(node).rpartition(".")[2])
    return ast.literal_eval(node) if dtype is None else getattr(tl, dtype.language)


def _maker(written: str) -> Callable[..., Any]:
    """Return the class, or its own function, that a name means: its module may stand before it."""
    known: dict[str, Callable[..., Any]] = dict(_classes())
    *_, last_but_one, last = ("", *written.split("."))
    if last_but_one not in known:
        makers, name = known, last
    else:
        members = vars(known[last_but_one]).items()
        static = {n: each.__func__ for n, each in members if isinstance(each, staticmethod)}
        makers = {f"{last_but_one}.{n}": each for n, each in static.items()}
        name = f"{last_but_one}.{last}"
    if name not in makers:
        raise UnknownNameError("layout", name, makers)
    return makers[name]


def _classes() -> Iterator[tuple[str, type]]:
    """Yield the layouts that Gluon has, for every vendor, with their names."""
    vendors = [getattr(language, name, None) for name in ("nvidia", "amd")]
    inside = [module for vendor in vendors if vendor for module in vars(vendor).values()]
    for module in (language, *vendors, *inside):
        if isinstance(module, ModuleType):
            for name, value in vars(module).items():
                if isinstance(value, type) and name.endswith("Layout"):
                    yield name, value
