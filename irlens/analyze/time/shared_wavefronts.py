"""Wavefronts of accesses to shared memory, bank conflicts included, from the lanes' addresses.

The machine code itself computes where each lane reads and writes, from its thread's index and
from constants. So the instructions that these addresses depend on are run for all lanes of a warp
along its path, and each access is split into wavefronts as the hardware does: a wavefront takes
one word of 4 bytes from each of 32 banks, equal words once. Accesses of 8 and 16 bytes a lane are
served by half and quarter warps ("CUDA C++ Programming Guide", "Shared Memory" under the compute
capabilities from 5.x on), and each 8 x 8 matrix of LDSM and STSM by the eight lanes that hold its
rows' addresses ("PTX ISA", ldmatrix). Two parts of an access to the same words are served
together, the four quarters of one of 16 bytes in pairs: an H200 takes two wavefronts where all
lanes load the same 16 bytes, and one where they store the same 8.

A copy of 4 or 8 bytes a lane occupies shared memory for longer, since it writes the lines of global
memory one after the other (``l1_requests.copying``).

Nsight Compute counts these wavefronts, and more where an access meets other traffic in flight to
shared memory: it counts those as bank conflicts too, but not all of those that meet wgmma of
another CTA on the SM.
"""

import struct
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from irlens.analyze.banks import most_words_in_a_bank
from irlens.analyze.time.dataflow import DataFlow
from irlens.analyze.time.l1_requests import COPIED_BY_LINES, LINE_BYTES, copying
from irlens.analyze.time.loop_runs import Path
from irlens.isa.bitsets import members
from irlens.isa.sass import Instruction, Operand, Section, units
from irlens.isa.sass.operands import (
    SPECIAL,
    WORD,
    Step,
    ThreadInputs,
    address_terms,
    position,
    register_bits,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

_WORD = 4
_LANES = 32
#: Rounds of a repeated segment that are run: buffers of a pipeline alternate.
_ROUNDS = 4


class Wavefronts(msgspec.Struct, frozen=True):
    """The wavefronts of one access by a warp, the mean of its executions.

    Attributes:
        total: All of them; 0 where no lane takes part.
        conflicts: Those of them that bank conflicts add.
        lines: Cycles that a copy's lines of global memory add to them; 0 for other accesses.
        spread: The same without bank conflicts.
    """

    total: float
    conflicts: float
    lines: float = 0.0
    spread: float = 0.0

    @property
    def cycles(self) -> float:
        """Cycles for which the access occupies the shared memory of an SM."""
        return self.total + self.lines

    def without_conflicts(self) -> "Wavefronts":
        """Return it without bank conflicts."""
        return Wavefronts(self.total - self.conflicts, 0.0, self.spread, self.spread)

    def coalesced(self) -> "Wavefronts":
        """Return it with one line for the lanes that are copied together."""
        return replace(self, lines=min(self.lines, 1.0), spread=min(self.spread, 1.0))


class _Address(msgspec.Struct, frozen=True):
    """Where lanes access memory, and which of them do.

    Attributes:
        terms: Positions in the state, with their factors; ``None`` if not understood.
        number: What is added to them.
        guard: Position of the predicate, ``None`` for one that always holds.
        negated: Whether the lanes take part for which it does not hold.
    """

    terms: tuple[tuple[int, int], ...] | None
    number: int
    guard: int | None
    negated: bool


#: What operations on numbers raise for arrays where they do not compute the same, and for ``None``.
NOT_OF_ARRAYS = (TypeError, ValueError, OverflowError, struct.error)


def wavefronts(
    data: DataFlow,
    path: Path,
    launches: Sequence[ThreadInputs],
    active: Mapping[int, int] | None = None,
) -> list[dict[int, Wavefronts]]:
    """Return the wavefronts of each access to shared memory that warps execute.

    Args:
        launches: What each lane can read of the launch, warp by warp.
        active: The lanes of a warp that run each block, as bits; by default all of them.

    Returns:
        For each warp, by index of the instruction; an access without known addresses is absent.
    """
    operands = dict(_operands(data.section))
    if not operands:
        return [{} for _ in range(len(launches) // _LANES)]
    return _Warps(data, operands, launches, active).run(path)


def _operands(section: Section) -> Iterable[tuple[int, list[Operand]]]:
    """Yield where accesses are in shared memory, and what copies line by line is copied from."""
    for index, each in enumerate(section.instructions):
        if each.opcode in units.ADDRESSED:
            memory = [operand for operand in each.operands if operand.kind == "memory"]
            by_lines = units.copies(each) and units.lane_bytes(each) in COPIED_BY_LINES
            if memory:
                yield index, memory[: 2 if by_lines else 1]


def _registers(instruction: Instruction, operands: Sequence[Operand]) -> int:
    """Return the registers that an access's addresses and predicate are in, as bits."""
    guard = instruction.guard
    used = [register for operand in operands for register in operand.registers]
    return register_bits((*used, *((guard.register,) if guard else ())))


class _Warps:
    """The lanes of warps on their way along one path.

    A position of their state holds a number or ``None`` if they agree, or else an array with that
    of each lane. The steps compute with arrays of numbers as with numbers, or raise an error.
    """

    def __init__(
        self,
        data: DataFlow,
        operands: Mapping[int, Sequence[Operand]],
        launches: Sequence[ThreadInputs],
        active: Mapping[int, int] | None,
    ) -> None:
        self.active = active
        self.data, self.launch, self.count = data, launches[0], len(launches)
        self.instructions = data.section.instructions
        self.addresses = {
            n: [_address(self.instructions[n], each) for each in those]
            for n, those in operands.items()
        }
        also = {n: _registers(self.instructions[n], each) for n, each in operands.items()}
        wanted = data.slice(also).by_block
        self.blocks = [
            sorted({*chosen, *(index for index in block.indices if index in operands)})
            for block, chosen in zip(data.flow.blocks, wanted, strict=True)
        ]
        self.needed = {index for chosen in wanted for index in chosen}
        self.state: list[Any] = launches[0].state(data.local.size, None)
        for name, at in SPECIAL.items():
            self.state[at] = _joined([each.special.get(name) for each in launches])
        self.known: dict[object, Wavefronts] = {}
        self.served: dict[object, tuple[Wavefronts | None, ...]] = {}
        self.masks: dict[int, NDArray[Any]] = {}
        self.found: defaultdict[int, Counter[object]] = defaultdict(Counter)

    def run(self, path: Path) -> list[dict[int, Wavefronts]]:
        """Return the mean wavefronts of each access by each warp."""
        for segment in path.segments:
            for _ in range(min(segment.times, _ROUNDS)):
                for block in segment.blocks:
                    self._run_block(block)
        means: list[dict[int, Wavefronts]] = [{} for _ in range(self.count // _LANES)]
        for index, found in self.found.items():
            executions = [(self.served[key], times) for key, times in found.items()]
            for warp, mean in enumerate(means):
                taken = [(each[warp], times) for each, times in executions]
                if known := [(one, times) for one, times in taken if one is not None]:
                    mean[index] = mean_wavefronts(known)
        return means

    def _run_block(self, block: int) -> None:
        for index in self.blocks[block]:
            if index in self.addresses:
                self._access(index, -1 if self.active is None else self.active.get(block, 0))
            if index in self.needed:
                self._step(index)

    def _step(self, index: int) -> None:
        """Run an instruction for all lanes at once, or else for one after the other."""
        step = self.data.step(index, self.launch)
        written = tuple(members(self.data.accessed(index).writes))
        before = [self.state[at] for at in written]
        try:
            step(self.state)
        except NOT_OF_ARRAYS:
            for at, value in zip(written, before, strict=True):
                self.state[at] = value
            self._step_by_lane(step, written)

    def _step_by_lane(self, step: Step, written: Sequence[int]) -> None:
        columns = {
            at: self._by_lane(each)
            for at, each in enumerate(self.state)
            if at in written or _differs(each)
        }
        found: dict[int, list[int | None]] = {at: [] for at in written}
        state = list(self.state)
        for lane in range(self.count):
            for at, column in columns.items():
                state[at] = column[lane]
            step(state)
            for at, values in found.items():
                values.append(state[at])
        for at, values in found.items():
            self.state[at] = _joined(values)

    def _by_lane(self, value: Any) -> list[int | None]:
        return value.tolist() if _differs(value) else [value] * self.count

    def _known(self, value: Any) -> tuple[Any, Any]:
        """Return the number of each lane, 0 where it is not known, and whether it is; or of all."""
        import numpy as np

        if not _differs(value):
            return value or 0, value is not None
        if value.dtype != object:
            return value, True
        known = np.array([each is not None for each in value])
        return np.where(known, value, 0).astype(np.int64), known

    def _running(self, mask: int) -> "NDArray[Any]":
        """Return which lanes run what the lanes of a mask do."""
        import numpy as np

        if mask not in self.masks:
            lanes = [mask >> lane % _LANES & 1 for lane in range(self.count)]
            self.masks[mask] = np.array(lanes, np.bool_)
        return self.masks[mask]

    def _access(self, index: int, mask: int) -> None:
        """Add the wavefronts of an access by each warp, ``None`` where they are unknown."""
        import numpy as np

        instruction, (address, *sources) = self.instructions[index], self.addresses[index]
        place, known = self._place(address)
        held, certain = self._known(1 if address.guard is None else self.state[address.guard])
        running = self._running(mask)
        takes: NDArray[Any] = running & ((held != 0) != address.negated)
        unknown: Any = np.zeros(self.count, np.bool_)
        if not (certain is True and known is True):
            unknown = running & np.logical_not(certain) | takes & np.logical_not(known)
        takes, unknown = takes.reshape(-1, _LANES), unknown.reshape(-1, _LANES).any(axis=1)
        place = (place & WORD).reshape(-1, _LANES)
        first = np.where(takes, place, WORD).min(axis=1, keepdims=True) // _WORD * _WORD
        apart = np.where(takes, place - first, -1)
        copied = [lines for each in sources if (lines := self._lines(each, takes)) is not None]
        key = (
            instruction.opcode, instruction.modifiers, apart.tobytes(), unknown.tobytes(),
            *(each.tobytes() for each in copied),
        )  # fmt: skip
        if key not in self.served:
            self.served[key] = tuple([
                None if is_unknown else self._of_warp(instruction, lanes, *lines)
                for lanes, is_unknown, *lines in zip(apart, unknown, *copied, strict=True)
            ])  # fmt: skip
        self.found[index][key] += 1

    def _place(self, address: _Address) -> tuple["NDArray[Any]", Any]:
        """Return the address of each lane, and whether it is known; or of all."""
        import numpy as np

        place: NDArray[Any] = np.full(self.count, address.number)
        known: Any = address.terms is not None
        for at, scale in address.terms or ():
            value, is_known = self._known(self.state[at])
            place, known = place + scale * value, known & is_known
        return place, known

    def _lines(self, source: _Address, takes: "NDArray[Any]") -> "NDArray[Any] | None":
        """Return the 128-byte lines that lanes copy from, by warp; ``None`` if any is unknown."""
        import numpy as np

        place, known = self._place(source)
        if not np.all(known | ~takes.reshape(-1)):
            return None
        lines = (place & WORD).reshape(-1, _LANES) // LINE_BYTES
        apart: NDArray[Any] = lines - np.where(takes, lines, WORD).min(axis=1, keepdims=True)
        return apart

    def _of_warp(
        self, instruction: Instruction, apart: "NDArray[Any]", *lines: "NDArray[Any]"
    ) -> Wavefronts:
        """Return the wavefronts of a warp's access, computed once for lanes equally far apart."""
        key = (
            instruction.opcode, instruction.modifiers, apart.tobytes(),
            *(each.tobytes() for each in lines),
        )  # fmt: skip
        if key not in self.known:
            lanes = [None if each < 0 else each for each in apart.tolist()]
            found = _wavefronts(instruction, lanes)
            for each in lines:
                found = _copying(found, instruction, lanes, each.tolist())
            self.known[key] = found
        return self.known[key]


def _differs(value: Any) -> bool:
    """Whether a position of the state holds a value of each lane, and not one of all."""
    return value is not None and not isinstance(value, int)


def _joined(values: list[int | None]) -> Any:
    """Return the values of lanes as a position of the state holds them."""
    import numpy as np  # once a launch is evaluated, it is loaded

    first = values[0]
    if all(each == first for each in values):
        return first
    return np.array(values, object if None in values else np.int64)


def mean_wavefronts(weighted: Sequence[tuple[Wavefronts, int]]) -> Wavefronts:
    """Return the mean of an access's wavefronts, each with its weight."""
    weight = sum(times for _, times in weighted)
    return Wavefronts(
        *(
            sum(getattr(each, field) * times for each, times in weighted) / weight
            for field in Wavefronts.__struct_fields__
        )
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
    counts = [most_words_in_a_bank(part, size) for part in parts]
    if len(parts) > 1 and not units.moves_matrices(instruction):
        pairs = [first | second for first, second in zip(parts[::2], parts[1::2], strict=True)]
        whole = [most_words_in_a_bank(pair, size) for pair in pairs]
        apart = zip(counts[::2], counts[1::2], strict=True)
        counts = [
            number
            for pair, both in zip(apart, whole, strict=True)
            for number in ([both] if both <= max(pair) else pair)
        ]
    total = sum(counts)
    return Wavefronts(total, total - sum(map(bool, counts)))


def _copying(
    found: Wavefronts, instruction: Instruction, addresses: list[int | None], lines: list[int]
) -> Wavefronts:
    """Return the wavefronts of a copy with the cycles that its lines take, too."""
    size = units.lane_bytes(instruction)
    taken = [None if at is None else (at, line) for at, line in zip(addresses, lines, strict=True)]
    spread = [None if each is None else (lane * size, each[1]) for lane, each in enumerate(taken)]
    return replace(
        found,
        lines=copying(taken, size) - found.total,
        spread=copying(spread, size) - (found.total - found.conflicts),
    )


def _address(instruction: Instruction, operand: Operand) -> _Address:
    guard = instruction.guard
    # In global memory a descriptor precedes it: desc[UR4][R2.64+0x8].
    terms, number = address_terms(operand.text[operand.text.rfind("[") :]) or (None, 0)
    at = None if guard is None else guard.register.index
    place = None if guard is None or at is None else position(guard.register.file, at)
    return _Address(terms, number, place, guard is not None and guard.negated)
