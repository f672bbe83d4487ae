"""Locations in an IR stage and in the user's Python."""

import msgspec


class Span(msgspec.Struct, frozen=True):
    """A range of lines in the text of a stage.

    Attributes:
        stage: The stage's name: "ttir", "ttgir", "llir", "ptx", "sass", "amdgcn".
        line: First line, 1-based.
        end_line: Last line, 1-based, inclusive.
    """

    stage: str
    line: int
    end_line: int


class SourceLocation(msgspec.Struct, frozen=True, order=True, omit_defaults=True):
    """A line of Python source, as the compiler's debug information names it.

    Attributes:
        file: Base name of the file. Reports carry no directories: they differ between machines.
        line: 1-based line.
        column: 1-based column; 0 where the compiler gave none.
    """

    file: str
    line: int
    column: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


def user_frame(frames: tuple[SourceLocation, ...]) -> SourceLocation | None:
    """Return the innermost frame in the kernel's own file; ``None`` without frames.

    The outermost frame is in that file. Code of a helper next to the kernel has its own line
    there, and code of a library the line that calls the library.

    Args:
        frames: Where an instruction or a loop comes from, innermost frame first.
    """
    return next((frame for frame in frames if frame.file == frames[-1].file), None)
