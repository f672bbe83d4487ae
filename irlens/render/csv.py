"""Comma-separated values, a line for each result (RFC 4180): for spreadsheets and data frames.

Numbers are plain, without units and separators; what is unknown is empty.
"""

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from irlens.figures import COLUMNS, SWEEP_FIGURES, of_scope, read_path
from irlens.model.capture import Timing
from irlens.model.check import Check, CheckedKernel
from irlens.model.comparison import Comparison, Comparisons, Delta
from irlens.model.estimate import Standing
from irlens.model.ledger import Ledgers
from irlens.model.ranking import rank_reports
from irlens.model.report import Report
from irlens.model.sweep import Rate, Sweep, Trial
from irlens.model.terms import depth_in_short
from irlens.model.text import printable_line
from irlens.render import Kind, Options
from irlens.render.view.changes import finding_state

Field: TypeAlias = bool | int | float | str | None

#: A spreadsheet takes a field that begins so for a formula, which can call out of it (CWE-1236).
_FORMULA = ("=", "+", "-", "@")


_COMPARISONS = ("kernel", "before", "after", "what", "place", "figure", "unit", "value before",
                "value after", "change", "weight", "reason")  # fmt: skip
_CHECK = ("kernel", "arch", "configuration", "what", "fails", "verdict", "figure", "before", "now",
          "place", "reason")  # fmt: skip


_OCCUPANCY = {
    "occupancy": "occupancy.theoretical",
    "launchable": "occupancy.launchable",
    "blocks_per_sm": "occupancy.blocks_per_sm",
    "limited_by": "occupancy.limited_by",
}
#: Figures in other records that reports list or tabulate; all resources have a column.
_LISTED = tuple(
    figure
    for figure in of_scope("report")
    if (figure.fact or figure in COLUMNS)
    and not figure.path.startswith("resources.")
    and figure.path not in _OCCUPANCY.values()
)


def render(kind: Kind, subject: Any, options: Options) -> str:
    """Return a line for each report, change, verdict or configuration."""
    match kind:
        case "comparisons":
            return _written(_comparison_rows(subject), _COMPARISONS)
        case "check":
            return _written(_check_rows(subject), _CHECK)
        case "sweep":
            return _written(_trial_row(trial, subject) for trial in subject.trials)
        case "ledgers":
            return _written(_ledger_rows(subject))
        case _:
            standings = rank_reports(subject).standings
            return _written(map(_report_row, subject, standings))


