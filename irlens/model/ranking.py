"""Which configuration is the fastest, which are as fast, and in which order a list shows them.

Every list of configurations, in every format, takes its order and its marks from here. Times are
compared only within one problem: the same kernel on the same GPU with the same scalar arguments,
whose launches read the same number of distinct bytes. A configuration that reads fewer leaves out
a part of the problem, so it is no faster solution of it. Only the output, which an atomic reads and
a store does not, may be missing.
"""

from collections.abc import Hashable, Mapping, Sequence
from typing import Literal

import msgspec

from irlens.model.estimate import RESOLUTION, Bound, Standing
from irlens.model.inspected import Inspected
from irlens.model.label import Labelled
from irlens.model.several import grouped
from irlens.model.sweep import Trial
from irlens.model.terms import describe_missing_time


class EstimatedTime(msgspec.Struct, frozen=True, kw_only=True):
    """The estimated time of one configuration, with what it is compared by.

    Attributes:
        estimated_us: In microseconds; ``None`` if unknown.
        accessed: Distinct bytes that a launch reads; of one that reads none, those that it writes;
            ``None`` if unknown.
        written: Distinct bytes that a launch writes; ``None`` if unknown.
        bound: What binds the estimated time.
        missing: Why there is no estimated time; empty if there is one, or no reason is known.
    """

    estimated_us: float | None = None
    accessed: float | None = None
    written: float | None = None
    bound: Bound | None = None
    missing: str = ""


class Candidate(EstimatedTime, frozen=True, kw_only=True):
    """What decides the rank of one configuration.

    Attributes:
        problem: Equal for configurations whose times compare.
        launchable: Whether it compiles and fits, as far as is known.
        measured_us: Its measured time, in microseconds; ``None`` if it was not timed.
    """

    problem: Hashable
    launchable: bool = True
    measured_us: float | None = None

    @property
    def time_us(self) -> float | None:
        """The measured time, or else the estimated one; ``None`` where it cannot launch."""
        if not self.launchable:
            return None
        return self.estimated_us if self.measured_us is None else self.measured_us


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """Configurations whose times compare.

    Attributes:
        members: Their indexes, the fastest first.
        fastest: The index of the fastest; ``None`` where no time is known.
        as_fast: The indexes of those within the noise of it.
    """

    members: tuple[int, ...]
    fastest: int | None
    as_fast: tuple[int, ...]


class Ranking(msgspec.Struct, frozen=True, kw_only=True):
    """The order of configurations.

    Attributes:
        candidates: What was ranked.
        standings: The standing of each, as they were given.
        problems: In the order of their first member.
    """

    candidates: tuple[Candidate, ...]
    standings: tuple[Standing, ...]
    problems: tuple[Problem, ...]

    @property
    def order(self) -> list[int]:
        """All indexes, problem after problem, the fastest of each first."""
        return [index for problem in self.problems for index in problem.members]

    @property
    def is_timed(self) -> bool:
        """Whether any time is known."""
        return any(standing.time_us is not None for standing in self.standings)

    @property
    def missing(self) -> str:
        """Why times are unknown: the first reason; empty where all are known."""
        return next((each.missing for each in self.candidates if each.missing), "")


def rank(candidates: Sequence[Candidate]) -> Ranking:
    """Return the ranking of configurations; those that are equal keep their order."""
    groups = grouped((each.problem, index) for index, each in enumerate(candidates))
    standings: list[Standing] = [Standing(time_us=None)] * len(candidates)
    problems = []
    for indexes in groups.values():
        found = _standings([candidates[index] for index in indexes])
        for index, standing in zip(indexes, found, strict=True):
            standings[index] = standing
        members = sorted(indexes, key=lambda n: _key(candidates[n], standings[n]))
        for index in members:
            standings[index] = _marked(
                standings[index], "fastest" if index == members[0] else "as fast"
            )
        marked = [index for index in members if standings[index].is_marked]
        problems.append(
            Problem(
                members=tuple(members),
                fastest=marked[0] if marked else None,
                as_fast=tuple(marked[1:]),
            )
        )
    return Ranking(
        candidates=tuple(candidates), standings=tuple(standings), problems=tuple(problems)
    )


def longest_first(ranking: Ranking) -> Ranking:
    """Return the ranking with the problem whose fastest launch takes the longest first."""
    times = {each.members: ranking.standings[each.members[0]].time_us for each in ranking.problems}
    problems = sorted(ranking.problems, key=lambda each: -(times[each.members] or 0.0))
    return msgspec.structs.replace(ranking, problems=tuple(problems))


