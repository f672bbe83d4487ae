"""Warps that run a part of the kernel of their own: which there are, and what each is given."""

import msgspec

from irlens.diff.report.deltas import Figure, delta, deltas
from irlens.model.comparison import Delta
from irlens.model.report import Report

_GROUPS = Figure("warp_groups", "word", "some")
#: Of each of them; which loops it runs is told of the loops.
WARP_GROUP_FIGURES = (
    Figure("num_warps", "count", "some"),
    Figure("registers", "count", "some"),
)


def warp_group_deltas(before: Report, after: Report, absent: set[str]) -> list[Delta]:
    """Return what moved, by paths such as ``warp_groups.partition0.registers``.

    Where only one side's groups are known that is added to ``absent``.
    """
    if ("warp_groups" in before.unknown) != ("warp_groups" in after.unknown):
        absent.add("warp_groups")
        return []
    ours = {group.name: group for group in before.warp_groups}
    theirs = {group.name: group for group in after.warp_groups}
    names = delta(_GROUPS, ", ".join(ours), ", ".join(theirs))
    found = [names] if names.moved else []
    # "default", then "partition0" to "partition10".
    for name in sorted(ours.keys() | theirs.keys(), key=lambda name: (len(name), name)):
        found += [
            msgspec.structs.replace(each, path=f"{_GROUPS.path}.{name}.{each.path}")
            for each in deltas(WARP_GROUP_FIGURES, ours.get(name), theirs.get(name))
        ]
    return found
