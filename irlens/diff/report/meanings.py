"""Figures that mean something else on either side of a comparison: neither better nor worse."""

from collections.abc import Callable, Iterator

from irlens.diff.report.times import same_problem
from irlens.figures import FIGURES, Figure
from irlens.model.comparison import Delta
from irlens.model.config import LAUNCH_OPTIONS
from irlens.model.report import Report

_WRITES = (
    "traffic.store_", "traffic.ideal_store_", "traffic.written_", "traffic.distinct_written_",
)  # fmt: skip
_BLOCKS, _OCCUPANCY = "occupancy.blocks_per_sm", "occupancy.theoretical"


def not_judged(before: Report, after: Report, changed: list[Delta]) -> dict[str, str]:
    """Return why figures are neither better nor worse, by their paths in the registry.

    Args:
        changed: Figures of the kernel on both sides.
    """
    reasons: dict[str, str] = {}
    for means_else, reason in _reasons(before, after):
        for figure in filter(means_else, FIGURES):
            reasons.setdefault(figure.path, reason)
    if any(each.path == _OCCUPANCY and not each.moved for each in changed):
        # Fewer CTAs that are larger, and hold as many warps, are not worse.
        reasons.setdefault(_BLOCKS, "the occupancy is the same")
    return dict(sorted(reasons.items()))


def _reasons(before: Report, after: Report) -> Iterator[tuple[Callable[[Figure], bool], str]]:
    """Yield which figures mean something else, and why."""
    first, second = before.config, after.config
    if before.kernel != after.kernel:
        yield lambda figure: figure.per is not None, "another kernel"
    elif settings := list(_program_settings(before, after)):
        yield lambda figure: figure.per is not None, f"other work per CTA: {', '.join(settings)}"
    elif None not in (first.num_warps, second.num_warps) and first.num_warps != second.num_warps:
        yield lambda figure: figure.per == "thread", "other work per thread: num_warps"
    if not same_problem(before, after):
        yield lambda figure: figure.of_launch, "other arguments"
    elif reason := _other_writes(before, after):
        yield lambda figure: figure.path.startswith(_WRITES), reason


def _program_settings(before: Report, after: Report) -> Iterator[str]:
    """Yield the settings that change what one CTA does: constexprs, and the grid."""
    first, second = before.config, after.config
    for name in dict.fromkeys([*first.constexprs, *second.constexprs]):
        differs = first.constexprs.get(name) != second.constexprs.get(name)
        if differs and name not in LAUNCH_OPTIONS:
            yield name
    # A persistent kernel's CTAs take what there is, and are as many as the GPU holds.
    persistent = all(each.occupancy and each.occupancy.waves == 1 for each in (before, after))
    if None not in (first.grid, second.grid) and first.grid != second.grid and not persistent:
        yield "grid"


def _other_writes(before: Report, after: Report) -> str:
    """Return "stores became atomics" where one side adds what the other stores."""
    ours, theirs = map(_writes, (before, after))
    if not ours or not theirs or ours == theirs:
        return ""
    names = {"store": "stores", "atomic": "atomics"}
    gone = [names[each] for each in sorted(ours - theirs)]
    new = [names[each] for each in sorted(theirs - ours)]
    if gone and new:
        return f"{' and '.join(gone)} became {' and '.join(new)}"
    return f"{' and '.join(new or gone)} {'added' if new else 'gone'}"


def _writes(report: Report) -> set[str]:
    accesses = report.traffic.accesses if report.traffic is not None else []
    return {each.direction for each in accesses if each.direction != "load"}
