"""What ``--pressure``, ``--pipelines``, ``--memory`` and ``--mix`` show in full."""

from collections.abc import Callable, Sequence

from irlens.model.memory import LoopLoad
from irlens.model.pressure import StagePressure
from irlens.model.report import Report
from irlens.model.spills import SpillSite
from irlens.model.text import count, plural, size
from irlens.model.words import describe_buffer, describe_tile, describe_way
from irlens.render import Detail
from irlens.render.text._page import Cell, Page, Style

_BLOCKS = "▁▂▃▄▅▆▇█"
_CURVE_WIDTH = 60
_BAR_WIDTH = 12
#: Figures of a pipeline that are told otherwise.
_TOLD_ELSEWHERE = frozenset({"stage", "line", "loop", "reason"})
#: Those that a kernel has none of whose warps all do the same.
_OF_WARP_GROUPS = frozenset({"warp_group", "stages_at_most"})


def add_detail(page: Page, report: Report, detail: Detail) -> None:
    """Add one section in full."""
    _SECTIONS[detail](page, report)


def _pipelines(page: Page, report: Report) -> None:
    for pipeline in report.pipelines:
        page.blank()
        page.line("Pipeline", [f"{pipeline.stage}:{pipeline.line}", pipeline.loop])
        for name in pipeline.__struct_fields__:
            value = getattr(pipeline, name)
            if name not in _TOLD_ELSEWHERE and (value is not None or name not in _OF_WARP_GROUPS):
                shown = "unknown" if value is None else _plain(value)
                page.line("", [Cell(name.replace("_", " ").ljust(24), "dim"), shown], gap=" ")
        if pipeline.reason:
            page.text_line("", pipeline.reason, "dim")
    _loads(page, report)


def _plain(value: object) -> str:
    return count(value) if isinstance(value, int) else str(value)


def _loads(page: Page, report: Report) -> None:
    if not report.loads:
        return
    page.blank()
    for index, load in enumerate(report.loads):
        page.line("" if index else "Loads", _load(load))
        if load.reason:
            page.text_line("", load.reason, "dim")


def _load(load: LoopLoad) -> list[Cell | str]:
    place = str(load.source) if load.source else f"ttgir:{load.line}"
    style: Style = "warn" if load.state == "in place" else "good"
    cells: list[Cell | str] = [place, describe_tile(load), Cell(describe_way(load), style)]
    if load.bytes_per_iteration is not None:
        cells.append(f"{size(load.bytes_per_iteration)} per iteration")
    if load.widest_access_bytes is not None:
        cells.append(f"at most {load.widest_access_bytes} B per access")
    if load.buffer_copies is not None:
        cells.append(f"into {plural(load.buffer_copies, 'buffer')}")
    return cells


def _pressure(page: Page, report: Report) -> None:
    pressure = report.pressure
    for name, found in (
        ("ptx", pressure.ptx),
        ("sass", pressure.sass),
        ("amdgcn", pressure.amdgcn),
    ):
        if found is None:
            continue
        page.blank()
        if found.peak is None:
            page.text_line("Pressure", f"{name} unknown: {found.reason}", "warn")
            continue
        page.line("Pressure", [Cell(name, "bold"), *_peak(found)])
        if found.curve:
            page.line("", [Cell(_sparkline(found.curve), "code")])
        _by_line(page, report, found)
        for group in found.live:
            place = str(group.source) if group.source else "no source"
            page.line("", [Cell("at the peak", "dim"), f"{group.registers:>4} from {place}"])
    _spills(page, report)


