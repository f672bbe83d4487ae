"""Estimates a kernel's time over many sizes: each specialization is compiled once.

Sizes are evaluated where the time bends. Between two that were evaluated, of the same compiled
variant, the time of one in the middle is within ``RESOLUTION`` of a power of the size.
"""

import heapq
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import groupby, pairwise
from math import log

import msgspec
from msgspec.structs import replace

from irlens import gpus
from irlens.analyze.capture_code import CaptureCode
from irlens.artifacts.code_listings import CodeListings
from irlens.compiler import KernelSource, Request, capture, find_kernel
from irlens.compiler.planning import PlannedVariant
from irlens.model.capture import Capture
from irlens.model.config import identity_of
from irlens.model.errors import IrlensError
from irlens.model.estimate import RESOLUTION
from irlens.model.ranking import with_standings
from irlens.model.several import grouped
from irlens.model.sweep import SWEEP_SCHEMA, Result, SampledSizes, Sweep, from_error
from irlens.model.variants import Specialized
from irlens.report.inspection import Inspection
from irlens.sweeps.compiling import compile_each, grid_of, specialization_key
from irlens.sweeps.inspecting import from_launch
from irlens.sweeps.run import plan_grid, trials_of
from irlens.sweeps.selection import sort_trials
from irlens.sweeps.worker_pool import WorkerPool

#: Launches that are evaluated of one target; sizes that are evaluated at least.
_MOST, _FEWEST = 200, 24
#: Sizes that are evaluated first, equal ratios apart, and how close neighbours may be.
_FIRST, _CLOSEST = 13, 1.02
#: The same of launches of many waves, whose time is a power of the size, and takes long to count.
_CLOSEST_OF_MANY = 1.5
#: How far from its place one of these may be, to be a rounder number.
_NEAR = 0.1
#: Waves whose ends are evaluated: a further one then takes less than a quarter more.
_WAVES = 4
#: Ratio of two sizes from which on it matters where between them the bound changes.
_APART = 1.1

#: Seconds after which a compilation is abandoned.
_PATIENCE = 120.0

#: Takes the number of evaluated launches and of those that are evaluated at most.
Progress = Callable[[int, int], None]


def time_over_sizes(
    requests: Sequence[Request],
    axis: str,
    sizes: SampledSizes,
    pool: WorkerPool,
    progress: Progress = lambda done, most: None,
) -> tuple[Sweep, tuple[str, ...]]:
    """Return the estimated times of a kernel's configurations over a size, and notes on its file.

    Raises:
        UnknownNameError: There is no such size.
        IrlensError: The kernel cannot be loaded, or no size compiles.
    """
    plan = plan_grid(requests, pool)
    source = find_kernel(requests[0].kernel)
    by_target = grouped((each.request.target, each) for each in plan.variants)
    trials = []
    for variants in by_target.values():
        launches = Launches(source, variants, pool)
        for series in _series(variants, axis, launches):
            _sample(series, progress)
        chosen = sorted(launches.results)
        names = _series_names(variants)
        found = trials_of(
            [variants[n] for n in chosen], {i: launches.results[n] for i, n in enumerate(chosen)}
        )
        trials += [
            replace(each, variant=names[_arguments_key(variants[n])])
            for n, each in zip(chosen, found, strict=True)
        ]
    targets = list(by_target)
    sweep = Sweep(
        schema=SWEEP_SCHEMA, kernel=plan.function, targets=targets, where=[], filters=[],
        trials=sort_trials(with_standings(trials), targets, (), axis), excluded=0, filtered=0,
        axis=axis, sizes=sizes,
    )  # fmt: skip
    return sweep, plan.notes


