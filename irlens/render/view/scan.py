"""Scans as nodes: how many captures there are, a table of them, and where to look first."""

import shlex
from collections.abc import Iterator, Sequence

from irlens import figures
from irlens.figures import Figure
from irlens.model.report import SEVERITIES, Severity
from irlens.model.scan import Scan, ScanSummary, ScanValue
from irlens.model.text import count, percent, plural
from irlens.render.options import Options
from irlens.render.view.memory_traffic import microseconds
from irlens.render.view.nodes import (
    SEVERITY_TONES,
    Bar,
    Cells,
    Column,
    Command,
    Headline,
    Items,
    NextSteps,
    Node,
    Run,
    Section,
    Sentence,
    Table,
    row,
    table,
    text,
)
from irlens.render.view.program import run_view

_MORE = "; --all shows them"
_TIME = "time"
_GIVES_TIME = "irlens inspect says why; its --arg and --grid give a launch that is missing"
_MOST_TARGETS = 4
#: Groups of duplicates that are listed.
_MOST_GROUPS = 10
#: Columns of text, which have no figure.
_WORDS = frozenset({"path", "kernel", "target", "triton", "findings", "sha256"})


def scan_view(scan: Scan, options: Options) -> Section:
    """Return a scan; ``options`` limit the rows of its table."""
    summary = scan.summary
    children: list[Node] = [Headline(tuple(map(Run, _totals(summary))))]
    children[:0] = [run_view(run, options) for run in scan.programs]
    if scan.rows:
        children += _table(scan, options.rows)
    children += _occupancy(summary)
    children += _findings(summary)
    children += _duplicates(summary)
    first = summary.worst[0].path if summary.worst else None
    if first is not None and options.subject is not None:
        line = f"irlens inspect {shlex.quote(first)}"
        children.append(NextSteps((Command(line, "the capture with the most severe findings"),)))
    return Section("Scan", tuple(children), key="scan")


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
    times = [each.figures.get(_TIME) for each in scan.rows]
    unknown = sum(time is None for time in times)
    timed = _TIME in scan.columns and unknown < len(times)
    names = [name for name in scan.columns if name != _TIME or timed]
    by = [name for name in scan.sorted_by if timed or name.removeprefix("-") != _TIME]
    words = "longest first" if by == [f"-{_TIME}"] else f"by {', '.join(by) or 'path'}"
    if _TIME in scan.columns and unknown:
        some = "no time is known" if not timed else f"time of {count(unknown)} unknown"
        words += f"; {some}: {_GIVES_TIME}"
    yield Sentence(words, "dim")
    known = {name: figures.find(name) if name not in _WORDS else None for name in names}
    rows = tuple(
        row(*(_cell(each.figures[name], known[name]) for name in names)) for each in scan.rows
    )
    heads = tuple(
        Column(figure.heading if figure is not None else name, numbers=figure is not None)
        for name, figure in known.items()
    )
    yield Table(heads, rows, "captures", shown=shown, sortable=True, noun="capture", more=_MORE)


def _cell(value: ScanValue, figure: Figure | None) -> str:
    values = value if isinstance(value, list) else [value]
    if figure is not None and figure.unit == "us":
        return " ".join(_microseconds(each) for each in values) or figures.UNKNOWN
    if figure is not None:
        return " ".join(figure.cell(each) for each in values) or figures.UNKNOWN
    if isinstance(value, list):
        return " ".join(str(each) for each in dict.fromkeys(values))
    return figures.UNKNOWN if value is None else str(value)


def _microseconds(value: object) -> str:
    return microseconds(value) if isinstance(value, int | float) else figures.UNKNOWN


def _occupancy(summary: ScanSummary) -> Iterator[Section]:
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
    rows: list[Cells] = [[label, count(number), Bar(number / most)] for label, number in known]
    heads = (Column("occupancy"), Column("captures", numbers=True), Column())
    yield Section("Occupancy", (table(heads, rows, "occupancy"),), key="occupancy")


def _findings(summary: ScanSummary) -> Iterator[Section]:
    """Yield the findings by code, and the captures with the most severe ones."""
    if not summary.findings:
        return
    rows: list[Cells] = [
        [
            Run(each.code, SEVERITY_TONES[each.severity]),
            each.severity,
            count(each.findings),
            count(each.captures),
        ]
        for each in summary.findings
    ]
    heads = (
        Column("finding"),
        Column("severity"),
        Column("times", numbers=True),
        Column("captures", numbers=True),
    )
    worst: list[Cells] = [
        [each.kernel, _severities(each.findings), Run(each.path, "dim")] for each in summary.worst
    ]
    columns = (Column("most severe first"), Column("findings"), Column("path"))
    children = (table(heads, rows, "findings"), table(columns, worst, "most severe"))
    yield Section("Findings", children, key="findings")


def _severities(often: dict[Severity, int]) -> str:
    return ", ".join(plural(often[each], each) for each in SEVERITIES if often.get(each))


def _duplicates(summary: ScanSummary) -> Iterator[Section]:
    groups = summary.duplicates
    if not groups:
        return
    spare = sum(len(group.paths) - 1 for group in groups)
    items = [
        text(
            Run(group.kernel, "strong"),
            f" {len(group.paths)} times  ",
            Run(_some(group.paths), "dim"),
        )
        for group in groups[:_MOST_GROUPS]
    ]
    if len(groups) > _MOST_GROUPS:
        items.append(text(Run(f"… and {plural(len(groups) - _MOST_GROUPS, 'more group')}", "dim")))
    title = f"Duplicates: {plural(spare, 'capture')} equal to another, byte by byte"
    yield Section(title, (Items(tuple(items)),), key="duplicates", folded=True)


def _some(paths: Sequence[str]) -> str:
    first, second, *others = paths
    return f"{first}, {second}{f' and {len(others)} more' if others else ''}"
