"""Evaluates launches of single sizes, each once: what breaks in them."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias

import msgspec

from irlens import gpus
from irlens.compiler import Request, capture, find_kernel
from irlens.compiler.calls.binding import GridTooLargeError
from irlens.compiler.planning import PlannedVariant
from irlens.model.capture import MOST_CTAS, Capture
from irlens.model.errors import IrlensError
from irlens.model.limits import Cause, LimitKind
from irlens.model.sweep import Result
from irlens.model.text import count
from irlens.report.inspection import Inspection
from irlens.sweeps.compiling import compile_each, grid_of, specialization_key
from irlens.sweeps.run import plan_grid
from irlens.sweeps.tile_covers import Derived, launch_at, tiles_of
from irlens.sweeps.worker_pool import WorkerPool

#: Seconds after which a compilation is abandoned, on a machine that does nothing else.
_PATIENCE = 60.0
#: Elements of a tile for each thread, beyond which the compilation of a row kernel takes minutes,
#: and of a tensor, beyond which it is refused at once.
_MOST_HELD, _LARGEST_TENSOR = 1024, 1 << 20


class Probe(msgspec.Struct, frozen=True):
    """A launch of one size.

    Attributes:
        is_whole: Whether that is so of all programs.
        is_launched: Whether the programs ran; not where it cannot be compiled or launched.
        reach: The largest integer, masked off or not, as a share of its type's range; 0 if unknown.
    """

    causes: dict[LimitKind, Cause] = {}
    is_whole: bool = True
    unknown: str = ""
    is_launched: bool = True
    reach: float = 0.0


def _patience() -> float:
    """Return the seconds after which a compilation is abandoned at the machine's present load."""
    return _PATIENCE * max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


def _refused(kind: LimitKind, cause: Cause) -> Probe:
    return Probe({kind: cause}, is_launched=False)


#: Evaluates a launch of a compiled variant, with its grid.
Evaluate: TypeAlias = Callable[[Capture, PlannedVariant, tuple[int, int, int]], Probe]


