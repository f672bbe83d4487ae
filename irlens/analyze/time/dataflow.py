"""What the registers of a kernel's machine code depend on, and what its instructions compute."""

from collections.abc import Mapping
from operator import or_
from types import MappingProxyType

import msgspec

from irlens.analyze.graph import FlowGraph
from irlens.analyze.sass_cfg import SassCfg
from irlens.analyze.solver import solve
from irlens.isa.dialect import Access
from irlens.isa.sass import Instruction, Section
from irlens.isa.sass.control_flow import condition_of_call, decides
from irlens.isa.sass.local_words import find_local_words
from irlens.isa.sass.operands import Step, ThreadInputs
from irlens.isa.sass.semantics import HANDED_LOADS, dependencies, step_of
from irlens.isa.sass.semantics.shared import serves_others


class UnknownPathError(Exception):
    """A path cannot be followed; the message says why."""


class Slice(msgspec.Struct, frozen=True):
    """The instructions that branches depend on.

    Attributes:
        special: Special registers that they read.
        needed: What they and the branches need of the state before each block, as bits.
    """

    by_block: tuple[tuple[int, ...], ...]
    special: frozenset[str]
    needed: tuple[int, ...]


class DataFlow:
    """The registers, and the words of local memory, that the instructions of a kernel use.

    Args:
        known: The loads whose results launches tell: ``TENSOR_LOADS``, with tensors' contents.

    Attributes:
        serves_others: Whether some warps work for others, which hand them what to do.

    Raises:
        UnknownPathError: The registers of an instruction are not known.
    """

    def __init__(
        self, section: Section, flow: SassCfg, known: frozenset[str] = frozenset()
    ) -> None:
        accesses = list(map(_known, section.instructions, section.accesses))
        self.serves_others = serves_others(section.instructions)
        if self.serves_others:
            known |= HANDED_LOADS
        self.section, self.flow = section, flow
        first = flow.blocks[0].indices if flow.blocks else range(0)
        self.local = find_local_words(section, first, [each.writes for each in accesses])
        self._accesses = [
            dependencies(
                instruction,
                accessed,
                self.local.words.get(instruction.offset),
                known,
            )
            for instruction, accessed in zip(section.instructions, accesses, strict=True)
        ]
        self._conditions = list(map(condition_of_call, section.instructions))
        self._graph = FlowGraph(flow.through_calls)
        self._inputs = ThreadInputs({}, {})
        self._steps: dict[int, Step] = {}

    def slice(self, also: Mapping[int, int] = MappingProxyType({})) -> Slice:
        """Return the instructions that the branches depend on.

        Args:
            also: Registers of other instructions that are asked for, as bits, by index.
        """
        wanted: set[int] = set()
        blocks = self.flow.blocks
        entering = [0] * len(blocks)

        def before(number: int, needed: int) -> int:
            entering[number] = self._through(blocks[number].indices, needed, wanted, also)
            return entering[number]

        nothing = dict.fromkeys(range(len(blocks)), 0)
        solve(self._graph.reversed, nothing, before, or_)
        special = frozenset(
            operand.text
            for index in wanted
            for operand in self.section.instructions[index].operands
            if operand.kind == "special"
        )
        return Slice(
            tuple(tuple(index for index in block.indices if index in wanted) for block in blocks),
            special,
            tuple(entering),
        )

    def step(self, index: int, launch: ThreadInputs) -> Step:
        """Return what an instruction does to a state: what is not understood makes it unknown."""
        if not launch.is_of_launch(self._inputs):
            self._inputs, self._steps = launch, {}
        step = self._steps.get(index)
        if step is None:
            instruction = self.section.instructions[index]
            words = self.local.words.get(instruction.offset)
            step = self._steps[index] = step_of(instruction, launch, words)
        return step

    def accessed(self, index: int) -> Access:
        """Return what the results of an instruction depend on."""
        return self._accesses[index]

    def _through(
        self, indices: range, needed: int, wanted: set[int], also: Mapping[int, int]
    ) -> int:
        """Return what is needed before a block, and add its instructions that are wanted."""
        for index in reversed(indices):
            accessed = self._accesses[index]
            reads, writes, kills = accessed.reads, accessed.writes, accessed.kills
            if index == indices.stop - 1 and decides(self.section.instructions[index]):
                needed |= reads
                continue
            needed |= self._conditions[index]
            if writes & needed:
                wanted.add(index)
                needed = needed & ~kills | reads
            needed |= also.get(index, 0)
        return needed


def _known(instruction: Instruction, accessed: Access | None) -> Access:
    if accessed is None:
        where = f"{instruction.opcode} at {instruction.offset:#06x}"
        raise UnknownPathError(f"{where} is not understood")
    return accessed
