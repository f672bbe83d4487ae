"""Nodes of the presentation tree.

A node is finished content: its texts have their units, its rows their order, and everything that
is good, bad or unknown says so with a ``Tone``. Text is *untrusted and unescaped*: whoever prints
a node escapes it for its medium.
"""

from typing import TYPE_CHECKING, TypeAlias

import msgspec

from irlens.model.report import Report, Severity

# Views name a node as ``nodes.Table``, whichever module defines it.
from irlens.render.view.nodes.charts import *  # noqa: F403
from irlens.render.view.nodes.drawings import *  # noqa: F403
from irlens.render.view.nodes.drawings import Drawing
from irlens.render.view.nodes.prose import *  # noqa: F403
from irlens.render.view.nodes.prose import (
    SEVERITY_TONES,
    Facts,
    Headline,
    Items,
    NextSteps,
    Phrases,
    Place,
    Sentence,
    Settings,
    Text,
    Tone,
)
from irlens.render.view.nodes.tables import *  # noqa: F403
from irlens.render.view.nodes.tables import Table

if TYPE_CHECKING:  # most documents show no code
    from irlens.model.code import CodeComparison
    from irlens.model.listing import Listing


class FindingItem(msgspec.Struct, frozen=True):
    """A finding.

    Attributes:
        state: "new", "gone", "was" or "now" in a comparison; else empty.
        place: Where; ``None`` if unknown.
        line: The text of that line; empty if unknown.
        hint: What to do; may be empty.
        where: The reports or sides that have it, where there are several; else empty.
    """

    severity: Severity
    code: str
    place: Place | None
    line: str
    message: str
    hint: str
    state: str = ""
    state_tone: Tone = "neutral"
    where: str = ""

    @property
    def tone(self) -> Tone:
        """The verdict that the severity is."""
        return SEVERITY_TONES[self.severity]

    @property
    def names_place(self) -> bool:
        """Whether the message itself names the place."""
        return self.place is not None and str(self.place) in self.message


class Findings(msgspec.Struct, frozen=True):
    """Findings, the most severe first.

    Attributes:
        summary: Counts them: "1 warning, 2 notes".
    """

    findings: tuple[FindingItem, ...]
    summary: Text
    title: str = "Findings"


class Code(msgspec.Struct, frozen=True):
    """The Python and the stages of a report, linked line by line."""

    report: Report
    listing: "Listing"


class CodeDiff(msgspec.Struct, frozen=True):
    """A stage of two captures.

    Attributes:
        folded: Whether an interactive medium folds it at first.
    """

    title: str
    summary: str
    comparison: "CodeComparison"
    folded: bool = True


class Section(msgspec.Struct, frozen=True):
    """A titled part of the document.

    Attributes:
        key: Stable name: "occupancy", "pipelines"; several sections may share one.
        detail: Name of the option that asks a medium with little room for it; empty where it is
            always shown, "each" where any such option does.
        folded: Whether an interactive medium folds it at first.
        full: Whether a comment leaves it to the folded text of the whole.
    """

    title: str
    children: "tuple[Node, ...]"
    key: str = ""
    aside: Text = ()
    detail: str = ""
    folded: bool = False
    full: bool = False
    wide: bool = False

    @property
    def is_part(self) -> bool:
        """Whether it is a fold around a whole report or comparison of a document of several."""
        return self.folded and len(self.children) == 1 and isinstance(self.children[0], Section)


Node: TypeAlias = (
    Section | Headline | NextSteps | Settings | Facts | Phrases | Sentence | Items | Table
    | Findings | Code | CodeDiff | Drawing
)  # fmt: skip
