"""Draws nodes of ``irlens.render.view`` at a width in cells.

Folded sections and those that only a page has room for are left out, except by name.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence

from textual.content import Content

from irlens.model.text import plural, printable_line
from irlens.render import text
from irlens.render.options import Options
from irlens.render.view import characters, nodes
from irlens.render.view.character_charts import draw_bars, draw_heat_map, draw_plot
from irlens.tui.drawing import (
    BOLD,
    DIM,
    LABEL_WIDTH,
    SEVERITY_SIGN,
    STYLES,
    content_of,
    contents_of,
    flowing,
    label_width,
    labelled,
    lines,
)

_CURVE_HEIGHT, _STAIRS_HEIGHT, _PLOT_HEIGHT = 6, 3, 12
_GAP = "  "
#: Cells of a table's bars: as many as there are, within these.
_LEAST_BAR, _MOST_BAR = 4, 40
#: The least cells for code, and for words that go on in the next row.
_LEAST_CODE = 12
_INDENT = "  "
_NOTE_INDENT = "    "
_NOTHING = Content("")


def page(document: nodes.Section, width: int) -> Content:
    """Return a document as the command line prints it, in the styles of the theme."""
    options = Options(width=width, subject=None)
    return lines(contents_of(text.rows(document, options)))


def draw(
    content: Iterable[nodes.Node], width: int, *, unfold: Collection[str] = (), rows: int = 0
) -> list[Content]:
    """Return the rows of some nodes.

    Args:
        unfold: Keys of folded sections to draw all the same.
        rows: The most rows of a table in a folded section; 0 for all.
    """
    drawn: list[Content] = []
    for node in content:
        if isinstance(node, nodes.Section):
            if node.folded and node.key not in unfold:
                continue
            part = _section(node, width, unfold, rows)
        else:
            part = list(_node(node, width))
        if part and drawn and isinstance(node, nodes.Section | nodes.Table | nodes.Drawing):
            drawn.append(Content(""))
        drawn += part
    return drawn


def _section(
    section: nodes.Section, width: int, unfold: Collection[str], rows: int
) -> list[Content]:
    children = section.children
    if section.folded and rows:
        children = tuple(_first_rows(child, rows) for child in children)
    drawn = draw(children, width, unfold=unfold, rows=rows)
    return [title_of(section, width), *drawn] if section.title and drawn else drawn


def _first_rows(node: nodes.Node, rows: int) -> nodes.Node:
    """Return a table with some of its rows: those with the longest bars, if there are bars."""
    if not isinstance(node, nodes.Table):
        return node
    shown = sorted(node.rows, key=lambda row: -sum(_share(cell) for cell in row.cells))[:rows]
    return nodes.Table(node.columns, tuple(shown), node.name)


def _share(cell: nodes.Cell) -> float:
    return cell.share if isinstance(cell, nodes.Bar) else 0.0


def title_of(section: nodes.Section, width: int) -> Content:
    """Return a section's title and what stands beside it."""
    title = Content.styled(printable_line(section.title), BOLD)
    return flowing(Content(""), [title, content_of(section.aside).stylize(DIM)], _GAP, width)


def _node(node: nodes.Node, width: int) -> Iterator[Content]:
    match node:
        case nodes.Headline():
            yield from headline(node, width)
        case nodes.Settings():
            yield from _rows(settings(node, LABEL_WIDTH, width))
        case nodes.Facts():
            yield from facts(node.facts, width)
        case nodes.Phrases():
            yield from _rows(_flow(Content(""), node.items, node.separator, width))
        case nodes.Sentence():
            label = labelled(node.label) if node.label else Content("")
            yield from _rows(_flow(label, [nodes.text(nodes.Run(node.text, node.tone))], "", width))
        case nodes.Items():
            yield from _items(node, width)
        case nodes.Table():
            yield from table(node, width)
        case nodes.Findings():
            yield from _rows(_flow(labelled(_lower(node.title)), [node.summary], "", width))
            yield from findings(node.findings, width, indent=_INDENT)
        case nodes.Code() | nodes.CodeDiff() | nodes.NextSteps() | nodes.Section():
            pass  # code and command lines are for other media
        case nodes.Overlay():
            pass  # as are two sides over each other
        case _:
            yield from drawing(node, width)


