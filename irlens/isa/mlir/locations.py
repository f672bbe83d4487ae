"""Locations resolved to chains of source lines (MLIR, Builtin dialect, "Location attributes")."""

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from irlens.isa.mlir.tokens import Tokens
from irlens.model.source import SourceLocation

Chain = tuple[SourceLocation, ...]

#: Inlined calls around one operation. Python code nests a dozen; a few aliases that each name
#: the previous one twice would otherwise expand to a chain too long for any memory.
MAX_CALLS = 256

_NUMBER = re.compile(r"[0-9]{1,9}")


class Locations:
    """Resolves ``loc(...)`` once the aliases of a text are known.

    Args:
        tokens: The text.

    Attributes:
        aliases: The value of each alias: the range of tokens between the parentheses of its
            ``loc(...)``.
    """

    def __init__(self, tokens: Tokens) -> None:
        self.aliases: dict[str, tuple[int, int]] = {}
        self._tokens = tokens
        self._resolved: dict[str, Chain] = {}

    def resolve(self, first: int, end: int) -> Chain:
        """Return the source lines that tokens ``first`` to ``end`` name, innermost first.

        ``callsite(a at b)`` is a's lines, then b's. A named location is its child. A fused location
        is its first known part.

        Raises:
            ParseError: An alias is undefined, or is defined by itself, or the chain is too long.
        """
        if end - first == 1 and self._tokens.values[first] in self._resolved:
            return self._resolved[self._tokens.values[first]]
        self._resolve_aliases(first, end)
        return self._evaluate(first, end)

    def _resolve_aliases(self, first: int, end: int) -> None:
        """Resolve the aliases that a range depends on, depth first, on an explicit stack."""
        waiting = [("", self._dependencies(first, end))]
        entered = set[str]()
        while waiting:
            name, dependencies = waiting[-1]
            token = next(dependencies, None)
            if token is None:
                waiting.pop()
                if name:
                    self._resolved[name] = self._evaluate(*self.aliases[name])
                continue
            alias = self._tokens.values[token]
            if alias in self._resolved:
                continue
            if alias not in self.aliases:
                message = f"location '{alias}' is not defined; is the end of the text missing?"
                raise self._tokens.error(message, self._tokens.starts[token])
            if alias in entered:
                message = f"location '{alias}' is defined by itself"
                raise self._tokens.error(message, self._tokens.starts[token])
            entered.add(alias)
            waiting.append((alias, self._dependencies(*self.aliases[alias])))

    def _dependencies(self, first: int, end: int) -> Iterator[int]:
        index = first
        while index < end:
            value = self._tokens.values[index]
            if value.startswith("#"):
                yield index
            index = self._tokens.after(index) if value == "<" else index + 1

    def _evaluate(self, first: int, end: int) -> Chain:
        """Evaluate a location whose aliases are resolved."""
        values = self._tokens.values
        groups: list[tuple[str, list[Chain]]] = [("", [])]
        index = first
        while index < end:
            value = values[index]
            if value in ("(", "["):
                groups.append((values[index - 1], []))
            elif value in (")", "]"):
                groups[-2][1].append(self._join(*groups.pop(), index))
            elif value.startswith("#"):
                groups[-1][1].append(self._resolved[value])
            elif value.startswith('"') and values[index + 1] == ":":
                groups[-1][1].append((self._line_of_file(index),))
            index = self._tokens.after(index) if value == "<" else index + 1
        return self._join(*groups[0], first)

    def _line_of_file(self, index: int) -> SourceLocation:
        """Read ``"file":line:column``, or ``"file":line``."""
        values = self._tokens.values
        file = PurePosixPath(values[index][1:-1]).name
        line, column = values[index + 2], "0"
        if values[index + 3] == ":":
            column = values[index + 4]
        if not (_NUMBER.fullmatch(line) and _NUMBER.fullmatch(column)):
            raise self._tokens.error("expected a line and a column", self._tokens.starts[index])
        return SourceLocation(file, int(line), int(column))

    def _join(self, kind: str, parts: list[Chain], index: int) -> Chain:
        if kind != "callsite":
            return next((part for part in parts if part), ())
        chain = tuple(location for part in parts for location in part)
        if len(chain) > MAX_CALLS:
            message = f"a location with more than {MAX_CALLS} calls"
            raise self._tokens.error(message, self._tokens.starts[index])
        return chain
