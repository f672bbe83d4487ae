"""From a capture to its report: the one path that every command, screen and library call takes."""

from irlens.analyze.capture_code import CaptureCode
from irlens.model.capture import Capture, Disassembly
from irlens.model.report import Report


def inspect(subject: Capture | CaptureCode, disassembly: Disassembly = Disassembly.SKIP) -> Report:
    """Return everything that can be known about a capture.

    What cannot be known is ``None`` in the report, with the reason under ``unknown``.

    Args:
        subject: Any capture, however little it holds, or its code, if more is asked of that.

    Raises:
        ArtifactError: An artifact is broken.
        ToolError: Machine code is required, and the disassembler is missing or failed.
    """
    from irlens.report.inspection import Inspection  # annotations need none of it

    return Inspection(subject, disassembly).report()
