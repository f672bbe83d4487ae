"""Changes against loads that are not pipelined, and loops that do not run ahead."""

from collections.abc import Iterator

from irlens.analyze import ttgir_refusals as refusals
from irlens.analyze.address_slice import computed_from, loaded_parts
from irlens.analyze.counterfactuals.accesses import producers
from irlens.analyze.counterfactuals.change import (
    Change,
    Symptom,
    fewer_warps,
    known_multiples,
    larger_tile,
)
from irlens.analyze.counterfactuals.products import of_right_operand, summed_dimension
from irlens.analyze.loops import ONLY
from irlens.analyze.mlir_loops import carried_loads, inside, requested_stages, user_line
from irlens.isa.mlir import Module, Operation, edits
from irlens.isa.mlir.operations import FLATTENED, SPECIALIZED
from irlens.isa.mlir.types import Tensor

#: Stages to ask for where a loop has none.
_STAGES = 3
_MOST_THREADS = 1024
_ANSWERED_BY_STAGES = frozenset(
    {
        refusals.ONE_STAGE, refusals.NO_DOT, refusals.NO_OPERAND, refusals.INDIRECT,
    }
)  # fmt: skip


def of_load(symptom: Symptom) -> Iterator[Change]:
    """Yield the changes for a load that is not pipelined, by the reason that the finding gives."""
    reason, module = symptom.blame.reason, symptom.module
    load = symptom.operation("load", "load tile")
    loop = symptom.enclosing(load, "for")
    if reason == refusals.NO_CP_ASYNC:
        yield Change("compiled for sm_80, which has asynchronous copies", {"target": "sm_80"})
    elif symptom.blame.kind == "spread" and load is not None:
        yield from fewer_warps(symptom)
        yield from larger_tile(symptom, load, _MOST_THREADS, symptom.blame.suffices or 1)
    elif reason == refusals.NARROW:
        yield from _loaded_divisible(module, load)
        yield from _all_divisible(module)
        if load is not None:
            yield from larger_tile(symptom, load, _MOST_THREADS)
    elif reason == refusals.CONDITIONAL and load is not None:
        yield from _unconditional(symptom, load)
    elif reason == refusals.PRINTS:
        text = edits.without(module, "print")
        yield Change("without tl.device_print and tl.device_assert", ttir=text)
    elif reason == refusals.TRANSPOSED:
        yield from _along_k(symptom, load)
        for narrow in ("f8E4M3FN", "f8E5M2"):
            text = edits.with_type(module, narrow, "f16")
            yield Change(f"f16 in place of {narrow}, which wgmma takes in either order", ttir=text)
    elif loop is not None and reason == refusals.OUTER:
        text = edits.with_flag(module, loop, FLATTENED)
        yield Change("flatten=True on the loop", ttir=text)
    elif loop is not None and reason == refusals.SWITCHED_OFF:
        text = edits.without_flag(module, loop, SPECIALIZED)
        yield Change("without warp_specialize=True on the loop", ttir=text)
    elif loop is not None and reason in _ANSWERED_BY_STAGES:
        asked = requested_stages(module, symptom.config.num_stages)(loop.location, ONLY) or 1
        more = max(asked + (reason == refusals.INDIRECT), _STAGES)
        text = edits.with_stages(module, loop, more)
        yield Change(f"num_stages={more} on the loop itself (tl.range)", ttir=text)
    else:
        yield from _one_way(symptom, loop)


def _along_k(symptom: Symptom, load: Operation | None) -> Iterator[Change]:
    """Yield an operand that lies in memory in the order in which the tensor core takes it."""
    module = symptom.module
    address = producers(module, load)[0] if load is not None else None
    tile = edits.loaded_type(load) if load is not None else None
    if load is None or address is None or not isinstance(tile, Tensor) or len(tile.shape) != 2:
        return
    dimension = summed_dimension(module, load)
    hint = edits.contiguity(address, tile.shape[dimension], dimension)
    yield Change(
        "the addresses known to be contiguous along K",
        ttir=edits.with_hints(module, [(address, hint)]),
    )


def _one_way(symptom: Symptom, loop: Operation | None) -> Iterator[Change]:
    """Yield each condition of a loop that computes values, always taken.

    The pipeliner leaves a loop alone whose next addresses it cannot compute ahead of the loads
    ("operation scheduled before its operands").
    """
    module = symptom.module
    body = (
        [module.operations[each] for block in loop.blocks for each in block.operations]
        if loop
        else []
    )
    for branch in body:
        at = user_line(branch)
        if branch.does == "if" and branch.results and at is not None:
            yield Change(
                f"the condition at line {at.line} always taken",
                ttir=edits.with_one_way(module, branch),
                cause=f"the condition at {at} computes what the next iteration loads from",
            )


