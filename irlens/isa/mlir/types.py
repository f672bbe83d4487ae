"""Types and layouts of ttgir: tensors, memory descriptors and what their encodings say."""

import re
from math import prod

import msgspec

from irlens.isa.mlir import Module
from irlens.model.lists import split_list

# Names of MLIR's builtin types; the width is in them.
_SCALAR = re.compile(r"(?:i|f|bf|tf)(\d+)(?:E\w+)?|index")
_SHAPED = re.compile(r"(?:!?[\w.]*)<((?:[0-9]{1,9}x)*)(.*)>", re.DOTALL)
_PADDED = re.compile(r"#ttg\.padded_shared<\[([^\]]*)\]")
_PADDING = re.compile(r"(\d+):\+(\d+)")
_SIZE_PER_THREAD = re.compile(r"sizePerThread = \[(\d{1,9}(?:, ?\d{1,9}){0,7})\]")
_BASES = re.compile(r"\bCGALayout = \[((?:\[[0-9, ]{1,99}\](?:, )?){1,8})\]")
_BASIS = re.compile(r"\[([0-9, ]{1,99})\]")
_SPLIT = re.compile(r"\bCTASplitNum = \[(\d{1,4}(?:, ?\d{1,4}){0,7})\]")
_ORDER = re.compile(r"\border = \[([0-9])\b")
# Layouts that hold a tensor without gaps; what 3.4 to 3.9 and both vendors print.
_DENSE = ("#ttg.swizzled_shared<", "#ttg.nvmma_shared<", "#ttg.amd_rotating_shared<")


class Shaped(msgspec.Struct, frozen=True):
    """A ``tensor`` or ``!ttg.memdesc`` type.

    Attributes:
        shape: Empty for a scalar descriptor.
        element: "f16", "!tt.ptr<f16>".
        parameters: What follows the element, as written: layout, memory space, ...
    """

    shape: tuple[int, ...]
    element: str
    parameters: tuple[str, ...]

    @property
    def size(self) -> int:
        """Number of elements."""
        size = 1
        for extent in self.shape:
            size *= extent
        return size


def read_shaped(text: str) -> Shaped | None:
    """Read a tensor or descriptor type, or its abbreviation ``<1024xf32, ...>``."""
    found = _SHAPED.fullmatch(text)
    if found is None:
        return None
    element, *parameters = split_list(found[2], "()[]{}<>")
    shape = tuple(int(extent) for extent in found[1].split("x")[:-1])
    return Shaped(shape, element, tuple(parameters))


def element_bits(element: str) -> int | None:
    """Return the width of an element in bits; ``None`` for a type this does not know."""
    if element.startswith("!tt.ptr<"):
        return 64
    found = _SCALAR.fullmatch(element)
    return int(found[1]) if found and found[1] else None


def allocated_bytes(module: Module, descriptor: Shaped) -> int | None:
    """Return the shared memory that a ``ttg.local_alloc`` of this type takes, per CTA.

    Dense layouts take ``elements * bits / 8`` (``getExplicitValueSize`` in
    ``lib/Analysis/Allocation.cpp``); ``padded_shared<[512:+16]>`` adds 16 elements after every 512
    but not after the last (``PaddedSharedEncodingAttr::getPaddedSize``). Each CTA of a cluster
    holds its part of what the layout splits among them, and all of what it does not.

    Returns:
        ``None`` where that is not the whole truth: fp4 padding, unknown layouts, padded clusters.
    """
    bits = element_bits(descriptor.element)
    layout = descriptor.parameters[0] if descriptor.parameters else ""
    layout = module.aliases.get(layout, layout)
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
    """Tell whether several CTAs share a tensor, so that one holds only a part of it."""
    return _ctas(module) != "1"


def _ctas(module: Module) -> str:
    return module.attributes.get("ttg.num-ctas", "1").partition(" ")[0]


def cta_parts(module: Module, layout: str) -> int | None:
    """Return into how many parts a layout splits a tensor among the CTAs of a cluster.

    From Triton 3.6 on it has a basis for each bit of a CTA's number, of zeros if both halves hold
    the same; before, the number of parts along each dimension.

    Args:
        module: Says how many CTAs a cluster has.
        layout: In full, not by its alias.

    Returns:
        ``None`` where the layout does not say.
    """
    ctas = _ctas(module)
    if ctas == "1":
        return 1
    if found := _BASES.search(layout):
        bases = _BASIS.findall(found[1])
        split = [basis for basis in bases if set(basis) - set("0, ")]
        return 1 << len(split) if str(1 << len(bases)) == ctas else None
    if found := _SPLIT.search(layout):
        return prod(map(int, found[1].split(","))) or None
    return None


def layout_elements(module: Module, tensor: Shaped) -> int | None:
    """Return how many consecutive elements of a tensor one thread holds side by side.

    Returns:
        ``None`` for layouts other than ``#ttg.blocked``.
    """
    layout = tensor.parameters[0] if tensor.parameters else ""
    layout = module.aliases.get(layout, layout)
    if not layout.startswith("#ttg.blocked<"):
        return None
    size, order = _SIZE_PER_THREAD.search(layout), _ORDER.search(layout)
    if size is None or order is None:
        return None
    fastest = int(order[1])
    sizes = size[1].split(",")
    if not fastest < len(sizes) == len(tensor.shape):
        return None
    return min(int(sizes[fastest]), tensor.shape[fastest])
