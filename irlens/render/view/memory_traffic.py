"""Traffic of global memory as nodes: in short, by access, and as bars of what each one moves."""

from collections.abc import Iterator, Sequence

import msgspec

from irlens.model.report import Report
from irlens.model.several import total
from irlens.model.terms import Terms
from irlens.model.text import count, magnitude, microseconds, percent, short_size, three_digits
from irlens.model.traffic import Access, Roofline, Traffic
from irlens.render.view import nodes
from irlens.render.view.axes import Unit, byte_unit, linear
from irlens.render.view.drawings import nearest
from irlens.render.view.nodes import Cells, Node, Run, Text, Tone, phrases, row, table, text

KEY = "traffic"
#: From this ratio of touched to needed sectors on, accesses are worth a look.
MANY_SECTORS = 1.5
#: The part of a launch's bytes up to which it does not matter in how many sectors they are.
_FEW_BYTES = 0.05
_UNKNOWN = Run("unknown", "unknown")


def traffic_fact(report: Report) -> nodes.Fact | None:
    """Return what the launch moves in short; ``None`` where there is no launch."""
    traffic = report.traffic
    if traffic is None:
        return None
    if traffic.read_bytes is None or traffic.written_bytes is None:
        why = phrases(Run(traffic.reason, "dim"))
        return nodes.Fact("Memory", text(_UNKNOWN), (why,) if why.items else (), "unknown", key=KEY)
    terms = Terms(report)
    least = " at least" if traffic.at_least else ""
    read = _moved(f"reads{least}", traffic.read_bytes, traffic.distinct_read_bytes)
    once = traffic.written_bytes == traffic.distinct_written_bytes
    distinct = None if once else traffic.distinct_written_bytes
    written = _moved(f"writes{least}", traffic.written_bytes, distinct)
    first = phrases(written, _sectors_in_short(traffic, terms), _intensity(report.roofline))
    more = phrases(Run(traffic.at_least, "dim"))
    lines = (first, more, *_floor(report), *_outside(traffic))
    tone: Tone = "warn" if wastes_sectors(traffic) else "neutral"
    return nodes.Fact("Memory", read, tuple(line for line in lines if line.items), tone, key=KEY)


def traffic_section(report: Report) -> nodes.Section | None:
    """Return every access, what it moves and how well; ``None`` where there is no launch."""
    traffic = report.traffic
    if traffic is None:
        return None
    return nodes.Section(
        title="Global memory",
        children=tuple(_parts(traffic, report)),
        key=KEY,
        aside=text("bytes that all programs of the launch request"),
        detail="memory",
        wide=True,
    )


def moves_the_minimum(traffic: Traffic) -> bool:
    """Whether no byte is requested twice, and in no more sectors than hold it."""
    ratio = sector_ratio(traffic)
    return (
        not traffic.at_least
        and traffic.read_bytes is not None
        and traffic.read_bytes == traffic.distinct_read_bytes
        and traffic.written_bytes == traffic.distinct_written_bytes
        and ratio is not None
        and ratio <= 1
    )


def sector_ratio(traffic: Traffic) -> float | None:
    """Return the sectors touched over the fewest that hold as many bytes; ``None`` if unknown."""
    touched = total((traffic.load_sectors, traffic.store_sectors))
    ideal = total((traffic.ideal_load_sectors, traffic.ideal_store_sectors))
    return None if touched is None or not ideal else touched / ideal


def wastes_sectors(traffic: Traffic) -> bool:
    """Whether requests touch many more sectors than they need, and more than a few of the bytes.

    Beside tiles that the TMA moves, a number that each warp loads is nothing, however many sectors
    that takes.
    """
    ratio = sector_ratio(traffic) or 0
    moved = sum(each.bytes for each in traffic.accesses)
    return ratio >= MANY_SECTORS and ratio * _requested(traffic) >= _FEW_BYTES * moved


def _requested(traffic: Traffic) -> int:
    """Return the bytes that warps request, without those that the TMA moves."""
    return sum(each.bytes for each in traffic.accesses if each.requests != 0)


class LineTraffic(msgspec.Struct, frozen=True):
    """What the accesses of one line move.

    Attributes:
        bytes: Bytes requested.
        distinct_bytes: The same with each byte counted once for each access.
        sectors: Sectors touched over the fewest that hold as many bytes, "1.25 ×"; "TMA" where no
            warp requests them (AMD: "scalar"), "unknown".
        wasteful: Whether an access touches many more sectors than it needs, or memory outside of
            its tensor.
    """

    bytes: int
    distinct_bytes: int
    sectors: str
    wasteful: bool
    words: tuple[str, ...]


