"""The registry of figures: one row each, read by everything that names, formats or compares them.

A figure is its field in a record of ``irlens.model``, what computes it, and its row in ``table``.
Importing this package checks that no two figures share a name. ``check_paths`` compares the rows
with the records, which takes longer; the tests call it.
"""

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from functools import cache
from typing import Any

import msgspec
from msgspec import inspect

from irlens.figures.figure import (
    UNCHANGED,
    UNKNOWN,
    ChangeVerdict,
    Figure,
    Scope,
    better_or_worse,
    format_change,
    format_value,
    is_noise,
    read_path,
    subtract,
)
from irlens.figures.table import FIGURES
from irlens.model.comparison import Value
from irlens.model.config import Vendor
from irlens.model.report import Report
from irlens.model.text import plural

__all__ = [
    "COLUMNS", "FIGURES", "SWEEP_COLUMNS", "SWEEP_FIGURES", "UNCHANGED", "UNKNOWN",
    "ChangeVerdict", "Figure", "Scope", "better_or_worse", "budget_names", "check_paths", "choices",
    "compared", "elements", "facts", "find", "format_change", "format_value", "get",
    "is_noise", "names", "of_scope", "owner", "read_path", "sample", "subtract", "title",
]  # fmt: skip

#: Columns of a table with one line per report, in their order.
COLUMNS = tuple(
    sorted(
        (f for f in FIGURES if f.column and (not f.compute or f.of_binary)),
        key=lambda f: f.column,
    )
)
#: Figures of a sweep's configurations, by the name that ``--filter`` and ``--sort`` take.
SWEEP_FIGURES = {
    figure.sweep: figure
    for figure in sorted(FIGURES, key=lambda each: each.importance == "little")
    if figure.sweep
}
#: Columns of a sweep's table, in their order.
SWEEP_COLUMNS = tuple(
    sorted(
        (f for f in SWEEP_FIGURES.values() if f.sweep_column or f.column),
        key=lambda f: f.sweep_column or f.column,
    )
)

#: Records whose figures a budget may name without the record: "registers", "num_warps".
_BARE = frozenset({"resources", "occupancy", "config"})
#: The scope of a path by its first name: "loads[]", "loads" or "load".
_SCOPES = {
    start: figure.scope
    for figure in FIGURES
    for prefix, _, _ in (figure.path.partition("[]."),)
    for start in (f"{prefix}[]", prefix, prefix.removesuffix("s"))
    if figure.scope != "report"
}


def facts(report: Report) -> Iterator[tuple[Figure, list[str], str]]:
    """Yield the figures to list among a kernel's facts: row, values, why unknown.

    A list has a value for each of its records: "partition0 1 warp, 24 registers".
    """
    vendor = report.target.vendor if report.target is not None else None
    reasons = set()
    for figure in FIGURES:
        reason = report.unknown.get(figure.path, "") if figure.fact else ""
        value = figure.read(report) if figure.fact and not reason else None
        if value and elements(figure.path):
            values = [_element(each, figure, vendor) for each in getattr(report, figure.path)]
            yield figure, values, ""
        elif value:
            yield figure, [figure.format(value, vendor)], ""
        elif reason and reason not in reasons:
            reasons.add(reason)
            yield figure, [], reason


def _element(record: Any, figure: Figure, vendor: Vendor | None) -> str:
    values = ((each, each.read(record)) for each in elements(figure.path))
    counts = (
        plural(value, each.title_for(vendor).removesuffix("s"))
        for each, value in values
        if isinstance(value, int)
    )
    return f"{record.name} {', '.join(counts)}"


@cache
def of_scope(scope: Scope) -> tuple[Figure, ...]:
    """Return the figures of one kind of record, in the registry's order."""
    return tuple(figure for figure in FIGURES if figure.scope == scope)


@cache
def elements(path: str) -> tuple[Figure, ...]:
    """Return the compared figures of the records in a list of the report: "warp_groups"."""
    return tuple(f for f in FIGURES if f.path.startswith(f"{path}[].") and f.importance)


