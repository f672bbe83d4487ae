"""Compiles the neighbours of a configuration, and orders them by their estimated time."""

import math
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec

from irlens import gpus
from irlens.compiler import Request, find_kernel
from irlens.compiler.planning import PlannedVariant
from irlens.model.config import LAUNCH_OPTIONS, ConstexprValue
from irlens.model.errors import IrlensError
from irlens.model.estimate import RESOLUTION, TimeEstimate
from irlens.model.label import setting_labels
from irlens.model.ranking import rank_trials, with_standings
from irlens.model.suggestion import SUGGESTION_SCHEMA, Neighbour, Stop, Suggestion
from irlens.model.sweep import Trial
from irlens.sweeps.compiling import stream_requests
from irlens.sweeps.neighbourhood import (
    Changes,
    Tried,
    is_block_size,
    is_needless,
    next_changes,
    single_changes,
)
from irlens.sweeps.run import plan_grid, trial_of
from irlens.sweeps.worker_pool import WorkerPool

_SHOWN = 3
#: Neighbours that are tried together, before what they say decides the next.
_ROUND = 8
#: Names of the sizes of blocks.
_BLOCK = re.compile(r"block|tile|group|split|chunk|^B[A-Z]?$", re.IGNORECASE)
#: A configuration solves the same problem only where the launch accesses as many distinct bytes.
_SAME = ("distinct_read_bytes", "distinct_written_bytes")


