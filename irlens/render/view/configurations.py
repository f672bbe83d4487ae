"""Several reports in one table: a few configurations of a kernel as columns, others as rows."""

from collections.abc import Iterator, Sequence

from irlens import figures
from irlens.model.label import differing, labels
from irlens.model.report import Pipeline, Report
from irlens.model.terms import Terms, depth_in_short, describe_depth
from irlens.model.text import count, plural
from irlens.render.view.findings import merged, severities_in_words
from irlens.render.view.nodes import (
    SIGNS,
    Cells,
    Column,
    Node,
    Run,
    Table,
    Text,
    row,
    text,
)
from irlens.render.view.pipelines import pipeline_depth
from irlens.render.view.verdict import verdict

#: Configurations that are columns; more are rows.
_MOST_COLUMNS = 12
_LETTERS = "ABCDEFGHIJKL"
_STAGES = "pipelines[].achieved_stages"
_UNKNOWN = Run("unknown", "unknown")


def title(reports: Sequence[Report]) -> str:
    """Return "softmax_kernel: 5 configurations", or "7 reports" of several kernels."""
    if len({report.kernel for report in reports}) > 1:
        return plural(len(reports), "report")
    return f"{reports[0].kernel}: {plural(len(reports), 'configuration')}"


def names(reports: Sequence[Report]) -> list[str]:
    """Return what sets each report apart, or its kernel's name if nothing does."""
    named = zip(labels(reports), reports, strict=True)
    return [label or report.kernel for label, report in named]


def overview(reports: Sequence[Report]) -> Iterator[Node]:
    """Yield a table of all reports, and their findings, each once."""
    one_kernel = len({report.kernel for report in reports}) == 1
    if one_kernel and len(reports) <= _MOST_COLUMNS:
        settings = differing(reports)
        named = list(_LETTERS[: len(reports)])
        if len(settings) == 1:
            named, settings = names(reports), {}
        yield _columns(reports, named, settings)
    else:
        named = names(reports)
        yield _rows(reports, named)
    if (found := merged(reports, named)) is not None:
        yield found


def _rows(reports: Sequence[Report], named: Sequence[str]) -> Table:
    """The figures one compares first, a row for each report."""
    columns = (
        Column(),
        *(Column(figure.heading, numbers=True) for figure in figures.COLUMNS),
        Column("findings"),
    )
    rows = tuple(
        row(
            name,
            *(_figure(figure, report) for figure in figures.COLUMNS),
            severities_in_words(report),
            anchor=f"r{index}",
        )
        for index, (report, name) in enumerate(zip(reports, named, strict=True))
    )
    return Table(columns, rows, name="reports", noun="report")


def _columns(
    reports: Sequence[Report], named: Sequence[str], settings: dict[str, list[str]]
) -> Table:
    """A column for each configuration: its settings, its verdict, the figures one compares."""
    rows: list[Cells] = [[Run(name, "dim"), *values] for name, values in settings.items()]
    tones = [verdict(report).tone for report in reports]
    rows.append(["verdict", *(Run(SIGNS.get(tone, "·"), tone) for tone in tones)])
    for figure in figures.COLUMNS:
        if figure.path != _STAGES:
            rows.append([figure.title, *(_figure(figure, each, unit=True) for each in reports)])
        if figure.path == "occupancy.theoretical":
            rows += _limiters(reports)
        if figure.path == "resources.registers" and any(each.pressure.live for each in reports):
            rows.append(["live registers", *map(_live, reports)])
    kinds = dict.fromkeys(_kind(each) for report in reports for each in report.pipelines)
    rows += [[f"stages, {kind}", *(_depths(report, kind) for report in reports)] for kind in kinds]
    rows.append(["findings", *map(severities_in_words, reports)])
    heads = (Column(), *(Column(name, numbers=True) for name in named))
    body = tuple(row(*cells) for cells in rows)
    return Table(heads, body, name="configurations", noun="figure", splits=True)


def _figure(figure: figures.Figure, report: Report, *, unit: bool = False) -> str | Run:
    if figure.path == _STAGES:
        depths = (
            depth_in_short(each.achieved_stages, each.stages_at_most, each.requested_stages)
            for each in report.pipelines
        )
        return " ".join(filter(None, depths)) or figures.UNKNOWN
    occupancy = report.occupancy
    if figure.path.startswith("occupancy.") and occupancy and not occupancy.launchable:
        return Run("cannot launch", "bad")
    values = figure.read_each(report)
    if not values:
        return figures.UNKNOWN
    if all(value is None for value in values):
        return _UNKNOWN
    return Run(" ".join(map(figure.format if unit else figure.cell, values)))


def _limiters(reports: Sequence[Report]) -> Iterator[Cells]:
    """Yield what limits occupancy: a resource a row, so that the columns are narrow."""
    limits = [each.occupancy.limited_by if each.occupancy is not None else [] for each in reports]
    for index in range(max(map(len, limits))):
        names = (
            Terms(report).resource(each[index]).removesuffix(" memory") if index < len(each) else ""
            for report, each in zip(reports, limits, strict=True)
        )
        yield ["" if index else "limited by", *names]


def _live(report: Report) -> str | Run:
    known = report.pressure.live
    return _UNKNOWN if known is None else count(known[1].peak or 0)


def _kind(pipeline: Pipeline) -> str:
    return pipeline.kind or "loads"


def _depths(report: Report, kind: str) -> Text:
    """The depth of each pipeline of a kind: "3 of 3", "2"."""
    runs: list[Run] = []
    for pipeline in report.pipelines:
        if _kind(pipeline) == kind:
            depth = (describe_depth(pipeline) or pipeline.verdict).removesuffix(" stages")
            runs += [Run(", " if runs else ""), Run(depth, pipeline_depth(pipeline).tone)]
    return text(*runs) or text(figures.UNKNOWN)
