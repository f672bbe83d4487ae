"""Which configuration of an autotuned kernel counts as launched where no GPU timed any.

Without a GPU an autotuner takes its first configuration, which may be far from the fastest. So the
one that is estimated to be the fastest counts, as a GPU would have chosen by its times.
"""

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Literal, NamedTuple, TypeAlias

from msgspec.structs import replace

from irlens.model.label import labels
from irlens.model.ranking import rank_reports
from irlens.model.recording import RecordedKernel, RecordedLaunches
from irlens.model.report import Report
from irlens.model.several import grouped

#: A kind of launch of a variant.
LaunchOf: TypeAlias = tuple[RecordedKernel, RecordedLaunches]


class Choice(NamedTuple):
    """A configuration that counts as launched, see ``KernelTime``."""

    how: Literal["estimated", "first"]
    label: str
    among: int


def tunings(
    kernels: Sequence[RecordedKernel], most: int
) -> Iterator[tuple[LaunchOf, list[LaunchOf]]]:
    """Yield each launch whose configuration an autotuner took, and all configurations it tried.

    Args:
        kernels: The variants of a run without a GPU.
        most: Kinds of launches of each variant that are looked at, the most frequent ones.
    """
    every = ((kernel, each) for kernel in kernels for each in kernel.tried)
    tried = grouped((_call(*each), each) for each in every)
    for kernel in kernels:
        for launch in (kernel.launches or ())[:most]:
            among = tried.get(_call(kernel, launch), [])
            if len(among) > 1 and any(each.entry == kernel.entry for each, _ in among):
                yield (kernel, launch), among


def _call(kernel: RecordedKernel, launch: RecordedLaunches) -> Hashable:
    return kernel.kernel, tuple(launch.args.items())


def with_fastest(
    kernels: Sequence[RecordedKernel],
    found: Sequence[tuple[LaunchOf, list[LaunchOf]]],
    report_of: Callable[[LaunchOf], Report | None],
) -> tuple[list[RecordedKernel], dict[str, Choice]]:
    """Return the variants as if autotuners had taken what is estimated to be the fastest.

    Args:
        kernels: The variants of a run without a GPU.
        report_of: Returns the report of a launch; ``None`` where there is none.

    Returns:
        The variants, and how those that count as launched were chosen, by their entry.
    """
    launches = {each.entry: list(each.launches or ()) for each in kernels}
    origins = {each.entry: each for each in kernels}
    choices: dict[str, Choice] = {}
    for (kernel, launch), among in found:
        reports = [report for each in among if (report := report_of(each)) is not None]
        own = next(n for n, (each, _) in enumerate(among) if each.entry == kernel.entry)
        chosen, names, number = None, [""] * len(among), len(among)
        if len(reports) == len(among):
            problems = rank_reports(reports).problems
            problem = next(each for each in problems if own in each.members)
            chosen, names, number = problem.fastest, labels(reports), len(problem.members)
        if chosen is None:
            choices.setdefault(kernel.entry, Choice("first", names[own], number))
            continue
        best, tried = among[chosen]
        choices[best.entry] = Choice("estimated", names[chosen], number)
        launches[kernel.entry].remove(launch)
        launches[best.entry].append(replace(launch, grid=tried.grid))
        source = origins[best.entry].source or kernel.source
        origins[best.entry] = replace(origins[best.entry], source=source)
    counted = [
        replace(
            origins[each.entry],
            launches=None if each.launches is None else tuple(launches[each.entry]),
        )
        for each in kernels
    ]
    return counted, choices
