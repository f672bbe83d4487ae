"""Pairs the entries of a baseline with the reports of today."""

from collections.abc import Callable, Collection, Hashable, Sequence
from typing import NamedTuple, TypeAlias

import msgspec

from irlens.checks.baseline import Entry, Recipe, entry
from irlens.diff import kernel_and_target, take_pairs
from irlens.model.check import BudgetVerdict
from irlens.model.report import Report


class RecipeResult(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of following a recipe.

    Attributes:
        names: Names that its kernel goes by; empty for the recipe's name alone.
        failure: Why it makes none; ``None`` where it succeeds.
        verdicts: On budgets on launches, by the report's index.
        edited: Files that have changed since its captures were made, relative to the project.
    """

    recipe: Recipe
    names: tuple[str, ...] = ()
    reports: tuple[Report, ...] = ()
    failure: str | None = None
    verdicts: dict[int, list[BudgetVerdict]] = {}
    edited: tuple[str, ...] = ()


class Candidate(NamedTuple):
    """A report, the baseline entry it would become, and the names its kernel goes by.

    The verdicts are those of budgets on launches.
    """

    report: Report
    entry: Entry
    names: tuple[str, ...]
    verdicts: Sequence[BudgetVerdict] = ()


class Pairing(NamedTuple):
    """Entries with their candidates, candidates without an entry, entries without a candidate."""

    pairs: list[tuple[Entry, Candidate]]
    new: list[Candidate]
    missing: list[Entry]


_Key: TypeAlias = Callable[[Entry], Hashable]


def pair(entries: Sequence[Entry], results: Sequence[RecipeResult]) -> Pairing:
    """Pair entries with the reports of today.

    An entry matches what the same recipe makes of the same configuration. A recipe that makes a
    single configuration matches its entry even if the kernel's own defaults changed. Captures
    that exist already (a Triton cache, a recording) match by kernel, target and configuration, in
    any folder. Those of a folder that the baseline lacks match what is left of one that is not
    checked, by kernel and target, where either side has one of them.
    """
    missing = list(entries)
    new = [
        Candidate(
            report,
            entry(report, one.recipe),
            one.names or (one.recipe.kernel,),
            one.verdicts.get(index, ()),
        )
        for one in results
        for index, report in enumerate(one.reports)
    ]
    pairs: list[tuple[Entry, Candidate]] = []
    for key, unique in _KEYS:
        pairs += take_pairs(missing, new, key, _of_candidate(key), unique=unique)
    asked = {_encoded(one.recipe) for one in results}
    renamed = _unless_of(asked), _of_candidate(_unless_of({_encoded(e.recipe) for e in entries}))
    pairs += take_pairs(missing, new, *renamed, unique=True)
    return Pairing(pairs, new, missing)


def _of_candidate(key: _Key) -> Callable[[Candidate], Hashable]:
    return lambda one: key(one.entry)


def _unless_of(recipes: Collection[bytes]) -> _Key:
    """Return a key by kernel and GPU of captures, but for those of some recipes."""

    def key(one: Entry) -> Hashable:
        is_other = one.recipe.target is None and _encoded(one.recipe) not in recipes
        return kernel_and_target(one) if is_other else id(one)

    return key


def _content(one: Entry) -> Hashable:
    """Return everything but the compiler, to pair equals among equally configured captures."""
    return msgspec.json.encode(msgspec.structs.replace(one, triton_version=None), order="sorted")


def _recipe_and_config(one: Entry) -> Hashable:
    return _encoded(one.recipe), _config(one)


def _recipe_and_target(one: Entry) -> Hashable:
    return _encoded(one.recipe), one.kernel, one.target.arch if one.target else None


def _found_capture(one: Entry) -> Hashable:
    # A kernel compiled from source is known by its recipe: another file may have a namesake.
    return _config(one) if one.recipe.target is None else _recipe_and_config(one)


def _config(one: Entry) -> Hashable:
    config = msgspec.json.encode(one.config, order="sorted")
    return one.kernel, one.target.arch if one.target else None, config


def _encoded(recipe: Recipe) -> bytes:
    return msgspec.json.encode(recipe, order="sorted")


#: Strictest first, and whether a key must be unique to pair.
_KEYS: tuple[tuple[_Key, bool], ...] = (
    (_content, False),
    (_recipe_and_config, True),
    (_found_capture, True),
    (_recipe_and_target, True),
)
