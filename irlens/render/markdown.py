"""Markdown for a comment on a pull request: the verdict, a table, and the rest folded.

The document stays inert and short enough for a comment. Names, paths and text out of captures are
untrusted. A word that any Markdown dialect, or a code host's own additions (mentions, references,
links), might take for more than a word is written as code with character references, which none
of them reads further.
"""

import html
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from msgspec.structs import replace

from irlens.model.text import plural, printable_line
from irlens.render import Kind, Options, build_view
from irlens.render.text import write as write_text
from irlens.render.view import nodes
from irlens.render.view.code import hunk_place, unified

#: Columns of the folded text: wider ones scroll sideways in a comment of 760 pixels.
FOLDED_WIDTH = 94
_FOLD = "full report"
#: What the folded text does not repeat.
_SAID = (nodes.Headline, nodes.Items, nodes.NextSteps)
#: The hidden first line names the command.
_COMMANDS: dict[Kind, str] = {
    "reports": "inspect", "comparisons": "diff", "code": "diff-code", "check": "check",
    "sweep": "sweep", "scan": "scan", "ledgers": "traffic",
    "suggestion": "suggest", "variants": "variants", "passes": "passes",
    "passes-diff": "passes-diff", "explanations": "why", "layout": "layout", "limits": "limits",
}  # fmt: skip
#: A code host's limit for a comment is 65,536 characters.
MOST_CHARACTERS = 65_000
MOST_ROWS = 50
#: Rows of a table and items of a list that are not folded; a few more are not, either.
UNFOLDED = 12
#: Reports that have a fold each: more of them share one.
MOST_FOLDS = 6
#: Characters of a column of text: longer ones are sentences, which a narrow table breaks.
_MOST_OF_A_CELL = 60
_MOST_OF_A_TEXT = 400
#: Kept free for counting what is left out.
_RESERVE = 200

# A dot between letters might be the name of a host: "softmax.py" is a link to some.
_LETTER = r"[A-Za-z0-9,;:=+/()'%?→−×·–✓✗…µ-]"
_PLAIN = re.compile(rf"(?:{_LETTER}(?!//)|(?<=[A-Za-z0-9])_(?=[A-Za-z0-9])|(?<=[0-9])\.(?=[0-9]))*")
#: What stands between spaces; the extents of a tensor belong to its type.
_WORD = re.compile(r"(?:\[[\w, ]*\]|\S)+")
#: What begins a list, a heading or a quotation where it begins a line: "+" is a sign of irlens's.
_MARKER = re.compile(r"\A(?:[-+*>]|#+|[0-9]+[.)])(?= |$)")
#: Signs of conditions, which stand alone.
_OPERATOR = re.compile(r"[<>=!*]+")
_BACKTICKS = re.compile(r"`+")
_CODE = re.compile(r"[A-Za-z0-9_.,:=+/()\[\]→ -]*")


def render(kind: Kind, subject: Any, options: Options) -> str:
    """Return what matters most, and each report or comparison as folded text."""
    tree = build_view(kind, subject, replace(options, rows=None))
    document = Document(_COMMANDS[kind])
    _top(document, tree)
    parts = [child for child in tree.children if isinstance(child, nodes.Section) and child.is_part]
    if kind == "code":
        return document.text()
    folded = Options(width=FOLDED_WIDTH, details=options.details, rows=None)
    rest = tuple(each for each in tree.children if not isinstance(each, _SAID))
    texts = [(each.title or _FOLD, write_text(each, folded)) for each in parts]
    if len(parts) > MOST_FOLDS:
        texts = [(f"all {len(parts)} in full", "\n\n".join(text for _, text in texts))]
    elif all(isinstance(each, nodes.Settings) for each in rest):
        texts = []  # the top has all of it
    elif not parts and (kind != "comparisons" or subject.different):
        texts = [(tree.title or _FOLD, write_text(replace(tree, children=rest), folded))]
    for title, text in texts:
        document.folded(title, text)
    return document.text()


def _top(document: "Document", tree: nodes.Section) -> None:
    """Add the title with the verdict, then everything that is not folded."""
    title = f"**{escape(tree.title)}**" if tree.title else ""
    if tree.aside:
        title += f", {_runs(tree.aside)}"
    children = list(tree.children)
    headline = next((child for child in children if isinstance(child, nodes.Headline)), None)
    if headline is not None:
        children.remove(headline)
        verdict = " · ".join(escape(phrase.text) for phrase in headline.phrases)
        sign = headline.sign
        title = f"{title}: {sign}{verdict}" if title else f"{sign}**{verdict}**"
    document.paragraph(title)
    facts = [fact for child in children if isinstance(child, nodes.Facts) for fact in child.facts]
    rows = [_fact(fact) for fact in facts if not fact.stands_for]
    table_done = False
    for child in children:
        if isinstance(child, nodes.Facts):
            if not table_done and rows:
                document.table(["", "", ""], rows, right=(1,))
            table_done = True
        else:
            _node(document, child)