class Reached(msgspec.Struct, frozen=True):
    """How far a search is.

    Attributes:
        best: The fastest so far: "num_warps=8: 12.3 µs"; empty before there is one.
        running: Configurations being compiled, with their seconds.
    """

    done: int
    total: int
    best: str = ""
    running: list[tuple[str, float]] = []


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Where a search ends.

    Attributes:
        seconds: Seconds after which no more results are awaited, once the current configuration
            has a time.
    """

    most: int
    seconds: float = math.inf


class _Stopped(Exception):  # noqa: N818  # it is no error
    """The search ends."""

    def __init__(self, stop: Stop) -> None:
        super().__init__(stop)
        self.stop: Stop = stop


def suggest(
    requests: Sequence[Request],
    pool: WorkerPool,
    estimate: Callable[[Request], TimeEstimate | None],
    limits: Limits,
    progress: Callable[[Reached], None] = lambda _: None,
) -> Suggestion:
    """Return the fastest neighbours of the configuration that a request selects.

    Neighbours that compile fast and spill least are tried first. The search ends early where
    nothing faster can come, the time is up, or the user interrupts it; what was found by then is
    returned.

    Args:
        requests: One launch in one configuration or several, as an autotuner or a recording has
            them: the one with the least estimated time is the current one.
        estimate: Returns the estimated time of a compiled configuration, for its range and reason.

    Raises:
        IrlensError: There are several launches, the current configuration does not fit, or its
            time is unknown.
        KeyboardInterrupt: Before the current configuration has a time.
    """
    launches = list(dict.fromkeys(map(_launch, requests)))
    if len(launches) != 1:
        raise IrlensError(
            f"{len(launches)} launches are requested: neighbours belong to one",
            hint="name one target and one value of each argument",
        )
    started = time.monotonic()
    planned = plan_grid([_without_derived(each, pool) for each in requests], pool).variants
    search = _Search(pool, limits, started, progress)
    variant, current = search.current(planned)
    known = estimate(variant.request) if current.outcome == "fits" else None
    if _time(current) is None:
        raise unknown_time(current.reason or (known.reason if known is not None else ""))
    search.neighbours(variant, current, _register_caps(current, known))
    return _suggestion(variant, current, known, search)


def _launch(request: Request) -> tuple[object, ...]:
    """Return what the configurations of one launch share."""
    args = tuple(sorted(request.args.items(), key=str))
    return request.kernel, request.target, request.triton, args


class _Search:
    """Configurations on their way through the workers, and what is known of them.

    Attributes:
        unseen: Configurations among which the current one was chosen before they were compiled.
    """

    def __init__(
        self,
        pool: WorkerPool,
        limits: Limits,
        started: float,
        progress: Callable[[Reached], None],
    ) -> None:
        self._pool, self._limits, self._started = pool, limits, started
        self._progress = progress
        self._before, self._total, self._best = 0, 0, ""
        self._may_stop = False
        self._found: dict[tuple[int, int], tuple[Changes, Trial]] = {}
        self.planned = 0
        self.unseen = 0
        self.stopped: Stop | None = None
        self.floor_us: float | None = None

    def current(self, planned: Sequence[PlannedVariant]) -> tuple[PlannedVariant, Trial]:
        """Return the configuration with the least estimated time; several are an autotuner's."""
        labels = setting_labels([each.request.settings for each in planned])
        trials: dict[int, Trial] = {}
        self._total = len(planned)
        try:
            for number, trial in self._trials(
                planned[0], [each.request for each in planned], labels
            ):
                trials[number] = trial
                first = min(trials.values(), key=_order)
                self._note_best(first)
                self._may_stop = _time(first) is not None
        except _Stopped as stopped:
            self.stopped = stopped.stop
        except KeyboardInterrupt:
            if not self._may_stop:
                raise
            self.stopped = "interrupted"
        self.unseen = len(planned) - len(trials)
        number, current = min(trials.items(), key=lambda each: _order(each[1]))
        return planned[number], current

    def neighbours(self, variant: PlannedVariant, current: Trial, caps: Sequence[Changes]) -> None:
        """Try the neighbours of the current configuration, those with caps on registers first."""
        settings = _varied(variant)
        self.floor_us = _floor(current)
        self._may_stop = True
        worst = max((current.figure("time_high") or 0.0) / (_time(current) or 1.0), 1 + RESOLUTION)
        chosen = [*caps, *single_changes(settings, _sizes(variant.request, settings))]
        untried = [Tried(changes, None) for changes in chosen[len(caps) :]]
        self._plan(len(chosen) + len(next_changes(settings, untried)))
        if self.stopped is not None:
            return
        try:
            self._end_if_done(current)
            while chosen:
                self._try(variant, current, chosen)
                if len(self._found) >= self._limits.most:
                    break
                tried = [
                    _tried(changes, trial, current)
                    for changes, trial in self.found
                    if len(changes) == 1 and changes.keys() <= settings.keys()
                ]
                done = [changes for changes, _ in self.found]
                left = [each for each in next_changes(settings, tried, worst) if each not in done]
                self._plan(len(done) + len(left))
                chosen = left[:_ROUND]
        except _Stopped as stopped:
            self.stopped = stopped.stop
        except KeyboardInterrupt:
            self.stopped = "interrupted"

    def _plan(self, planned: int) -> None:
        """Note the number of all neighbours, as far as is known by now."""
        self._total += min(self._limits.most, planned) - min(self._limits.most, self.planned)
        self.planned = planned

    def _try(self, variant: PlannedVariant, current: Trial, changes: Sequence[Changes]) -> None:
        before = len(self._found)
        chosen = changes[: self._limits.most - before]
        labels = [" ".join(f"{n}={v}" for n, v in changes.items()) for changes in chosen]
        requests = [_changed(variant.request, changes) for changes in chosen]
        for number, trial in self._trials(variant, requests, labels):
            self._found[before, number] = chosen[number], trial
            fastest = min((current, *self.same(current)), key=_order)
            self._note_best(fastest)
            self._end_if_done(fastest)

    @property
    def found(self) -> list[tuple[Changes, Trial]]:
        """The neighbours that were tried, in the order in which they were chosen."""
        return [each for _, each in sorted(self._found.items(), key=lambda item: item[0])]

    def same(self, current: Trial) -> list[Trial]:
        """Return the neighbours that solve the same problem."""
        return [trial for changes, trial in self.found if _is_same(current, trial, changes)]

    def _trials(
        self, variant: PlannedVariant, requests: Sequence[Request], labels: Sequence[str]
    ) -> Iterator[tuple[int, Trial]]:
        def watch(done: int, running: Sequence[tuple[int, float]]) -> None:
            named = [(labels[number], seconds) for number, seconds in running]
            self._progress(Reached(self._before + done, self._total, self._best, named))
            if self._may_stop and time.monotonic() - self._started > self._limits.seconds:
                raise _Stopped("budget")

        source = find_kernel(variant.request.kernel)
        stream = stream_requests(source, requests, self._pool, watch) if requests else iter(())
        for each in stream:
            request = requests[each.number]
            trial = trial_of(request, variant.triton, each.result, labels[each.number])
            yield each.number, trial
        self._before += len(requests)

    def _note_best(self, trial: Trial) -> None:
        if (known := _time(trial)) is not None:
            self._best = f"{trial.label}: {known:.4g} µs" if trial.label else f"{known:.4g} µs"

    def _end_if_done(self, fastest: Trial) -> None:
        """End the search where no configuration can be faster by more than the noise."""
        known = _time(fastest)
        if self.floor_us and known is not None and known <= self.floor_us * (1 + RESOLUTION):
            raise _Stopped("floor")


