"""MLIR text cut into tokens, with every bracket matched (MLIR Language Reference, "Notation")."""

import re
from bisect import bisect_right

from irlens.model.errors import ParseError

# Whitespace is what no alternative matches, so finditer steps over it.
_TOKEN = re.compile(
    r"""
    //[^\n]*
  | (?P<string> @? " (?: [^"\\\n] | \\. )* " )
  | [<>=!]=
  | (?P<bracket> [()\[\]{}<>] )
  | % [\w$.]+ (?: - [\w$.]+ )* (?: [:\#] [0-9]{1,9} )?  # %7, %7:4 (four), %7#2 (one of them)
  | [@^\#!] [\w$.]+
  | -? \d [\w.]* (?: (?<= [eE] ) [+-] \d+ )?
  | [\w$.]+
  | ->
  | \S
    """,
    re.VERBOSE,
)
_CLOSER = {"(": ")", "[": "]", "{": "}", "<": ">"}


class Tokens:
    """The tokens of one text, closed by an empty token at its end.

    Args:
        text: The text to cut.
        stage: Its name, for errors.

    Attributes:
        values: The tokens' text.
        starts: Offset of each in the text.
        match: For an opening bracket the token that closes it, else 0.

    Raises:
        ParseError: A string has no end, or a bracket no partner.
    """

    def __init__(self, text: str, stage: str) -> None:
        self.text = text
        self.stage = stage
        self.values: list[str] = []
        self.starts: list[int] = []
        self.match: list[int] = []
        self._lines = [0, *(match.end() for match in re.finditer(r"\n", text))]
        open_brackets: list[int] = []
        for match in _TOKEN.finditer(text):
            value = match.group()
            if value.startswith("//"):
                continue
            if match.lastgroup == "bracket":
                self._match(value, match.start(), open_brackets)
            elif value == '"':
                raise self.error("a string has no end", match.start())
            self.values.append(value)
            self.starts.append(match.start())
            self.match.append(0)
        if open_brackets:
            opener = open_brackets[-1]
            line = self.line(self.starts[opener])
            end = len(text.rstrip())
            raise self.error(
                f"the text ends inside the '{self.values[opener]}' of line {line}", end
            )
        self.values.append("")
        self.starts.append(len(text))
        self.match.append(0)

    def _match(self, value: str, start: int, open_brackets: list[int]) -> None:
        if value in _CLOSER:
            open_brackets.append(len(self.values))
            return
        if not open_brackets:
            raise self.error(f"'{value}' closes nothing", start)
        opener = open_brackets.pop()
        if _CLOSER[self.values[opener]] != value:
            line = self.line(self.starts[opener])
            raise self.error(f"'{value}' closes the '{self.values[opener]}' of line {line}", start)
        self.match[opener] = len(self.values)

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
