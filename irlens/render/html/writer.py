"""Nodes as HTML: headlines, tiles, cards, tables and folds."""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import groupby

from irlens import glossary
from irlens.render.html.charts import bar, draw
from irlens.render.html.code import Links, Packed, code_diff, is_large, panes
from irlens.render.html.markup import Content, Markup, escape, join, tag
from irlens.render.view import nodes
from irlens.render.view.nodes import SIGNS, Run, Text, Tone

#: The style sheet's class of each tone.
_CLASSES: dict[Tone, str] = {
    "neutral": "plain", "strong": "strong", "dim": "dim", "accent": "plain", "code": "plain",
    "good": "good", "better": "good", "warn": "warn", "worse": "bad", "unknown": "warn",
    "bad": "bad",
}  # fmt: skip
_DOT = "\N{NO-BREAK SPACE}· "
#: Sections with a heading of their own; the others are cards.
_UNBOXED = frozenset({"target", "code"})


def write(tree: nodes.Section) -> Markup:
    """Return the content of the page."""
    many = any(isinstance(child, nodes.Section) and child.is_part for child in tree.children)
    packed = Packed() if is_large(_codes(tree)) else None
    content = list(_Writer(tree, "", packed).document(tree))
    if packed is not None:
        content += packed.elements()
    return tag("main", *content, class_="many" if many else None)


def _codes(section: nodes.Section) -> Iterator[nodes.Code]:
    for child in section.children:
        if isinstance(child, nodes.Code):
            yield child
        elif isinstance(child, nodes.Section):
            yield from _codes(child)


