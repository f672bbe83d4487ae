"""Warp specialization: the warps that run each part of a kernel.

The kernel's default warps run everything but the partitions of ``ttg.warp_specialize``. Further
warps, padded to whole warp groups of four, wait in a dispatch loop: each reads the number of its
partition from a byte of shared memory, runs the partition and waits again. Before that, each warp
group may take or give away registers with ``setmaxnreg`` (Triton,
``lib/Conversion/TritonGPUToLLVM/WarpSpecializeUtility.cpp``; PTX ISA, ``setmaxnreg``).
"""

from collections.abc import Iterable

import msgspec

from irlens.analyze.cfg import Cfg
from irlens.analyze.solver import reach
from irlens.isa.mlir import Module, Operation
from irlens.isa.ptx import Function, Immediate, Instruction, Register, Symbol, effects
from irlens.isa.ptx.evaluation import Evaluator, Values
from irlens.model.resources import WarpGroup
from irlens.model.several import only

#: Threads of a warp, on every GPU of NVIDIA's.
WARP_SIZE = 32

#: Warps of a warp group (PTX ISA, ``wgmma``): the partitions' warps fill whole ones.
_WARPS_PER_GROUP = 4

NO_PTX = "the warps of the ttgir's partitions are read from ptx, which is not in this capture"
NO_TTGIR = "the ttgir has the number of warps of each partition, and is not in this capture"
SEVERAL = "the kernel specializes its warps in several places, each time for other partitions"
OTHER_WARPS = "the warps of the ttgir's partitions do not add up to those of the ptx"
NOT_FOUND = "the entry of a partition was not found in the ptx"


class Specialization(msgspec.Struct, frozen=True):
    """The warp groups of a warp-specialized kernel.

    Attributes:
        groups: The default warps first, then the partitions in order; empty if unknown.
        of_block: By basic block of the PTX the only group that runs it; blocks of several groups,
            or of unknown ones, are left out.
        reason: Why the groups are unknown; empty if they are known.
    """

    groups: tuple[WarpGroup, ...] = ()
    of_block: dict[int, int] = {}
    reason: str = ""


def is_specialized(ttgir: Module) -> bool:
    """Whether a kernel has partitions for different warps."""
    return any(_partitions(each) for each in ttgir.doing("partition"))


