"""Products in tensor memory (``tcgen05``): what each multiplies.

One thread issues a product for its whole CTA. Its sizes are in a descriptor, which is in a register
and which the machine code computes from constants. So the instructions that it depends on are run
for that thread along its path.
"""

from collections import defaultdict
from collections.abc import Mapping

import msgspec

from irlens.analyze.time.dataflow import DataFlow, UnknownPathError
from irlens.analyze.time.loop_runs import Executions, Path
from irlens.isa.sass import Instruction, Operand, Section
from irlens.isa.sass.operands import ThreadInputs, read_address, register_bits
from irlens.isa.sass.timing import is_tensor_memory_product
from irlens.isa.sass.units import WAVEFRONT

#: Rounds of a repeated segment that are run.
_ROUNDS = 8
#: Bytes of a row of A and of a column of B that a product takes, of any type ("PTX ISA", tcgen05,
#: matrix shapes of dense products).
_DEPTH = 32
#: Rows that a product occupies the tensor cores for: those of 64 leave half of the lanes of tensor
#: memory, and so half of the tensor cores, without work ("PTX ISA", tcgen05, data path layouts).
_ROWS = 128
#: Modifiers of products whose rate is not known: of two CTAs, and with B kept for the next.
_OTHERS = frozenset({"2CTA", "WS"})
#: The bit of a descriptor that says that A is sparse.
_SPARSE = 1 << 2


class Product(msgspec.Struct, frozen=True):
    """What one product multiplies.

    Attributes:
        shared: Whether A is in shared memory; it may be in tensor memory.
    """

    rows: int
    columns: int
    shared: bool

    @property
    def multiply_adds(self) -> float:
        """Multiply-adds of 16 bits that the tensor cores could do meanwhile."""
        return max(self.rows, _ROWS) * self.columns * _DEPTH / 2

    @property
    def shared_cycles(self) -> float:
        """Cycles for which shared memory delivers the operands."""
        return (self.columns + (self.rows if self.shared else 0)) * _DEPTH / WAVEFRONT


def products_of(data: DataFlow, issuing: Mapping[Path, ThreadInputs]) -> dict[int, Product]:
    """Return the products in tensor memory, by index of the instruction.

    Args:
        issuing: The paths of warps that issue products, one or more, each with what the first lane
            of such a warp can read of the launch.

    Raises:
        UnknownPathError: A product's sizes or its rate are not known.
    """
    instructions = data.section.instructions
    found = _values(data, _descriptors(data.section), issuing)
    return {index: _product(instructions[index], each) for index, each in found.items()}


def _descriptors(section: Section) -> dict[int, Operand]:
    """Return the operand of each product that holds its sizes, by index."""
    operands = {}
    for index, each in enumerate(section.instructions):
        if is_tensor_memory_product(each):
            found = [one for one in each.operands if one.text.startswith("idesc")]
            if not found:
                raise UnknownPathError(f"{each.opcode} at {each.offset:#06x} is not understood")
            operands[index] = found[0]
    return operands


def _values(
    data: DataFlow, operands: Mapping[int, Operand], issuing: Mapping[Path, ThreadInputs]
) -> Mapping[int, set[int | None]]:
    """Return the values of operands over the executions of their instructions, if there are any."""
    asked = {index: register_bits(each.registers) for index, each in operands.items()}
    executions = Executions(data, asked)
    readers = {n: read_address(each.text.removeprefix("idesc")) for n, each in operands.items()}
    found: defaultdict[int, set[int | None]] = defaultdict(set)
    for path, thread in issuing.items():
        rounds = {each.times: min(each.times, _ROUNDS) for each in path.segments}
        for index, state in executions.along(path, thread, rounds):
            found[index].add(readers[index](state))
    return found


def _product(instruction: Instruction, descriptors: set[int | None]) -> Product:
    """Read a product's sizes in its descriptor ("PTX ISA", tcgen05, instruction descriptor)."""
    place = f"{instruction.opcode} at {instruction.offset:#06x}"
    size: set[tuple[int, int]] = set()
    for each in descriptors:
        if each is None:
            raise UnknownPathError(f"the sizes of {place} are unknown")
        if _OTHERS.intersection(instruction.modifiers) or each & _SPARSE:
            raise UnknownPathError(f"how long a product of the form of {place} takes is unknown")
        size.add((each >> 24 & 31, each >> 17 & 63))
    if len(size) != 1 or not all(*size):
        raise UnknownPathError(f"the sizes of {place} are unknown")
    ((rows, columns),) = size
    return Product(16 * rows, 8 * columns, instruction.operands[0].text.startswith("gdesc"))
