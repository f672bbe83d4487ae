"""The glossary: terms of the field that reports use, read from ``glossary.md``."""

import re
from functools import cache
from pathlib import Path

import msgspec

_PATH = Path(__file__).with_suffix(".md")
_HEADING = re.compile(r"^## (.+)\n", re.MULTILINE)
_ALSO = re.compile(r"\n*Also: (.+)\n")
_ASKED = re.compile(r"\n*(?:Also: .+\n)?Asked as: (.+)\n")


class Term(msgspec.Struct, frozen=True):
    """An entry of the glossary.

    Attributes:
        name: "Tail wave".
        aliases: Other names, also of terms that the same entry explains.
        words: Everyday words of reports that it explains, where somebody asks for them.
        text: Markdown: the aliases, the words, the explanation and its source, ending in a newline.
    """

    name: str
    aliases: tuple[str, ...]
    words: tuple[str, ...]
    text: str

    @property
    def documentation(self) -> str:
        """The entry in Markdown, with its heading."""
        return f"# {self.name} (term)\n\n{self.text}"

    @property
    def explanation(self) -> str:
        """The explanation as plain text, without other names and source."""
        paragraphs = self.text.strip().split("\n\n")
        explained = " ".join(paragraphs[1 if self.aliases or self.words else 0 : -1])
        return explained.replace("\n", " ").replace("`", "")


@cache
def terms() -> tuple[Term, ...]:
    """Return all terms in alphabetical order."""
    _, *sections = _HEADING.split(_PATH.read_text(encoding="utf-8"))
    return tuple(
        Term(name, _listed(_ALSO, text), _listed(_ASKED, text), f"{text.strip()}\n")
        for name, text in zip(sections[::2], sections[1::2], strict=True)
    )


def find(name: str) -> Term | None:
    """Return the term of a name or an alias, in any case, with spaces or hyphens."""
    return _by_name().get(normalize(name))


@cache
def _by_name() -> dict[str, Term]:
    names = {normalize(each): term for term in terms() for each in (*term.aliases, *term.words)}
    return names | {normalize(term.name): term for term in terms()}


def normalize(name: str) -> str:
    """Return a name in the form in which names are compared: "tail-wave"."""
    return re.sub(r"[\s-]+", "-", name.strip().lower())


def _listed(line: re.Pattern[str], text: str) -> tuple[str, ...]:
    match = line.match(text)
    return tuple(match[1].split(", ")) if match is not None else ()