class _Writer:
    """Writes the nodes of one report or comparison, whose places may be on the page.

    Args:
        prefix: What the ids of this report begin with; there may be several on a page.
    """

    def __init__(self, tree: nodes.Section, prefix: str, packed: Packed | None) -> None:
        code = next((child for child in tree.children if isinstance(child, nodes.Code)), None)
        self._links = Links(prefix, code.listing if code else None)
        self._packed = packed
        self._shown = frozenset(_keys(tree))
        self._explain = Glosses().explain

    def document(self, tree: nodes.Section) -> Iterator[Markup | None]:
        """Yield the title and everything below it; neighbouring cards share a grid."""
        if tree.title:
            yield tag("h1", tag("code", tree.title))
        if tree.aside:
            yield tag("p", self._runs(tree.aside))
        for kind, group in groupby(tree.children, _kind):
            written = [
                self.node(node) for node in (_without_gaps(group) if kind == "cards" else group)
            ]
            if kind is None or not any(written):
                yield from written
            else:
                yield tag("dl" if kind == "tiles" else "div", *written, class_=kind)

    def node(self, node: nodes.Node) -> Markup | None:
        """Return a node; nothing where the page shows the same in full elsewhere."""
        match node:
            case nodes.Section():
                return self._section(node)
            case nodes.Facts():
                return self._facts(node)
            case nodes.Items():
                label = tag("h4", node.label) if node.label else None
                items = (tag("li", self._runs(item)) for item in node.items)
                code = tag("pre", node.code) if node.code else None
                return join([label, code, tag("ul", *items)])
            case nodes.Table():
                return self._table(node)
            case nodes.Findings():
                return tag("ul", *map(self._finding, node.findings), class_="findings")
            case nodes.Code():
                return panes(node, self._links, self._packed)
            case nodes.CodeDiff():
                return code_diff(node)
            case nodes.NextSteps():
                return self._next_steps(node)
            case nodes.Headline() | nodes.Settings() | nodes.Phrases() | nodes.Sentence():
                return self._line(node)
            case _:
                return self._figure(node)

    def _figure(self, node: nodes.Drawing) -> Markup | None:
        """A drawing with its figures as a table."""
        match node:
            case nodes.Strip():
                return join([draw(node), self._strip(node)])
            case nodes.Staircase():
                numbers = _fold("the steps as numbers", self._table(node.numbers))
                return tag("figure", tag("figcaption", node.title), draw(node), numbers)
            case nodes.Bars() | nodes.HeatMap() | nodes.Plot() if node.numbers is not None:
                return join([draw(node), _fold("as a table", self._table(node.numbers))])
            case _:
                return draw(node)

    def _line(
        self, node: nodes.Headline | nodes.Settings | nodes.Phrases | nodes.Sentence
    ) -> Markup | None:
        match node:
            case nodes.Headline():
                tone, sign = _CLASSES[node.tone], None
                if node.tone in SIGNS:
                    mark = tag("i", SIGNS[node.tone], aria_hidden="true")
                    sign = tag("span", mark, class_=f"state {tone}")
                phrases = join(map(self._run, node.phrases), between=_DOT)
                return tag("p", sign, phrases, class_=f"verdict {tone}")
            case nodes.Settings():
                return _settings(node)
            case nodes.Sentence():
                label = tag("b", f"{node.label}: ") if node.label else None
                style = "note" if node.tone == "dim" else None
                return tag("p", label, self._explain(node.text), class_=style)
            case nodes.Phrases():
                if node.stands_for in self._shown or not node.items:
                    return None
                return tag("p", join(map(self._runs, node.items), between=_DOT))

    def _next_steps(self, node: nodes.NextSteps) -> Markup:
        """The commands, each with what it shows."""
        rows = (
            tag("li", tag("code", command.line), " ", tag("small", command.why))
            for command in node.commands
        )
        return tag("section", tag("h3", "Next"), tag("ul", *rows), class_="card wide next")

    def _section(self, section: nodes.Section) -> Markup:
        if section.is_part and isinstance(part := section.children[0], nodes.Section):
            prefix = f"{section.key}-"
            content = _Writer(part, prefix, self._packed).document(part)
            return _fold(tag("b", section.title), tag("article", *content, id=prefix))
        name = self._explain(section.title)
        aside = tag("small", self._runs(section.aside)) if section.aside else None
        title: list[Content] = [name, " " if aside else None, aside]
        content = self._children(section)
        if section.key in _UNBOXED:
            style = section.key if section.key == "code" else None
            return tag("section", tag("h2", *title), *content, class_=style)
        if section.folded:
            fold = _fold(join(title), *content)
            return tag("section", fold, class_="card wide") if section.wide else fold
        style = "card wide" if section.wide else "card"
        return tag("section", tag("h3", *title), *content, class_=style)

    def _children(self, section: nodes.Section) -> Iterator[Markup | None]:
        """Yield what a section holds; staircases stand beside each other and the rest."""
        stairs = [child for child in section.children if isinstance(child, nodes.Staircase)]
        rest = (self.node(child) for child in section.children if child not in stairs)
        if stairs:
            yield tag("div", tag("div", *rest), *map(self.node, stairs), class_="side-by-side")
        else:
            yield from rest

    def _facts(self, node: nodes.Facts) -> Markup | None:
        facts = [fact for fact in node.facts if fact.stands_for not in self._shown]
        return join(map(self._tile, facts)) if facts else None

    def _tile(self, fact: nodes.Fact) -> Markup:
        title = self._explain(fact.title)
        value = join(
            run.text if run.tone != "neutral" else tag("small", run.text) for run in fact.value
        )
        lines = [line for line in fact.lines if line.stands_for not in self._shown]
        notes = [tag("span", self._runs(item)) for line in lines for item in line.items]
        return tag(
            "div",
            tag("dt", title),
            tag("dd", tag("b", value), *notes),
            class_=f"tile {_CLASSES[fact.tone]}",
        )

    def _table(self, table: nodes.Table) -> Markup:
        """A table, in a box that scrolls where the screen is too narrow."""
        kept = table.used_columns
        columns = [table.columns[index] for index in kept]
        styles = ["r" if column.numbers else None for column in columns]
        titles = (
            tag("th", column.title, scope="col", class_=style)
            for column, style in zip(columns, styles, strict=True)
        )
        head = tag("thead", tag("tr", *titles)) if any(c.title for c in columns) else None
        rows = (self._row(row, [row.cells[index] for index in kept], styles) for row in table.rows)
        caption = tag("caption", table.name, class_="unseen") if table.name else None
        whole = tag(
            "table", caption, head, tag("tbody", *rows),
            class_="figures sortable" if table.sortable else "figures",
        )  # fmt: skip
        return tag("div", whole, class_="scroll")

    def _row(
        self, row: nodes.Row, cells: Sequence[nodes.Cell], styles: Sequence[str | None]
    ) -> Markup:
        written: list[Content] = [self._cell(cell) for cell in cells]
        if row.anchor and written:
            written[0] = tag("a", written[0], href=f"#{row.anchor}-")
        names = ["th", *["td"] * (len(written) - 1)]
        style = {"strong": "moved", "dim": "still"}.get(row.tone)
        own = tag(
            "tr",
            *(
                tag(name, cell, scope="row" if name == "th" else None, class_=kind)
                for name, cell, kind in zip(names, written, styles, strict=True)
            ),
            class_=style,
        )
        if not row.note:
            return own
        # In a column it would be wrapped word by word.
        note = tag("td", tag("small", row.note), colspan=str(max(len(written), 1)))
        return join([own, tag("tr", note, class_="about")])

    def _cell(self, cell: nodes.Cell) -> Markup:
        if isinstance(cell, nodes.Bar):
            return bar(cell.share, tone=_CLASSES[cell.tone])
        return self._runs(cell)

    def _runs(self, content: Text) -> Markup:
        return join(map(self._run, content))

    def _run(self, run: Run) -> Content:
        if run.place is not None:
            return self._links.place(run.place, run.text)
        if run.tone == "code":
            return tag("code", run.text, class_="line")
        explained = self._explain(run.text)
        if run.tone in ("neutral", "accent"):
            return explained
        if run.tone == "strong":
            return tag("b", explained)
        return tag("span", explained, class_=f"state {_CLASSES[run.tone]}")

    def _finding(self, finding: nodes.FindingItem) -> Markup:
        place = finding.place
        state = _badge(finding.state_tone, finding.state) if finding.state else None
        return tag(
            "li",
            tag(
                "p", tag("b", f"{finding.where}: ") if finding.where else None,
                state, " " if state else None, _badge(finding.tone, finding.severity), " ",
                tag("code", finding.code, class_="rule"), " ",
                self._links.place(place, str(place)) if place is not None else None, " ",
                tag("code", finding.line, class_="line") if finding.line else None,
            ),
            tag("p", self._explain(finding.message)),
            tag("p", self._explain(finding.hint), class_="hint") if finding.hint else None,
            class_=_CLASSES[finding.tone],
        )  # fmt: skip

    def _strip(self, strip: nodes.Strip) -> Markup:
        """The segments of a strip, as a table."""
        rows: list[nodes.Cells] = [
            [
                segment.name,
                Run(str(segment.place or ""), place=segment.place),
                segment.alive,
                Run(segment.note, "dim"),
            ]
            for segment in strip.segments
        ]
        titles = ("buffer", "allocated for", "alive in", "")
        return self._table(nodes.table(map(nodes.Column, titles), rows))


