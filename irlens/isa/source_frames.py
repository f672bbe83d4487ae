"""Frames of source locations, as LLVM's comments on ``.loc`` have them: "standard.py:170:27"."""

import re
from functools import lru_cache

from irlens.model.source import SourceLocation

#: Inlining nests a few levels; a longer chain is a cycle in the debug information.
MAX_CHAIN = 64

_FRAME = re.compile(r"([^:\[\]]++|[A-Za-z]:[^:\[\]]++):([0-9]{1,9}+)(?::([0-9]{1,9}+))?")


def base_name(path: str) -> str:
    """Return the last part of a path, with either separator."""
    return path.replace("\\", "/").rpartition("/")[2]


def frame_of(text: str) -> SourceLocation | None:
    """Return the frame that a part of a comment names; its line may be 0, for none."""
    match = _FRAME.fullmatch(text.strip(" ]\t\r"))
    if match is None:
        return None
    path, line, column = match.groups()
    return SourceLocation(base_name(path), int(line), int(column or 0))


def outer_frames(comment: str) -> tuple[SourceLocation, ...]:
    """Return the frames around the innermost one of a comment."""
    return _frames(comment.partition(" @[ ")[2])


@lru_cache  # many instructions come from a few calls
def _frames(chain: str) -> tuple[SourceLocation, ...]:
    frames = map(frame_of, chain.split(" @[ ")[:MAX_CHAIN])
    return tuple(frame for frame in frames if frame and frame.line)
