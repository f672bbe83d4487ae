"""Encodings of ttgir's tensors and buffers, with everything that is nested in them.

``#ttg.slice<{dim = 1, parent = #blocked}>`` names its parent by an alias, which the module resolves
(MLIR Language Reference, "Attribute Value Aliases").
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from math import prod

import msgspec

from irlens.isa.mlir.module import Module
from irlens.isa.mlir.types import Type
from irlens.model.several import all_known
from irlens.model.text import split_list

_ENCODING = re.compile(r"#ttn?g\.(\w{1,40})<(?:\[([^\]]*)\] ?)?(.*)>", re.DOTALL)
_INTEGER = re.compile(r"-?\d{1,9}")
_PADDING = re.compile(r"(\d{1,9}):\+(\d{1,9})")
_BRACKETS = "()[]{}<>"
#: Triton nests at most a slice of a slice of a dot operand of a matrix product.
_DEEPEST = 8
# Layouts that hold a tensor without gaps, as Triton 3.4 to 3.9 print them for both vendors.
_DENSE = frozenset({"swizzled_shared", "nvmma_shared", "amd_rotating_shared"})

Bases = tuple[tuple[int, ...], ...]


class Encoding(msgspec.Struct, frozen=True):
    """One encoding attribute.

    Attributes:
        kind: "blocked", "slice", "linear", "nvidia_mma", "tensor_memory_encoding", ...
        numbers: Fields that are an integer; ``true`` is 1 and ``false`` 0.
        lists: Fields that are a list of integers.
        bases: Fields that are a list of such lists; an inner dictionary's field as
            "ctaLayout.warp".
        padding: Intervals and elements that ``padded_shared`` adds after each.
        parent: The encoding that a slice or a dot operand is derived from.
    """

    kind: str
    numbers: dict[str, int]
    lists: dict[str, tuple[int, ...]]
    bases: dict[str, Bases]
    fields: frozenset[str]
    padding: tuple[tuple[int, int], ...] = ()
    parent: "Encoding | None" = None


class Blocked(msgspec.Struct, frozen=True):
    """A blocked layout, which deals a tensor out to threads; one number per dimension.

    Source: Triton, ``TritonGPUAttrDefs.td``, ``BlockedEncodingAttr``.

    Attributes:
        size_per_thread: Neighbouring elements of a thread.
        order: The dimensions from the fastest to the slowest.
    """

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


def encoding_of(module: Module, kind: Type) -> Encoding | None:
    """Return the encoding of a tensor or a buffer; ``None`` if it has none that is known."""
    return read_encoding(kind.layout, module.aliases)


def read_encoding(
    layout: str, aliases: Mapping[str, str], depth: int = _DEEPEST
) -> Encoding | None:
    """Read an encoding in full or by its alias; ``None`` for what is not one of Triton's.

    Args:
        layout: As it stands in a type.
        depth: Nested encodings that are read at most.
    """
    encoding, derived_from = _read(aliases.get(layout, layout).strip())
    if encoding is None or depth == 0 or not derived_from:
        return encoding if depth else None
    parent = read_encoding(derived_from, aliases, depth - 1)
    return None if parent is None else msgspec.structs.replace(encoding, parent=parent)


@lru_cache(maxsize=1 << 10)
def _read(text: str) -> tuple[Encoding | None, str]:
    """Read an encoding without its parent, and the text of that."""
    match = _ENCODING.fullmatch(text)
    if match is None:
        return None, ""
    # Fields may stand beside a dictionary without a name, or without any dictionary.
    items = split_list(match[3], _BRACKETS)
    bare = (each[1:-1] if each.startswith("{") else each for each in items)
    written = dict(field for each in bare for field in _fields(each))
    numbers, lists, bases = dict[str, int](), dict[str, tuple[int, ...]](), dict[str, Bases]()
    for name, value in written.items():
        if value in ("true", "false"):
            numbers[name] = int(value == "true")
        elif _INTEGER.fullmatch(value):
            numbers[name] = int(value)
        elif value.startswith("["):
            if (values := _integers(value)) is not None:
                lists[name] = values
            if (vectors := _vectors(value)) is not None:
                bases[name] = vectors
    padding = tuple((int(a), int(b)) for a, b in _PADDING.findall(match[2] or ""))
    encoding = Encoding(match[1], numbers, lists, bases, frozenset(written), padding)
    return encoding, written.get("parent", "")


def _fields(text: str, prefix: str = "") -> list[tuple[str, str]]:
    """Return the fields of a dictionary's text, those of inner dictionaries among them."""
    fields = []
    for item in split_list(text, _BRACKETS):
        name, _, value = (part.strip() for part in item.partition("="))
        if value.startswith("{") and not prefix:
            fields += [(name, value), *_fields(value[1:-1], f"{name}.")]
        elif name:
            fields.append((prefix + name, value))
    return fields


