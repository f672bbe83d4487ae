"""Picking what an entry is compared with: others of its kernel first, by what sets them apart."""

from collections.abc import Iterator
from typing import ClassVar, TypeAlias

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from irlens.model.comparison import Side
from irlens.model.label import labels
from irlens.model.text import count, percent, printable_line
from irlens.session.workbench import Entry, Workbench
from irlens.tui.asking import stream
from irlens.tui.drawing import MUTED
from irlens.tui.entry_cells import natural, searched, settings, side_of
from irlens.tui.screens.dialogue import Dialogue
from irlens.tui.widgets.choices import Choices
from irlens.tui.widgets.hints import Hints
from irlens.tui.widgets.prompt import Prompt

#: Cells at most for what sets an entry apart.
_LABEL = 48

#: How far an entry is apart: another kernel, another vendor, how much else.
_Rank: TypeAlias = tuple[bool, bool, int]


class Picking(Dialogue[str | None]):
    """Answers with an entry's key, or with nothing.

    Args:
        bench: What lists the entries.
        key: The entry that another one is picked for.
        known: Entries that are listed already.
        listing: Whether there may be others.
    """

    HELP_TEXT = """\
What an entry is compared with. Entries of the same kernel come first, what has least apart from it
before all others; beside each stands what sets it apart.
"""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "dismiss", "Cancel", id="picking.cancel"),
        Binding("slash", "search", "Search", id="picking.search"),
    ]

    def __init__(
        self, bench: Workbench, key: str, known: dict[str, Entry], *, listing: bool
    ) -> None:
        super().__init__()
        self._bench = bench
        self._key = key
        self._entries = dict(known)
        self._listing = listing
        #: Whether the cursor has been moved; until then it is on what is nearest.
        self._is_moved = False

    def compose(self) -> ComposeResult:
        """Lay out the list in the middle."""
        with Vertical():
            yield Static(id="told", markup=False)
            yield Choices(markup=False)
            yield Prompt()
        yield Hints()

    def on_mount(self) -> None:
        """List what there is."""
        self._show()
        if self._listing:
            done = self._listed
            stream(self, self._bench.entries, self._add, done, lambda _: done())

    def is_too_early(self, binding: str) -> bool:
        """Return whether there is nothing to choose yet."""
        is_empty = self._listing and not self.query_one(Choices).options
        return is_empty and not self.leads_away(binding)

    def leads_away(self, binding: str) -> bool:
        """Return whether nothing is to be chosen, or by other words."""
        return binding in ("picking.cancel", "picking.search", "help")

    def action_search(self) -> None:
        """Narrow the list down."""
        self.query_one(Prompt).open("search", "words that entries must have")

    @on(Prompt.Changed)
    def _typed(self) -> None:
        self._show()

    @on(Prompt.Submitted)
    def _found(self) -> None:
        self.query_one(Prompt).close()

    @on(Prompt.Cancelled)
    def _forget(self) -> None:
        self.query_one(Prompt).value = ""
        self._show()

    @on(OptionList.OptionSelected)
    def _picked(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(event.option.id)

    def _add(self, entries: list[Entry]) -> None:
        self._entries.update((entry.key, entry) for entry in entries)
        self._show()

    def _listed(self) -> None:
        self._listing = False
        self._show()

    def _show(self) -> None:
        """List the entries that have the words, the cursor where it was."""
        words = self.query_one(Prompt).value.lower().split()
        ranked = sorted(
            _ranked(self._entries, self._key), key=lambda each: (each[0], natural(each[1]))
        )
        shown = [
            (label, entry)
            for _, label, entry in ranked
            if all(word in f"{label} {searched(entry)}".lower() for word in words)
        ]
        options = self.query_one(Choices)
        self._is_moved = self._is_moved or bool(options.highlighted)
        chosen = options.highlighted_option if self._is_moved else None
        here = chosen.id if chosen is not None else None
        width = min(max((len(label) for label, _ in shown), default=0), _LABEL)
        figures = max((len(_figures(entry)) for _, entry in shown), default=0)
        options.set_options(
            Option(_row(label, entry, width, figures), id=entry.key) for label, entry in shown
        )
        keys = [entry.key for _, entry in shown]
        options.highlighted = keys.index(here) if here in keys else (0 if keys else None)
        self._tell(len(keys), filtered=bool(words))
        self.lens.keyboard.go_on()

    def _tell(self, number: int, *, filtered: bool) -> None:
        current = self._entries.get(self._key)
        kernel = printable_line(current.kernel) if current else "it"
        if number:
            told = f"compare {' '.join([kernel, *_chosen(current)])} with"
        elif self._listing:
            told = "looking …"
        elif filtered:
            told = "nothing has these words"
        else:
            told = f"there is nothing to compare {kernel} with: esc, then r compiles it anew"
        self.query_one("#told", Static).update(told)


def _ranked(entries: dict[str, Entry], key: str) -> Iterator[tuple[_Rank, str, Entry]]:
    """Yield what can be picked, with what to sort by and what sets it apart."""
    current = entries.get(key)
    mine = side_of(current, current.target) if current else None
    sides = {
        other: side
        for other, entry in entries.items()
        if not entry.problem and (side := side_of(entry, entry.target)) is not None
    }
    # Of another kernel it is told what sets an entry apart from the others of that.
    among = dict(zip(sides, labels(list(sides.values())), strict=True))
    for other, side in sides.items():
        if other == key:
            continue
        alike = mine is not None and side.kernel == mine.kernel
        label = labels([mine, side])[1] if mine is not None and alike else among[other]
        vendor = mine is None or _vendor(side) != _vendor(mine)
        yield (
            (not alike, vendor, len(label.split()) if alike else 0),
            label or "the same configuration",
            entries[other],
        )


def _vendor(side: Side) -> str:
    return side.target.vendor if side.target else ""


def _chosen(entry: Entry | None) -> list[str]:
    """Return what was chosen for an entry, since others are told by what they differ in."""
    if entry is None or entry.config is None:
        return []
    target = [entry.target.arch] if entry.target is not None else []
    return target + [f"{name}={value}" for name, value in settings(entry.config).items()]


def _row(label: str, entry: Entry, width: int, figures: int) -> Content:
    shown = printable_line(label)
    if len(shown) > width:
        shown = f"{shown[: width - 1]}…"
    return Content.assemble(
        (f"{shown:<{width}}  ", "bold"),
        (f"{_figures(entry):<{figures}}  ", MUTED),
        (printable_line(entry.place), MUTED),
    )


def _figures(entry: Entry) -> str:
    held, occupancy = entry.resources, entry.occupancy
    told = []
    if held is not None and held.registers is not None:
        told.append(f"{held.registers} registers")
    if held is not None and held.shared_dynamic_bytes is not None:
        told.append(f"{count(held.shared_dynamic_bytes)} B shared")
    if occupancy is not None:
        told.append(percent(occupancy.theoretical) if occupancy.launchable else "✗ cannot launch")
    return " · ".join(told)
