"""Asynchronous operations of PTX: what an instruction begins, commits or awaits.

Two protocols tell a thread that asynchronous work is done (PTX ISA, "Asynchronous operations"):

- Groups: a commit collects the operations before it, and a wait blocks until at most N groups are
  outstanding. ``STREAMS`` lists what forms groups, each kind on its own.
- Barriers: an operation, or a commit, makes the phase of an mbarrier end, and a wait polls the
  barrier. ``barrier_role`` says what an instruction does there.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Literal, TypeAlias

import msgspec

from irlens.isa.events import UNBOUNDED, Commit, Copy, Event, Wait
from irlens.isa.ptx import Address, Immediate, Instruction, Operand, Register
from irlens.isa.ptx.registers import access
from irlens.model.listing import PipelineRole
from irlens.model.report import PipelineKind

#: The group events among some instructions, in order.
EventsOf: TypeAlias = Callable[[tuple[Instruction, ...]], Iterable[Event]]

_COMMITTED_BY_TCGEN05 = (("mma",), ("cp",), ("shift",))


def is_cp_async(instruction: Instruction) -> bool:
    """Whether it is a non-bulk asynchronous copy (``cp.async.ca`` or ``cp.async.cg``)."""
    return instruction.opcode == "cp" and instruction.modifiers[:2] in (
        ("async", "ca"),
        ("async", "cg"),
    )


def signals_copies(instruction: Instruction) -> bool:
    """Whether it has an mbarrier track the copies before it (``cp.async.mbarrier.arrive``)."""
    return instruction.modifiers[:2] == ("async", "mbarrier")


def is_bulk_load(instruction: Instruction) -> bool:
    """Whether it is a bulk copy (TMA) from global to shared memory."""
    modifiers = instruction.modifiers
    if (
        instruction.opcode != "cp"
        or modifiers[:2] != ("async", "bulk")
        or "global" not in modifiers
    ):
        return False
    # The destination comes first: a store is ".global.shared::cta", a prefetch has no ".shared".
    source = modifiers.index("global")
    return any(m.startswith("shared::") for m in modifiers[:source])


def is_wgmma(instruction: Instruction) -> bool:
    """Whether it is an asynchronous matrix product of Hopper (``wgmma.mma_async``)."""
    return instruction.opcode == "wgmma" and instruction.modifiers[:1] == ("mma_async",)


def is_wgmma_commit(instruction: Instruction) -> bool:
    """Whether it closes a group of matrix products (``wgmma.commit_group``)."""
    return instruction.opcode == "wgmma" and instruction.modifiers[:1] == ("commit_group",)


def is_tcgen05_mma(instruction: Instruction) -> bool:
    """Whether it is a matrix product of Blackwell (``tcgen05.mma``)."""
    return instruction.opcode == "tcgen05" and instruction.modifiers[:1] == ("mma",)


def is_matrix_product(instruction: Instruction) -> bool:
    """Whether the tensor core carries it out."""
    products = is_wgmma(instruction) or is_tcgen05_mma(instruction)
    return products or instruction.opcode == "mma"


def copy_size(instruction: Instruction) -> int | None:
    """Return the bytes that a ``cp.async`` copies per thread; ``None`` if not a literal."""
    return _literal(instruction, 2)


def _literal(instruction: Instruction, position: int) -> int | None:
    """Return an operand that is a number; ``None`` if it is absent or something else."""
    if position >= len(instruction.operands):
        return None
    operand = instruction.operands[position]
    value = operand.value if isinstance(operand, Immediate) else None
    return value if isinstance(value, int) and 0 <= value < UNBOUNDED else None


# Groups


def cp_async_events(instructions: tuple[Instruction, ...]) -> Iterator[Event]:
    """Yield the copies, commits and waits of ``cp.async`` groups."""
    for instruction in instructions:
        if instruction.opcode != "cp" or instruction.modifiers[:1] != ("async",):
            continue
        line, at, certain = instruction.line, instruction.start, instruction.predicate is None
        origin = instruction.locations or None
        match instruction.modifiers[1:]:
            case ("ca" | "cg", *_):
                yield Copy(line, copy_size(instruction), at=at)
            case ("commit_group",):
                yield Commit(line, certain, at=at)
            case ("wait_group",):
                limit = _literal(instruction, 0)
                # PTX requires a literal; without one, nothing is known to be retired.
                if limit is not None:
                    yield Wait(line, limit, certain, origin, at=at)
            case ("wait_all",):
                yield Commit(line, certain, implicit=True, at=at)
                yield Wait(line, 0, certain, origin, at=at)


def wgmma_events(instructions: tuple[Instruction, ...]) -> Iterator[Event]:
    """Yield the matrix products of ``wgmma`` (as copies), their commits and waits."""
    for instruction in instructions:
        if instruction.opcode != "wgmma":
            continue
        line, at, certain = instruction.line, instruction.start, instruction.predicate is None
        match instruction.modifiers[0], instruction.operands:
            case "mma_async", _:
                yield Copy(line, None, at=at)
            case "commit_group", _:
                yield Commit(line, certain, at=at)
            case "wait_group", (Immediate(value=int() as limit), *_):
                yield Wait(line, limit, certain, instruction.locations or None, at=at)


def tcgen05_events(instructions: tuple[Instruction, ...]) -> Iterator[Event]:
    """Yield what a ``tcgen05.commit`` collects (products, copies, shifts) and the commits.

    The same thread issues both, so a commit under the predicate of the operations before it
    collects them for certain. Whoever waits polls a barrier.
    """
    issuer: str | None = None
    for instruction in instructions:
        if instruction.opcode == "tcgen05" and instruction.modifiers[:1] in _COMMITTED_BY_TCGEN05:
            issuer = instruction.predicate
            yield Copy(instruction.line, None, at=instruction.start)
        elif tcgen05_barrier(instruction) is not None:
            certain = instruction.predicate in (None, issuer)
            yield Commit(instruction.line, certain, at=instruction.start)


def tensor_memory_events(
    instructions: tuple[Instruction, ...], direction: Literal["ld", "st"]
) -> Iterator[Event]:
    """Yield loads from (or stores to) tensor memory as copies, and the waits for all of them."""
    for instruction in instructions:
        if instruction.opcode != "tcgen05":
            continue
        line, at, certain = instruction.line, instruction.start, instruction.predicate is None
        if instruction.modifiers[:1] == (direction,):
            yield Copy(line, None, at=at)
        elif instruction.modifiers[:1] == (f"wait::{direction}",):
            yield Commit(line, certain, implicit=True, at=at)
            yield Wait(line, 0, certain, instruction.locations or None, at=at)


def bulk_store_events(instructions: tuple[Instruction, ...]) -> Iterator[Event]:
    """Yield the bulk copies out of shared memory, and the commits and waits of their groups."""
    for instruction in instructions:
        if instruction.opcode != "cp" or "bulk" not in instruction.modifiers:
            continue
        line, at, certain = instruction.line, instruction.start, instruction.predicate is None
        match instruction.modifiers[1:], instruction.operands:
            case ("bulk", "commit_group", *_), _:
                yield Commit(line, certain, at=at)
            case ("bulk", "wait_group", *_), (Immediate(value=int() as limit), *_):
                yield Wait(line, limit, certain, instruction.locations or None, at=at)
            case modifiers, _ if "bulk_group" in modifiers:
                yield Copy(line, None, at=at)


class Stream(msgspec.Struct, frozen=True):
    """Asynchronous operations that are committed and awaited independently of all others.

    Attributes:
        kind: The mechanism; ``None`` where the report describes no pipeline of it.
        empty: Whether a wait is paired with a commit that collects nothing. Not for bulk stores:
            Triton commits an empty group after it writes a descriptor.
    """

    kind: PipelineKind | None
    events_of: EventsOf
    empty: bool = True


STREAMS = (
    Stream("cp.async", cp_async_events),
    Stream("wgmma", wgmma_events),
    Stream("tcgen05", tcgen05_events),
    Stream(None, bulk_store_events, empty=False),
    Stream(None, partial(tensor_memory_events, direction="ld")),
    Stream(None, partial(tensor_memory_events, direction="st")),
)


# Barriers


def awaited_barrier(instruction: Instruction) -> Operand | None:
    """Return the barrier that ``mbarrier.try_wait`` or ``test_wait`` polls; else ``None``."""
    waiting = instruction.modifiers[:1] in (("try_wait",), ("test_wait",))
    if instruction.opcode != "mbarrier" or not waiting:
        return None
    return next((o for o in instruction.operands if isinstance(o, Address)), None)


def expects_bytes(instruction: Instruction) -> bool:
    """Whether it announces to a barrier how many bytes to expect (``expect_tx``)."""
    return instruction.opcode == "mbarrier" and "expect_tx" in instruction.modifiers


def expected_bytes(instruction: Instruction) -> int | None:
    """Return how many bytes ``expect_tx`` announces; ``None`` if not a literal."""
    count = instruction.operands[-1]
    return count.value if isinstance(count, Immediate) and isinstance(count.value, int) else None


def bulk_barrier(instruction: Instruction) -> Operand | None:
    """Return the barrier of a bulk load, or of the announcement of its bytes; else ``None``."""
    addresses = [operand for operand in instruction.operands if isinstance(operand, Address)]
    if expects_bytes(instruction) and addresses:
        return addresses[0]
    # Destination, source, barrier.
    return addresses[2] if is_bulk_load(instruction) and len(addresses) > 2 else None


def tcgen05_barrier(instruction: Instruction) -> Operand | None:
    """Return the barrier that a ``tcgen05.commit`` signals; else ``None``."""
    if instruction.opcode != "tcgen05" or instruction.modifiers[:1] != ("commit",):
        return None
    return next((o for o in instruction.operands if isinstance(o, Address)), None)


def barrier_role(instruction: Instruction) -> tuple[PipelineRole, PipelineKind | None] | None:
    """Return the role of an instruction that works through a barrier, and its mechanism.

    ``None`` for every other instruction; ``tcgen05.commit`` is among the group events. A wait has
    no mechanism: it is for whatever signals the barrier.
    """
    if instruction.opcode == "cp" and any("complete_tx" in m for m in instruction.modifiers):
        return "copy", "tma"
    if expects_bytes(instruction):
        return "commit", "tma"
    if awaited_barrier(instruction) is not None:
        return "wait", None
    if instruction.opcode == "cp" and instruction.modifiers[:2] == ("async", "mbarrier"):
        return "commit", "cp.async"
    return None


def uses_barrier(instruction: Instruction) -> bool:
    """Whether an instruction signals a barrier or polls one."""
    return barrier_role(instruction) is not None or tcgen05_barrier(instruction) is not None


def announced_copies(
    instructions: Iterable[Instruction],
) -> Iterator[tuple[Instruction, Instruction]]:
    """Yield the bulk copies of a block, each with the preceding announcement of its bytes.

    Both name the same barrier by the same operand.
    """
    announcements: dict[Operand, Instruction] = {}
    for each in instructions:
        barrier = bulk_barrier(each)
        if barrier is not None and expects_bytes(each):
            announcements[barrier] = each
        elif barrier in announcements:
            yield each, announcements[barrier]
        accessed = access(each)
        for operand in list(announcements):
            if accessed is None or base_register(operand) in accessed.writes:
                del announcements[operand]


def base_register(operand: Operand) -> str | None:
    """Return the register that an operand, or the address in it, begins with."""
    base = operand.base if isinstance(operand, Address) else operand
    return base.name if isinstance(base, Register) else None
