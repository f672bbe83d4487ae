"""What machine code lets run on by itself, and how it waits for that.

There is no public description beyond the opcodes (CUDA Binary Utilities, "Instruction Set
Reference"); what they do is read off the PTX that ptxas makes them from, one by one:

- ``LDGSTS`` is ``cp.async``, ``LDGDEPBAR`` its commit, ``DEPBAR.LE SB0, N`` its wait.
- ``UTMALDG`` and ``UBLKCP.S`` are bulk copies into shared memory. ``SYNCS.ARRIVE.TRANS64`` tells
  their barrier of bytes, unless ``A1T0`` or ``ART0`` say that it only arrives;
  ``SYNCS.PHASECHK`` asks a barrier.
- ``UTMASTG``, ``UTMAREDG``, ``UBLKCP.G`` and ``UBLKRED`` are bulk copies out of it,
  ``UTMACMDFLUSH`` their commit, and ``DEPBAR.LE SB0, N`` the wait for them, too.
- ``HGMMA`` and its like are ``wgmma``. The last of a group has the operand ``gsb0`` and is thereby
  the commit; ``WARPGROUP.DEPBAR.LE gsb0, N`` waits.
- ``UTCHMMA`` and its like, ``UTCCP`` and ``UTCSHIFT`` are ``tcgen05``, ``UTCBAR`` their commit.
- ``LDTM`` and ``STTM`` access tensor memory. ``FENCE.VIEW.ASYNC.T`` waits for the stores; for a
  load nothing does but a scoreboard at the first use, which the text does not show.
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

#: What is committed and waited for on its own; "stores" are bulk copies out of shared memory.
Stream: TypeAlias = Literal[
    "cp.async", "stores", "wgmma", "tcgen05", "tensor memory loads", "tensor memory stores"
]

_WGMMA = re.compile(r"[BHIQ]GMMA")
_TCGEN05 = re.compile(r"UTC(?:\w*MMA|CP|SHIFT)")
_STORES = frozenset({"UTMASTG", "UTMAREDG", "UBLKRED"})

#: How the PTX that an opcode is made from begins.
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
    """An event, and where it is.

    Attributes:
        index: Of the instruction in its section.
        stream: What it belongs to; ``None`` of a wait for one of two that cannot be told apart.
        event: What it does.
    """

    index: int
    stream: Stream | None
    event: Event


def stream_events(section: Section, originals: Mapping[int, ptx.Instruction]) -> list[StreamEvent]:
    """Return what forms groups in a section, in the order of the text.

    Args:
        section: The kernel.
        originals: By offset, what instructions were made from, as far as that is known.
    """
    return list(_Reader(section, originals).events())


def made_from(instruction: Instruction, original: ptx.Instruction) -> bool:
    """Whether an asynchronous instruction can have been made from one of PTX.

    The line table knows nothing of some instructions: ``HGMMA`` and the first try of a wait for a
    barrier have the line of whatever stands before them.
    """
    if _TCGEN05.fullmatch(instruction.opcode) and instruction.opcode.endswith("MMA"):
        return original.name.startswith("tcgen05.mma.")
    return original.name.startswith(_MADE_FROM.get(instruction.opcode, ()))


def at_barrier(instruction: Instruction) -> tuple[PipelineRole, PipelineKind | None] | None:
    """Return what an instruction does by means of a barrier, and for which mechanism.

    ``None`` where it does nothing of that kind. A wait is for whatever signals the barrier.
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


