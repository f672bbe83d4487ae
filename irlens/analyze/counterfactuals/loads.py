"""Changes against loads that are not pipelined, and loops that do not run ahead."""

import re
from collections.abc import Iterator, Sequence
from itertools import takewhile

from msgspec.structs import replace

from irlens.analyze import ttgir_refusals as refusals
from irlens.analyze.address_slice import computed_from, load_chain, loaded_parts
from irlens.analyze.counterfactuals.accesses import along_k, equal, producers, side_by_side
from irlens.analyze.counterfactuals.change import (
    Change,
    Symptom,
    always_taken,
    fewer_warps,
    known_multiples,
    larger_tile,
    lines_of,
    more_warps,
    place_of,
    relieving,
    setting,
    stages_of,
)
from irlens.analyze.counterfactuals.products import of_right_operand
from irlens.analyze.loops import ONLY
from irlens.analyze.mlir_loops import (
    carried,
    carried_farther,
    carried_loads,
    inside,
    requested_stages,
    user_line,
)
from irlens.isa.mlir import Module, Operation, access_edits, edits, parse
from irlens.isa.mlir.global_memory import loaded_type
from irlens.isa.mlir.operations import SPECIALIZED, Deed
from irlens.isa.mlir.types import Pointer, Scalar, Tensor
from irlens.model.source import SourceLocation

