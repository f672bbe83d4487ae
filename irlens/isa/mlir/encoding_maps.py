"""The linear map of each encoding of ttgir (Triton, ``LinearLayoutConversions.cpp``)."""

from collections.abc import Callable, Iterable, Mapping

import msgspec

from irlens.isa.mlir.encodings import Bases, Encoding, read_encoding
from irlens.isa.mlir.linear_maps import LinearMap, Tile, UnmappedError, dimension_order

Shape = tuple[int, ...]

_AMD_WARP = 64  # lanes of a wave that issues MFMA
_WMMA_LANES = 16  # that lie along one dimension of a WMMA tile; the other half of the wave follows
_WGMMA = 3  # the major version of nvidia_mma that stands for warpgroups


class Unmapped(msgspec.Struct, frozen=True):
    """A layout whose map is not known."""

    reason: str


def linear_map(
    layout: str, shape: Iterable[int], aliases: Mapping[str, str] | None = None
) -> LinearMap | Unmapped:
    """Return the map of a tensor with a distributed layout.

    Args:
        layout: The encoding as it stands in the type, in full or as an alias.
        shape: The tensor's; powers of two, as all of Triton's are.
    """
    encoding = read_encoding(layout, aliases or {})
    if encoding is None:
        return Unmapped(f"{layout or 'no layout'} is not a layout that irlens reads")
    try:
        return _map(encoding, tuple(shape))
    except UnmappedError as error:
        return Unmapped(f"#ttg.{encoding.kind}: {error}")


def _map(encoding: Encoding, shape: Shape) -> LinearMap:
    rule = _RULES.get(encoding.kind)
    if rule is None:
        raise UnmappedError("no rule for this layout")
    if any(extent < 1 or extent & (extent - 1) for extent in shape):
        raise UnmappedError("the tensor's extents are not powers of two")
    return rule(encoding, shape)


def _blocked(encoding: Encoding, shape: Shape) -> LinearMap:
    rank = len(shape)
    # As Triton 3.9 does; earlier releases kept registers that repeat an element.
    tile = Tile(dimension_order(encoding, rank), dropped="register")
    tile.spread_all("register", _list(encoding, "sizePerThread", rank))
    tile.spread_all("lane", _list(encoding, "threadsPerWarp", rank))
    tile.spread_all("warp", _list(encoding, "warpsPerCTA", rank))
    return tile.finished(shape, _cluster(encoding, rank))


def _linear(encoding: Encoding, shape: Shape) -> LinearMap:
    rank = len(shape)
    parts = {kind: encoding.bases.get(kind) for kind in ("register", "lane", "warp", "block")}
    given = {kind: bases for kind, bases in parts.items() if bases is not None}
    if len(given) < len(parts) or any(len(b) != rank for bases in given.values() for b in bases):
        raise UnmappedError("its bases are not those of the tensor's dimensions")
    first = [n for basis in given["register"] for n, step in enumerate(basis) if step]
    tile = Tile(dict.fromkeys([*first, *_row_major(rank)]), dropped="register")
    tile.append(given)
    tile.fit(shape)
    return tile.mapped(shape)


def _slice(encoding: Encoding, shape: Shape) -> LinearMap:
    dimension = _number(encoding, "dim")
    if not 0 <= dimension <= len(shape):
        raise UnmappedError("its dimension is not one of the tensor's")
    whole = _map(_parent(encoding), (*shape[:dimension], 1, *shape[dimension:]))
    register, lane, warp, block = (
        tuple((*basis[:dimension], *basis[dimension + 1 :]) for basis in bases)
        for bases in whole.bases
    )
    # Registers that held what differs along the removed dimension alone are the same now.
    return LinearMap(shape, tuple(filter(any, register)), lane, warp, block)


def _nvidia_mma(encoding: Encoding, shape: Shape) -> LinearMap:
    rank = _rank(shape)
    version = _nvidia_version(encoding)
    instruction = encoding.lists.get("instrShape", ())
    if version == _WGMMA:
        instruction = instruction[:2]
    if len(instruction) != rank:
        raise UnmappedError("its instruction has not the tensor's rank")
    tile = Tile(_row_major(rank))
    _nvidia_tile(tile, instruction, 2, _row_major(rank))
    _nvidia_warps(tile, encoding, rank)
    return tile.finished(shape, _cluster(encoding, rank))


