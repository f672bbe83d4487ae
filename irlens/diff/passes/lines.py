"""A line of Python through the passes: which operations it is at each of them."""

import re
from collections import Counter
from collections.abc import Sequence

from irlens.diff.passes import STAGE, States, without_locations
from irlens.isa import mlir
from irlens.isa.mlir import Module, Operation
from irlens.model.errors import ArtifactError
from irlens.model.passes import FollowedLine, LineStep
from irlens.model.source import SourceLocation

_VALUE = re.compile(r"%[\w$.-]+(?:#\d+)?")


def follow(states: States, location: SourceLocation) -> FollowedLine:
    """Return what each pass made of a line of Python, as far as the IR can be read."""
    steps: list[LineStep] = []
    written: list[str] = []
    until = 0
    for number in range(len(states)):
        if not number or states.before(number + 1) != states.before(number):
            try:
                module = mlir.parse(states.before(number + 1), stage=STAGE)
            except ArtifactError:
                break
            operations = [each for each in module.operations if _is_of(each, location)]
            now = _written(module, operations)
            if not number or _meaning(now) != _meaning(written):
                counts = dict(sorted(Counter(each.name for each in operations).items()))
                steps.append(LineStep(number=number, operations=counts, text=now))
            written = now
        until = number
    return FollowedLine(source=location, code=states.python(location), steps=steps, until=until)


def lines_with_code(states: States, file: str) -> list[int]:
    """Return the lines of a file that have operations in the first IR."""
    try:
        module = mlir.parse(states.before(1), stage=STAGE)
    except ArtifactError:
        return []
    frames = (frame for each in module.operations for frame in each.location)
    return sorted({frame.line for frame in frames if frame.file == file})


def _is_of(operation: Operation, location: SourceLocation) -> bool:
    place = (location.file, location.line)
    return any((frame.file, frame.line) == place for frame in operation.location)


def _written(module: Module, operations: Sequence[Operation]) -> list[str]:
    """Return the first line of each operation, without its location."""
    first = (module.text[each.start : each.stop].partition("\n")[0] for each in operations)
    return [without_locations(each).strip() for each in first]


def _meaning(lines: Sequence[str]) -> list[str]:
    """Return operations without the names of their values, which any pass may renumber."""
    return [_VALUE.sub("%", line) for line in lines]
