"""Tables as text: columns aligned, and split or stacked where they are too wide."""

from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise

from msgspec.structs import replace

from irlens.model.text import plural, printable_line
from irlens.render.text_page import LEAST_CODE, Page, printable_run
from irlens.render.view import nodes
from irlens.render.view.characters import bar
from irlens.render.view.nodes import Run, Text, Tone, text

GAP = "  "
#: A last column with less room than this goes on a line of its own; so much the columns before
#: it may take where lines are short.
_LEAST_ENDING = 40

#: A first column of names needs so much room, above which a longer name stands.
_LEAST_NAME = 20


def write_table(page: Page, table: nodes.Table, indent: int) -> None:
    """Print a table; where its columns are things of a kind, the rest of them below the first."""
    for number, part in enumerate(_split(table, page.width - indent)):
        if number:
            page.blank()
        _Table(page, part, indent).write()


def table_rows(table: nodes.Table, width: int) -> list[list[Text]]:
    """Return the lines of a table's titles, then those of each row with its note."""
    page = Page(width=width, color=False)
    drawn = _Table(page, table, 0)
    drawn.write()
    return [page.rows[start:end] for start, end in pairwise((0, *drawn.starts, len(page.rows)))]


def _split(table: nodes.Table, width: int) -> Iterator[nodes.Table]:
    """Yield a table; where its columns are too wide together, as several, the first in each."""
    if not table.splits:
        yield table
        return
    cells = [[_words(cell) for cell in row.cells] for row in table.rows]
    first, *widths = (
        max([len(column.title), *(nodes.width(row[index]) for row in cells)]) + len(GAP)
        for index, column in enumerate(table.columns)
    )
    if first + sum(widths) - len(GAP) <= width:
        yield table
        return
    start = 1
    while start <= len(widths):
        end, room = start, width + len(GAP) - first
        while end <= len(widths) and (end == start or widths[end - 1] <= room):
            room -= widths[end - 1]
            end += 1
        kept = (0, *range(start, end))
        rows = (replace(row, cells=tuple(row.cells[i] for i in kept)) for row in table.rows)
        columns = tuple(table.columns[index] for index in kept)
        yield replace(table, columns=columns, rows=tuple(rows))
        start = end


