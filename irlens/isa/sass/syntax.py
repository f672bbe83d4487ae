"""The lexical facts of SASS, as nvdisasm prints it."""

import re

from irlens.isa.syntax import COMMENTS, Lexicon, Scope, Syntax, numbered, single_blanks

_SECTION = re.compile(r"\s*+\.section\s++(?P<name>[^,\s]++)")
_CODE_SECTION = ".text."


class SassSyntax(Syntax):
    """NVIDIA's machine code."""

    lexer = (
        (r"\s+", "Text.Whitespace"),
        (r"//.*", "Comment.Single"),
        (r"/\*[0-9a-fA-F]+\*/", "Comment.Special"),
        (r"/\*(?:.|\n)*?\*/", "Comment.Multiline"),
        (r'"(?:[^"\\\n]|\\.)*"', "String"),
        (r"^[\w.$]+(?=:)", "Name.Label"),
        (r"@!?U?P(?:T|\d+)", "Keyword"),
        (r"\b(?:UR|UP|R|P|B|SB|SR)(?:\d+|Z|T)\b(?:\.\w+)*", "Name.Variable"),
        (r"-?\b(?:0x[0-9a-fA-F]+|\d+(?:\.\d+)?)", "Number"),
        (r"\bc\[", "Name.Constant"),
        (r"\b[A-Z][A-Z0-9_]+(?:\.[A-Z0-9_]+)*", "Name.Builtin"),
        (r"\.[A-Za-z_]\w*", "Keyword.Declaration"),
        (r"[\w$@.]+", "Name"),
        (r".", "Punctuation"),
    )
    #: Predicates and labels are keywords to the lexer.
    name_kinds = Syntax.name_kinds | {"keyword"}
    word = re.compile(r"\bU?[RP]\d+\b|\.L_\w+|(?<![\w$.])[\w$]+(?:\.\w+)*")
    spanning = re.compile(COMMENTS, re.DOTALL)
    spanning_sign = "/*"
    folded = ("//##",)
    offset = re.compile(r"^( *)(/\*[0-9a-f]{4,}\*/)( +)", re.MULTILINE)
    no_code = re.compile(r"\s*+(?:\.align|\.size)\b")
    lexicon = Lexicon(
        # Offsets, comments, nvdisasm's notes on indirect branches, the hint that a register is
        # read again, scheduling.
        noise=r"//.*|/\*[0-9a-fx]++\*/|\(\*\".*?\"\*\)|\.reuse\b|\s++[&?]\w[^;]*+",
        name=r"\b(?:U?[RP]|B)[0-9]{1,3}+\b(?!:)|\.L_x_[0-9]++|\$[\w$]*\$\$[\w$]++",
        placeholder=lambda name: name.rstrip("0123456789"),
        fold=single_blanks,
    )
    is_machine_code = True

    def scopes(self, text: str) -> list[Scope]:
        """Return the sections that hold code, each up to the next section."""
        functions: list[Scope] = []
        name: str | None = None
        first = number = 0
        for number, line in numbered(text):
            if section := _SECTION.match(line):
                if name is not None:
                    functions.append(Scope("function", name, first, number - 1))
                held = section["name"]
                name = held.removeprefix(_CODE_SECTION) if held.startswith(_CODE_SECTION) else None
                first = number
        if name is not None:
            functions.append(Scope("function", name, first, number))
        return functions
