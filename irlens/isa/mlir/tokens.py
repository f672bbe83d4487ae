"""MLIR text cut into tokens, with every bracket matched (MLIR Language Reference, "Notation")."""

import re
from array import array
from bisect import bisect_right
from itertools import accumulate, islice

from irlens.model.errors import ParseError

_INNER = r"< [\w,\#!.]++ (?: \ [\w,\#!.]++ )*+ > [\w,\#!.]*+"
_PARAMETERS = rf"< [\w,\#!.]++ (?: {_INNER} | \ [\w,\#!.]++ )*+ >"
_DIGITS = r"[\w.]* (?: (?<= [eE] ) [+-] \d+ )?"
# The space before a token, and the token: what is no space is always one. An alternative that
# begins with a character is skipped fast, and the most frequent ones come first.
_TOKEN = re.compile(
    rf"""
    (\s*)
    (
        [,:()\[\]{{}}]
      | % [\w$.]+ (?: - [\w$.]+ )* (?: [:\#] [0-9]{{1,9}} )?  # %7, %7:4 (four), %7#2 (one of them)
        # Half of a text is locations, so as MLIR prints them each is one token.
      | loc\( (?: \#loc[0-9]* | "[^"\\\n]*" \(\#loc[0-9]*\) )\)
      | \#loc[0-9]*\ =\ loc\(
        (?: "[^"\\\n]*" (?: :[0-9]{{1,9}}:[0-9]{{1,9}} | \(\#loc[0-9]*\) )
          | callsite\(\#loc[0-9]*\ at\ \#loc[0-9]*\)
        )\)
        # So is a type whose parameters are names, numbers and types of that kind.
      | tensor {_PARAMETERS}
      | ! [\w.]++ {_PARAMETERS}
      | //[^\n]*
      | " (?: [^"\\\n] | \\. )* "
      | @" (?: [^"\\\n] | \\. )* "
      | [<>=!]=
      | [<>]
      | [@^\#!] [\w$.]+
      | \d {_DIGITS}
      | -\d {_DIGITS}
      | [\w$.]+
      | ->
      | \S
    )
    """,
    re.VERBOSE,
)
_OPENER = {")": "(", "]": "[", "}": "{", ">": "<"}
_BRACKETS = frozenset("()[]{}<>")


def is_location(value: str) -> bool:
    """Whether a token is a whole location, or the definition of its alias."""
    return value[-1:] == ")" != value


class Tokens:
    """The tokens of one text, closed by an empty token at its end.

    Attributes:
        values: The tokens' text; most locations, aliases of locations and types are one token.
        starts: Offset of each in the text.
        match: For an opening bracket the token that closes it, else 0.

    Raises:
        ParseError: A string has no end, or a bracket no partner.
    """

    def __init__(self, text: str, stage: str) -> None:
        self.text = text
        self.stage = stage
        # Nothing, a gap and a token by turns, whose lengths add up to the offsets.
        # Blanks that no token follows would be tried from each of them on.
        cut = _TOKEN.split(text.rstrip())
        self.values: list[str] = cut[2::3]
        self.starts = array("l", islice(accumulate(map(len, cut)), 1, None, 3))
        del cut
        if "//" in text:
            kept = [at for at, value in enumerate(self.values) if not value.startswith("//")]
            self.values = [self.values[at] for at in kept]
            self.starts = array("l", [self.starts[at] for at in kept])
        self.match = array("l", [0]) * (len(self.values) + 1)
        self._lines = [0, *accumulate(len(line) + 1 for line in text.split("\n"))][:-1]
        self._match_brackets()
        self.values.append("")
        self.starts.append(len(text))

    def _match_brackets(self) -> None:
        values = self.values
        broken = values.index('"') if '"' in values else None
        open_brackets: list[int] = []
        for index, value in enumerate(islice(values, broken)):
            if value not in _BRACKETS:
                continue
            if value not in _OPENER:
                open_brackets.append(index)
                continue
            if not open_brackets:
                raise self.error(f"'{value}' closes nothing", self.starts[index])
            opener = open_brackets.pop()
            if values[opener] != _OPENER[value]:
                line = self.line(self.starts[opener])
                message = f"'{value}' closes the '{values[opener]}' of line {line}"
                raise self.error(message, self.starts[index])
            self.match[opener] = index
        if broken is not None:
            raise self.error("a string has no end", self.starts[broken])
        if open_brackets:
            opener = open_brackets[-1]
            line = self.line(self.starts[opener])
            message = f"the text ends inside the '{values[opener]}' of line {line}"
            raise self.error(message, len(self.text.rstrip()))

    def line(self, offset: int) -> int:
        """Return the 1-based line of an offset."""
        return bisect_right(self._lines, offset)

    def error(self, message: str, offset: int) -> ParseError:
        """Return the error that points at an offset of the text."""
        line = self.line(offset)
        start = self._lines[line - 1]
        return ParseError(
            message,
            stage=self.stage,
            line=line,
            column=offset - start + 1,
            text=self.text[start:].split("\n", 1)[0].rstrip("\r"),
        )

    def stop(self, index: int) -> int:
        """Return the offset one past a token."""
        return self.starts[index] + len(self.values[index])

    def slice(self, first: int, end: int) -> str:
        """Return the tokens ``first`` to ``end`` (exclusive) with gaps narrowed to one blank."""
        if first >= end:
            return ""
        if first + 1 == end:
            return self.values[first]
        written = self.text[self.starts[first] : self.stop(end - 1)]
        if "\n" not in written and "  " not in written and "\t" not in written:
            return written
        parts = [self.values[first]]
        for index in range(first + 1, end):
            if self.starts[index] != self.stop(index - 1):
                parts.append(" ")
            parts.append(self.values[index])
        return "".join(parts)

    def split(self, first: int, end: int) -> list[tuple[int, int]]:
        """Cut a range of tokens at the commas that stand outside every bracket."""
        parts: list[tuple[int, int]] = []
        begin = index = first
        while index < end:
            if self.values[index] == ",":
                if begin < index:
                    parts.append((begin, index))
                begin = index + 1
            index = self.after(index)
        if begin < end:
            parts.append((begin, end))
        return parts

    def after(self, index: int) -> int:
        """Return the token after this one, or after the bracket group that this one opens."""
        return self.match[index] + 1 if self.match[index] else index + 1
