"""The browser's columns: those of the registry of figures, and those that only the browser has."""

import re
import string
from collections.abc import Iterable, Sequence

import msgspec

from irlens.figures import COLUMNS, Figure
from irlens.session.exchange import is_early

SETTINGS = "settings"
FINDINGS = "findings"
CAPTURED = "captured"
ESTIMATE = "time"
#: The figure that the cell draws as "2/3": stages achieved of those requested.
STAGES = "pipelines[].achieved_stages"

#: Headings that would take more cells than their values.
_ABBREVIATIONS = {"registers": "regs", "occupancy": "occup."}
#: Letters that mean something else in the sort dialog.
_RESERVED = "qjkg"
#: Figures that leave out of turn where the terminal is narrow: the mark shows local memory as
#: well, and registers are what one compares first.
_KEPT = {
    "resources.local_bytes": (-1, 0),
    "resources.registers": (3, 0),
    "summary.shared_bytes": (1, -4),
}
_IMPORTANCE = {None: 0, "little": 0, "some": 1, "much": 2}


class BrowserColumn(msgspec.Struct, frozen=True, kw_only=True):
    """A column.

    Attributes:
        name: Unique name, which preferences and keymaps keep.
        label: Name in the sort dialog; empty if it cannot be sorted by.
        kept: Where the terminal is narrow, the column with the least value leaves first.
        figure: The registry's row; ``None`` if the column is not a figure.
    """

    name: str
    title: str
    label: str
    letter: str
    kept: tuple[int, int]
    figure: Figure | None = None

    @property
    def is_right_aligned(self) -> bool:
        """Whether it holds one number per row."""
        row = self.figure
        return row is not None and row.scope == "report" and row.unit != "word"

    @property
    def is_analysed(self) -> bool:
        """Whether it is known once an entry is complete, and not before."""
        return self.name in (FINDINGS, ESTIMATE) or (
            self.figure is not None and not is_early(self.figure)
        )

    @property
    def starts_ascending(self) -> bool:
        """Whether sorting starts with the least value: words and times do, other numbers do not."""
        is_text = self.name in ("kernel", "target", SETTINGS)
        return (
            is_text
            or self.name == ESTIMATE
            or (self.figure is not None and self.figure.unit == "word")
        )


def browser_columns(rows: Sequence[Figure]) -> dict[str, BrowserColumn]:
    """Return the columns by name, from the left.

    The time comes first, then what the binary says: the demand for resources, and the occupancy.
    The other figures that need an analysis follow.

    Args:
        rows: The registry's rows with a column, in their order.
    """
    mark = _column("mark", kept=(4, 0))
    kernel = _column("kernel", "kernel", "name", "n", kept=(5, 0))
    target = _column("target", "target", "target", "t", kept=(2, -2))
    bar = _column("bar", kept=(0, 1))
    findings = _column(FINDINGS, FINDINGS, FINDINGS, "f", kept=(2, 1))
    time = _column(ESTIMATE, "est. time", "estimated time", "e", kept=(3, 1))
    captured = _column(CAPTURED, CAPTURED, "time captured", "c", kept=(0, 2))
    settings = _column(SETTINGS, SETTINGS, SETTINGS, "s", kept=(6, 0))

    figures: list[BrowserColumn] = []
    for row in rows:
        others = [mark, kernel, target, time, bar, findings, captured, settings, *figures]
        figures.append(_of_figure(row, others))
    groups: dict[str, list[BrowserColumn]] = {"demand": [], "occupancy": [], "analysed": []}
    for row, column in zip(rows, figures, strict=True):
        fits = row.path.startswith("occupancy.")
        groups["occupancy" if fits else "demand" if is_early(row) else "analysed"].append(column)
    early = [*groups["demand"], *groups["occupancy"]]
    analysed = [findings, *groups["analysed"]]
    order = [mark, kernel, target, time, *early, bar, *analysed, captured, settings]
    return {column.name: column for column in order}


def _column(
    name: str, title: str = "", label: str = "", letter: str = "", *, kept: tuple[int, int]
) -> BrowserColumn:
    return BrowserColumn(name=name, title=title, label=label, letter=letter, kept=kept)


def _of_figure(row: Figure, others: Iterable[BrowserColumn]) -> BrowserColumn:
    names = {column.name for column in others}
    letters = {column.letter for column in others}
    short = row.short or row.title
    label = row.title if row.scope == "report" else f"{row.scope} {short}"
    elements, _, _ = row.path.rpartition("[].")
    known_as = (elements, re.sub(r"\W+", "_", short), re.sub(r"\W+", "_", row.path))
    return BrowserColumn(
        name=next(name for name in known_as if name and name not in names),
        title=_ABBREVIATIONS.get(row.heading, row.heading),
        label=label,
        letter=_free_letter(label, letters),
        kept=_KEPT.get(row.path, (_IMPORTANCE[row.importance], -row.column)),
        figure=row,
    )


def _free_letter(label: str, taken: Iterable[str]) -> str:
    """Return a letter for a label: of a word's start, or of a word, or any that is left."""
    initials = "".join(word[0] for word in label.split())
    candidates = f"{initials}{label}".lower() + string.ascii_letters
    unusable = {*taken, *_RESERVED, *_RESERVED.upper()}
    return next(
        letter for letter in candidates if letter in string.ascii_letters and letter not in unusable
    )


BROWSER_COLUMNS = browser_columns(COLUMNS)
#: The columns that may be left out, the least useful first.
LEAST_USEFUL = sorted(
    (name for name in BROWSER_COLUMNS if name != SETTINGS),
    key=lambda name: BROWSER_COLUMNS[name].kept,
)
