"""Which of the browser's columns a terminal has room for: whole ones, the most telling ones.

The settings come last and take the room that is left. What there is no room for stands to their
right, and moving the text to the side brings it into sight.
"""

from collections.abc import Mapping, Sequence

import msgspec

from irlens.tui.entry_cells import TITLES

SETTINGS = "settings"
#: Cells around a column: a space before and one after it.
_AROUND = 2
#: The columns that stay when the text moves to the side.
_STAYING = ("mark", "kernel")
#: What there may be no room for, the least telling first: the sign at the left tells of local
#: memory, too, and the bar says what the number beside it says.
_LEAST_TELLING = (
    "local", "bar", "findings", "shared", "pipelines", "target", "occupancy", "registers",
    "mark", "kernel",
)  # fmt: skip
#: Of the settings at least this much is shown, or none of them; and at most this much of what
#: sets entries apart is worth a column of figures.
_LEAST_SETTINGS, _MOST_APART = 12, 26


class Needs(msgspec.Struct, frozen=True):
    """What columns need.

    Attributes:
        widths: Cells of each column by its name.
        apart: Cells of that part of the settings which sets the entries of a kernel apart.
        alike: Columns that say the same in every row.
        sorted_by: A column that is shown unless it is one of those.
    """

    widths: Mapping[str, int]
    apart: int
    alike: frozenset[str]
    sorted_by: str


class Columns(msgspec.Struct, frozen=True):
    """Columns beside each other.

    Attributes:
        widths: What is shown from the left, with the cells for each; only settings may be longer.
        moved: By how many columns the text is moved to the side.
        more: Whether there is more to the right.
    """

    widths: dict[str, int]
    moved: int
    more: bool

    def at(self, x: int) -> str | None:
        """Return the column in which a cell is, ``None`` to the right of all."""
        end = 0
        for name, width in self.widths.items():
            end += width + _AROUND
            if x < end:
                return name
        return None


def arrange(needs: Needs, room: int, moved: int = 0) -> Columns:
    """Return the columns that there is room for.

    Args:
        needs: What there is.
        room: Cells.
        moved: By how many columns to move the text to the side; by fewer where there is nothing
            more to see.
    """
    fitting = _fitting(needs, room)
    order = [*fitting, SETTINGS, *(name for name in TITLES if name not in (*fitting, SETTINGS))]
    staying = [name for name in _STAYING if name in fitting]
    rest = [name for name in order if name not in staying]
    # The last column alone is as far as it goes.
    for skipped in range(min(moved, len(rest) - 1) + 1):
        shown = _from_the_left([*staying, *rest[skipped:]], needs, room)
        more = list(shown)[-1] != rest[-1] or not _is_whole(shown, needs)
        if not more:
            break
    return Columns(shown, skipped, more and skipped < len(rest) - 1)


def _fitting(needs: Needs, room: int) -> list[str]:
    """Return the columns of figures that leave room for what sets the entries apart."""
    kept = [name for name in TITLES if name != SETTINGS]
    apart = min(max(needs.apart, _LEAST_SETTINGS), _MOST_APART)
    least = min(apart, needs.widths[SETTINGS]) + _AROUND if needs.apart else 0
    dispensable = [name for name in _LEAST_TELLING if name in needs.alike]
    dispensable += [
        name for name in _LEAST_TELLING if name not in (*needs.alike, *_STAYING, needs.sorted_by)
    ]
    for name in dispensable:
        if sum(needs.widths[each] + _AROUND for each in kept) + least <= room:
            break
        kept.remove(name)
    return kept


def _from_the_left(names: Sequence[str], needs: Needs, room: int) -> dict[str, int]:
    """Return as many whole columns as there is room for, settings as long as that is."""
    shown: dict[str, int] = {}
    for name in names:
        width, left = needs.widths[name], room - _AROUND
        if name == SETTINGS and left >= _LEAST_SETTINGS:
            width = min(width, left)
        if width > left and shown:
            break
        shown[name] = width
        room -= width + _AROUND
    return shown


def _is_whole(shown: Mapping[str, int], needs: Needs) -> bool:
    return SETTINGS not in shown or shown[SETTINGS] == needs.widths[SETTINGS]
