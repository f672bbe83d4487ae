"""Explanations of the glossary's terms, where a report first uses them."""

import re
from functools import cache

from irlens import glossary
from irlens.render.html.markup import Content, Markup, escape, join, tag


class Glosses:
    """The terms that a report has not used yet."""

    def __init__(self) -> None:
        self._explained: set[str] = set()

    def explain(self, text: str) -> Markup:
        """Return text; each term in it that was not used before shows its explanation."""
        parts: list[Content] = []
        end = 0
        for match in _names().finditer(text):
            term = glossary.find(match["name"])
            if term is not None and term.name not in self._explained:
                self._explained.add(term.name)
                parts += [text[end : match.start()], tag("abbr", match[0], title=term.explanation)]
                end = match.end()
        return join([*parts, text[end:]]) if parts else escape(text)


@cache
def _names() -> re.Pattern[str]:
    """Return the pattern of every term's names and aliases, in singular and plural."""
    names = {name for term in glossary.terms() for name in (term.name, *term.aliases)}
    either = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    return re.compile(rf"(?<![\w.-])(?P<name>{either})s?(?![\w-]|\.\w)", re.IGNORECASE)
