"""What variants are worth: whether what tells two of them apart matters to the time of a launch.

Two variants serve different launches, whose times do not compare. Their code does: by a launch of
the one that both could serve. Where a change of the declaration leaves one variant for both, each
launch is estimated with and without it; where two variants serve the same problem, as those of two
tile sizes do, their times compare as in every ranking.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

import msgspec

from irlens.model.estimate import RESOLUTION
from irlens.model.ranking import Ranking
from irlens.model.variants import Variant


class Merged(msgspec.Struct, frozen=True):
    """What becomes of launches where one variant serves those of several.

    Attributes:
        groups: The indexes of the variants that become one.
        ratios: By the index of a variant, the time of its launch then, over that before.
    """

    groups: Sequence[Sequence[int]]
    ratios: Mapping[int, float]


def is_noise(ratio: float) -> bool:
    """Whether a ratio of times says nothing of which is the faster."""
    return max(ratio, 1 / ratio) <= 1 + RESOLUTION


def compared(
    variants: Sequence[Variant], merged: Sequence[Merged], ranking: Ranking | None
) -> list[Variant]:
    """Return variants with what is known of the time that their code is worth.

    Args:
        merged: What was compiled to see it.
        ranking: The variants' times, by their index.
    """
    ratios: dict[int, list[float]] = {}
    alike: dict[int, set[int]] = {}
    for one, other, ratio, back in [*_of_merged(merged), *_of_ranking(ranking)]:
        ratios.setdefault(one, []).append(ratio)
        ratios.setdefault(other, []).append(back)
        if is_noise(ratio) and is_noise(back):
            alike.setdefault(other, set()).add(one)
    firsts: dict[int, int] = {}
    for number in ratios:
        firsts[number] = number
    for number in sorted(ratios):
        same = [each for each in alike.get(number, ()) if firsts[each] == each]
        firsts[number] = min(same, default=number)
    return [
        msgspec.structs.replace(
            each, as_fast_as=firsts[number] + 1, time_ratio=min(ratios[number])
        ) if number in ratios else each
        for number, each in enumerate(variants)
    ]  # fmt: skip


def _of_merged(merged: Sequence[Merged]) -> Iterator[tuple[int, int, float, float]]:
    """Yield two variants, and the ratio of each."""
    for change in merged:
        for group in change.groups:
            known = sorted(each for each in group if change.ratios.get(each))
            for one, other in combinations(known, 2):
                yield one, other, change.ratios[one], change.ratios[other]


def _of_ranking(ranking: Ranking | None) -> Iterator[tuple[int, int, float, float]]:
    for problem in ranking.problems if ranking is not None else ():
        for one, other in combinations(sorted(problem.members), 2):
            assert ranking is not None
            first, second = (ranking.standings[each].over_fastest for each in (one, other))
            if first and second:
                yield one, other, second / first, first / second
