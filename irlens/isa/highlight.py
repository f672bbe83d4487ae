"""Syntax highlighting of every stage: Pygments lexers, and the kinds of words they find.

Pygments knows PTX, LLVM IR, JSON and Python. The rules for MLIR, SASS and AMD's assembly are in
the ``syntax`` module of each dialect.
"""

from collections.abc import Iterable, Iterator
from functools import cache
from typing import ClassVar

from pygments import highlight as pygments_highlight
from pygments.filter import Filter
from pygments.formatters.terminal import TerminalFormatter
from pygments.lexer import Lexer, RegexLexer
from pygments.lexers import get_lexer_by_name
from pygments.token import Error, Text, _TokenType, string_to_tokentype

from irlens.isa.dialects import syntax_of
from irlens.isa.syntax import TokenRule

#: Kinds of words by Pygments token type; a subtype has the kind of its parent.
_KINDS = {
    "Comment": "comment",
    "Keyword": "keyword",
    "Keyword.Type": "type",
    "Keyword.Pseudo": "type",
    "Name.Builtin": "operation",
    "Name.Variable": "value",
    "Name.Function": "function",
    "Name.Class": "function",
    "Name.Decorator": "function",
    "Name.Label": "label",
    "Number": "number",
    "String": "string",
    "Operator": "punctuation",
    "Punctuation": "punctuation",
}

#: Every kind of word.
KINDS = tuple(dict.fromkeys(_KINDS.values()))


class _PlainErrors(Filter):
    """Shows what a lexer does not know as plain text: LLVM IR is ahead of Pygments' lexer."""

    def filter(
        self, lexer: Lexer | None, stream: Iterable[tuple[_TokenType, str]]
    ) -> Iterator[tuple[_TokenType, str]]:
        for token, value in stream:
            yield (Text if token is Error else token), value


def lexer_for(stage: str) -> Lexer:
    """Return a lexer for a stage's text, one for plain text if the stage is unknown."""
    rules = syntax_of(stage).lexer
    lexer = get_lexer_by_name(rules) if isinstance(rules, str) else _lexer_class(rules)()
    # By default Pygments strips blank lines at both ends, which would shift line numbers.
    lexer.stripnl = False
    lexer.ensurenl = False
    lexer.add_filter(_PlainErrors())
    return lexer


@cache
def _lexer_class(rules: tuple[TokenRule, ...]) -> type[RegexLexer]:
    class DialectLexer(RegexLexer):
        """A lexer without states."""

        tokens: ClassVar[dict[str, list[tuple[str, _TokenType]]]] = {
            "root": [(pattern, string_to_tokentype(name)) for pattern, name in rules]
        }

    return DialectLexer


def ansi(text: str, stage: str) -> str:
    """Return a stage's text with ANSI colours from the terminal's own 16."""
    return pygments_highlight(text, lexer_for(stage), TerminalFormatter(bg="dark"))


def word_kind(stage: str, token: _TokenType, word: str) -> str:
    """Return what a word is, one of ``KINDS``; empty for plain text."""
    dotted = syntax_of(stage).dotted_kind
    return dotted if dotted and word.startswith(".") else _token_kind(stage, token)


@cache
def _token_kind(stage: str, token: _TokenType) -> str:
    names = {**_KINDS, **syntax_of(stage).token_kinds}
    kinds = {string_to_tokentype(name): kind for name, kind in names.items()}
    return next((kinds[each] for each in reversed(token.split()) if each in kinds), "")
