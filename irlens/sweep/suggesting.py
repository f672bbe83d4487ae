"""Compiles the neighbours of a configuration, and orders them by their estimated time."""

from collections.abc import Callable, Sequence

import msgspec

from irlens.compiler import Request, find_kernel
from irlens.compiler.planning import PlannedVariant
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
#: Options of the compiler that stand among a request's settings, and are no constexprs.
_OPTIONS = ("num_warps", "num_stages", "num_ctas", "maxnreg")
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
        progress: See ``compile_grid``.

    Raises:
        IrlensError: There are several requests, the current configuration does not fit, or its
            time is unknown.
    """
    if len(requests) != 1:
        raise IrlensError(
            f"{len(requests)} configurations are requested: neighbours belong to one",
            hint="name one target and one value of each option",
        )
    planned = plan_grid(requests, pool).variants
    trials = _compile([each.request for each in planned], pool, progress)
    number, current = min(enumerate(trials), key=lambda each: _order(each[1]))
    variant = planned[number]
    time = estimate(variant.request) if current.outcome == "fits" else None
    before = _time(current)
    if before is None:
        reason = current.reason or (time.reason if time is not None else "")
        raise IrlensError(
            "the estimated time of the current configuration is unknown"
            + (f": {reason}" if reason else ": irlens does not know what its launch accesses"),
        )
    settings = _varied(variant)
    single = single_changes(settings)
    found = _neighbours(variant, single[:most], pool, progress)
    times = [(changes, _time(trial)) for changes, trial in found]
    pairs = double_changes([*times, *((changes, None) for changes in single[most:])])
    found += _neighbours(variant, pairs[: most - len(found)], pool, progress)
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


def _varied(variant: PlannedVariant) -> dict[str, int]:
    """Return the settings of a configuration that its neighbours vary.

    A constexpr that the description computes by a formula follows from the problem's size.
    """
    request = variant.request
    description = find_kernel(request.kernel).description
    described = {} if description is None else description.constexprs
    given = {name for name, value in described.items() if not isinstance(value, str)}
    blocks = [name for name in (*described, *request.settings) if name not in _OPTIONS]
    names = dict.fromkeys(name for name in blocks if name in given or name in request.settings)
    varied = {name: variant.names.get(name) for name in ("num_warps", "num_stages")}
    varied |= {name: variant.names[name] for name in names if is_block_size(variant.names[name])}
    return {
        name: value
        for name, value in varied.items()
        if isinstance(value, int) and not isinstance(value, bool) and value >= 1
    }


def _neighbours(
    variant: PlannedVariant, changes: Sequence[Changes], pool: WorkerPool, progress: Progress
) -> list[tuple[Changes, Trial]]:
    request = variant.request
    requests = [
        msgspec.structs.replace(request, settings={**request.settings, **each}) for each in changes
    ]
    return list(zip(changes, _compile(requests, pool, progress), strict=True))


def _compile(requests: Sequence[Request], pool: WorkerPool, progress: Progress) -> list[Trial]:
    if not requests:
        return []
    grid = compile_grid(requests, pool, Selection(), progress)
    with grid.journal:
        grid.journal.remove()
    return grid.trials


def _order(trial: Trial) -> tuple[bool, float]:
    time = _time(trial)
    return time is None, time or 0.0


def _time(trial: Trial) -> float | None:
    """Return the estimated time of a configuration that fits, in microseconds."""
    return (trial.figures or {}).get("time") if trial.outcome == "fits" else None


def _accesses(trial: Trial) -> list[float | None]:
    return [(trial.figures or {}).get(name) for name in _SAME]


def _comparable(trial: Trial) -> bool:
    return _time(trial) is not None and None not in _accesses(trial)
