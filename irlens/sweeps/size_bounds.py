"""Finds the sizes at which what binds a kernel's estimated time changes, by bisection."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import groupby, pairwise
from math import prod

from irlens import gpus
from irlens.compiler import Request, find_kernel
from irlens.compiler.planning import PlannedVariant
from irlens.model.errors import IrlensError
from irlens.model.estimate import RESOLUTION, Bound
from irlens.model.limits import SizeBound
from irlens.sweeps.compiling import grid_of
from irlens.sweeps.run import plan_grid
from irlens.sweeps.size_times import Launches
from irlens.sweeps.tile_covers import Derived, launch_at
from irlens.sweeps.worker_pool import WorkerPool

#: What divides the sizes that are tried, if enough are: Triton compiles the others differently.
_MULTIPLE = 16
#: Waves of a launch from which on larger ones are alike, and sizes in a row that confirm it.
_MANY_WAVES, _ALIKE = 64, 3
#: How many times the L2 a launch reads from which on none of it stays there for the next wave.
_MANY_CACHES = 4
#: Programs up to which a launch's time is estimated, which takes seconds then.
_MOST_PROGRAMS = 1 << 22


class _Unknown(Exception):  # noqa: N818  # the reason why a time is not known
    pass


def find_bounds(
    request: Request,
    name: str,
    numbers: range,
    pool: WorkerPool,
    derived: Derived,
    progress: Callable[[str, int], None],
) -> tuple[list[SizeBound], str]:
    """Return what binds the time over a size, and why more is unknown.

    Powers of two are evaluated, up to launches of many waves, or whose time is in proportion to
    the size; between two that are bound by different units the sizes are bisected.
    """
    multiple = _MULTIPLE if len(numbers) > 4 * _MULTIPLE else 1
    first = -(-numbers.start // multiple) * multiple
    last = (numbers.stop - 1) // multiple * multiple
    powers = (1 << p for p in range(first.bit_length(), last.bit_length()))
    search = _Search(request, name, multiple, pool, derived, progress)
    reason = ""
    try:
        search.climb(sorted({first, *(each for each in powers if each % multiple == 0), last}))
    except _Unknown as error:
        reason = str(error)
    try:
        for low, high in search.neighbours():
            search.bisect(low, high)
    except _Unknown as error:
        reason = reason or str(error)
    runs = groupby(sorted(search.bounds), key=search.bounds.__getitem__)
    sizes = [(bound, list(run)) for bound, run in runs]
    return [
        SizeBound(bound=bound, first=run[0], last=run[-1], multiple_of=multiple)
        for bound, run in sizes
    ], reason


class _Search:
    """Evaluates launches of one size."""

    def __init__(
        self,
        request: Request,
        name: str,
        multiple: int,
        pool: WorkerPool,
        derived: Derived,
        progress: Callable[[str, int], None],
    ) -> None:
        self._derived, self._progress = derived, progress
        product = gpus.find(request.target.name).product
        self._l2_bytes = product.l2_bytes if product is not None else None
        self._shares: list[float | None] = []
        self._request, self._name, self._multiple, self._pool = request, name, multiple, pool
        self._launches = Launches(find_kernel(request.kernel), [], pool)
        self._planned: dict[int, PlannedVariant] = {}
        self.bounds: dict[int, Bound] = {}

    def climb(self, sizes: Sequence[int]) -> None:
        """Evaluate ascending sizes, up to launches whose number of waves matters no more."""
        with suppress(IrlensError):  # each is planned alone then
            plan = plan_grid([self._at(size) for size in sizes], self._pool)
            self._planned = {
                int(str(e.request.args[self._name])): e for e in reversed(plan.variants)
            }
        for size in sizes:
            waves = self._evaluate(size)
            latest = list(self.bounds.values())[-_ALIKE:]
            is_alike = len(latest) == _ALIKE and len(set(latest)) == 1
            if is_alike and (waves > _MANY_WAVES or self._is_proportional()):
                return

    def _is_proportional(self) -> bool:
        """Whether the latest launches take as long for each element, and no cache holds them."""
        shares = self._shares[-_ALIKE:]
        known = [each for each in shares if each is not None]
        return len(known) == _ALIKE and max(known) <= min(known) * (1 + RESOLUTION)

    def neighbours(self) -> list[tuple[int, int]]:
        """Return each size that was evaluated with the next."""
        sizes = sorted(self.bounds)
        return list(pairwise(sizes))

    def bisect(self, low: int, high: int) -> None:
        """Evaluate sizes until those beside a change of what binds are neighbours."""
        steps = (high - low) // self._multiple
        if steps < 2 or self.bounds[low] == self.bounds[high]:
            return
        middle = low + steps // 2 * self._multiple
        self._evaluate(middle)
        self.bisect(low, middle)
        self.bisect(middle, high)

    def _at(self, size: int) -> Request:
        return launch_at(self._request, self._name, size, self._derived)

    def _evaluate(self, size: int) -> float:
        """Evaluate a size, and return the waves of its launch."""
        self._progress(self._name, size)
        try:
            planned = self._planned.get(size)
            planned = planned or plan_grid([self._at(size)], self._pool).variants[0]
            programs = prod(grid_of(planned, blocks_per_sm=1) or ())
        except IrlensError as error:
            raise _Unknown(f"at {self._name}={size:,}: {error.message}") from None
        if programs > _MOST_PROGRAMS:
            raise _Unknown(f"at {self._name}={size:,}: {programs:,} programs take too long")
        number = self._launches.add(planned)
        self._launches.evaluate([number])
        result = self._launches.results[number]
        if result.bound is None:
            raise _Unknown(f"at {self._name}={size:,}: {result.untimed or result.reason}")
        self.bounds[size] = result.bound
        figures = result.figures or {}
        time, read = figures.get("time"), figures.get("distinct_read_bytes")
        is_larger = self._l2_bytes is not None and (read or 0) > _MANY_CACHES * self._l2_bytes
        self._shares.append(time / size if time and is_larger else None)
        return self._launches.waves(number) or 0.0
