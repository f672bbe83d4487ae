"""A stage's text with everything that is known of each of its lines."""

from contextlib import suppress

from irlens.artifacts import tools
from irlens.model.capture import BINARY_STAGES, STAGE_ORDER, Capture, Stage
from irlens.model.errors import ArtifactError, ToolError, UnknownNameError
from irlens.model.listing import Listing, Occurrences, StageListing
from irlens.model.report import Report
from irlens.report.annotations.columns import Content, arrange

#: The machine code of a cubin, disassembled, stands where the cubin does.
_SHOWN = tuple(
    "sass" if stage == "cubin" else stage
    for stage in STAGE_ORDER
    if stage == "cubin" or stage not in BINARY_STAGES
)


def list_stages(capture: Capture) -> tuple[str, ...]:
    """Return the stages of a capture that can be read, in the compiler's order.

    "sass" is among them where there is a cubin to disassemble, "metadata" where Triton's is kept.
    """
    found = [stage for stage in _SHOWN if _file_of(stage) in capture.stages]
    return (*found, *(["metadata"] if capture.metadata_path is not None else []))


def list_capture(capture: Capture, report: Report) -> Listing:
    """Return all stages of a capture but those that cannot be made into text here.

    Raises:
        ArtifactError: A file of it cannot be read.
    """
    files = {name: capture.python(name) for name in capture.python_files}
    stages = {}
    for stage in list_stages(capture):
        with suppress(ToolError):
            stages[stage] = list_stage(capture, stage, report)
    return Listing(
        kernel=capture.kernel,
        python={name: text for name, text in files.items() if text is not None},
        stages=stages,
    )


def list_stage(capture: Capture, stage: str, report: Report | None) -> StageListing:
    """Return a stage, line by line.

    What cannot be analysed is text all the same, and ``problem`` says why.

    Args:
        capture: Where it is.
        stage: One of ``list_stages``.
        report: What is known of the capture; what it tells of liveness is not computed again.
            Without it the listing is text alone, and there at once.

    Raises:
        UnknownNameError: The capture does not have it.
        ArtifactError: It cannot be read.
        ToolError: It has to be disassembled, and the disassembler is missing or failed.
    """
    text = read_stage(capture, stage)
    content = Content()
    if report is not None:
        try:
            content = _read(stage, text, report, capture)
        except ArtifactError as error:
            content = Content(problem=str(error))
    listing = arrange(stage, text, content)
    if report is None or not listing.marks:
        return listing
    from irlens.report.annotations.undone import mark_undone

    return mark_undone(listing, report)


def occurrences(capture: Capture, stage: str, name: str, *, line: int | None = None) -> Occurrences:
    """Return where an SSA value, a register or a label of a stage is defined and used.

    Args:
        capture: Where the stage is.
        stage: One of ``list_stages``.
        name: As written.
        line: 1-based line on which it was found: the same name can mean another value elsewhere.

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
    if stage == "metadata":
        from irlens.report.annotations.metadata import in_lines

        return in_lines(Stage("metadata", capture.metadata_path).text())
    return capture.stages[stage].text()


def _file_of(stage: str) -> str:
    return "cubin" if stage == "sass" else stage


def _read(stage: str, text: str, report: Report, capture: Capture) -> Content:
    """Analyse a stage; what it takes to read one is loaded only for it."""
    match stage:
        case "source" | "ttir" | "ttgir":
            from irlens.report.annotations.portable import read_mlir

            return read_mlir(stage, text, report)
        case "llir":
            from irlens.report.annotations.portable import read_llir

            return read_llir(text, report, capture)
        case "ptx":
            from irlens.report.annotations.nvidia import read_ptx

            return read_ptx(text, report)
        case "sass":
            from irlens.report.annotations.nvidia import read_sass

            return read_sass(text, report, capture)
        case "amdgcn":
            from irlens.report.annotations.amd import read_amdgcn

            return read_amdgcn(text, report)
        case _:
            return Content()