def traffic_stage(report: Report) -> str:
    """Return the stage that a launch's traffic is evaluated in: Gluon has no ttir."""
    return "ttgir" if "ttgir" in report.stages and "ttir" not in report.stages else "ttir"


def traffic_by_line(report: Report, file: str | None = None) -> dict[int, LineTraffic]:
    """Return what each line moves that accesses global memory.

    Args:
        file: A file of Python; ``None`` for the stage that it is evaluated in.
    """
    lines: dict[int, list[Access]] = {}
    for access in report.traffic.accesses if report.traffic is not None else ():
        if file is None:
            lines.setdefault(access.line, []).append(access)
        elif access.source is not None and access.source.file == file:
            lines.setdefault(access.source.line, []).append(access)
    terms = Terms(report)
    return {
        line: LineTraffic(
            bytes=sum(each.bytes for each in accesses),
            distinct_bytes=sum(each.distinct_bytes for each in accesses),
            sectors=_sectors(accesses, terms),
            wasteful=any(coalescing(each, terms).tone == "warn" or each.out_of_bounds is not None
                         for each in accesses),
            words=tuple(_in_words(each, terms) for each in accesses),
        )
        for line, accesses in sorted(lines.items())
    }  # fmt: skip


def traffic_cells(report: Report, stage: str) -> dict[int, tuple[str, str, str]]:
    """Return the bytes requested, the distinct ones, and the sectors of each line of a stage.

    Only the lines of the stage that it is evaluated in are known, and only with a known launch.
    """
    if stage != traffic_stage(report):
        return {}
    return {
        line: (short_size(each.bytes), short_size(each.distinct_bytes), each.sectors)
        for line, each in traffic_by_line(report).items()
    }


def _sectors(accesses: list[Access], terms: Terms) -> str:
    """Return "1.25 ×", the sectors of some accesses over the fewest that hold their bytes."""
    touched = total(each.sectors for each in accesses)
    ideal = total(each.ideal_sectors for each in accesses)
    if touched is None or ideal is None:
        return "unknown"
    if not ideal:
        return terms.without_requests[0] if any(each.bytes for each in accesses) else "none"
    return _factor(touched / ideal)


def _in_words(access: Access, terms: Terms) -> str:
    """Return "load input_ptr 50.3 MB, each byte 3.00 ×, coalesced, 16 B per thread"."""
    parts = [f"{access.label} {access.argument} {short_size(access.bytes)}"]
    if access.distinct_bytes and access.bytes != access.distinct_bytes:
        parts.append(f"each byte {_factor(access.bytes / access.distinct_bytes)}")
    if access.masked:
        parts.append(f"{count(access.masked)} lanes masked off")
    parts.append(coalescing(access, terms).text)
    if access.out_of_bounds is not None:
        parts.append(f"{count(access.out_of_bounds.lanes)} lanes outside of the tensor")
    return ", ".join(parts)


def coalescing(access: Access, terms: Terms) -> Run:
    """Return how well an access's requests use the sectors that they touch, in words."""
    if access.requests is None or access.sectors is None:
        return Run(access.reason or "unknown", "unknown")
    if not access.requests:
        return Run(terms.without_requests[1] if access.bytes else "no lane is active", "dim")
    width = f", {access.width} B per {terms.thread}" if access.width else ""
    if not access.ideal_sectors or access.sectors <= access.ideal_sectors:
        return Run(f"coalesced{width}", "good")
    ratio = access.sectors / access.ideal_sectors
    tone: Tone = "warn" if ratio >= MANY_SECTORS else "neutral"
    return Run(f"{_factor(ratio)} the ideal {terms.granule}s{width}", tone)


def _moved(verb: str, requested: int, distinct: int | None) -> Text:
    """Return "reads 4.29 GB = 64.0 × distinct 67.1 MB"; the second half only if it is known."""
    amount = Run(short_size(requested), "strong")
    if not requested or distinct is None:
        return text(f"{verb} ", amount)
    ratio = "" if distinct in (0, requested) else f"{_factor(requested / distinct)} "
    return text(f"{verb} ", amount, f" = {ratio}distinct {short_size(distinct)}")


def _sectors_in_short(traffic: Traffic, terms: Terms) -> Run:
    ratio = sector_ratio(traffic)
    if ratio is None:
        return Run("")
    tone: Tone = "warn" if wastes_sectors(traffic) else "neutral"
    requested, moved = _requested(traffic), sum(each.bytes for each in traffic.accesses)
    part = f", {percent(requested / moved)} of the bytes" if requested < moved else ""
    return Run(f"{terms.granule}s {_factor(ratio)} ideal{part}", tone)


