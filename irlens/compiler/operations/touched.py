"""Which elements of its arguments an operator of PyTorch touches, where these are not all.

Some are named by data (a gather, a loss of one class per row): then their number is an upper bound,
``Region.most``. Others follow from the shapes: windows with gaps, samples of a smaller image,
cropped edges, diagonals.
"""

from collections.abc import Callable, Sequence
from math import floor, prod
from typing import Any, TypeAlias

import msgspec
import torch

from irlens.compiler.operations.kinds import short_name
from irlens.model.operations import Region

#: Derivatives of which the operand only gives the shape.
_SHAPE_ALONE = frozenset(
    {
        "nll_loss_backward", "nll_loss2d_backward", "max_pool2d_with_indices_backward",
        "max_pool3d_with_indices_backward", "avg_pool2d_backward", "avg_pool3d_backward",
        "_adaptive_avg_pool2d_backward", "_adaptive_avg_pool3d_backward",
        "adaptive_max_pool2d_backward", "adaptive_max_pool3d_backward",
        "fractional_max_pool2d_backward", "fractional_max_pool3d_backward",
        "reflection_pad1d_backward", "reflection_pad2d_backward", "reflection_pad3d_backward",
        "replication_pad1d_backward", "replication_pad2d_backward", "replication_pad3d_backward",
    }
)  # fmt: skip
_POOLS = frozenset(
    {
        "max_pool2d_with_indices", "max_pool3d_with_indices", "avg_pool2d", "avg_pool3d", "im2col",
    }
)  # fmt: skip
_CONVOLUTIONS = frozenset(
    {"convolution", "_convolution", "cudnn_convolution", "miopen_convolution"}
)
#: Elements along each dimension that a sample is made of.
_SAMPLES = {"nearest": 1, "linear": 2, "cubic": 4}
#: Elements along each dimension that ``grid_sampler`` reads for a point, by the number of its mode.
_POINTS = {0: 2, 1: 1, 2: 4}
_Reads: TypeAlias = dict[int, Region | None]


def touched_reads(
    function: Any,
    arguments: dict[str, Any],
    results: Sequence[torch.Tensor],
    region: Callable[[torch.Tensor], Region],
) -> _Reads:
    """Return what an operator reads of arguments that it does not read whole, by their identity.

    Returns:
        A region, or ``None`` for an argument that is not read.
    """
    name = short_name(function)
    operand = arguments.get("self", arguments.get("input"))

    def some(tensor: torch.Tensor, most: int) -> _Reads:
        return {id(tensor): msgspec.structs.replace(region(tensor), most=most)}

    if name in ("_embedding_bag", "_embedding_bag_forward_only"):
        weight = arguments["weight"]
        return some(weight, arguments["indices"].numel() * weight.shape[1])
    if name.startswith("scatter") and isinstance(arguments.get("src"), torch.Tensor):
        return some(arguments["src"], arguments["index"].numel())
    if not isinstance(operand, torch.Tensor):
        return {}
    if name in _SHAPE_ALONE:
        return {id(operand): None, **_class_weights(arguments, some)}
    if name in ("nll_loss_forward", "nll_loss2d_forward"):
        read = some(operand, arguments["target"].numel())
        return {**read, **_class_weights(arguments, some)}
    if name.startswith("grid_sampler") and results:
        points = _POINTS.get(arguments.get("interpolation_mode", 0), 2)
        return some(operand, results[0].numel() * points ** (operand.dim() - 2))
    extents = _extents(name, arguments, operand, results)
    if extents is not None:
        spatial = operand.shape[-len(extents) :]
        others = operand.numel() // max(1, prod(spatial))
        return some(operand, others * prod(extents)) if extents != list(spatial) else {}
    part = _part(function, name, operand, arguments)
    return {id(operand): region(part)} if part is not None else {}


def is_named_by_data(name: str) -> bool:
    """Whether data decides which elements an operator reads that is no gather."""
    return name.startswith(("nll_loss", "_embedding_bag", "grid_sampler"))


