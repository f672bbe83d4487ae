"""Source locations from ``.file`` and ``.loc`` (PTX ISA, Debugging Directives)."""

import re

from irlens.isa.ptx.lexer import without_comments
from irlens.isa.ptx.records import Loc
from irlens.isa.source_frames import MAX_CHAIN, base_name, frame_of, outer_frames
from irlens.model.source import SourceLocation

Position = tuple[int, int, int]
Chain = tuple[SourceLocation, ...]

_NUMBER = re.compile(r"[0-9]++")
_STRING = re.compile(r'"((?:[^"\\]++|\\.)*+)"')
_COMMENT = re.compile(r"[ \t]*//[ \t]*([^\n]*)")


def read_file(directive: str) -> tuple[int, str] | None:
    """Number and base name of a ``.file`` directive; ``None`` where it names nothing."""
    number = _NUMBER.search(directive)
    # DWARF 5 writes the directory first and the name last.
    paths = _STRING.findall(directive)
    if number is None or not paths or len(number.group()) > 9:
        return None
    return int(number.group()), base_name(paths[-1])


def assembled_line(directive: Loc) -> int:
    """Return the line that a ``.loc`` names, inside of inline assembly too."""
    return _position(directive.text)[1]


def _position(text: str) -> Position:
    numbers = [int(n) if len(n) < 10 else 0 for n in _NUMBER.findall(text)]
    file, line, column = (*numbers, 0, 0, 0)[:3]
    return file, line, column


class LocationReader:
    """Turns the ``.loc`` directives of a text into location chains, in order.

    ``inlined_at`` names only the position of the call; where that call was itself inlined, the
    frames above it are those of the latest ``.loc`` of that position, which the compiler writes
    before it. Triton 3.6 and 3.7 write no ``inlined_at`` but the whole chain in the comment.
    """

    def __init__(self, files: dict[int, str]) -> None:
        self._files = files
        #: Directives without ``inlined_at``, with their comments: nothing before them matters.
        self._without_site: dict[tuple[str, str], tuple[Position, Chain]] = {}
        self._latest: dict[Position, Chain] = {}

    def start_function(self) -> None:
        """Forget the positions of the previous function."""
        self._latest.clear()

    def read(self, directive: str, text: str, end: int) -> Chain:
        """Return the chain of a ``.loc``, innermost first.

        Args:
            end: Where in ``text`` the directive ends.
        """
        match = _COMMENT.match(text, end)
        comment = match.group(1) if match else ""
        known = self._without_site.get((directive, comment))
        if known is not None:
            position, chain = known
            self._latest[position] = chain
            return chain
        main, _, attributes = without_comments(directive).partition(",")
        position = _position(main)
        if attributes:
            site = _position(attributes.rpartition("inlined_at")[2])
            outer = self._latest.get(site)
            if outer is None:
                outer = self._frame(site, "")
            chain = (*self._frame(position, comment), *outer)[:MAX_CHAIN]
        else:
            chain = (*self._frame(position, comment), *outer_frames(comment))
            self._without_site[directive, comment] = (position, chain)
        self._latest[position] = chain
        return chain

    def _frame(self, position: Position, comment: str) -> Chain:
        """One frame; none where the line is 0 (PTX for "no line") or nothing names the file."""
        file, line, column = position
        if not line:
            return ()
        name = self._files.get(file)
        if name is None:
            named = frame_of(comment.partition(" @[ ")[0])
            if named is None or named.line != line:
                return ()
            name = named.file
        return (SourceLocation(name, line, column),)
