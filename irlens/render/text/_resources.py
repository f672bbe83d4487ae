"""What a kernel takes and what that leaves room for: occupancy, registers, shared memory."""

from irlens.model.report import LimitName, Occupancy, Report
from irlens.model.text import count, percent, plural, size
from irlens.model.words import (
    Words,
    describe_buffer,
    describe_tensor_memory,
    describe_warp_groups,
    describe_waves,
)
from irlens.render.text._page import Cell, Page

_LIMITS: tuple[LimitName, ...] = ("warps", "blocks", "registers", "shared_memory", "barriers")


def add_resources(page: Page, report: Report, words: Words) -> None:
    """Add all of it."""
    _occupancy(page, report, words)
    _registers(page, report, words)
    _live(page, report)
    if groups := describe_warp_groups(report):
        page.line("Warps", groups, gap=" · ")
    _shared(page, report, words)
    if tensor_memory := describe_tensor_memory(report):
        known = tensor_memory != "unknown"
        cells = [f"per {words.cta}", tensor_memory] if known else [Cell(tensor_memory, "warn")]
        page.line("Tensor mem", cells)


def _occupancy(page: Page, report: Report, words: Words) -> None:
    occupancy = report.occupancy
    if occupancy is None:
        page.line("Occupancy", [Cell("unknown", "warn")])
        return
    if occupancy.launchable:
        limiters = ", ".join(words.resource(name) for name in occupancy.limited_by)
        page.line(
            "Occupancy",
            [
                Cell(percent(occupancy.theoretical), "bold"),
                f"{plural(occupancy.blocks_per_sm, words.block)}/{words.sm} · "
                f"{occupancy.active_warps} of {plural(occupancy.max_warps, words.warp)}",
                f"limited by {limiters}",
            ],
        )
    else:
        _refusals(page, occupancy, words)
    limits = [
        f"{words.resource(name)} {value}"
        for name in _LIMITS
        if (value := getattr(occupancy.limits, name)) is not None
    ]
    page.line("", [f"{words.block}s/{words.sm} allowed by", *limits])
    for step in occupancy.next_step:
        page.line("", [Cell(words.step(step, occupancy), "dim")])
    if waves := describe_waves(occupancy):
        page.line("", waves)


def _refusals(page: Page, occupancy: Occupancy, words: Words) -> None:
    page.line("Occupancy", [Cell("cannot launch", "bad")])
    for refusal in occupancy.refusals:
        page.text_line("", words.refusal(refusal), "bad")


def _registers(page: Page, report: Report, words: Words) -> None:
    found = report.resources
    if found.registers is None:
        page.line("Registers", [Cell("unknown", "warn")])
    elif found.sgprs is None:
        cells = [
            Cell(f"{found.registers} per {words.thread}"),
            _spilled(found.local_bytes, "B local"),
            _spilled(found.stack_bytes, "B stack"),
        ]
        page.line("Registers", [cell for cell in cells if cell is not None], gap=" · ")
    else:
        cells = [
            Cell(f"{found.registers} vector registers per {words.thread}"),
            Cell(f"{found.sgprs} SGPRs per {words.warp}"),
            _spilled(found.vgpr_spills, "VGPR spills"),
            _spilled(found.sgpr_spills, "SGPR spills"),
            _spilled(found.local_bytes, "B scratch"),
        ]
        if found.agprs:
            cells.insert(1, Cell(f"{found.vgprs} VGPRs + {found.agprs} AGPRs"))
        page.line("Registers", [cell for cell in cells if cell is not None], gap=" · ")


def _live(page: Page, report: Report) -> None:
    """The most registers that hold a value at once; virtual ones where only PTX was read."""
    for stage in ("sass", "amdgcn", "ptx"):
        found = getattr(report.pressure, stage)
        if found is not None and found.peak is not None:
            place = str(found.source) if found.source else ""
            told = f"at most {found.peak} live in {stage}" + (f" at {place}" if place else "")
            code = page.shortened(report.code.get(place, ""), beside=told)
            page.line("", [told, Cell(code, "code")] if code else [told], gap="  ")
            return


def _spilled(value: int | None, unit: str) -> Cell | None:
    if value is None:
        return None
    return Cell(f"{count(value)} {unit}", "warn" if value else "plain")


def _shared(page: Page, report: Report, words: Words) -> None:
    found = report.resources
    if found.shared_dynamic_bytes is None:
        page.line(words.shared, [Cell("unknown", "warn")])
        return
    parts = [f"{size(found.shared_dynamic_bytes)} dynamic"]
    if found.shared_static_bytes:
        parts.append(f"{size(found.shared_static_bytes)} static")
    if found.shared_reserved_bytes:
        parts.append(f"{size(found.shared_reserved_bytes)} reserved by the system")
    page.line(words.shared, [f"per {words.cta}", " + ".join(parts)])
    memory = report.memory
    if memory is None or memory.peak_bytes is None or not memory.buffers:
        return
    alive = [describe_buffer(buffer) for buffer in memory.buffers if buffer.at_peak]
    if memory.remainder_bytes:
        alive.append(f"{size(memory.remainder_bytes)} scratch")
    if alive:
        page.line("", ["= " + alive[0], *(f"+ {each}" for each in alive[1:])], gap=" ")