def _rows(content: Content) -> list[Content]:
    return content.split()


def _flow(first: Content, items: Iterable[nodes.Text], gap: str, width: int) -> Content:
    """Return texts in a row; code is cut where it does not fit, and not wrapped."""
    drawn = []
    for item in items:
        content = content_of(item)
        if item and all(run.tone == "code" for run in item):
            content = content.truncate(max(width - first.cell_length, 1), ellipsis=True)
        drawn.append(content)
    return flowing(first, drawn, gap, width)


def headline(node: nodes.Headline, width: int, first: Content = _NOTHING) -> list[Content]:
    """Return a verdict with its sign, in a column beside ``first``."""
    if node.sign:
        first += Content.styled(node.sign, f"{STYLES[node.tone]} bold")
    phrases = [content_of((phrase,)).stylize(BOLD) for phrase in node.phrases]
    return _rows(flowing(first, phrases, " · ", width))


def settings(node: nodes.Settings, label: int, width: int) -> Content:
    """Return settings beside their title, if they have one."""
    pairs = [
        nodes.text(nodes.Run(f"{each.name} {each.value}".strip(), each.tone))
        for each in node.settings
    ]
    first = labelled(_lower(node.title), width=label) if node.title else Content("")
    return _flow(first, pairs, _GAP, width)


def label_of(fact: nodes.Fact) -> str:
    """Return what stands before a fact."""
    return _lower(fact.short or fact.title)


def facts(
    known: Sequence[nodes.Fact], width: int, *, label: int = 0, most: int | None = None
) -> list[Content]:
    """Return facts with their details beside them.

    Args:
        label: Cells of the labels; by default what the longest needs.
        most: Lines of details of each; all by default.
    """
    label = label or label_width(map(label_of, known))
    rows: list[Content] = []
    for fact in known:
        lines = [line for line in fact.lines if not line.stands_for][:most]
        beside = lines.pop(0) if lines else nodes.Phrases(())
        first = labelled(label_of(fact), width=label)
        rows += _rows(_flow(first, [fact.value, *beside.items], " · ", width))
        for line in lines:
            rows += _rows(_flow(Content(" " * label), line.items, line.separator, width))
    return rows


def _lower(title: str) -> str:
    """A title as a label; "LDS" and "TMEM cols" stay."""
    return title if title[:2].isupper() else title[:1].lower() + title[1:]


def _items(node: nodes.Items, width: int) -> Iterator[Content]:
    if node.label:
        yield from _rows(Content.styled(printable_line(node.label), STYLES[node.tone]))
    for item in node.items:
        yield from _rows(_flow(Content(_INDENT if node.label else ""), [item], "", width))


def findings(
    found: Iterable[nodes.FindingItem], width: int, *, indent: str = ""
) -> Iterator[Content]:
    """Yield each finding with its message."""
    for finding in found:
        state = f"{finding.state} " if finding.state else ""
        first = Content.assemble(
            indent,
            (state, STYLES[finding.state_tone]),
            (f"{SEVERITY_SIGN[finding.severity]} {finding.code} ", STYLES[finding.tone]),
        )
        yield from _rows(_flow(first, [nodes.text(finding.message)], "", width))


def drawing(node: nodes.Picture, width: int) -> list[Content]:
    """Return a drawing; a timeline has fewer iterations where there is no room for all."""
    match node:
        case nodes.Timeline():
            drawn, shorter = characters.draw_timeline(node, width), node.shorter()
            while not drawn and shorter is not None:
                drawn, shorter = characters.draw_timeline(shorter, width), shorter.shorter()
            if not drawn:
                return [Content.styled(characters.cut(node.described, width), DIM)]
            # Its key may be wider than the picture: it breaks between signs.
            *picture, key = contents_of(drawn)
            return [*picture, *_rows(flowing(Content(""), key.split(_GAP), _GAP, width))]
        case nodes.Staircase():
            return contents_of(characters.draw_staircase(node, width, _STAIRS_HEIGHT))
        case nodes.Curve():
            return contents_of(characters.draw_curve(node, width, _CURVE_HEIGHT))
        case nodes.Plot():
            return contents_of(draw_plot(node, width, _PLOT_HEIGHT))
        case nodes.HeatMap():
            return contents_of(draw_heat_map(node, width))
        case nodes.Bars():
            return contents_of(draw_bars(node, width))
        case nodes.Strip():
            rows = characters.draw_strip(node, width)
    # A name that is too long goes on beside its fill.
    return [
        part
        for row in rows
        for part in _rows(flowing(content_of(row[:1]), [content_of(row[1:])], "", width))
    ]


