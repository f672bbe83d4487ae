"""The text of a stage: as it is in the capture, or with what is known of each line."""

from collections.abc import Iterable

from irlens.analyze.capture_code import CaptureCode
from irlens.model.capture import BINARY_STAGES, STAGE_ORDER
from irlens.model.errors import IrlensError, UnknownNameError
from irlens.model.listing import StageListing
from irlens.model.report import Report

STAGES = (*STAGE_ORDER, "metadata", "sass")


def check_stage(name: str) -> None:
    """Raise ``UnknownNameError`` unless a stage has this name."""
    if name not in STAGES:
        raise UnknownNameError("stage", name, STAGES)


def check_text(stage: str) -> None:
    """Raise ``IrlensError`` for a stage without lines."""
    if stage in BINARY_STAGES:
        raise IrlensError(f"{stage} is binary and has no lines", hint=binary_hint(stage))


def binary_hint(stage: str) -> str | None:
    """Return how to read the code of a binary stage as text, if there is a way."""
    return "read it with --stage sass" if stage == "cubin" else None


def read_stage(code: CaptureCode, name: str) -> bytes:
    """Return the content of a stage; SASS is disassembled from the cubin.

    Raises:
        IrlensError: The capture lacks the stage.
    """
    capture = code.capture
    if name == "metadata" and capture.metadata_stage is not None:
        return capture.metadata_stage.read()
    stage = capture.stages.get(name)
    return stage.read() if stage is not None else code[name].text.encode()


def listed(
    code: CaptureCode, stage: str, report: Report, *, interleave: bool = False
) -> tuple[StageListing, Iterable[tuple[int | None, str]]]:
    """Return what is known of a stage's lines, and these with their numbers.

    Args:
        stage: A text stage.
        interleave: Whether the Python source stands between the lines, without numbers.

    Raises:
        IrlensError: The capture lacks the stage, or it is not text.
    """
    check_text(stage)
    from irlens.report.annotations import list_stage
    from irlens.session.source_lines import with_source

    listing = list_stage(code, stage, report)
    return listing, with_source(code, stage) if interleave else enumerate(listing.lines, 1)
