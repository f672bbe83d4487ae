"""Syntax highlighting: the text of a stage as lines of markup with the style sheet's classes."""

from collections.abc import Iterable, Iterator, Sequence
from functools import cache

from pygments.lexer import Lexer
from pygments.token import Comment, Keyword, Literal, Name, Number, String, Token, _TokenType

from irlens.isa.highlight import lexer_for
from irlens.model.text import printable
from irlens.render.html.markup import Markup, escape

#: Longer texts stay plain: their markup would make the page too large for browsers.
MOST_COLOURED_LINES = 40_000
#: Nor is a text with a longer line coloured, as no compiler writes one: lexers take seconds for a
#: line of megabytes.
_LONGEST_COLOURED = 100_000
_LONGEST = 2000

#: The style sheet's class of each token type; others take that of the nearest type above.
_CLASSES: dict[_TokenType, str] = {
    Token: "",
    Comment: "c",
    Keyword: "k",
    Keyword.Declaration: "d",
    Keyword.Type: "t",
    Name.Builtin: "k",
    Name.Class: "f",
    Name.Decorator: "d",
    Name.Function: "f",
    Name.Label: "f",
    Name.Variable: "v",
    Literal: "n",
    Number: "n",
    String: "s",
}


def coloured(text: str, stage: str) -> list[Markup]:
    """Return the lines of a text; a line break at its end ends the last one.

    Args:
        stage: What it is, as ``lexer_for`` has it: "ptx", "python".
    """
    shown = printable(text).removesuffix("\n")
    if not has_colours(text):
        return [escape(line) for line in shown.split("\n")]
    words = ((_class(kind), value) for kind, value in lexer_for(stage).get_tokens(shown))
    found = [Markup("".join(line)) for line in _lines(words)]
    # A lexer drops a byte order mark, and nothing else.
    return found if text else []


def coloured_line(parts: Sequence[tuple[str, bool]], lexer: Lexer | None) -> Markup:
    """Return one line, coloured, of which some parts are marked.

    Args:
        parts: The line's parts, safe to show, and whether each is marked.
        lexer: That of its stage; ``None`` leaves the line plain.
    """
    line = "".join(part for part, _ in parts)
    styles: list[str] = []
    for kind, value in lexer.get_tokens(line) if lexer and len(line) < _LONGEST else ():
        styles += [_class(kind)] * len(value)
    out, start = [], 0
    for part, marked in parts:
        stretches = _stretches(styles, start, start + len(part)) if styles else ()
        shown = "".join(_element(style, line[first:stop]) for style, first, stop in stretches)
        shown = shown if styles else escape(part)
        out.append(f"<mark>{shown}</mark>" if marked else shown)
        start += len(part)
    return Markup("".join(out))


def _stretches(styles: Sequence[str], start: int, stop: int) -> Iterator[tuple[str, int, int]]:
    """Yield the stretches of one style between two columns."""
    first = start
    for column in range(start, stop):
        style = styles[column] if column < len(styles) else ""
        following = styles[column + 1] if column + 1 < len(styles) else ""
        if column + 1 == stop or following != style:
            yield style, first, column + 1
            first = column + 1


def has_colours(text: str) -> bool:
    """Whether a text is short enough to be coloured."""
    lines = text.removesuffix("\n").split("\n")
    return len(lines) <= MOST_COLOURED_LINES and max(map(len, lines)) <= _LONGEST_COLOURED


def _lines(words: Iterable[tuple[str, str]]) -> Iterator[list[str]]:
    """Cut words at line breaks; neighbours of one class become one element."""
    line: list[str] = []
    style, run = "", ""
    for kind, value in words:
        if kind != style and value.strip():
            line.append(_element(style, run))
            style, run = kind, ""
        head, *rest = value.split("\n")
        run += head
        for text in rest:
            line.append(_element(style, run))
            yield line
            line, run = [], text
    line.append(_element(style, run))
    yield line


def _element(style: str, text: str) -> str:
    if not style or not text:
        return escape(text)
    words = text.rstrip(" ")
    return f"<span class={style}>{escape(words)}</span>{text[len(words) :]}"


@cache
def _class(kind: _TokenType) -> str:
    found = _CLASSES.get(kind)
    return found if found is not None else _class(kind.parent) if kind.parent else ""
