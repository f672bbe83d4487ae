"""Changes against launches that leave the GPU idle or full, and against memory that CTAs share."""

from collections.abc import Iterator, Sequence

from irlens.analyze.counterfactuals.change import Change, Symptom
from irlens.analyze.mlir_loops import inside
from irlens.isa.mlir import Module, Operation, edits
from irlens.isa.mlir.operations import NUM_STAGES

#: Constexprs below this are no extents of tiles.
_LEAST_EXTENT = 8
#: Rows of tiles that share operands.
_GROUP = 8


def of_tail(symptom: Symptom) -> Iterator[Change]:
    """Yield tiles of other sizes, which make a grid of other waves."""
    yield from _other_tiles(symptom, 1, 2)
    yield from _other_tiles(symptom, 2, 1)


def smaller_tiles(symptom: Symptom) -> Iterator[Change]:
    """Yield smaller tiles: more CTAs, each with less memory."""
    yield from _other_tiles(symptom, 1, 2)
    yield from _other_tiles(symptom, 1, 4)


def of_shared_memory(symptom: Symptom) -> Iterator[Change]:
    """Yield fewer stages for the loops, then smaller tiles."""
    module = symptom.module
    loops = [each for each in module.doing("for") if NUM_STAGES in each.attributes]
    own = max((each.integer(NUM_STAGES) or 1 for each in loops), default=None)
    for stages in range((own or symptom.config.num_stages or 1) - 1, 0, -1):
        words = f"num_stages={stages}"
        if own is None:
            yield Change(words, {"num_stages": str(stages)})
        else:
            deepest = next(each for each in loops if each.integer(NUM_STAGES) == own)
            text = edits.with_stages(module, deepest, stages)
            yield Change(f"{words} on the loop with {own}", ttir=text)
    yield from smaller_tiles(symptom)


def of_reread(symptom: Symptom) -> Iterator[Change]:
    """Yield an order of programs in which neighbours share operands, then larger tiles."""
    for name, value in symptom.config.constexprs.items():
        if value == 1 and not isinstance(value, bool) and "GROUP" in name.upper():
            yield Change(f"{name}={_GROUP}", {name: str(_GROUP)})
    yield from _other_tiles(symptom, 2, 1)


def of_redundant(symptom: Symptom) -> Iterator[Change]:
    """Yield the load before its loop."""
    load = symptom.operation("load")
    loop = symptom.enclosing(load, "for")
    if load is not None and loop is not None and load.parent == loop.index:
        moved = inside(symptom.module, load, loop)
        if moved is not None and not _reads_arguments(symptom.module, moved, loop):
            text = edits.moved_before(symptom.module, moved, loop)
            yield Change("the load before the loop", ttir=text)


def _reads_arguments(module: Module, operations: Sequence[Operation], loop: Operation) -> bool:
    """Whether operations read what changes with the iteration."""
    names = {each.name for each in loop.parameters}
    return any(not names.isdisjoint(each.operands) for each in operations)


def _other_tiles(symptom: Symptom, times: int, divided: int) -> Iterator[Change]:
    """Yield each extent of the tiles multiplied and divided, one at a time."""
    for name, value in symptom.config.constexprs.items():
        if not isinstance(value, int) or value < _LEAST_EXTENT or "GROUP" in name.upper():
            continue
        if value.bit_count() == 1:
            other = value * times // divided
            yield Change(f"{name}={other} in place of {value}", {name: str(other)})
