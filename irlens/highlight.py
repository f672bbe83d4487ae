"""Colours for the text of a stage.

Pygments knows PTX, LLVM IR, JSON and Python. MLIR and AMD's assembly it does not know (its AMDGPU
lexer marks 40 % of real code as errors), so these two are here.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import ClassVar

from pygments import highlight as pygments_highlight
from pygments.filter import Filter
from pygments.formatters.terminal import TerminalFormatter
from pygments.lexer import Lexer, RegexLexer
from pygments.lexers import get_lexer_by_name
from pygments.token import (
    Comment,
    Error,
    Keyword,
    Name,
    Number,
    Operator,
    Punctuation,
    String,
    Text,
    _TokenType,
)


class MlirLexer(RegexLexer):
    """MLIR's textual form, as in ttir and ttgir."""

    name = "MLIR"
    aliases: ClassVar[list[str]] = ["mlir"]
    tokens: ClassVar[dict[str, list[tuple[str, _TokenType]]]] = {
        "root": [
            (r"\s+", Text.Whitespace),
            (r"//.*", Comment.Single),
            (r'"(?:[^"\\\n]|\\.)*"', String),
            (r"loc(?=\()", Comment.Special),
            (r"#[\w$.-]+", Name.Decorator),
            (r"![\w$.-]+", Keyword.Type),
            (r"%[\w$.#-]+", Name.Variable),
            (r"@[\w$.-]+", Name.Function),
            (r"\^[\w$.-]+", Name.Label),
            (r"(?:[a-z_]\w*\.)+[\w.]+", Name.Builtin),
            (r"\b(?:tensor|memref|vector|tuple|index|none|[su]?i\d+|b?f\d+\w*)\b", Keyword.Type),
            (
                r"\b(?:module|func|attributes|private|public|true|false|dense|to|step|iter_args)\b",
                Keyword,
            ),
            (r"\b(?:0x[0-9a-fA-F]+|\d+(?:\.\d*)?(?:[eE][+-]?\d+)?)", Number),
            (r"->|[=:*+?-]", Operator),
            (r"[()\[\]{}<>,]", Punctuation),
            (r"[A-Za-z_$][\w$]*", Name),
            (r".", Text),
        ]
    }


class AmdgcnLexer(RegexLexer):
    """AMD's GPU assembly, as LLVM prints it."""

    name = "AMDGCN"
    aliases: ClassVar[list[str]] = ["amdgcn"]
    tokens: ClassVar[dict[str, list[tuple[str, _TokenType]]]] = {
        "root": [
            (r"\s+", Text.Whitespace),
            (r"(?:;|//).*", Comment.Single),
            (r"/\*(?:.|\n)*?\*/", Comment.Multiline),
            (r'"(?:[^"\\\n]|\\.)*"', String),
            (r"^[\w.$@]+(?=:)", Name.Label),
            (r"\.[A-Za-z_]\w*", Keyword.Declaration),
            (
                r"\b(?:[vsa](?:\d+|\[\d+(?::\d+)?\])|ttmp\d+|vcc(?:_lo|_hi)?|exec(?:_lo|_hi)?|m0|scc)",
                Name.Variable,
            ),
            (r"\b(?:[vs]|ds|buffer|global|flat|scratch|tbuffer|image)_\w+", Name.Builtin),
            (r"-?\b(?:0x[0-9a-fA-F]+|\d+(?:\.\d+)?(?:e[+-]?\d+)?)", Number),
            (r"[\w$@.]+", Name),
            (r".", Punctuation),
        ]
    }


class SassLexer(RegexLexer):
    """NVIDIA's machine code, as nvdisasm prints it."""

    name = "SASS"
    aliases: ClassVar[list[str]] = ["sass"]
    tokens: ClassVar[dict[str, list[tuple[str, _TokenType]]]] = {
        "root": [
            (r"\s+", Text.Whitespace),
            (r"//.*", Comment.Single),
            (r"/\*[0-9a-fA-F]+\*/", Comment.Special),
            (r"/\*(?:.|\n)*?\*/", Comment.Multiline),
            (r'"(?:[^"\\\n]|\\.)*"', String),
            (r"^[\w.$]+(?=:)", Name.Label),
            (r"@!?U?P(?:T|\d+)", Keyword),
            (r"\b(?:UR|UP|R|P|B|SB|SR)(?:\d+|Z|T)\b(?:\.\w+)*", Name.Variable),
            (r"-?\b(?:0x[0-9a-fA-F]+|\d+(?:\.\d+)?)", Number),
            (r"\bc\[", Name.Constant),
            (r"\b[A-Z][A-Z0-9_]+(?:\.[A-Z0-9_]+)*", Name.Builtin),
            (r"\.[A-Za-z_]\w*", Keyword.Declaration),
            (r"[\w$@.]+", Name),
            (r".", Punctuation),
        ]
    }


class _Quiet(Filter):
    """Shows what a lexer does not know as plain text: LLVM IR is ahead of Pygments' lexer."""

    def filter(
        self, lexer: Lexer | None, stream: Iterable[tuple[_TokenType, str]]
    ) -> Iterator[tuple[_TokenType, str]]:
        for kind, value in stream:
            yield (Text if kind is Error else kind), value


_LEXERS: dict[str, Callable[[], Lexer]] = {
    "source": MlirLexer,
    "ttir": MlirLexer,
    "ttgir": MlirLexer,
    "llir": lambda: get_lexer_by_name("llvm"),
    "ptx": lambda: get_lexer_by_name("ptx"),
    "amdgcn": AmdgcnLexer,
    "sass": SassLexer,
    "metadata": lambda: get_lexer_by_name("json"),
    "python": lambda: get_lexer_by_name("python"),
}


def lexer_for(stage: str) -> Lexer:
    """Return the lexer for a stage's text, plain text for one that has none."""
    lexer = _LEXERS.get(stage, lambda: get_lexer_by_name("text"))()
    # Pygments strips blank lines at both ends by default; a line's number must stay its number.
    lexer.stripnl = False
    lexer.ensurenl = False
    lexer.add_filter(_Quiet())
    return lexer


def ansi(text: str, stage: str) -> str:
    """Return a stage's text with ANSI colours from the terminal's own 16."""
    return pygments_highlight(text, lexer_for(stage), TerminalFormatter(bg="dark"))
