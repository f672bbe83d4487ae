"""Scans as nodes: how many captures there are, a table of them, and where to look first."""

import shlex
from collections.abc import Iterator, Sequence
from math import inf

from msgspec.structs import replace

from irlens import figures
from irlens.figures import Figure
from irlens.model.estimate import Mark, Standing
from irlens.model.ranking import Candidate, Problem, Ranking
from irlens.model.report import SEVERITIES, Severity
from irlens.model.scan import Scan, ScanRow, ScanSummary, ScanValue
from irlens.model.several import grouped
from irlens.model.text import count, first_of, microseconds, percent, plural
from irlens.render.options import Options
from irlens.render.view import nodes
from irlens.render.view.nodes import Cells, Column, Node, Run, row, table, text
from irlens.render.view.program import run_view
from irlens.render.view.roofline_chart import rooflines_of_scan
from irlens.render.view.standings import Listed, bound_by, headline, time_listed, without_shared

_MORE = "; --all shows them"
_TIME = "time"
_MOST_TARGETS = 4
#: Groups of duplicates that are listed.
_MOST_GROUPS = 10
#: Columns of text, which have no figure.
_WORDS = frozenset({"path", "kernel", "target", "triton", "findings", "sha256"})


def scan_view(scan: Scan, options: Options) -> nodes.Section:
    """Return a scan; ``options`` limit the rows of its table."""
    summary = scan.summary
    runs = [run_view(run, options) for run in scan.programs]
    children: list[Node] = [*(runs[0].children if len(runs) == 1 else runs)]
    if leading := [*_longest(scan), *_fastest(scan.rows)]:
        children.append(nodes.Headline(tuple(leading)))
    children.append(nodes.Headline(tuple(map(Run, _totals(summary)))))
    if scan.rows:
        children += _table(scan, options.rows)
        children += () if runs else rooflines_of_scan(scan.rows)
    children += _occupancy(summary)
    children += _findings(summary)
    children += _duplicates(summary)
    if options.subject is not None and (commands := tuple(_next_steps(scan))):
        children.append(nodes.NextSteps(commands))
    aside = runs[0].aside if len(runs) == 1 else ()
    return nodes.Section("Scan", tuple(children), key="scan", aside=aside)


def _next_steps(scan: Scan) -> Iterator[nodes.Command]:
    """Yield the commands that inspect the fastest configuration and the worst capture."""
    if won := next((each for each in scan.rows if _mark(each) == "fastest"), None):
        several = len({each.problem for each in scan.rows}) > 1
        of = f" of {won.kernel}" if several else ""
        yield nodes.Command(
            f"irlens inspect {shlex.quote(won.path)}", f"the fastest configuration{of}"
        )
    if scan.summary.worst:
        first = scan.summary.worst[0].path
        yield nodes.Command(
            f"irlens inspect {shlex.quote(first)}", "the capture with the most severe findings"
        )


def _longest(scan: Scan) -> Iterator[Run]:
    """Yield the kernel whose launch takes the longest, unless what follows begins with it."""
    first = [each for each in scan.rows if each.problem == 0 and each.standing is not None]
    if scan.programs or not first or any(_mark(each) for each in first):
        return
    several = len({each.kernel for each in scan.rows}) > 1
    row = min(first, key=lambda each: (each.standing and each.standing.time_us) or inf)
    if several and row.standing is not None and row.standing.time_us:
        took = f"about {microseconds(row.standing.time_us)}{bound_by(_candidate(row))}"
        yield Run(f"{row.kernel} takes the longest: {took}")


def _fastest(rows: Sequence[ScanRow]) -> list[Run]:
    """Return which configuration of each problem is the fastest, where there are several."""
    problems = grouped(
        (each.problem, index) for index, each in enumerate(rows) if each.problem is not None
    )
    found = [
        Problem(
            members=tuple(members),
            fastest=next(index for index in members if _mark(rows[index]) == "fastest"),
            as_fast=tuple(index for index in members if _mark(rows[index]) == "as fast"),
        )
        for _, members in sorted(problems.items())
        if any(_mark(rows[index]) == "fastest" for index in members)
    ]
    if not found:
        return []
    ranking = Ranking(
        candidates=tuple(map(_candidate, rows)),
        standings=tuple(each.standing or Standing(time_us=None) for each in rows),
        problems=tuple(found),
    )
    kernels = [rows[each.members[0]].kernel for each in found]
    phrases = headline(ranking, [each.label for each in rows], kernels)
    if len(found) == 1 and len(problems) > 1:
        phrases[0] = replace(phrases[0], text=f"{kernels[0]}: {phrases[0].text}")
    return phrases


