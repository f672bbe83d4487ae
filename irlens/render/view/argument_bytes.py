"""Bytes per argument: what a launch reads and writes through each, once and again."""

from collections.abc import Iterator, Sequence

from irlens.model.report import Report
from irlens.model.text import percent, short_size
from irlens.model.traffic import Access, Traffic
from irlens.render.view import nodes
from irlens.render.view.axes import Unit, byte_unit, linear
from irlens.render.view.nodes import Cells, table

KEY = "arguments"
#: Bytes of a sector, NVIDIA's; AMD's lines differ between architectures.
_SECTOR = 32
_NAMES: dict[nodes.KindKey, str] = {
    "distinct": "read, each byte once",
    "written": "written, each byte once",
    "again": "the same bytes again",
    "beside": "fetched or stored beside them, in sectors",
}


def argument_bars(report: Report) -> nodes.Bars | None:
    """Return a bar for what each argument's memory moves; ``None`` where that is unknown."""
    traffic = report.traffic
    if traffic is None or not traffic.arguments:
        return None
    nvidia = report.target is not None and report.target.vendor == "nvidia"
    rows = tuple(_rows(traffic, sectors=nvidia))
    if not rows:
        return None
    most = max(row.amount for row in rows)
    unit = byte_unit(most)
    occur = {part.kind for row in rows for part in row.parts if part.amount}
    return nodes.Bars(
        key=KEY,
        described="bytes that the launch requests through each argument",
        names="",
        axis=linear(f"bytes ({unit.name})", most, unit),
        rows=rows,
        kinds=tuple(nodes.Kind(key, name) for key, name in _NAMES.items() if key in occur),
        numbers=_numbers(traffic),
    )


def _rows(traffic: Traffic, *, sectors: bool) -> Iterator[nodes.BarRow]:
    for each in traffic.arguments:
        loads = [a for a in _of(traffic, each.argument) if a.direction != "store"]
        stores = [a for a in _of(traffic, each.argument) if a.direction != "load"]
        if each.read_bytes:
            beside = _beside(loads) if sectors else 0
            yield _row(each.argument, "read", each.read_bytes, each.distinct_read_bytes, beside)
        if each.written_bytes:
            beside = _beside(stores) if sectors else 0
            yield _row(
                each.argument, "written", each.written_bytes, each.distinct_written_bytes, beside
            )


def _of(traffic: Traffic, argument: str) -> list[Access]:
    return [each for each in traffic.accesses if each.argument == argument]


def _beside(accesses: Sequence[Access]) -> int:
    """Bytes of the sectors touched beyond those asked for; 0 where an access's are unknown."""
    touched = [each.sectors for each in accesses]
    if None in touched:
        return 0
    whole = sum(each or 0 for each in touched) * _SECTOR
    return max(whole - sum(each.bytes for each in accesses), 0)


def _row(argument: str, verb: str, amount: int, distinct: int, beside: int) -> nodes.BarRow:
    once: nodes.KindKey = "distinct" if verb == "read" else "written"
    times = (
        f"{Unit('', 1).number(amount / distinct)} ×" if distinct and amount != distinct else "once"
    )
    phrases = [f"{argument}: {verb} {short_size(amount)}", f"distinct {short_size(distinct)}"]
    if beside:
        phrases.append(f"{percent(round(beside / amount, 3))} more in sectors")
    return nodes.BarRow(
        name=f"{argument} {verb}",
        described=", ".join(phrases),
        parts=(
            nodes.Part(distinct, once), nodes.Part(max(amount - distinct, 0), "again"),
            nodes.Part(beside, "beside"),
        ),
        words=short_size(amount),
        label=times,
    )  # fmt: skip


def _numbers(traffic: Traffic) -> nodes.Table:
    moved = ("read", "distinct read", "written", "distinct written")
    columns = nodes.titled("argument", *nodes.numeric(*moved))
    rows: list[Cells] = [
        [
            each.argument, short_size(each.read_bytes), short_size(each.distinct_read_bytes),
            short_size(each.written_bytes), short_size(each.distinct_written_bytes),
        ]
        for each in traffic.arguments
    ]  # fmt: skip
    return table(columns, rows, "bytes by argument")
