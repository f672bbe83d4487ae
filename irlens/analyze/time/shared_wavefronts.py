"""Wavefronts of accesses to shared memory, bank conflicts included, from the lanes' addresses.

The machine code itself computes where each lane reads and writes, from its thread's index and
from constants. So the instructions that these addresses depend on are run for all lanes of a warp
along its path, and each access is split into wavefronts as the hardware does: a wavefront takes
one word of 4 bytes from each of 32 banks, equal words once. Accesses of 8 and 16 bytes a lane are
served by half and quarter warps ("CUDA C++ Programming Guide", "Shared Memory" under the compute
capabilities from 5.x on), and each 8 x 8 matrix of LDSM and STSM by the eight lanes that hold its
rows' addresses ("PTX ISA", ldmatrix). Two parts of a load that read the same words are served
together, the four quarters of one of 16 bytes in pairs: an H200 takes two wavefronts where all
lanes load the same 16 bytes.

Nsight Compute counts these wavefronts, and more where an access meets other traffic in flight to
shared memory; it counts those as bank conflicts too.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import cycle

import msgspec

from irlens.analyze.time.dataflow import DataFlow
from irlens.analyze.time.paths import Path
from irlens.isa.bitsets import members
from irlens.isa.sass import Instruction, Operand, Section, units
from irlens.isa.sass.operands import (
    WORD,
    Read,
    State,
    Step,
    ThreadInputs,
    position,
    read_condition,
    register_bits,
)

BANKS = 32
_WORD = 4
_LANES = 32
#: Rounds of a repeated segment that are run: buffers of a pipeline alternate.
_ROUNDS = 4
_TERM = re.compile(r"(?P<sign>-?)(?:(?P<file>UR|R)(?P<index>\d+|Z)(?:\.X(?P<scale>\d+))?[.\w]*"
                   r"|(?P<number>0x[0-9a-f]+))$")  # fmt: skip


class Wavefronts(msgspec.Struct, frozen=True):
    """The wavefronts of one access by a warp, the mean of its executions.

    Attributes:
        total: All of them; 0 where no lane takes part.
        conflicts: Those of them that bank conflicts add.
    """

    total: float
    conflicts: float


class _Lane(msgspec.Struct, frozen=True):
    """What one lane does at an access: its address, and whether it takes part."""

    address: Read
    active: Read


def wavefronts(
    data: DataFlow,
    path: Path,
    launches: Sequence[ThreadInputs],
    active: Mapping[int, int] | None = None,
) -> dict[int, Wavefronts]:
    """Return the wavefronts of each access to shared memory that a warp executes.

    Args:
        launches: What each of the warp's 32 lanes can read of the launch.
        active: The lanes that run each block, as bits; by default all of them.

    Returns:
        By index of the instruction; an access without known addresses is absent.
    """
    operands = dict(_shared_operands(data.section))
    if not operands:
        return {}
    return _Warp(data, operands, launches, active).run(path)


def passes(addresses: Iterable[int], size: int) -> int:
    """Return the wavefronts that one part of a warp takes: the most words in one bank.

    Args:
        addresses: In bytes, of the lanes that are served together.
        size: Bytes that each of them accesses.
    """
    words: defaultdict[int, set[int]] = defaultdict(set)
    for address in addresses:
        for word in range(address // _WORD, (address + size - 1) // _WORD + 1):
            words[word % BANKS].add(word)
    return max(map(len, words.values()), default=0)


def _shared_operands(section: Section) -> Iterable[tuple[int, Operand]]:
    for index, each in enumerate(section.instructions):
        if each.opcode in units.ADDRESSED:
            memory = [operand for operand in each.operands if operand.kind == "memory"]
            if memory:
                yield index, memory[0]


def _registers(instruction: Instruction, operand: Operand) -> int:
    """Return the registers that an access's address and predicate are in, as bits."""
    guard = instruction.guard
    return register_bits((*operand.registers, *((guard.register,) if guard else ())))


