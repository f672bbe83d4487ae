"""Registers that the compiler spilled, told apart from arrays that the kernel keeps on the stack.

ptxas puts a kernel's arrays at the bottom of its frame in local memory, in the order in which the
PTX declares them, and spilled registers above. Spills are accessed at constant offsets from the
stack pointer; where the offset alone does not decide, because functions share the space of their
arrays, the line of PTX does that an access was made from. The registers that a called function
saves count as spilled, as they do for ``ptxas -v``, whose bytes of spill stores and loads are the
sums of what is found here.

LLVM marks what spills in a comment, and counts it in the metadata, for the kernel without the
functions that it calls.

What the arrays are for, and where they are accessed, is said as well.
"""

from collections.abc import Iterable, Sequence

import msgspec

from irlens.analyze.cfg import Cfg
from irlens.analyze.pipelines.ptx_loops import table_loads
from irlens.analyze.pressure import line_of
from irlens.isa import ptx
from irlens.isa.dialect import Function, Instruction, SpillingFunction, StackAccess
from irlens.isa.ptx.effects import may_access_local
from irlens.isa.sass import Section, units
from irlens.isa.sass.registers import STACK_POINTER
from irlens.model.resources import ArrayOrigin, LocalArray, SpillSite
from irlens.model.several import total
from irlens.model.source import SourceLocation

_NO_PTX = "the ptx, which declares the kernel's arrays, is not in this capture"
_OPAQUE = "the stack may hold arrays of unknown size, or of functions that cannot be followed"
_MIXED = "spilled registers and arrays cannot be told apart on this stack"
#: Bytes of a register.
_REGISTER = 4


class Stack(msgspec.Struct, frozen=True):
    """The accesses of a function to its stack.

    Attributes:
        spills: Those that spill or reload a register.
        unknown: Why they cannot be told apart; empty if they are.
    """

    spills: tuple[StackAccess, ...] = ()
    arrays: tuple[StackAccess, ...] = ()
    unknown: str = ""


def read_sass(section: Section, kernel: ptx.Function | None) -> Stack:
    """Tell the accesses to local memory of machine code apart.

    Args:
        section: The code, with lines of the PTX as far as they are known.
        kernel: The kernel in PTX, with what it calls.
    """
    accesses = tuple(section.stack_accesses())
    if not accesses:
        return Stack()
    arrays = kernel.local_arrays() if kernel is not None else ()
    if kernel is None:
        return Stack(unknown=_NO_PTX) if _uses_addresses(section) else Stack(accesses)
    if arrays is None:
        return Stack(unknown=_OPAQUE)
    lines = {each.line for each in kernel.instructions if may_access_local(each)}
    bounds = _bounds(arrays)
    found = [_is_array(each, _line(section, each), bounds, lines) for each in accesses]
    touched = any(section.instructions[each.index].ptx_line in lines for each in accesses)
    if not arrays or not (touched or any(each.offset is None for each in accesses)):
        # Arrays that are not accessed are not there.
        known = not arrays or all(_line(section, each) is not None for each in accesses)
        stray = any(each.offset is None for each in accesses)
        return Stack(accesses) if known and not stray else Stack(unknown=_MIXED)
    told = list(zip(accesses, found, strict=True))
    if not _agree(told) or _has_frames(section):
        return Stack(unknown=_MIXED)
    return Stack(
        tuple(each for each, is_array in told if not is_array),
        tuple(each for each, is_array in told if is_array),
    )


def read_amdgcn(function: SpillingFunction[Instruction], count: int | None) -> Stack:
    """Classify the accesses to scratch in AMD assembly.

    Args:
        count: LLVM's count of spilled vector registers; ``None`` if unknown, or if the kernel calls
            functions, which the count leaves out.
    """
    accesses = tuple(function.stack_accesses())
    spills = tuple(each for each in accesses if each.spills)
    arrays = tuple(each for each in accesses if not each.spills)
    if not arrays:
        return Stack(spills)
    if count is None:
        return Stack(spills, arrays) if spills else Stack(unknown=_MIXED)
    if _spilled_registers(spills) == count:
        return Stack(spills, arrays)
    return Stack(accesses) if _spilled_registers(accesses) == count else Stack(unknown=_MIXED)


def find_spills(
    function: SpillingFunction[Instruction], spills: Iterable[StackAccess], flow: Cfg
) -> list[SpillSite]:
    """Return the instructions of a function that spill or reload, in the order of the text.

    An instruction of a function that is called several times counts once, in the deepest loop.
    """
    depths = flow.loop_depths()
    block_of = {index: number for number, block in enumerate(flow.ranges) for index in block}
    sites: dict[int, SpillSite] = {}
    for spill in spills:
        instruction = function.instructions[spill.index]
        depth, known = depths[block_of[spill.index]], sites.get(instruction.line)
        if known is not None and (known.loop_depth is None or depth is None):
            depth = None
        elif known is not None:
            depth = max(depth or 0, known.loop_depth or 0)
        sites[instruction.line] = SpillSite(
            stage=function.stage,
            kind="store" if spill.stores else "load",
            place=spill.place,
            line=instruction.line,
            source=line_of(instruction.locations),
            loop_depth=depth,
            bytes=spill.bytes,
        )
    return [sites[line] for line in sorted(sites)]