def _register_caps(current: Trial, known: TimeEstimate | None) -> list[Changes]:
    """Return the cap on registers that saves time by the estimate, if there is one.

    It is of the current code: another configuration has other registers.
    """
    registers = current.figure("registers")
    if known is None or registers is None:
        return []
    steps = (each for each in known.steps if each.cause == "registers")
    return [{"maxnreg": int(registers) + each.change} for each in steps]


def _floor(trial: Trial) -> float | None:
    """Return the least time of a launch: its roofline's, or that of launching anything."""
    roofline = trial.figure("floor_us")
    timing = gpus.find(trial.target.name).timing
    known = [each for each in (roofline, timing and timing.launch * 1e6) if each]
    return max(known, default=None)


def _tried(changes: Changes, trial: Trial | None, current: Trial) -> Tried:
    if trial is None:
        return Tried(changes, None)
    after, before = _time(trial), _time(current)
    same = _is_same(current, trial, changes)
    leaves = trial.outcome == "fits" and not same
    ratio = after / before if after and before and not leaves else None
    spilled = (trial.figure("local_bytes") or 0) > (current.figure("local_bytes") or 0)
    crowded = spilled or trial.outcome == "does not fit"
    return Tried(changes, ratio, crowded=crowded, leaves=leaves)


def _suggestion(
    variant: PlannedVariant, current: Trial, known: TimeEstimate | None, search: _Search
) -> Suggestion:
    before = _time(current)
    assert before is not None
    found, settings = search.found, _varied(variant)
    unfit = [trial for _, trial in found if trial.outcome not in ("fits", "unknown")]
    timed = [each for each in found if _comparable(current, each[1], each[0])]
    same = [each for each in timed if _is_same(current, each[1], each[0])]
    steps = [_tried(changes, trial, current) for changes, trial in same]
    worth = [
        each
        for each, step in zip(same, steps, strict=True)
        if not is_needless(settings, step, steps)
    ]
    ranked = with_standings([current, *(trial for _, trial in worth)])
    order = rank_trials(ranked).order
    best = [
        Neighbour(changed=dict(worth[n - 1][0]), time_ratio=after / before, trial=ranked[n])
        for n in order
        if n and (after := _time(ranked[n])) is not None
    ]
    return Suggestion(
        schema=SUGGESTION_SCHEMA,
        kernel=find_kernel(variant.request.kernel).function,
        target=variant.request.target,
        current=ranked[0],
        settings=settings,
        low_us=known.low_us if known is not None else None,
        high_us=known.high_us if known is not None else None,
        best=best[:_SHOWN],
        is_better=bool(best) and best[0].time_ratio < 1 - RESOLUTION,
        noise=RESOLUTION,
        compiled=len(found),
        unfit=len(unfit),
        other_launch=len(timed) - len(same),
        unknown=len(found) - len(unfit) - len(timed),
        left_out=search.planned - len(found),
        unseen=search.unseen,
        as_fast=sum(each.time_ratio <= best[0].time_ratio * (1 + RESOLUTION) for each in best[1:]),
        stopped=search.stopped,
        floor_us=search.floor_us,
    )


