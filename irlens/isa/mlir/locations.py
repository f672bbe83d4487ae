"""Locations resolved to chains of source lines (MLIR, Builtin dialect, "Location attributes")."""

import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import PurePosixPath

from irlens.isa.mlir.tokens import Tokens, is_location
from irlens.model.errors import ParseError
from irlens.model.source import SourceLocation

Chain = tuple[SourceLocation, ...]

#: Inlined calls around one operation. Python code nests a dozen; a few aliases that each name
#: the previous one twice would otherwise expand to a chain too long for any memory.
MAX_CALLS = 256

_NUMBER = re.compile(r"[0-9]{1,9}")
# The aliases that a location of one token names: none, its child, or a callee and its caller.
_ALIASES = re.compile(r"(#loc[0-9]*)(?: at (#loc[0-9]*))?\)+$")


class Locations:
    """Resolves ``loc(...)`` once the aliases of a text are known.

    Args:
        undefined: The chain of an alias that is not defined; ``None`` if that is an error.
    """

    def __init__(self, tokens: Tokens, undefined: Chain | None) -> None:
        self._tokens = tokens
        self._undefined = undefined
        self._aliases: dict[str, tuple[int, int]] = {}
        self._resolved: dict[str, Chain] = {}

    def define(self, name: str, first: int, end: int) -> None:
        """Add an alias: its location is in tokens ``first`` to ``end``."""
        if name in self._aliases:  # the last definition is the one that counts
            self._resolved.clear()
        self._aliases[name] = (first, end)

    def define_token(self, index: int) -> None:
        """Add the alias that one token defines.

        MLIR prints aliases after those that they name, so nearly all are resolved at once.
        """
        value = self._tokens.values[index]
        name = value.partition(" ")[0]
        self.define(name, index, index + 1)
        chain = self._read_token(value)
        if chain is not None:
            self._resolved[name] = chain

    def resolve(self, first: int, end: int) -> Chain:
        """Return the source lines that tokens ``first`` to ``end`` name, innermost first.

        ``callsite(a at b)`` is a's lines, then b's. A named location is its child. A fused location
        is its first known part.

        Raises:
            ParseError: An alias is undefined (where that is an error) or defined by itself, or the
                chain is too long.
        """
        if first == end:
            return ()
        if end - first == 1:
            value = self._tokens.values[first]
            chain = self._resolved.get(value.removeprefix("loc(").removesuffix(")"))
            if chain is None and is_location(value):
                chain = self._read_token(value)
            if chain is not None:
                return chain
        self._resolve_aliases(first, end)
        return self._evaluate(first, end)

    def _resolve_aliases(self, first: int, end: int) -> None:
        """Resolve the aliases that a range depends on, depth first, on an explicit stack."""
        waiting = [("", self._dependencies(first, end))]
        entered = set[str]()
        while waiting:
            name, dependencies = waiting[-1]
            alias, offset = next(dependencies, ("", 0))
            if not alias:
                waiting.pop()
                if name:
                    self._resolved[name] = self._evaluate(*self._aliases[name])
                continue
            if alias in self._resolved:
                continue
            if alias not in self._aliases:  # in an excerpt: MLIR defines most after the module
                if self._undefined is None:
                    message = f"location '{alias}' is not defined; is the end of the text missing?"
                    raise self._tokens.error(message, offset)
                self._resolved[alias] = self._undefined
                continue
            if alias in entered:
                message = f"location '{alias}' is defined by itself"
                raise self._tokens.error(message, offset)
            entered.add(alias)
            waiting.append((alias, self._dependencies(*self._aliases[alias])))

    def _dependencies(self, first: int, end: int) -> Iterator[tuple[str, int]]:
        """Yield the aliases that a range names, with their offsets in the text."""
        index = first
        while index < end:
            value = self._tokens.values[index]
            if is_location(value):
                start, named = self._tokens.starts[index], _ALIASES.search(value)
                if named is not None:
                    yield named[1], start + named.start(1)
                if named is not None and named[2]:
                    yield named[2], start + named.start(2)
            elif value.startswith("#"):
                yield value, self._tokens.starts[index]
            index = self._tokens.after(index) if value == "<" else index + 1

    def _evaluate(self, first: int, end: int) -> Chain:
        """Evaluate a location whose aliases are resolved."""
        values = self._tokens.values
        groups: list[tuple[str, list[Chain]]] = [("", [])]
        index = first
        while index < end:
            value = values[index]
            if is_location(value):
                chain = self._read_token(value)
                if chain is None:
                    raise self._too_long(self._tokens.stop(index) - 2)
                groups[-1][1].append(chain)
            elif value in ("(", "["):
                groups.append((values[index - 1], []))
            elif value in (")", "]"):
                groups[-2][1].append(self._join(*groups.pop(), self._tokens.starts[index]))
            elif value.startswith("#"):
                groups[-1][1].append(self._resolved[value])
            elif value.startswith('"') and values[index + 1] == ":":
                groups[-1][1].append((self._line_of_file(index),))
            index = self._tokens.after(index) if value == "<" else index + 1
        return self._join(*groups[0], self._tokens.starts[first])

    def _read_token(self, value: str) -> Chain | None:
        """Read a location of one token.

        ``None`` while an alias in it is not resolved, or where it has more than ``MAX_CALLS``.
        """
        named = _ALIASES.search(value)
        if named is None:
            _, file, position = value.split('"')
            line, column = position[1:-1].split(":")
            return (SourceLocation(_base_name(file), int(line), int(column)),)
        callee, caller = named.groups()
        inner = self._resolved.get(callee)
        outer = self._resolved.get(caller) if caller else ()
        if inner is None or outer is None or len(inner) + len(outer) > MAX_CALLS:
            return None
        return inner + outer

    def _line_of_file(self, index: int) -> SourceLocation:
        """Read ``"file":line:column``, or ``"file":line``."""
        values = self._tokens.values
        file = _base_name(values[index][1:-1])
        line, column = values[index + 2], "0"
        if values[index + 3] == ":":
            column = values[index + 4]
        if not (_NUMBER.fullmatch(line) and _NUMBER.fullmatch(column)):
            raise self._tokens.error("expected a line and a column", self._tokens.starts[index])
        return SourceLocation(file, int(line), int(column))

    def _join(self, kind: str, parts: list[Chain], offset: int) -> Chain:
        if kind != "callsite":
            return next((part for part in parts if part), ())
        chain = tuple(location for part in parts for location in part)
        if len(chain) > MAX_CALLS:
            raise self._too_long(offset)
        return chain

    def _too_long(self, offset: int) -> ParseError:
        return self._tokens.error(f"a location with more than {MAX_CALLS} calls", offset)


@lru_cache  # a text has many lines of a few files
def _base_name(path: str) -> str:
    """Return the last part of a POSIX path."""
    return PurePosixPath(path).name
