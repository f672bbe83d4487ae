"""Text for people, in a terminal: aligned, wrapped, readable at 80 columns.

Made of strings alone: importing a layout library would take longer than reading a capture does.
"""

from collections.abc import Iterator, Sequence

from irlens.model.text import plural, printable_line
from irlens.render import Kind, Options, build_view
from irlens.render.view import nodes
from irlens.render.view.characters import bar, draw_curve, draw_staircase, draw_strip, draw_timeline
from irlens.render.view.nodes import SIGNS, Run, Text, Tone, text

_ANSI: dict[Tone, str] = {
    "strong": "1", "dim": "2", "accent": "36", "code": "36", "good": "32", "better": "32",
    "warn": "33", "worse": "33", "unknown": "33", "bad": "1;31",
}  # fmt: skip
_LABEL_WIDTH = 12
_NARROWEST = 40
#: Drawings are no wider than this, bars in a table always this wide.
_DRAWING_WIDTH, _BAR_WIDTH = 76, 12
_STAIRS, _CURVE = 4, 4
#: Code that is cut keeps at least so much.
_LEAST_CODE = 20
_GAP = "  "
_ELLIPSIS = "…"


def render(kind: Kind, subject: object, options: Options) -> str:
    """Return a result as text."""
    return write(build_view(kind, subject, options), options)


def write(document: nodes.Section, options: Options) -> str:
    """Return a document as text that ends in a newline."""
    page = Page(width=options.width, color=options.color)
    _Writer(page, options, _shown_keys(document, options)).section(document, 0)
    return page.text()


def _shown_keys(section: nodes.Section, options: Options) -> frozenset[str]:
    """Keys of the sections that this document shows."""
    keys: set[str] = set()
    for child in section.children:
        if isinstance(child, nodes.Section) and _is_shown(child, options):
            keys |= {child.key} | _shown_keys(child, options)
    return frozenset(keys)


def _is_shown(section: nodes.Section, options: Options) -> bool:
    return not section.detail or section.detail in options.details


class Page:
    """Collects lines of runs; ``text`` is the finished page.

    Args:
        width: Columns to fit in. Only a word that is wider than a line exceeds them.
        color: Whether to use ANSI colours. They only repeat what the words say.
    """

    def __init__(self, *, width: int, color: bool) -> None:
        self.width = max(width, _NARROWEST)
        self.color = color
        self._lines: list[str] = []

    def blank(self) -> None:
        """Add an empty line, unless there is one already or the page is empty."""
        if self._lines and self._lines[-1]:
            self._lines.append("")

    def raw(self, line: str) -> None:
        """Add a line that is safe to show and painted already."""
        self._lines.append(line.rstrip())

    def row(self, content: Sequence[Run], indent: int = 0) -> None:
        """Add a line as it is, whatever its width."""
        self.raw(" " * indent + "".join(map(self._paint, content)))

    def flow(
        self,
        items: Sequence[Text],
        *,
        first: Text = (),
        indent: int = 0,
        hang: int | None = None,
        gap: str = "   ",
    ) -> None:
        """Add items one after the other, in a column of their own.

        A line ends between two items, and within one only where it is wider than the column.

        Args:
            items: What to lay out.
            first: What stands at the left margin of the first line.
            indent: Where the column begins; ``first`` is padded to it.
            hang: Where the lines that follow begin; ``indent`` if not given.
            gap: What stands between two items on a line.
        """
        hang = max(indent, len(nodes.plain(first))) if hang is None else hang
        first = tuple(_safe(run) for run in first)
        lead = nodes.plain(first)
        line = [*first, Run(" " * (indent - len(lead)))]
        column = start = max(len(lead), indent)
        for item in items:
            safe = tuple(_safe(run) for run in item)
            wide = len(nodes.plain(safe))
            room = self.width - column - (len(gap) if column > start else 0)
            if safe and all(run.tone == "code" for run in safe):
                if room < min(wide, _LEAST_CODE) and column > start:
                    self.row(line)
                    line, column, start = [Run(" " * hang)], hang, hang
                    room = self.width - column
                safe = text(Run(_shortened(nodes.plain(safe), max(room, _LEAST_CODE)), "code"))
                wide = len(nodes.plain(safe))
            if column > start and wide > room:
                self.row(line)
                line, column, start = [Run(" " * hang)], hang, hang
            if column > start:
                line.append(Run(gap, "neutral"))
                column += len(gap)
            if column + wide <= self.width:
                line += safe
                column += wide
                continue
            for number, word in enumerate(_words(safe)):
                space = " " if number else ""
                if column > start and column + len(space) + len(nodes.plain(word)) > self.width:
                    self.row(line)
                    line, column, start, space = [Run(" " * hang)], hang, hang, ""
                line += [Run(space), *word]
                column += len(space) + len(nodes.plain(word))
        self.row(line)

    def text(self) -> str:
        """Return the page, ending in one newline."""
        return "\n".join(self._lines).rstrip("\n") + "\n"

    def _paint(self, run: Run) -> str:
        code = _ANSI.get(run.tone)
        if not self.color or code is None or not run.text.strip():
            return run.text
        return f"\x1b[{code}m{run.text}\x1b[0m"


