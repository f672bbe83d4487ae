"""Locations in an IR stage and in the user's Python."""

import re
from pathlib import PurePath

import msgspec

#: Name that ``torch.compile`` gives a file: "c" and 51 digits (base 32) of a hash of its content.
_HASHED_FILE = re.compile(r"(c[a-z2-7]{7})[a-z2-7]{44}(\.py)")


def short_file(file: str) -> str:
    """Return a file's name as people read it.

    A file of ``torch.compile``, which is named after a hash, keeps eight characters of it and no
    folder: "/tmp/torchinductor_me/7x/c7xk2vq4bnmz...k.py" is "c7xk2vq4….py". Others stay.
    """
    hashed = _HASHED_FILE.fullmatch(PurePath(file).name)
    return f"{hashed[1]}…{hashed[2]}" if hashed else file


class Span(msgspec.Struct, frozen=True, gc=False):
    """A range of lines in the text of a stage.

    Attributes:
        stage: The stage's name: "ttir", "ttgir", "llir", "ptx", "sass", "amdgcn".
        line: First line, 1-based.
        end_line: Last line, 1-based, inclusive.
    """

    stage: str
    line: int
    end_line: int


class SourceLocation(msgspec.Struct, frozen=True, order=True, omit_defaults=True, gc=False):
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
        return f"{short_file(self.file)}:{self.line}"


def user_frame(frames: tuple[SourceLocation, ...]) -> SourceLocation | None:
    """Return the innermost frame in the kernel's own file; ``None`` without frames.

    The outermost frame is in that file. Code of a helper next to the kernel has its own line
    there, and code of a library the line that calls the library.

    Args:
        frames: Where an instruction or a loop comes from, innermost frame first.
    """
    if not frames:
        return None
    own = frames[-1].file
    for frame in frames:
        if frame.file == own:
            return frame
    return None
