"""A line of Python through the passes: which operations it is at each of them."""

import re
from collections import Counter
from collections.abc import Collection, Sequence

from irlens.diff.code.patience import common
from irlens.diff.passes import STAGE, States, without_locations
from irlens.isa import mlir
from irlens.isa.mlir import Module, Operation
from irlens.model.errors import ArtifactError
from irlens.model.passes import FollowedLine, LineStep
from irlens.model.source import SourceLocation

_VALUE = re.compile(r"%[\w$.-]+(?:#\d+)?")
_ALIAS = re.compile(r"#\w+")
#: The layout of a tensor, but not that which it is a slice of.
_KIND = re.compile(r"(?<=, )#\w+\.\w+")
#: The order of operations within a stage of a schedule.
_CLUSTER = re.compile(r"loop\.cluster = \d+ : i32(?:, )?")
#: What the pipeliner's passes note at an operation before they move it.
_SCHEDULE = re.compile(r"\btt[._]latency\b|\bloop\.stage\b")
_OPERATION = re.compile(r"(?:^|= )\"?([a-z]\w*(?:\.\w+)+)")


def follow(states: States, location: SourceLocation, *, until: int | None = None) -> FollowedLine:
    """Return what each pass made of a line of Python, as far as the IR can be read.

    Args:
        until: The last pass to look at; all by default.
    """
    steps: list[LineStep] = []
    written: list[str] = []
    last = 0
    for number in range(len(states) if until is None else until + 1):
        if not number or states.before(number + 1) != states.before(number):
            if not states.before(number + 1) or states.is_of_llvm(number + 1):
                break
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
        last = number
    code = states.capture.python_line(location) or ""
    return FollowedLine(source=location, code=code, steps=steps, until=last)


class LineFollower:
    """Finds a line's operations in the IR between passes, each text read once.

    Args:
        location: The line of Python; ``None`` for all of the kernel, and then for the types of
            results alone, which say what is allocated.
        names: The operations to look at; all of the line if empty.
        renamed: Words of the IR, each with the one to read in its place.
    """

    def __init__(
        self,
        location: SourceLocation | None,
        names: Collection[str] = (),
        renamed: Sequence[tuple[str, str]] = (),
    ) -> None:
        self._location, self._names, self._renamed = location, frozenset(names), renamed
        self._text = ""
        self._found: list[str] | None = None

    def at(self, text: str) -> list[str] | None:
        """Return the line's operations, layouts written out; ``None`` if the IR cannot be read."""
        if text != self._text:
            self._text = text
            for word, other in self._renamed:
                text = text.replace(word, other)
            try:
                module = mlir.parse(text, stage=STAGE)
            except ArtifactError:
                self._found = None
                return None
            operations = [
                each
                for each in module.operations
                if (not self._names or each.name in self._names)
                and (self._location is None or _is_of(each, self._location))
            ]
            written = _meaning(_written(module, operations))
            if self._location is None:
                written = sorted(each.rpartition("-> ")[2] for each in written)
            written = [_CLUSTER.sub("", each) for each in written]
            self._found = [expanded(module, each) for each in written]
        return self._found


def expanded(module: Module, written: str) -> str:
    """Return a type or an operation with its layouts in place of their aliases."""
    return _ALIAS.sub(lambda alias: module.aliases.get(alias.group(), alias.group()), written)