def _fact(fact: nodes.Fact) -> list[str]:
    """A row: title, value, and the details that stand beside it."""
    lines = [line for line in fact.lines if not line.stands_for]
    items = [item for line in lines for item in line.items if item[0].tone != "code"]
    beside = ", ".join(map(_runs, items))
    return [escape(fact.title), _runs(fact.value), beside]


def _node(document: "Document", node: nodes.Node) -> None:
    match node:
        case nodes.Section():
            _section(document, node)
        case nodes.Settings() if not node.folded:
            settings = (f"{each.name} {each.value}".strip() for each in node.settings)
            document.paragraph(" · ".join(map(escape, settings)))
        case nodes.Phrases() if not node.stands_for:
            document.paragraph(" · ".join(map(_runs, node.items)))
        case nodes.Sentence():
            label = f"{escape(node.label)}: " if node.label else ""
            document.paragraph(label + escape(node.text))
        case nodes.Items():
            label = f"{escape(node.label)}: " if node.label else ""
            document.bullets(label + _runs(item) for item in node.items)
        case nodes.Table():
            _table(document, node)
        case nodes.NextSteps():
            commands = (code(command.line) for command in node.commands)
            document.paragraph(f"Next: {', '.join(commands)}")
        case nodes.Findings():
            document.bullets(map(_finding, node.findings))
        case nodes.CodeDiff():
            document.paragraph(f"**{escape(node.title)}**: {escape(node.summary)}")
            if node.comparison.different:
                document.folded_diff(node.title, list(_diff_lines(node)))
        case _:
            pass  # drawings, and what stands for sections: the folded text has them


def _section(document: "Document", section: nodes.Section) -> None:
    if section.detail or section.folded or section.full:
        return
    verdict = [each for each in section.children if isinstance(each, nodes.Headline)]
    told = [_runs(section.aside)] if section.aside else []
    told += [each.sign + " · ".join(_runs((run,)) for run in each.phrases) for each in verdict]
    document.paragraph(": ".join([f"**{escape(section.title)}**", *told]))
    for child in section.children:
        _node(document, child)


def _table(document: "Document", table: nodes.Table) -> None:
    noted = any(row.note for row in table.rows)
    kept = [index for index in table.used_columns if not table.columns[index].code]
    columns = [table.columns[index] for index in kept]
    header = [escape(column.title) for column in columns] + [""] * noted
    rows = []
    for row in table.rows:
        cells = (row.cells[index] for index in kept)
        texts = ["" if isinstance(cell, nodes.Bar) else _runs(cell) for cell in cells]
        rows.append(texts + [escape(row.note)] * noted)
    right = [index for index, column in enumerate(columns) if column.numbers]
    if len(header) == 2 and not right and max(len(row[-1]) for row in rows) > _MOST_OF_A_CELL:
        document.bullets(f"**{first}**: {second}" for first, second in rows)  # fits a phone
    else:
        document.table(header, rows, right=right)


def _runs(content: nodes.Text) -> str:
    """Return runs as Markdown; places and code as code."""
    parts = []
    for run in content:
        bare = run.text.strip()
        if not bare:
            parts.append(run.text)
            continue
        lead, trail = " " * run.text.startswith(" "), " " * run.text.endswith(" ")
        shown = code(bare) if run.tone == "code" or run.place is not None else escape(bare)
        parts.append(f"{lead}{shown}{trail}")
    return "".join(parts)


def _finding(finding: nodes.FindingItem) -> str:
    where = f"{escape(finding.where)}: " if finding.where else ""
    state = f"{where}{finding.state}: " if finding.state else where
    place = ""
    if finding.place is not None and not finding.names_place:
        place = f"{code(str(finding.place))}: "
    return f"{state}{finding.severity} {code(finding.code)} {place}{escape(finding.message)}"


def _diff_lines(node: nodes.CodeDiff) -> Iterator[str]:
    for hunk in node.comparison.hunks:
        yield printable_line(f"@@ {hunk_place(hunk)} @@ {hunk.heading}".rstrip())
        for line in unified(hunk, underline=True):
            # An underline is no line of the diff.
            mark = " " if line.mark == "~" else line.mark
            yield f"{mark} {line.text}".rstrip()


def escape(text: str) -> str:
    """Return a sentence as Markdown without any markup."""
    return " ".join(_word(word) for word in _WORD.findall(_shortened(text)))


def _word(word: str) -> str:
    core = word.removeprefix("(").rstrip(".,;:")
    while core.endswith(")") and core.count("(") < core.count(")"):
        core = core[:-1].rstrip(".,;:")
    if core in ("~", "!") or _PLAIN.fullmatch(core):
        return word
    if _OPERATOR.fullmatch(core):
        return word.replace(core, _references(core), 1)
    return word.replace(core, code(core), 1)


def code(text: str) -> str:
    """Return a name as code."""
    shown = _shortened(text)
    if _CODE.fullmatch(shown) and shown.strip():
        return f"`{shown}`"
    return f"<code>{_references(shown)}</code>"


