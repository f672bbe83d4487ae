"""Changes against loops without TMA and without warp specialization: what both need."""

from collections.abc import Iterator, Sequence

import msgspec

from irlens.analyze.counterfactuals.change import (
    Change,
    Symptom,
    always_taken,
    enough_warps,
    pointer_of,
    setting,
)
from irlens.analyze.counterfactuals.products import summed_dimension
from irlens.isa import mlir
from irlens.isa.mlir import Module, Operation, edits
from irlens.isa.mlir.global_memory import loaded_type
from irlens.isa.mlir.operations import FLATTENED, SPECIALIZED
from irlens.isa.mlir.types import Tensor

#: The first Triton whose descriptors' types name no tensor.
_BARE = (3, 7)
#: The only number of warps that Hopper's pass of warp specialization takes.
_WARPS = 4
#: Stages to ask for where there are too few.
_STAGES = 3
_THROUGH = "tensor descriptors in place of pointers"


def of_pointers(symptom: Symptom) -> Iterator[Change]:
    """Yield a GPU with TMA, or the tile through a tensor descriptor."""
    load = symptom.operation("load")
    if symptom.blame.kind == "target":
        yield Change("compiled for sm_90, which has TMA", {"target": "sm_90"})
    elif symptom.blame.kind == "pointers" and load is not None:
        text = _through_descriptors(symptom, [load])
        yield Change("a tensor descriptor in place of pointers", ttir=text)


def of_one_kind_of_warp(symptom: Symptom) -> Iterator[Change]:
    """Yield the changes that give a loop what warp specialization needs."""
    kind, loop = symptom.blame.kind, symptom.operation("for")
    if kind == "not asked" and loop is not None:
        yield from _specialized(symptom, loop)
    elif kind == "pointers" and loop is not None:
        yield Change(_THROUGH, ttir=_through_descriptors(symptom, _loads(symptom.module, loop)))
    elif kind == "fused" and loop is not None:
        text = edits.without_flag(symptom.module, loop, FLATTENED)
        yield Change("without flatten=True on the loop", ttir=text)
    elif kind == "condition" and loop is not None:
        for each in symptom.module.own(loop):
            if each.does == "if":
                yield always_taken(symptom.module, each)
    elif kind == "warps":
        yield from enough_warps(symptom)
    elif kind == "stages":
        yield setting("num_stages", _STAGES)
    elif kind == "target":
        for target in ("sm_90", "sm_100"):
            yield Change(f"compiled for {target}", {"target": target})


def _specialized(symptom: Symptom, loop: Operation) -> Iterator[Change]:
    """Yield the request alone, then with all else that the compiler's conditions ask for."""
    words = "warp_specialize=True on the loop"
    text = edits.with_flag(symptom.module, loop, SPECIALIZED)
    yield Change(words, ttir=text)
    flagged = msgspec.structs.replace(symptom, module=mlir.parse(text, stage="ttir"))
    again = flagged.operation("for")
    more, settings = [], {}
    if again is not None and (loads := _loads(flagged.module, again)):
        text = _through_descriptors(flagged, loads)
        more.append(_THROUGH)
    if symptom.target == "sm_90" and symptom.config.num_warps != _WARPS:
        settings["num_warps"] = str(_WARPS)
        more.append(f"num_warps={_WARPS}")
    if more:
        cause = f"{symptom.blame.reason}, and it needs {' and '.join(more)}"
        yield Change(", ".join([words, *more]), settings, text, cause=cause)


def _loads(module: Module, loop: Operation) -> list[Operation]:
    """Return the loads of matrices through pointers in a loop."""
    tiles = ((each, loaded_type(each)) for each in module.body(loop) if each.does == "load")
    return [each for each, tile in tiles if isinstance(tile, Tensor) and len(tile.shape) > 1]


def _through_descriptors(symptom: Symptom, loads: Sequence[Operation]) -> str:
    module, found = symptom.module, []
    for load in loads:
        if (pointer := pointer_of(module, load)) is not None:
            found.append((load, pointer, _places(symptom, load)))
    return edits.with_descriptors(
        module, found, wrapped=bool(symptom.triton) and symptom.triton < _BARE
    )


def _places(symptom: Symptom, load: Operation) -> list[str]:
    """Return the place of a load's tile along each dimension; empty for a constant.

    It moves with the iteration along the dimension over which a product sums, else the last.
    """
    tile, loop = loaded_type(load), symptom.enclosing(load, "for")
    places = [""] * (len(tile.shape) if isinstance(tile, Tensor) else 0)
    if loop is None or not loop.parameters or str(loop.operand_type) != "i32":
        return places
    dimension = summed_dimension(symptom.module, load) if len(places) > 1 else -1
    places[dimension] = loop.parameters[0].name
    return places