class _Reader:
    """Goes through a section."""

    def __init__(self, section: Section, originals: Mapping[int, ptx.Instruction]) -> None:
        self._instructions = section.instructions
        self._originals = originals
        self._issuer: Guard | None = None
        opcodes = {each.opcode for each in section.instructions}
        self._alone: Stream | None = None  # the one stream that SB0 can be of
        if "UTMACMDFLUSH" not in opcodes:
            self._alone = "cp.async"
        elif "LDGDEPBAR" not in opcodes:
            self._alone = "stores"

    def events(self) -> Iterator[StreamEvent]:
        for index, instruction in enumerate(self._instructions):
            for read in (self._copies, self._stores, self._products, self._tensor_core):
                for stream, event in read(index, instruction):
                    yield StreamEvent(index, stream, event)

    def _copies(self, _: int, instruction: Instruction) -> Iterator[tuple[Stream | None, Event]]:
        line, at, certain = instruction.line, instruction.offset, instruction.guard is None
        if instruction.opcode == "LDGSTS":
            yield "cp.async", Copy(line, None, at=at)
        elif instruction.opcode == "LDGDEPBAR":
            yield "cp.async", Commit(line, certain, at=at)
        elif instruction.opcode == "DEPBAR" and instruction.modifiers == ("LE",):
            limit = _limit(instruction, "SB0")  # other scoreboards count other things
            if limit is not None:
                yield self._waited(instruction), Wait(line, limit, certain, at=at)

    def _waited(self, instruction: Instruction) -> Stream | None:
        """What a wait for the scoreboard SB0 is for."""
        original = self._originals.get(instruction.offset)
        if original is None:
            return self._alone
        return "stores" if "bulk" in original.modifiers else "cp.async"

    def _stores(self, index: int, instruction: Instruction) -> Iterator[tuple[Stream, Event]]:
        line, at, certain = instruction.line, instruction.offset, instruction.guard is None
        match instruction.opcode, instruction.modifiers:
            case (opcode, _) if opcode in _STORES:
                yield "stores", Copy(line, None, at=at)
            case "UBLKCP", ("G", *_):
                yield "stores", Copy(line, None, at=at)
            case "UTMACMDFLUSH", _:
                # With UTMACCTL it belongs to a fence for a descriptor.
                if self._instructions[max(index - 1, 0)].opcode != "UTMACCTL":
                    yield "stores", Commit(line, certain, at=at)

    def _products(self, _: int, instruction: Instruction) -> Iterator[tuple[Stream, Event]]:
        line, at, certain = instruction.line, instruction.offset, instruction.guard is None
        if _WGMMA.fullmatch(instruction.opcode):
            if any(operand.text == "gsb0" for operand in instruction.operands):
                yield "wgmma", Commit(line, certain, at=at)
            else:
                yield "wgmma", Copy(line, None, at=at)
        elif instruction.opcode == "WARPGROUP" and instruction.modifiers == ("DEPBAR", "LE"):
            limit = _limit(instruction, "gsb0")
            if limit is not None:
                yield "wgmma", Wait(line, limit, certain, at=at)

    def _tensor_core(self, _: int, instruction: Instruction) -> Iterator[tuple[Stream, Event]]:
        line, at, guard = instruction.line, instruction.offset, instruction.guard
        if _TCGEN05.fullmatch(instruction.opcode):
            self._issuer = guard
            yield "tcgen05", Copy(line, None, at=at)
        elif instruction.opcode == "UTCBAR":
            yield "tcgen05", Commit(line, guard in (None, self._issuer), at=at)
        elif instruction.opcode == "LDTM":
            yield "tensor memory loads", Copy(line, None, at=at)
        elif instruction.opcode == "STTM":
            yield "tensor memory stores", Copy(line, None, at=at)
        elif (instruction.opcode, *instruction.modifiers) == ("FENCE", "VIEW", "ASYNC", "T"):
            yield "tensor memory stores", Commit(line, guard is None, implicit=True, at=at)
            yield "tensor memory stores", Wait(line, 0, guard is None, at=at)


def _limit(instruction: Instruction, counter: str) -> int | None:
    """Groups of a counter that a wait leaves outstanding; ``None`` if it is for another one."""
    match [operand.text for operand in instruction.operands]:
        case [name, str(number)] if name == counter and number.startswith("0x"):
            return int(number, 16)
    return None
