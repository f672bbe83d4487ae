"""What moved between two compilations, in reports and in code: which are compared with which.

Members of two sets are paired by kernel, target and config.
"""

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Sequence
from typing import TypeAlias, TypeVar

import msgspec

from irlens.model.code import CodeComparisons
from irlens.model.comparison import Comparisons
from irlens.model.config import LAUNCH_OPTIONS
from irlens.model.label import Matchable
from irlens.model.several import grouped

A = TypeVar("A")
B = TypeVar("B")
M = TypeVar("M", bound=Matchable)
R = TypeVar("R", Comparisons, CodeComparisons)
#: A key, and whether it must be unique on both sides to pair two members.
_Key: TypeAlias = tuple[Callable[[M], Hashable], bool]


def first_sides(members: Sequence[M]) -> list[list[M]]:
    """Return what is compared with each other, the first with each of the others.

    Where there are several targets with several members each, each target has a first of its own:
    what another GPU has says nothing about a setting.
    """
    groups = list(grouped(((each.kernel, each.target), each) for each in members).values())
    return [list(members)] if any(len(group) == 1 for group in groups) else groups


def by_other_settings(members: Sequence[M], names: Collection[str]) -> list[list[M]] | None:
    """Return groups that are equal in all but some settings.

    An autotuned kernel has its configurations with each of the values: what another of them takes
    says nothing about these settings.

    Returns:
        ``None`` where nothing else differs, or a configuration does not have several of the values.
    """
    groups = grouped((other_settings(each, names), each) for each in members)
    alone = len(groups) == 1 or any(len(group) == 1 for group in groups.values())
    return None if alone else list(groups.values())


def other_settings(member: Matchable, names: Collection[str]) -> Hashable:
    """Return what identifies a member apart from some settings, and the grid that they decide."""
    config = member.config
    kept = msgspec.structs.replace(
        config,
        grid=None,
        constexprs={name: v for name, v in config.constexprs.items() if name not in names},
        options={name: v for name, v in (config.options or {}).items() if name not in names},
        **{name: None for name in LAUNCH_OPTIONS if name in names},
    )
    return member.kernel, member.target, msgspec.json.encode(kept, order="sorted")


def without(setting: str, names: Collection[str]) -> str:
    """Return a label without some settings, which the sides of a pair name."""
    return " ".join(each for each in setting.split(" ") if each.partition("=")[0] not in names)


def match(
    before: Sequence[M], after: Sequence[M], content: Callable[[M], Hashable]
) -> tuple[list[tuple[M, M]], list[M], list[M]]:
    """Return the pairs and the unpaired members of each set.

    The strictest key pairs first: content, then configuration and target, then target, then these
    but for the arguments, then configuration, then kernel. A kernel whose configuration changed is
    still paired if it is the only one left of its name (and target) on both sides; one of another
    target if it is the only one left of its name (and configuration, or constexprs).

    Args:
        content: Returns a member's content, which tells apart members of equal configuration.
    """
    unpaired_before, unpaired_after = list(before), list(after)
    pairs: list[tuple[M, M]] = []
    requests = Counter(map(requested, before)), Counter(map(requested, after))

    def alike(member: M) -> Hashable:
        """Return the content where several members of a side have one configuration."""
        key = requested(member)
        return content(member) if max(each[key] for each in requests) > 1 else key

    keys: tuple[_Key[M], ...] = (
        (alike, False),
        (requested, True),
        (kernel_and_target, True),
        (_tuned, True),
        (_kernel_and_config, True),
        (_kernel_and_constexprs, True),
        (kernel_name, True),
    )
    for key, unique in keys:
        pairs += take_pairs(unpaired_before, unpaired_after, key, key, unique=unique)
    return pairs, unpaired_before, unpaired_after


def requested(member: Matchable) -> Hashable:
    """Return the kernel, target and requested configuration."""
    return *kernel_and_target(member), _kernel_and_config(member)


def _kernel_and_config(member: Matchable) -> Hashable:
    # The grid follows from the arguments, and an old report may lack it.
    config = msgspec.structs.replace(member.config, grid=None)
    return member.kernel, msgspec.json.encode(config, order="sorted")


def _tuned(member: Matchable) -> Hashable:
    """Return everything but the launch: a program may have changed what it calls a kernel with."""
    config = msgspec.structs.replace(member.config, args={}, grid=None)
    return *kernel_and_target(member), msgspec.json.encode(config, order="sorted")


def _kernel_and_constexprs(member: Matchable) -> Hashable:
    # Of what is not given, each vendor has a default of its own.
    return member.kernel, msgspec.json.encode(member.config.constexprs, order="sorted")


def kernel_and_target(member: Matchable) -> tuple[Hashable, ...]:
    """Return the kernel and the target's architecture."""
    return member.kernel, member.target.arch if member.target else None


def kernel_name(member: Matchable) -> Hashable:
    """Return the kernel's name."""
    return member.kernel


def take_pairs(
    left: list[A],
    right: list[B],
    left_key: Callable[[A], Hashable],
    right_key: Callable[[B], Hashable],
    *,
    unique: bool,
) -> list[tuple[A, B]]:
    """Move the elements with equal keys out of both lists and return them in pairs.

    Args:
        right: The other list; keeps its unpaired elements.
        left_key: Returns the key of an element of ``left``.
        right_key: Returns the key of an element of ``right``.
        unique: Whether a key must occur once in each list to pair its elements.
    """
    groups: dict[Hashable, tuple[list[A], list[B]]] = {}
    for one in left:
        groups.setdefault(left_key(one), ([], []))[0].append(one)
    for other in right:
        groups.setdefault(right_key(other), ([], []))[1].append(other)
    pairs: list[tuple[A, B]] = []
    left.clear()
    right.clear()
    for ours, theirs in groups.values():
        allowed = not unique or len(ours) == len(theirs) == 1
        count = min(len(ours), len(theirs)) if allowed else 0
        pairs += zip(ours[:count], theirs[:count], strict=True)
        left += ours[count:]
        right += theirs[count:]
    return pairs


def concatenate(comparisons: Sequence[R]) -> R:
    """Return several comparisons as one: their lists joined, different if any of them is."""
    first = comparisons[0]
    joined = {
        name: [item for each in comparisons for item in getattr(each, name)]
        for name in type(first).__struct_fields__
        if isinstance(getattr(first, name), list)
    }
    different = any(each.different for each in comparisons)
    return msgspec.structs.replace(first, different=different, **joined)
