"""Findings as nodes: of one report, and merged over several."""

import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import partial

from msgspec.structs import replace

from irlens.model.comparison import Comparison, FindingDelta
from irlens.model.estimate import MOST_STEPS, RESOLUTION
from irlens.model.label import common_label
from irlens.model.report import SEVERITIES, Finding, Report, Severity
from irlens.model.several import grouped
from irlens.model.terms import Terms
from irlens.model.text import count, first_of, percent, plural
from irlens.render.view import nodes
from irlens.render.view.changes import finding_state
from irlens.render.view.drawings import place_of
from irlens.render.view.launch_time import describe_step
from irlens.render.view.nodes import Run, Text, Tone, text

#: Reports that a merged finding names.
_NAMED = 4
#: Characters of names after which they are counted.
_LONGEST_NAMES = 80
#: A number that is no part of a name, a type or a place.
_NUMBER = re.compile(r"(?<![\w.:#])\d+(?:,\d{3})*(?:\.\d+)?(?![\w:.]*\w)")
#: Causes that a recompilation may change where no estimate of this code does.
_BY_OTHER_CODE = (None, "registers", "shared_memory")
_STATE_TONES: dict[str, Tone] = {"new": "warn", "gone": "good", "was": "dim", "now": "warn"}


def findings(report: Report) -> nodes.Findings | None:
    """Return the findings, the costliest first; ``None`` where there are none."""
    if not report.findings:
        return None
    steps = {step.cause: step for step in report.time.steps} if report.time is not None else {}
    items = []
    for finding in by_effect(report):
        # What findings of one cause cost together is said with the first of them.
        item = finding_item(finding, report.code)
        step = steps.pop(finding.cause, None) if finding.cause is not None else None
        if step is not None and report.time is not None and report.time.estimate_us:
            effect = describe_step(step, report.time.estimate_us, Terms(report))
            item = replace(item, hint="; ".join(filter(None, (item.hint, effect))))
        items.append(item)
    return nodes.Findings(tuple(items), text(*severities_in_words(report), *_unpriced(report)))


def _unpriced(report: Report) -> Iterator[Run]:
    """Yield the findings that no estimate orders, where one orders others.

    Of a change that needs no compiler the time is estimated; what other code saves is unknown, also
    code of fewer registers or less shared memory than the estimate may take away.
    """
    priced = {each.code for each in report.findings if saved(report, each)}
    others = [each for each in report.findings if each.severity != "error"] if priced else []
    unknown = {each.code for each in others if each.cause in _BY_OTHER_CODE} - priced
    if small := {each.code for each in others} - unknown - priced:
        # Only the changes that save the most are kept.
        few = report.time is not None and len(report.time.steps) < MOST_STEPS
        least = f"above {percent(RESOLUTION)}" if few else "as large"
        yield Run(f" · no effect {least} found: {', '.join(sorted(small))}", "dim")
    if unknown:
        yield Run(f" · effect unknown: {', '.join(sorted(unknown))} (try --why)", "dim")


def by_effect(report: Report) -> list[Finding]:
    """Return the findings: errors, then those whose cause costs the most time, then the others."""
    return sorted(
        report.findings,
        key=lambda each: (
            each.severity != "error", -saved(report, each), SEVERITIES.index(each.severity)
        ),
    )  # fmt: skip


def saved(report: Report, finding: Finding) -> float:
    """Return the microseconds that go with a finding's cause; 0 where no estimate says."""
    time = report.time
    if time is None or time.estimate_us is None or finding.cause is None:
        return 0.0
    steps = {step.cause: time.estimate_us - step.estimate_us for step in time.steps}
    return steps.get(finding.cause, 0.0)


def severities_in_words(report: Report) -> Text:
    """Return how many findings there are: "1 warning"; "none found" if some were not looked for."""
    none = Run("none found") if not_looked_for(report) else Run("none", "good")
    return _counted(severities(report.findings)) or text(none)


def not_looked_for(report: Report) -> list[str]:
    """Return the codes of the findings that were not looked for, or not everywhere."""
    return [path.removeprefix("findings.") for path in report.unknown if "findings." in path]


def _counted(numbers: Mapping[Severity, int]) -> Text:
    runs: list[Run] = []
    for severity, number in numbers.items():
        runs += [
            Run(", " if runs else ""),
            Run(plural(number, severity), nodes.SEVERITY_TONES[severity]),
        ]
    return text(*runs)


