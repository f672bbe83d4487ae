"""How the kernel was compiled and is called; what is not known, and why."""

from collections.abc import Iterator, Mapping, Sequence

from textual.content import Content

from irlens.model.report import Report, StageSize
from irlens.model.resources import Resources
from irlens.model.text import count, plural, printable_line, size
from irlens.model.words import Words, describe_tensor_memory, describe_warp_groups
from irlens.tui.drawing import DIM, GOOD, WARN, flowing, hanging, labelled, lines
from irlens.tui.entries.cells import settings

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
    words, config = Words(report), report.config
    yield from _listed("registers", _registers(report.resources, words), " · ", width)
    groups = [Content(printable_line(told)) for told in describe_warp_groups(report)]
    yield from _listed("warps", groups, " · ", width)
    yield from _listed("memory", _spilled(report.resources), "  ", width)
    if tensor_memory := describe_tensor_memory(report):
        style = WARN if tensor_memory == "unknown" else ""
        yield hanging(labelled("tensor mem"), tensor_memory, style, width)
    yield from _listed("settings", _told(settings(config)), "  ", width)
    arguments = {name: str(value) for name, value in config.args.items()}
    yield from _listed("arguments", _told(arguments), "  ", width)
    if config.grid:
        yield labelled("grid", " × ".join(map(count, config.grid)))
    stages = [Content(f"{name} {_length(stage)}") for name, stage in report.stages.items()]
    yield from _listed("stages", stages, " · ", width)
    if report.run is not None:
        device = printable_line(report.run.device)
        yield labelled("launched", f"{device}  ", _AGREES[report.run.matches_reference])
    for path, reason in report.unknown.items():
        told = f"{printable_line(path)}: {printable_line(reason)}"
        yield hanging(labelled("unknown"), told, DIM, width)


def _listed(label: str, items: Sequence[Content], gap: str, width: int) -> Iterator[Content]:
    if items:
        yield flowing(labelled(label), items, gap, width)


def _registers(held: Resources, words: Words) -> list[Content]:
    if held.registers is None:
        return [Content.styled("unknown", WARN)]
    if held.sgprs is None:
        return [Content(f"{held.registers} per {words.thread}")]
    told = [Content(f"{held.registers} vector registers per {words.thread}")]
    if held.agprs:
        told.append(Content(f"{held.vgprs} VGPRs + {held.agprs} AGPRs"))
    return [*told, Content(f"{held.sgprs} SGPRs per {words.warp}")]


def _spilled(held: Resources) -> list[Content]:
    """What lies in memory of a thread's own, in the vendor's words for it."""
    amd = held.sgprs is not None
    known = (
        (held.local_bytes, "B scratch" if amd else "B local"),
        (None if amd else held.stack_bytes, "B stack"),
        (held.vgpr_spills, "VGPR spills"),
        (held.sgpr_spills, "SGPR spills"),
    )
    return [
        Content.styled(f"{count(value)} {unit}", WARN if value else "")
        for value, unit in known
        if value is not None
    ]


def _length(stage: StageSize) -> str:
    return size(stage.bytes) if stage.lines is None else plural(stage.lines, "line")


def _told(values: Mapping[str, str]) -> list[Content]:
    return [
        Content(f"{printable_line(name)} {printable_line(value)}") for name, value in values.items()
    ]
