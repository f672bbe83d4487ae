"""Letters for the sides of comparisons whose labels are too long to head a column."""

import itertools
from collections.abc import Iterator, Sequence
from string import ascii_uppercase

from msgspec.structs import replace

from irlens.model.comparison import Comparison
from irlens.render.view.nodes import Fact, Facts, text

#: A longer label makes its column wider than the values under it.
_LONGEST = 20


def lettered(pairs: Sequence[Comparison]) -> tuple[list[Comparison], list[Facts]]:
    """Return the comparisons with sides A, B, …, and what the letters stand for.

    Labels that are short enough stay, and need no explanation.
    """
    both = [side.label for pair in pairs for side in (pair.before, pair.after)]
    labels = list(dict.fromkeys(both))
    if not any(len(label) > _LONGEST for label in labels):
        return list(pairs), []
    letters = dict(zip(labels, _letters(), strict=False))
    named = [
        replace(
            pair,
            before=replace(pair.before, label=letters[pair.before.label]),
            after=replace(pair.after, label=letters[pair.after.label]),
        )
        for pair in pairs
    ]
    return named, [Facts(tuple(Fact(letters[label], text(label)) for label in labels))]


def _letters() -> Iterator[str]:
    """Yield A to Z, then A1 to Z1, and so on."""
    for turn in itertools.count():
        yield from (f"{letter}{turn or ''}" for letter in ascii_uppercase)
