"""Fit the time model's constants, and show its error on kinds of kernels it has not seen.

    python benchmarks/time_model.py [FILE ...]

A FILE holds the counts of launches and what they took (by default ``time.json`` and ``spaces.json``
of ``tests/data/h200``: 217 launches of 14 kinds of kernels, and tuning spaces of the samples).
Prints the fitted constants of ``irlens/gpus/timing.py`` and for each kind its error with constants
fitted to all other kinds: the median of |ln(estimate / time)|, its 90th percentile and sign, the
time of the configuration that ranks first and of the best of the first eight over the best, and
Spearman's rank correlation. A problem is one kernel with one set of sizes; only problems with four
configurations or more are ranked. Of two configurations of one problem it prints how far the ratio
of their estimates is from that of their times, and how often the one that is estimated to be faster
is.

Times that differ by less than the measurement's noise have no order that an estimate could find: a
rank is in parentheses where this holds for more than half of the pairs of a problem, and "in order"
is the share of all other pairs of a kind that the estimates order as the times do.

It then prints the same of ``kinds.json``, kinds that no constant is fitted to, and of what an H100
took for the configurations of ``spaces.json`` and ``kinds.json`` and for other people's kernels,
with the constants of irlens. The fit itself is ``irlens.analyze.time.fitting``.
"""

import json
import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import combinations
from math import exp, log
from pathlib import Path
from statistics import correlation, geometric_mean, median, quantiles

import msgspec
from msgspec.structs import replace

from irlens import gpus
from irlens.analyze.time.fitting import TimedLaunch, fit, pairs, predict, ratio_error, with_timing
from irlens.gpus import Gpu
from irlens.model.estimate import RESOLUTION

_DATA = Path(__file__).parents[1] / "tests" / "data" / "h200"
LAUNCHES, SPACES = _DATA / "time.json", _DATA / "spaces.json"
#: Kinds that are never fitted to.
OTHERS = _DATA / "kinds.json"
#: Patterns of memory accesses, which ``memory_patterns.py`` timed.
PATTERNS = _DATA / "patterns.json"
#: What the configurations of ``SPACES`` and ``OTHERS`` take on an H100.
H100_TIMES = _DATA.parent / "h100" / "times.json"
#: Launches of other people's kernels on an H100, which ``others_on_gpu.py`` timed.
LIBRARIES = _DATA.parent / "h100" / "others.json"
#: Others of another day, and of more libraries.
AGAIN = _DATA.parent / "h100" / "others_again.json"
#: Launches of serving engines and other libraries, timed before anything was held against them.
ENGINES = _DATA.parent / "h100" / "engines.json"
#: Those of eleven projects, which nothing had been held against either.
PROJECTS = _DATA.parent / "h100" / "projects.json"
#: Share of a time within which two times do not tell which configuration is the faster. The medians
#: of 12 launches (``splitk`` of ``kinds.json``) that were timed again on another day differ by up
#: to 1.5 %, and half of the launches of ``launches.json.xz`` have deciles 1.2 % from their median.
NOISE = 0.03


def load(path: Path) -> list[TimedLaunch]:
    """Read launches."""
    return msgspec.json.decode(path.read_bytes(), type=list[TimedLaunch])


class Again(msgspec.Struct, frozen=True):
    """What a configuration that an H200 timed takes on another GPU; see ``TimedLaunch``."""

    problem: str
    config: dict[str, int]
    us: float


def on_h100() -> list[TimedLaunch]:
    """Return the launches of both files that an H100 timed, too.

    They ask the same of each unit as on an H200, which has as many SMs and finds as much in its L2.
    """
    again = msgspec.json.decode(H100_TIMES.read_bytes(), type=list[Again])
    times = {_key(each): each.us for each in again}
    launches = [each for file in (SPACES, OTHERS) for each in load(file)]
    return [replace(each, us=times[_key(each)]) for each in launches if _key(each) in times]


def _key(launch: Again | TimedLaunch) -> tuple[str, str]:
    return launch.problem, json.dumps(launch.config, sort_keys=True)


class Score(msgspec.Struct, frozen=True):
    """How good estimates are, of one kind of kernel.

    Attributes:
        rank: Spearman's correlation, for each problem.
        noisy: Whether more than half of its pairs are within ``NOISE``, for each problem.
        pairs: See ``fitting.pairs``.
    """

    launches: int
    ratios: list[float]
    error: float
    p90: float
    bias: float
    first: list[float]
    best_of_8: list[float]
    rank: list[float]
    noisy: list[bool]
    pairs: list[tuple[float, float]]

    @property
    def in_order(self) -> list[bool]:
        """Whether the estimates order a pair as the times do, for each pair beyond ``NOISE``."""
        return [mine * real > 0 for mine, real in self.pairs if abs(real) > NOISE]


def score(rows: Sequence[TimedLaunch], times: Sequence[float]) -> Score:
    """Return how good the estimates of one kind's launches are."""
    errors = [log(time / row.us) for row, time in zip(rows, times, strict=True)]
    sizes = sorted(map(abs, errors))
    problems: defaultdict[str, list[tuple[float, float]]] = defaultdict(list)
    for row, time in zip(rows, times, strict=True):
        problems[row.problem].append((time, row.us))
    ranked = [sorted(found) for found in problems.values() if len(found) >= 4]
    return Score(
        launches=len(rows),
        ratios=[exp(-each) for each in errors],
        error=median(sizes),
        p90=quantiles(sizes, n=10)[-1] if len(sizes) > 1 else sizes[0],
        bias=median(errors),
        first=[found[0][1] / min(us for _, us in found) for found in ranked],
        best_of_8=[min(us for _, us in found[:8]) / min(us for _, us in found) for found in ranked],
        rank=[
            correlation(_ranks([time for time, _ in found]), _ranks([us for _, us in found]))
            for found in ranked
        ],
        noisy=[_noisy([us for _, us in found]) for found in ranked],
        pairs=pairs(rows, times),
    )


