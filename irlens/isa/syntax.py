"""The lexical facts of a stage's text, shared by every reader of lines.

Each dialect states them once, in ``isa/<dialect>/syntax.py``: names, noise, lines without code,
functions, the names that a line defines, words, and token types for highlighting. The code diff,
the highlighter, the search for definitions and uses, and the panes of the TUI use them.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import ClassVar, Literal, NamedTuple, TypeAlias

import msgspec

from irlens.model.code import Columns
from irlens.model.source import SourceLocation

#: A regular expression and the name of the Pygments token type that it matches.
TokenRule: TypeAlias = tuple[str, str]

#: Comments as in C, and the strings that hide the beginning of one.
COMMENTS = r'//[^\n]*|"(?:[^"\\\n]|\\.)*"|/\*.*?\*/'

#: A string holds no names, whatever it looks like.
STRING = r'"(?:[^"\\]|\\.)*+"'


class Word(msgspec.Struct, frozen=True, gc=False):
    """A name as written, and its columns."""

    text: str
    columns: Columns


class Line(NamedTuple):
    """A line split into code, names and noise.

    Attributes:
        skeleton: The line without noise, a placeholder for each name.
        words: The names, one per placeholder.
        noise: Columns of the noise that remains in ``text``.
    """

    text: str
    skeleton: str
    words: list[Word]
    noise: tuple[Columns, ...]


class Scope(msgspec.Struct, frozen=True):
    """A function or a loop.

    Attributes:
        name: The function's symbol, or the loop as the stage calls it: "scf.for", a label.
        first: Its first line, from 1.
        source: The ``for`` in Python, if known.
    """

    kind: Literal["function", "loop"]
    name: str
    first: int
    last: int
    source: SourceLocation | None = None


def single_blanks(line: str) -> str:
    """Return a line in which runs of blanks count as one."""
    return " ".join(line.split())


class Lexicon:
    """Splits lines into code, names and noise.

    Args:
        noise: Matches what does not count as code; a regular expression without groups.
        name: Matches a name, likewise; no name begins with a quotation mark.
        placeholder: Returns what all names of a name's kind have in common.
        first: The characters that noise and names begin with, if there are few of them: a search
            that stops nowhere else takes a third of the time.
        fold: Normalizes the blanks of a line: those around it, or all, as in assemblies.
    """

    def __init__(
        self,
        *,
        noise: str,
        name: str,
        placeholder: Callable[[str], str],
        first: str = "",
        fold: Callable[[str], str] = str.strip,
    ) -> None:
        ahead = rf"(?=[\"{re.escape(first)}])" if first else ""
        self._pattern = re.compile(f"{ahead}(?:({noise})|({STRING}|{name}))")
        self._placeholder = placeholder
        self._fold = fold

    def cut(self, line: str) -> Line:
        """Split a line."""
        # One call of ``split`` takes half the time of going from match to match.
        parts = self._pattern.split(line)
        words: list[Word] = []
        noise: list[Columns] = []
        # Every third part is code; each name between two of them becomes its placeholder.
        code = parts[::3]
        at = len(code[0])
        for index, name in enumerate(parts[2::3], 1):
            start = at
            if name is None:
                at += len(parts[3 * index - 2])
                noise.append((start, at))
            else:
                at += len(name)
                if name[0] == '"':
                    code[index] = name + code[index]
                else:
                    words.append(Word(name, (start, at)))
                    code[index] = self._placeholder(name) + code[index]
            at += len(parts[3 * index])
        text = _without_noise_at_end(line, noise) if noise else line.rstrip()
        return Line(text, self._fold("".join(code)), words, tuple(noise))


def _without_noise_at_end(line: str, noise: list[Columns]) -> str:
    """Return the line up to where only noise follows, and remove that noise from the list."""
    text = line.rstrip()
    while noise and noise[-1][1] >= len(text) > 0:
        text = line[: noise.pop()[0]].rstrip()
    return text


class Syntax:
    """The lexical facts of a language. This base class is plain text; dialects override it.

    Attributes:
        token_kinds: By name of a Pygments token type, the kind of word it is in this language,
            where ``highlight.KINDS`` does not say so.
        dotted_kind: Kind of words that begin with a dot, whatever the lexer makes of them.
        name_kinds: Kinds of words that may be names.
        word: Matches a word under the cursor, the longest form first: an opcode is one with all
            of its parts, a register has none of the suffixes after its dot.
        spanning_sign: What a text with a comment that spans lines contains.
        folded: Prefixes of lines that hold no code, which the TUI can fold away.
        offset: Matches an instruction's offset, with the blanks before and after it as groups.
        no_code: Matches lines without code: debug information, sizes, alignment.
        reuses_names: Whether regions side by side define the same names.
        unused: Skeleton prefix of declarations that count only where something names them.
        is_machine_code: Whether names are physical registers, or labels.
    """

    lexer: ClassVar[str | tuple[TokenRule, ...]] = "text"
    token_kinds: ClassVar[Mapping[str, str]] = {}
    dotted_kind: ClassVar[str | None] = None
    name_kinds: ClassVar[frozenset[str]] = frozenset({"", "value", "function", "label"})
    word: ClassVar[re.Pattern[str]] = re.compile(r"\w+")
    spanning: ClassVar[re.Pattern[str] | None] = None
    spanning_sign: ClassVar[str] = ""
    debug: ClassVar[re.Pattern[str] | None] = None
    folded: ClassVar[tuple[str, ...]] = ()
    offset: ClassVar[re.Pattern[str] | None] = None
    no_code: ClassVar[re.Pattern[str]] = re.compile("(?!)")
    lexicon: ClassVar[Lexicon] = Lexicon(noise="(?!)", name="(?!)", placeholder=str)
    reuses_names: ClassVar[bool] = False
    unused: ClassVar[str | None] = None
    is_machine_code: ClassVar[bool] = False

    def lines(self, text: str) -> Iterator[tuple[int, str]]:
        """Yield the lines outside of debug sections that are not blank, with numbers from 1."""
        return numbered(text)

    def code_lines(self, text: str) -> Iterator[tuple[int, str]]:
        """Yield the lines that may hold code, with their numbers from 1."""
        no_code = self.no_code
        return ((number, line) for number, line in self.lines(text) if not no_code.match(line))

    def cut(self, line: str) -> Line:
        """Split a line that ``code_lines`` yields; its skeleton is empty if it holds no code."""
        return self.lexicon.cut(line)

    def scopes(self, text: str) -> list[Scope]:
        """Return the functions, in order, and the loops that the text itself nests."""
        return []

    def definitions(self, line: str, words: Sequence[Word]) -> list[bool]:
        """Return for each name of a line whether the line defines it: a label does."""
        return [word.columns[0] == 0 for word in words]

    def is_declaration(self, line: str) -> bool:
        """Whether a line declares something whose position means nothing."""
        return False

    def is_register(self, name: str) -> bool:
        """Whether a name in machine code is a register's; the others are labels."""
        return name[0] not in ".$"


def numbered(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines that are not blank, with their numbers from 1."""
    for number, line in enumerate(text.split("\n"), 1):
        if line and not line.isspace():
            yield number, line
