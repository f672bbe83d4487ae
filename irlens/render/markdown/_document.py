"""A Markdown document that stays inert and short enough for a comment, whatever it tells of.

Names, paths and text out of captures are untrusted. A word that any Markdown dialect, or a code
host's own additions (mentions, references, links), might take for more than a word is written as
code with character references, which none of them reads further.
"""

import html
import re
from collections.abc import Iterable, Sequence

from irlens.model.text import plural, printable_line

#: A code host's limit for a comment is 65,536 characters.
MOST_CHARACTERS = 65_000
MOST_ROWS = 50
_MOST_OF_A_TEXT = 400
#: Kept free for saying what was left out.
_RESERVE = 200

# A dot between letters might be the name of a host: "softmax.py" is a link to some.
_LETTER = r"[A-Za-z0-9,;:=+/()'%?→−×·–✓✗…-]"
_PLAIN = re.compile(rf"(?:{_LETTER}(?!//)|(?<=[A-Za-z0-9])_(?=[A-Za-z0-9])|(?<=[0-9])\.(?=[0-9]))*")
_BACKTICKS = re.compile(r"`+")
_CODE = re.compile(r"[A-Za-z0-9_.,:=+/()\[\]→ -]*")


def words(text: str) -> str:
    """Return a sentence as Markdown that says just that."""
    return " ".join(_word(word) for word in _shortened(text).split())


def _word(word: str) -> str:
    core = word.removeprefix("(").rstrip(".,;:)")
    if core == "~" or _PLAIN.fullmatch(core):
        return word
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
        self._add(text)

    def bullets(self, items: Iterable[str]) -> None:
        """Add a list; each item is Markdown."""
        self._add_lines([f"- {item}" for item in items], "item")

    def table(
        self, header: Sequence[str], rows: Sequence[Sequence[str]], *, right: Sequence[int]
    ) -> None:
        """Add a table of Markdown cells.

        Args:
            header: One title per column.
            rows: As many cells each.
            right: Columns that are aligned to the right: numbers.
        """
        if not rows:
            return
        ruler = ("---:" if column in right else "---" for column in range(len(header)))
        head = [_row(header), f"|{'|'.join(ruler)}|"]
        shown = rows[: self._rows]
        self._rows -= len(shown)
        self._add_lines([_row(row) for row in shown], "row", head=head, beyond=len(rows))

    def folded(self, summary: str, text: str) -> None:
        """Add plain text, its line breaks kept, that a click unfolds."""
        escaped = [_entities(line) for line in text.rstrip("\n").split("\n")]
        title = _references(_shortened(summary))
        head = [f"<details><summary><code>{title}</code></summary>", "", "<pre>"]
        self._add_lines(escaped, "line", head=head, tail=["</pre>", "</details>"])

    def folded_diff(self, summary: str, lines: Sequence[str]) -> None:
        """Add a unified diff, coloured as code hosts do, that a click unfolds.

        Args:
            summary: What it is.
            lines: Its lines, safe to show.
        """
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
                f"… and {plural(self._left_out, 'more section')} for which there is no room"
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
        """Add as many lines as there is room for, and count the rest.

        Args:
            lines: What there is.
            noun: What to call one of them.
            head: Lines before them.
            tail: Lines after them.
            beyond: How many there are in truth.
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


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _entities(line: str) -> str:
    return html.escape(line, quote=False)