@cache
def compared(scope: Scope) -> tuple[Figure, ...]:
    """Return the figures of one kind of record that comparisons compare."""
    return tuple(figure for figure in of_scope(scope) if figure.importance is not None)


@cache
def _by_path() -> dict[tuple[Scope, str], Figure]:
    return {(figure.scope, figure.field): figure for figure in FIGURES}


def get(path: str, scope: Scope = "report") -> Figure | None:
    """Return the figure at a path of a comparison, a check or a report; ``None`` if there is none.

    Args:
        path: Dotted. Within a pipeline or a load the field alone ("achieved_stages"); a budget's
            "pipeline.achieved_stages", a warp group's "warp_groups.partition0.registers" and the
            registry's own "pipelines[].achieved_stages" are understood, too.
        scope: Which record the path starts from.
    """
    if scope != "report" or ("report", path) in _by_path():
        return _by_path().get((scope, path))
    start, _, rest = path.partition(".")
    return _by_path().get((_SCOPES.get(start, "report"), rest.rpartition(".")[2]))


def title(
    path: str,
    *,
    scope: Scope = "report",
    vendor: Vendor | None = None,
    multiprocessor: str = "CU",
) -> str:
    """Return what a figure at a path is called; for paths without a row, their last name.

    Settings and arguments keep the names that the kernel gives them.

    Args:
        vendor: In whose terms; ``None`` (unknown, or several) reads as NVIDIA's.
        multiprocessor: "CU" or "WGP", for AMD's terms.
    """
    figure = get(path, scope)
    if figure is None:
        name = path.rpartition(".")[2]
        return name if path.startswith("config.") else name.replace("_", " ")
    name = figure.title_for(vendor, multiprocessor)
    element = path.split(".")[1:-1] if figure.scope != "report" else []
    return f"{name} of {element[0]}" if element else name


def names(figure: Figure) -> list[str]:
    """Return the names by which budgets and users may call a figure, its path first."""
    record, _, field = figure.path.partition(".")
    bare = [field] if record in _BARE and "." not in field else []
    return [figure.budget_path, *bare, *figure.aliases]


@cache
def budget_names() -> dict[str, Figure]:
    """Return the figures that a budget may use, by every name that it may use."""
    return {name: figure for figure in FIGURES if figure.in_budgets for name in names(figure)}


def find(name: str) -> Figure | None:
    """Return the figure that a user means: by path, short name, sweep name or "kebab-title"."""
    wanted = name.strip().lower()
    return _all_names().get(wanted) or _all_names().get(wanted.replace(" ", "-"))


@cache
def _all_names() -> dict[str, Figure]:
    """Every name; where two figures share one, the first of the registry has it."""
    known: dict[str, Figure] = {}
    for spelled in (
        lambda f: [f.path, f.path.replace("[]", ""), *names(f)],
        lambda f: [f.sweep, f.title.lower().replace(" ", "-")],
        lambda f: [f.short, f.amd.format("CU").lower().replace(" ", "-"), f.field],
        lambda f: [f"{f.scope} {f.title}".lower().replace(" ", "-")],
    ):
        for figure in FIGURES:
            for name in filter(None, spelled(figure)):
                known.setdefault(name.lower(), figure)
    return known


@cache
def owner(figure: Figure) -> tuple[type[msgspec.Struct], inspect.Field] | None:
    """Return the record that holds a figure and its field there; ``None`` if it is computed."""
    if figure.compute is not None:
        return None
    holder: type[msgspec.Struct] = Report
    *outer, last = figure.path.split(".")
    for name in outer:
        field = _field(holder, name.removesuffix("[]"), figure)
        holder = next((kind.cls for kind in _structs(field.type)), holder)
    return holder, _field(holder, last, figure)


def _field(record: type[msgspec.Struct], name: str, figure: Figure) -> inspect.Field:
    if name not in _fields()[record]:
        raise LookupError(f"figures: {record.__name__} has no field {name} ({figure.path})")
    return _fields()[record][name]