def _intensity(roofline: Roofline | None) -> str:
    if roofline is None or roofline.flops_per_byte is None:
        return ""
    return f"{three_digits(roofline.flops_per_byte)} FLOP/B"


def _floor(report: Report) -> Iterator[nodes.Phrases]:
    """Yield the floor of the roofline, or what is known of it."""
    roofline, target = report.roofline, report.target
    if roofline is None or target is None:
        return
    parts = (("memory", roofline.memory_us), ("compute", roofline.compute_us))
    known = [f"{name} {microseconds(us)}" for name, us in parts if us is not None]
    if roofline.floor_us is not None:
        whole = Run(f"at least {microseconds(roofline.floor_us)} on {target.name}", "strong")
        others = [
            f"{name} {microseconds(us)}" for name, us in parts if us and name != roofline.bound
        ]
        yield phrases(whole, f"bound by {roofline.bound}", *(Run(each, "dim") for each in others))
    elif known:
        yield phrases(*(f"{each} at least" for each in known), Run(roofline.reason or "", "dim"))


def _outside(traffic: Traffic) -> Iterator[nodes.Phrases]:
    lanes = sum(each.out_of_bounds.lanes for each in traffic.accesses if each.out_of_bounds)
    if lanes:
        yield phrases(Run(f"{count(lanes)} lanes outside of their tensor", "bad"))


def _parts(traffic: Traffic, report: Report) -> Iterator[Node]:
    if traffic.reason:
        yield nodes.Sentence(f"unknown: {traffic.reason}", "unknown")
    if traffic.at_least:
        yield nodes.Sentence(f"at least: {traffic.at_least}", "dim")
    if traffic.accesses:
        yield _by_access(traffic, report)
    if (bars := argument_bars(report)) is not None:
        yield nodes.Section("by argument", (bars,), key="scale")
    yield from _floor(report)
    if traffic.wave_read_bytes is not None and traffic.read_bytes:
        wave = Terms(report).wave
        yield phrases(
            f"{short_size(traffic.wave_read_bytes)} read if each {wave} reads its own bytes once"
        )
    yield from _operations(traffic, Terms(report))


def _by_access(traffic: Traffic, report: Report) -> nodes.Table:
    terms = Terms(report)
    granules = f"{terms.granule}s"
    titles = ("bytes", "distinct", "re-read", "masked lanes", "requests", granules, "ideal")
    columns = nodes.titled("access", *nodes.numeric(*titles), "coalescing")
    rows = tuple(
        row(
            _name(access, traffic_stage(report)),
            short_size(access.bytes),
            short_size(access.distinct_bytes),
            _factor(access.bytes / access.distinct_bytes) if access.distinct_bytes else "",
            count(access.masked),
            *map(_count, (access.requests, access.sectors, access.ideal_sectors)),
            coalescing(access, terms),
        )
        for access in traffic.accesses
    )
    return nodes.Table(columns, rows, "accesses to global memory", noun="access", splits=True)


def _name(access: Access, stage: str) -> Text:
    """Return "softmax.py:50 load input_ptr"."""
    place = nearest(access.source, stage, access.line)
    return text(Run(str(place), place=place), f" {access.label} ", Run(access.argument, "code"))


def _operations(traffic: Traffic, terms: Terms) -> Iterator[nodes.Phrases]:
    """Yield the floating-point operations by type, those of tensor cores apart."""
    if not traffic.flops:
        return
    tensor = traffic.tensor_flops or {}
    parts = []
    for name, number in traffic.flops.items():
        of_tensor = tensor.get(name, 0)
        if of_tensor:
            parts.append(f"{magnitude(of_tensor)}FLOP of {name} on {terms.tensor_core}s")
        if number > of_tensor:
            parts.append(f"{magnitude(number - of_tensor)}FLOP of {name}")
    yield phrases(*parts)


def _factor(ratio: float) -> str:
    """Return "1.00 ×", "64.0 ×", "4,096 ×"."""
    return f"{three_digits(ratio)} ×"


def _count(number: int | None) -> str | Run:
    return Run("–", "unknown") if number is None else count(number)


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
    touched = total(each.sectors for each in accesses)
    if touched is None:
        return 0
    return max(touched * _SECTOR - sum(each.bytes for each in accesses), 0)


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
