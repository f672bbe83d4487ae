"""Which entry of a baseline is which report."""

from collections.abc import Callable, Hashable, Sequence
from typing import NamedTuple, TypeAlias

import msgspec

from irlens.check.baseline import Entry, Recipe, entry
from irlens.diff.matching import take_pairs
from irlens.model.report import Report


class Made(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a recipe.

    Attributes:
        recipe: It.
        names: What its kernel may be asked for by; empty for the recipe's name alone.
        reports: Of every capture that it made.
        failure: Why it made none; ``None`` where it did.
    """

    recipe: Recipe
    names: tuple[str, ...] = ()
    reports: tuple[Report, ...] = ()
    failure: str | None = None


class Candidate(NamedTuple):
    """A report, what a baseline would keep of it, and what it may be asked for by."""

    report: Report
    entry: Entry
    names: tuple[str, ...]


class Matched(NamedTuple):
    """The pairs, and what has no counterpart."""

    pairs: list[tuple[Entry, Candidate]]
    alone: list[Candidate]
    missing: list[Entry]


_Key: TypeAlias = Callable[[Entry], Hashable]


def match(entries: Sequence[Entry], made: Sequence[Made]) -> Matched:
    """Pair entries with what was made now.

    An entry is what the same recipe makes of the same configuration. Where a recipe makes a single
    configuration, that is its entry even if the kernel's own defaults changed. Captures that were
    made elsewhere (a Triton cache) are recognised by kernel, target and configuration, wherever
    they lie.
    """
    left = list(entries)
    right = [
        Candidate(report, entry(report, one.recipe), one.names or (one.recipe.kernel,))
        for one in made
        for report in one.reports
    ]
    pairs: list[tuple[Entry, Candidate]] = []
    for key, alone in _KEYS:
        pairs += take_pairs(left, right, key, _of_entry(key), unique=alone)
    return Matched(pairs, right, left)


def _of_entry(key: _Key) -> Callable[[Candidate], Hashable]:
    return lambda one: key(one.entry)


def _twin(one: Entry) -> Hashable:
    """Everything but the compiler: twins among captures that were asked for alike."""
    return msgspec.json.encode(msgspec.structs.replace(one, triton_version=None), order="sorted")


def _asked(one: Entry) -> Hashable:
    return _recipe(one.recipe), _built(one)


def _remade(one: Entry) -> Hashable:
    return _recipe(one.recipe), one.kernel, one.target.arch if one.target else None


def _found(one: Entry) -> Hashable:
    # What is compiled from source is known by its recipe: another file may have a namesake.
    return _built(one) if one.recipe.target is None else _asked(one)


def _built(one: Entry) -> Hashable:
    config = msgspec.json.encode(one.config, order="sorted")
    return one.kernel, one.target.arch if one.target else None, config


def _recipe(recipe: Recipe) -> bytes:
    return msgspec.json.encode(recipe, order="sorted")


#: Strictest first; whether an entry must be the only one with its key.
_KEYS: tuple[tuple[_Key, bool], ...] = (
    (_twin, False),
    (_asked, True),
    (_found, True),
    (_remade, True),
)
