"""A check in one line for each kernel that moved: better or worse by time, where, and its cause."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from irlens.model.check import CheckedKernel
from irlens.model.comparison import TimeRatio
from irlens.model.text import count, first_of, microseconds, percent
from irlens.render.view.changes import describe
from irlens.render.view.check_verdicts import LEVELS, Level, Verdict
from irlens.render.view.comparison_verdict import in_short, other_work, times_of
from irlens.render.view.nodes import Place, Tone

#: Causes and configurations that a line names.
_CAUSES, _NAMED = 3, 4
#: They follow from figures that are named, or stand in a column of their own.
_SAID = frozenset({"estimated time", "blocks per SM"})
_DIRECTIONS: dict[Tone, str] = {"better": "less time", "worse": "more time"}
_TONES: dict[str, Tone] = {"better": "better", "worse": "worse"}
_BY_TIME: dict[str, Level] = {
    "better": "good", "worse": "warning", "same": "note", "neither": "note",
}  # fmt: skip


class MovedLine(NamedTuple):
    """The changes of one kernel, or of several with the same cause.

    Attributes:
        where: The GPUs, with their settings where a kernel has several configurations; "" where
            the time says which change is on which.
        time: "42 % more time (62.5 µs → 88.7 µs)"; without a time what else decides: "worse".
        causes: The figures that moved, broken budgets and new findings.
        places: The lines of Python to look at, that of what matters most first.
    """

    level: Level
    kernels: tuple[str, ...]
    where: str
    time: str
    tone: Tone
    causes: tuple[str, ...]
    places: tuple[Place, ...]

    @property
    def words(self) -> str:
        """The whole without its mark."""
        where = f" on {self.where}" if self.where else ""
        told = " · ".join(filter(None, (self.time, ", ".join(self.causes))))
        return f"{', '.join(self.kernels)}{where}: {told}"


def is_news(verdicts: Sequence[Verdict]) -> bool:
    """Whether results are worth a line: more than a time that changed within its noise."""
    return any(each.level != "note" or each.name not in _SAID for each in verdicts)


def moved_lines(found: Sequence[tuple[CheckedKernel, list[Verdict]]]) -> list[MovedLine]:
    """Return a line for each kernel and level: failures first, then the largest change in time."""
    groups: dict[tuple[str, Level], list[tuple[CheckedKernel, list[Verdict]]]] = {}
    for kernel, verdicts in found:
        if is_news(verdicts):
            key = kernel.side.kernel, _level(kernel, verdicts)
            groups.setdefault(key, []).append((kernel, verdicts))
    ordered = sorted(groups, key=lambda key: (LEVELS.index(key[1]), -_effect(groups[key])))
    lines = (_line(name, level, groups[name, level]) for name, level in ordered)
    return _shared(lines)


def _level(kernel: CheckedKernel, verdicts: Sequence[Verdict]) -> Level:
    """Return what fails as an error; time decides on the rest, where it is known."""
    levels = {each.level for each in verdicts}
    pair = kernel.comparison
    if "error" in levels or pair is None or pair.verdict.by != "time":
        return next(level for level in LEVELS if level in levels)
    if any(each.is_budget for each in verdicts):
        return "warning"
    return _BY_TIME[pair.verdict.outcome]


def _tone(kernels: Sequence[CheckedKernel]) -> Tone:
    outcomes = {kernel.comparison.verdict.outcome for kernel in kernels if kernel.comparison}
    tones: set[Tone] = {_TONES[each] for each in outcomes if each in _TONES}
    return tones.pop() if len(tones) == 1 else "neutral"


def _effect(group: Iterable[tuple[CheckedKernel, list[Verdict]]]) -> float:
    ratios = [time.ratio for time in _times(kernel for kernel, _ in group)]
    return max((max(ratio, 1 / ratio) for ratio in ratios), default=1.0)


def _times(kernels: Iterable[CheckedKernel]) -> Iterator[TimeRatio]:
    for kernel in kernels:
        if kernel.comparison is not None and kernel.comparison.time_ratio is not None:
            yield kernel.comparison.time_ratio


def _line(
    name: str, level: Level, group: Sequence[tuple[CheckedKernel, list[Verdict]]]
) -> MovedLine:
    kernels = [kernel for kernel, _ in group]
    places = dict.fromkeys(e.place for _, verdicts in group for e in _main(verdicts) if e.place)
    where, time = _time(kernels)
    return MovedLine(
        level=level,
        kernels=(name,),
        where=where,
        time=time,
        tone=_tone(kernels),
        causes=tuple(_causes(group)),
        places=tuple(places),
    )


def _shared(lines: Iterable[MovedLine]) -> list[MovedLine]:
    """Merge the lines of kernels that share a place, such as a function that they all call."""
    merged: list[MovedLine] = []
    for line in lines:
        for index, other in enumerate(merged):
            alike = (other.level, other.places, other.causes) == (
                line.level, line.places, line.causes,
            )  # fmt: skip
            if line.places and alike:
                where = other.where if other.where == line.where else "several"
                time = other.time if other.time == line.time else _DIRECTIONS.get(line.tone, "")
                tone: Tone = other.tone if other.tone == line.tone else "neutral"
                kernels = (*other.kernels, *line.kernels)
                merged[index] = other._replace(kernels=kernels, where=where, time=time, tone=tone)
                break
        else:
            merged.append(line)
    return merged


def _where(kernels: Sequence[CheckedKernel]) -> str:
    """Return "h100, b200", with the settings of a kernel that has several configurations."""
    names = []
    for kernel in kernels:
        side = kernel.side
        target = side.target.name if side.target is not None else "unknown"
        settings = describe(side).partition(", ")[2]
        names.append(" ".join(filter(None, (target, settings))))
    return first_of(names, _NAMED)


def _time(kernels: Sequence[CheckedKernel]) -> tuple[str, str]:
    """Return where a kernel moved, and how its time changed, or what else decides.

    Where that differs between GPUs, each change says its own.
    """
    where = _where(kernels)
    if len(kernels) == 1:
        return where, _with_values(kernels[0])
    alike: dict[str, list[CheckedKernel]] = {}
    for kernel in kernels:
        if (pair := kernel.comparison) is not None:
            timed = pair.verdict.by == "time" and pair.time_ratio is not None
            key = pair.verdict.outcome if timed else in_short(pair)
            alike.setdefault(f"{timed} {key}", []).append(kernel)
    told = [(_in_short(some), some) for some in alike.values()]
    if len(told) < 2:
        return where, next((words for words, _ in told), "")
    told.sort(key=lambda each: -_effect((kernel, []) for kernel in each[1]))
    return "", ", ".join(f"{words} on {_where(some)}" for words, some in told)


def _in_short(kernels: Sequence[CheckedKernel]) -> str:
    """Return what is said of kernels of one outcome: a range where their times differ."""
    words = {in_short(each.comparison) for each in kernels if each.comparison is not None}
    times = sorted(_times(kernels), key=lambda each: each.ratio)
    return words.pop() if len(words) == 1 or len(times) < 2 else _range(times)


def _with_values(kernel: CheckedKernel) -> str:
    pair = kernel.comparison
    if pair is None:
        return ""
    before, after = times_of(pair)
    if pair.time_ratio is None or before is None or after is None:
        return in_short(pair)
    return f"{in_short(pair)} ({microseconds(before)} → {microseconds(after)})"


def _range(times: Sequence[TimeRatio]) -> str:
    """Return "likely 35 % to 42 % more time"; all are for the better, or for the worse."""
    low, high = sorted(abs(each.ratio - 1) for each in (times[0], times[-1]))
    likely = "likely " if any(each.is_likely for each in times) else ""
    more = "less" if times[0].ratio < 1 else "more"
    return f"{likely}{percent(round(low, 2))} to {percent(round(high, 2))} {more} time"


def _main(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Return the results that a line names: without those that follow from others."""
    return [each for each in verdicts if each.name not in _SAID] or list(verdicts)