def table(node: nodes.Table, width: int) -> list[Content]:
    """Return a table's rows; words in its last column go on in the next row, code is cut."""
    titles, rows = table_parts(node, width)
    drawn = [*titles, *(part for row in rows for part in row)]
    if left := len(node.rows) - len(rows):
        more = f"… and {plural(left, f'more {node.noun}')}"
        drawn.append(Content.styled(characters.cut(more, width), DIM))
    return drawn


def table_parts(node: nodes.Table, width: int) -> tuple[list[Content], list[list[Content]]]:
    """Return a table's titles, and what each of its shown rows takes with its note."""
    kept = node.used_columns
    if not kept or not node.rows:
        return [], []
    columns = [node.columns[at] for at in kept]
    shown = node.rows[: node.shown]
    cells = [[row.cells[at] for at in kept] for row in shown]
    widths = _widths(columns, cells, width)
    titles = []
    if any(column.title for column in columns):
        words = [nodes.text(nodes.Run(column.title, "dim")) for column in columns]
        titles = _row(columns, words, widths, width)
    rows = []
    for row, line in zip(shown, cells, strict=True):
        drawn = _row(columns, line, widths, width)
        if row.note:
            note = nodes.text(nodes.Run(row.note, "dim"))
            drawn += _rows(_flow(Content(_NOTE_INDENT), [note], "", width))
        style = STYLES[row.tone]
        rows.append([part.stylize_before(style) if style else part for part in drawn])
    return titles, rows


def _widths(
    columns: Sequence[nodes.Column], cells: Sequence[Sequence[nodes.Cell]], width: int
) -> list[int]:
    """The cells of each column: of words what they need, of bars what is left."""
    widths = [
        max(
            len(printable_line(column.title)),
            *(_length(line[at]) for line in cells),
        )
        for at, column in enumerate(columns)
    ]
    bars = [at for at in range(len(columns)) if isinstance(cells[0][at], nodes.Bar)]
    # The last column gives way if it can.
    last = len(columns) - 1
    if last not in bars:
        others = sum(widths[:-1]) + len(_GAP) * last + _LEAST_BAR * len(bars)
        widths[last] = max(min(widths[last], width - others), min(widths[last], _LEAST_CODE))
    room = width - sum(widths) - len(_GAP) * last
    for at in bars:
        widths[at] = min(max(room // len(bars), _LEAST_BAR), _MOST_BAR)
    return widths


def _length(content: nodes.Cell) -> int:
    return 0 if isinstance(content, nodes.Bar) else content_of(content).cell_length


def _row(
    columns: Sequence[nodes.Column],
    cells: Sequence[nodes.Cell],
    widths: Sequence[int],
    width: int,
) -> list[Content]:
    """Return a row; a last cell with more words than fit takes several."""
    drawn = Content("")
    for column, cell, room in list(zip(columns, cells, widths, strict=True))[:-1]:
        content = _cell(cell, room)
        pad = " " * max(room - content.cell_length, 0)
        drawn += Content.assemble(*((pad, content) if column.numbers else (content, pad)), _GAP)
    content, room = _cell(cells[-1], widths[-1]), widths[-1]
    if columns[-1].numbers:
        content = Content(" " * max(room - content.cell_length, 0)) + content
    if columns[-1].code or isinstance(cells[-1], nodes.Bar):
        room = max(width - drawn.cell_length, 1)
        return [(drawn + content.truncate(room, ellipsis=True)).rstrip()]
    return [row.rstrip() for row in _rows(flowing(drawn, [content], "", width))]


def _cell(cell: nodes.Cell, room: int) -> Content:
    if isinstance(cell, nodes.Bar):
        tone: nodes.Tone = "accent" if cell.tone == "neutral" else cell.tone
        return Content.styled(characters.bar(cell.share, room), STYLES[tone])
    return content_of(cell)