def _items(text: str) -> list[str]:
    inside = text.strip().removeprefix("[").removesuffix("]").strip()
    return split_list(inside, _BRACKETS) if inside else []


def _integers(text: str) -> tuple[int, ...] | None:
    items = _items(text)
    return tuple(map(int, items)) if all(map(_INTEGER.fullmatch, items)) else None


def _vectors(text: str) -> Bases | None:
    vectors = all_known(_integers(item) if item.startswith("[") else None for item in _items(text))
    return None if vectors is None else tuple(vectors)


def blocked(module: Module, tensor: Type) -> Blocked | None:
    """Return the layout of a tensor if it is blocked and fits the tensor."""
    encoding = encoding_of(module, tensor)
    if encoding is None or encoding.kind != "blocked":
        return None
    names = ("sizePerThread", "threadsPerWarp", "warpsPerCTA", "order")
    sizes, threads, warps, order = (encoding.lists.get(name, ()) for name in names)
    ranks = {len(tensor.shape), len(sizes), len(threads), len(warps), len(order)}
    positive = min(sizes + threads + warps, default=0) > 0
    if len(ranks) > 1 or not positive or sorted(order) != list(range(len(order))):
        return None
    return Blocked(sizes, threads, warps, order)


def allocated_bytes(module: Module, buffer: Type) -> int | None:
    """Return the bytes per CTA that a ``ttg.local_alloc`` of this type takes.

    Dense layouts take ``elements * bits / 8`` (``getExplicitValueSize`` in
    ``lib/Analysis/Allocation.cpp``); ``padded_shared<[512:+16]>`` adds 16 elements after every 512
    but not after the last (``PaddedSharedEncodingAttr::getPaddedSize``). Each CTA of a cluster
    holds its part of what the layout splits among them, and all of what it does not.

    Returns:
        ``None`` where that is not exact: fp4 padding, unknown layouts, padded clusters.
    """
    bits, encoding = buffer.element.bits, encoding_of(module, buffer)
    parts, size = cta_parts(module, encoding), prod(buffer.shape)
    if bits is None or encoding is None or encoding.numbers.get("fp4Padded") or parts is None:
        return None
    padded = encoding.kind == "padded_shared"
    elements, rest = divmod(size, parts)
    if rest or (padded and _ctas(module) != 1) or not (padded or encoding.kind in _DENSE):
        return None
    for interval, padding in encoding.padding:
        blocks, rest = divmod(size, max(interval, 1))
        elements += (blocks - (rest == 0)) * padding
    return elements * bits // 8


def _ctas(module: Module) -> int | None:
    """Return the CTAs of a cluster, which share a tensor."""
    return module.integer("ttg.num-ctas") if "ttg.num-ctas" in module.attributes else 1


def cta_parts(module: Module, encoding: Encoding | None) -> int | None:
    """Return the number of parts a layout splits a tensor into among the CTAs of a cluster.

    From Triton 3.6 on it has a basis for each bit of a CTA's number, of zeros if both halves hold
    the same; before, the number of parts along each dimension.

    Returns:
        ``None`` where the layout does not say.
    """
    ctas = _ctas(module)
    if ctas == 1:
        return 1
    if encoding is None:
        return None
    if bases := encoding.bases.get("CGALayout"):
        return 1 << sum(map(any, bases)) if 1 << len(bases) == ctas else None
    return prod(encoding.lists.get("CTASplitNum", (0,))) or None