#: Stages to ask for where a loop has none.
_STAGES = 3
_MOST_THREADS = 1024
_UNKNOWN = "the compiler does not know that the addresses are contiguous"
_ITSELF = " itself (tl.range)"
#: Bytes that a thread loads at a time at most.
_WIDEST = 16
#: Operations that compute the bound and the step of a loop.
_NUMBERS: tuple[Deed, ...] = ("programs", "add", "subtract", "multiply", "divide", "minimum")
#: Types of a descriptor's extents and strides, and of its flags.
_SIZE, _FLAG = Scalar("i64"), Scalar("i1")
#: It changes more than the barriers (lanes, matrix instructions), and so proves nothing.
_WITHOUT_FENCES = relieving(
    Change("compiled for gfx942, whose barriers leave loads in flight", {"target": "gfx942"})
)
#: Refusals that a change to the loop itself can lift; more stages lift the last four.
_OF_THE_LOOP = frozenset(
    {
        refusals.PRINTS, refusals.BARRIER, refusals.FARTHER, refusals.OUTER, refusals.SWITCHED_OFF,
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
        yield from _less_spread(symptom, load)
    elif reason in (refusals.NARROW, refusals.SMALL):
        yield from _wider(symptom, load)
    elif reason == refusals.CHAINED and loop is not None:
        yield from _unchained(module, loop)
        yield stages_of(module, loop, _STAGES)
    elif reason == refusals.SEVERAL_LAYOUTS and load is not None:
        yield Change("a load for each product", ttir=access_edits.with_own_loads(module, load))
    elif reason == refusals.CONDITIONAL and load is not None:
        yield from _unconditional(symptom, load)
    elif reason == refusals.TRANSPOSED:
        yield from along_k(symptom, load)
        for narrow in ("f8E4M3FN", "f8E5M2"):
            text = edits.with_type(module, narrow, "f16")
            yield Change(f"f16 in place of {narrow}, which wgmma takes in either order", ttir=text)
    elif loop is not None and reason in _OF_THE_LOOP:
        yield from _of_loop(symptom, loop)
    else:
        if loop is not None:
            text = edits.without_flag(module, loop, SPECIALIZED)
            words = "without warp_specialize=True on the loop"
            yield Change(words, ttir=text, cause="the loop has warp_specialize=True")
        yield from _one_way(symptom, loop)
        yield from _of_mask(module, load)


def _less_spread(symptom: Symptom, load: Operation) -> Iterator[Change]:
    """Yield fewer threads, a larger tile, known contiguity, then fewer threads with that."""
    yield from fewer_warps(symptom)
    yield from larger_tile(symptom, load, _MOST_THREADS, symptom.blame.suffices or 1)
    few = (symptom.config.num_warps or 1) // (symptom.blame.suffices or 1)
    for told in _contiguous(symptom, symptom.operations("load")):
        yield replace(told, cause=_UNKNOWN)
        if few:  # neither alone removed it
            words, settings = f"num_warps={few}, and {told.words}", {"num_warps": str(few)}
            cause = f"{_UNKNOWN}, and {symptom.blame.reason}"
            yield replace(told, words=words, settings=settings, cause=cause)


def _wider(symptom: Symptom, load: Operation | None) -> Iterator[Change]:
    """Yield changes after which each thread loads at least four bytes at once."""
    module, loads = symptom.module, symptom.operations("load")
    if load is not None and access_edits.is_narrow_value(load):
        text = access_edits.with_four_bytes(module, load)
        yield Change("a value of 4 bytes in its place", ttir=text)
    yield from _loaded_divisible(module, loads)
    yield from _described(module)
    yield from _divisible(symptom)
    yield from _of_mask(module, load)
    yield from _contiguous(symptom, loads)
    if load is not None:
        yield from larger_tile(symptom, load, _MOST_THREADS)


def _contiguous(symptom: Symptom, loads: Sequence[Operation]) -> Iterator[Change]:
    """Yield addresses and masks of which the compiler knows that neighbours lie side by side."""
    module, beside = symptom.module, max(map(_most_beside, loads), default=0)
    pairs = [producers(module, load) for load in loads]
    addresses = [address for address, _ in pairs if address is not None]
    masks = equal(symptom, (mask for _, mask in pairs if mask is not None), beside)
    if addresses and beside > 1:
        words = f"the addresses known to be contiguous and aligned by {beside}"
        words += ", and the mask equal for as many" if masks else ""
        hints = [*side_by_side(symptom, addresses, beside), *masks]
        yield Change(words, ttir=edits.with_hints(module, hints))


def _most_beside(load: Operation) -> int:
    """Return the most elements that one access of a thread loads; 0 if their size is unknown."""
    tile = loaded_type(load)
    bits = tile.element.bits if isinstance(tile, Tensor) else None
    return max(_WIDEST * 8 // bits, 1) if bits else 0


def _of_loop(symptom: Symptom, loop: Operation) -> Iterator[Change]:
    """Yield the changes for a loop none of whose loads are pipelined, or not this one."""
    reason, module = symptom.blame.reason, symptom.module
    if reason == refusals.PRINTS:
        text = edits.without(module, "print")
        yield Change("without tl.device_print and tl.device_assert", ttir=text)
    elif reason == refusals.BARRIER:
        yield Change("without tl.debug_barrier", ttir=edits.without(module, "synchronize"))
    elif reason == refusals.FARTHER:
        yield from _carried_once(module, loop)
    elif reason == refusals.OUTER:
        inside = [each for each in module.body(loop) if each.does == "for"]
        text = edits.run_once(module, inside)
        yield Change(f"one iteration of the loop at {lines_of(inside)}, inlined", ttir=text)
    elif reason == refusals.SWITCHED_OFF:
        text = edits.without_flag(module, loop, SPECIALIZED)
        yield Change("without warp_specialize=True on the loop", ttir=text)
    else:
        asked = requested_stages(module, symptom.config.num_stages)(loop.location, ONLY) or 1
        more = asked + (reason == refusals.INDIRECT)
        yield stages_of(module, loop, more if more > 1 else _STAGES, _ITSELF)


def _carried_once(module: Module, loop: Operation) -> Iterator[Change]:
    """Yield the loop that carries each value for one iteration, and exchanges none."""
    far, values = carried_farther(module, loop), carried(module, loop)
    newer = dict(far)
    for _ in far:  # a value may be handed on several times
        newer = {name: values.get(value, value) for name, value in newer.items()}
    swapped = {name for name, value in newer.items() if value in values}
    newer |= {name: name for name in swapped}
    names = sorted(re.sub(r"_\d+$", "", each.removeprefix("%")) for each in newer)
    both = " and ".join(names)
    words, cause = f"the last iteration's value in place of {both}", f"carries {both}"
    if swapped:
        verb = "exchanges" if len(swapped) == len(newer) else "exchanges or carries"
        words, cause = f"{both} kept without an exchange", f"{verb} {both}, and carries each"
    yield Change(
        words,
        ttir=edits.with_yielded(module, loop, newer),
        cause=f"the loop {cause} for more than one iteration",
    )


def _one_way(symptom: Symptom, loop: Operation | None) -> Iterator[Change]:
    """Yield each condition of a loop that computes values, always taken.

    The pipeliner leaves a loop alone whose next addresses it cannot compute ahead of the loads
    ("operation scheduled before its operands").
    """
    module = symptom.module
    for branch in module.own(loop) if loop is not None else ():
        at = user_line(branch)
        if branch.does == "if" and branch.results and at is not None:
            yield replace(
                always_taken(module, branch),
                cause=f"the condition at {at} computes what the next iteration loads from",
            )


def _divisible(symptom: Symptom) -> Iterator[Change]:
    """Yield arguments declared multiples of 16: those that IRL301 blames, then all of them."""
    module, source = symptom.module, symptom.finding.source
    narrow = [each for each in symptom.others if each.code == "IRL301" and each.source == source]
    blamed = [name for each in narrow if each.blame is not None for name in each.blame.arguments]
    every = edits.not_divisible(module)
    for names in dict.fromkeys((tuple(each for each in every if each in blamed), tuple(every))):
        if names:
            yield Change(known_multiples(names), ttir=edits.with_divisible(module, names))


def _described(module: Module) -> Iterator[Change]:
    """Yield what holds for every descriptor of the host, where the target makes pointers of them.

    Its last stride is 1, and its base and the other strides are multiples of 16 bytes.
    """
    last = list(_last_strides(module))
    if not last:
        return
    text = edits.with_divisible(module, edits.not_divisible(module))
    for name in last:
        text = edits.with_constant(parse(text, stage=module.stage), name, 1)
    yield Change(
        "the last stride of each descriptor known to be 1, and the rest multiples of 16",
        ttir=text,
        cause="the target has no tensor descriptors: theirs become pointers, with strides of which"
        " the compiler knows nothing",
    )


def _last_strides(module: Module) -> Iterator[str]:
    """Yield the arguments that are the last strides of descriptors, without "%".

    A descriptor is its pointer, the extents and the strides as i64, and flags: "%x", "%x.shape.0",
    "%x.stride.0", "%x.padding"; up to Triton 3.6 "%x", "%x_0", "%x_1", "%x_2".
    """
    parameters = module.kernel.parameters if module.kernel is not None else ()
    for at, pointer in enumerate(parameters):
        rest = parameters[at + 1 :]
        sizes = list(takewhile(lambda each: each.type == _SIZE, rest))
        flags = rest[len(sizes) :][:1]
        its_own = all(each.name.startswith(pointer.name) for each in (*sizes, *flags))
        even = sizes and flags and len(sizes) % 2 == 0
        if isinstance(pointer.type, Pointer) and even and its_own and flags[0].type == _FLAG:
            yield sizes[-1].name.removeprefix("%")


def _of_mask(module: Module, load: Operation | None) -> Iterator[Change]:
    """Yield a mask that neighbours share, as many as an access can have, and the load without."""
    mask = producers(module, load)[1] if load is not None else None
    beside = _most_beside(load) if load is not None else 0
    if load is None or mask is None or not beside:
        return
    yield Change(
        f"the mask known to be equal for {beside} neighbours",
        ttir=edits.with_hints(module, [(mask, edits.constancy(mask, beside))]),
        cause="the compiler does not know that neighbours have the same mask",
    )
    later = [
        at.line
        for each in computed_from(module, mask)
        if each.does == "load" and (at := user_line(each)) is not None
    ]
    yield Change(
        "the load without its mask",
        ttir=edits.without_mask(module, load),
        cause="its mask" + (f", computed from what line {later[0]} loads" if later else ""),
    )


def _loaded_divisible(module: Module, loads: Sequence[Operation]) -> Iterator[Change]:
    """Yield the change that declares pointers and strides from memory multiples of 16."""
    loaded = {part.index: part for each in loads for part in loaded_parts(module, each)}
    at_lines = lines_of(loaded.values())
    if at_lines:
        pointers = {
            part.index: part
            for each in loads
            for part in computed_from(module, each, 1)
            if part.does == "to pointer"
        }
        text = edits.with_divisible_results(module, [*loaded.values(), *pointers.values()])
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
    """Yield stages for a loop that has none of its own; its loads show which pass decides."""
    loop = symptom.operation("for", "while")
    if loop is None:
        return
    at = _first_load(symptom.module, loop)
    if loop.does == "while":
        module, counting = _with_numbers_before(symptom.module, loop)
        text = edits.as_for(module, counting, _STAGES)
        if text != module.text:
            yield Change(f"a for loop in its place, of num_stages={_STAGES}", ttir=text, at=at)
    if symptom.blame.reason == refusals.DOT_IN_BRANCH:
        branches = (each for each in symptom.module.own(loop) if each.does == "if")
        for branch in branches:
            yield replace(always_taken(symptom.module, branch), at=at)
            yield from (replace(c, at=at) for c in _loads_before(symptom.module, loop, branch))
    for each in _with_stages(symptom, loop) if loop.does == "for" else ():
        yield replace(each, at=at)


def _loads_before(module: Module, loop: Operation, branch: Operation) -> Iterator[Change]:
    """Yield the loop with stages of its own, and a branch's loads moved before the branch."""
    loads = [each for each in module.body(branch) if each.does in ("load", "load tile")]
    parts = [inside(module, each, branch) for each in loads]
    moved = {one.index: one for part in parts for one in part or ()}
    if not loads or None in parts:
        return
    text = edits.moved_before(module, [moved[index] for index in sorted(moved)], branch)
    other = parse(text, stage=module.stage)
    change = stages_of(other, other.operations[loop.index], _STAGES, _ITSELF)
    yield relieving(replace(change, words=f"the loads before the condition, and {change.words}"))


def _with_numbers_before(module: Module, loop: Operation) -> tuple[Module, Operation]:
    """Return the module with the numbers that a loop computes anew, all alike, before it."""
    values = {each.name for block in loop.blocks for each in block.arguments}
    moved = []
    for each in module.own(loop):
        if (
            each.does in _NUMBERS
            and not each.result_type.shape
            and values.isdisjoint(each.operands)
        ):
            moved.append(each)
        else:
            values.update(each.values)
    other = parse(edits.moved_before(module, moved, loop), stage=module.stage)
    return other, other.operations[loop.index + len(moved)]


def without_users(symptom: Symptom) -> Iterator[Change]:
    """Yield the loop without the stores and atomics at the finding's line.

    That they take the tensor in another layout is the cause only if the loop has other results: it
    is left out where it has none.
    """
    users = symptom.operations("store", "atomic")
    loop = symptom.enclosing(users[0], "for") if users else None
    if loop is not None:
        takes = any(symptom.blame.reason.startswith(each.name) for each in users)
        lines = symptom.module.text.split("\n")
        for each in users:
            lines[each.span.line - 1] = ""
        words = f"without {' and '.join(sorted({each.name for each in users}))}{place_of(users[0])}"
        yield Change(words, ttir="\n".join(lines), is_cause=takes and bool(loop.results))


def _first_load(module: Module, loop: Operation) -> SourceLocation | None:
    """Return the line of Python of the first load in a loop; ``None`` if unknown."""
    loads = (each for each in module.body(loop) if each.does in ("load", "load tile"))
    return next(map(user_line, loads), None)


def stages_around(symptom: Symptom) -> Iterator[Change]:
    """Yield stages for the loop around a load, or another order of products."""
    if symptom.blame.kind == "operand":
        yield from of_right_operand(symptom)
        return
    if symptom.blame.kind == "conversion":
        yield from without_users(symptom)
        yield from map(relieving, more_warps(symptom))
        return
    yield from _with_stages(symptom, symptom.enclosing(symptom.operation("load"), "for"))


def _with_stages(symptom: Symptom, loop: Operation | None) -> Iterator[Change]:
    if loop is not None:
        yield stages_of(symptom.module, loop, _STAGES, _ITSELF)


def more_stages(symptom: Symptom) -> Iterator[Change]:
    """Yield one stage more for the loop of a wait that drains its pipeline."""
    module, loop = symptom.module, symptom.operation("for")
    yield from _of_its_loads(symptom, loop)
    if symptom.blame.kind == "fenced":
        yield _WITHOUT_FENCES
        return
    yield from _one_way(symptom, loop)
    if loop is not None:
        asked = requested_stages(module, symptom.config.num_stages)(loop.location, ONLY) or 1
        more = max(asked + 1, symptom.blame.suffices or 0)
        change = stages_of(module, loop, more)
        # LLVM places the waits where nothing would suffice.
        yield change if symptom.blame.suffices is not None else relieving(change)


def _of_its_loads(symptom: Symptom, loop: Operation | None) -> Iterator[Change]:
    """Yield what lets the loop's loads be pipelined, where that is another finding."""
    for other in symptom.others:
        its = replace(symptom, finding=other)
        if other.code != "IRL203" or loop is None:
            continue
        if its.enclosing(its.operation("load", "load tile"), "for") == loop:
            cause = f"the load at {other.source} is not pipelined: {its.blame.reason}"
            for each in of_load(its):
                yield replace(each, cause=each.cause or cause, at=other.source, against=other)


def _against_waits(symptom: Symptom, loop: Operation | None) -> Iterator[Change]:
    """Yield changes that pipeline the loads each iteration waits for, or remove those loads."""
    if symptom.blame.kind == "refused":
        yield from _of_its_loads(symptom, loop)
    if symptom.blame.kind != "behind":
        return
    module = symptom.module
    loads = {
        each.index: each
        for other in symptom.others
        for each in replace(symptom, finding=other).operations("load")
        if other.code == "IRL203" and loop is not None and each.parent == loop.index
    }
    if loads and all(map(access_edits.can_be_kept, loads.values())):
        yield Change(
            f"other values in place of what is loaded at {lines_of(loads.values())}",
            ttir=access_edits.with_kept(module, list(loads.values())),
        )


def of_unused_stages(symptom: Symptom) -> Iterator[Change]:
    """Yield the most stages that a loop of so few iterations fills."""
    loop, stages = symptom.operation("for"), symptom.blame.suffices
    if loop is not None and stages is not None:
        yield stages_of(symptom.module, loop, stages)


def of_shallow_loop(symptom: Symptom) -> Iterator[Change]:
    """Yield loads moved to the iteration that uses them, fewer stages, or another LLVM schedule.

    As many stages as the loop has show what it holds for nothing, registers or shared memory, and
    prove no cause: nothing is asked for then that the loop does not have.
    """
    loop, module = symptom.operation("for"), symptom.module
    if symptom.blame.kind == "carried" and loop is not None:
        for load, value in carried_loads(module, loop):
            moved = inside(module, load, loop)
            if moved is not None:
                text = edits.used_at_once(module, loop, moved, value)
                words = f"the load{place_of(load)} in the iteration that uses it"
                yield Change(words, ttir=text, at=user_line(load))
    if symptom.blame.kind == "chained" and loop is not None:
        yield from (replace(each, cause="") for each in _unchained(module, loop))
    kind, stages = symptom.blame.kind, symptom.blame.suffices or 0
    if kind == "own" and loop is not None:
        yield replace(stages_of(module, loop, stages, _ITSELF), at=_first_load(module, loop))
    yield from _against_waits(symptom, loop)
    if kind == "divided" and loop is not None:
        yield stages_of(module, loop, stages)
    if kind in ("kept", "buffered", "shallower", "behind") and loop is not None and stages > 1:
        yield relieving(stages_of(module, loop, stages, ", as deep as it is now"))
    if kind in ("exposed", "refused", "fenced"):
        yield from _scheduled(symptom, loop)


def _scheduled(symptom: Symptom, loop: Operation | None) -> Iterator[Change]:
    """Yield what leads LLVM to place the loads of a loop, and the waits for them, elsewhere."""
    if symptom.blame.kind == "fenced":
        yield _WITHOUT_FENCES
    if symptom.is_amd and loop is not None:
        yield from _unchained(symptom.module, loop)
    for size in (16, 32):
        yield relieving(setting("matrix_instr_nonkdim", size))
    warps = symptom.config.num_warps or 4
    for other in (warps * 2, warps // 2):
        if other:
            yield relieving(setting("num_warps", other))


def _unchained(module: Module, loop: Operation) -> Iterator[Change]:
    """Yield the loop without the loads that others take their addresses from.

    AMD's loads return in order, so that the wait for a new address is one for all loads before it.
    """
    chain = load_chain(module, loop)
    if chain is None or not all(map(access_edits.can_be_kept, chain.sources)):
        return
    at_lines = lines_of(chain.sources)
    text = access_edits.with_kept(module, chain.sources)
    at = user_line(chain.last)
    yield Change(
        f"other values in place of what is loaded at {at_lines}",
        ttir=text,
        cause=f"the load at {at} needs in the same iteration what is loaded at {at_lines}",
        at=at,
    )
