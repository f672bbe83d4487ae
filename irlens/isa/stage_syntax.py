"""The syntax of each stage, dialects loaded when they are asked for."""

import re
from functools import cache

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


@cache
def syntax_of(stage: str) -> Syntax:
    """Return the syntax of a stage, plain text for an unknown one. Loads that dialect alone."""
    match stage:
        case "source" | "ttir" | "ttgir":
            from irlens.isa.mlir.syntax import MlirSyntax

            return MlirSyntax()
        case "llir":
            from irlens.isa.llir.syntax import LlirSyntax

            return LlirSyntax()
        case "ptx":
            from irlens.isa.ptx.syntax import PtxSyntax

            return PtxSyntax()
        case "sass":
            from irlens.isa.sass.syntax import SassSyntax

            return SassSyntax()
        case "amdgcn":
            from irlens.isa.amdgcn.syntax import AmdgcnSyntax

            return AmdgcnSyntax()
        case "metadata":
            return JsonSyntax()
        case "python":
            return PythonSyntax()
        case _:
            return Syntax()
