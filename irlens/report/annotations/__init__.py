"""A stage's text, annotated line by line."""

from contextlib import suppress

import msgspec

from irlens.artifacts import tools
from irlens.model import files
from irlens.model.capture import BINARY_STAGES, STAGE_ORDER, Capture
from irlens.model.errors import ArtifactError, ToolError, UnknownNameError
from irlens.model.listing import Listing, Occurrences, StageListing
from irlens.model.report import Report

#: What marks a warpgroup's products, their commits and waits, in the stages before ptxas.
_WARPGROUP_PRODUCTS = {"ttgir": "ttng.warp_group_dot", "llir": "wgmma", "ptx": "wgmma."}
#: The machine code of a cubin, disassembled, takes the place of the cubin.
_SHOWN = tuple(
    "sass" if stage == "cubin" else stage
    for stage in STAGE_ORDER
    if stage == "cubin" or stage not in BINARY_STAGES
)


def list_stages(capture: Capture) -> tuple[str, ...]:
    """Return the stages of a capture that can be listed, in the compiler's order.

    These include "sass" if there is a cubin to disassemble, and "metadata" if Triton's is kept.
    """
    stages = [stage for stage in _SHOWN if _file_of(stage) in capture.stages]
    return (*stages, *(["metadata"] if capture.metadata_stage is not None else []))


def list_capture(capture: Capture, report: Report) -> Listing:
    """Return all stages of a capture, without those that no tool here can disassemble.

    Raises:
        ArtifactError: A file of the capture cannot be read.
    """
    stages = {}
    for stage in list_stages(capture):
        with suppress(ToolError):
            stages[stage] = list_stage(capture, stage, report)
    return Listing(
        kernel=capture.kernel,
        python=capture.python_texts(),
        stages=stages,
    )


def list_stage(capture: Capture, stage: str, report: Report | None) -> StageListing:
    """Return a stage, line by line.

    A text that cannot be analysed is listed all the same, and ``problem`` says why.

    Args:
        capture: The capture.
        stage: One of ``list_stages``.
        report: The capture's; its liveness is not computed again. Without it the listing is text
            alone, and returns at once.

    Raises:
        UnknownNameError: The capture does not have the stage.
        ArtifactError: It cannot be read.
        ToolError: It has to be disassembled, and the disassembler is missing or failed.
    """
    text = read_stage(capture, stage)
    listing = StageListing.unannotated(stage, text)
    if report is None:
        return listing
    from irlens.analyze import work
    from irlens.report.annotations.stages import Analysis, analyze_stage, annotated

    try:
        with work.budget():
            analysis = analyze_stage(stage, text, report, capture)
    except ArtifactError as error:
        analysis = Analysis(problem=str(error))
    return _flag_serialized(annotated(listing, analysis), report)


def occurrences(capture: Capture, stage: str, name: str, *, line: int | None = None) -> Occurrences:
    """Return where an SSA value, a register or a label of a stage is defined and used.

    Args:
        capture: The capture.
        stage: One of ``list_stages``.
        name: As written.
        line: 1-based line of one occurrence: the same name can mean another value elsewhere.

    Raises:
        UnknownNameError: The capture does not have the stage.
        ArtifactError: It is broken.
        ToolError: It has to be disassembled, and the disassembler is missing or failed.
    """
    from irlens.report.annotations.occurrences import find_occurrences

    return find_occurrences(stage, read_stage(capture, stage), name, line)


def read_stage(capture: Capture, stage: str) -> str:
    """Return a stage's text; raises as ``list_stage`` does."""
    known = list_stages(capture)
    if stage not in known:
        raise UnknownNameError("stage", stage, known)
    if stage == "sass":
        return tools.disassemble(capture.stages["cubin"].read())
    if stage == "metadata" and capture.metadata_stage is not None:
        return format_metadata(capture.metadata_stage.text())
    return capture.stages[stage].text()


def format_metadata(text: str) -> str:
    """Return a JSON object with one key per line, by name, as the code diff counts lines.

    Values keep their notation. Text that is not an object is returned unchanged.
    """
    try:
        values = msgspec.json.decode(text, type=dict[str, msgspec.Raw])
    except files.DECODE_ERRORS:
        return text
    entries = (
        msgspec.json.encode(key) + b": " + msgspec.json.format(bytes(value), indent=0)
        for key, value in sorted(values.items())
    )
    return (b"{" + b",\n ".join(entries) + b"}\n").decode()


def _file_of(stage: str) -> str:
    return "cubin" if stage == "sass" else stage


def _flag_serialized(listing: StageListing, report: Report) -> StageListing:
    """Flag the matrix products that ptxas serialized in the stages before the machine code.

    These stages show what the compiler requested; the machine code shows what ptxas did.
    """
    word = _WARPGROUP_PRODUCTS.get(listing.stage)
    if word is None or not listing.marks:
        return listing
    from irlens.rules import serialized_products

    if all(each.code != serialized_products.CODE for each in report.findings):
        return listing
    lines = listing.lines
    marks = [
        msgspec.structs.replace(mark, serialized=True) if word in lines[mark.line - 1] else mark
        for mark in listing.marks
    ]
    note = (
        f"{serialized_products.CODE}: ptxas serialized the matrix products: the machine code"
        " waits for each before it issues the next"
    )
    flagged = any(mark.serialized for mark in marks)
    return msgspec.structs.replace(listing, marks=marks, note=note if flagged else "")