def _spills(page: Page, report: Report) -> None:
    """Spills and reloads by line of Python, the deepest loops first."""
    sites = report.spills
    if not sites:
        return
    page.blank()
    groups: dict[tuple[int, str, str, str], list[SpillSite]] = {}
    for site in sites:
        place = str(site.source) if site.source else f"{site.stage}:{site.line}"
        groups.setdefault((-site.loop_depth, place, site.kind, site.place), []).append(site)
    page.line("Spills", [f"{plural(len(sites), 'instruction')} in {sites[0].stage}"])
    for (depth, place, kind, where), members in sorted(groups.items()):
        inside = f"in {plural(-depth, 'loop')}" if depth else "outside of loops"
        total = [site.bytes for site in members]
        known = sum(each for each in total if each is not None)
        amount = size(known) if None not in total else "unknown size"
        told = f"{plural(len(members), kind)}, {amount} of {where}"
        page.line("", [Cell(told, "warn" if depth else "plain"), place, inside])


def _peak(found: StagePressure) -> list[Cell | str]:
    place = f" at {found.source}" if found.source else ""
    cells: list[Cell | str] = [f"at most {found.peak} live registers{place}"]
    if found.predicates:
        cells.append(plural(found.predicates, "predicate"))
    return cells


def _by_line(page: Page, report: Report, found: StagePressure) -> None:
    """The lines of Python with their peaks, as bars."""
    most = max((line.peak for line in found.lines), default=0)
    width = max((len(str(line.source)) for line in found.lines), default=0)
    header = f"{'line':<{width}} {'instr.':>6} {'live':>5}"
    page.line("", [Cell(header, "dim")])
    for line in found.lines:
        bar = "█" * max(round(line.peak / max(most, 1) * _BAR_WIDTH), 1)
        place = str(line.source)
        figures = f"{place:<{width}} {line.instructions:>6} {line.peak:>5} {bar:<{_BAR_WIDTH}}"
        code = page.shortened(report.code.get(place, ""), beside=figures)
        style: Style = "warn" if line.peak == most else "plain"
        page.line("", [Cell(figures, style), Cell(code, "code")], gap="  ")


def _sparkline(curve: Sequence[int]) -> str:
    """The curve over the instructions, the highest point of each stretch."""
    width = min(_CURVE_WIDTH, len(curve))
    stretches = (
        curve[len(curve) * index // width : len(curve) * (index + 1) // width]
        for index in range(width)
    )
    top, peak = len(_BLOCKS) - 1, max([1, *curve])
    return "".join(_BLOCKS[round(max([0, *stretch]) / peak * top)] for stretch in stretches)


def _memory(page: Page, report: Report) -> None:
    memory = report.memory
    page.blank()
    if memory is None or memory.total_bytes is None:
        reason = memory.reason if memory else report.unknown.get("memory", "")
        page.text_line("Memory", f"unknown: {reason}", "warn")
        return
    page.line("Memory", [f"{size(memory.total_bytes)} of dynamic shared memory"])
    for buffer in memory.buffers:
        page.line(
            "", [describe_buffer(buffer), "" if buffer.at_peak else Cell("not at the peak", "dim")]
        )
    if memory.remainder_bytes:
        page.line("", [f"{size(memory.remainder_bytes)} scratch and gaps"])
        for use in memory.scratch:
            place = str(use.source) if use.source else f"ttgir:{use.line}"
            page.line("", [Cell(f"  may be of {use.operation} at {place}", "dim")])
    if memory.reason:
        page.text_line("", memory.reason, "dim")


def _mix(page: Page, report: Report) -> None:
    for mix in report.mix:
        page.blank()
        page.line("Mix", [f"{mix.stage} {plural(mix.total, 'instruction')}"])
        ordered = sorted(mix.classes.items(), key=lambda item: (-item[1], item[0]))
        for name, number in [*ordered, *sorted(mix.unknown.items())]:
            share = f"{number / max(mix.total, 1):>6.1%}"
            unknown = Cell("unknown opcode", "warn") if name in mix.unknown else ""
            page.line("", [f"{count(number):>7} {share}  {name}", unknown])


_SECTIONS: dict[Detail, Callable[[Page, Report], None]] = {
    "pipelines": _pipelines,
    "pressure": _pressure,
    "memory": _memory,
    "mix": _mix,
}
