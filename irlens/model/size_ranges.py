"""Which configuration to choose at which size, and what binds it there.

Tables, charts and decision functions take both from here.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, takewhile

import msgspec

from irlens.model.config import ConstexprValue, identity_of
from irlens.model.estimate import Bound
from irlens.model.sweep import Trial, moved_bytes

#: A bound that holds for less than this ratio of sizes is not told apart from its neighbours'.
_BRIEF = 1.25


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """The configuration to choose over a range of sizes.

    Attributes:
        settings: Its settings; those that follow from the size are those of the first.
        trials: It at each size, ascending.
    """

    settings: dict[str, ConstexprValue]
    trials: tuple[Trial, ...]


class BoundRange(msgspec.Struct, frozen=True, kw_only=True):
    """Sizes at which one bound holds, but for brief exceptions.

    Attributes:
        bound: The bound; ``None`` where it is unknown.
        trials: The launches, ascending.
    """

    bound: Bound | None
    trials: tuple[Trial, ...]


def choices(trials: Sequence[Trial], axis: str) -> list[Choice]:
    """Return the fewest configurations that are the fastest, or as fast, at each size.

    Args:
        trials: Those of one target, with their standings.
    """
    sizes: dict[int, list[Trial]] = {}
    for trial in trials:
        size = trial.value(axis)
        if size is not None and trial.standing is not None and trial.standing.time_us is not None:
            sizes.setdefault(size, []).append(trial)
    found: list[Choice] = []
    run: list[dict[bytes, Trial]] = []
    for size in sorted(sizes):
        here = {_key(each): each for each in sizes[size] if _is_good(each, len(sizes[size]))}
        if not here:
            continue
        if run and not set.intersection(*({*each} for each in [*run, here])):
            found.append(_chosen(run))
            run = []
        run.append(here)
    return [*found, _chosen(run)] if run else found


def _is_good(trial: Trial, alternatives: int) -> bool:
    return alternatives == 1 or (trial.standing is not None and trial.standing.is_marked)


def _chosen(run: Sequence[Mapping[bytes, Trial]]) -> Choice:
    """Return the configuration that is good at all sizes of a run and takes the least time."""
    common = set.intersection(*({*each} for each in run))

    def slowdown(key: bytes) -> tuple[float, bytes]:
        standings = (each[key].standing for each in run)
        return sum(each.over_fastest or 1.0 for each in standings if each is not None), key

    best = min(common, key=slowdown)
    trials = tuple(each[best] for each in run)
    return Choice(settings=trials[0].settings, trials=trials)


def covered_size(trials: Sequence[Trial], axis: str) -> int | None:
    """Return the size beyond which launches access no more bytes, though they did up to there.

    A kernel whose block holds a whole row leaves out the rest of a longer one.

    Args:
        trials: Launches of ascending sizes.

    Returns:
        ``None`` where the last size accesses more than the others, or that is unknown.
    """
    accessed = [moved_bytes(each.figures or {}) for each in trials]
    same = sum(1 for _ in takewhile(lambda each: each == accessed[-1], reversed(accessed)))
    if same in (0, 1, len(trials)):
        return None
    before, last = accessed[-same - 1], accessed[-1]
    grew = before is not None and last is not None and before < last
    return trials[-same].value(axis) if grew else None


def bound_ranges(trials: Sequence[Trial], axis: str) -> list[BoundRange]:
    """Return what binds launches of ascending sizes; brief bounds go with their neighbours."""
    runs = [list(run) for _, run in groupby(trials, key=lambda each: each.bound)]
    while len(runs) > 1:
        ratio, at = min((_ratio(runs, at, axis), at) for at in range(len(runs)))
        if ratio >= _BRIEF:
            break
        other = at - 1 if at else 1
        if 0 < at < len(runs) - 1:  # the longer neighbour takes it
            before, after = (_ratio(runs, n, axis) for n in (at - 1, at + 1))
            other = at - 1 if before >= after else at + 1
        low, high = sorted((at, other))
        runs[low : high + 1] = [[*runs[low], *runs[high]]]
    return [BoundRange(bound=_longest(run, axis), trials=tuple(run)) for run in _joined(runs, axis)]


def _ratio(runs: Sequence[Sequence[Trial]], at: int, axis: str) -> float:
    """Return the ratio of the size at which a run ends, the next begins, to its first size.

    The last run has no next: it begins after the one before it, so that a single last size far
    from the others has a range of its own.
    """
    is_last = at + 1 == len(runs)
    first = runs[at - 1][-1] if is_last and at else runs[at][0]
    last = runs[at][-1] if is_last else runs[at + 1][0]
    return (last.value(axis) or 1) / max(first.value(axis) or 1, 1)


def _longest(run: Sequence[Trial], axis: str) -> Bound | None:
    """Return the bound that holds for the largest ratio of sizes in a run."""
    ratios: dict[Bound | None, float] = {}
    pieces = [list(piece) for _, piece in groupby(run, key=lambda each: each.bound)]
    for at, piece in enumerate(pieces):
        bound = piece[0].bound
        ratios[bound] = ratios.get(bound, 1.0) * _ratio(pieces, at, axis)
    return max(ratios, key=lambda each: ratios[each])


def _joined(runs: Sequence[Sequence[Trial]], axis: str) -> Iterator[list[Trial]]:
    """Yield runs, neighbours of the same bound as one."""
    for _, group in groupby(runs, key=lambda run: _longest(run, axis)):
        yield [trial for run in group for trial in run]


def _key(trial: Trial) -> bytes:
    return identity_of([trial.triton, trial.settings])