def _noisy(times: Sequence[float]) -> bool:
    """Return whether more than half of the pairs of times are within ``NOISE``."""
    return median(abs(log(one / other)) for one, other in combinations(times, 2)) <= NOISE


def _ranks(values: Sequence[float]) -> list[float]:
    """Return the rank of each value, the mean of theirs for equal ones."""
    order = sorted(values)
    return [order.index(value) + (order.count(value) - 1) / 2 for value in values]


def leave_one_out(rows: Sequence[TimedLaunch], gpu: Gpu) -> dict[str, Score]:
    """Return the score of each kind with constants fitted to all other kinds."""
    scores = {}
    for kind in dict.fromkeys(row.kind for row in rows):
        fitted = fit([row for row in rows if row.kind != kind], gpu)
        held = [row for row in rows if row.kind == kind]
        scores[kind] = score(held, predict(held, with_timing(gpu, fitted)))
    return scores


def by_kind(rows: Sequence[TimedLaunch], gpu: Gpu) -> dict[str, Score]:
    """Return the score of each kind."""
    scores = {}
    for kind in dict.fromkeys(row.kind for row in rows):
        chosen = [row for row in rows if row.kind == kind]
        scores[kind] = score(chosen, predict(chosen, gpu))
    return scores


def _show(scores: dict[str, Score]) -> Iterable[str]:
    yield (
        "| kind | launches | median error | p90 | bias | first over best | best of 8 | rank "
        "| in order |"
    )
    yield "|---|---:|---:|---:|---:|---:|---:|---:|---:|"
    for kind, each in scores.items():
        cells = [kind, str(each.launches), f"{each.error:.1%}", f"{each.p90:.1%}"]
        cells.append(f"{each.bias:+.1%}")
        lists = (each.first, each.best_of_8)
        cells += [" ".join(f"{value:.2f}" for value in values) or "-" for values in lists]
        marked = zip(each.rank, each.noisy, strict=True)
        cells.append(" ".join(f"({r:.2f})" if noisy else f"{r:.2f}" for r, noisy in marked) or "-")
        cells.append(_share(each.in_order) if each.rank else "-")
        yield "| " + " | ".join(cells) + " |"
    firsts = [geometric_mean(each.first) for each in scores.values() if each.first]
    ranked = [pair for s in scores.values() for pair in zip(s.rank, s.noisy, strict=True)]
    ranks, told = [rank for rank, _ in ranked], [rank for rank, noisy in ranked if not noisy]
    ordered = [right for each in scores.values() for right in each.in_order]
    yield ""
    yield f"median over kinds of the median error: {median(s.error for s in scores.values()):.1%}"
    ratios = quantiles([ratio for each in scores.values() for ratio in each.ratios], n=20)
    yield f"time over estimate, 5 % and 95 %: {ratios[0]:.2f} {ratios[-1]:.2f}"
    if not firsts:
        return  # no problem has enough configurations to be ranked
    yield f"first over best, geometric mean over kinds: {geometric_mean(firsts):.3f}"
    yield f"rank correlation, median over problems: {median(ranks):.2f}"
    yield f"the same of the {len(told)} of {len(ranks)} beyond noise: {median(told):.2f}"
    yield f"pairs beyond noise in order: {_share(ordered)}"
    yield from _show_pairs([pair for each in scores.values() for pair in each.pairs])


def _show_pairs(found: Sequence[tuple[float, float]]) -> Iterable[str]:
    """Yield ``ratio_error`` of the GPU's timing, and what ``RESOLUTION`` rests on."""
    yield f"ratio_error of {len(found)} pairs, nine in ten: {ratio_error(found):.2f}"
    for low, high in ((0.0, RESOLUTION), (RESOLUTION, 0.1), (0.1, 0.2)):
        right = [mine * real > 0 for mine, real in found if low <= abs(mine) < high]
        apart = f"estimates {low:.0%} to {high:.0%} apart"
        yield f"{apart}, the faster is the faster: {_share(right)} pairs"


def _share(right: Sequence[bool]) -> str:
    """Return how many of how many hold."""
    return f"{sum(right) / len(right):.0%} of {len(right):,}" if right else "-"


def main() -> int:
    """Fit, and print the constants and the table."""
    files = [Path(each) for each in sys.argv[1:]] or [LAUNCHES, SPACES]
    rows = [row for file in files for row in load(file)]
    gpu = gpus.find("h200")
    fitted = fit(rows, gpu)
    print(json.dumps({name: float(f"{value:.3g}") for name, value in fitted.items()}))
    print("\n".join(_show(leave_one_out(rows, gpu))))
    others, found = load(OTHERS), with_timing(gpu, fitted)
    print("\nkinds that no constant is fitted to:")
    print("\n".join(_show(by_kind(others, found))))
    print("\nan H100, which no constant is fitted to:")
    print("\n".join(_show(by_kind(on_h100(), gpus.find("h100")))))
    print("\nother people's kernels on an H100:")
    for file in (LIBRARIES, AGAIN):
        print("\n".join(_show(by_kind(load(file), gpus.find("h100")))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