def scattered_elements(function: Any, arguments: dict[str, Any]) -> int | None:
    """Return how many elements an operator changes at most; ``None`` if its sources say so."""
    name, operand, index = short_name(function), arguments.get("self"), arguments.get("index")
    if not isinstance(operand, torch.Tensor):
        return None
    if "indices" in arguments and "index_put" in name:
        return _indexed(operand, arguments["indices"])
    if not isinstance(index, torch.Tensor):
        return None
    if name.startswith("index_"):
        along = max(1, operand.shape[arguments["dim"]] if operand.dim() else 1)
        return int(index.numel() * (operand.numel() // along))
    return int(index.numel())


def _indexed(operand: torch.Tensor, indices: Sequence[Any]) -> int:
    """Return how many elements ``operand[indices]`` has at most; a mask may hold everywhere."""
    covered, shapes, whole = 0, [], []
    for each in indices:
        is_mask = each is not None and each.dtype in (torch.bool, torch.uint8)
        if each is None:
            whole.append(operand.shape[covered])
        else:
            shapes.append((each.numel(),) if is_mask else tuple(each.shape))
        covered += each.dim() if is_mask else 1
    named = prod(torch.broadcast_shapes(*shapes)) if shapes else 1
    whole += operand.shape[covered:]
    return int(named * prod(whole))


def _class_weights(
    arguments: dict[str, Any], some: Callable[[torch.Tensor, int], _Reads]
) -> _Reads:
    weight, target = arguments.get("weight"), arguments.get("target")
    if not isinstance(weight, torch.Tensor) or not isinstance(target, torch.Tensor):
        return {}
    return some(weight, target.numel())


def _cropped(operand: torch.Tensor, pad: Sequence[int]) -> torch.Tensor:
    """Return what padding with negative numbers leaves of a tensor."""
    for number in range(len(pad) // 2):
        before, after = (max(0, -each) for each in pad[2 * number : 2 * number + 2])
        axis = operand.dim() - 1 - number
        operand = operand.narrow(axis, before, max(0, operand.shape[axis] - before - after))
    return operand


def _part(
    function: Any, name: str, operand: torch.Tensor, arguments: dict[str, Any]
) -> torch.Tensor | None:
    """Return the view that an operator reads, such as ``slice_copy``; ``None`` for all."""
    if name == "trace":
        return operand.diagonal()
    if name == "constant_pad_nd":
        return _cropped(operand, arguments["pad"])
    packet = getattr(torch.ops.aten, name.removesuffix("_copy"), None)
    overload = getattr(packet, function._overloadname, None)
    if not name.endswith("_copy") or packet is None or overload is None:
        return None
    names = {each.name for each in overload._schema.arguments}
    view = overload(**{key: value for key, value in arguments.items() if key in names})
    return view if isinstance(view, torch.Tensor) else None


def _extents(
    name: str, arguments: dict[str, Any], operand: torch.Tensor, results: Sequence[torch.Tensor]
) -> list[int] | None:
    """Return how many indices are touched along each of the last dimensions."""
    if name in _POOLS:
        kernel = arguments["kernel_size"]
    elif name in _CONVOLUTIONS and not arguments.get("transposed"):
        kernel = list(arguments["weight"].shape[2:])
    elif name.startswith("upsample_") and "_aa" not in name and "backward" not in name:
        return _sampled(name, arguments, operand, results)
    else:
        return None
    rank = int(name[8]) if "pool" in name else len(kernel)  # "max_pool2d_with_indices"
    settings = {
        key: _each(arguments.get(key) or default, rank)
        for key, default in (("stride", kernel), ("padding", [0]), ("dilation", [1]))
    }
    sizes = operand.shape[operand.dim() - rank :]
    rows = zip(sizes, _each(kernel, rank), *settings.values(), strict=True)
    ceil = bool(arguments.get("ceil_mode"))
    return [_windows(*row, ceil=ceil) for row in rows]


def _each(numbers: Sequence[int], rank: int) -> list[int]:
    return list(numbers) * rank if len(numbers) == 1 else list(numbers)


def _windows(
    size: int, kernel: int, stride: int, padding: int, dilation: int, *, ceil: bool
) -> int:
    """Return how many indices windows touch."""
    room = size + 2 * padding - dilation * (kernel - 1) - 1
    count = max(0, (room + (stride - 1 if ceil else 0)) // stride + 1)
    places = (
        window * stride - padding + tap * dilation
        for window in range(count)
        for tap in range(kernel)
    )
    return len({place for place in places if 0 <= place < size})


def _sampled(
    name: str, arguments: dict[str, Any], operand: torch.Tensor, results: Sequence[torch.Tensor]
) -> list[int] | None:
    """Return how many indices an interpolation reads along each dimension."""
    kind = next((each for each in _SAMPLES if each in name), None)
    if kind is None or not results:
        return None
    rank = operand.dim() - 2
    corners = bool(arguments.get("align_corners"))
    pairs = zip(operand.shape[-rank:], results[0].shape[-rank:], strict=True)
    return [_samples(kind, size, out, corners=corners) for size, out in pairs]


def _samples(kind: str, size: int, out: int, *, corners: bool) -> int:
    read = set[int]()
    for index in range(out):
        if kind == "nearest":
            read.add(min(size - 1, index * size // out))
            continue
        if corners:
            place = index * (size - 1) / max(1, out - 1)
        else:
            place = (index + 0.5) * size / out - 0.5
        if kind == "linear":
            place = max(0.0, place)
        first = floor(place) - (_SAMPLES[kind] // 2 - 1)
        taps = range(first, first + _SAMPLES[kind])
        read.update(min(size - 1, max(0, each)) for each in taps)
    return len(read)
