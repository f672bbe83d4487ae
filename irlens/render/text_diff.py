"""Differences in a stage's text, for a terminal: as a unified diff, or side by side."""

from collections.abc import Iterator, Sequence

from irlens.model.code import CodeComparison, CodeHunk
from irlens.model.text import printable_line
from irlens.render.options import Options
from irlens.render.view.code import Piece, hunk_place, pieces, unified

#: What differs within a line is underlined, too: colour alone would not tell some readers.
_MOVED = "1;4"
_SIDE_ANSI: dict[str, str] = {"-": "31", "+": "32", "~": "33"}
#: Side by side a mark stands between the sides, as other programs write it.
_BETWEEN: dict[str, str] = {"same": " ", "changed": "~", "removed": "-", "added": "+"}
_NARROWEST_SIDES = 80
_HEADING = "36"


def diff_lines(comparison: CodeComparison, options: Options) -> Iterator[str]:
    """Yield the lines of a stage's hunks, safe to show and painted."""
    digits = len(str(max(comparison.before_lines, comparison.after_lines)))
    for hunk in comparison.hunks:
        heading = printable_line(f"@@ {hunk_place(hunk)} @@ {hunk.heading}".rstrip())
        yield ""
        yield f"\x1b[{_HEADING}m{heading}\x1b[0m" if options.color else heading
        yield from (_side_by_side if options.side_by_side else _unified)(hunk, digits, options)


def _unified(hunk: CodeHunk, digits: int, options: Options) -> Iterator[str]:
    for line in unified(hunk, underline=not options.color):
        numbers = f"{_number(line.before, digits)} {_number(line.after, digits)}"
        content = _marked(line.pieces, line.mark, options)
        yield f"{_painted_mark(line.mark, options)} {numbers}  {content}".rstrip()


def _number(line: int | None, digits: int) -> str:
    return f"{'' if line is None else line:>{digits}}"


def _marked(line: Sequence[Piece], mark: str, options: Options) -> str:
    if not options.color or mark == " ":
        return "".join(piece.text for piece in line)
    return "".join(
        f"\x1b[{f'{_MOVED};' if piece.changed else ''}{_SIDE_ANSI[mark]}m{piece.text}\x1b[0m"
        for piece in line
    )


def _painted_mark(mark: str, options: Options) -> str:
    code = _SIDE_ANSI.get(mark)
    return f"\x1b[{code}m{mark}\x1b[0m" if options.color and code else mark


def _side_by_side(hunk: CodeHunk, digits: int, options: Options) -> Iterator[str]:
    """Yield a hunk's rows with both sides beside each other; what is too long goes on below."""
    room = (max(options.width, _NARROWEST_SIDES) - 2 * (digits + 1) - 3) // 2
    for row in hunk.rows:
        left = list(_folded(pieces(row.before, row.before_words), room))
        right = list(_folded(pieces(row.after, row.after_words), room))
        for index in range(max(len(left), len(right))):
            sides = [side[index] if index < len(side) else [] for side in (left, right)]
            lines = (None, None) if index else (row.before_line, row.after_line)
            numbers = [_number(line, digits) for line in lines]
            yield _sides(row.kind, numbers, sides, room, options).rstrip()


def _sides(
    kind: str,
    numbers: Sequence[str],
    sides: Sequence[Sequence[Piece]],
    room: int,
    options: Options,
) -> str:
    (one, two), (left, right) = numbers, sides
    first, second = (" ", " ") if kind == "same" else ("-", "+")
    blanks = " " * (room - sum(len(piece.text) for piece in left))
    return (
        f"{one} {_marked(left, first, options)}{blanks} "
        f"{_painted_mark(_BETWEEN[kind], options)} {two} {_marked(right, second, options)}"
    )


def _folded(line: Sequence[Piece], room: int) -> Iterator[list[Piece]]:
    """Cut a line into lists of pieces of at most ``room`` characters."""
    shown: list[Piece] = []
    left = room
    for piece in line:
        rest = piece.text
        while len(rest) > left:
            yield [*shown, Piece(rest[:left], piece.changed)]
            rest, shown, left = rest[left:], [], room
        shown.append(Piece(rest, piece.changed))
        left -= len(rest)
    yield shown
