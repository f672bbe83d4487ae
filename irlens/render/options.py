"""Where the output will be seen, and how much of it."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

import msgspec

if TYPE_CHECKING:  # most runs write one kind of thing
    from irlens.model.code import CodeComparison
    from irlens.model.listing import Listing
    from irlens.model.report import Report, Rule

Detail: TypeAlias = Literal["pipelines", "pressure", "memory", "time", "mix", "figures"]
DETAILS: tuple[Detail, ...] = get_args(Detail)


def _not_located(_file: str, _lines: "Mapping[int, str]") -> None:
    """Locates no file: there is no source tree."""


def _not_explained(_code: str) -> None:
    """Explains no code: there are no rules."""


class Options(msgspec.Struct, frozen=True):
    """Options of the output.

    Attributes:
        width: Columns, for formats that wrap.
        bars: The least and the most columns of a table's bars, for the same.
        curve: Lines of a curve, for formats that draw with characters.
        details: Sections to show in full, for formats that otherwise sum up.
        rows: Most rows of a table, the rest counted; ``None`` for all.
        listings: The stages' text of each report, for formats that show code: as many as there
            are reports, or none.
        side_by_side: Whether compared code stands beside each other, where a format can.
        code: The stages' text of a compared pair, for formats that show code.
        sides: The reports of each compared pair, for formats that draw: as many as there are
            pairs, or none.
        subject: How the user named what is shown, with options: "softmax --num-stages 4"; empty
            if that is unknown, ``None`` to suggest no commands.
        footer: What a page says of its making; empty for a page that follows from the records.
        locate: For formats that code hosts read: the path of a Python file relative to the
            sources' root, given its base name and the known text of its lines; ``None`` if it is
            not found.
        explain: For the same: the rule of a finding's code; ``None`` if there is none.
    """

    width: int = 80
    bars: tuple[int, int] = (12, 12)
    curve: int = 4
    color: bool = False
    details: frozenset[Detail] = frozenset()
    rows: int | None = None
    listings: "tuple[Listing, ...]" = ()
    side_by_side: bool = False
    code: "tuple[CodeComparison, ...]" = ()
    sides: "tuple[tuple[Report, Report], ...]" = ()
    subject: str | None = ""
    footer: str = ""
    locate: "Callable[[str, Mapping[int, str]], str | None]" = _not_located
    explain: "Callable[[str], Rule | None]" = _not_explained