class Prober:
    """Evaluates launches of several sizes, each once.

    Attributes:
        planned_names: The values of each launch by name, see ``PlannedVariant.names``.
    """

    def __init__(
        self,
        request: Request,
        name: str,
        pool: WorkerPool,
        evaluate: Evaluate,
        progress: Callable[[str, int], None],
        derived: Derived,
    ) -> None:
        self._request, self._name, self._pool = request, name, pool
        self._derived = derived
        self._tiles = tiles_of(find_kernel(request.kernel))
        self._evaluate, self._progress = evaluate, progress
        self._compiled: dict[bytes, Probe | Capture] = {}
        self._plans: dict[int, PlannedVariant | Probe] = {}
        self.probes: dict[int, Probe] = {}
        self._surroundings: set[tuple[object, ...]] = set()
        self.planned_names: list[Mapping[str, object]] = []

    @property
    def is_alone(self) -> bool:
        """Whether all launches have one grid and the same other arguments, whatever the size."""
        return len(self.probes) > 1 and len(self._surroundings) == 1

    def is_fixed(self, argument: str) -> bool:
        """Whether an argument, a tensor, is the same whatever the size."""
        return (
            len(self.planned_names) > 1
            and argument in self.planned_names[0]
            and (len({str(each[argument]) for each in self.planned_names}) == 1)
        )

    def probe(self, sizes: Iterable[int]) -> None:
        """Evaluate launches of sizes that were not evaluated before."""
        new = [size for size in dict.fromkeys(sizes) if size not in self.probes]
        self.plan(new)
        planned = {size: self._plans[size] for size in new}
        self._compile([each for each in planned.values() if isinstance(each, PlannedVariant)])
        for size, each in planned.items():
            self._progress(self._name, size)
            if isinstance(each, PlannedVariant):
                self.planned_names.append(each.names)
            self.probes[size] = each if isinstance(each, Probe) else self._evaluated(each)

    def plan(self, sizes: Iterable[int]) -> None:
        """Plan launches of sizes that were not planned before, all in one loading of the file."""
        new = [size for size in dict.fromkeys(sizes) if size not in self._plans]
        if new:
            self._plans |= self._planned(new)

    def _planned(self, sizes: Sequence[int]) -> dict[int, PlannedVariant | Probe]:
        requests = [launch_at(self._request, self._name, size, self._derived) for size in sizes]
        try:
            variants = plan_grid(requests, self._pool).variants
        except IrlensError as error:
            if len(sizes) == 1:
                return {sizes[0]: Probe(unknown=error.message)}
            half = len(sizes) // 2
            return self._planned(sizes[:half]) | self._planned(sizes[half:])
        return {
            int(str(each.request.args[self._name])): self._held_too_much(each) or each
            for each in variants
        }

    def _held_too_much(self, planned: PlannedVariant) -> Probe | None:
        """Return the probe of a launch whose tile is too large for its threads to compile soon."""
        warps = planned.names.get("num_warps")
        if type(warps) is not int:
            return None
        most = _MOST_HELD * planned.request.target.warp_size * warps
        for name in sorted(self._tiles):
            elements = planned.names.get(name)
            if type(elements) is int and most < elements <= _LARGEST_TENSOR:
                held = f"{name}={count(elements)} is over {count(_MOST_HELD)} elements a thread"
                return Probe(unknown=f"not compiled, which takes minutes: {held}")
        return None

    def _compile(self, planned: Sequence[PlannedVariant]) -> None:
        missing = {
            key: each.request
            for each in planned
            if (key := specialization_key(each)) not in self._compiled and _too_large(each) is None
        }
        source = find_kernel(self._request.kernel)
        failures = compile_each(source, missing, self._pool, _patience())
        for key, request in missing.items():
            failed = failures.get(key)
            self._compiled[key] = capture(request)[0] if failed is None else _failed(failed)

    def _evaluated(self, planned: PlannedVariant) -> Probe:
        if (too_large := _too_large(planned)) is not None:
            return too_large
        compiled = self._compiled[specialization_key(planned)]
        if isinstance(compiled, Probe):
            return compiled
        occupancy = Inspection(compiled).occupancy
        # One compilation serves several sizes, each with a grid of its own.
        if occupancy is not None and occupancy.blocks_per_sm == 0:
            return _refused("fit", Cause(reason=occupancy.why_refused))
        try:
            grid = grid_of(planned, occupancy.blocks_per_sm if occupancy is not None else None)
        except IrlensError as error:
            return Probe(unknown=error.message)
        if grid is None:
            return Probe(unknown=f"the launch has no grid: add --grid, such as --grid {self._name}")
        others = {name: str(each) for name, each in planned.names.items() if name != self._name}
        self._surroundings.add((grid, *sorted(others.items())))
        over = _over(grid, compiled)
        probe = self._evaluate(compiled, planned, grid)
        return msgspec.structs.replace(probe, causes=probe.causes | over)


def _failed(result: Result) -> Probe:
    """Return the probe of a variant that did not compile."""
    if result.outcome == "timed out":
        return Probe(unknown=f"the compilation was {result.reason}")
    return _refused("compile", Cause(reason=result.reason.partition("\n")[0]))


def _too_large(planned: PlannedVariant) -> Probe | None:
    """Return the probe of a launch whose grid no GPU takes, which is not compiled."""
    try:
        grid_of(planned, blocks_per_sm=1)
    except GridTooLargeError as error:
        cause = Cause(word="xyz"[error.axis], value=error.extent, most=MOST_CTAS)
        return _refused("grid", cause)
    except IrlensError:
        pass
    return None


def _over(grid: tuple[int, int, int], compiled: Capture) -> dict[LimitKind, Cause]:
    """Return the dimension of a grid that has more CTAs than the GPU takes."""
    target = compiled.target
    if target is None:
        return {}
    threads = (compiled.config.num_warps or 1) * target.warp_size
    limits = gpus.by_arch(target.arch).arch.most_in_grid(threads)
    for axis, extent, most in zip("xyz", grid, limits, strict=True):
        if extent > most:
            return {"grid": Cause(word=axis, value=extent, most=most)}
    return {}
