"""Where the time of a program's kernels goes: a bar for each, the launches together."""

from collections.abc import Callable, Iterator
from typing import get_args

from irlens.model.estimate import BOUND_NAMES, Bound
from irlens.model.recording import KernelTime, ProgramRun
from irlens.model.text import count, percent, plural
from irlens.render.view.axes import linear, time_unit
from irlens.render.view.memory_traffic import microseconds
from irlens.render.view.nodes import BarRow, Bars, Cells, Column, KindKey, Part, table
from irlens.render.view.time_charts import bound_kinds

KEY = "program"
#: Bars of kernels; those that take less are one bar together.
_MOST = 16
_BOUNDS = frozenset(get_args(Bound))


def program_bars(run: ProgramRun, name_of: Callable[[KernelTime], str]) -> Iterator[Bars]:
    """Yield a bar for each kernel whose time is known, the longest first, if there are two.

    Args:
        name_of: Returns what to call a kernel.
    """
    known = [each for each in run.kernels if each.total_us is not None]
    total = run.total_us
    if len(known) < 2 or not total:
        return
    shown, rest = known[:_MOST], known[_MOST:]
    unit = time_unit(known[0].total_us or 0.0)
    rows = [_row(each, name_of(each), total) for each in shown]
    if rest:
        rows.append(_rest(rest, total))
    yield Bars(
        key=KEY,
        described=f"estimated time of {plural(len(known), 'kernel')}, all launches together",
        names="",
        axis=linear(f"launches × estimated time ({unit.name})", max(r.amount for r in rows), unit),
        rows=tuple(rows),
        kinds=tuple(bound_kinds(_kind(each) for each in shown)),
        numbers=table(
            (Column("kernel"), *(Column(title, numbers=True) for title in (
                "launches", "each", "together", "share",
            )), Column("bound by")),
            [_numbers(each, name_of(each), total) for each in known],
            "time by kernel",
        ),
        repeats=True,
    )  # fmt: skip


def _kind(each: KernelTime) -> KindKey:
    bound = each.bound
    return bound if bound in _BOUNDS else "plain"  # type: ignore[return-value]


def _row(each: KernelTime, name: str, total: float) -> BarRow:
    us = each.total_us or 0.0
    bound = BOUND_NAMES.get(each.bound or "", "")
    parts = [f"{name}: {microseconds(us)}, {_share(us, total)} of the time"]
    if each.launches is not None and each.each_us is not None:
        noun = "launch" if each.launches == 1 else "launches"
        parts.append(f"{count(each.launches)} {noun} of {microseconds(each.each_us)}")
    if bound:
        parts.append(f"bound by {bound}")
    return BarRow(
        name=name,
        described=", ".join(parts),
        parts=(Part(us, _kind(each)),),
        words=f"{microseconds(us)} {_share(us, total)}",
        label=bound,
    )


def _rest(rest: list[KernelTime], total: float) -> BarRow:
    us = sum(each.total_us or 0.0 for each in rest)
    name = f"{plural(len(rest), 'other')}"
    return BarRow(
        name=name,
        described=f"{name}: {microseconds(us)}, {_share(us, total)} of the time",
        parts=(Part(us, "plain"),),
        words=f"{microseconds(us)} {_share(us, total)}",
    )


def _share(us: float, total: float) -> str:
    return percent(round(us / total, 3))


def _numbers(each: KernelTime, name: str, total: float) -> Cells:
    us = each.total_us or 0.0
    return [
        name,
        "" if each.launches is None else count(each.launches),
        "" if each.each_us is None else microseconds(each.each_us),
        microseconds(us),
        _share(us, total),
        BOUND_NAMES.get(each.bound or "", ""),
    ]
