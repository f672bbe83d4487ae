"""Global-memory traffic of a launch: every byte that all programs of its grid request.

The integer and pointer part of the ttir is evaluated for all programs at once. What depends on
data, and what is not understood, makes the traffic unknown, with the line and the reason.
"""

from collections.abc import Mapping
from math import prod

from irlens.analyze.traffic.counting import Tally
from irlens.analyze.traffic.coverage import Coverage
from irlens.analyze.traffic.programs import ATOMICS, LOADS, STORES, Key, Programs
from irlens.analyze.traffic.values import TooLargeError, UnknownTrafficError
from irlens.isa.mlir import Module, Operation
from irlens.model.traffic import Access, Traffic

#: Programs that are evaluated at once: 1 MB for each array of a number.
_AT_ONCE = 1 << 17


def count(
    module: Module,
    arguments: Mapping[str, int | float | str],
    grid: tuple[int, int, int],
    *,
    first: int | None = None,
) -> Traffic:
    """Count the bytes that a launch requests.

    Args:
        module: The kernel's ttir.
        arguments: The launch's arguments by name; of tensors only the name is used.
        grid: Programs in x, y and z.
        first: Count only so many programs, the first in the order x, y, z.
    """
    functions = [each for each in module.named("tt.func") if "public" in each.words]
    if len(functions) != 1 or module.unknown:
        return Traffic(reason="the ttir has no single kernel, or is not understood")
    programs = prod(grid) if first is None else min(first, prod(grid))
    tallies: dict[Key, Tally] = {}
    try:
        begin, step = 0, _AT_ONCE
        while begin < programs:
            some = Programs(module, arguments, grid, range(begin, min(begin + step, programs)))
            try:
                some.run(functions[0])
            except TooLargeError:
                if step == 1:
                    raise UnknownTrafficError("a tensor of addresses is too large") from None
                step = max(1, min(step, programs) // 4)
                continue
            for key, tally in some.tallies.items():
                tallies.setdefault(key, Tally()).update(tally)
            begin += step
        return _traffic(module, tallies)
    except UnknownTrafficError as error:
        return Traffic(reason=str(error))


def _traffic(module: Module, tallies: dict[Key, Tally]) -> Traffic:
    accesses = [
        _access(module.operations[index], argument, tally)
        for (index, argument), tally in sorted(tallies.items())
    ]
    reads, writes = LOADS | ATOMICS, STORES | ATOMICS
    return Traffic(
        read_bytes=sum(each.bytes for each in accesses if each.operation in reads),
        written_bytes=sum(each.bytes for each in accesses if each.operation in writes),
        distinct_read_bytes=_distinct(module, tallies, reads),
        distinct_written_bytes=_distinct(module, tallies, writes),
        accesses=accesses,
    )


def _access(operation: Operation, argument: str, tally: Tally) -> Access:
    return Access(
        line=operation.span.line,
        source=operation.location[0] if operation.location else None,
        operation=operation.name,
        argument=argument,
        bytes=tally.bytes,
        distinct_bytes=tally.coverage.size(),
        masked=tally.masked,
    )


def _distinct(module: Module, tallies: dict[Key, Tally], operations: frozenset[str]) -> int:
    """Return the bytes that some operations access, each counted once."""
    arguments: dict[str, Coverage] = {}
    for (index, argument), tally in tallies.items():
        if module.operations[index].name in operations:
            arguments.setdefault(argument, Coverage()).update(tally.coverage)
    return sum(each.size() for each in arguments.values())
