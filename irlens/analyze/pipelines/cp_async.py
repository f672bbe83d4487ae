"""Pipelines of ``cp.async`` groups (PTX ISA, Data Movement: ``cp.async``; sm_80 and newer).

Triton waits, computes, and commits the next copies at the end of the body; hand-written CUDA
often commits the next copies and then waits. Both are read by following groups and waits along
the control flow until the loop's iterations repeat.
"""

from collections.abc import Iterator, Mapping
from fractions import Fraction

from msgspec.structs import replace

from irlens.analyze.pipelines.describe import IRREDUCIBLE, RequestedStages, blank, of_groups
from irlens.analyze.pipelines.groups import (
    UNBOUNDED,
    Commit,
    Copy,
    Event,
    GroupFlow,
    Wait,
)
from irlens.analyze.pipelines.loops import (
    FunctionLoops,
    is_bulk_load,
    is_copy,
    loop_source,
    reads_global,
)
from irlens.analyze.pipelines.repeated import Place, SourceBytes, place_of, shares, total
from irlens.analyze.pipelines.steady import Reading, Unreadable, read_loop
from irlens.analyze.pipelines.uses import first_use
from irlens.model.report import Pipeline, PipelineKind, Verdict
from irlens.parse.ptx import Immediate, Instruction

#: ptxas unrolls such loops by four, say, and issues the loads of four iterations together.
NO_COPIES = (
    "no asynchronous copy in the loop, and no load that is seen to run ahead through registers;"
    " how many are in flight at once is up to ptxas"
)
OUTSIDE_COMMITS = "the loop's copies are committed outside it, so that an iteration is no group"
MBARRIER = "the loop's copies are tracked by an mbarrier and not by commit groups"
PILE_UP = "groups pile up: the loop retires fewer of them than it commits"


def find(
    loops: FunctionLoops,
    *,
    threads_per_cta: int | None,
    requested: RequestedStages,
    of_source: SourceBytes | None = None,
) -> list[Pipeline]:
    """Describe every innermost loop that reads global memory, and how far its copies run ahead.

    Args:
        loops: The kernel.
        threads_per_cta: To turn bytes per thread into bytes per CTA; ``None`` leaves these open.
        requested: Stages asked for, given the source location of a loop, innermost frame first.
        of_source: What the source's loops load.

    Returns:
        One record per loop, in the order of the text. Bytes are those of the copies' size
        operand, as if none were masked off; what threads share counts once where ``of_source``
        tells.
    """
    successors = loops.cfg.successors
    share = _shares(loops, threads_per_cta, of_source or {})
    events = {
        index: tuple(_weighed(loops.block(index), loops.threads_of(index, threads_per_cta), share))
        for index in range(len(successors))
    }
    flow = GroupFlow(successors, {block: found for block, found in events.items() if found})
    commits = [_commits(loops, index) for index in range(len(loops.forest.loops))]
    pipelines = []
    for index in _reported(loops, commits):
        if _bulk_only(loops, index):
            continue
        outcome = _outcome(loops, index, flow, commits[index])
        pipelines.append(
            _record(loops, index, requested, outcome, loops.threads(index, threads_per_cta))
        )
    return sorted(pipelines, key=lambda p: p.line)


def _shares(
    loops: FunctionLoops, threads_per_cta: int | None, of_source: SourceBytes
) -> dict[Place | None, Fraction | None]:
    """Return how much of what is copied at a place is not also copied by another thread.

    It holds in front of a loop, too, where its first iterations' copies stand. Where loops that
    have a place in common do not agree it is ``None``, not known.
    """
    found: dict[Place | None, Fraction | None] = {}
    for index in range(len(loops.forest.loops)):
        loop = place_of(loop_source(loops.locations(index)))
        threads = loops.threads(index, threads_per_cta)
        if loop is None or threads is None or loop not in of_source:
            continue
        copies = [(_place(i), _literal(i, 2)) for i in loops.own(index) if is_copy(i)]
        here = shares(copies, threads=threads, copies=1, of_source=of_source[loop])
        for place, share in here.items():
            found[place] = share if found.get(place, share) == share else None
    return found


def _weighed(
    instructions: tuple[Instruction, ...],
    threads: int | None,
    share: Mapping[Place | None, Fraction | None],
) -> Iterator[Event]:
    """Yield the copies, commits and waits; copies count the bytes that they bring to the CTA."""
    places = {instruction.start: _place(instruction) for instruction in instructions}
    for event in events_of(instructions):
        if isinstance(event, Copy) and event.bytes is not None and threads is not None:
            part = share.get(places[event.at], Fraction(1))
            amount = total([None if part is None else event.bytes * threads * part])
            yield replace(event, amount=UNBOUNDED if amount is None else amount)
        else:
            yield event


def _place(instruction: Instruction) -> Place | None:
    """Where an instruction stands in the kernel's own file."""
    return place_of(loop_source(instruction.locations))


