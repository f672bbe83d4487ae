"""Types and layouts of ttgir: tensors, memory descriptors and what their encodings say.

A blocked layout deals a tensor out to threads: each holds ``sizePerThread`` neighbours, a warp is
``threadsPerWarp`` threads, a CTA ``warpsPerCTA`` warps, along each dimension; ``order`` names the
dimensions from the fastest to the slowest (Triton, ``TritonGPUAttrDefs.td``,
``BlockedEncodingAttr``).
"""

import re
from functools import lru_cache
from math import prod

import msgspec

from irlens.isa.mlir import Module
from irlens.model.text import split_list

# Names of MLIR's builtin types; the width is in them. No type of Triton's has more than 128 bits.
_SCALAR = re.compile(r"(?:i|f|bf|tf)(\d{1,4})(?:E\w+)?|index")
_SHAPED = re.compile(r"(?:!?[\w.]*)<((?:[0-9]{1,9}x)*)(.*)>", re.DOTALL)
_PADDED = re.compile(r"#ttg\.padded_shared<\[([^\]]*)\]")
_PADDING = re.compile(r"(\d+):\+(\d+)")
_BASES = re.compile(r"\bCGALayout = \[((?:\[[0-9, ]{1,99}\](?:, )?){1,8})\]")
_BASIS = re.compile(r"\[([0-9, ]{1,99})\]")
_SPLIT = re.compile(r"\bCTASplitNum = \[(\d{1,4}(?:, ?\d{1,4}){0,7})\]")
# Layouts that hold a tensor without gaps, as Triton 3.4 to 3.9 print them for both vendors.
_DENSE = ("#ttg.swizzled_shared<", "#ttg.nvmma_shared<", "#ttg.amd_rotating_shared<")

_FIELD = re.compile(r"\b(\w{1,40}) = \[([0-9, ]{1,99})\]")
_BLOCKED = ("sizePerThread", "threadsPerWarp", "warpsPerCTA", "order")


class Shaped(msgspec.Struct, frozen=True):
    """A ``tensor`` or ``!ttg.memdesc`` type.

    Attributes:
        shape: Empty for a scalar descriptor.
        element: "f16", "!tt.ptr<f16>".
        parameters: The rest of the type, as written: layout, memory space, ...
    """

    shape: tuple[int, ...]
    element: str
    parameters: tuple[str, ...]

    @property
    def size(self) -> int:
        """Number of elements."""
        return prod(self.shape)


@lru_cache(maxsize=1 << 10)
def read_shaped(text: str) -> Shaped | None:
    """Read a tensor or descriptor type, or its abbreviation ``<1024xf32, ...>``."""
    match = _SHAPED.fullmatch(text)
    if match is None:
        return None
    element, *parameters = split_list(match[2], "()[]{}<>")
    shape = tuple(int(extent) for extent in match[1].split("x")[:-1])
    return Shaped(shape, element, tuple(parameters))


def element_bits(element: str) -> int | None:
    """Return the width of an element in bits; ``None`` for an unknown type."""
    if element.startswith("!tt.ptr<"):
        return 64
    match = _SCALAR.fullmatch(element)
    return int(match[1]) if match and match[1] else None


def allocated_bytes(module: Module, descriptor: Shaped) -> int | None:
    """Return the bytes per CTA that a ``ttg.local_alloc`` of this type takes.

    Dense layouts take ``elements * bits / 8`` (``getExplicitValueSize`` in
    ``lib/Analysis/Allocation.cpp``); ``padded_shared<[512:+16]>`` adds 16 elements after every 512
    but not after the last (``PaddedSharedEncodingAttr::getPaddedSize``). Each CTA of a cluster
    holds its part of what the layout splits among them, and all of what it does not.

    Returns:
        ``None`` where that is not exact: fp4 padding, unknown layouts, padded clusters.
    """
    bits = element_bits(descriptor.element)
    layout = layout_of(module, descriptor)
    parts = cta_parts(module, layout)
    if bits is None or "fp4Padded = true" in layout or parts is None:
        return None
    elements, rest = divmod(descriptor.size, parts)
    padded = _PADDED.match(layout)
    if rest or (padded and clustered(module)):
        return None
    if padded:
        for interval, padding in _PADDING.findall(padded[1]):
            blocks, rest = divmod(descriptor.size, max(int(interval), 1))
            elements += (blocks - (rest == 0)) * int(padding)
    elif not layout.startswith(_DENSE):
        return None
    return elements * bits // 8


