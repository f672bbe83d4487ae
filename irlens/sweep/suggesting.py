"""Compiles the neighbours of a configuration, and orders them by their estimated time."""

from collections.abc import Callable, Sequence

import msgspec

from irlens.compiler import Request, find_kernel
from irlens.compiler.planning import PlannedVariant
from irlens.model.config import LAUNCH_OPTIONS
from irlens.model.errors import IrlensError
from irlens.model.estimate import RESOLUTION, TimeEstimate
from irlens.model.suggestion import SUGGESTION_SCHEMA, Neighbour, Suggestion
from irlens.model.sweep import Trial
from irlens.sweep.measuring import Progress
from irlens.sweep.neighbourhood import Changes, double_changes, is_block_size, single_changes
from irlens.sweep.run import compile_grid, plan_grid
from irlens.sweep.selection import Selection
from irlens.sweep.workers import WorkerPool

_SHOWN = 3
#: A configuration solves the same problem only where the launch accesses as many distinct bytes.
_SAME = ("distinct_read_bytes", "distinct_written_bytes")


def suggest(
    requests: Sequence[Request],
    pool: WorkerPool,
    estimate: Callable[[Request], TimeEstimate | None],
    most: int,
    progress: Progress = lambda *_: None,
) -> Suggestion:
    """Return the fastest neighbours of the configuration that a request selects.

    Args:
        requests: A single one. Of an autotuned kernel's configurations the one with the least
            estimated time is the current one.
        pool: The workers.
        estimate: Returns the estimated time of a compiled configuration, for its range and reason.
        most: Neighbours to compile at most.
        progress: See ``compile_grid``; the total grows as neighbours are chosen.

    Raises:
        IrlensError: There are several requests, the current configuration does not fit, or its
            time is unknown.
    """
    if len(requests) != 1:
        raise IrlensError(
            f"{len(requests)} configurations are requested: neighbours belong to one",
            hint="name one target and one value of each option",
        )
    count = _Count(progress)
    planned = plan_grid([_without_derived(requests[0], pool)], pool).variants
    trials = _compile([each.request for each in planned], pool, count)
    number, current = min(enumerate(trials), key=lambda each: _order(each[1]))
    variant = planned[number]
    time = estimate(variant.request) if current.outcome == "fits" else None
    before = _time(current)
    if before is None:
        raise unknown_time(current.reason or (time.reason if time is not None else ""))
    settings = _varied(variant)
    single = single_changes(settings)
    found = _neighbours(variant, single[:most], pool, count)
    times = [(changes, _time(trial)) for changes, trial in found]
    pairs = double_changes([*times, *((changes, None) for changes in single[most:])])
    found += _neighbours(variant, pairs[: most - len(found)], pool, count)
    unfit = [trial for _, trial in found if trial.outcome not in ("fits", "unknown")]
    known = [each for each in found if _comparable(each[1])]
    same = [each for each in known if _accesses(each[1]) == _accesses(current)]
    best = sorted(
        (
            Neighbour(changed=dict(changes), time_ratio=after / before, trial=trial)
            for changes, trial in same
            if (after := _time(trial)) is not None
        ),
        key=lambda each: each.time_ratio,
    )
    return Suggestion(
        schema=SUGGESTION_SCHEMA,
        kernel=find_kernel(variant.request.kernel).function,
        target=variant.request.target,
        current=current,
        settings=settings,
        low_us=time.low_us if time is not None else None,
        high_us=time.high_us if time is not None else None,
        best=best[:_SHOWN],
        is_better=bool(best) and best[0].time_ratio < 1 - RESOLUTION,
        noise=RESOLUTION,
        compiled=len(found),
        unfit=len(unfit),
        other_launch=len(known) - len(same),
        unknown=len(found) - len(unfit) - len(known),
        left_out=len(single) + len(pairs) - len(found),
    )


def unknown_time(reason: str) -> IrlensError:
    """Return the error for a current configuration without an estimated time."""
    return IrlensError(
        "the estimated time of the current configuration is unknown: "
        + (reason or "irlens does not know what its launch accesses")
    )


class _Count:
    """Progress over several grids, one after the other.

    Args:
        progress: Receives the configurations of all grids so far.
    """

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._before = 0
        self._total = 0

    def update(self, done: int, total: int, running: Sequence[tuple[str, float]]) -> None:
        """Pass on the progress of the current grid."""
        self._total = total
        self._progress(self._before + done, self._before + total, running)

    def end_grid(self) -> None:
        """Count the grid's configurations as done."""
        self._before += self._total
        self._total = 0


def _without_derived(request: Request, pool: WorkerPool) -> Request:
    """Return a request without the constexprs that the description's formulas give all the same.

    The request of a capture repeats every constexpr; those of a neighbour follow its own settings.
    """
    description = find_kernel(request.kernel).description
    formulas = {} if description is None else description.constexprs
    dropped = {name for name in request.settings if isinstance(formulas.get(name), str)}
    while dropped:
        kept = {name: value for name, value in request.settings.items() if name not in dropped}
        shorter = msgspec.structs.replace(request, settings=kept)
        planned = plan_grid([shorter], pool).variants
        differing = {
            name
            for name in dropped
            if any(each.names.get(name) != request.settings[name] for each in planned)
        }
        if not differing:
            return shorter
        dropped -= differing
    return request


def _varied(variant: PlannedVariant) -> dict[str, int]:
    """Return the settings of a configuration that its neighbours vary.

    A constexpr that the description computes by a formula follows from the problem's size.
    """
    request = variant.request
    description = find_kernel(request.kernel).description
    described = {} if description is None else description.constexprs
    given = {name for name, value in described.items() if not isinstance(value, str)}
    blocks = [name for name in (*described, *request.settings) if name not in LAUNCH_OPTIONS]
    names = dict.fromkeys(name for name in blocks if name in given or name in request.settings)
    varied = {name: variant.names.get(name) for name in ("num_warps", "num_stages")}
    varied |= {name: variant.names[name] for name in names if is_block_size(variant.names[name])}
    return {
        name: value
        for name, value in varied.items()
        if isinstance(value, int) and not isinstance(value, bool) and value >= 1
    }


def _neighbours(
    variant: PlannedVariant, changes: Sequence[Changes], pool: WorkerPool, count: _Count
) -> list[tuple[Changes, Trial]]:
    requests = [_changed(variant.request, each) for each in changes]
    return list(zip(changes, _compile(requests, pool, count), strict=True))


def _changed(request: Request, changes: Changes) -> Request:
    """Return the request of a neighbour.

    A grid that is given, and not computed by the description, may follow from a block's size.
    """
    moves_grid = not changes.keys() <= set(LAUNCH_OPTIONS)
    return msgspec.structs.replace(
        request,
        settings={**request.settings, **changes},
        grid=() if moves_grid else request.grid,
    )


def _compile(requests: Sequence[Request], pool: WorkerPool, count: _Count) -> list[Trial]:
    if not requests:
        return []
    grid = compile_grid(requests, pool, Selection(), count.update)
    count.end_grid()
    with grid.journal:
        grid.journal.remove()
    return grid.trials


def _order(trial: Trial) -> tuple[bool, float]:
    time = _time(trial)
    return time is None, time or 0.0


def _time(trial: Trial) -> float | None:
    """Return the estimated time of a configuration that fits, in microseconds."""
    return trial.figure("time") if trial.outcome == "fits" else None


def _accesses(trial: Trial) -> list[float | None]:
    return [trial.figure(name) for name in _SAME]


def _comparable(trial: Trial) -> bool:
    return _time(trial) is not None and None not in _accesses(trial)
