"""The registry of dialects: how the text of each stage is parsed, coloured and commented."""

import re
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any, cast

import msgspec

from irlens.isa.syntax import Syntax


class JsonSyntax(Syntax):
    """Triton's metadata."""

    lexer = "json"


class PythonSyntax(Syntax):
    """The kernel's source."""

    lexer = "python"
    spanning = re.compile(
        r"#[^\n]*"
        r"|(?P<quotes>\"\"\"|''')(?:\\.|.)*?(?P=quotes)"
        r"|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'",
        re.DOTALL,
    )


class Dialect(msgspec.Struct, frozen=True):
    """The language of a stage.

    Attributes:
        syntax: Returns its lexical facts, without its parser.
        parse: Parses a text; ``None`` for what is no code.
    """

    syntax: Callable[[], Syntax]
    parse: Callable[[str], Any] | None = None
    comment: str = "//"


def _dialect(package: str, comment: str = "//", **named: str) -> Dialect:
    """Return the dialect of a package, whose modules are imported when they are asked for."""

    def syntax() -> Syntax:
        module = import_module(f"irlens.isa.{package}.syntax")
        return cast(Syntax, getattr(module, f"{package.capitalize()}Syntax")())

    def parse(text: str) -> Any:
        return import_module(f"irlens.isa.{package}.parser").parse(text, **named)

    return Dialect(syntax, parse, comment)


_DIALECTS = {
    **{stage: _dialect("mlir", stage=stage) for stage in ("source", "ttir", "ttgir")},
    "llir": _dialect("llir", comment=";"),
    "ptx": _dialect("ptx"),
    "amdgcn": _dialect("amdgcn", comment=";"),
    "sass": _dialect("sass"),
    "metadata": Dialect(JsonSyntax),
    "python": Dialect(PythonSyntax),
}
_PLAIN = Dialect(Syntax)

#: The stages that are parsed, in the compiler's order.
PARSED = tuple(stage for stage, each in _DIALECTS.items() if each.parse is not None)


def parse(stage: str, text: str) -> Any:
    """Return the text of one of the stages in ``PARSED``, parsed by its dialect.

    Raises:
        ArtifactError: It is broken.
    """
    parser = _DIALECTS[stage].parse
    assert parser is not None
    return parser(text)


def dialect_of(stage: str) -> Dialect:
    """Return the language of a stage, plain text for an unknown one."""
    return _DIALECTS.get(stage, _PLAIN)


@cache
def syntax_of(stage: str) -> Syntax:
    """Return the syntax of a stage, plain text for an unknown one. Loads that dialect alone."""
    return dialect_of(stage).syntax()
