"""The registry of dialects: how the text of each stage is parsed, coloured and commented."""

import re
from collections.abc import Callable
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import msgspec

from irlens.isa.syntax import Syntax

if TYPE_CHECKING:  # each dialect is loaded when it is asked for
    from irlens.isa import amdgcn, mlir, ptx, sass
    from irlens.isa.llir import parser as llir


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
        comment: How a comment begins.
    """

    syntax: Callable[[], Syntax]
    parse: Callable[[str], Any] | None = None
    comment: str = "//"


def _mlir_syntax() -> Syntax:
    from irlens.isa.mlir.syntax import MlirSyntax

    return MlirSyntax()


def _parse_mlir(stage: str, text: str) -> "mlir.Module":
    from irlens.isa import mlir

    return mlir.parse(text, stage=stage)


def _llir_syntax() -> Syntax:
    from irlens.isa.llir.syntax import LlirSyntax

    return LlirSyntax()


def _parse_llir(text: str) -> "llir.Module":
    from irlens.isa.llir import parser as llir

    return llir.parse(text)


def _ptx_syntax() -> Syntax:
    from irlens.isa.ptx.syntax import PtxSyntax

    return PtxSyntax()


def _parse_ptx(text: str) -> "ptx.PtxModule":
    from irlens.isa import ptx

    return ptx.parse(text)


def _sass_syntax() -> Syntax:
    from irlens.isa.sass.syntax import SassSyntax

    return SassSyntax()


def _parse_sass(text: str) -> "sass.Sass":
    from irlens.isa import sass

    return sass.parse(text)


def _amdgcn_syntax() -> Syntax:
    from irlens.isa.amdgcn.syntax import AmdgcnSyntax

    return AmdgcnSyntax()


def _parse_amdgcn(text: str) -> "amdgcn.Program":
    from irlens.isa import amdgcn

    return amdgcn.parse(text)


_DIALECTS = {
    **{
        stage: Dialect(_mlir_syntax, partial(_parse_mlir, stage))
        for stage in ("source", "ttir", "ttgir")
    },
    "llir": Dialect(_llir_syntax, _parse_llir, comment=";"),
    "ptx": Dialect(_ptx_syntax, _parse_ptx),
    "amdgcn": Dialect(_amdgcn_syntax, _parse_amdgcn, comment=";"),
    "sass": Dialect(_sass_syntax, _parse_sass),
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