def _candidate(each: ScanRow) -> Candidate:
    time = each.standing.time_us if each.standing is not None else None
    return Candidate(problem=each.problem, estimated_us=time, bound=each.bound)


def _mark(each: ScanRow) -> Mark | None:
    return each.standing.mark if each.standing is not None else None


def _totals(summary: ScanSummary) -> Iterator[str]:
    yield plural(summary.captures, "capture")
    yield plural(summary.kernels, "kernel")
    targets = list(summary.targets)
    shown = [f"{name} ({count(summary.targets[name])})" for name in targets[:_MOST_TARGETS]]
    if len(targets) > _MOST_TARGETS:
        shown.append(plural(len(targets) - _MOST_TARGETS, "more target"))
    yield ", ".join(shown) or "no target"
    if summary.excluded:
        yield f"{count(summary.excluded)} left out by --where"
    if summary.skipped:
        yield f"{count(summary.skipped)} skipped"


def _table(scan: Scan, shown: int | None) -> Iterator[Node]:
    """Yield what the rows are sorted by, what is missing of their times, and the rows."""
    yield nodes.Sentence(_order(scan), "dim")
    rows = scan.rows
    labels = [Run(e.label, "better" if _mark(e) is not None else "neutral") for e in rows]
    listed = [each for name in scan.columns for each in _listed(rows, name)]
    if not any(each.text for each in labels) and listed:  # the first column names the rows
        listed[0] = listed[0]._replace(shared=None)
    shared, listed = without_shared(listed, f"all {count(len(rows))}")
    yield from shared
    if any(each.text for each in labels):
        listed.append(Listed(Column("configuration"), labels))
    cells = zip(*(each.cells for each in listed), strict=True)
    body = tuple(row(*each) for each in cells)
    heads = tuple(each.column for each in listed)
    yield nodes.Table(
        heads, body, "captures", shown=shown, sortable=True, noun="capture", more=_MORE
    )


def _order(scan: Scan) -> str:
    """Return what the rows are sorted by, and of how many no time is known."""
    times = [each.figures.get(_TIME) for each in scan.rows]
    unknown = sum(time is None for time in times)
    timed = _TIME in scan.columns and unknown < len(times)
    by = [name for name in scan.sorted_by if timed or name.removeprefix("-") != _TIME]
    words = f"by {', '.join(by) or 'path'}"
    if timed and not scan.sorted_by:
        words = _order_of_ranks(scan.rows)
    if _TIME in scan.columns and unknown:
        some = f"time of {count(unknown)} unknown" if timed else "no time is known"
        reasons = dict.fromkeys(each.untimed for each in scan.rows if each.untimed)
        words += "; ".join(["", f"{some}: {'; '.join(reasons)}" if reasons else some])
    return words


def _order_of_ranks(rows: Sequence[ScanRow]) -> str:
    if len({each.problem for each in rows}) == 1:
        return "fastest first"
    of = "launches take" if any(each.launches for each in rows) else "launch takes"
    longest = f"the kernel whose {of} longest first"
    if any(_mark(each) == "fastest" for each in rows):
        return f"{longest}, and within a kernel the fastest configuration"
    return longest


def _listed(rows: Sequence[ScanRow], name: str) -> Iterator[Listed]:
    """Yield the columns of one that is selected: a time comes with how it compares."""
    figure = figures.find(name) if name not in _WORDS else None
    if name == _TIME:
        yield from _times(rows)
        return
    cells = [_cell(each.figures[name], figure) for each in rows]
    if figure is None:
        said = cells[0] if name in ("kernel", "target") else f"{name} {cells[0]}"
        yield Listed(Column(name), cells, said if cells[0] else f"no {name}")
        return
    value = rows[0].figures[name]
    values = value if isinstance(value, list) else [value]
    said = f"{figure.title} {' '.join(map(figure.format, values)) or figures.UNKNOWN}"
    yield Listed(Column(figure.heading, numbers=True), cells, said)


