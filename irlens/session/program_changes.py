"""Two recordings compared as programs: what each kernel gains and loses, times its launches."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from irlens.model.recording import (
    CallChange,
    KernelChange,
    KernelTime,
    ProgramChange,
    ProgramRun,
    least_time,
)
from irlens.model.several import grouped, total
from irlens.session.programs import is_recording, program_runs

#: The number that TorchInductor gives the kernels of a graph.
_NUMBER = re.compile(r"_\d+$")


def program_changes(before: str, after: str) -> list[ProgramChange]:
    """Return what changed between the programs of two recordings; nothing of anything else.

    Runs on the same GPU are compared, or one run with the other.

    Raises:
        ArtifactError: The index of a recording cannot be read.
    """
    folders = [Path(name).expanduser() for name in (before, after)]
    if not all(map(is_recording, folders)):
        return []
    first, second = (program_runs(folder, lambda _: None) for folder in folders)
    if len(first) == len(second) == 1:
        return [compare_runs(first[0], second[0])]
    pairs = [(one, other) for one in first for other in second if one.target == other.target]
    return [compare_runs(one, other) for one, other in pairs]


def compare_runs(before: ProgramRun, after: ProgramRun) -> ProgramChange:
    """Return what changed between two runs."""
    first, second = _by_name(before.kernels), _by_name(after.kernels)
    kernels = [
        _kernel(name, first.get(name, []), second.get(name, []))
        for name in dict.fromkeys((*first, *second))
    ]
    kernels.sort(key=lambda each: (each.change_us is None, -abs(each.change_us or 0.0)))
    known = [each for each in kernels if each.change_us is not None]
    return ProgramChange(
        before=before.target,
        after=after.target,
        kernels=tuple(kernels),
        library=tuple(_calls(before, after)),
        before_us=sum(each.before_us or 0.0 for each in known) if known else None,
        after_us=sum(each.after_us or 0.0 for each in known) if known else None,
        library_before_us=least_time(before.library),
        library_after_us=least_time(after.library),
    )


def _by_name(kernels: Sequence[KernelTime]) -> dict[str, list[KernelTime]]:
    """Return kernels by name: lines move, and so do the numbers of generated kernels."""
    return grouped(
        (_NUMBER.sub("", each.kernel) if each.operations else each.kernel, each) for each in kernels
    )


def _kernel(name: str, before: Sequence[KernelTime], after: Sequence[KernelTime]) -> KernelChange:
    (first, first_us), (second, second_us) = _together(before), _together(after)
    return KernelChange(
        kernel=name,
        operations=(*before, *after)[0].operations,
        before=first,
        after=second,
        before_us=first_us,
        after_us=second_us,
    )


def _together(kernels: Sequence[KernelTime]) -> tuple[int | None, float | None]:
    """Return the launches of kernels, and their time if all of it is known."""
    if not kernels:
        return None, None
    return sum(each.launches or 0 for each in kernels), total(each.total_us for each in kernels)


def _calls(before: ProgramRun, after: ProgramRun) -> Iterator[CallChange]:
    """Yield calls of libraries whose number changed, those whose least time changed most first."""
    sides: list[Counter[tuple[str, str]]] = []
    floors: dict[tuple[str, str], float] = {}
    for run in (before, after):
        counts: Counter[tuple[str, str]] = Counter()
        for each in run.library:
            key = each.call.name, each.call.operands
            counts[key] += each.call.calls
            floors[key] = each.floor_us or 0.0
        sides.append(counts)
    first, second = sides
    for key in sorted(floors, key=lambda each: -abs(first[each] - second[each]) * floors[each]):
        if first[key] != second[key]:
            yield CallChange(name=key[0], operands=key[1], before=first[key], after=second[key])
