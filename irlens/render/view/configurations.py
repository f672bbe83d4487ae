"""Several reports in one table: a few configurations of a kernel as columns, others as rows."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Literal

from irlens import figures
from irlens.model.comparison import Value
from irlens.model.label import differing, labels
from irlens.model.ranking import Ranking, longest_first, rank_reports
from irlens.model.report import COMPUTE_KINDS, Pipeline, Report
from irlens.model.several import grouped
from irlens.model.terms import Terms, depth_in_short, describe_depth
from irlens.model.text import count, plural
from irlens.render.view import nodes
from irlens.render.view.commands import inspect_command
from irlens.render.view.findings import merged, severities_in_words
from irlens.render.view.nodes import Cells, Column, Node, Run, Text, phrases, plain, row, text
from irlens.render.view.pipelines import pipeline_depth
from irlens.render.view.standings import Listed, headline, time_listed, without_shared
from irlens.render.view.verdict import tallied, verdict, verdicts

#: Configurations that are columns; more are rows.
_MOST_COLUMNS = 12
_LETTERS = "ABCDEFGHIJKL"
#: Settings that are what a report is for.
_TARGETS = ("product", "target")
#: The longest settings that stand in a headline.
_LONGEST = 80
#: Problems whose fastest configuration has a command.
_MOST_COMMANDS = 3
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
    """Yield what all reports share, a table of what differs, and their findings, each once.

    Args:
        reports: In the order of their ranking.
    """
    one_kernel = len({report.kernel for report in reports}) == 1
    if one_kernel and len(reports) <= _MOST_COLUMNS:
        named = letters(reports)
        settings, following = _independent(reports)
        settings = {} if len(settings) == 1 or named == names(reports) else settings
        yield from following
        shared, listed = without_shared(_listed(reports, "rows"), f"all {count(len(reports))}")
        yield from shared
        yield _columns(named, settings, listed)
    else:
        named = names(reports)
        listed = _listed(reports, "columns")
        shared, listed = without_shared(listed, f"all {count(len(reports))}")
        yield from shared
        yield _rows(named, listed)
    if (found := merged(reports, named)) is not None:
        yield found


def letters(reports: Sequence[Report]) -> list[str]:
    """Return what the overview calls each report: a letter, or all that sets it apart if short."""
    one_kernel = len({report.kernel for report in reports}) == 1
    if one_kernel and len(reports) <= _MOST_COLUMNS:
        settings, _ = _independent(reports)
        if len(settings) > 1:
            return list(_LETTERS[: len(reports)])
        if any(name in reports[0].config.args for name in settings):
            return [f"{name}={each}" for name, values in settings.items() for each in values]
    return names(reports)


def _winners_named(reports: Sequence[Report], ranking: Ranking) -> list[str]:
    """Return ``letters``, with the settings of what is the fastest if there is room for them."""
    named, fixed = letters(reports), {*reports[0].config.fixed, *_TARGETS}
    settings = {n: values for n, values in _independent(reports)[0].items() if n not in fixed}
    for best in (each.fastest for each in ranking.problems if each.fastest is not None):
        words = " ".join(f"{name}={values[best]}" for name, values in settings.items())
        if named[best] in _LETTERS and len(words) <= _LONGEST:
            named[best] = f"{named[best]} ({words})"
    return named


def _independent(reports: Sequence[Report]) -> tuple[dict[str, list[str]], list[nodes.Phrases]]:
    """Return the settings that differ for themselves, and which others follow a size.

    Of the arguments that move together one names them, a scalar if there is one. A constexpr that
    follows keeps its row unless it equals the size.
    """
    settings, args = differing(reports), reports[0].config.args
    alike = grouped((tuple(map(v.index, v)), name) for name, v in settings.items())
    following: list[nodes.Phrases] = []
    for group in alike.values():
        lead = min(group, key=lambda name: _rank(name, args))
        if not isinstance(args.get(lead), int):
            continue
        gone = [
            name
            for name in group
            if name != lead and (name in args or settings[name] == settings[lead])
        ]
        if gone:
            following.append(phrases(text(Run(f"follow {lead}: ", "dim"), ", ".join(gone))))
        settings = {name: values for name, values in settings.items() if name not in gone}
    return settings, following


def ranked_headline(reports: Sequence[Report]) -> nodes.Headline:
    """Return which configuration is the fastest, and what else is the matter with any of them."""
    ranking = rank_reports(reports)
    several_kernels = len({report.kernel for report in reports}) > 1
    if several_kernels and not any(len(problem.members) > 1 for problem in ranking.problems):
        return verdicts(reports)
    if several_kernels:
        # Of each kernel its fastest configuration counts, and the longest of these comes first.
        ranking = longest_first(ranking)
    told = tallied(reports)
    others = [each for each in told.phrases if each.tone != "good"]
    firsts = [reports[problem.members[0]] for problem in ranking.problems]
    led = [report.kernel for report in firsts] if several_kernels else _sizes(firsts)
    named = _without_kernel(reports) if several_kernels else _winners_named(reports, ranking)
    for problem, apart in zip(ranking.problems, led, strict=True):
        for n in problem.members if apart else ():
            named[n] = f" {named[n]} ".replace(f" {apart} ", " ").strip()
    return nodes.Headline((*headline(ranking, named, led), *others), told.tone)


def _sizes(reports: Sequence[Report]) -> list[str]:
    """Return what sets each problem apart: its target, and sizes.

    Of settings that move together one names all, a scalar if there is one.
    """
    if len({report.kernel for report in reports}) > 1 or len(reports) < 2:
        return names(reports)
    settings, _ = _independent(reports)
    config = reports[0].config
    kept = [name for name in settings if name in config.args or name in config.fixed]
    targets = [settings[name] for name in _TARGETS if name in settings]
    sizes = [[f"{name}={value}" for value in settings[name]] for name in kept]
    named = [" ".join(told) for told in zip(*targets[:1], *sizes, strict=True)]
    return named if len({*named}) == len(reports) else names(reports)


def _rank(name: str, args: Mapping[str, object]) -> tuple[bool, bool]:
    """Rank a setting by how well it names a size: scalars before strides, then all others."""
    return not isinstance(args.get(name), int), "stride" in name


def _without_kernel(reports: Sequence[Report]) -> list[str]:
    """Return what sets each report apart from the others of its kernel."""
    named = zip(labels(reports), reports, strict=True)
    return [label.removeprefix(report.kernel).strip() for label, report in named]


def winner(reports: Sequence[Report], subject: str) -> Iterator[nodes.Command]:
    """Yield the command that inspects the fastest configuration, where there is one."""
    if len({report.kernel for report in reports}) > 1:
        return
    ranking, settings = rank_reports(reports), differing(reports)
    for problem in ranking.problems[:_MOST_COMMANDS]:
        if problem.fastest is None:
            continue
        report = reports[problem.fastest]
        values = {name: each[problem.fastest] for name, each in settings.items()}
        args = {name: values.pop(name) for name in report.config.args if name in values}
        if not values.keys().isdisjoint(_TARGETS):
            values.pop("product", None)
            values["target"] = report.target.name if report.target is not None else ""
        chosen = {name: value for name, value in values.items() if value not in ("", "default")}
        given = {name: value for name, value in args.items() if f"{name}=" in subject}
        line = inspect_command(subject, chosen, given)
        yield nodes.Command(line, "the fastest configuration in full")


def _listed(reports: Sequence[Report], form: Literal["rows", "columns"]) -> list[Listed]:
    """Return the figures that one compares first, the time before all others.

    Args:
        form: How they are laid out: rows have room for titles, units and what limits a figure.
    """
    unit = form == "rows"
    ranking = rank_reports(reports)
    listed = time_listed(ranking.candidates, ranking.standings)
    tones = [verdict(report).tone for report in reports]
    signs = [Run(nodes.SIGNS.get(tone, "·"), tone) for tone in tones]
    listed.append(Listed(Column("verdict"), signs, ""))
    for figure in figures.COLUMNS:
        if unit and figure.path == _STAGES:
            continue
        title = figure.title if unit else figure.heading
        written = figure.format if unit else figure.cell
        cells = [_figure(figure, each, written) for each in reports]
        first = _figure(figure, reports[0], figure.format)
        said = first if isinstance(first, str) else first.text
        listed.append(Listed(Column(title, numbers=True), cells, f"{figure.title} {said}"))
        if unit and figure.path == "occupancy.theoretical":
            listed += _limiters(reports)
        if unit and figure.path == "resources.registers" and any(r.pressure.live for r in reports):
            listed.append(_said("live registers", [_live(each) for each in reports]))
    if unit:
        kinds = dict.fromkeys(_kind(each) for report in reports for each in report.pipelines)
        listed += [
            _said(f"stages, {kind}", [_depths(report, kind) for report in reports])
            for kind in kinds
        ]
    listed.append(_said("findings", [severities_in_words(each) for each in reports]))
    return listed


def _said(title: str, cells: Sequence[str | Run | Text]) -> Listed:
    first = cells[0]
    said = first if isinstance(first, str) else plain([first] if isinstance(first, Run) else first)
    return Listed(Column(title), cells, f"no {title}" if said == "none" else f"{title} {said}")


def _rows(named: Sequence[str], listed: Sequence[Listed]) -> nodes.Table:
    """A row for each report: the figures that differ."""
    cells = zip(named, *(each.cells for each in listed), strict=True)
    rows = tuple(row(*each, anchor=f"r{index}") for index, each in enumerate(cells))
    return nodes.Table(
        nodes.titled("", *(each.column for each in listed)), rows, name="reports", noun="report"
    )


def _columns(
    named: Sequence[str], settings: dict[str, list[str]], listed: Sequence[Listed]
) -> nodes.Table:
    """A column for each configuration: its settings, and the figures that differ."""
    rows: list[Cells] = [[Run(name, "dim"), *values] for name, values in settings.items()]
    rows += [[each.column.title, *each.cells] for each in listed]
    heads = nodes.titled("", *nodes.numeric(*named))
    body = tuple(row(*cells) for cells in rows)
    return nodes.Table(heads, body, name="configurations", noun="figure", splits=True)


def _figure(figure: figures.Figure, report: Report, written: Callable[[Value], str]) -> str | Run:
    if figure.path == _STAGES:
        depths = (
            depth_in_short(each.achieved_stages, each.stages_at_most, each.requested_stages)
            for each in report.pipelines
            if each.kind not in COMPUTE_KINDS  # as in a sweep's tables
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
    return Run(" ".join(map(written, values)))


def _limiters(reports: Sequence[Report]) -> Iterator[Listed]:
    """Yield what limits occupancy: a resource a row, so that the columns are narrow."""
    limits = [each.occupancy.limited_by if each.occupancy is not None else [] for each in reports]
    named = [
        [Terms(report).resource(name).removesuffix(" memory") for name in each]
        for report, each in zip(reports, limits, strict=True)
    ]
    if all(each == named[0] for each in named):
        words = [", ".join(each) or figures.UNKNOWN for each in named]
        yield Listed(Column("limited by"), words, f"limited by {words[0]}")
        return
    for index in range(max(map(len, named))):
        cells = [each[index] if index < len(each) else "" for each in named]
        yield Listed(Column("" if index else "limited by"), cells)


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
            depth = describe_depth(pipeline) or pipeline.verdict
            depth = depth.removesuffix(" stages").removesuffix(" stage")
            runs += [Run(", " if runs else ""), Run(depth, pipeline_depth(pipeline).tone)]
    return text(*runs) or text(figures.UNKNOWN)
