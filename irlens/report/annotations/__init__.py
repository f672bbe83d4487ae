"""A stage's text, annotated line by line."""

from contextlib import suppress

import msgspec

from irlens.analyze.capture_code import CaptureCode
from irlens.model.errors import ArtifactError, ToolError
from irlens.model.listing import Listing, Occurrences, StageListing
from irlens.model.report import Report

#: What marks a warpgroup's products, their commits and waits, in the stages before ptxas.
_WARPGROUP_PRODUCTS = {"ttgir": "ttng.warp_group_dot", "llir": "wgmma", "ptx": "wgmma."}


def list_capture(code: CaptureCode, report: Report) -> Listing:
    """Return all stages of a capture, without those that no tool here can disassemble.

    Raises:
        ArtifactError: A file of the capture cannot be read.
    """
    stages = {}
    for stage in code.stages:
        with suppress(ToolError):
            stages[stage] = list_stage(code, stage, report)
    return Listing(kernel=code.capture.kernel, python=code.capture.python_texts(), stages=stages)


def list_stage(code: CaptureCode, stage: str, report: Report | None) -> StageListing:
    """Return a stage, line by line.

    A text that cannot be analysed is listed all the same, and ``problem`` says why.

    Args:
        report: The capture's; its liveness is not computed again. Without it the listing is text
            alone, and returns at once.

    Raises:
        ArtifactError: The capture does not have the stage, or it cannot be read.
        ToolError: It has to be disassembled, and the disassembler is missing or failed.
    """
    listing = StageListing.unannotated(stage, code[stage].text)
    if report is None:
        return listing
    from irlens.analyze import work
    from irlens.report.annotations.stages import Analysis, analyze_stage, annotated

    try:
        with work.budget():
            analysis = analyze_stage(code, stage, report)
    except ArtifactError as error:
        analysis = Analysis(problem=str(error))
    return _flag_serialized(annotated(listing, analysis), report)


def occurrences(
    code: CaptureCode, stage: str, name: str, *, line: int | None = None
) -> Occurrences:
    """Return where an SSA value, a register or a label of a stage is defined and used.

    Args:
        line: 1-based line of one occurrence: the same name can mean another value elsewhere.

    Raises:
        ArtifactError: The capture does not have the stage, or it is broken.
        ToolError: It has to be disassembled, and the disassembler is missing or failed.
    """
    from irlens.report.annotations.occurrences import find_occurrences

    return find_occurrences(code[stage], name, line)


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
