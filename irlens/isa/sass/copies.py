"""Asynchronous operations of machine code: what an instruction begins, commits or awaits.

There is no public description beyond the opcodes (CUDA Binary Utilities, "Instruction Set
Reference"). What they do is inferred from the PTX that ptxas translates to them:

- ``LDGSTS`` is ``cp.async``, ``LDGDEPBAR`` its commit, ``DEPBAR.LE SB0, N`` its wait.
- ``UTMALDG`` and ``UBLKCP.S`` are bulk copies into shared memory. ``SYNCS.ARRIVE.TRANS64``
  announces bytes to their barrier, unless ``A1T0`` or ``ART0`` say that it only arrives;
  ``SYNCS.PHASECHK`` polls a barrier.
- ``UTMASTG``, ``UTMAREDG``, ``UBLKCP.G`` and ``UBLKRED`` are bulk copies out of shared memory,
  ``UTMACMDFLUSH`` their commit, and ``DEPBAR.LE SB0, N`` the wait for them, too.
- ``HGMMA`` and its like are ``wgmma``. The last of a group has the operand ``gsb0``, which makes
  it the commit; ``WARPGROUP.DEPBAR.LE gsb0, N`` waits.
- ``UTCHMMA`` and its like, ``UTCCP`` and ``UTCSHIFT`` are ``tcgen05``, ``UTCBAR`` their commit.
- ``LDTM`` and ``STTM`` access tensor memory. ``FENCE.VIEW.ASYNC.T`` waits for the stores. Only a
  scoreboard waits for a load, at its first use, and the text does not show scoreboards.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Literal, TypeAlias

import msgspec

from irlens.isa import ptx
from irlens.isa.events import Commit, Copy, Event, Wait
from irlens.isa.sass import Guard, Instruction, Section
from irlens.model.listing import PipelineRole
from irlens.model.report import PipelineKind

#: What is committed and awaited independently; "stores" are bulk copies out of shared memory.
Stream: TypeAlias = Literal[
    "cp.async", "stores", "wgmma", "tcgen05", "tensor memory loads", "tensor memory stores"
]
#: The streams that are a mechanism of the report.
STREAM_KINDS: dict[Stream, PipelineKind] = {
    "cp.async": "cp.async",
    "wgmma": "wgmma",
    "tcgen05": "tcgen05",
}

_WGMMA = re.compile(r"[BHIQ]GMMA")
_TCGEN05 = re.compile(r"UTC(?:\w*MMA|CP|SHIFT)")
_STORES = frozenset({"UTMASTG", "UTMAREDG", "UBLKRED"})

#: Prefixes of the PTX instructions that an opcode is made from.
_MADE_FROM = {
    "LDGSTS": ("cp.async.ca.", "cp.async.cg."),
    "LDGDEPBAR": ("cp.async.commit_group", "cp.async.wait_all"),
    "DEPBAR": ("cp.async.wait_", "cp.async.bulk.wait_group"),
    "ARRIVES": ("cp.async.mbarrier.",),
    "UTMALDG": ("cp.async.bulk.tensor.",),
    "UTMASTG": ("cp.async.bulk.tensor.",),
    "UTMAREDG": ("cp.reduce.async.bulk.tensor.",),
    "UBLKCP": ("cp.async.bulk.",),
    "UBLKRED": ("cp.reduce.async.bulk.",),
    "UTMACMDFLUSH": ("cp.async.bulk.commit_group",),
    "SYNCS": ("mbarrier.",),
    "WARPGROUP": ("wgmma.wait_group",),
    "UTCBAR": ("tcgen05.commit.",),
    "UTCCP": ("tcgen05.cp.",),
    "UTCSHIFT": ("tcgen05.shift.",),
    "LDTM": ("tcgen05.ld.",),
    "STTM": ("tcgen05.st.",),
    "FENCE": ("tcgen05.wait::st.",),
}


class StreamEvent(msgspec.Struct, frozen=True):
    """An event with its place.

    Attributes:
        stream: The stream it belongs to; ``None`` for a wait that fits two of them.
    """

    index: int
    stream: Stream | None
    event: Event


def made_from(instruction: Instruction, original: ptx.Instruction) -> bool:
    """Whether an asynchronous instruction can have been made from one of PTX.

    The line table omits some instructions: ``HGMMA``, and the first try of a wait for a barrier,
    carry the line of whatever precedes them.
    """
    if _TCGEN05.fullmatch(instruction.opcode) and instruction.opcode.endswith("MMA"):
        return original.name.startswith("tcgen05.mma.")
    return original.name.startswith(_MADE_FROM.get(instruction.opcode, ()))


def barrier_role(instruction: Instruction) -> tuple[PipelineRole, PipelineKind | None] | None:
    """Return the role of an instruction that works through a barrier, and its mechanism.

    ``None`` for every other instruction. A wait has no mechanism: it is for whatever signals the
    barrier.
    """
    match instruction.opcode, instruction.modifiers:
        case ("UTMALDG", _) | ("UBLKCP", ("S", *_)):
            return "copy", "tma"
        case "SYNCS", ("ARRIVE", "TRANS64", *rest) if not {"A1T0", "ART0"}.intersection(rest):
            return "commit", "tma"
        case "SYNCS", ("PHASECHK", *_):
            return "wait", None
        case "ARRIVES", ("LDGSTSBAR", *_):
            return "commit", "cp.async"
    return None


def polls_barrier(instruction: Instruction) -> bool:
    """Whether it is one try of a wait for a barrier."""
    return barrier_role(instruction) == ("wait", None)


def stream_events(
    section: Section, originals: Mapping[int, ptx.Instruction]
) -> Iterator[StreamEvent]:
    """Yield what forms groups in a section, in the order of the text.

    Args:
        originals: By offset, the PTX that instructions were made from, where known.
    """
    opcodes = {each.opcode for each in section.instructions}
    only: Stream | None = None  # the one stream that can use SB0
    if "UTMACMDFLUSH" not in opcodes:
        only = "cp.async"
    elif "LDGDEPBAR" not in opcodes:
        only = "stores"
    issuer: Guard | None = None
    before = ""
    for index, each in enumerate(section.instructions):
        if _TCGEN05.fullmatch(each.opcode):
            issuer = each.guard
        original = originals.get(each.offset)
        awaited = only
        if original is not None:
            awaited = "stores" if "bulk" in original.modifiers else "cp.async"
        for stream, event in _events(each, before, issuer, awaited):
            yield StreamEvent(index, stream, event)
        before = each.opcode


def _events(
    instruction: Instruction, before: str, issuer: Guard | None, awaited: Stream | None
) -> Iterator[tuple[Stream | None, Event]]:
    """Yield the events of one instruction with their streams.

    Args:
        before: The opcode in front of it.
        issuer: The guard of the last operation of tcgen05.
        awaited: The stream that a wait for the scoreboard SB0 is for.
    """
    line, at, certain = instruction.line, instruction.offset, instruction.guard is None
    copy, commit = Copy(line, None, at=at), Commit(line, certain, at=at)
    match instruction.opcode, instruction.modifiers:
        case "LDGSTS", _:
            yield "cp.async", copy
        case "LDGDEPBAR", _:
            yield "cp.async", commit
        case "DEPBAR", ("LE",) if (limit := _limit(instruction, "SB0")) is not None:
            yield awaited, Wait(line, limit, certain, at=at)
        case "UBLKCP", ("G", *_):
            yield "stores", copy
        case opcode, _ if opcode in _STORES:
            yield "stores", copy
        case "UTMACMDFLUSH", _ if before != "UTMACCTL":  # else part of a descriptor's fence
            yield "stores", commit
        case _:
            yield from _tensor_core_events(instruction, issuer)


def _tensor_core_events(
    instruction: Instruction, issuer: Guard | None
) -> Iterator[tuple[Stream, Event]]:
    """Yield the events of ``wgmma`` and ``tcgen05``, and of accesses to tensor memory."""
    line, at, certain = instruction.line, instruction.offset, instruction.guard is None
    copy, commit = Copy(line, None, at=at), Commit(line, certain, at=at)
    match instruction.opcode, instruction.modifiers:
        case opcode, _ if _WGMMA.fullmatch(opcode):
            closes = any(operand.text == "gsb0" for operand in instruction.operands)
            yield "wgmma", commit if closes else copy
        case "WARPGROUP", ("DEPBAR", "LE") if (limit := _limit(instruction, "gsb0")) is not None:
            yield "wgmma", Wait(line, limit, certain, at=at)
        case opcode, _ if _TCGEN05.fullmatch(opcode):
            yield "tcgen05", copy
        case "UTCBAR", _:
            yield "tcgen05", Commit(line, instruction.guard in (None, issuer), at=at)
        case "LDTM", _:
            yield "tensor memory loads", copy
        case "STTM", _:
            yield "tensor memory stores", copy
        case "FENCE", ("VIEW", "ASYNC", "T"):
            yield "tensor memory stores", Commit(line, certain, implicit=True, at=at)
            yield "tensor memory stores", Wait(line, 0, certain, at=at)


def _limit(instruction: Instruction, counter: str) -> int | None:
    """Groups that a wait for a counter leaves outstanding; ``None`` if it is for another one."""
    match [operand.text for operand in instruction.operands]:
        case [name, str(number)] if name == counter and number.startswith("0x"):
            return int(number, 16)
    return None