def _safe(run: Run) -> Run:
    shown = printable_line(run.text)
    return run if shown == run.text else Run(shown, run.tone)


def _words(content: Text) -> Iterator[Text]:
    """Cut a text at its spaces; a word may have several runs."""
    word: list[Run] = []
    for run in content:
        head, *rest = run.text.split(" ")
        word.append(Run(head, run.tone))
        for part in rest:
            yield text(*word)
            word = [Run(part, run.tone)]
    yield text(*word)


def _shortened(line: str, room: int) -> str:
    return line if len(line) <= room else line[: room - 1].rstrip() + _ELLIPSIS


class _Writer:
    """Prints nodes on a page."""

    def __init__(self, page: Page, options: Options, shown: frozenset[str]) -> None:
        self._page = page
        self._options = options
        self._shown = shown

    def section(self, section: nodes.Section, indent: int) -> None:
        """Print a section: its title, with the settings that follow it, and its children."""
        children = list(section.children)
        if section.is_part and isinstance(children[0], nodes.Section):
            self.section(children[0], indent)  # it has a title of its own
            return
        self._page.blank()
        head: list[Text] = []
        if section.title:
            head.append(text(Run(section.title, "strong")))
        if section.aside:
            head.append(tuple(_dimmed(section.aside)))
        if children and isinstance(children[0], nodes.Settings):
            head += _settings(children[0])
            del children[0]
        if head:
            self._page.flow(head, indent=indent, hang=indent + 2)
        inner = indent + 2 if indent or section.detail else indent
        for index, child in enumerate(children):
            if index and not inner and isinstance(child, nodes.Table):
                self._page.blank()
            self.node(child, inner)

    def node(self, node: nodes.Node, indent: int) -> None:
        """Print a node; code and scatter plots are for media that can link and point."""
        page = self._page
        match node:
            case nodes.Section():
                if _is_shown(node, self._options):
                    self.section(node, indent)
            case nodes.Facts():
                self._facts(node)
            case nodes.Items():
                self._items(node, indent)
            case nodes.Table():
                if node.stands_for not in self._shown:
                    _Table(page, node, indent).write()
            case nodes.Findings():
                self._findings(node)
            case nodes.CodeDiff():
                self._code_diff(node)
            case nodes.Timeline() | nodes.Staircase() | nodes.Curve() | nodes.Strip():
                self._drawing(node, indent)
            case nodes.Headline() | nodes.Settings() | nodes.Phrases() | nodes.Sentence():
                self._line(node, indent)

    def _line(
        self, node: nodes.Headline | nodes.Settings | nodes.Phrases | nodes.Sentence, indent: int
    ) -> None:
        page = self._page
        match node:
            case nodes.Headline():
                sign = SIGNS.get(node.tone, "")
                first = text(" " * indent, Run(f"{sign} " if sign else "", node.tone))
                items = [text(Run(phrase, node.tone)) for phrase in node.phrases]
                page.flow(items, first=first, indent=indent, gap=" · ")
            case nodes.Settings():
                page.flow(_settings(node), indent=indent, hang=indent + 2)
            case nodes.Phrases():
                if node.stands_for not in self._shown and node.items:
                    page.flow(node.items, indent=indent, gap=node.separator)
            case nodes.Sentence():
                label = text(Run(node.label, "strong")) if node.label else ()
                column = _LABEL_WIDTH if label else indent
                page.flow([text(Run(node.text, node.tone))], first=label, indent=column)

    def _drawing(
        self, node: nodes.Timeline | nodes.Staircase | nodes.Curve | nodes.Strip, indent: int
    ) -> None:
        width = min(self._page.width - indent, _DRAWING_WIDTH)
        match node:
            case nodes.Timeline():
                rows = draw_timeline(node, width)
            case nodes.Staircase():
                rows = draw_staircase(node, width, _STAIRS)
            case nodes.Curve():
                rows = draw_curve(node, width, _CURVE)
            case nodes.Strip():
                rows = draw_strip(node, width)
        for row in rows:
            self._page.row([_safe(run) for run in row], indent)

    def _facts(self, node: nodes.Facts) -> None:
        facts = [fact for fact in node.facts if fact.stands_for not in self._shown]
        if not facts:
            return
        self._page.blank()
        width = max(_LABEL_WIDTH, *(len(fact.short or fact.title) + 2 for fact in facts))
        for fact in facts:
            label = text(Run(fact.short or fact.title, "strong"))
            lines = [line for line in fact.lines if line.stands_for not in self._shown]
            beside = lines.pop(0) if lines else nodes.Phrases(())
            self._page.flow([fact.value, *beside.items], first=label, indent=width,
                            gap=beside.separator)  # fmt: skip
            for line in lines:
                self._page.flow(line.items, indent=width, gap=line.separator)

    def _items(self, node: nodes.Items, indent: int) -> None:
        if node.label:
            self._page.flow([text(Run(node.label, node.tone))], indent=indent)
            indent += 2
        for line in node.code.splitlines():
            self._page.row([Run(printable_line(line), "dim")], indent + 2)
        for item in node.items:
            self._page.flow([item], indent=indent)

    def _findings(self, node: nodes.Findings) -> None:
        self._page.blank()
        more = [text(Run(node.explain, "dim"))] if node.explain else []
        label = text(Run(node.title, "strong"))
        self._page.flow([node.summary, *more], first=label, indent=_LABEL_WIDTH)
        for finding in node.findings:
            head = [Run(f"{finding.state} ", finding.state_tone)] if finding.state else []
            head.append(Run(finding.code, finding.tone))
            if finding.place is not None and not finding.names_place:
                head.append(Run(f" {finding.place}:"))
            self._page.flow([text(*head, f" {finding.message}")], indent=_LABEL_WIDTH)
            if finding.hint and finding.state != "gone":
                self._page.flow([text(Run(finding.hint, "dim"))], indent=_LABEL_WIDTH)

    def _code_diff(self, node: nodes.CodeDiff) -> None:
        comparison, page = node.comparison, self._page
        if comparison.different:
            page.blank()
        page.row([Run(printable_line(f"{node.title}   {node.summary}"), "strong")])
        from irlens.render.text_diff import diff_lines  # reports have no diffs

        for line in diff_lines(comparison, self._options):
            page.raw(line)


