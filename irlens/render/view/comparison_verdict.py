"""The verdict on a comparison in a line, led by time; the same words in every format and screen.

Can both sides launch; how the estimated time changes, with its range and what binds it; what moved
it; then the findings. Figures decide only where there is no time, and the line says what gives one.
"""

from collections.abc import Callable, Iterator, Sequence
from math import log

from irlens import figures
from irlens.model.comparison import Comparison, Comparisons, TimeRatio
from irlens.model.estimate import BOUND_NAMES, Bound
from irlens.model.several import grouped
from irlens.model.text import count, microseconds, percent, plural
from irlens.render.view.changes import (
    Change,
    changes,
    finding_state,
    load_changes,
    main_changes,
    one_sided,
    title,
    unpaired,
)
from irlens.render.view.launch_time import bound_name
from irlens.render.view.nodes import Headline, Run, Tone

_IN_VERDICT, _CODES = 3, 2
#: In the verdict even though they decide nothing by themselves.
_FOREMOST = frozenset({"resources.registers", "resources.shared_dynamic_bytes"})
_JUDGED: frozenset[Tone] = frozenset({"better", "worse"})
_ORDER: tuple[Tone, ...] = ("worse", "better", "neutral")
_STATE_TONES: dict[str, Tone] = {"new": "worse", "gone": "better"}
#: From this ratio on a time is a multiple of the other.
_MULTIPLE = 2.0


def verdict(pair: Comparison) -> Headline:
    """Return a comparison in a line: "29 % less time: 318 → 226 µs … · 1 finding gone"."""
    if not pair.different:
        known = " in what both sides have" if pair.not_compared else ""
        return Headline((Run(f"no difference{known}"),))
    match pair.verdict.by:
        case "launch":
            phrases = list(_launch(pair))
        case _ if pair.before.refusal and pair.after.refusal:
            phrases = [Run(f"cannot launch, before or after: {pair.after.refusal}", "bad")]
            phrases += _of_figures(pair)
        case "errors":
            phrases = [*_errors(pair), *_time(pair)]
        case "time":
            phrases = list(_time(pair))
        case _:
            phrases = list(_of_figures(pair))
    if pair.verdict.by != "time":
        phrases += map(Run, other_work(pair))
    if pair.verdict.no_time:
        phrases.append(Run(pair.verdict.no_time, "unknown"))
    outcome = pair.verdict.outcome
    tone: Tone = outcome if outcome in ("better", "worse") else "neutral"
    fatal = tone == "worse" and pair.verdict.by in ("launch", "errors")
    return Headline(tuple(phrases), "bad" if fatal else tone)


def in_short(pair: Comparison) -> str:
    """Return the verdict in a few words: "29 % less time", "no longer launches", "worse"."""
    decided = pair.verdict
    if decided.by == "launch":
        return "no longer launches" if pair.after.refusal else "can launch now"
    if decided.by == "time" and pair.time_ratio is not None:
        return change_of_time(pair.time_ratio)
    words = {"same": "no difference", "neither": "neither better nor worse"}
    return words.get(decided.outcome, decided.outcome)


def change_of_time(time: TimeRatio) -> str:
    """Return "29 % less time", "likely 9 % more time", "2.4 × the time", "no change in time"."""
    if time.noise:
        return "no change in time"
    likely = "likely " if time.is_likely else ""
    if time.ratio >= _MULTIPLE:
        return f"{likely}{time.ratio:.2g} × the time"
    more = "less" if time.ratio < 1 else "more"
    return f"{likely}{percent(round(abs(time.ratio - 1), 2))} {more} time"


def times_of(pair: Comparison) -> tuple[float | None, float | None]:
    """Return the times of both sides that their ratio is of, measured or estimated."""
    if pair.time_ratio is not None and pair.time_ratio.device:
        return pair.before.measured_us, pair.after.measured_us
    return pair.before.estimate_us, pair.after.estimate_us


def _launch(pair: Comparison) -> Iterator[Run]:
    before, after = pair.before, pair.after
    if after.refusal:
        yield Run(f"no longer launches: {after.refusal}", "bad")
        if before.estimate_us is not None:
            yield Run(f"took about {microseconds(before.estimate_us)}")
    else:
        yield Run("can launch now", "better")
        if after.estimate_us is not None:
            bound = f", bound by {bound_name(after.bound)}" if after.bound is not None else ""
            yield Run(f"takes about {microseconds(after.estimate_us)}{bound}")
    yield from _findings(pair)


def _errors(pair: Comparison) -> Iterator[Run]:
    """Yield that results became wrong or right, and the errors that are new or gone."""
    for each in main_changes(pair):
        if each.path == "run.matches_reference" and each.changed:
            words = "no longer matches" if each.tone == "worse" else "matches"
            yield Run(f"{words} the reference", each.tone)
    for delta in pair.findings:
        state = finding_state(delta)
        error = delta.after if state == "new" else delta.before if state == "gone" else None
        if error is not None and error.severity == "error":
            yield Run(f"{error.code} {state}: {error.message}", _STATE_TONES[state])


