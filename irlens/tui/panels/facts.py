"""How the kernel was compiled and is called; what is not known, and why."""

from collections.abc import Iterator

from textual.content import Content

from irlens.model.report import Report, StageSize
from irlens.model.text import count, plural, printable_line, size
from irlens.model.words import Words
from irlens.tui.drawing import DIM, GOOD, WARN, hanging, labelled, lines
from irlens.tui.entry_cells import settings

TITLE = "Kernel"

_AGREES = {
    True: ("equals the reference", GOOD),
    False: ("differs from the reference", WARN),
    None: ("there is no reference", DIM),
}


def draw(report: Report, width: int) -> Content:
    """List the facts."""
    return lines(list(_rows(report, width)))


def _rows(report: Report, width: int) -> Iterator[Content]:
    words, held, config = Words(report), report.resources, report.config
    registers = "unknown" if held.registers is None else f"{held.registers} per {words.thread}"
    if held.sgprs is not None:
        registers += f" · {held.sgprs} SGPRs per {words.warp}"
    yield labelled("registers", registers)
    spilled = [
        (f"{count(value)} {unit}", WARN if value else "")
        for value, unit in (
            (held.local_bytes, "B local"),
            (held.stack_bytes, "B stack"),
            (held.vgpr_spills, "VGPR spills"),
            (held.sgpr_spills, "SGPR spills"),
        )
        if value is not None
    ]
    if spilled:
        yield labelled("memory", *(part for each in spilled for part in (each, "  ")))
    texts = {
        "settings": _told(settings(config)),
        "arguments": _told({name: str(value) for name, value in config.args.items()}),
        "grid": " × ".join(count(size) for size in config.grid or ()),
        "stages": " · ".join(f"{name} {_length(stage)}" for name, stage in report.stages.items()),
    }
    for label, text in texts.items():
        if text:
            yield hanging(labelled(label), text, "", width)
    if report.run is not None:
        device = printable_line(report.run.device)
        yield labelled("launched", f"{device}  ", _AGREES[report.run.matches_reference])
    for path, reason in report.unknown.items():
        told = f"{printable_line(path)}: {printable_line(reason)}"
        yield hanging(labelled("unknown"), told, DIM, width)


def _length(stage: StageSize) -> str:
    return size(stage.bytes) if stage.lines is None else plural(stage.lines, "line")


def _told(values: dict[str, str]) -> str:
    return "  ".join(
        f"{printable_line(name)} {printable_line(value)}" for name, value in values.items()
    )