def clustered(module: Module) -> bool:
    """Whether several CTAs share a tensor, so that each holds only a part of it."""
    return _ctas(module) != "1"


def _ctas(module: Module) -> str:
    return module.attributes.get("ttg.num-ctas", "1").partition(" ")[0]


def cta_parts(module: Module, layout: str) -> int | None:
    """Return the number of parts a layout splits a tensor into among the CTAs of a cluster.

    From Triton 3.6 on it has a basis for each bit of a CTA's number, of zeros if both halves hold
    the same; before, the number of parts along each dimension.

    Args:
        module: Gives the number of CTAs of a cluster.
        layout: In full, not its alias.

    Returns:
        ``None`` where the layout does not say.
    """
    ctas = _ctas(module)
    if ctas == "1":
        return 1
    if match := _BASES.search(layout):
        bases = _BASIS.findall(match[1])
        split = [basis for basis in bases if set(basis) - set("0, ")]
        return 1 << len(split) if str(1 << len(bases)) == ctas else None
    if match := _SPLIT.search(layout):
        return prod(map(int, match[1].split(","))) or None
    return None


class Blocked(msgspec.Struct, frozen=True):
    """A blocked layout; one number per dimension."""

    size_per_thread: tuple[int, ...]
    threads_per_warp: tuple[int, ...]
    warps_per_cta: tuple[int, ...]
    order: tuple[int, ...]

    @property
    def warp_size(self) -> int:
        """Threads of a warp."""
        return prod(self.threads_per_warp)

    def lane(self, number: int) -> tuple[int, ...]:
        """Return the index of the first element that a lane of the first warp holds."""
        index = [0] * len(self.order)
        for dimension in self.order:
            number, position = divmod(number, self.threads_per_warp[dimension])
            index[dimension] = position * self.size_per_thread[dimension]
        return tuple(index)


def layout_of(module: Module, tensor: Shaped) -> str:
    """Return the layout of a tensor, its alias resolved; empty if it has none."""
    written = tensor.parameters[0] if tensor.parameters else ""
    return module.aliases.get(written, written)


def fields(layout: str) -> dict[str, tuple[int, ...]]:
    """Return the fields of a layout that are lists of numbers."""
    return {name: _integers(values) for name, values in _FIELD.findall(layout)}


def blocked(module: Module, tensor: Shaped) -> Blocked | None:
    """Return the layout of a tensor if it is blocked and fits the tensor."""
    layout = layout_of(module, tensor)
    values = fields(layout)
    if not layout.startswith("#ttg.blocked<") or any(name not in values for name in _BLOCKED):
        return None
    sizes, threads, warps, order = (values[name] for name in _BLOCKED)
    ranks = {len(tensor.shape), len(sizes), len(threads), len(warps), len(order)}
    positive = min(sizes + threads + warps, default=0) > 0
    if len(ranks) > 1 or not positive or sorted(order) != list(range(len(order))):
        return None
    return Blocked(sizes, threads, warps, order)


def _integers(values: str) -> tuple[int, ...]:
    return tuple(int(value) for value in values.split(",") if value.strip().isdecimal())


def layout_elements(module: Module, tensor: Shaped) -> int | None:
    """Return how many consecutive elements of a tensor one thread holds side by side.

    Returns:
        ``None`` for layouts other than ``#ttg.blocked``.
    """
    layout = layout_of(module, tensor)
    lists = fields(layout)
    sizes, order = lists.get("sizePerThread", ()), lists.get("order", ())
    if not layout.startswith("#ttg.blocked<") or not order:
        return None
    fastest = order[0]
    if not fastest < len(sizes) == len(tensor.shape):
        return None
    return min(sizes[fastest], tensor.shape[fastest])
