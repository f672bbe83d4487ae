"""From a capture to its report: the one path that every command, screen and library call takes."""

from irlens.analyze.capture_code import CaptureCode
from irlens.model.capture import Capture
from irlens.model.report import Report


def inspect(subject: Capture | CaptureCode, *, sass: bool = False) -> Report:
    """Return everything that can be known about a capture.

    What cannot be known is ``None`` in the report, with the reason under ``unknown``.

    Args:
        subject: Any capture, however little it holds, or its code, if more is asked of that.
        sass: Whether to disassemble the cubin too, which takes a moment.

    Raises:
        ArtifactError: An artifact is broken.
        ToolError: ``sass`` is requested, and the disassembler is missing or failed.
    """
    from irlens.report.inspection import Inspection  # annotations need none of it

    return Inspection(subject, sass=sass).report()