def _times(rows: Sequence[ScanRow]) -> Iterator[Listed]:
    """Yield the launches, if they are known, the times, their marks, and what bounds them."""
    standings = [each.standing for each in rows if each.standing is not None]
    if len(standings) < len(rows) or all(each.time_us is None for each in standings):
        return
    if any(each.launches is not None for each in rows):
        launches = [
            figures.UNKNOWN if each.launches is None else count(each.launches) for each in rows
        ]
        yield Listed(Column("launches", numbers=True), launches, f"{launches[0]} launches each")
    yield from time_listed([_candidate(each) for each in rows], standings)


def _cell(value: ScanValue, figure: Figure | None) -> str:
    values = value if isinstance(value, list) else [value]
    if figure is not None and figure.unit == "us":
        return " ".join(figures.format_value(each, "us") for each in values) or figures.UNKNOWN
    if figure is not None:
        return " ".join(figure.cell(each) for each in values) or figures.UNKNOWN
    if isinstance(value, list):
        return " ".join(str(each) for each in dict.fromkeys(values))
    return figures.UNKNOWN if value is None else str(value)


def _occupancy(summary: ScanSummary) -> Iterator[nodes.Section]:
    """Yield the distribution of the occupancy, a row for each tenth that occurs."""
    known = [
        (f"{percent(each.above)} to {percent(each.up_to)}", each.captures)
        for each in summary.occupancy
    ]
    known += [
        (label, number)
        for label, number in (
            ("cannot launch", summary.cannot_launch),
            ("unknown", summary.occupancy_unknown),
        )
        if number
    ]
    if not known:
        return
    most = max(number for _, number in known)
    rows: list[Cells] = [
        [label, count(number), nodes.Bar(number / most)] for label, number in known
    ]
    heads = nodes.titled("occupancy", *nodes.numeric("captures"), "")
    yield nodes.Section("Occupancy", (table(heads, rows, "occupancy"),), key="occupancy")


def _findings(summary: ScanSummary) -> Iterator[nodes.Section]:
    """Yield the findings by code, and the captures with the most severe ones."""
    if not summary.findings:
        return
    rows: list[Cells] = [
        [
            Run(each.code, nodes.SEVERITY_TONES[each.severity]),
            each.severity,
            count(each.findings),
            count(each.captures),
        ]
        for each in summary.findings
    ]
    heads = nodes.titled("finding", "severity", *nodes.numeric("times", "captures"))
    worst: list[Cells] = [
        [each.kernel, _severities(each.findings), Run(each.path, "dim")] for each in summary.worst
    ]
    columns = nodes.titled("most severe first", "findings", "path")
    children = (table(heads, rows, "findings"), table(columns, worst, "most severe"))
    yield nodes.Section("Findings", children, key="findings")


def _severities(often: dict[Severity, int]) -> str:
    return ", ".join(plural(often[each], each) for each in SEVERITIES if often.get(each))


def _duplicates(summary: ScanSummary) -> Iterator[nodes.Section]:
    groups = summary.duplicates
    if not groups:
        return
    spare = sum(len(group.paths) - 1 for group in groups)
    items = [
        text(
            Run(group.kernel, "strong"),
            f" {len(group.paths)} times  ",
            Run(first_of(group.paths, 2), "dim"),
        )
        for group in groups[:_MOST_GROUPS]
    ]
    if len(groups) > _MOST_GROUPS:
        items.append(text(Run(f"… and {plural(len(groups) - _MOST_GROUPS, 'more group')}", "dim")))
    title = f"Duplicates: {plural(spare, 'capture')} equal to another, byte by byte"
    yield nodes.Section(title, (nodes.Items(tuple(items)),), key="duplicates", folded=True)
