"""From a capture to its report: the one path that every command, screen and library call takes."""

from typing import TYPE_CHECKING

from irlens.model.capture import Capture
from irlens.model.report import Report

if TYPE_CHECKING:
    from irlens.artifacts.code_listings import CodeListings


def inspect(
    capture: Capture, *, sass: bool = False, listings: "CodeListings | None" = None
) -> Report:
    """Return everything that can be known about a capture.

    What cannot be known is ``None`` in the report, with the reason under ``unknown``.

    Args:
        capture: Any capture, however little it holds.
        sass: Whether to disassemble the cubin too, which takes a moment.
        listings: Of several captures, this one among them, if they are disassembled together:
            the estimated time needs the code, too.

    Raises:
        ArtifactError: An artifact is broken.
        ToolError: ``sass`` is requested, and the disassembler is missing or failed.
    """
    from irlens.report.inspection import Inspection  # annotations need none of it

    return Inspection(capture, sass=sass, listings=listings).report()
