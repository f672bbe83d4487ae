"""A stage's text as statements in which names are told from what they name.

A name (of an SSA value, a register, a label, an attribute alias) says nothing by itself: what
counts is which value it stands for. So the text of a statement is held apart from its names: the
``skeleton`` has a placeholder where a name stood, and each name knows its ``value``.
"""

import re
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Literal, NamedTuple, TypeAlias

import msgspec

from irlens.model.code import Columns
from irlens.model.source import SourceLocation

#: What a statement of an assembly does to control: "jump" never goes on to the next one.
Flow: TypeAlias = Literal["", "label", "branch", "jump"]


class Itself(NamedTuple):
    """A register of which nothing is known but its name.

    Attributes:
        function: Where.
        register: Which register, or the operand as written.
    """

    function: str
    register: Hashable


class Name(msgspec.Struct, frozen=True, gc=False):
    """A name where it stands.

    Attributes:
        value: What it stands for, the same wherever this value is named, and on this side alone;
            ``None`` where that is not known.
        columns: Where in the line.
        defines: Whether the value is made here.
    """

    value: Hashable
    columns: Columns
    defines: bool


class Statement(msgspec.Struct, frozen=True, gc=False):
    """A line that means something.

    Attributes:
        line: Its 1-based number.
        text: As written, up to where nothing follows but noise (a location, a comment).
        skeleton: What is compared: without noise, a placeholder for each name.
        names: From left to right, one per placeholder.
        flow: What it does to control, where that is not the language's structure.
        ordered: Whether its place among the others means anything. That of an attribute alias
            does not.
        noise: Where in ``text`` there is noise all the same.
    """

    line: int
    text: str
    skeleton: str
    names: tuple[Name, ...] = ()
    flow: Flow = ""
    ordered: bool = True
    noise: tuple[Columns, ...] = ()

    def looks_like(self, other: "Statement") -> bool:
        """Whether two statements differ in nothing but, maybe, which values they name."""
        return self.skeleton == other.skeleton and len(self.names) == len(other.names)


class Scope(msgspec.Struct, frozen=True):
    """A function or a loop.

    Attributes:
        kind: Which of them.
        name: Of a function its symbol, of a loop what the stage calls it: "scf.for", a label.
        first: 1-based line on which it begins.
        last: Line on which it ends.
        source: The ``for`` in Python, if it is known.
    """

    kind: Literal["function", "loop"]
    name: str
    first: int
    last: int
    source: SourceLocation | None = None


class Code(msgspec.Struct, frozen=True):
    """A stage.

    Attributes:
        statements: In the order of the text.
        functions: In the same order.
        loops: Those that the text itself shows; those of assemblies are found from ``flow``.
        lines: Lines of the text, with those that mean nothing.
        lost: How many instructions there are behind which nothing is known of registers.
    """

    statements: list[Statement]
    functions: list[Scope]
    loops: list[Scope]
    lines: int
    lost: int = 0


class Inside:
    """Says in which function a line is, asked in the order of the lines."""

    def __init__(self, functions: Sequence[Scope]) -> None:
        self._functions = functions
        self._at = 0

    def at(self, line: int) -> str:
        """Return the name of the function around a line, empty outside of all."""
        while self._at < len(self._functions) and self._functions[self._at].last < line:
            self._at += 1
        if self._at == len(self._functions) or line < self._functions[self._at].first:
            return ""
        return self._functions[self._at].name


class Word(msgspec.Struct, frozen=True, gc=False):
    """A name before anything is known of it."""

    text: str
    columns: Columns


class Line(NamedTuple):
    """A line cut up: what ``Statement`` says, without the values."""

    text: str
    skeleton: str
    words: list[Word]
    noise: tuple[Columns, ...]


#: A string holds no names, whatever it looks like.
STRING = r'"(?:[^"\\]|\\.)*+"'


class Lexicon:
    """Knows the names and the noise of a language.

    Args:
        noise: What is not compared, as a regular expression without groups.
        name: What is a name, likewise; it does not begin with a quotation mark.
        placeholder: What stands for a name; what all names of a kind have in common.
        first: The characters that noise and names begin with, if these are few: a search that
            stops at nothing else takes a third of the time.
    """

    def __init__(
        self, *, noise: str, name: str, placeholder: Callable[[str], str], first: str = ""
    ) -> None:
        ahead = rf"(?=[\"{re.escape(first)}])" if first else ""
        self._pattern = re.compile(f"{ahead}(?:({noise})|({STRING}|{name}))")
        self._placeholder = placeholder

    def cut(self, line: str) -> Line:
        """Cut up a line."""
        # Cutting by one call of ``split`` takes half the time of going from match to match.
        parts = self._pattern.split(line)
        words: list[Word] = []
        noise: list[Columns] = []
        # What stands between names and noise is told already; each name becomes what stands for it.
        told = parts[::3]
        at = len(told[0])
        for index, kept in enumerate(parts[2::3], 1):
            start = at
            if kept is None:
                at += len(parts[3 * index - 2])
                noise.append((start, at))
            else:
                at += len(kept)
                if kept[0] == '"':
                    told[index] = kept + told[index]
                else:
                    words.append(Word(kept, (start, at)))
                    told[index] = self._placeholder(kept) + told[index]
            at += len(parts[3 * index])
        text = _told(line, noise) if noise else line.rstrip()
        return Line(text, "".join(told).strip(), words, tuple(noise))


def _told(line: str, noise: list[Columns]) -> str:
    """The line up to where only noise follows, which is taken from the list."""
    text = line.rstrip()
    while noise and noise[-1][1] >= len(text) > 0:
        text = line[: noise.pop()[0]].rstrip()
    return text


def numbered(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines that are not blank, with their 1-based numbers."""
    for number, line in enumerate(text.split("\n"), 1):
        if line and not line.isspace():
            yield number, line


def count_lines(text: str) -> int:
    """Return the number of lines, one that nothing ends included."""
    return text.count("\n") + bool(text and not text.endswith("\n"))
