"""What is searched for."""

import re


def pattern_for(query: str) -> re.Pattern[str] | None:
    """Return what finds a query: as it is written, and as a regular expression where it is one.

    So ``$L__BB0_2`` and ``ld.*shared`` are both found without a mode to choose. Capitals count
    where the query has any. An empty query finds nothing.
    """
    if not query:
        return None
    flags = re.NOFLAG if any(character.isupper() for character in query) else re.IGNORECASE
    plain = re.escape(query)
    try:
        re.compile(query)
        return re.compile(f"{plain}|(?:{query})", flags)
    except re.error:
        return re.compile(plain, flags)


def spans(pattern: re.Pattern[str], line: str) -> list[tuple[int, int]]:
    """Return where a pattern stands in a line, without empty matches."""
    return [match.span() for match in pattern.finditer(line) if match[0]]
