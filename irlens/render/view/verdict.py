"""The verdict on a report in one line, and what is worth doing next.

The verdict answers in the order of what a reader wants to know, each phrase toned by whether it is
good: can it launch; how long it takes and what binds that, or what would tell; what costs the most
of it; then pipelining, occupancy, spills, traffic. The next steps follow from what is not good.
``comparison_verdict`` has the verdict on a comparison, ``check`` and ``standings`` have their own.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence

from irlens.model.ranking import of_report
from irlens.model.report import COMPUTE_KINDS, SEVERITIES, Finding, Pipeline, Report
from irlens.model.resources import LocalArray, kept_in_agprs, spills_to_agprs_alone
from irlens.model.terms import Terms, describe_depth, describe_missing_time, describe_run
from irlens.model.text import count, microseconds, percent, plural, short_size, size
from irlens.render.view.commands import LONG_SUBJECT
from irlens.render.view.findings import by_effect, severities
from irlens.render.view.launch_time import describe_step, launch_time
from irlens.render.view.memory_traffic import moves_the_minimum, sector_ratio, wastes_sectors
from irlens.render.view.nodes import SEVERITY_TONES, Command, Headline, NextSteps, Run, Tone
from irlens.render.view.pipelines import is_drained

#: From this occupancy on it is good, and what limits it is left to the facts.
_ENOUGH_OCCUPANCY = 0.5
#: The tone of the whole is the first of these that a phrase has.
_RANKS: tuple[Tone, ...] = ("bad", "warn", "unknown", "good")
_COUNTED: dict[Tone, str] = {
    "good": "fine", "warn": "with warnings", "bad": "with errors", "unknown": "in part unknown",
    "neutral": "without a verdict",
}  # fmt: skip
#: Commands that are suggested at most, and terms that are named as examples.
_MOST_STEPS, _MOST_TERMS = 3, 3
#: The mechanisms of pipelines that the glossary has under their name.
_MECHANISMS = frozenset({"cp.async", "tma", "wgmma", "tcgen05", "direct-to-lds"})


def verdict(report: Report) -> Headline:
    """Return the verdict: "✓ about 12.6 µs (11.4 to 14.1), bound by DRAM · 100 % occupancy"."""
    phrases = tuple(_phrases(report))
    tones = {phrase.tone for phrase in phrases}
    if describe_missing_time(report):
        tones.discard("good")  # the whole is not, whatever the rest is: its time was not looked at
    return Headline(phrases, next((tone for tone in _RANKS if tone in tones), "neutral"))


def verdicts(reports: Sequence[Report]) -> Headline:
    """Return the verdict on several reports: what takes the longest, "4 fine · 1 with warnings"."""
    told = tallied(reports)
    return Headline((*_longest(reports), *told.phrases), told.tone)


def tallied(reports: Sequence[Report]) -> Headline:
    """Return how many reports are fine: "4 fine · 1 with warnings"."""
    tones = Counter(verdict(report).tone for report in reports)
    phrases = (Run(f"{count(tones[e])} {words}", e) for e, words in _COUNTED.items() if tones[e])
    return Headline(tuple(phrases), next((tone for tone in _RANKS if tones[tone]), "neutral"))


def _longest(reports: Sequence[Report]) -> Iterator[Run]:
    """Yield which of several kernels takes the longest, or how many times are unknown."""
    if len({report.kernel for report in reports}) == 1:
        return  # which configuration is the fastest is the ranking's to say
    times = [of_report(report).time_us or 0.0 for report in reports]
    longest = reports[times.index(max(times))]
    if known := sum(time > 0 for time in times):
        yield Run(f"{longest.kernel} takes the longest: {launch_time(longest)}")
    unknown = [each for each in reports if describe_missing_time(each)]
    if unknown:
        some = f" of {count(len(unknown))}" if known else ""
        yield Run(f"no time estimate{some}: {describe_missing_time(unknown[0])}")


def _phrases(report: Report) -> Iterator[Run]:
    run, occupancy = report.run, report.occupancy
    if run is not None and run.matches_reference is False:
        yield Run(describe_run(run), "bad")
    if occupancy is not None and not occupancy.launchable:
        refused = [Terms(report).refusal(each) for each in occupancy.refusals[:1]]
        yield Run(": ".join(["cannot launch", *refused]), "bad")
        yield from _counted(report, "")
        return
    yield from _time(report)
    costs = list(_costs(report))
    yield from costs
    if run is not None and run.matches_reference:
        yield Run(describe_run(run), "good")
    yield from _pipelining(report)
    yield _occupancy(report)
    yield from _spills(report)
    yield from _products(report)
    yield from _traffic(report)
    if "calls" in report.unknown:
        yield Run("calls a function that is not known", "unknown")
    yield from _counted(report, " ".join(cost.text for cost in costs))


def _time(report: Report) -> Iterator[Run]:
    """Yield the time, measured or estimated, or its floor, why no more, and what gives it."""
    if words := launch_time(report):
        yield Run(words)
    elif missing := describe_missing_time(report):
        roofline = report.roofline
        if roofline is not None and roofline.floor_us:
            yield Run(f"at least {microseconds(roofline.floor_us)}, bound by {roofline.bound}")
        # Nobody asked for the time of a launch that nobody described.
        tone: Tone = "unknown" if report.config.args else "neutral"
        yield Run(f"no time estimate: {missing}", tone)


def _costs(report: Report) -> Iterator[Run]:
    """Yield the first error, and the change that would save the most time, with its finding."""
    time, steps = report.time, report.time.steps if report.time is not None else []
    first = next(iter(by_effect(report)), None)
    if first is not None and first.severity == "error":
        yield Run(f"{_named(first)}: {first.message}", "bad")
    if time is not None and time.estimate_us and steps:
        step = steps[0]
        found = next((each for each in report.findings if each.cause == step.cause), None)
        named = f" ({_named(found)})" if found is not None else ""
        tone: Tone = "warn" if found is not None and found.severity == "warning" else "neutral"
        yield Run(describe_step(step, time.estimate_us, Terms(report)) + named, tone)


def _named(finding: Finding) -> str:
    """Return "IRL202 at softmax.py:48"."""
    return finding.code + (f" at {finding.source}" if finding.source is not None else "")


def _counted(report: Report, said: str) -> Iterator[Run]:
    """Yield how many findings there are of each severity, the costliest that is not yet named."""
    ordered = by_effect(report)
    for severity, number in severities(report.findings).items():
        first = next(each for each in ordered if each.severity == severity)
        more = ", …" if number > 1 else ""
        named = "" if first.code in said else f" ({_named(first)}{more})"
        yield Run(plural(number, severity) + named, SEVERITY_TONES[severity])


def _pipelining(report: Report) -> Iterator[Run]:
    """Yield how deep the loops that load data are pipelined; nothing where no loop does."""
    pipelines = report.pipelines
    if not pipelines and "pipelines" in report.unknown:
        yield Run("pipelining unknown", "unknown")
    alike: dict[tuple[str, Tone], int] = {}
    for pipeline in pipelines:
        if pipeline.kind not in COMPUTE_KINDS:
            key = _depth(pipeline)
            alike[key] = alike.get(key, 0) + 1
    loops = sum(alike.values())
    for (phrase, tone), number in alike.items():
        several = f"{count(number)} of {plural(loops, 'loop')} " if len(alike) > 1 else ""
        yield Run(several + phrase, tone)


def _depth(pipeline: Pipeline) -> tuple[str, Tone]:
    depth = describe_depth(pipeline) or ""
    match pipeline.verdict:
        case "pipelined" if is_drained(pipeline):
            return f"pipelined {depth}, nothing in flight during the compute", "warn"
        case "pipelined":
            return f"pipelined {depth}".rstrip(), "good"
        case "shallower":
            return f"pipelined only {depth}", "warn"
        case "not pipelined":
            asked = pipeline.requested_stages
            if asked is None or asked <= 1:
                return "no pipelining requested", "neutral"
            ahead = sum(each.instructions for each in pipeline.loads if each.iterations_ahead)
            if ahead:
                loads = sum(each.instructions for each in pipeline.loads)
                done = f"only {count(ahead)} of {plural(loads, 'load')} pipelined"
            else:
                done = "not pipelined"
            return f"{done}, {plural(asked, 'stage')} requested", "warn"
        case _:
            return "pipelining unknown", "unknown"


def _occupancy(report: Report) -> Run:
    occupancy = report.occupancy
    if occupancy is None:
        return Run("occupancy unknown", "unknown")
    share = f"{percent(occupancy.theoretical)} occupancy"
    if occupancy.theoretical >= _ENOUGH_OCCUPANCY:
        return Run(share, "good")
    # Few warps suit some kernels, those of the tensor cores for one: this alone is no failure.
    return Run(f"{share}, limited by {Terms(report).limiters(occupancy)}")


def _spills(report: Report) -> Iterator[Run]:
    held, terms = report.resources, Terms(report)
    counted = [
        Run(f"{plural(number, kind)}{where}", "neutral" if where == _TO_AGPRS else "warn")
        for number, kind, where in (
            (held.vgpr_spills, "VGPR spill", spilled_to(report)),
            (held.sgpr_spills, "SGPR spill", ""),
        )
        if number
    ]
    yield from counted
    spills = spills_known(report)
    if held.local_bytes:
        local = f"{size(held.local_bytes)} of {terms.local} per {terms.thread}"
        arrays = "" if spills or not report.local_arrays else ", for arrays"
        yield Run(local + arrays, "warn" if spills or not arrays else "neutral")
    if held.local_bytes is None or (spills is None and not held.local_bytes):
        yield Run("spills unknown", "unknown")
    elif spills is False and not counted:
        yield Run("no spills", "good")


def _products(report: Report) -> Iterator[Run]:
    """Yield the types that products are computed in, where that is slower, or unknown."""
    slower = [
        f"{each.operands} multiplied {each.computed_how}"
        for each in report.products
        if each.slows_down
    ]
    yield from (Run(phrase, "warn") for phrase in dict.fromkeys(slower))
    if any(each.computed is None for each in report.products):
        yield Run("type of products unknown", "unknown")


def _traffic(report: Report) -> Iterator[Run]:
    """Yield whether a launch moves the least that it can, or what of it is unknown."""
    traffic, config = report.traffic, report.config
    reason = report.unknown.get("traffic", "") if traffic is None else traffic.reason
    said = describe_missing_time(report)
    if reason and reason not in said and (traffic is not None or (config.args and config.grid)):
        yield Run(f"memory traffic unknown: {reason}", "unknown")
    if traffic is None:
        return
    if any(each.out_of_bounds for each in traffic.accesses):
        yield Run("accesses memory outside of a tensor", "bad")
    elif moves_the_minimum(traffic):
        moved = (traffic.read_bytes or 0) + (traffic.written_bytes or 0)
        yield Run(f"moves the minimum, {short_size(moved)}", "good")
    elif wastes_sectors(traffic):
        yield Run(f"{sector_ratio(traffic):.3g} × the ideal {Terms(report).granule}s", "warn")
    elif (
        sector_ratio(traffic) is None
        and not reason
        and None in (traffic.load_sectors, traffic.store_sectors)
    ):
        paths = (f"traffic.{name}_sectors" for name in ("load", "store"))
        told = next((report.unknown[path] for path in paths if path in report.unknown), "")
        yield Run(": ".join(filter(None, ("coalescing unknown", told))), "unknown")


def next_steps(
    reports: Sequence[Report], subject: str = "", shown: Collection[str] = ()
) -> NextSteps:
    """Return the commands that are worth running next, the most useful first.

    Args:
        subject: How the user named it, with options: "softmax --num-stages 4".
    """
    named = subject or "KERNEL"
    wanted: dict[str, str] = {}
    for report in reports:
        for detail, why in _details(report):
            if detail not in shown:
                wanted.setdefault(f"--{detail}", why)
    if len(named) > LONG_SUBJECT and wanted:  # one long line in the place of several
        wanted = {" ".join(wanted): "; ".join(wanted.values())}
    commands = {f"irlens inspect {named} {each}": why for each, why in wanted.items()}
    costliest = [found[0] for report in reports if (found := by_effect(report))]
    worst = min(costliest, key=lambda finding: SEVERITIES.index(finding.severity), default=None)
    if worst is not None:
        commands[f"irlens explain {worst.code}"] = "what the finding means, and what to do"
    if len(reports) > 1:
        commands[f"irlens diff {named}"] = "each against the first"
    browse = (f"irlens tui {named}", "every stage, line by line")
    kept = [*list(commands.items())[: _MOST_STEPS - 1], browse]
    if terms := list(dict.fromkeys(term for report in reports for term in _terms(report))):
        kept.append(("irlens explain TERM", f"such as {', '.join(terms[:_MOST_TERMS])}"))
    return NextSteps(tuple(Command(command, why) for command, why in kept))


def _terms(report: Report) -> Iterator[str]:
    """Yield the terms of the glossary that a report uses, the least known first."""
    kinds = [each.kind for each in report.pipelines]
    if any(each.groups_during_compute is not None for each in report.pipelines):
        yield "groups-in-flight"
    yield from (kind for kind in dict.fromkeys(kinds) if kind in _MECHANISMS)
    if report.resources.local_bytes and spills_known(report):
        yield "spill"
    if report.occupancy is not None and report.occupancy.tail is not None:
        yield "tail-wave"
    if report.occupancy is not None:
        yield "occupancy"


def _details(report: Report) -> Iterator[tuple[str, str]]:
    """Yield the details of ``irlens inspect`` that show where what is not good comes from."""
    occupancy = report.occupancy
    limited = occupancy.limited_by if occupancy is not None else []
    enough = occupancy is not None and occupancy.theoretical >= _ENOUGH_OCCUPANCY
    if spills_known(report):
        yield "pressure", "which lines hold the registers, and where they are spilled"
    if any(_depth(each)[1] in ("warn", "unknown") for each in report.pipelines):
        yield "pipelines", "the timeline of each loop, and why it is no deeper"
    if report.traffic is not None and wastes_sectors(report.traffic):
        yield "memory", "which accesses are not coalesced"
    if "shared_memory" in limited and not enough:
        yield "memory", f"what {Terms(report).shared_memory} is used for"
    if "registers" in limited and not enough:
        yield "pressure", "which lines hold the registers"


#: Bytes that a stack frame is rounded up to a multiple of.
_FRAME_UNIT = 16
_ORIGINS = {
    "trigonometry": "for the slow path of sin, cos or tan",
    "arguments": "for the arguments of device_print",
    "indexed": "that is indexed at run time",
}
_MOST_LINES = 3
_TO_AGPRS = " to AGPRs"


def spills_known(report: Report) -> bool | None:
    """Whether registers are spilled to memory; ``None`` where that is not known."""
    held = report.resources
    if spills_to_agprs_alone(held):
        return False
    if held.vgpr_spills or report.spills:
        return True
    if report.spills is not None or held.local_bytes == 0 or held.vgpr_spills == 0:
        return False
    arrays = sum(each.bytes or 0 for each in report.local_arrays)
    room = -(-arrays // _FRAME_UNIT) * _FRAME_UNIT
    declared = "ptx" in report.stages and "calls" not in report.unknown
    if held.local_bytes is None or not declared or held.local_bytes <= room:
        return None
    return True


def spilled_to(report: Report) -> str:
    """Return what follows the number of spilled registers, with where AMD's VGPRs went."""
    held, kept = report.resources, kept_in_agprs(report.spills or ())
    if spills_to_agprs_alone(held):
        return _TO_AGPRS
    return f", {count(kept)} of them{_TO_AGPRS}" if kept else ""


def describe_array(array: LocalArray) -> str:
    """Return "array of 28 B for the slow path of sin, cos or tan at k.py:8"."""
    extent = f" of {size(array.bytes)}" if array.bytes is not None else ""
    lines = [str(each) for each in array.sources[:_MOST_LINES]]
    more = " and elsewhere" if len(array.sources) > _MOST_LINES else ""
    place = f" at {', '.join(lines)}{more}" if lines else ""
    return f"array{extent} {_ORIGINS[array.origin]}{place}"