def stream(titles: Sequence[str], records: Iterable[Mapping[str, object]]) -> Iterator[str]:
    """Yield the titles, then a line for each record, which has a value for each title.

    Lists are joined by blanks.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(map(_safe, titles))
    yield text.getvalue()
    for record in records:
        text.seek(0)
        text.truncate()
        writer.writerow([_safe(_field(record[title])) for title in titles])
        yield text.getvalue()


def _field(value: object) -> Field:
    if isinstance(value, list):
        return " ".join("" if each is None else str(each) for each in value)
    return value if isinstance(value, bool | int | float | str) else None


def _written(rows: Iterable[Mapping[str, Field]], titles: Sequence[str] = ()) -> str:
    """Return the rows under their titles.

    Text is made safe to show; text that a spreadsheet would run is led by an apostrophe.

    Args:
        rows: The fields of each by title; missing ones are empty.
        titles: The first columns, present even if no row has them; others follow in the order of
            their first use.
    """
    known = list(rows)
    columns = list(dict.fromkeys([*titles, *(title for row in known for title in row)]))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(map(_safe, columns))
    writer.writerows([_safe(row.get(title)) for title in columns] for row in known)
    return text.getvalue()


def _safe(field: Field) -> Field:
    if not isinstance(field, str):
        return field
    text = printable_line(field)
    return f"'{text}" if text.lstrip().startswith(_FORMULA) else text


def _standing(standing: Standing | None) -> dict[str, Field]:
    return {
        "time_us": None if standing is None else standing.time_us,
        "over_fastest": None if standing is None else standing.over_fastest,
        "mark": None if standing is None else standing.mark,
    }


def _report_row(report: Report, standing: Standing) -> dict[str, Field]:
    resources = report.resources
    pipelines = [
        f"{each.kind or 'none'} {deep}"
        for each in report.pipelines
        if (
            deep := depth_in_short(each.achieved_stages, each.stages_at_most, each.requested_stages)
        )
    ]
    return {
        **_configuration(report),
        **_standing(standing),
        **{name: _value(report, path) for name, path in _OCCUPANCY.items()},
        **{name: getattr(resources, name) for name in resources.__struct_fields__},
        **{
            figure.path: None if figure.path in report.unknown else figure.read(report)
            for figure in _LISTED
        },
        "pipelines": "; ".join(pipelines),
        "findings": " ".join(finding.code for finding in report.findings),
    }


def _value(report: Report, path: str) -> Field:
    value = read_path(report, path)
    return value.replace(",", "") if isinstance(value, str) else value


def _configuration(report: Report) -> dict[str, Field]:
    """What was compiled. A constexpr may be called like an option: its title says what it is."""
    config, target = report.config, report.target
    return {
        "kernel": report.kernel,
        "arch": target.arch if target is not None else None,
        "product": target.product if target is not None else None,
        "triton_version": report.triton_version,
        "num_warps": config.num_warps,
        "num_stages": config.num_stages,
        "num_ctas": config.num_ctas,
        "maxnreg": config.maxnreg,
        **{f"option {name}": value for name, value in (config.options or {}).items()},
        **{f"arg {name}": value for name, value in config.arguments().items()},
        **{f"constexpr {name}": value for name, value in config.constexprs.items()},
    }


def _comparison_rows(comparisons: Comparisons) -> Iterator[dict[str, Field]]:
    """Yield what changed in each pair, and what has no counterpart."""
    for pair in comparisons.pairs:
        yield from _pair(pair)
    for what, sides in (
        ("added", [*comparisons.added, *comparisons.unmatched_after]),
        ("removed", [*comparisons.removed, *comparisons.unmatched_before]),
    ):
        for side in sides:
            yield {"kernel": side.kernel, "before": side.label, "what": what}


def _pair(pair: Comparison) -> Iterator[dict[str, Field]]:
    sides = {"kernel": pair.after.kernel, "before": pair.before.label, "after": pair.after.label}
    for delta in pair.figures:
        if delta.moved:
            yield {**sides, "what": "kernel", "place": "", **_figure(delta)}
    for loop in pair.loops:
        place = str(loop.source or "")
        if loop.presence != "both":
            yield {**sides, "what": loop.what, "place": place, "figure": loop.presence}
        for delta in loop.changes:
            yield {**sides, "what": loop.what, "place": place, **_figure(delta)}
    for found in pair.findings:
        finding = found.after or found.before
        if finding is not None:
            place = str(finding.source or "")
            yield {**sides, "what": f"finding {finding.code}", "place": place,
                   "figure": finding_state(found)}  # fmt: skip
    for path in pair.not_compared:
        reason = pair.not_compared_because.get(path, "")
        yield {**sides, "what": "not compared", "figure": path, "reason": reason}


def _figure(delta: Delta) -> dict[str, Field]:
    return {
        "figure": delta.path,
        "unit": delta.unit,
        "value before": delta.before,
        "value after": delta.after,
        "change": delta.change,
        "weight": delta.weight,
    }


def _check_rows(check: Check) -> Iterator[dict[str, Field]]:
    """Yield what changed, every budget, and what is wrong beside the kernels."""
    for kernel in check.kernels:
        yield from _kernel(kernel)
    for problem in check.problems:
        yield {
            "what": "problem",
            "fails": problem.fails,
            "verdict": problem.kind,
            "place": f"{problem.file or ''}:{problem.line}" if problem.line else problem.file,
            "reason": problem.message,
        }


def _kernel(kernel: CheckedKernel) -> Iterator[dict[str, Field]]:
    target = kernel.side.target
    named: dict[str, Field] = {
        "kernel": kernel.side.kernel,
        "arch": target.arch if target is not None else None,
        "configuration": kernel.side.label,
    }
    for moved in kernel.movements:
        yield {
            **named,
            "what": "movement",
            "fails": moved.fails,
            "verdict": moved.judgement,
            "figure": moved.delta.path,
            "before": moved.delta.before,
            "now": moved.delta.after,
            "place": str(moved.source or ""),
            "reason": moved.reason,
        }
    for budget in kernel.budgets:
        figures = {each.path: each for each in budget.figures}
        yield {
            **named,
            "what": f"budget {budget.expression}",
            "fails": budget.fails,
            "verdict": budget.state,
            "figure": "; ".join(figures),
            "before": _joined(each.before for each in figures.values()),
            "now": _joined(each.value for each in figures.values()),
            "place": budget.place,
            "reason": budget.reason,
        }
    for finding in kernel.findings:
        yield {
            **named,
            "what": f"finding {finding.code}",
            "fails": False,
            "verdict": finding.severity,
            "place": str(finding.source or ""),
            "reason": finding.message,
        }


def _joined(fields: Iterable[Field]) -> Field:
    """Return several fields as one: "4; 8"; a single one is unchanged."""
    known = list(fields)
    if len(known) == 1:
        return known[0]
    return "; ".join("" if field is None else str(field) for field in known)


def _ledger_rows(document: Ledgers) -> Iterator[dict[str, Field]]:
    """Yield the operations of each ledger, then its groups, then the sums."""
    for ledger in document.ledgers:
        named: dict[str, Field] = {"ledger": ledger.name, "kind": ledger.kind}
        for each in ledger.operations:
            yield {
                **named,
                "what": "operation",
                "number": each.number,
                "name": each.name,
                "operation kind": each.kind,
                "group": each.group,
                "read bytes": each.read_bytes,
                "written bytes": each.written_bytes,
                "requested bytes": each.requested_bytes,
                "rule": each.rule,
                "reason": each.reason,
                "place": str(each.source or ""),
                "inputs": "; ".join(each.inputs),
                "outputs": "; ".join(each.outputs),
                "at most": each.at_most,
                "unknown": each.unknown,
            }
        for group in ledger.groups:
            yield {
                **named,
                "what": "group",
                "number": group.number,
                "name": " ".join(map(str, group.operations)),
                "read bytes": group.read_bytes,
                "written bytes": group.written_bytes,
            }
        for name in ("separate", "grouped", "one_pass"):
            moved = getattr(ledger, name)
            yield {
                **named,
                "what": name,
                "number": moved.kernels,
                "read bytes": moved.read_bytes,
                "written bytes": moved.written_bytes,
            }


def _trial_row(trial: Trial, sweep: Sweep) -> dict[str, Field]:
    row: dict[str, Field] = {
        "kernel": sweep.kernel,
        "arch": trial.target.arch,
        "product": trial.target.product,
        "triton": trial.triton or trial.triton_version,
    }
    chosen = {name: None for each in sweep.trials for name in (*each.settings, *each.args)}
    # A constexpr may have the name of a column.
    ours = {
        *row,
        "outcome",
        "reason",
        "limited_by",
        *_standing(None),
        *Rate.__struct_fields__,
        *SWEEP_FIGURES,
    }
    for name in chosen:
        title = f"setting {name}" if name in ours else name
        row[title] = trial.settings.get(name, trial.args.get(name))
    row["outcome"] = trial.outcome
    row |= _standing(trial.standing)
    for name in Timing.__struct_fields__ if sweep.device is not None else ():
        row[name] = getattr(trial.timing, name, None)
    for name in Rate.__struct_fields__ if sweep.device is not None else ():
        row[name] = getattr(trial.rate, name, None)
    for other in trial.against:
        row[f"{other.name} median_ms"] = getattr(other.timing, "median_ms", None)
        row[f"{other.name} gb_per_s"] = getattr(other.rate, "gb_per_s", None)
        row[f"{other.name} tflop_per_s"] = getattr(other.rate, "tflop_per_s", None)
        row[f"{other.name} reason"] = other.reason
    for name in SWEEP_FIGURES:
        row[name] = trial.figure(name)
    row["limited_by"] = " ".join(trial.limited_by)
    row["reason"] = trial.reason
    return row
