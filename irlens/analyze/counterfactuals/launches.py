"""Changes against launches that leave the GPU idle or full, and against memory that CTAs share."""

from collections.abc import Iterator, Sequence
from itertools import islice

from irlens.analyze.counterfactuals.change import (
    Change,
    Symptom,
    fewer_warps,
    lines_of,
    more_warps,
    relieving,
    setting,
    stages_of,
)
from irlens.analyze.mlir_loops import inside
from irlens.analyze.persistent_grids import persistent_grid
from irlens.isa.mlir import Module, Operation, access_edits, edits
from irlens.isa.mlir.operations import NUM_STAGES

#: Constexprs below this are no extents of tiles.
_LEAST_EXTENT = 8
#: Stages to add, so that fewer CTAs are resident.
_MORE_STAGES = 3
#: Rows of tiles that share operands.
_GROUP = 8


def of_tail(symptom: Symptom) -> Iterator[Change]:
    """Yield tiles of other sizes, which make a grid of other waves; then waves of other sizes.

    A grid of rows stays whatever the tile is. As many CTAs run at once as their warps leave room.
    """
    yield from _other_tiles(symptom, 1, 2)
    yield from _other_tiles(symptom, 2, 1)
    yield from islice(more_warps(symptom), 1)
    yield from islice(fewer_warps(symptom), 1)


def smaller_tiles(symptom: Symptom) -> Iterator[Change]:
    """Yield smaller tiles: more CTAs, each with less memory."""
    yield from _other_tiles(symptom, 1, 2)
    yield from _other_tiles(symptom, 1, 4)


def of_tensor_memory(symptom: Symptom) -> Iterator[Change]:
    """Yield smaller tiles, then more stages.

    Each stage takes shared memory, so that fewer CTAs are resident, and tensor memory has room for
    all of them.
    """
    yield from _other_tiles(symptom, 1, 2)
    for more in range(1, _MORE_STAGES + 1):
        yield relieving(setting("num_stages", (symptom.config.num_stages or 1) + more))


def of_small_grid(symptom: Symptom) -> Iterator[Change]:
    """Yield a program for each SM, or tiles of half the size, and so small that each has one.

    The number of programs of a persistent kernel follows from no tile.
    """
    persistent = persistent_grid(symptom.module, symptom.config)
    if persistent is not None and symptom.sm_count is not None:
        for name in persistent.names:
            value = symptom.config.constexprs[name]
            yield Change(
                f"{name}={symptom.sm_count} in place of {value}", {name: f"{symptom.sm_count}"}
            )
    if persistent is not None:
        return
    yield from _other_tiles(symptom, 1, 2)
    if (divided := symptom.blame.suffices or 2) > 2:
        yield from _other_tiles(symptom, 1, divided)


def of_shared_memory(symptom: Symptom) -> Iterator[Change]:
    """Yield fewer stages for the loops, then smaller tiles."""
    module = symptom.module
    loops = [each for each in module.doing("for") if NUM_STAGES in each.attributes]
    own = max((each.integer(NUM_STAGES) or 1 for each in loops), default=None)
    if not any(module.doing("for")):
        own = 1  # no loop has stages
    for stages in range((own or symptom.config.num_stages or 1) - 1, 0, -1):
        if own is None:
            yield setting("num_stages", stages)
        else:
            deepest = next(each for each in loops if each.integer(NUM_STAGES) == own)
            yield stages_of(module, deepest, stages, f" with {own}")
    yield from smaller_tiles(symptom)


def of_reread(symptom: Symptom) -> Iterator[Change]:
    """Yield an order of programs in which neighbours share operands, then larger tiles."""
    for name, value in symptom.config.constexprs.items():
        if value == 1 and not isinstance(value, bool) and "GROUP" in name.upper():
            yield setting(name, _GROUP)
    yield from _other_tiles(symptom, 2, 1)


def of_refusal(symptom: Symptom) -> Iterator[Change]:
    """Yield less of what a CTA has too much of for the SM."""
    kind = symptom.blame.kind
    if kind == "shared_memory":
        yield from of_shared_memory(symptom)
    elif kind == "registers":
        yield from map(relieving, (*more_warps(symptom), *smaller_tiles(symptom)))
    elif kind == "threads":
        yield from fewer_warps(symptom)


def of_contended(symptom: Symptom) -> Iterator[Change]:
    """Yield an address of its own for each program, then more of the data for each."""
    atomic = symptom.operation("atomic")
    if atomic is not None:
        text = access_edits.with_own_addresses(symptom.module, atomic)
        yield Change("addresses of its own for each program", ttir=text)
    yield from _other_tiles(symptom, 2, 1)
    yield from _other_tiles(symptom, 4, 1)


def of_redundant(symptom: Symptom) -> Iterator[Change]:
    """Yield the load before its loop, or values in place of the later ones of several loads."""
    load = symptom.operation("load")
    if symptom.blame.kind == "several":
        yield from _kept(symptom, load)
        return
    loop = symptom.enclosing(load, "for")
    if load is not None and loop is not None and load.parent == loop.index:
        moved = inside(symptom.module, load, loop)
        if moved is not None and not _reads_arguments(symptom.module, moved, loop):
            text = edits.moved_before(symptom.module, moved, loop)
            yield Change("the load before the loop", ttir=text)


def _kept(symptom: Symptom, load: Operation | None) -> Iterator[Change]:
    from irlens.analyze.repeated_loads import repeated_loads  # needs numpy

    module, config = symptom.module, symptom.config
    if load is None or config.grid is None:
        return
    repeated, _ = repeated_loads(module, config.args, config.grid)
    groups = (each.operations for each in repeated if each.operations[0] == load.index)
    later = [module.operations[index] for index in next(groups, ())[1:]]
    if later and all(map(access_edits.can_be_kept, later)):
        yield Change(
            f"the loads at {lines_of(later)} left out, as if registers held their values",
            ttir=access_edits.with_kept(module, later),
        )


def _reads_arguments(module: Module, operations: Sequence[Operation], loop: Operation) -> bool:
    """Whether operations read what changes with the iteration."""
    names = {each.name for each in loop.parameters}
    return any(not names.isdisjoint(each.operands) for each in operations)


def _other_tiles(symptom: Symptom, times: int, divided: int) -> Iterator[Change]:
    """Yield each extent of the tiles multiplied and divided, one at a time."""
    for name, value in symptom.config.own_constexprs().items():
        if not isinstance(value, int) or value < _LEAST_EXTENT or "GROUP" in name.upper():
            continue
        if value.bit_count() == 1:
            other = value * times // divided
            if other:
                yield Change(f"{name}={other} in place of {value}", {name: str(other)})