class _Warp:
    """The lanes of a warp on their way."""

    def __init__(
        self,
        data: DataFlow,
        operands: Mapping[int, Operand],
        launches: Sequence[ThreadInputs],
        active: Mapping[int, int] | None,
    ) -> None:
        self.active = active
        self.data = data
        self.operands = operands
        self.instructions = data.section.instructions
        also = {n: _registers(self.instructions[n], each) for n, each in operands.items()}
        wanted = data.slice(also).by_block
        self.blocks = [
            sorted({*chosen, *(index for index in block.indices if index in operands)})
            for block, chosen in zip(data.flow.blocks, wanted, strict=True)
        ]
        self.needed = {index for chosen in wanted for index in chosen}
        self.launches = launches
        self.states: list[State] = [[None] * data.local.size for _ in launches]
        self.steps: dict[int, list[Step]] = {}
        #: Positions of the state that the lanes may differ in, as bits.
        self.apart = 0
        self.lanes: dict[int, _Lane] = {}
        self.found: defaultdict[int, list[Wavefronts]] = defaultdict(list)
        self.known: dict[object, Wavefronts] = {}

    def run(self, path: Path) -> dict[int, Wavefronts]:
        """Return the mean wavefronts of each access."""
        for segment in path.segments:
            for _ in range(min(segment.times, _ROUNDS)):
                for block in segment.blocks:
                    self._run_block(block)
        return {n: mean_wavefronts([(one, 1) for one in each]) for n, each in self.found.items()}

    def _run_block(self, block: int) -> None:
        for index in self.blocks[block]:
            if index in self.operands:
                self._access(index, -1 if self.active is None else self.active.get(block, 0))
            if index in self.needed:
                self._step(index)

    def _step(self, index: int) -> None:
        """Run an instruction: once where all lanes have the same operands."""
        if index not in self.steps:
            self.steps[index] = self._steps(index)
        steps, accessed = self.steps[index], self.data.accessed(index)
        before = accessed.reads | accessed.writes & ~accessed.kills
        if len(steps) > 1 or before & self.apart:
            self.apart |= accessed.writes
            for step, state in zip(cycle(steps), self.states, strict=False):
                step(state)
            return
        self.apart &= ~accessed.writes
        first, *others = self.states
        steps[0](first)
        for at in members(accessed.writes):
            for state in others:
                state[at] = first[at]

    def _steps(self, index: int) -> list[Step]:
        """Return what an instruction does to each lane, or to any: special registers differ."""
        special = any(operand.kind == "special" for operand in self.instructions[index].operands)
        launches = self.launches if special else self.launches[:1]
        return [self.data.step(index, one) for one in launches]

    def _access(self, index: int, mask: int) -> None:
        instruction = self.instructions[index]
        lane = self.lanes.get(index)
        if lane is None:
            lane = _Lane(read_address(self.operands[index].text), _active(instruction))
            self.lanes[index] = lane
        addresses: list[int | None] = []
        for number, state in enumerate(self.states):
            active = lane.active(state) if mask >> number & 1 else 0
            address = lane.address(state)
            if active is None or (active and address is None):
                return
            addresses.append(address if active else None)
        self.found[index].append(self._served(instruction, addresses))

    def _served(self, instruction: Instruction, addresses: Sequence[int | None]) -> Wavefronts:
        """Return the wavefronts of an access, computed once for addresses equally far apart."""
        first = min((each for each in addresses if each is not None), default=0) // _WORD * _WORD
        apart = tuple([None if each is None else each - first for each in addresses])
        key = instruction.opcode, instruction.modifiers, apart
        if key not in self.known:
            self.known[key] = _wavefronts(instruction, apart)
        return self.known[key]


def mean_wavefronts(weighted: Sequence[tuple[Wavefronts, int]]) -> Wavefronts:
    """Return the mean of an access's wavefronts, each with its weight."""
    weight = sum(times for _, times in weighted)
    return Wavefronts(
        sum(each.total * times for each, times in weighted) / weight,
        sum(each.conflicts * times for each, times in weighted) / weight,
    )


def _wavefronts(instruction: Instruction, addresses: Sequence[int | None]) -> Wavefronts:
    """Split an access whose lanes have these addresses, ``None`` for those that take no part."""
    if units.moves_matrices(instruction):
        size, together = 16, 8
        addresses = addresses[: together * units.shared_wavefronts(instruction)]
    else:
        size = units.lane_bytes(instruction)
        together = _LANES // max(size // _WORD, 1)
    parts = [
        {each for each in addresses[first : first + together] if each is not None}
        for first in range(0, len(addresses), together)
    ]
    counts = [passes(part, size) for part in parts]
    if units.loads_shared(instruction) and len(parts) > 1:
        pairs = [first | second for first, second in zip(parts[::2], parts[1::2], strict=True)]
        whole = [passes(pair, size) for pair in pairs]
        apart = zip(counts[::2], counts[1::2], strict=True)
        counts = [
            number
            for pair, both in zip(apart, whole, strict=True)
            for number in ([both] if both <= max(pair) else pair)
        ]
    total = sum(counts)
    return Wavefronts(total, total - sum(map(bool, counts)))


def _active(instruction: Instruction) -> Read:
    guard = instruction.guard
    if guard is None:
        return lambda _: 1
    return read_condition(guard.register, negated=guard.negated)


def read_address(address: str) -> Read:
    """Return a reader of an address: "[R75+UR4+0x10]", "[R2.X4]"."""
    terms: list[tuple[int, int]] = []
    number = 0
    for text in address.strip("[]").replace("+-", "+ -").split("+"):
        match = _TERM.match(text.strip())
        if match is None:
            return lambda _: None
        sign = -1 if match["sign"] else 1
        if match["number"]:
            number += sign * int(match["number"], 16)
        elif match["index"] != "Z":
            at = position(match["file"], int(match["index"]))
            terms.append((at, sign * int(match["scale"] or 1)))

    def read(state: State) -> int | None:
        total = number
        for at, scale in terms:
            value = state[at]
            if value is None:
                return None
            total += scale * value
        return total & WORD

    return read