def _nvidia_dot(encoding: Encoding, parent: Encoding, shape: Shape) -> LinearMap:
    rank, operand = _rank(shape), _operand(encoding)
    version = _nvidia_version(parent)
    width = _width(encoding)
    instruction = parent.lists.get("instrShape", ())
    if operand and version == _WGMMA:
        raise UnmappedError("wgmma takes this operand from shared memory")
    # Triton's m16n8k* products have a rank of the tensor's; m8n8k4 is that of fp64.
    rows = instruction[rank - 2] if len(instruction) >= rank else 16
    if version == _WGMMA:
        rows = instruction[0] if instruction else 16
    depth = width * (4 if rows == 8 else 8)
    extents = [1] * rank
    extents[rank - 2 :] = [depth, 8] if operand else [rows, depth]
    order = _operand_order(operand, rank)
    tile = Tile(order)
    _nvidia_tile(tile, tuple(extents), width, order)
    _nvidia_warps(tile, parent, rank, broadcast=order[0])
    return tile.finished(shape, _projected(_cluster(parent, rank), order[0]))


def _nvidia_tile(tile: Tile, extents: Shape, width: int, order: Shape) -> None:
    """Append the tile of one instruction (PTX ISA, "Matrix Fragments for mma").

    Four lanes side by side hold ``width`` elements each, in eight rows; the rest of the tile is in
    further registers.
    """
    inner, outer = order[:2]
    tile.spread("register", inner, width)
    tile.spread("lane", inner, 4)
    tile.spread("lane", outer, 8)
    tile.spread("register", outer, extents[outer] // 8)
    tile.spread("register", inner, extents[inner] // (width * 4))


def _nvidia_warps(tile: Tile, encoding: Encoding, rank: int, broadcast: int | None = None) -> None:
    order = list(_row_major(rank))
    if _nvidia_version(encoding) == _WGMMA:
        order[:2] = order[1], order[0]
    tile.spread_all("warp", _list(encoding, "warpsPerCTA", rank), order, broadcast)


def _amd_mfma(encoding: Encoding, shape: Shape) -> LinearMap:
    rank = _rank(shape)
    rows, columns = _mfma_instruction(encoding)
    warps, tiles = _list(encoding, "warpsPerCTA", rank), _tiles_per_warp(encoding, rank)
    m, n = rank - 2, rank - 1
    height = 1 if _wide_elements(encoding) else 4
    # A transposed product lies as its transpose would.
    along, across, lanes = (n, m, rows) if encoding.numbers.get("isTransposed") else (m, n, columns)
    tile = Tile(_row_major(rank))
    tile.spread("register", along, height)
    tile.spread("lane", across, lanes)
    tile.spread("lane", along, _AMD_WARP // lanes)
    tile.spread("register", along, rows * columns // (_AMD_WARP * height))
    tile.spread("register", n, tiles[n])
    tile.spread("warp", n, warps[n])
    tile.spread("register", n, shape[n] // (columns * warps[n] * tiles[n]))
    tile.spread("register", m, tiles[m])
    tile.spread("warp", m, warps[m])
    if rank > 2:
        tile.spread("warp", 0, warps[0])
    return tile.finished(shape, _cluster(encoding, rank))


def _mfma_dot(encoding: Encoding, parent: Encoding, shape: Shape) -> LinearMap:
    rank, operand = _rank(shape), _operand(encoding)
    rows, columns = _mfma_instruction(parent)
    width = _width(encoding)
    order = _operand_order(operand, rank)
    k, other = order[:2]
    lanes = columns if operand else rows
    depth = _AMD_WARP // lanes * width
    tile = Tile(order)
    tile.spread("register", k, width)
    tile.spread("lane", other, lanes)
    tile.spread("lane", k, _AMD_WARP // lanes)
    if (rows, columns) == ((4, 64) if operand else (64, 4)):
        tile.spread("register", k, 16)
        depth *= 16
    tile.spread("register", k, shape[k] // depth)
    tile.spread("register", other, _tiles_per_warp(parent, rank)[other])
    tile.spread_all("warp", _list(parent, "warpsPerCTA", rank), _row_major(rank))
    return tile.finished(shape, _cluster(parent, rank))


def _amd_wmma(encoding: Encoding, shape: Shape) -> LinearMap:
    rank = _rank(shape)
    version, instruction = _number(encoding, "version"), _wmma_instruction(encoding)
    n, m = (rank - 2, rank - 1) if encoding.numbers.get("isTranspose") else (rank - 1, rank - 2)
    # Version 1 deals rows to the halves of a wave in turn, later ones eight at a time.
    half = 1 if version == 1 else 8
    registers: Shape = (2, 4, 8) if version == 1 else (1, 2, 4)
    if version > 1 and instruction[:2] == (32, 16):
        registers = (*registers, 16)
    tile = Tile(_row_major(rank))
    tile.append(
        {
            "register": tuple(_basis(rank, m, step) for step in registers),
            "lane": (*(_basis(rank, n, 1 << bit) for bit in range(4)), _basis(rank, m, half)),
        }
    )
    tile.append(_wmma_warps(encoding, rank))
    return tile.finished(shape, _cluster(encoding, rank))


def _wmma_dot(encoding: Encoding, parent: Encoding, shape: Shape) -> LinearMap:
    rank, operand = _rank(shape), _operand(encoding)
    instruction, width = _wmma_instruction(parent), _width(encoding)
    order = _operand_order(operand, rank)
    k, other = order[:2]
    halves = 2
    tile = Tile(order)
    tile.spread("register", k, width)
    tile.spread("lane", other, _WMMA_LANES)
    if _number(parent, "version") == 1:
        tile.repeat("lane", halves)
    else:
        tile.spread("lane", k, halves)
    tile.spread("register", k, instruction[2] // (halves * width))
    tile.spread("register", other, instruction[1 if operand else 0] // _WMMA_LANES)
    warps = {kind: _projected(bases, k) for kind, bases in _wmma_warps(parent, rank).items()}
    tile.append(warps | {"register": tuple(filter(any, warps["register"]))})
    return tile.finished(shape, _projected(_cluster(parent, rank), k))


def _fma_dot(encoding: Encoding, parent: Encoding, shape: Shape) -> LinearMap:
    rank, operand = _rank(shape), _operand(encoding)
    k = rank - 2 if operand else rank - 1
    sizes = list(_list(parent, "sizePerThread", rank))
    sizes[k] = shape[k]
    tile = Tile(dimension_order(parent, rank))
    tile.spread_all("register", tuple(sizes))
    tile.spread_all("lane", _list(parent, "threadsPerWarp", rank), broadcast=k)
    tile.spread_all("warp", _list(parent, "warpsPerCTA", rank), broadcast=k)
    return tile.finished(shape, _projected(_cluster(parent, rank), k))


def _dot_operand(encoding: Encoding, shape: Shape) -> LinearMap:
    parent = _parent(encoding)
    rule = _OPERAND_RULES.get(parent.kind)
    if rule is None:
        raise UnmappedError(f"no rule for an operand of #ttg.{parent.kind}")
    return rule(encoding, parent, shape)


_RULES: dict[str, Callable[[Encoding, Shape], LinearMap]] = {
    "blocked": _blocked,
    "linear": _linear,
    "slice": _slice,
    "nvidia_mma": _nvidia_mma,
    "amd_mfma": _amd_mfma,
    "amd_wmma": _amd_wmma,
    "dot_op": _dot_operand,
}
_OPERAND_RULES: dict[str, Callable[[Encoding, Encoding, Shape], LinearMap]] = {
    "blocked": _fma_dot,
    "nvidia_mma": _nvidia_dot,
    "amd_mfma": _mfma_dot,
    "amd_wmma": _wmma_dot,
}


def _parent(encoding: Encoding) -> Encoding:
    if encoding.parent is None:
        raise UnmappedError("it has no parent")
    return encoding.parent


def _number(encoding: Encoding, name: str) -> int:
    if name not in encoding.numbers:
        raise UnmappedError(f"it has no {name}")
    return encoding.numbers[name]


def _operand(encoding: Encoding) -> int:
    operand = _number(encoding, "opIdx")
    if operand not in (0, 1):
        raise UnmappedError(f"a product has no operand {operand}")
    return operand


def _width(encoding: Encoding) -> int:
    """Return how many elements along K a lane holds side by side."""
    width = _number(encoding, "kWidth")
    if width < 1:
        raise UnmappedError("its kWidth is not positive")
    return width


def _list(encoding: Encoding, name: str, rank: int) -> Shape:
    values = encoding.lists.get(name)
    if values is None or len(values) != rank or min(values) < 1:
        raise UnmappedError(f"it has no {name} of {rank} dimensions")
    return values


def _rank(shape: Shape) -> int:
    if len(shape) not in (2, 3):
        raise UnmappedError("a product has two dimensions, or three with a batch")
    return len(shape)


def _row_major(rank: int) -> Shape:
    return tuple(reversed(range(rank)))


def _operand_order(operand: int, rank: int) -> Shape:
    """Return K first, then the operand's other dimension, then the batch."""
    order = list(_row_major(rank))
    if operand:
        order[:2] = order[1], order[0]
    return tuple(order)


def _basis(rank: int, dimension: int, step: int) -> Shape:
    return tuple(step if n == dimension else 0 for n in range(rank))


def _projected(bases: Bases, dimension: int) -> Bases:
    """Return bases that do not move along a dimension."""
    return tuple(
        tuple(0 if n == dimension else step for n, step in enumerate(basis)) for basis in bases
    )


def _nvidia_version(encoding: Encoding) -> int:
    version = _number(encoding, "versionMajor")
    if version not in (2, _WGMMA):
        raise UnmappedError(f"no rule for version {version}")
    return version


def _mfma_instruction(encoding: Encoding) -> tuple[int, int]:
    rows, columns = (*encoding.lists.get("instrShape", ()), 0, 0)[:2]
    if (rows, columns) not in ((32, 32), (16, 16), (64, 4), (4, 64)):
        raise UnmappedError("no rule for this instruction")
    return rows, columns


def _wide_elements(encoding: Encoding) -> bool:
    if "elementType" in encoding.fields:
        raise UnmappedError("no rule for the element type of Triton 3.5")
    return encoding.numbers.get("elementBitWidth", 32) == 64


def _tiles_per_warp(encoding: Encoding, rank: int) -> Shape:
    if "tilesPerWarp" not in encoding.fields:
        return (1,) * rank
    return _list(encoding, "tilesPerWarp", rank)


def _wmma_instruction(encoding: Encoding) -> Shape:
    instruction = encoding.lists.get("instrShape", (16, 16, 16))
    if len(instruction) != 3 or instruction[:2] not in ((16, 16), (32, 16)):
        raise UnmappedError("no rule for this instruction")
    return instruction


def _wmma_warps(encoding: Encoding, rank: int) -> dict[str, Bases]:
    """Return how warps, and repetitions in registers, share the tiles of a CTA."""
    if "warpsPerCTA" in encoding.fields:  # up to Triton 3.6
        if any(tiles > 1 for tiles in _tiles_per_warp(encoding, rank)):
            raise UnmappedError("no rule for several tiles per warp of Triton 3.6")
        tile = Tile(_row_major(rank))
        tile.spread_all("warp", _list(encoding, "warpsPerCTA", rank))
        return {"register": (), "warp": tuple(tile.bases["warp"])}
    factor = {name: encoding.bases.get(f"ctaLayout.{name}", ()) for name in ("register", "warp")}
    if any(len(basis) != rank for bases in factor.values() for basis in bases):
        raise UnmappedError("its bases are not those of the tensor's dimensions")
    return factor


def _cluster(encoding: Encoding, rank: int) -> Bases:
    """Return the bases of the CTA's number, in parts of the tensor.

    From Triton 3.6 on they are written; before, the number of CTAs and of parts along each
    dimension.
    """
    if "CGALayout" in encoding.fields:
        bases = encoding.bases.get("CGALayout")
        if bases is None or any(len(basis) != rank for basis in bases):
            raise UnmappedError("its CGALayout is not one of the tensor's dimensions")
        return bases
    if "CTAsPerCGA" not in encoding.fields:
        return ()
    ctas, parts = _list(encoding, "CTAsPerCGA", rank), _list(encoding, "CTASplitNum", rank)
    order = dimension_order(encoding, rank, "CTAOrder")
    tile = Tile(order)
    for dimension in order:
        tile.spread("block", dimension, parts[dimension])
        tile.repeat("block", max(ctas[dimension] // parts[dimension], 1))
    return tuple(tile.bases["block"])
