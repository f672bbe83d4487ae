"""Runs a sweep: compile a grid of configurations, then select and sort the results."""

import math
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack

import msgspec

from irlens import gpus
from irlens.compiler import Request, find_kernel
from irlens.compiler.planning import Plan, PlannedVariant
from irlens.compiler.toolchains import version_of
from irlens.model.config import ConstexprValue
from irlens.model.errors import IrlensError
from irlens.model.label import setting_labels
from irlens.model.ranking import with_standings
from irlens.model.sweep import SWEEP_SCHEMA, Correlation, Result, Sweep, Trial
from irlens.sweeps.compiling import compile_variants
from irlens.sweeps.journal import Journal
from irlens.sweeps.measuring import Progress
from irlens.sweeps.selection import (
    FIGURE_NAMES,
    STATIC_FIGURES,
    Selection,
    allows,
    check_keys,
    check_names,
    check_rank,
    figures_of,
    needs_time,
    passes,
    size_axis,
    sort_trials,
    split_top,
    target_facts,
)
from irlens.sweeps.tasks import decode_answer, encode_task, run_plan, run_prepare
from irlens.sweeps.worker_pool import Crash, WorkerPool, run_tasks


class CompiledGrid(msgspec.Struct, frozen=True):
    """The results of a sweep, before filtering and sorting.

    Attributes:
        trials: Every result, in the requested order.
        excluded: Number of configurations that ``where`` excludes.
        journal: The open journal, for times to be added. The caller closes it, and removes it
            once the sweep is complete.
    """

    kernel: str
    trials: list[Trial]
    excluded: int
    journal: Journal
    notes: tuple[str, ...] = ()


def compile_grid(
    requests: Sequence[Request],
    pool: WorkerPool,
    selection: Selection,
    progress: Progress = lambda *_: None,
    *,
    timeout: float = math.inf,
) -> CompiledGrid:
    """Compile and inspect every configuration of the requests.

    Args:
        selection: ``where`` applies now; the names in the rest are checked now.
        progress: Receives the number of completed configurations, those of an interrupted run
            included, their total, and the ones being compiled.
        timeout: Seconds after which the compilation of a configuration is abandoned.

    Raises:
        UnknownNameError: A kernel, constexpr, argument, figure or name in a constraint does not
            exist.
        IrlensError: The kernel cannot be loaded, no configuration meets ``where``, or the workers
            cannot compile any.
        KeyboardInterrupt: The journal keeps the results so far for the same sweep.
    """
    check_keys(selection.sort)
    check_rank(selection.rank)
    source = find_kernel(requests[0].kernel)
    plan = plan_grid(requests, pool)
    request = plan.variants[0].request
    check_names(selection.filters, {*request.settings, *request.args, *FIGURE_NAMES}, "--filter")
    variants = [each for each in plan.variants if allows(selection.where, _names(each), "--where")]
    if not variants:
        raise IrlensError(
            f"--where leaves none of the {len(plan.variants)} configurations",
            hint="; ".join(selection.where),
        )
    with ExitStack() as stack:
        journal = stack.enter_context(Journal(plan, variants))
        labels = [
            " ".join(filter(None, (each.request.target.name, label)))
            for each, label in zip(variants, _labels(variants), strict=True)
        ]

        def watch(done: int, running: Sequence[tuple[int, float]]) -> None:
            progress(done, len(variants), [(labels[each], taken) for each, taken in running])

        results = compile_variants(source, variants, pool, journal, watch, timeout)
        stack.pop_all()  # it stays open for the caller
    return CompiledGrid(
        kernel=plan.function,
        trials=trials_of(variants, results),
        excluded=len(plan.variants) - len(variants),
        journal=journal,
        notes=plan.notes,
    )


def build_sweep(grid: CompiledGrid, selection: Selection, device: str | None = None) -> Sweep:
    """Return the filtered and sorted sweep.

    Args:
        device: The GPU that the trials were timed on, if they were.
    """
    targets = list(dict.fromkeys(trial.target for trial in grid.trials))
    kept = with_standings([each for each in grid.trials if passes(each, selection.filters)])
    axis = size_axis(grid.trials)
    ordered = sort_trials(kept, targets, selection.order, axis)
    ordered, outranked = split_top(ordered, selection.top)
    return Sweep(
        schema=SWEEP_SCHEMA,
        kernel=grid.kernel,
        targets=targets,
        where=list(selection.where),
        filters=list(selection.filters),
        trials=ordered,
        excluded=grid.excluded,
        filtered=len(grid.trials) - len(kept),
        device=device,
        correlations=(
            correlations(grid.trials, STATIC_FIGURES) if device is not None and axis is None else []
        ),
        axis=axis,
        ranked_by=selection.rank,
        sorted_by=list(selection.sort),
        outranked=outranked,
    )


