"""The lexical facts of AMD assembly (LLVM, User Guide for AMDGPU Backend)."""

import re
from collections.abc import Iterator

from irlens.isa.syntax import Lexicon, Scope, Syntax, numbered, single_blanks

_DEBUG_SECTION = re.compile(r"\s*+\.section\s++\"?\.debug_")
_SECTION = re.compile(r"\s*+\.(?:section|text|amdgpu_metadata|amdgpu_info)\b")
_TYPE = re.compile(r"\s*+\.type\s++(?P<name>[^,\s]++),\s*+[@%]function")
_SYMBOL = re.compile(r"(?P<name>[\w.$@]++):")
_END = re.compile(r"\.Lfunc_end\d++:")


def _placeholder(name: str) -> str:
    """Return "v" for v3, "v[2]" for v[4:5]: the number of registers is not up to allocation."""
    first, colon, last = name[2:-1].partition(":")
    if name[1] != "[":
        return name[0] if name[0] != "." else ".LBB"
    return f"{name[0]}[{int(last) - int(first) + 1 if colon else 1}]"


class AmdgcnSyntax(Syntax):
    """AMD's assembly, as LLVM prints it.

    Pygments' own AMDGPU lexer marks 40 % of real code as errors.
    """

    lexer = (
        (r"\s+", "Text.Whitespace"),
        (r"(?:;|//).*", "Comment.Single"),
        (r"/\*(?:.|\n)*?\*/", "Comment.Multiline"),
        (r'"(?:[^"\\\n]|\\.)*"', "String"),
        (r"^[\w.$@]+(?=:)", "Name.Label"),
        (r"\.[A-Za-z_]\w*", "Keyword.Declaration"),
        (
            r"\b(?:[vsa](?:\d+|\[\d+(?::\d+)?\])|ttmp\d+|vcc(?:_lo|_hi)?|exec(?:_lo|_hi)?|m0|scc)",
            "Name.Variable",
        ),
        (r"\b(?:[vs]|ds|buffer|global|flat|scratch|tbuffer|image)_\w+", "Name.Builtin"),
        (r"-?\b(?:0x[0-9a-fA-F]+|\d+(?:\.\d+)?(?:e[+-]?\d+)?)", "Number"),
        (r"[\w$@.]+", "Name"),
        (r".", "Punctuation"),
    )
    word = re.compile(r"[vsa]\[\d+(?::\d+)?\]|(?<!\w)\.?[\w$@]+(?:\.\w+)*")
    spanning = re.compile(r'(?:;|//)[^\n]*|"(?:[^"\\\n]|\\.)*"|/\*.*?\*/', re.DOTALL)
    spanning_sign = "/*"
    debug = re.compile(r"^\s*\.(?:loc|file|cfi_\w+)\b.*")
    folded = (".loc\t", ".loc ", ".Ltmp", ".cfi_", ";;#ASMSTART", ";;#ASMEND")
    no_code = re.compile(
        r"\s*+(?:\.loc\b|\.file\b|\.cfi_|\.ident\b|\.L(?!BB)\w++:|\.size\s|\.p2align\b"
        r"|\.set\s.*\.L(?!BB))"
    )
    lexicon = Lexicon(
        noise=r";.*|//.*|/\*.*?\*/",
        name=r"\b[vsa](?:[0-9]++\b|\[[0-9]++(?::[0-9]++)?\])|\.LBB[0-9_]++",
        placeholder=_placeholder,
        fold=single_blanks,
    )
    is_machine_code = True

    def lines(self, text: str) -> Iterator[tuple[int, str]]:
        """Yield the lines outside of debug sections."""
        in_debug = False
        for number, line in numbered(text):
            if _SECTION.match(line):
                in_debug = _DEBUG_SECTION.match(line) is not None
            if not in_debug:
                yield number, line

    def scopes(self, text: str) -> list[Scope]:
        """Return the functions, each up to the label at its end."""
        functions: list[Scope] = []
        declared: set[str] = set()
        name: str | None = None
        first = 0
        for number, line in self.lines(text):
            if found := _TYPE.match(line):
                declared.add(found["name"])
            elif (symbol := _SYMBOL.match(line)) and symbol["name"] in declared:
                name, first = symbol["name"], number
            elif name is not None and _END.match(line):
                functions.append(Scope("function", name, first, number))
                name = None
        return functions