def _settings(node: nodes.Settings) -> list[Text]:
    return [text(Run(f"{each.name} {each.value}".strip(), each.tone)) for each in node.settings]


def _dimmed(content: Text) -> Iterator[Run]:
    for run in content:
        yield Run(run.text, "dim") if run.tone == "neutral" else run


class _Table:
    """A table whose columns are aligned; what is too long goes on below its column."""

    def __init__(self, page: Page, table: nodes.Table, indent: int) -> None:
        self._page = page
        self._indent = indent
        self._left = 0 if table.shown is None else max(len(table.rows) - table.shown, 0)
        self._more = f"… and {plural(self._left, f'more {table.noun}')}{table.more}"
        self._rows = table.rows[: table.shown]
        cells = [[_cell(cell) for cell in row.cells] for row in self._rows]
        kept = [
            index
            for index, column in enumerate(table.columns)
            if column.title or any(row[index] for row in cells)
        ]
        if any(row.anchor for row in self._rows) and self._is_wide(cells):
            kept.append(kept.pop(0))  # at the end a name may be wrapped
        self._columns = [table.columns[index] for index in kept]
        self._cells = [[row[index] for index in kept] for row in cells]

    def _is_wide(self, cells: Sequence[Sequence[Text]]) -> bool:
        widths = [max(len(nodes.plain(cell)) for cell in each) for each in zip(*cells, strict=True)]
        return sum(widths) + len(_GAP) * len(widths) > self._page.width

    def write(self) -> None:
        """Print titles and rows."""
        if not self._cells:
            return
        *padded, last = self._columns
        titles = [[column.title] for column in padded]
        widths = self._widths(titles)
        ending = max(len(last.title), *(len(nodes.plain(row[-1])) for row in self._cells))
        needed = self._indent + sum(widths) + len(_GAP) * len(padded)
        if needed + (_LEAST_CODE if last.code else ending) > self._page.width:
            titles = [_stacked(column.title) for column in padded]
            widths = self._widths(titles)
            needed = self._indent + sum(widths) + len(_GAP) * len(padded)
        below = not last.numbers and self._page.width - needed < min(ending, _LEAST_CODE)
        if any(column.title for column in self._columns):
            self._titles(titles, widths, last.title.rjust(ending) if last.numbers else last.title)
        for row, cells in zip(self._rows, self._cells, strict=True):
            line = [Run(" " * self._indent)]
            for column, content, width in zip(padded, cells, widths, strict=False):
                pad = Run(" " * (width - len(nodes.plain(content))))
                line += [pad, *content] if column.numbers else [*content, pad]
                line.append(Run(_GAP))
            if last.numbers:
                line.append(Run(" " * (ending - len(nodes.plain(cells[-1])))))
            first = tuple(_toned(run, row.tone) for run in line)
            end = tuple(_toned(run, row.tone) for run in cells[-1])
            if end and below:
                self._page.row(first)
                self._page.flow([end], indent=self._indent + 4)
            else:
                self._page.flow([end] if end else [], first=first)
            if row.note:
                self._page.flow([text(Run(row.note, "dim"))], indent=self._indent + 4)
        if self._left:
            self._page.flow([text(Run(self._more, "dim"))], indent=self._indent)

    def _widths(self, titles: Sequence[Sequence[str]]) -> list[int]:
        """Widths of all columns but the last."""
        return [
            max(*map(len, title), *(len(nodes.plain(row[index])) for row in self._cells))
            for index, title in enumerate(titles)
        ]

    def _titles(self, titles: Sequence[Sequence[str]], widths: Sequence[int], last: str) -> None:
        height = max([1, *map(len, titles)])
        for level in range(height):
            line = ""
            for column, title, width in zip(self._columns, titles, widths, strict=False):
                piece = title[level - height] if len(title) >= height - level else ""
                line += (piece.rjust(width) if column.numbers else piece.ljust(width)) + _GAP
            line += last if level == height - 1 else ""
            self._page.row([Run(printable_line(line.rstrip()), "dim")], self._indent)


def _toned(run: Run, tone: Tone) -> Run:
    return Run(run.text, tone) if run.tone == "neutral" else run


def _cell(content: nodes.Cell) -> Text:
    if isinstance(content, nodes.Bar):
        tone: Tone = "accent" if content.tone == "neutral" else content.tone
        return (Run(bar(content.share, _BAR_WIDTH), tone),)
    return tuple(_safe(run) for run in content)


def _stacked(title: str) -> list[str]:
    return title.replace("_", "_ ").split() or [""]
