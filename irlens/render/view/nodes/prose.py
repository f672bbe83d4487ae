"""Runs of text, and the nodes that are made of them: phrases, sentences, facts, lists."""

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias
from unicodedata import east_asian_width

import msgspec

from irlens.model.report import Severity
from irlens.model.source import short_file

#: What a run of text says about its subject. "code" is source text, "strong" and "dim" say how
#: much it matters, "accent" is the ink of drawings; the others are verdicts, of which colour is
#: never the only sign.
Tone: TypeAlias = Literal[
    "neutral", "strong", "dim", "accent", "code",
    "good", "warn", "bad", "unknown", "better", "worse",
]  # fmt: skip

#: A sign for each verdict, for media without colours.
SIGNS: dict[Tone, str] = {
    "good": "✓", "better": "✓", "warn": "!", "worse": "!", "unknown": "?", "bad": "✗", "dim": "·",
}  # fmt: skip

SEVERITY_TONES: dict[Severity, Tone] = {"error": "bad", "warning": "warn", "note": "dim"}


class Place(msgspec.Struct, frozen=True):
    """A line that a medium may link to.

    Attributes:
        name: Base name of a Python file, or a stage's name.
        line: 1-based line; ``None`` for the file as a whole.
        in_stage: Whether ``name`` is a stage.
    """

    name: str
    line: int | None
    in_stage: bool = False

    def __str__(self) -> str:
        name = short_file(self.name)
        return name if self.line is None else f"{name}:{self.line}"


class Run(msgspec.Struct, frozen=True):
    """A run of text of one tone; ``place`` is the line it names, if it names one."""

    text: str
    tone: Tone = "neutral"
    place: Place | None = None


#: Runs that belong together; they stand on one line where there is room.
Text: TypeAlias = tuple[Run, ...]


class Phrases(msgspec.Struct, frozen=True):
    """Short statements in a row: "8 blocks/SM", "limited by registers".

    Attributes:
        stands_for: Key of the section that shows the same in full: a medium that shows that
            section leaves these out.
    """

    items: tuple[Text, ...]
    stands_for: str = ""
    separator: str = " · "


class Sentence(msgspec.Struct, frozen=True):
    """Prose, which writers may wrap at any space.

    Attributes:
        label: What it is about: "Registers"; may be empty.
    """

    text: str
    tone: Tone = "neutral"
    label: str = ""


class Fact(msgspec.Struct, frozen=True):
    """One thing a reader asks for first, with what it comes from.

    Attributes:
        value: "100 %"; "strong" runs are the figure, the others its unit.
        lines: Details, each on a line of its own; the first stands beside the value where there
            is room.
        short: A shorter title for narrow media; empty if the title is short itself.
        key: Key of the section that shows the same subject; may be empty.
    """

    title: str
    value: Text
    lines: tuple[Phrases, ...] = ()
    tone: Tone = "neutral"
    stands_for: str = ""
    short: str = ""
    key: str = ""


class Facts(msgspec.Struct, frozen=True):
    """Facts in the order of their importance."""

    facts: tuple[Fact, ...]


class Setting(msgspec.Struct, frozen=True):
    """A name and its value: "num_warps" "8"; the name may be empty."""

    name: str
    value: str
    tone: Tone = "neutral"


class Settings(msgspec.Struct, frozen=True):
    """What the kernel was compiled or called with; ``folded`` where it matters less."""

    settings: tuple[Setting, ...]
    title: str = ""
    folded: bool = False


class Headline(msgspec.Struct, frozen=True):
    """The verdict on a whole document, before everything else.

    Attributes:
        phrases: Short statements, each with its own tone.
    """

    phrases: tuple[Run, ...]
    tone: Tone = "neutral"

    @property
    def words(self) -> str:
        """The phrases without their tones, for a line of a table or a message."""
        return " · ".join(phrase.text for phrase in self.phrases)

    @property
    def sign(self) -> str:
        """The sign of the tone and a space after it; empty for a tone without one."""
        return f"{SIGNS[self.tone]} " if self.tone in SIGNS else ""


class Command(msgspec.Struct, frozen=True):
    """A command line that is worth running: "irlens tui softmax", and what it shows."""

    line: str
    why: str


class NextSteps(msgspec.Struct, frozen=True):
    """What to do next, the most useful first; after everything else."""

    commands: tuple[Command, ...]


class Items(msgspec.Struct, frozen=True):
    """A list.

    Attributes:
        label: Stands before it; may be empty.
        code: Lines of code under the label; may be empty.
    """

    items: tuple[Text, ...]
    label: str = ""
    tone: Tone = "dim"
    code: str = ""


def settings(
    values: Mapping[str, object], tone: Tone = "neutral", *, title: str = "", folded: bool = False
) -> Settings:
    """Return names with their values as they are written."""
    named = (Setting(name, str(value), tone) for name, value in values.items())
    return Settings(tuple(named), title, folded)


def text(*parts: str | Run) -> Text:
    """Return runs and plain strings as one text; empty strings are left out."""
    runs = (Run(part) if isinstance(part, str) else part for part in parts)
    return tuple(run for run in runs if run.text)


def phrases(*items: str | Run | Text, stands_for: str = "", separator: str = " · ") -> Phrases:
    """Return phrases; empty ones are left out."""
    texts = (item if isinstance(item, tuple) else text(item) for item in items)
    return Phrases(tuple(each for each in texts if each), stands_for, separator)


def width(content: Sequence[Run]) -> int:
    """Return the terminal columns of a text; a wide East Asian character takes two."""
    whole = plain(content)
    if whole.isascii():
        return len(whole)
    return sum(2 if east_asian_width(sign) in "WF" else 1 for sign in whole)


def plain(content: Sequence[Run]) -> str:
    """Return a text without its tones."""
    return "".join(run.text for run in content)
