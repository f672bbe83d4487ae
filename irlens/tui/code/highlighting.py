"""Highlighted lines as styled segments, lexed one by one as they come into view."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from rich.segment import Segment
from rich.style import Style
from textual.cache import LRUCache

from irlens.isa.dialects import syntax_of
from irlens.isa.highlight import lexer_for, word_kind
from irlens.tui.code.gutters import Gutter

#: A piece of a line and its kind, one of ``highlight.KINDS``; empty for plain text.
Piece = tuple[str, str]

#: A style for each name in ``highlight.KINDS`` and ``gutters.STYLES``; "" is plain text.
Palette = Mapping[str, Style]

#: Columns of a drawn line, the end exclusive, and the style to add to them.
Highlight = tuple[int, int, Style]

#: How names begin wherever they stand, in debug information too.
_SIGNS = tuple("%@^#!$")

# The part of a line that is highlighted: the lexers take 25 µs per token, and no one reads further.
_HIGHLIGHTED = 2_000


class HighlightedLines:
    """The pieces of each line.

    Args:
        joined: Whether each line follows the one before, so that a comment may continue in it.
    """

    def __init__(self, stage: str, lines: list[str], *, joined: bool = True) -> None:
        self._lines = lines
        self._joined = joined
        self._lexer = lexer_for(stage)
        self._stage = stage
        self._syntax = syntax_of(stage)
        self._cache: LRUCache[int, list[Piece]] = LRUCache(2048)

    def pieces(self, index: int) -> list[Piece]:
        """Return a line (from 0) in pieces; joined they are the line."""
        cached = self._cache.get(index)
        if cached is not None:
            return cached
        first, last = self._construct_around(index)
        for line, pieces in enumerate(self._highlight(first, last), first):
            self._cache[line] = pieces
            if line == index:
                cached = pieces
        return cached or []

    def is_name(self, word: str, index: int, column: int) -> bool:
        """Whether a word on a line (both from 0) is a name; an opcode is none."""
        if word.startswith(_SIGNS):
            return True
        for text, kind in self.pieces(index):
            column -= len(text)
            if column < 0:
                return bool(word) and kind in self._syntax.name_kinds
        return False

    def _construct_around(self, index: int) -> tuple[int, int]:
        """Return the lines that must be lexed together with one, both inclusive."""
        if not self._joined:
            return index, index
        before = bisect_right(self._constructs, (index, len(self._lines))) - 1
        if before >= 0 and self._constructs[before][1] >= index:
            return self._constructs[before]
        return index, index

    @cached_property
    def _constructs(self) -> list[tuple[int, int]]:
        """The runs of lines that comments or strings join, in ascending order."""
        pattern = self._syntax.spanning
        text = "\n".join(self._lines)
        if pattern is None or self._syntax.spanning_sign not in text:
            return []
        runs: list[tuple[int, int]] = []
        line = position = 0
        for match in pattern.finditer(text):
            height = match[0].count("\n")
            if not height:
                continue
            line += text.count("\n", position, match.start())
            position = match.start()
            if runs and runs[-1][1] >= line:
                runs[-1] = (runs[-1][0], line + height)
            else:
                runs.append((line, line + height))
        return runs

    def _highlight(self, first: int, last: int) -> Iterator[list[Piece]]:
        pattern = self._syntax.spanning
        if first == last or pattern is None:
            line = self._lines[first]
            pieces = self._lex(line[:_HIGHLIGHTED])[0] + _piece(line[_HIGHLIGHTED:], "")
            yield self._dim_debug(pieces)
            return
        text = "\n".join(self._lines[first : last + 1])
        lines: list[list[Piece]] = [[]]
        position = 0
        for match in pattern.finditer(text):
            _append(lines, self._lex(text[position : match.start()]))
            kind = "string" if match[0][0] in "\"'" else "comment"
            _append(lines, [_piece(line, kind) for line in match[0].split("\n")])
            position = match.end()
        _append(lines, self._lex(text[position:]))
        yield from lines

    def _lex(self, text: str) -> list[list[Piece]]:
        lines: list[list[Piece]] = [[]]
        # Pygments' PTX lexer recognises a comment by the newline after it.
        for _, token, value in self._lexer.get_tokens_unprocessed(text + "\n"):
            kind = word_kind(self._stage, token, value)
            _append(lines, [_piece(part, kind) for part in value.split("\n")])
        return lines[:-1]

    def _dim_debug(self, pieces: list[Piece]) -> list[Piece]:
        """Return a line's pieces with its debug information as a comment.

        Debug information stands on every line of IR and links the panes: dimmed it does not hide
        the code.
        """
        debug = self._syntax.debug
        line = "".join(text for text, _ in pieces)
        match = debug.search(line, 0, _HIGHLIGHTED) if debug else None
        if match is None:
            return pieces
        before, after = [], []
        position = 0
        for text, kind in pieces:
            end = position + len(text)
            before.append((text[: max(match.start() - position, 0)], kind))
            after.append((text[max(match.end() - position, 0) :], kind))
            position = end
        whole = [*before, (match[0], "comment"), *after]
        return [piece for piece in whole if piece[0]]


def _piece(text: str, kind: str) -> list[Piece]:
    return [(text, kind)] if text else []


def _append(lines: list[list[Piece]], more: list[list[Piece]]) -> None:
    """Append lines, the first of which continues the last one."""
    lines[-1] += more[0]
    lines += more[1:]


class Painter:
    """Draws lines beside their gutters."""

    def __init__(self, lines: HighlightedLines, gutters: Sequence[Gutter]) -> None:
        self._lines = lines
        self._gutters = gutters
        self.gutter_width = sum(gutter.width for gutter in gutters)

    def gutter(self, line: int, cursor: int, palette: Palette) -> Iterator[Segment]:
        """Yield the gutters of a line (from 1)."""
        for gutter in self._gutters:
            for text, name in gutter.cells(line, cursor):
                yield Segment(text, palette[name])

    def code(
        self, line: int, palette: Palette, highlights: Iterable[Highlight]
    ) -> Iterable[Segment]:
        """Return a line (from 1) with highlights over its syntax, later ones on top."""
        pieces = self._lines.pieces(line - 1)
        segments: Iterable[Segment] = [Segment(text, palette[name]) for text, name in pieces]
        for first, last, style in highlights:
            segments = _highlighted(segments, first, last, style)
        return segments


def _highlighted(
    segments: Iterable[Segment], first: int, last: int, style: Style
) -> Iterator[Segment]:
    column = 0
    for segment in segments:
        text, own = segment.text, segment.style
        start, end = max(first - column, 0), min(last - column, len(text))
        column += len(text)
        if start >= end:
            yield segment
            continue
        if text[:start]:
            yield Segment(text[:start], own)
        yield Segment(text[start:end], own + style if own else style)
        if text[end:]:
            yield Segment(text[end:], own)