def finding_item(
    finding: Finding, code: dict[str, str], state: str = "", state_tone: Tone = "neutral"
) -> nodes.FindingItem:
    """Return a finding; its line of code is looked up in ``code`` by "file:line"."""
    place = place_of(finding.source)
    if place is None and finding.stage and finding.line:
        place = nodes.Place(finding.stage, finding.line, in_stage=True)
    return nodes.FindingItem(
        severity=finding.severity,
        code=finding.code,
        place=place,
        line=code.get(str(finding.source), "") if finding.source else "",
        message=finding.message,
        hint=finding.hint,
        state=state,
        state_tone=state_tone,
    )


def severities(found: Iterable[Finding | nodes.FindingItem]) -> dict[Severity, int]:
    """Return the findings by severity, the most severe first; severities without any are absent."""
    numbers = Counter(finding.severity for finding in found)
    return {each: numbers[each] for each in SEVERITIES if numbers[each]}


def merged(reports: Sequence[Report], names: Sequence[str]) -> nodes.Findings | None:
    """Return the findings of several reports, each code and place once; ``None`` without any.

    Where their figures differ, those of the report with the least and with the greatest stand.
    """
    found = [
        (name, finding_item(finding, report.code), (report.kernel, finding.code, finding.source))
        for name, report in zip(names, reports, strict=True)
        for finding in report.findings
    ]
    where = partial(_where, reports, names)
    items = merge(found, where)
    return nodes.Findings(tuple(items), _counted(severities(items))) if items else None


def _where(reports: Sequence[Report], names: Sequence[str], having: Sequence[str]) -> str:
    """Return which of several reports have a finding, by what they share where they are many."""
    having, total = list(dict.fromkeys(having)), len(names)
    told_apart, listed = len(set(names)) == total, _listed(having)
    if 1 < len(having) == total and told_apart:
        return f"all {count(total)}"
    long = len(having) > 1 and len(listed) > _LONGEST_NAMES
    kernels = Counter(report.kernel for report in reports)
    members = {n for n, name in enumerate(names) if name in having}
    is_one = told_apart and len(kernels) == 1
    shared = common_label(reports, members) if is_one and (long or len(having) > _NAMED) else ""
    if shared:
        return shared
    if not long:
        return listed
    kernel = reports[min(members)].kernel
    number, of_kernel = count(len(having)), count(kernels[kernel])
    many = f"all {of_kernel}" if number == of_kernel else f"{number} of {of_kernel}"
    return f"{kernel} ({many})" if len(kernels) > 1 else many


def _worded(text: str) -> str:
    """Return a text without its numbers; those in names stay."""
    return _NUMBER.sub("#", text)


def _ranged(texts: Sequence[str]) -> str:
    """Return texts that differ in numbers as one: "2 to 4-way bank conflicts"."""
    columns = zip(*map(_NUMBER.findall, texts), strict=True)
    values = [
        sorted(set(each), key=lambda number: float(number.replace(",", ""))) for each in columns
    ]
    written = iter([" to ".join(dict.fromkeys((each[0], each[-1]))) for each in values])
    return _NUMBER.sub(lambda _: next(written), texts[0])


def merge(
    found: Iterable[tuple[str, nodes.FindingItem, Hashable]],
    listed: Callable[[Sequence[str]], str] | None = None,
) -> list[nodes.FindingItem]:
    """Merge findings of the same key, the most severe first, and say where each is.

    Args:
        found: Where each is, the finding, and what tells it from the others.
        listed: Writes where one is, if not as a list of names.
    """
    alike = grouped(
        ((key, _worded(item.message), _worded(item.hint)), (name, item))
        for name, item, key in found
    )
    items = []
    for same in alike.values():
        first, where = same[0][1], (listed or _listed)([name for name, _ in same])
        message = _ranged([item.message for _, item in same])
        hint = _ranged([item.hint for _, item in same])
        items.append(replace(first, where=where, message=message, hint=hint))
    return sorted(items, key=lambda item: SEVERITIES.index(item.severity))


def _listed(names: Sequence[str]) -> str:
    """Return "A, C", each once, with as many names as are short to read."""
    return first_of(list(dict.fromkeys(names)), _NAMED)


def delta_items(delta: FindingDelta, pair: Comparison) -> Iterator[nodes.FindingItem]:
    """Yield a finding that is new, gone or changed: of the last what it was and what it is."""
    state = finding_state(delta)
    names = ("was", "now") if state == "changed" else (state, state)
    sides = ((delta.before, pair.code | pair.code_before), (delta.after, pair.code))
    for name, (finding, code) in zip(names, sides, strict=True):
        if finding is not None:
            yield finding_item(finding, code, name, _STATE_TONES[name])