def _shortened(text: str) -> str:
    shown = printable_line(text)
    return shown if len(shown) <= _MOST_OF_A_TEXT else shown[: _MOST_OF_A_TEXT - 1] + "…"


def _references(text: str) -> str:
    """Every character that is not a letter, a digit or a space as a character reference."""
    return "".join(c if c.isalnum() or c == " " else f"&#{ord(c)};" for c in text)


class Document:
    """Collects blocks; ``text`` is the finished document.

    Args:
        kind: Names the hidden first line, by which a bot finds its own comment again.
    """

    def __init__(self, kind: str) -> None:
        self._blocks = [f"<!-- irlens:{kind} -->"]
        self._room = MOST_CHARACTERS - _RESERVE - len(self._blocks[0])
        self._rows = MOST_ROWS
        self._left_out = 0

    def paragraph(self, text: str) -> None:
        """Add a paragraph of Markdown."""
        self._add(_MARKER.sub(_escaped, text))

    def bullets(self, items: Iterable[str]) -> None:
        """Add a list; each item is Markdown."""
        self._unfolded([f"- {_MARKER.sub(_escaped, item)}" for item in items], "item", [])

    def table(
        self, header: Sequence[str], rows: Sequence[Sequence[str]], *, right: Sequence[int]
    ) -> None:
        """Add a table of Markdown cells.

        Args:
            right: Columns that are aligned to the right: numbers.
        """
        shown = rows[: max(0, self._rows - 1)]  # a fold repeats the header
        self._rows -= len(shown) + 1
        ruler = ("---:" if column in right else "---" for column in range(len(header)))
        head = [_row(header), f"|{'|'.join(ruler)}|"]
        self._unfolded([_row(row) for row in shown], "row", head, beyond=len(rows) - len(shown))

    def _unfolded(
        self, lines: Sequence[str], noun: str, head: Sequence[str], beyond: int = 0
    ) -> None:
        """Add lines of a list or a table, those after the first ones in a fold."""
        most = UNFOLDED if len(lines) > 1.5 * UNFOLDED else len(lines)
        first, more = lines[:most], lines[most:]
        if lines or beyond:
            self._add_lines(first, noun, head=head, beyond=0 if more else len(first) + beyond)
        if more:
            fold = f"<details><summary><code>{plural(len(more), f'more {noun}')}</code></summary>"
            head, tail = [fold, "", *head], ["", "</details>"]
            self._add_lines(more, noun, head=head, tail=tail, beyond=len(more) + beyond)

    def folded(self, summary: str, text: str) -> None:
        """Add plain text in a fold, its line breaks kept."""
        escaped = [html.escape(line, quote=False) for line in text.rstrip("\n").split("\n")]
        title = _references(_shortened(summary))
        head = [f"<details><summary><code>{title}</code></summary>", "", "<pre>"]
        self._add_lines(escaped, "line", head=head, tail=["</pre>", "</details>"])

    def folded_diff(self, summary: str, lines: Sequence[str]) -> None:
        """Add a unified diff in a fold, coloured as code hosts do."""
        # A fence longer than any in the text is the one that ends it.
        longest = max((len(run) for line in lines for run in _BACKTICKS.findall(line)), default=0)
        fence = "`" * max(longest + 1, 3)
        title = _references(_shortened(summary))
        head = [f"<details><summary><code>{title}</code></summary>", "", f"{fence}diff"]
        self._add_lines(lines, "line", head=head, tail=[fence, "", "</details>"])

    def text(self) -> str:
        """Return the document, ending in one newline."""
        blocks = list(self._blocks)
        if self._left_out:
            blocks.append(
                f"… and {plural(self._left_out, 'more section')} left out for lack of room"
            )
        return "\n\n".join(blocks) + "\n"

    def _add(self, block: str) -> None:
        if len(block) + 2 > self._room:
            self._left_out += 1
            return
        self._blocks.append(block)
        self._room -= len(block) + 2

    def _add_lines(
        self,
        lines: Sequence[str],
        noun: str,
        *,
        head: Sequence[str] = (),
        tail: Sequence[str] = (),
        beyond: int = 0,
    ) -> None:
        """Add the lines that fit, and count the rest.

        Args:
            beyond: How many there are in all, if more than ``lines``.
        """
        room = self._room - sum(len(line) + 1 for line in (*head, *tail)) - _RESERVE
        fitting = 0
        while fitting < len(lines) and len(lines[fitting]) < room:
            room -= len(lines[fitting]) + 1
            fitting += 1
        missing = max(len(lines), beyond) - fitting
        if fitting:
            self._add("\n".join([*head, *lines[:fitting], *tail]))
            if missing:
                self._add(f"… and {missing:,} more {noun}{'' if missing == 1 else 's'}")
        elif missing:
            self._left_out += 1


def _escaped(marker: re.Match[str]) -> str:
    return f"{marker[0][:-1]}\\{marker[0][-1]}"


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