def deciding(
    before: States,
    after: States,
    location: SourceLocation | None,
    names: Collection[str] = (),
    *,
    layouts: bool = True,
    lasting: bool = False,
    renamed: Sequence[tuple[str, str]] = (),
) -> tuple[str, int | None]:
    """Return the first pass after which a line of Python differs between two compilations.

    Layouts count only where the line is the same in both before the passes, else their kinds alone.

    Args:
        location: The line; ``None`` for all of the kernel.
        names: The operations to look at; all of the line if empty.
        lasting: Whether to return the pass from which on the operations' numbers differ for good,
            as far as the IR can be read, in place of the first.
        renamed: Words of the second IR, each with the one to read in its place.

    Returns:
        The pass and its number in the first compilation; ``None`` for a pass that only the second
            runs. The name is empty where the line does not differ as far as it can be read, or
            already does before the passes that both ran.
    """
    sides = LineFollower(location, names), LineFollower(location, names, renamed)
    ran = [[each.name for each in side.dumps.passes] for side in (before, after)]
    pairs = common(*ran)
    if not pairs:
        return "", None
    if lasting:
        return _lasting(before, after, pairs, sides)
    starts = before.before(pairs[0][0] + 1), after.before(pairs[0][1] + 1)
    known = sides[0].at(starts[0]), sides[1].at(starts[1])
    is_exact = layouts and known[0] == known[1]
    if names and known[0] != known[1]:
        return deciding(before, after, location, layouts=layouts, renamed=renamed)
    if not is_exact and _named(known[0]) != _named(known[1]):
        return "", None
    reached, read = pairs[0][1], _laid_out if layouts else _named
    for i, j in pairs:
        texts = before.after(i + 1), after.after(j + 1)
        if texts[0] is None or texts[1] is None:
            continue
        now = sides[0].at(texts[0]), sides[1].at(texts[1])
        if now[0] is None or now[1] is None:
            break
        if (now[0] != now[1]) if is_exact else (read(now[0]) != read(now[1])):
            alone = range(reached + 1, j + 1)  # passes that only the second runs
            first = next((n for n in alone if sides[1].at(after.after(n) or "") != known[1]), 0)
            return (ran[1][first - 1], None) if first else (ran[0][i], i + 1)
        if names and known[0] and not now[0] and _is_lowered_otherwise(texts, location):
            return ran[0][i], i + 1
        known, reached = now, j + 1
    return "", None


def first_changing(states: States, others: States, marks: Sequence[str]) -> tuple[str, int | None]:
    """Return the first pass of some kind that changes one compilation, and not another.

    One that changes operations of the first alone counts, too: Hopper's pass notes on sm_80 that a
    loop is not to be pipelined.

    Args:
        marks: Parts of the names of passes of this kind.

    Returns:
        The pass and its number in the other compilation; ``None`` if that does not run it. The
            name is empty if there is no such pass.
    """
    ran = [each.name for each in others.dumps.passes]
    for number, each in enumerate(states.dumps.passes, 1):
        is_meant = any(mark in each.name for mark in marks)
        if not is_meant or states.after(number) in (None, each.text):
            continue
        if each.name not in ran:
            return each.name, None
        theirs = ran.index(each.name) + 1
        has_same = others.counts_after(theirs) == others.counts[theirs - 1]
        adds = states.counts_after(number) != states.counts[number - 1]
        if others.after(theirs) == others.before(theirs) or (adds and has_same):
            return each.name, theirs
    return "", None


def _lasting(
    before: States,
    after: States,
    pairs: Sequence[tuple[int, int]],
    sides: tuple[LineFollower, LineFollower],
) -> tuple[str, int | None]:
    """Return the pass from which on the numbers of operations differ, till they are lowered."""
    found: tuple[str, int | None] = "", None
    was_same = True
    for i, j in pairs:
        one = sides[0].at(before.after(i + 1) or "")
        other = sides[1].at(after.after(j + 1) or "")
        if one is None or other is None or before.stages[i] == "llir":
            break
        is_same = _named(one) == _named(other)
        if was_same and not is_same:
            found = before.dumps.passes[i].name, i + 1
        was_same = is_same
    return ("", None) if was_same else found


def _is_lowered_otherwise(texts: Sequence[str | None], location: SourceLocation | None) -> bool:
    """Whether a line whose operations are gone has become other operations on two sides."""
    one, other = (_named(LineFollower(location).at(text or "")) for text in texts)
    return one != other


def _named(written: Sequence[str] | None) -> Counter[str]:
    """Return the names of operations as written, and the attributes that schedule them."""
    names = Counter(filter(None, map(name_of, written or ())))
    names.update(name for each in written or () for name in _SCHEDULE.findall(each))
    return names


def _laid_out(written: Sequence[str] | None) -> Counter[str]:
    """Return the same, and the kinds of the layouts: "#ttg.slice", as of a tile of any extent."""
    return _named(written) + Counter(kind for each in written or () for kind in _KIND.findall(each))


def name_of(written: str) -> str:
    """Return the name in the printed form of an operation; empty if there is none."""
    found = _OPERATION.search(written)
    return found[1] if found is not None else ""


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