def _all_divisible(module: Module) -> Iterator[Change]:
    names = edits.not_divisible(module)
    if names:
        yield Change(known_multiples(names), ttir=edits.with_divisible(module, names))


def _loaded_divisible(module: Module, load: Operation | None) -> Iterator[Change]:
    """Yield the change that declares pointers and strides from memory multiples of 16."""
    loaded = loaded_parts(module, load) if load is not None else []
    lines = sorted({at.line for each in loaded if (at := user_line(each)) is not None})
    if load is None or not lines:
        return
    pointers = [each for each in computed_from(module, load, 1) if each.does == "to pointer"]
    text = edits.with_divisible_results(module, [*loaded, *pointers])
    at_lines = f"line{'s' if len(lines) > 1 else ''} {', '.join(map(str, lines))}"
    yield Change(f"what is loaded at {at_lines} known to be multiples of 16", ttir=text)


def _unconditional(symptom: Symptom, load: Operation) -> Iterator[Change]:
    """Yield the load before the condition that it stands in."""
    branch = symptom.enclosing(load, "if")
    if branch is None or load.parent != branch.index:
        return
    moved = inside(symptom.module, load, branch)
    if moved is not None:
        text = edits.moved_before(symptom.module, moved, branch)
        yield Change("the load before the condition, for all iterations", ttir=text)


def stages_of_its_own(symptom: Symptom) -> Iterator[Change]:
    """Yield stages for a loop that has none of its own."""
    yield from _with_stages(symptom, symptom.operation("for"))


def stages_around(symptom: Symptom) -> Iterator[Change]:
    """Yield stages for the loop around a load, or another order of products."""
    if symptom.blame.kind == "operand":
        yield from of_right_operand(symptom)
        return
    yield from _with_stages(symptom, symptom.enclosing(symptom.operation("load"), "for"))


def _with_stages(symptom: Symptom, loop: Operation | None) -> Iterator[Change]:
    if loop is not None:
        text = edits.with_stages(symptom.module, loop, _STAGES)
        yield Change(f"num_stages={_STAGES} on the loop itself (tl.range)", ttir=text)


def more_stages(symptom: Symptom) -> Iterator[Change]:
    """Yield one stage more for the loop of a wait that drains its pipeline."""
    module, loop = symptom.module, symptom.operation("for")
    yield from _one_way(symptom, loop)
    if loop is not None:
        asked = requested_stages(module, symptom.config.num_stages)(loop.location, ONLY) or 1
        text = edits.with_stages(module, loop, asked + 1)
        yield Change(f"num_stages={asked + 1} on the loop", ttir=text)


def of_shallow_loop(symptom: Symptom) -> Iterator[Change]:
    """Yield loads moved to the iteration that uses them, fewer stages, or another LLVM schedule.

    As many stages as the loop has show what it holds for nothing: registers, or shared memory.
    """
    loop, module = symptom.operation("for"), symptom.module
    if symptom.blame.kind == "carried" and loop is not None:
        for load, value in carried_loads(module, loop):
            moved = inside(module, load, loop)
            if moved is not None:
                text = edits.used_at_once(module, loop, moved, value)
                at = user_line(load)
                where = f" at line {at.line}" if at is not None else ""
                yield Change(f"the load{where} in the iteration that uses it", ttir=text, at=at)
    kind, stages = symptom.blame.kind, symptom.blame.suffices or 0
    if kind in ("kept", "buffered", "shallower") and loop is not None and stages > 1:
        known = kind != "shallower"
        outcome = "which then keeps nothing" if known else "as deep as it is now"
        text = edits.with_stages(module, loop, stages)
        yield Change(f"num_stages={stages} on the loop, {outcome}", ttir=text, is_cause=known)
    if kind != "exposed":
        return
    for size in (16, 32):
        name = "matrix_instr_nonkdim"
        yield Change(f"{name}={size}", {name: str(size)}, is_cause=False)
    warps = symptom.config.num_warps or 4
    for other in (warps * 2, warps // 2):
        if other:
            yield Change(f"num_warps={other}", {"num_warps": str(other)}, is_cause=False)