def _time(pair: Comparison) -> Iterator[Run]:
    """Yield how the time changes, what moved it, and the findings."""
    time, decided = pair.time_ratio, pair.verdict
    before, after = times_of(pair)
    if time is None or before is None or after is None:
        yield from _findings(pair)
        return
    phrase = f"{change_of_time(time)}: {microseconds(before)} → {microseconds(after)}"
    phrase += f" measured on {time.device}" if time.device else ""
    phrase += "" if time.noise else f" ({time.low:.2f} to {time.high:.2f} ×)"
    neither = time.noise or pair.other_work
    tone: Tone = "neutral" if neither else "better" if time.ratio < 1 else "worse"
    yield Run(phrase + _bounds(pair.before.bound, pair.after.bound), tone)
    if time.estimated is not None:
        yield Run(f"estimated {time.estimated:.2f} ×")
    yield from map(Run, other_work(pair))
    causes, against = (list(_arrows(pair, paths)) for paths in (decided.because, decided.despite))
    if not time.noise and time.moved_by is not None:
        despite = f", despite {', '.join(against)}" if against else ""
        told = [*_part(time), *([f"{', '.join(causes)}{despite}"] if causes else [])]
        yield from map(Run, [": ".join(told)] if told else [])
    if not causes:
        # What changed, without a claim that it is the cause.
        yield from map(Run, _grids(pair, time))
        told = [_unclaimed(pair, each) for each in _foremost(pair)]
        yield from map(Run, dict.fromkeys(filter(None, told)))
        yield from map(Run, one_sided(pair)[:_IN_VERDICT])
    yield from _findings(pair)


def _grids(pair: Comparison, time: TimeRatio) -> Iterator[str]:
    """Yield "grid 4 × 1 × 1 → 4 × 8 × 1": fewer CTAs one after the other, or shorter ones."""
    first, second = pair.before.config.grid, pair.after.config.grid
    known = first is not None and second is not None and first != second
    if known and time.moved_by == "latency" and not time.noise and not pair.other_work:
        grids = (" × ".join(map(count, grid)) for grid in (first, second) if grid is not None)
        yield f"grid {' → '.join(grids)}"


def _unclaimed(pair: Comparison, change: Change) -> str:
    """Return a figure on both sides; of what means something else on either side, why it does.

    Sectors stored that became 0 because atomics write them say nothing of the kind.
    """
    figure = figures.get(change.path)
    if figure is None or not figure.of_launch:
        return change.arrow
    if figure.path.startswith("time.") or pair.other_work:
        return ""
    return pair.not_judged.get(figure.path, change.arrow)


def other_work(pair: Comparison) -> list[str]:
    """Return "other arguments: x_ptr fp32[512] → fp32[1024]" where the launches do other work."""
    if not pair.other_work:
        return []
    cut = ", …" if len(pair.other_work) > _IN_VERDICT else ""
    return [f"other {_differing(pair)}: {', '.join(pair.other_work[:_IN_VERDICT])}{cut}"]


def _differing(pair: Comparison) -> str:
    return "work" if pair.other_work[0].startswith("grid ") else "arguments"


def _part(time: TimeRatio) -> Iterator[str]:
    """Yield "latency 53.2 µs → 82.6 µs": the part that moved the time, where it is known."""
    for part in time.parts:
        if part.path == time.moved_by:
            values = (microseconds(float(each or 0)) for each in (part.before, part.after))
            yield f"{BOUND_NAMES[time.moved_by]} {' → '.join(values)}"


def _bounds(before: Bound | None, after: Bound | None) -> str:
    if after is None:
        return ""
    other = "" if before in (None, after) else f", before by {bound_name(before)}"
    return f", bound by {bound_name(after)}{other}"


def _arrows(pair: Comparison, paths: Sequence[str]) -> Iterator[str]:
    """Yield "blocks per SM 1 → 2" for each path, once where several loops changed alike."""
    for path in paths:
        field = path.removeprefix("pipelines[].")
        moved = [each for each in changes(pair) if each.path == field and each.changed]
        once = {(each.before, each.after): each for each in reversed(moved)}
        if len(once) == 1:
            only = moved[0]._replace(name=moved[0].name.partition(",")[0])
            yield only.arrow
        else:
            yield from (each.arrow for each in moved[:1])


def _of_figures(pair: Comparison) -> Iterator[Run]:
    """Yield the figures of the greatest weight among those that changed, then the findings."""
    foremost = _foremost(pair)
    yield from _grouped(foremost)
    yield from map(Run, one_sided(pair)[:_IN_VERDICT])
    if "occupancy.theoretical" in {e.path for e in pair.figures if not e.moved}:
        yield Run("occupancy unchanged")
    found = list(_findings(pair))
    if not foremost and not found:
        yield Run("only minor figures changed")
    yield from found


