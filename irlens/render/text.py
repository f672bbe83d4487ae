"""Text for people, in a terminal: aligned, wrapped, readable at 80 columns.

Made of strings alone: importing a layout library would take longer than reading a capture does.
"""

from collections.abc import Iterator

from irlens.model.text import printable_line
from irlens.render import Kind, Options, build_view
from irlens.render.text_page import Page, printable_run
from irlens.render.text_table import GAP, write_table
from irlens.render.view import nodes
from irlens.render.view.character_charts import draw_bars, draw_heat_map, draw_plot
from irlens.render.view.characters import draw_curve, draw_staircase, draw_strip, draw_timeline
from irlens.render.view.nodes import Run, Text, text

_LABEL_WIDTH = 12
#: Drawings are no wider than this, and sentences, which long lines would make hard to read.
_WIDEST = 120
_STAIRS, _PLOT = 4, 12
#: Text is no narrower than this, whatever the terminal.
_NARROWEST = 40


def render(kind: Kind, subject: object, options: Options) -> str:
    """Return a result as text."""
    return write(build_view(kind, subject, options), options)


def write(document: nodes.Section, options: Options) -> str:
    """Return a document as text that ends in a newline."""
    page = Page(width=max(options.width, _NARROWEST), color=options.color)
    _Writer(page, options, _shown_keys(document, options)).section(document, 0)
    return page.text()


def rows(document: nodes.Section, options: Options) -> list[Text]:
    """Return a document as lines of runs, for a terminal that paints them itself."""
    page = Page(width=options.width, color=False, bars=options.bars)
    _Writer(page, options, _shown_keys(document, options)).section(document, 0)
    return page.rows


def _shown_keys(section: nodes.Section, options: Options) -> frozenset[str]:
    """Keys of the sections that this document shows."""
    keys: set[str] = set()
    for child in section.children:
        if isinstance(child, nodes.Section) and _is_shown(child, options):
            keys |= {child.key} | _shown_keys(child, options)
    return frozenset(keys - {""})


def _is_shown(section: nodes.Section, options: Options) -> bool:
    if section.detail == "each":  # one of several: a table has shown the figures of all
        return bool(options.details)
    return not section.detail or section.detail in options.details


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
            if index and not inner and _stands_apart(child):
                self._page.blank()
            self.node(child, inner)

    def node(self, node: nodes.Node, indent: int) -> None:
        """Print a node."""
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
                write_table(page, node, indent)
            case nodes.Findings():
                self._findings(node)
            case nodes.CodeDiff():
                self._code_diff(node)
            case nodes.Code() | nodes.Overlay():
                pass  # for media that can link, and that draw two sides over each other
            case nodes.NextSteps():
                self._next_steps(node)
            case nodes.Headline() | nodes.Settings() | nodes.Phrases() | nodes.Sentence():
                self._line(node, indent)
            case _:
                self._drawing(node, indent)

    def _line(
        self, node: nodes.Headline | nodes.Settings | nodes.Phrases | nodes.Sentence, indent: int
    ) -> None:
        page = self._page
        match node:
            case nodes.Headline():
                first = text(" " * indent, Run(node.sign, node.tone))
                items = [text(phrase) for phrase in node.phrases]
                page.flow(items, first=first, indent=indent, gap=" · ")
            case nodes.Settings():
                page.flow(_settings(node), indent=indent, hang=indent + 2)
            case nodes.Phrases():
                if node.stands_for not in self._shown and node.items:
                    page.flow(node.items, indent=indent, gap=node.separator)
            case nodes.Sentence():
                label = text(Run(node.label, "strong")) if node.label else ()
                column = _LABEL_WIDTH if label else indent
                page.flow(
                    [text(Run(node.text, node.tone))],
                    first=label,
                    indent=column,
                    most=_WIDEST,
                )

    def _drawing(self, node: nodes.Picture, indent: int) -> None:
        width = min(self._page.width - indent, _WIDEST)
        match node:
            case nodes.Timeline():
                rows = draw_timeline(node, width)
            case nodes.Staircase():
                rows = draw_staircase(node, width, _STAIRS)
            case nodes.Curve():
                rows = draw_curve(node, width, self._options.curve)
            case nodes.Strip():
                rows = draw_strip(node, width)
            case nodes.Plot():
                rows = draw_plot(node, width, _PLOT)
            case nodes.HeatMap():
                rows = draw_heat_map(node, width)
            case nodes.Bars():
                rows = [] if node.repeats else draw_bars(node, width)
        for row in rows:
            if isinstance(node, nodes.Strip):  # a drawing, then words beside each fill
                first = text(" " * indent, *row[:1])
                self._page.flow([row[1:]], first=first, indent=nodes.width(first))
            else:
                self._page.row([printable_run(run) for run in row], indent)

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
            self._page.flow([item], indent=indent, hang=indent + 2)

    def _findings(self, node: nodes.Findings) -> None:
        self._page.blank()
        label = text(Run(node.title, "strong"))
        self._page.flow([node.summary], first=label, indent=_LABEL_WIDTH)
        for finding in node.findings:
            head = [Run(f"{finding.where}: ", "strong")] if finding.where else []
            head += [Run(f"{finding.state} ", finding.state_tone)] if finding.state else []
            head.append(Run(finding.code, finding.tone))
            if finding.place is not None and not finding.names_place:
                head.append(Run(f" {finding.place}:"))
            message = text(*head, f" {finding.message}")
            self._page.flow([message], indent=_LABEL_WIDTH, most=_WIDEST)
            if finding.hint and finding.state != "gone":
                hint = text(Run(finding.hint, "dim"))
                self._page.flow([hint], indent=_LABEL_WIDTH, most=_WIDEST)

    def _next_steps(self, node: nodes.NextSteps) -> None:
        """Print a command a line, and what it shows beside it where there is room."""
        page = self._page
        page.blank()
        column = max((len(command.line) for command in node.commands), default=0) + len(GAP)
        widest = max((len(command.why) for command in node.commands), default=0)
        beside = page.width - _LABEL_WIDTH - column >= widest
        for number, command in enumerate(node.commands):
            label = Run(("" if number else "Next").ljust(_LABEL_WIDTH), "strong")
            line = printable_line(command.line)
            why = Run(printable_line(command.why), "dim")
            page.row([label, Run(line.ljust(column)), why] if beside else [label, Run(line)])
            if not beside:
                page.flow([text(why)], indent=_LABEL_WIDTH + 2)

    def _code_diff(self, node: nodes.CodeDiff) -> None:
        comparison, page = node.comparison, self._page
        if comparison.different:
            page.blank()
        page.row([Run(printable_line(f"{node.title}   {node.summary}"), "strong")])
        from irlens.render.text_diff import diff_lines  # reports have no diffs

        for line in diff_lines(comparison, self._options):
            page.raw(line)


def _stands_apart(node: nodes.Node) -> bool:
    """Whether a blank line precedes a node: a table, or a chart that text draws."""
    if isinstance(node, nodes.Bars):
        return not node.repeats
    return isinstance(node, nodes.Table | nodes.HeatMap)


def _settings(node: nodes.Settings) -> list[Text]:
    return [text(Run(f"{each.name} {each.value}".strip(), each.tone)) for each in node.settings]


def _dimmed(content: Text) -> Iterator[Run]:
    for run in content:
        yield Run(run.text, "dim") if run.tone == "neutral" else run