def _keys(section: nodes.Section) -> Iterator[str]:
    for child in section.children:
        if isinstance(child, nodes.Section):
            yield child.key
            yield from _keys(child)


def _kind(node: nodes.Node) -> str | None:
    """The box that a node shares with its neighbours of the same kind."""
    if isinstance(node, nodes.Facts):
        return "tiles"
    boxed = isinstance(node, nodes.Section) and not node.is_part and node.key not in _UNBOXED
    return "cards" if boxed else None


def _without_gaps(cards: Iterable[nodes.Node]) -> Iterator[nodes.Node]:
    """Yield cards so that a wide one between narrow ones leaves no gap: behind them."""
    remaining = list(cards)
    while remaining and _is_wide(remaining[0]):
        yield remaining.pop(0)
    yield from sorted(remaining, key=_is_wide)


def _is_wide(card: nodes.Node) -> bool:
    return isinstance(card, nodes.Section) and card.wide


def _fold(summary: Content, *content: Content) -> Markup:
    """Return something that a click unfolds, without scripts too."""
    return tag("details", tag("summary", summary), *content)


def _badge(tone: Tone, word: str) -> Markup:
    return tag("span", word, class_=f"badge {_CLASSES[tone]}")


def _settings(node: nodes.Settings) -> Markup:
    """Names with their values, side by side."""
    items = (
        tag("li", tag("span", each.name) if each.name else None, " " if each.name else None,
            each.value)
        for each in node.settings
    )  # fmt: skip
    chips = tag("ul", *items, class_="chips")
    return _fold(node.title, chips) if node.folded else chips


class Glosses:
    """The terms that a report has not used yet."""

    def __init__(self) -> None:
        self._explained: set[str] = set()

    def explain(self, text: str) -> Markup:
        """Return text; each term in it that was not used before shows its explanation."""
        parts: list[Content] = []
        end = 0
        for match in _names().finditer(text):
            term = glossary.find(match["name"])
            if term is not None and term.name not in self._explained:
                self._explained.add(term.name)
                parts += [text[end : match.start()], tag("abbr", match[0], title=term.explanation)]
                end = match.end()
        return join([*parts, text[end:]]) if parts else escape(text)


@cache
def _names() -> re.Pattern[str]:
    """Return the pattern of every term's names and aliases, in singular and plural."""
    names = {name for term in glossary.terms() for name in (term.name, *term.aliases)}
    either = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    return re.compile(rf"(?<![\w.-])(?P<name>{either})s?(?![\w-]|\.\w)", re.IGNORECASE)
