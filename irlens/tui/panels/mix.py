"""What kinds of instructions there are."""

from textual.content import Content

from irlens.model.report import Report
from irlens.model.text import count, percent, plural, printable_line
from irlens.tui.drawing import DIM, MAIN, WARN, bar, lines

TITLE = "Instructions"

_NUMBER = 7
_SHARE = 8


def draw(report: Report, width: int) -> Content:
    """Draw a bar for each class, the largest first."""
    rows: list[Content] = []
    for mix in report.mix:
        rows.append(Content.styled(f"{plural(mix.total, 'instruction')} in {mix.stage}", DIM))
        classes = [(name, number, "") for name, number in mix.classes.items()]
        classes += [(name, number, " unknown") for name, number in mix.unknown.items()]
        classes.sort(key=lambda each: (-each[1], each[0]))
        label = max((len(name) for name, _, _ in classes), default=0) + 1
        room = max(width - label - _NUMBER - _SHARE - 1, 4)
        most = max((number for _, number, _ in classes), default=1)
        for name, number, note in classes:
            rows.append(
                Content.assemble(
                    printable_line(name).ljust(label),
                    f"{count(number):>{_NUMBER}}",
                    (f"{percent(number / mix.total):>{_SHARE}} ", DIM),
                    (bar(number / most, room), MAIN),
                    (note, WARN),
                )
            )
    return lines(rows) if rows else Content.styled("no assembly in this capture", DIM)