def find(function: Function, cfg: Cfg, ttgir: Module | None) -> Specialization | None:
    """Find the warp groups of a kernel and their blocks.

    Returns:
        ``None`` for a kernel whose warps all do the same.
    """
    if ttgir is None:
        dispatch = _Dispatch.find(function, cfg)
        return Specialization(reason=NO_TTGIR) if dispatch and dispatch.is_named else None
    operations = [each for each in ttgir.doing("partition") if _partitions(each)]
    if not operations:
        return None
    own = ttgir.integer("ttg.num-warps") or 0
    partitions = _partitions(operations[0])
    if any(_partitions(each) != partitions for each in operations):
        return Specialization(reason=SEVERAL)
    extra = -(-sum(partitions) // _WARPS_PER_GROUP) * _WARPS_PER_GROUP
    if own < 1 or function.threads_per_cta != (own + extra) * WARP_SIZE:
        return Specialization(reason=OTHER_WARPS)
    dispatch = _Dispatch.find(function, cfg)
    starts = _starts(dispatch, partitions, extra, len(operations)) if dispatch else None
    if dispatch is None or starts is None:
        return Specialization(reason=NOT_FOUND)
    parts = [[dispatch.reached(start) for start in group] for group in starts]
    groups = (
        WarpGroup(
            name=f"partition{number - 1}" if number else "default",
            num_warps=warps,
            registers=only(map(dispatch.registers, starts[number], parts[number])),
        )
        for number, warps in enumerate((own, *partitions))
    )
    return Specialization(groups=tuple(groups), of_block=_alone([_union(each) for each in parts]))


def _partitions(operation: Operation) -> list[int]:
    """Return the warps of each partition: its head has "partition0", "num_warps", the number."""
    words = operation.words
    return [
        int(words[at + 2])
        for at, word in enumerate(words[:-2])
        if word.startswith("partition") and words[at + 1] == "num_warps" and words[at + 2].isdigit()
    ]


def _starts(
    dispatch: "_Dispatch", partitions: list[int], extra: int, places: int
) -> list[list[int]] | None:
    """Return the blocks in which the default warps and each partition begin, in every place.

    Triton numbers the partitions of all places in a row, and fills each place up with idle ones:
    one for each power of two in the number of warps left over (Triton,
    ``lib/Conversion/TritonGPUToLLVM/AllocateWarpGroups.cpp``).

    Args:
        extra: Warps beyond the default ones.
        places: How many times the kernel specializes its warps.
    """
    step = len(partitions) + (extra - sum(partitions)).bit_count()
    starts = []
    for number in range(len(partitions)):
        found = (dispatch.entry(place * step + number) for place in range(places))
        starts.append([entry for entry in found if entry is not None])
    entries = {entry for group in starts for entry in group}
    return [[0], *starts] if len(entries) == len(partitions) * places else None


def _union(parts: Iterable[Iterable[int]]) -> list[int]:
    return sorted({block for part in parts for block in part})


def _alone(parts: list[list[int]]) -> dict[int, int]:
    """Return for each block of a single part that part."""
    holders: dict[int, set[int]] = {}
    for number, part in enumerate(parts):
        for block in part:
            holders.setdefault(block, set()).add(number)
    return {block: min(held) for block, held in holders.items() if len(held) == 1}


class _Dispatch:
    """The dispatch loop, in which warps wait for the number of their partition."""

    def __init__(
        self, function: Function, cfg: Cfg, *, at: int, block: int, header: int, barrier: int
    ) -> None:
        self._function = function
        self._cfg = cfg
        self._at = at
        self._block = block
        self._header = header
        self._barrier = barrier
        self._evaluator = Evaluator(function)

    @classmethod
    def find(cls, function: Function, cfg: Cfg) -> "_Dispatch | None":
        """Return the only place in a loop where a byte is read after a barrier."""
        forest = cfg.forest
        places = []
        for block, extent in enumerate(cfg.ranges):
            loop, barrier = forest.innermost[block], None
            for index in extent:
                instruction = function.instructions[index]
                awaited = effects.barrier(instruction)
                barrier = barrier if awaited is None else awaited
                reads = effects.loads_shared_byte(instruction)
                if barrier is not None and loop is not None and reads:
                    header = forest.loops[loop].header
                    places.append(
                        cls(function, cfg, at=index, block=block, header=header, barrier=barrier)
                    )
        return places[0] if len(places) == 1 else None

    @property
    def is_named(self) -> bool:
        """Whether its barrier is not the one that all warps of a CTA use."""
        return self._barrier != 0

    def entry(self, number: int) -> int | None:
        """Return the block in which a partition begins; ``None`` if unknown."""
        read = self._function.instructions[self._at].operands[0]
        values: Values = {read.name: number} if isinstance(read, Register) else {}
        block, start = self._block, self._at + 1
        for _ in self._cfg.blocks:
            for index in range(start, self._cfg.blocks[block].stop):
                instruction = self._function.instructions[index]
                if not effects.dispatches(instruction):
                    return block if block != self._block else None
                self._evaluator.execute(instruction, values)
            following = self._following(block, values)
            if following is None:
                return None
            block, start = following, self._cfg.blocks[following].start
        return None

    def _following(self, block: int, values: Values) -> int | None:
        """Return the successor of a block, if the condition of its branch is known."""
        targets, extent = self._cfg.successors[block], self._cfg.ranges[block]
        last = self._function.instructions[extent[-1]] if extent else None
        if last is not None and effects.chooses(last):
            return self._chosen(last, values)
        if last is None or not effects.branches(last) or last.predicate is None:
            return targets[0] if len(targets) == 1 else None
        holds = values.get(last.predicate)
        if holds is None or len(targets) != 2:
            return None
        return targets[0] if bool(holds) != last.negated else targets[1]

    def _chosen(self, branch: Instruction, values: Values) -> int | None:
        """Return the block that a ``brx.idx`` leads to."""
        at, listed = (*branch.operands, None, None)[:2]
        index = None if at is None else self._evaluator.address(at, values)
        names = None
        if isinstance(listed, Symbol):
            names = self._function.targets(listed.name, branch.scope)
        if index is None or names is None or index >= len(names):
            return None
        label = self._function.label(names[index], branch.scope)
        starts = {block.start: number for number, block in enumerate(self._cfg.blocks)}
        return starts.get(label.position) if label is not None else None

    def reached(self, start: int) -> list[int]:
        """Return the blocks reachable from one without passing the dispatch loop."""
        return sorted(reach([start], lambda block: {*self._cfg.successors[block]} - {self._header}))

    def registers(self, start: int, part: list[int]) -> int | None:
        """Return the register count of a part's first ``setmaxnreg``.

        Args:
            start: Its first block. The default warps release the others at the barrier; only what
                follows counts.
        """
        begun = start != 0
        for block in part if start == 0 else [start]:
            for index in self._cfg.ranges[block]:
                instruction = self._function.instructions[index]
                begun = begun or effects.barrier(instruction) == self._barrier
                if begun and effects.sets_registers(instruction):
                    count = instruction.operands[-1]
                    value = count.value if isinstance(count, Immediate) else None
                    return value if isinstance(value, int) else None
        return None
