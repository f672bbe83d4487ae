"""Arrays that a kernel keeps in local memory, and what they are for."""

from collections.abc import Iterable, Sequence

from irlens.analyze.pipelines.ptx_loops import table_loads
from irlens.analyze.pressure import line_of
from irlens.isa import ptx
from irlens.isa.dialect import Function, Instruction, StackAccess
from irlens.model.resources import ArrayOrigin, LocalArray
from irlens.model.source import SourceLocation


def of_ptx(kernel: ptx.Function) -> list[LocalArray]:
    """Return the arrays that a kernel and the functions that it calls declare, by function.

    The slow path of libdevice's ``sin``, ``cos`` and ``tan`` multiplies large arguments by the
    digits of 2/pi, which are in a table of the module, and keeps the product in an array.
    """
    expansion = kernel.expansion
    of_tables = table_loads(kernel) if kernel.tables & ptx.DIGITS_OF_PI else frozenset[int]()
    if expansion is None:
        return _of_function(kernel, kernel.instructions, of_tables)
    owners = [expansion.copies[copy].function.name for copy, _ in expansion.origins]
    return [
        array
        for function in expansion.functions
        for array in _of_function(
            function,
            [
                each
                for each, owner in zip(kernel.instructions, owners, strict=True)
                if owner == function.name
            ],
            of_tables,
        )
    ]


def of_accesses(
    function: Function[Instruction], accesses: Sequence[StackAccess]
) -> list[LocalArray]:
    """Return one array of unknown size if AMD's assembly accesses any in scratch."""
    sources = _lines(function.instructions[each.index] for each in accesses)
    return [LocalArray(origin="indexed", bytes=None, sources=sources)] if accesses else []


def _of_function(
    written: ptx.Function, instructions: Sequence[ptx.Instruction], of_tables: frozenset[int]
) -> list[LocalArray]:
    arrays = written.local_arrays()
    if not arrays:
        return []
    sources = _lines(each for each in instructions if written.may_access_arrays(each))
    digits = set(_lines(each for each in instructions if each.start in of_tables))
    driver = {n for n, call in written.calls().items() if not (call.callee or call.unknown)}
    calls = {written.instructions[n].line for n in driver}
    printed = set(_lines(each for each in instructions if each.line in calls))
    origin: ArrayOrigin = "indexed"
    if sources and digits.issuperset(sources):
        origin = "trigonometry"
    elif sources and printed.issuperset(sources):
        origin = "arguments"
    size = sum(each.bytes for each in arrays)
    return [LocalArray(origin=origin, bytes=size, sources=sources)]


def _lines(instructions: Iterable[Instruction]) -> list[SourceLocation]:
    found = (line_of(each.locations) for each in instructions)
    return sorted({line for line in found if line is not None})