def _causes(group: Sequence[tuple[CheckedKernel, list[Verdict]]]) -> Iterator[str]:
    """Yield the results of all configurations, those that most of them have first.

    Before them stand the arguments, where these are not the baseline's.
    """
    others = [other_work(kernel.comparison) for kernel, _ in group if kernel.comparison]
    same_work = others and all(each == others[0] for each in others)
    yield from others[0] if same_work else ()
    said = {name for kernel, _ in group for name in kernel.side.config.args} if same_work else ()
    alike: dict[str, list[Verdict]] = {}
    for _, verdicts in group:
        for each in _main(verdicts):
            if not (each.is_setting and each.name in said):
                alike.setdefault(each.full_name, []).append(each)
    ordered = sorted(
        alike.values(),
        key=lambda same: (
            not same[0].is_setting, same[0].level != "error", -len(same),
            LEVELS.index(same[0].level),
        ),
    )  # fmt: skip
    for same in ordered[:_CAUSES]:
        some = f" in {count(len(same))} of {count(len(group))}" if len(same) < len(group) else ""
        yield _together(same) + some


def _together(same: Sequence[Verdict]) -> str:
    """Return one result over several configurations: "registers +6 to +10"."""
    first = same[0]
    if first.is_budget:
        before = " as before" if first.since == "before" else ""
        if all(each.is_unknown for each in same):
            return f"unknown whether {first.full_name}"
        return f"breaks {first.full_name}{before}"
    if first.name.startswith("finding "):
        code = first.name.removeprefix("finding ")
        return code if first.since == "unknown" else f"new {code}"
    arrows = {(each.before, each.after) for each in same}
    if len(arrows) == 1:
        values = " → ".join(filter(None, (first.before, first.after)))
        return f"{first.full_name} {values}".strip()
    changes = sorted({each.change for each in same if each.change}, key=_number)
    if not changes:
        return first.full_name
    low, high = changes[0], changes[-1]
    if low == high:
        return f"{first.full_name} {low}"
    unit = high.partition(" ")[2]
    return f"{first.full_name} {low.removesuffix(unit).rstrip()} to {high}"


def _number(change: str) -> float:
    """Return the number of "−1,024 B"; what is none comes first."""
    digits = change.replace(",", "").replace("−", "-").split(" ")[0]
    try:
        return float(digits)
    except ValueError:
        return float("-inf")