def _standings(alike: Sequence[Candidate]) -> list[Standing]:
    """Return the standing of each configuration of one problem."""
    timed = [each for each in alike if each.time_us is not None]
    whole = max(timed, key=lambda each: each.accessed or 0.0, default=None)
    complete = [each for each in timed if not _is_partial(each, whole)]
    measured = any(each.measured_us is not None for each in complete)
    # An estimate says nothing beside a measurement, and nothing is the fastest of one.
    times = [each.time_us for each in complete if (each.measured_us is not None) == measured]
    least = min(filter(None, times), default=None) if len(alike) > 1 else None
    found = []
    for each in alike:
        time = each.time_us
        partial = time is not None and _is_partial(each, whole)
        compares = time and least and not partial and (each.measured_us is not None) == measured
        found.append(
            Standing(
                time_us=time,
                measured=time is not None and each.measured_us is not None,
                over_fastest=time / least if time and least and compares else None,
                partial=partial,
            )
        )
    return found


def _is_partial(candidate: Candidate, whole: Candidate | None) -> bool:
    """Whether a configuration leaves out a part of what the one that reads most reads."""
    if whole is None or None in (candidate.accessed, whole.accessed):
        return False
    missing = (whole.accessed or 0.0) - (candidate.accessed or 0.0)
    # A split product adds to its output with atomics, which read it.
    of_atomics = candidate.written or 0.0 if candidate.written == whole.written else 0.0
    return missing > of_atomics


def _marked(standing: Standing, mark: Literal["fastest", "as fast"]) -> Standing:
    ratio = standing.over_fastest
    if ratio is None or ratio > 1 + RESOLUTION:
        return standing
    return msgspec.structs.replace(standing, mark=mark)


def _key(candidate: Candidate, standing: Standing) -> tuple[object, ...]:
    """Compared times first, then others, then none; what cannot launch is last."""
    return (
        not candidate.launchable,
        standing.partial,
        standing.over_fastest is None,
        standing.time_us is None,
        standing.time_us or 0.0,
    )


def problem_of(report: Labelled) -> Hashable:
    """Return what equals for reports of one problem: kernel, target, and what is computed.

    Shapes are left out: a configuration may choose that of a workspace.
    """
    config = report.config
    told = {**config.element_types(), **config.numbers(), **config.fixed_values()}
    return report.kernel, report.target, _frozen(told)


def measured_us(report: Inspected) -> float | None:
    """Return the measured time of a report's launch, in microseconds."""
    timing = report.run.timing if report.run is not None else None
    return timing.median_us if timing is not None and timing.is_plausible else None


def of_report(report: Inspected) -> Candidate:
    """Return what decides the rank of a report's configuration."""
    time, traffic, occupancy = report.time, report.traffic, report.occupancy
    read, written = (
        (None, None)
        if traffic is None
        else (traffic.distinct_read_bytes, traffic.distinct_written_bytes)
    )
    estimated = None if time is None else time.estimate_us
    return Candidate(
        problem=problem_of(report),
        launchable=occupancy is None or occupancy.launchable,
        measured_us=measured_us(report),
        estimated_us=estimated,
        accessed=read or written,
        written=written,
        bound=None if time is None else time.bound,
        missing=describe_missing_time(report),
    )


def problem_of_trial(trial: Trial) -> Hashable:
    """Return what equals for configurations of a sweep that solve one problem."""
    fixed = {name: trial.settings.get(name) for name in trial.fixed}
    return trial.target, _frozen(trial.args | fixed)


def of_trial(trial: Trial) -> Candidate:
    """Return what decides the rank of a configuration of a sweep."""
    return Candidate(
        problem=problem_of_trial(trial),
        launchable=trial.outcome in ("fits", "unknown"),
        measured_us=None if trial.timing is None else trial.timing.median_us,
        estimated_us=trial.figure("time"),
        accessed=trial.figure("distinct_read_bytes") or trial.figure("distinct_written_bytes"),
        written=trial.figure("distinct_written_bytes"),
        bound=trial.bound,
        missing=trial.untimed,
    )


def _frozen(values: Mapping[str, object]) -> Hashable:
    return tuple(sorted((name, repr(value)) for name, value in values.items()))


def rank_reports(reports: Sequence[Inspected]) -> Ranking:
    """Return the ranking of the configurations of reports."""
    return rank([of_report(each) for each in reports])


def rank_trials(trials: Sequence[Trial]) -> Ranking:
    """Return the ranking of the configurations of a sweep."""
    return rank([of_trial(each) for each in trials])


def with_standings(trials: Sequence[Trial]) -> list[Trial]:
    """Return the trials with their standings."""
    standings = rank_trials(trials).standings
    return [
        msgspec.structs.replace(trial, standing=standing)
        for trial, standing in zip(trials, standings, strict=True)
    ]
