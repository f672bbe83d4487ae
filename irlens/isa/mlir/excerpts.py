"""Parts of a module, as people paste them: without its first lines, its end or its locations."""

import re

_MODULE = re.compile(r'^\s*(?:module\b|"builtin\.module")', re.MULTILINE)
#: What may hold a brace that delimits nothing, and the braces.
_BRACE = re.compile(r'//[^\n]*|"(?:[^"\\\n]|\\.)*"|[{}]')


def is_excerpt(text: str) -> bool:
    """Whether a text is part of a module, and no module."""
    return _MODULE.search(text) is None


def balanced(text: str) -> str:
    """Return a text whose braces have partners: lone closing ones are blanks, open ones closed.

    Its lines stay where they are.
    """
    opened, lone = 0, []
    for found in _BRACE.finditer(text):
        if found[0] == "{":
            opened += 1
        elif found[0] == "}" and opened:
            opened -= 1
        elif found[0] == "}":
            lone.append(found.start())
    for offset in reversed(lone):
        text = f"{text[:offset]} {text[offset + 1 :]}"
    return text + "}" * opened