def unknown_time(reason: str) -> IrlensError:
    """Return the error for a current configuration without an estimated time."""
    return IrlensError(
        "the estimated time of the current configuration is unknown: "
        + (reason or "irlens does not know what its launch accesses"),
        hint="irlens sweep orders configurations without a time by local memory and occupancy",
    )


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

    A constexpr that the description computes by a formula follows from the problem's size. Of an
    autotuned kernel the constexprs that no configuration sets are the problem; of another one those
    that look like sizes of the data, unless the grid follows from them: a launch as large as before
    may access as many bytes, others, and for another result.
    """
    request = variant.request
    description = find_kernel(request.kernel).description
    described = {} if description is None else description.constexprs
    given = {name for name, value in described.items() if not isinstance(value, str)}
    blocks = [name for name in (*described, *request.settings) if name not in LAUNCH_OPTIONS]
    names = dict.fromkeys(name for name in blocks if name in given or name in request.settings)
    varied = {name: variant.names.get(name) for name in ("num_warps", "num_stages")}
    blocks = [name for name in names if is_block_size(variant.names[name])]
    if tuned := set(variant.tuned) - set(LAUNCH_OPTIONS):
        blocks = [name for name in blocks if name in tuned]
    elif description is None:
        grid = {name for each in request.grid for name in re.findall(r"[A-Za-z_]\w*", str(each))}
        sizes = _sizes(request, {name: variant.names[name] for name in blocks})
        blocks = [name for name in blocks if name not in sizes or name in grid]
    varied |= {name: variant.names[name] for name in blocks}
    return {
        name: value
        for name, value in varied.items()
        if isinstance(value, int) and not isinstance(value, bool) and value >= 1
    }


def _sizes(request: Request, settings: Mapping[str, ConstexprValue]) -> set[str]:
    """Return the constexprs that look like sizes of the data: as large as a tensor's dimension."""
    texts = [value for value in request.args.values() if isinstance(value, str)]
    extents = {int(each) for text in texts for each in re.findall(r"\d+", text.partition("[")[2])}
    return {
        name
        for name, value in settings.items()
        if value in extents and name not in LAUNCH_OPTIONS and not _BLOCK.search(name)
    }


def _changed(request: Request, changes: Changes) -> Request:
    """Return the request of a neighbour.

    A grid of numbers may follow from a block's size: the description's formula takes its place if
    there is one. Else it stays as it is: a launch that it does not fit accesses other bytes, so
    that it is no neighbour, see ``_accesses``. The block of a loop leaves the grid alone.
    """
    description = find_kernel(request.kernel).description
    is_number = all(extent.isdigit() for extent in map(str, request.grid))
    derives = description is not None and bool(description.grid) and is_number
    return msgspec.structs.replace(
        request,
        settings={**request.settings, **changes},
        grid=() if derives and not changes.keys() <= set(LAUNCH_OPTIONS) else request.grid,
    )


def _order(trial: Trial) -> tuple[bool, float]:
    time = _time(trial)
    return time is None, time or 0.0


def _time(trial: Trial) -> float | None:
    """Return the estimated time of a configuration that fits, in microseconds."""
    return trial.figure("time") if trial.outcome == "fits" else None


def _accesses(trial: Trial) -> list[float | None]:
    return [trial.figure(name) for name in _SAME]


def _comparable(current: Trial, trial: Trial, changes: Changes) -> bool:
    """Whether a neighbour has a time, and it is known what it accesses beside the current one."""
    if _time(trial) is None:
        return False
    # What depends on data is unknown of both; warps and stages do not change what a CTA accesses.
    return None not in _accesses(trial) or (
        changes.keys() <= set(LAUNCH_OPTIONS) and None in _accesses(current)
    )


def _is_same(current: Trial, trial: Trial, changes: Changes) -> bool:
    """Whether a neighbour solves the same problem, as far as is known."""
    same = _accesses(trial) == _accesses(current)
    return same and _comparable(current, trial, changes)
