"""Lines of a program's own code that are running."""

import sys
from pathlib import Path

from irlens.model.source import SourceLocation

#: Parts of paths that are not the program's own code.
_INSTALLED = ("/site-packages/", "/dist-packages/", "<frozen ", f"{Path(__file__).parents[2]}/")


def user_line(generated: tuple[str, ...]) -> SourceLocation | None:
    """Return the innermost line of the program's own code that is running.

    Args:
        generated: Folders of files that are not the program's own.
    """
    frame = sys._getframe(1)
    while frame is not None:
        name = frame.f_code.co_filename
        if is_own(name, generated):
            return SourceLocation(Path(name).name, frame.f_lineno)
        frame = frame.f_back  # type: ignore[assignment]  # typeshed has no None here
    return None


def is_own(file: str, generated: tuple[str, ...]) -> bool:
    """Whether a file is the program's own: not installed, nor generated."""
    return not any(part in file for part in (*_INSTALLED, *generated))