class Launches:
    """Launches of planned variants; each specialization is compiled and parsed once.

    Attributes:
        results: Of those that were evaluated, by index.
    """

    def __init__(
        self, source: KernelSource, variants: Sequence[PlannedVariant], pool: WorkerPool
    ) -> None:
        self._source, self._variants, self._pool = source, list(variants), pool
        self._codes: dict[bytes, CaptureCode | Result] = {}
        self._blocks: dict[bytes, int | None] = {}
        self.keys = [specialization_key(each) for each in variants]
        self.results: dict[int, Result] = {}

    @cached_property
    def _sm_count(self) -> int | None:
        return gpus.find(self._variants[0].request.target.name).sm_count

    def add(self, variant: PlannedVariant) -> int:
        """Add a launch and return its index."""
        self._variants.append(variant)
        self.keys.append(specialization_key(variant))
        return len(self.keys) - 1

    def evaluate(self, numbers: Iterable[int]) -> None:
        """Evaluate launches that were not evaluated before."""
        new = [number for number in dict.fromkeys(numbers) if number not in self.results]
        self._compile(new)
        for number in new:
            self.results[number] = self._result(number)

    def waves(self, number: int) -> float | None:
        """Return the waves of a launch of a compiled variant; ``None`` if unknown."""
        blocks, sms = self._blocks.get(self.keys[number]), self._sm_count
        try:
            grid = grid_of(self._variants[number], blocks)
        except IrlensError:
            return None
        if grid is None or not blocks or not sms:
            return None
        return grid[0] * grid[1] * grid[2] / (blocks * sms)

    def _compile(self, numbers: Sequence[int]) -> None:
        missing = {
            self.keys[n]: self._variants[n].request
            for n in reversed(numbers)
            if self.keys[n] not in self._codes
        }
        failures = compile_each(self._source, missing, self._pool, _PATIENCE)
        captures: dict[bytes, Capture] = {}
        for key, request in missing.items():
            if (failed := failures.get(key)) is not None:
                self._codes[key] = failed
                continue
            try:
                (captures[key],) = capture(request)
            except IrlensError as error:
                self._codes[key] = from_error(error)
        listings = CodeListings(captures.values())
        for key, each in captures.items():
            code = self._codes[key] = CaptureCode(each, listings)
            occupancy = Inspection(code).occupancy
            self._blocks[key] = occupancy.blocks_per_sm if occupancy is not None else None

    def _result(self, number: int) -> Result:
        code = self._codes[self.keys[number]]
        if isinstance(code, Result):
            return code
        planned = self._variants[number]
        given = code.capture.config
        try:
            grid = grid_of(planned, self._blocks[self.keys[number]]) or given.grid
            config = replace(given, args=msgspec.convert(planned.args, type(given.args)), grid=grid)
            launch = code.with_capture(replace(code.capture, config=config))
            return from_launch(Inspection(launch))
        except (IrlensError, msgspec.ValidationError) as error:
            return from_error(error if isinstance(error, IrlensError) else IrlensError(str(error)))