@cache
def _fields() -> dict[type[Any], dict[str, inspect.Field]]:
    """Return the fields of every record in a report; inspecting them once is what takes time."""
    fields: dict[type[Any], dict[str, inspect.Field]] = {}
    pending: list[inspect.Type] = [inspect.type_info(Report)]
    while pending:
        for kind in _structs(pending.pop()):
            if kind.cls not in fields:
                fields[kind.cls] = {field.name: field for field in kind.fields}
                pending += [field.type for field in kind.fields]
    return fields


def _structs(kind: inspect.Type) -> Iterator[inspect.StructType]:
    """Yield the record in a field's type: itself, or a list's item."""
    for each in _alternatives(kind):
        if isinstance(each, inspect.StructType):
            yield each
        elif isinstance(each, inspect.ListType | inspect.VarTupleType):
            yield from _structs(each.item_type)


def _alternatives(kind: inspect.Type) -> list[inspect.Type]:
    kinds = kind.types if isinstance(kind, inspect.UnionType) else (kind,)
    return [each for each in kinds if not isinstance(each, inspect.NoneType)]


def choices(figure: Figure) -> tuple[str, ...]:
    """Return all values of a figure that is one of a few words; empty for others."""
    held = owner(figure)
    kinds = _alternatives(held[1].type) if held else []
    return tuple(
        str(word) for kind in kinds if isinstance(kind, inspect.LiteralType) for word in kind.values
    )


def sample(figure: Figure) -> Value:
    """Return some value of a figure's type, to try an expression with."""
    held = owner(figure)
    for kind in _alternatives(held[1].type) if held else []:
        if isinstance(kind, inspect.BoolType):
            return True
        if isinstance(kind, inspect.FloatType):
            return 1.0
        if isinstance(kind, inspect.LiteralType | inspect.StrType):
            return next(iter(choices(figure)), "word")
    return 1


def check_paths(rows: Sequence[Figure] = FIGURES) -> None:
    """Raise ``LookupError`` where a row's path and the records of a report contradict each other.

    A path without ``compute`` leads to a field. A path with ``compute`` leads into no record: such
    a figure is absent from JSON, budgets and tables of several reports, which read fields.
    """
    for figure in rows:
        outer, _, last = figure.path.rpartition(".")
        if figure.compute is None:
            owner(figure)
        elif figure.scope != "report":
            raise LookupError(
                f"figures: {figure.path} has compute=, which reads a report, not a {figure.scope}"
            )
        elif (record := _record_at(outer)) is not None:
            raise LookupError(
                f"figures: {figure.path} has compute=, but its path is in the record "
                f"{record.__name__}: add a field '{last}' to it, or name the path summary.{last}"
            )


def _record_at(path: str) -> type[msgspec.Struct] | None:
    """Return the record at a path of a report; ``None`` if there is no record."""
    record: type[msgspec.Struct] = Report
    for name in path.split("."):
        field = _fields()[record].get(name)
        kinds = _alternatives(field.type) if field is not None else []
        inner = next((kind.cls for kind in kinds if isinstance(kind, inspect.StructType)), None)
        if inner is None:
            return None
        record = inner
    return record


def _check_names() -> None:
    """Raise ``LookupError`` where two figures share a name."""
    budgets = [name for figure in FIGURES if figure.in_budgets for name in names(figure)]
    checked: dict[str, Sequence[Hashable]] = {
        "path": [figure.path for figure in FIGURES],
        "title": [(figure.scope, figure.title) for figure in FIGURES],
        "name in budgets": budgets,
        "name in sweeps": [figure.sweep for figure in FIGURES if figure.sweep],
    }
    for what, all_names in checked.items():
        twice = [name for name, number in Counter(all_names).items() if number > 1]
        if twice:
            raise LookupError(f"figures: duplicate {what}: {twice}")


_check_names()
