"""What moved in a stage's text, for a terminal: as a unified diff, or side by side."""

from collections.abc import Iterator, Sequence

from irlens.model.code import CodeComparison, CodeComparisons, CodeHunk, CodeRow
from irlens.model.code_lines import Piece, pieces, place, summary, unified
from irlens.model.text import printable_line
from irlens.render import View
from irlens.render._code import left_out, title

_ANSI: dict[str, str] = {"-": "31", "+": "32", "~": "33", "@": "36", "bold": "1"}
#: What moved within a line is underlined, too: colour alone would not tell some readers.
_MOVED = "1;4"
#: Side by side a mark stands between the sides, as other programs write it.
_BETWEEN: dict[str, str] = {"same": " ", "changed": "~", "removed": "-", "added": "+"}
_NARROWEST = 80


def render(comparisons: CodeComparisons, view: View) -> str:
    """Return the differences of each stage; a line where there is none."""
    lines: list[str] = []
    for comparison in comparisons.pairs:
        if lines and comparison.different:
            lines.append("")
        told = f"{title(comparison)}   {comparison.stage}: {summary(comparison)}"
        lines.append(_painted(printable_line(told), "bold", view))
        for hunk in comparison.hunks:
            lines += ["", _painted(_head(hunk), "@", view)]
            shown = _side_by_side if view.side_by_side else _unified
            lines += shown(hunk, _digits(comparison), view)
    told_apart = [printable_line(told) for told in left_out(comparisons)]
    return "\n".join([*lines, *([""] if lines and told_apart else []), *told_apart]) + "\n"


def _head(hunk: CodeHunk) -> str:
    return printable_line(f"@@ {place(hunk)} @@ {hunk.heading}".rstrip())


def _digits(comparison: CodeComparison) -> int:
    return len(str(max(comparison.before_lines, comparison.after_lines)))


def _unified(hunk: CodeHunk, digits: int, view: View) -> Iterator[str]:
    for line in unified(hunk, underline=not view.color):
        numbers = f"{_number(line.before, digits)} {_number(line.after, digits)}"
        text = _marked(line.pieces, line.mark, view)
        yield f"{_painted(line.mark, line.mark, view)} {numbers}  {text}".rstrip()


def _number(line: int | None, digits: int) -> str:
    return f"{'' if line is None else line:>{digits}}"


def _marked(line: Sequence[Piece], mark: str, view: View) -> str:
    if not view.color or mark == " ":
        return "".join(piece.text for piece in line)
    return "".join(
        f"\x1b[{f'{_MOVED};' if piece.moved else ''}{_ANSI[mark]}m{piece.text}\x1b[0m"
        for piece in line
    )


def _painted(text: str, style: str, view: View) -> str:
    code = _ANSI.get(style)
    return f"\x1b[{code}m{text}\x1b[0m" if view.color and code and text.strip() else text


def _side_by_side(hunk: CodeHunk, digits: int, view: View) -> Iterator[str]:
    """Yield a hunk's rows with both sides beside each other; what is too long goes on below."""
    room = (max(view.width, _NARROWEST) - 2 * (digits + 1) - 3) // 2
    for row in hunk.rows:
        left = list(_folded(pieces(row.before, row.before_words), room))
        right = list(_folded(pieces(row.after, row.after_words), room))
        for index in range(max(len(left), len(right))):
            first, second = (side[index] if index < len(side) else [] for side in (left, right))
            yield _row(row, first, second, digits, room, view, goes_on=index > 0).rstrip()


def _row(
    row: CodeRow,
    left: Sequence[Piece],
    right: Sequence[Piece],
    digits: int,
    room: int,
    view: View,
    *,
    goes_on: bool,
) -> str:
    numbers = (None, None) if goes_on else (row.before_line, row.after_line)
    one, two = (_number(number, digits) for number in numbers)
    mark = _BETWEEN[row.kind]
    first, second = (" ", " ") if row.kind == "same" else ("-", "+")
    blanks = " " * (room - sum(len(piece.text) for piece in left))
    return (
        f"{one} {_marked(left, first, view)}{blanks} {_painted(mark, mark, view)} "
        f"{two} {_marked(right, second, view)}"
    )


def _folded(line: Sequence[Piece], room: int) -> Iterator[list[Piece]]:
    """Cut a line into pieces' lists of at most ``room`` characters."""
    shown: list[Piece] = []
    left = room
    for piece in line:
        text = piece.text
        while len(text) > left:
            yield [*shown, Piece(text[:left], piece.moved)]
            text, shown, left = text[left:], [], room
        shown.append(Piece(text, piece.moved))
        left -= len(text)
    yield shown