class _Series:
    """Sizes whose arguments Triton specializes in the same way, ascending.

    Attributes:
        numbers: The launches of each size, one for each configuration.
        evaluated: The indexes of the sizes that were evaluated.
    """

    def __init__(
        self, launches: Launches, sizes: Sequence[int], numbers: Sequence[Sequence[int]]
    ) -> None:
        self._launches, self.sizes, self.numbers = launches, sizes, numbers
        self.evaluated: set[int] = set()
        self.most = max(_MOST // max(map(len, numbers)), _FEWEST)
        keys = [tuple(launches.keys[number] for number in each) for each in numbers]
        self._run = [
            number
            for number, (_, run) in enumerate(groupby(keys))
            for _ in run
        ]  # fmt: skip

    @property
    def launch_count(self) -> int:
        """How many launches were evaluated."""
        return sum(len(self.numbers[at]) for at in self.evaluated)

    def evaluate(self, indexes: Iterable[int]) -> None:
        """Evaluate the launches of sizes."""
        new = [at for at in indexes if at not in self.evaluated]
        self._launches.evaluate(number for at in new for number in self.numbers[at])
        self.evaluated.update(new)

    def is_smooth(self, low: int, high: int) -> bool:
        """Whether sizes lie between two of the same compiled variants, and may bend the line."""
        ratio = self.sizes[high] / max(self.sizes[low], 1)
        apart = ratio > (_CLOSEST_OF_MANY if self._has_many_waves(low) else _CLOSEST)
        return high - low > 1 and apart and self._run[low] == self._run[high]

    def _has_many_waves(self, at: int) -> bool:
        """Whether one more wave changes little."""
        return all((self._launches.waves(n) or 0.0) > 2 * _WAVES for n in self.numbers[at])

    def first(self) -> list[int]:
        """Return the sizes to evaluate first: the ends of each run, and some between them."""
        ends = [at for at in range(len(self.sizes)) if self._is_end(at)]
        if len(ends) > self.most // 2:  # each size has a variant of its own
            ends = [0, len(self.sizes) - 1]
        least, ratio = max(self.sizes[0], 1), self.sizes[-1] / max(self.sizes[0], 1)
        places = (least * ratio ** (step / (_FIRST - 1)) for step in range(_FIRST))
        nearest = (self._nearest(place) for place in places)
        return sorted({*ends, *nearest})

    def _is_end(self, at: int) -> bool:
        neighbours = (n for n in (at - 1, at + 1) if 0 <= n < len(self.sizes))
        return at in (0, len(self.sizes) - 1) or any(
            self._run[n] != self._run[at] for n in neighbours
        )

    def _nearest(self, place: float) -> int:
        at = min(range(len(self.sizes)), key=lambda at: abs(self.sizes[at] - place))
        within = [n for n, size in enumerate(self.sizes) if abs(size - place) < _NEAR * place]
        return self._roundest(within or [at])

    def middle(self, low: int, high: int) -> int:
        """Return the roundest of the sizes in the middle third between two."""
        third = (high - low) // 3
        return self._roundest(range(low + max(third, 1), max(high - third, low + 2)))

    def _roundest(self, indexes: Sequence[int]) -> int:
        """Return the size with the highest power of two, which people use and is counted fast."""
        return max(indexes, key=lambda at: self.sizes[at] & -self.sizes[at])

    def waves_ends(self) -> Iterator[int]:
        """Yield the last size of each of the first waves, and the size after it."""
        for low, high in pairwise(sorted(self.evaluated)):
            if self._run[low] != self._run[high]:
                continue
            for column in range(len(self.numbers[low])):
                yield from self._wave_ends(low, high, column)

    def _wave_ends(self, low: int, high: int, column: int) -> Iterator[int]:
        def waves(at: int) -> float:
            return self._launches.waves(self.numbers[at][column]) or 0.0

        for full in range(int(waves(low)) + 1, min(int(waves(high)), _WAVES) + 1):
            if waves(low) <= full < waves(high):
                above = bisect_right(range(high), float(full), low + 1, key=waves)
                yield above - 1
                yield above

    def bend(self, low: int, middle: int, high: int) -> float:
        """Return by how much of its time a size is off the power law between two others."""
        sizes = (log(self.sizes[at]) for at in (low, middle, high))
        first_log, here, last_log = sizes
        share = (here - first_log) / (last_log - first_log)
        times = zip(*(self._times(at) for at in (low, middle, high)), strict=True)
        return max(
            (
                abs(first * (last / first) ** share - time) / time
                for first, time, last in times
                if first and time and last
            ),
            default=0.0,
        )

    def changes_bound(self, low: int, high: int) -> bool:
        """Whether the fastest configuration, or what binds it, differs, far enough apart."""
        if self.sizes[high] / max(self.sizes[low], 1) < _APART:
            return False
        return self._fastest(low) != self._fastest(high)

    def _times(self, at: int) -> list[float | None]:
        results = (self._launches.results[number] for number in self.numbers[at])
        return [(each.figures or {}).get("time") for each in results]

    def _fastest(self, at: int) -> tuple[int, str | None]:
        times = self._times(at)
        known = [(time, column) for column, time in enumerate(times) if time is not None]
        if not known:
            return -1, None
        _, column = min(known)
        return column, self._launches.results[self.numbers[at][column]].bound


def _sample(series: _Series, progress: Progress) -> None:
    """Evaluate sizes where the time bends, the sharpest bends first."""
    width = max(map(len, series.numbers))
    most = min(series.most, len(series.sizes)) * width

    def evaluate(indexes: Iterable[int]) -> None:
        for at in indexes:
            series.evaluate([at])
            progress(min(series.launch_count, most), most)

    first = series.first()
    series.evaluate(first)
    evaluate(list(series.waves_ends()))
    heap = [
        (-1.0, low, high)
        for low, high in pairwise(sorted(series.evaluated))
        if series.is_smooth(low, high)
    ]
    heapq.heapify(heap)
    while heap and len(series.evaluated) < series.most:
        _, low, high = heapq.heappop(heap)
        middle = series.middle(low, high)
        evaluate([middle])
        bend = series.bend(low, middle, high)
        for below, above in ((low, middle), (middle, high)):
            if not series.is_smooth(below, above):
                continue
            if bend > RESOLUTION or series.changes_bound(below, above):
                heapq.heappush(heap, (-bend, below, above))


def _series(variants: Sequence[PlannedVariant], axis: str, launches: Launches) -> Iterator[_Series]:
    """Yield the sizes of each way in which Triton specializes the arguments."""
    found: dict[bytes, dict[int, list[int]]] = {}
    for number, each in enumerate(variants):
        size = each.request.args[axis]
        found.setdefault(_arguments_key(each), {}).setdefault(int(str(size)), []).append(number)
    for sizes in found.values():
        yield _Series(launches, sorted(sizes), [sizes[size] for size in sorted(sizes)])


def _arguments_key(planned: PlannedVariant) -> bytes:
    """Return what equals where all arguments, constexprs aside, are specialized alike."""
    return identity_of([each for each in planned.specialization if not each.constexpr])


def _series_names(variants: Sequence[PlannedVariant]) -> dict[bytes, str]:
    """Return what to call each way of specializing the arguments; "" if there is one."""
    arguments = {
        _arguments_key(each): [one for one in each.specialization if not one.constexpr]
        for each in variants
    }
    if len(arguments) == 1:
        return dict.fromkeys(arguments, "")
    columns = list(zip(*arguments.values(), strict=True))
    telling = max(columns, key=lambda each: (len(set(map(str, each))), each[0].type == "i32"))
    at = columns.index(telling)
    return {key: _named(each[at]) for key, each in arguments.items()}


def _named(each: Specialized) -> str:
    if each.type is None:
        return f"{each.name} = {each.value}"
    if "divisible by 16" in each.properties:
        return f"{each.name} divisible by 16"
    return f"{each.name} not divisible by 16" if each.type in ("i32", "i64") else str(each)