def _agree(told: Iterable[tuple[StackAccess, bool | None]]) -> bool:
    """Whether each word of the stack belongs to an array, or to none, in all accesses to it."""
    words: dict[int, bool] = {}
    for each, is_array in told:
        if is_array is None:
            return False
        if each.offset is not None:
            for word in range(each.offset, each.offset + (each.bytes or 0), _REGISTER):
                if words.setdefault(word, is_array) != is_array:
                    return False
    return True


def _is_array(
    each: StackAccess, line: int | None, bounds: tuple[int, int], lines: set[int]
) -> bool | None:
    """Whether an access is to an array; ``None`` where what is known contradicts itself."""
    if each.offset is None:
        return True
    least, most = bounds
    if each.offset < least:
        return True if line is None or line in lines else None
    if each.offset >= most:
        return False
    return None if line is None else line in lines


def _bounds(arrays: Sequence[ptx.LocalArray]) -> tuple[int, int]:
    """Return the bytes of all arrays at least, and at most: functions may share them."""
    by_function: dict[str, list[ptx.LocalArray]] = {}
    for array in arrays:
        by_function.setdefault(array.function, []).append(array)
    least = max((sum(one.bytes for one in some) for some in by_function.values()), default=0)
    return least, sum(map(_most_bytes, by_function.values()))


def _most_bytes(arrays: Sequence[ptx.LocalArray]) -> int:
    """Return the bytes of a function's arrays at most: alignment may leave gaps."""
    total = sum(each.bytes for each in arrays)
    packed = all(one.bytes % other.align == 0 for one in arrays[:-1] for other in arrays)
    return total if packed else total + sum(each.align - 1 for each in arrays)


def _line(section: Section, each: StackAccess) -> int | None:
    return section.instructions[each.index].ptx_line


def _uses_addresses(section: Section) -> bool:
    """Whether the stack pointer is used for more than constant offsets, as for an array."""
    for index, each in enumerate(section.instructions):
        accessed = each.access
        if accessed is None:
            return True
        if accessed.reads & STACK_POINTER and not accessed.writes & STACK_POINTER:
            if each.opcode not in units.LOCAL:
                return True
        elif index and each.opcode in units.LOCAL:
            return True
    return False


def _has_frames(section: Section) -> bool:
    """Whether a called function moves the stack pointer: it has a frame of its own."""
    kernel = min((at for at in section.functions.values() if at), default=None)
    if kernel is None:
        return False
    moves = (each.access for each in section.instructions[kernel:])
    return any(moved is None or moved.writes & STACK_POINTER for moved in moves)


def _spilled_registers(accesses: Iterable[StackAccess]) -> int | None:
    """Return the vector registers that are stored; ``None`` where a width is unknown."""
    stores = (each for each in accesses if each.stores and each.place != "VGPR lane")
    width = total(each.bytes for each in stores)
    return None if width is None else width // _REGISTER


def arrays_of_ptx(kernel: ptx.Function) -> list[LocalArray]:
    """Return the arrays that a kernel and the functions that it calls declare, by function.

    The slow path of libdevice's ``sin``, ``cos`` and ``tan`` multiplies large arguments by the
    digits of 2/pi, which are in a table of the module, and keeps the product in an array.
    """
    expansion = kernel.expansion
    of_tables = table_loads(kernel) if kernel.tables & ptx.DIGITS_OF_PI else frozenset[int]()
    if expansion is None:
        return _arrays_of(kernel, kernel.instructions, of_tables)
    owners = [expansion.copies[copy].function.name for copy, _ in expansion.origins]
    return [
        array
        for function in expansion.functions
        for array in _arrays_of(
            function,
            [
                each
                for each, owner in zip(kernel.instructions, owners, strict=True)
                if owner == function.name
            ],
            of_tables,
        )
    ]


def arrays_accessed(
    function: Function[Instruction], accesses: Sequence[StackAccess]
) -> list[LocalArray]:
    """Return one array of unknown size if AMD's assembly accesses any in scratch."""
    sources = _sources(function.instructions[each.index] for each in accesses)
    return [LocalArray(origin="indexed", bytes=None, sources=sources)] if accesses else []


def _arrays_of(
    written: ptx.Function, instructions: Sequence[ptx.Instruction], of_tables: frozenset[int]
) -> list[LocalArray]:
    arrays = written.local_arrays()
    if not arrays:
        return []
    sources = _sources(each for each in instructions if may_access_local(each))
    digits = set(_sources(each for each in instructions if each.start in of_tables))
    driver = {n for n, call in written.calls().items() if not (call.callee or call.unknown)}
    calls = {written.instructions[n].line for n in driver}
    printed = set(_sources(each for each in instructions if each.line in calls))
    origin: ArrayOrigin = "indexed"
    if sources and digits.issuperset(sources):
        origin = "trigonometry"
    elif sources and printed.issuperset(sources):
        origin = "arguments"
    size = sum(each.bytes for each in arrays)
    return [LocalArray(origin=origin, bytes=size, sources=sources)]


def _sources(instructions: Iterable[Instruction]) -> list[SourceLocation]:
    found = (line_of(each.locations) for each in instructions)
    return sorted({line for line in found if line is not None})