def outranked_trials(grid: CompiledGrid, selection: Selection) -> frozenset[int]:
    """Return the trials, by index, that rank too low to be timed."""
    if selection.top is None or (selection.rank is None and not selection.sort):
        return frozenset()
    timeless = [each for each in selection.filters if not needs_time(each)]
    kept = [trial for trial in grid.trials if passes(trial, timeless)]
    targets = list(dict.fromkeys(trial.target for trial in grid.trials))
    _, outranked = split_top(sort_trials(kept, targets, selection.order), selection.top)
    left_out = {id(trial) for trial in outranked}
    return frozenset(n for n, trial in enumerate(grid.trials) if id(trial) in left_out)


def plan_grid(requests: Sequence[Request], pool: WorkerPool) -> Plan:
    """Return every configuration of the requests, which are of one kernel; see ``plan``."""
    source = find_kernel(requests[0].kernel)
    task = encode_task(source, requests)

    def prepare(_: object) -> None:  # the other workers, while one plans
        pool.prepare(run_prepare, task, len(requests))

    ((_, answer),) = run_tasks(pool, run_plan, [task], watch=prepare)
    if isinstance(answer, Crash):
        raise IrlensError(
            f"loading the kernel's file crashes the process: {answer.reason}",
            hint=answer.last_line or None,
        )
    return decode_answer(answer, Plan)


def trial_of(
    request: Request, compiler: str, result: Result, label: str, triton: str | None = None
) -> Trial:
    """Return the trial of a request.

    Args:
        compiler: Identity of its Triton, see ``PlannedVariant``.
        label: What tells it apart from other trials.
        triton: See ``Trial``.
    """
    return Trial(
        label=label,
        target=request.target,
        settings=request.settings,
        args=request.args,
        triton_version=version_of(compiler),
        triton=triton,
        fixed=request.fixed,
        **msgspec.structs.asdict(result),
    )


def trials_of(variants: Sequence[PlannedVariant], results: Mapping[int, Result]) -> list[Trial]:
    """Return each variant with its result."""
    tritons = _tritons(variants)
    return [
        trial_of(each.request, each.triton, results[number], label, triton)
        for number, (each, label, triton) in enumerate(
            zip(variants, _labels(variants), tritons, strict=True)
        )
    ]


def _labels(variants: Sequence[PlannedVariant]) -> list[str]:
    """Return what tells each variant apart from the others for the same target."""
    requests = [each.request for each in variants]
    labels = setting_labels([{**request.settings, **request.args} for request in requests])
    return [
        " ".join(filter(None, (triton and f"Triton {triton}", label)))
        for triton, label in zip(_tritons(variants), labels, strict=True)
    ]


def _tritons(variants: Sequence[PlannedVariant]) -> list[str | None]:
    """Return a label for each variant's Triton; ``None`` where all variants have the same."""
    identities = {each.triton for each in variants}
    if len(identities) == 1:
        return [None] * len(variants)
    versions = Counter(map(version_of, identities))
    return [
        version if versions[version := version_of(each.triton)] == 1 else each.request.triton
        for each in variants
    ]


def _names(variant: PlannedVariant) -> dict[str, ConstexprValue]:
    """Return the names that ``--where`` may use."""
    return {**target_facts(gpus.find(variant.request.target.name)), **variant.names}


#: Below this number of samples any order is a coincidence.
_FEWEST = 3


def correlations(trials: Sequence[Trial], figures: Sequence[str]) -> list[Correlation]:
    """Return the correlation of each figure with the median times, strongest first."""
    unsorted = [_correlation(trials, figure) for figure in figures]
    return sorted(unsorted, key=lambda each: -abs(each.rho) if each.rho is not None else 1.0)


def spearman(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Return Spearman's rank correlation of two equally long samples, -1..1.

    It is Pearson's correlation of the ranks; equal values share the mean of their ranks
    (C. Spearman, The Proof and Measurement of Association between Two Things, 1904).

    Returns:
        ``None`` for fewer than three pairs, and where all values of a sample are equal.
    """
    if len(first) < _FEWEST:
        return None
    try:
        return statistics.correlation(_ranks(first), _ranks(second))
    except statistics.StatisticsError:
        return None


def _correlation(trials: Sequence[Trial], figure: str) -> Correlation:
    pairs = [
        (float(value), trial.timing.median_ms)
        for trial in trials
        if trial.timing is not None and isinstance(value := figures_of(trial)[figure], int | float)
    ]
    rho = spearman([value for value, _ in pairs], [time for _, time in pairs])
    return Correlation(figure=figure, trials=len(pairs), rho=rho)


def _ranks(values: Sequence[float]) -> list[float]:
    """Return each value's rank, from 1; equal values share the mean of their ranks."""
    ordered = sorted(values)
    first = {value: index for index, value in reversed(list(enumerate(ordered, 1)))}
    last = {value: index for index, value in enumerate(ordered, 1)}
    return [(first[value] + last[value]) / 2 for value in values]