def _foremost(pair: Comparison) -> list[Change]:
    changed = [each for each in main_changes(pair) if each.changed]
    if not changed:
        changed = [
            each._replace(name=f"{each.name} of the load at {place}")
            for place, of_load in load_changes(pair)
            for each in of_load
            if each.weight != "little"
        ]
    foremost = [
        each
        for each in changed
        if (each.weight == "much" or each.path in _FOREMOST)
        and figures.UNKNOWN not in (each.before, each.after)
    ]
    # What two vendors count differently comes last, and may have no room.
    foremost.sort(key=lambda each: each.tone not in _JUDGED and each.path not in _FOREMOST)
    return (foremost or changed)[:_IN_VERDICT]


def _grouped(changed: Sequence[Change]) -> Iterator[Run]:
    """Yield changes as phrases; those that are better, and those that are worse, say so."""
    for tone, arrows in grouped((each.tone, each.arrow) for each in changed).items():
        listed = ", ".join(arrows)
        yield Run(f"{tone}: {listed}" if tone in _JUDGED else listed, tone)


def _findings(pair: Comparison) -> Iterator[Run]:
    """Yield how many findings are new, gone or changed; a new note is not worse."""
    for state in ("new", "gone", "changed"):
        found = [
            finding
            for each in pair.findings
            if finding_state(each) == state and (finding := each.after or each.before) is not None
        ]
        if not found:
            continue
        severe = any(finding.severity != "note" for finding in found)
        # Where time decides, a finding is no verdict of its own.
        judged = severe and pair.verdict.by in ("figures", "findings")
        codes = list(dict.fromkeys(finding.code for finding in found))
        named = ", ".join(codes[:_CODES]) + (", …" if len(codes) > _CODES else "")
        tone = _STATE_TONES.get(state, "neutral") if judged else "neutral"
        yield Run(f"{plural(len(found), 'finding')} {state} ({named})", tone)


def summary(comparisons: Comparisons) -> Headline:
    """Return many comparisons in a line: "2 of 7 differ · 1 slower: … · 1 added"."""
    pairs = [pair for pair in comparisons.pairs if pair.different]
    phrases = [Run(f"{count(len(pairs))} of {count(len(comparisons.pairs))} differ")]
    phrases += counted(pairs, second_label if comparisons.against_first else title)
    partly = sum(bool(pair.not_compared) and not pair.different for pair in comparisons.pairs)
    if partly:
        phrases.append(Run(f"{count(partly)} compared in part"))
    phrases += [Run(f"{count(len(alone))} {what}") for what, alone in unpaired(comparisons)]
    tones = _JUDGED.intersection(phrase.tone for phrase in phrases)
    return Headline(tuple(phrases), next(iter(tones)) if len(tones) == 1 else "neutral")


def counted(
    pairs: Sequence[Comparison], named: Callable[[Comparison], str] = title
) -> Iterator[Run]:
    """Yield how many are slower and faster, the largest change by name: "1 slower (…)"."""
    kinds = ((_kind(pair), pair) for pair in pairs)
    groups = grouped((kind, pair) for kind, pair in kinds if kind is not None)
    for (words, tone), group in sorted(groups.items(), key=lambda each: _ORDER.index(each[0][1])):
        largest = _largest(group, named)
        yield Run(f"{count(len(group))} {words}{largest}", tone)


def _kind(pair: Comparison) -> tuple[str, Tone] | None:
    """Return what a pair counts as: "slower", "faster", "worse", "better"; ``None`` for neither."""
    decided = pair.verdict
    if decided.by == "time" and decided.outcome == "same":
        return "without change in time", "neutral"
    if decided.by == "time" and decided.outcome == "neither":
        return f"with other {_differing(pair)}", "neutral"
    if decided.outcome not in ("better", "worse"):
        return None
    tone: Tone = "better" if decided.outcome == "better" else "worse"
    if decided.by == "time":
        return ("faster" if tone == "better" else "slower"), tone
    return in_short(pair), tone


def second_label(pair: Comparison) -> str:
    """Return what tells a pair from others with the same first side."""
    return pair.after.label


def _largest(pairs: Sequence[Comparison], named: Callable[[Comparison], str]) -> str:
    """Return the pair of the largest change in time, by what tells it from the others."""
    known = [
        (abs(log(time.ratio)), pair)
        for pair in pairs
        if (time := pair.time_ratio) is not None and not time.noise and pair.verdict.by == "time"
    ]
    if not known:
        return ""
    _, pair = max(known, key=lambda each: each[0])
    alone = len(pairs) == 1
    words = in_short(pair) if alone else f"up to {in_short(pair).removeprefix('likely ')}"
    return f" ({words}: {named(pair)})"