def events_of(instructions: tuple[Instruction, ...]) -> Iterator[Event]:
    """Yield the copies, commits and waits among some instructions."""
    for instruction in instructions:
        if instruction.opcode != "cp" or instruction.modifiers[:1] != ("async",):
            continue
        line, at, certain = instruction.line, instruction.start, instruction.predicate is None
        origin = instruction.locations or None
        match instruction.modifiers[1:]:
            case ("ca" | "cg", *_):
                yield Copy(line, _literal(instruction, 2), at=at)
            case ("commit_group",):
                yield Commit(line, certain, at=at)
            case ("wait_group",):
                limit = _literal(instruction, 0)
                # Without a literal, which PTX does not allow, nothing is known to be retired.
                if limit is not None:
                    yield Wait(line, limit, certain, origin, at=at)
            case ("wait_all",):
                yield Commit(line, certain, implicit=True, at=at)
                yield Wait(line, 0, certain, origin, at=at)


def _literal(instruction: Instruction, position: int) -> int | None:
    if position >= len(instruction.operands):
        return None
    operand = instruction.operands[position]
    value = operand.value if isinstance(operand, Immediate) else None
    return value if isinstance(value, int) and 0 <= value < UNBOUNDED else None


def _commits(loops: FunctionLoops, index: int) -> bool:
    own = (e for block in loops.forest.loops[index].own for e in events_of(loops.block(block)))
    return any(isinstance(event, Commit) for event in own)


def _reported(loops: FunctionLoops, commits: list[bool]) -> Iterator[int]:
    """The innermost loops that commit copies, and the innermost that only read global memory.

    A loop inside a committing one belongs to the iterations of that one, and a loop around a
    reported one (over the tiles of a persistent kernel, say) is not described again.
    """
    below = _any_below(loops, commits)
    pipelines = [commit and not inner for commit, inner in zip(commits, below, strict=True)]
    inside: list[bool] = []
    for loop in loops.forest.loops:
        above = loop.parent
        inside.append(above is not None and (inside[above] or pipelines[above]))
    reads = [
        pipelines[index]
        or (not inside[index] and any(reads_global(loops, i) for i in loops.own(index)))
        for index in range(len(pipelines))
    ]
    read_below = _any_below(loops, reads)
    for index, pipeline in enumerate(pipelines):
        if pipeline or (reads[index] and not read_below[index]):
            yield index


def _any_below(loops: FunctionLoops, flags: list[bool]) -> list[bool]:
    """For each loop, whether the flag of a loop inside it is set."""
    found = [False] * len(flags)
    for index in reversed(range(len(flags))):
        children = loops.forest.loops[index].children
        found[index] = any(flags[child] or found[child] for child in children)
    return found


def _bulk_only(loops: FunctionLoops, index: int) -> bool:
    """Whether a loop reads global memory by bulk copies alone: these are another module's."""
    reads = [i for i in loops.own(index) if reads_global(loops, i)]
    return bool(reads) and all(map(is_bulk_load, reads))


def _outcome(
    loops: FunctionLoops, index: int, flow: GroupFlow, commits: bool
) -> Reading | Unreadable:
    """Read one loop, or say why it has no reading."""
    body = loops.forest.body(index)
    inside = [instruction for block in body for instruction in loops.block(block)]
    if not any(map(is_copy, inside)):
        return Unreadable(NO_COPIES, copies=False)
    if loops.forest.loops[index].irreducible:
        return Unreadable(IRREDUCIBLE)
    if not commits:
        tracked = any(i.modifiers[:2] == ("async", "mbarrier") for i in inside)
        return Unreadable(MBARRIER if tracked else OUTSIDE_COMMITS)
    steady = flow.settle(loops.forest.loops[index], body)
    if steady is None:
        return Unreadable(PILE_UP)
    header = loops.forest.loops[index].header
    return read_loop(steady, lambda wait: first_use(loops, header, body, wait))


def _record(
    loops: FunctionLoops,
    index: int,
    requested: RequestedStages,
    outcome: Reading | Unreadable,
    threads: int | None,
) -> Pipeline:
    stages = requested(loops.locations(index))
    verdict, reason = _verdict(outcome, stages)
    if isinstance(outcome, Unreadable):
        kind: PipelineKind | None = "cp.async" if outcome.copies else None
        return replace(blank(loops, index, kind, stages, reason), verdict=verdict)
    return replace(
        of_groups(blank(loops, index, "cp.async", stages, reason), outcome),
        copies_per_iteration=outcome.copies_per_iteration,
        bytes_per_copy=outcome.bytes_per_copy,
        bytes_per_iteration=None if threads is None else outcome.bytes_per_iteration,
        bytes_in_flight=None if threads is None else outcome.bytes_in_flight,
        verdict=verdict,
    )


def _verdict(outcome: Reading | Unreadable, requested: int | None) -> tuple[Verdict, str]:
    if isinstance(outcome, Unreadable):
        return ("unknown" if outcome.copies else "not pipelined"), outcome.reason
    notes = []
    if outcome.unrolled > 1:
        notes.append(f"unrolled {outcome.unrolled} times; figures are per iteration of the source")
    if outcome.read_ahead:
        notes.append("the wait at the end of an iteration releases what the next one uses")
    if outcome.groups_before_loop is None:
        notes.append("how many groups are committed before the loop depends on the path taken")
    achieved = outcome.prefetch + 1
    verdict: Verdict = "pipelined"
    if achieved == 1:
        verdict = "not pipelined"
        notes.insert(0, "each group is waited for in the iteration that commits it")
    elif requested is not None and achieved < requested:
        verdict = "shallower"
        notes.insert(0, f"{requested} stages were asked for and the groups run {achieved} deep")
    return verdict, "; ".join(notes)
