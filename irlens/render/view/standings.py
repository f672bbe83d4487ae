"""How a list of configurations says which is the fastest: its headline, its columns, its order."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from irlens import figures
from irlens.model.estimate import RESOLUTION, Standing
from irlens.model.ranking import Candidate, Problem, Ranking
from irlens.model.several import grouped
from irlens.model.text import count, microseconds, percent, plural
from irlens.render.view.launch_time import bound_name
from irlens.render.view.nodes import Cell, Column, Phrases, Run, phrases, text

#: Problems that have a phrase of their own.
_PROBLEMS = 3
#: Names of configurations as fast as the fastest that are longer than this together are counted.
_LONGEST = 24
#: From this ratio on a time is shown as a multiple of the fastest.
_TIMES = 2.0


def headline(ranking: Ranking, names: Sequence[str], problems: Sequence[str] = ()) -> list[Run]:
    """Return which configuration is the fastest, how long it takes, and which are as fast."""
    if not ranking.is_timed:
        reason = f": {ranking.missing}" if ranking.missing else ""
        return [Run(f"not ranked by time, which is unknown{reason}", "unknown")]
    phrases: list[Run] = []
    led = problems if len(ranking.problems) > 1 and problems else [""] * len(ranking.problems)
    numbered = enumerate(ranking.problems)
    alike = grouped((led[number] or str(number), problem) for number, problem in numbered)
    for name, group in list(alike.items())[:_PROBLEMS]:
        if len(group) > 1:
            phrases.append(_range(ranking, group, name))
        else:
            phrases += _problem(ranking, group[0], names, f"{name}: " if any(led) else "")
    if (more := len(alike) - _PROBLEMS) > 0:
        noun = "kernel" if len(alike) < len(ranking.problems) else ""
        noun = noun or ("size" if all("=" in name.split()[0] for name in alike) else "")
        phrases.append(
            Run(f"and {plural(more, f'other {noun}') if noun else f'{count(more)} more'}")
        )
    return phrases


def _range(ranking: Ranking, problems: Sequence[Problem], led: str) -> Run:
    """Return "softmax_kernel: 3 sizes, 12.1 µs to 31.9 µs" of problems of one name."""
    firsts = [ranking.standings[each.members[0]].time_us for each in problems]
    times = [each for each in firsts if each is not None]
    if not times:
        return Run(f"{led}: {plural(len(problems), 'size')}, time unknown", "unknown")
    unknown = len(firsts) - len(times)
    told = f", {count(unknown)} unknown" if unknown else ""
    span = f"{microseconds(min(times))} to {microseconds(max(times))}"
    return Run(f"{led}: {plural(len(problems), 'size')}, {span}{told}")


def _problem(ranking: Ranking, problem: Problem, names: Sequence[str], led: str) -> Iterator[Run]:
    if problem.fastest is None:
        standing = ranking.standings[problem.members[0]]
        if standing.time_us is not None:
            time = microseconds(standing.time_us)
            yield Run(f"{led}{time}, measured" if standing.measured else f"{led}about {time}")
        elif led:
            missing = next(
                filter(None, (ranking.candidates[n].missing for n in problem.members)), ""
            )
            yield Run(f"{led}time unknown{missing and f': {missing}'}", "unknown")
        return
    best = problem.fastest
    took = _took(ranking.candidates[best], ranking.standings[best])
    named = f"{names[best]} is the fastest" if names[best] else "the fastest"
    yield Run(f"{led}{named}: {took}", "good")
    noise = percent(RESOLUTION)
    close = [names[index] for index in problem.as_fast]
    if all(close) and 0 < len(", ".join(close)) <= _LONGEST:
        yield Run(f"{', '.join(close)} within {noise}")
    else:
        yield Run(f"{plural(len(close), 'other') if close else 'no other'} within {noise}")
    if partial := sum(ranking.standings[index].partial for index in problem.members):
        yield Run(f"{count(partial)} read fewer bytes, so solve another problem", "warn")
    unknown = [
        index
        for index in problem.members
        if ranking.standings[index].time_us is None and ranking.candidates[index].launchable
    ]
    if unknown:
        reason = next(filter(None, (ranking.candidates[n].missing for n in unknown)), "")
        told = f": {reason}" if reason else ""
        yield Run(f"time of {count(len(unknown))} unknown{told}", "unknown")


def _took(candidate: Candidate, standing: Standing) -> str:
    assert standing.time_us is not None
    time = microseconds(standing.time_us)
    if standing.measured:
        return f"{time}, measured"
    return f"about {time}{bound_by(candidate)}"


def bound_by(candidate: Candidate) -> str:
    """Return ", bound by DRAM"; empty where that is unknown."""
    return "" if candidate.bound is None else f", bound by {bound_name(candidate.bound)}"


def against_cell(standing: Standing) -> Run:
    """Return the mark of a configuration: "fastest", "as fast", "+12 %", "2.31 ×"."""
    ratio = standing.over_fastest
    if standing.partial:
        return Run("reads less", "warn")
    if ratio is None:
        return Run(figures.UNKNOWN)
    if standing.mark is not None:
        return Run(standing.mark, "better")
    return Run(f"{ratio:.2f} ×" if ratio >= _TIMES else f"+{(ratio - 1) * 100:.0f} %")


class Listed(NamedTuple):
    """One figure of every configuration of a list.

    Attributes:
        shared: What to say once where all cells are equal: "registers 64"; empty to leave the
            column out then, ``None`` to keep it.
    """

    column: Column
    cells: Sequence[str | Run | Cell]
    shared: str | None = None


def without_shared(listed: Sequence[Listed], label: str) -> tuple[list[Phrases], list[Listed]]:
    """Return what several configurations share, said once, and the figures that differ.

    Args:
        label: What to call all of them: "all 30".
    """
    shared = {
        n
        for n, each in enumerate(listed)
        if each.shared is not None
        and len(each.cells) > 1
        and all(cell == each.cells[0] for cell in each.cells)
    }
    rest = [each for n, each in enumerate(listed) if n not in shared]
    words = [each.shared for n, each in enumerate(listed) if n in shared and each.shared]
    if not words:
        return [], rest
    first = text(Run(f"{label}: ", "dim"), words[0])
    return [phrases(first, *words[1:], separator="   ")], rest


def time_listed(
    candidates: Sequence[Candidate], standings: Sequence[Standing], *, narrow: bool = False
) -> list[Listed]:
    """Return the columns of time: measured, estimated, the mark, what binds it; none without one.

    Args:
        narrow: Whether there is no room for an estimate beside a measured time.
    """
    if all(each.time_us is None for each in standings):
        return []
    measured = any(each.measured for each in standings)
    listed = []
    if measured:
        times = [each.time_us if each.measured else None for each in standings]
        listed.append(_times("time", times, standings))
    if not (measured and narrow):
        times = [each.estimated_us if each.launchable else None for each in candidates]
        listed.append(_times("est. time", times, standings))
    if any(each.over_fastest is not None or each.partial for each in standings):
        marks = [against_cell(each) for each in standings]
        listed.append(Listed(Column("vs fastest", numbers=True), marks))
    if not (measured and narrow):
        bounds = [bound_name(each.bound) for each in candidates]
        listed.append(Listed(Column("bound by"), bounds, f"bound by {bounds[0]}"))
    return listed


def _times(title: str, times: Sequence[float | None], standings: Sequence[Standing]) -> Listed:
    cells = [
        Run(figures.format_value(time, "us"), "better" if standing.is_marked else "neutral")
        for time, standing in zip(times, standings, strict=True)
    ]
    return Listed(Column(title, numbers=True), cells)
