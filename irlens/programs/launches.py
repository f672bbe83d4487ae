"""Sums up what the processes of a run counted."""

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from irlens.compiler.tally import Counts, LaunchKey, Origin
from irlens.model import files
from irlens.model.config import Target
from irlens.model.recording import LibraryCall, RecordedKernel, RecordedLaunches, RecordedRun
from irlens.model.several import grouped
from irlens.programs.job import COUNTS


def recorded_run(
    folder: Path, entries: Mapping[str, str], target: Target, *, is_fake: bool
) -> RecordedRun:
    """Return what a run of a program launched.

    Args:
        entries: The names of its captures, by their directory in Triton's cache.
    """
    counts = list(_counts(folder))
    launches: Counter[LaunchKey] = Counter()
    tried: Counter[LaunchKey] = Counter()
    arguments: dict[LaunchKey, dict[str, int | float | str]] = {}
    library: Counter[LibraryCall] = Counter()
    origins: dict[str, Origin] = {}
    for each in counts:
        for counter, counted in ((launches, each.launches), (tried, each.tried)):
            for key, args, number in counted:
                counter[key] += number
                arguments.setdefault(key, args)
        library.update(dict(each.library))
        origins |= each.origins
    by_entry, tried_by_entry = (
        grouped((key.entry, key) for key in keys) for keys in (launches, tried)
    )
    kernels = []
    for directory, name in entries.items():
        keys = by_entry.get(directory, [])
        kernel = name.partition("-")[2]
        origin = origins.get(kernel) or Origin(_line(launches, keys), ())
        kernels.append(
            RecordedKernel(
                entry=name,
                kernel=kernel,
                source=origin.source,
                operations=origin.operations,
                launches=_launches(keys, launches, arguments) if counts else None,
                tried=_launches(tried_by_entry.get(directory, []), tried, arguments),
            )
        )
    calls = [msgspec.structs.replace(call, calls=number) for call, number in library.items()]
    calls.sort(key=lambda call: (-(call.flops or 0) * call.calls, -call.bytes * call.calls))
    return RecordedRun(
        target=target,
        kernels=tuple(kernels),
        library=tuple(calls),
        others=sum(each.others for each in counts),
        is_fake=is_fake,
    )


def _launches(
    keys: Sequence[LaunchKey],
    launches: Counter[LaunchKey],
    arguments: Mapping[LaunchKey, dict[str, int | float | str]],
) -> tuple[RecordedLaunches, ...]:
    """Return the launches of a variant, those of several lines together."""
    found: dict[tuple[object, ...], RecordedLaunches] = {}
    for key in keys:
        same = (key.grid, key.tensors)
        number = launches[key] + (found[same].number if same in found else 0)
        args = found[same].args if same in found else arguments[key]
        found[same] = RecordedLaunches(number=number, args=args, grid=key.grid)
    return tuple(sorted(found.values(), key=lambda each: -each.number))


def _line(launches: Counter[LaunchKey], keys: Sequence[LaunchKey]) -> str:
    """Return the line with the most launches."""
    lines: Counter[str] = Counter()
    for key in keys:
        lines[key.source] += launches[key]
    return lines.most_common(1)[0][0] if lines else ""


def _counts(folder: Path) -> list[Counts]:
    """Return the counts of all processes that were not killed."""
    found = []
    for path in sorted(folder.glob(f"*{COUNTS}")):
        with suppress(OSError, *files.DECODE_ERRORS):
            found.append(msgspec.json.decode(path.read_bytes(), type=Counts))
    return found