class _Table:
    """A table whose columns are aligned; what is too long goes on below its column."""

    def __init__(self, page: Page, table: nodes.Table, indent: int) -> None:
        self._page = page
        self._indent = indent
        self._left = 0 if table.shown is None else max(len(table.rows) - table.shown, 0)
        self._more = f"… and {plural(self._left, f'more {table.noun}')}{table.more}"
        self._rows = table.rows[: table.shown]
        #: The line of the page that each row begins at.
        self.starts: list[int] = []
        cells = [[_words(cell) for cell in row.cells] for row in self._rows]
        kept = replace(table, rows=self._rows).used_columns
        if any(row.anchor for row in self._rows) and self._ends_with_name(cells):
            kept.append(kept.pop(0))  # at the end a name may be wrapped
        self._columns = [table.columns[index] for index in kept]
        self._cells = [[row[index] for index in kept] for row in cells]
        self._draw_bars([[row.cells[index] for index in kept] for row in self._rows])

    def _draw_bars(self, cells: Sequence[Sequence[nodes.Cell]]) -> None:
        """Draw the bars in what words leave of the width."""
        bars = {at for row in cells for at, cell in enumerate(row) if isinstance(cell, nodes.Bar)}
        if not bars:
            return
        least, most = self._page.bars
        taken = sum(
            max([len(column.title), *(nodes.width(row[at]) for row in self._cells)])
            for at, column in enumerate(self._columns)
        ) + len(GAP) * (len(self._columns) - 1)
        room = (self._page.width - self._indent - taken) // len(bars)
        for line, row in zip(self._cells, cells, strict=True):
            for at in bars:
                if isinstance(cell := row[at], nodes.Bar):
                    tone: Tone = "accent" if cell.tone == "neutral" else cell.tone
                    line[at] = (Run(bar(cell.share, min(max(room, least), most)), tone),)

    def _ends_with_name(self, cells: Sequence[Sequence[Text]]) -> bool:
        """Whether the table is too wide, and its first column wider than the last, which wraps."""
        widths = [max(nodes.width(cell) for cell in each) for each in zip(*cells, strict=True)]
        is_wide = sum(widths) + len(GAP) * len(widths) > self._page.width
        return is_wide and widths[0] > widths[-1]

    def write(self) -> None:
        """Print titles and rows."""
        if not self._cells:
            return
        *padded, last = self._columns
        titles = [[column.title] for column in padded]
        widths = self._widths(titles)
        ending = max(len(last.title), *(nodes.width(row[-1]) for row in self._cells))
        needed = self._indent + sum(widths) + len(GAP) * len(padded)
        if needed + (LEAST_CODE if last.code else ending) > self._page.width:
            titles = [column.title.replace("_", "_ ").split() or [""] for column in padded]
            widths = self._widths(titles)
            needed = self._indent + sum(widths) + len(GAP) * len(padded)
        least = max(min(_LEAST_ENDING, self._page.width - _LEAST_ENDING), LEAST_CODE)
        lacking = (ending if last.numbers else min(ending, least)) - (self._page.width - needed)
        overhang = lacking > 0 and self._can_overhang(padded, widths, lacking)
        if overhang:
            widths[0] -= lacking
        titles = [_filled(title, width) for title, width in zip(titles, widths, strict=True)]
        below = lacking > 0 and not overhang
        beside = self._beside(widths) if below else len(padded)
        if any(column.title for column in self._columns):
            title = last.title.rjust(ending) if last.numbers else last.title
            is_last_titled = beside == len(padded) and not (below and last.numbers)
            self._titles(titles[:beside], widths, title if is_last_titled else "")
        for row, cells in zip(self._rows, self._cells, strict=True):
            self.starts.append(len(self._page.rows))
            if overhang and nodes.width(cells[0]) > widths[0]:
                name = tuple(_toned(run, row.tone) for run in cells[0])
                self._page.flow([name], indent=self._indent)
                cells = [(), *cells[1:]]
            line = [Run(" " * self._indent)]
            for column, content, width in zip(padded[:beside], cells, widths, strict=False):
                pad = Run(" " * (width - nodes.width(content)))
                line += [pad, *content] if column.numbers else [*content, pad]
                line.append(Run(GAP))
            if last.numbers and not below:
                line.append(Run(" " * (ending - nodes.width(cells[-1]))))
            first = tuple(_toned(run, row.tone) for run in line)
            rest = [
                tuple(_toned(run, row.tone) for run in (_folded(column, cell) if below else cell))
                for column, cell in zip(self._columns[beside:], cells[beside:], strict=True)
                if cell
            ]
            if rest and below:
                self._page.row(first)
                self._page.flow(rest, indent=self._indent + 4)
            else:
                self._page.flow(rest, first=first)
            if row.note:
                self._page.flow([text(Run(row.note, "dim"))], indent=self._indent + 4)
        if self._left:
            self._page.flow([text(Run(self._more, "dim"))], indent=self._indent)

    def _can_overhang(
        self, padded: Sequence[nodes.Column], widths: Sequence[int], lacking: int
    ) -> bool:
        """Whether long names can stand on lines of their own, above their rows' numbers."""
        is_named = bool(padded) and not padded[0].numbers
        return is_named and widths[0] - lacking >= _LEAST_NAME

    def _widths(self, titles: Sequence[Sequence[str]]) -> list[int]:
        """Widths of all columns but the last."""
        return [
            max(*map(len, title), *(nodes.width(row[index]) for row in self._cells))
            for index, title in enumerate(titles)
        ]

    def _beside(self, widths: Sequence[int]) -> int:
        """How many columns to print beside each other: as many as fit."""
        room = self._page.width - self._indent
        return max(
            1, sum(total - len(GAP) <= room for total in accumulate(w + len(GAP) for w in widths))
        )

    def _titles(self, titles: Sequence[Sequence[str]], widths: Sequence[int], last: str) -> None:
        height = max([1, *map(len, titles)])
        for level in range(height):
            line = ""
            for column, title, width in zip(self._columns, titles, widths, strict=False):
                piece = title[level - height] if len(title) >= height - level else ""
                line += (piece.rjust(width) if column.numbers else piece.ljust(width)) + GAP
            line += last if level == height - 1 else ""
            self._page.row([Run(printable_line(line.rstrip()), "dim")], self._indent)


def _folded(column: nodes.Column, content: Text) -> Text:
    """Return a cell that goes on a line of its own, where a number needs its column's title."""
    if not column.numbers or not column.title:
        return content
    title, unit, _ = column.title.rpartition(" B")
    name = f"{title if unit else column.title} "
    return (Run(name), *content, Run(unit)) if unit else (Run(name), *content)


def _toned(run: Run, tone: Tone) -> Run:
    return Run(run.text, tone) if run.tone == "neutral" else run


def _words(content: nodes.Cell) -> Text:
    """The text of a cell; none of a bar."""
    if isinstance(content, nodes.Bar):
        return ()
    return tuple(printable_run(run) for run in content)


def _filled(words: Sequence[str], width: int) -> list[str]:
    """Return the words of a title in as few lines as its column's width allows."""
    lines = [words[0]]
    for word in words[1:]:
        longer = f"{lines[-1]}{'' if lines[-1].endswith('_') else ' '}{word}"
        if len(longer) <= width:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines
