"""The dialog that picks an entry to compare with: the most similar ones first."""

from collections.abc import Iterator, Sequence
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
from irlens.session.exchange import Entry
from irlens.tui.drawing import MUTED
from irlens.tui.entries.cells import natural, search_text, settings, side_of
from irlens.tui.screens.dialogs import Choices, Dialog
from irlens.tui.services import Context
from irlens.tui.services.threads import stream_from_thread
from irlens.tui.widgets.key_bar import KeyBar
from irlens.tui.widgets.prompt import Prompt

#: The most cells for the differences of an entry.
_LABEL_WIDTH = 48

#: How different an entry is: another kernel, another vendor, number of differing settings.
_Rank: TypeAlias = tuple[bool, bool, int]


class EntryPicker(Dialog[str | None]):
    """Returns an entry's key, or ``None``.

    Args:
        key: The entry to compare; it is not offered.
    """

    HELP_TEXT = """\
The entry to compare with. Entries of the same kernel come first, the most similar on top; each is
labelled with its differences.
"""
    PROMPT_BINDINGS: frozenset[str] = frozenset()
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "dismiss", "Cancel", id="picking.cancel"),
        Binding("slash", "search", "Search", id="picking.search"),
    ]

    def __init__(
        self, context: Context, key: str, known: dict[str, Entry], *, listing: bool
    ) -> None:
        super().__init__()
        self._services = context
        self._key = key
        self._entries = dict(known)
        self._is_listing = listing
        #: Whether the user has moved the cursor; until then it stays on the most similar entry.
        self._is_moved = False

    def compose(self) -> ComposeResult:
        """Lay out the list in the middle of the screen."""
        with Vertical():
            yield Static(id="title", markup=False)
            yield Choices(markup=False)
            yield Prompt()
        yield KeyBar()

    def on_mount(self) -> None:
        """List the entries."""
        self._show()
        if self._is_listing:
            entries, on_end = self._services.workbench.entries, self._on_listed
            stream_from_thread(self, entries, self._add, on_end, lambda _: on_end())

    def defers(self, binding: str) -> bool:
        """Return whether there is nothing to choose yet."""
        is_empty = self._is_listing and not self.query_one(Choices).options
        return is_empty and not self.abandons_loading(binding)

    def abandons_loading(self, binding: str) -> bool:
        """Return whether a binding chooses nothing from the list as it is."""
        return binding in ("picking.cancel", "picking.search", "help")

    def action_search(self) -> None:
        """Filter the list."""
        self.query_one(Prompt).open("filter by words")

    @on(Prompt.Changed)
    def _on_changed(self) -> None:
        self._show()

    @on(Prompt.Submitted)
    def _on_submitted(self) -> None:
        self.query_one(Prompt).close()

    @on(Prompt.Cancelled)
    def _on_cancelled(self) -> None:
        self.query_one(Prompt).value = ""
        self._show()

    @on(OptionList.OptionSelected)
    def _on_selected(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(event.option.id)

    def _add(self, entries: list[Entry]) -> None:
        self._entries.update((entry.key, entry) for entry in entries)
        self._show()

    def _on_listed(self) -> None:
        self._is_listing = False
        self._show()

    def _show(self) -> None:
        """List the entries that match the words; the cursor stays on its entry."""
        words = self.query_one(Prompt).value.lower().split()
        ranked = sorted(
            _ranked(self._entries, self._key), key=lambda each: (each[0], natural(each[1]))
        )
        shown = [
            (label, entry)
            for _, label, entry in ranked
            if all(word in f"{label} {search_text(entry)}".lower() for word in words)
        ]
        choices = self.query_one(Choices)
        self._is_moved = self._is_moved or bool(choices.highlighted)
        highlighted = choices.highlighted_option if self._is_moved else None
        current = highlighted.id if highlighted is not None else None
        label_width = min(max((len(label) for label, _ in shown), default=0), _LABEL_WIDTH)
        figures_width = max((len(_figures(entry)) for _, entry in shown), default=0)
        choices.set_options(
            Option(_row(label, entry, label_width, figures_width), id=entry.key)
            for label, entry in shown
        )
        keys = [entry.key for _, entry in shown]
        choices.highlighted = keys.index(current) if current in keys else (0 if keys else None)
        self.query_one("#title", Static).update(self._title(len(keys), words))
        self._services.keys.resume()

    def _title(self, number: int, words: Sequence[str]) -> str:
        current = self._entries.get(self._key)
        kernel = printable_line(current.kernel) if current else "the entry"
        if number:
            return f"compare {' '.join([kernel, *_configuration(current)])} with"
        if self._is_listing:
            return "loading …"
        if words:
            return "no entry matches"
        return f"no entry to compare {kernel} with: press esc, then r to compile another one"


def _ranked(entries: dict[str, Entry], key: str) -> Iterator[tuple[_Rank, str, Entry]]:
    """Yield the entries to choose from with their rank and their differences."""
    current = entries.get(key)
    own = side_of(current, current.target) if current else None
    sides = {
        other: side
        for other, entry in entries.items()
        if not entry.problem and (side := side_of(entry, entry.target)) is not None
    }
    # An entry of another kernel is labelled by its differences from that kernel's other entries.
    among_own = dict(zip(sides, labels(list(sides.values())), strict=True))
    for other, side in sides.items():
        if other == key:
            continue
        is_same = own is not None and side.kernel == own.kernel
        label = labels([own, side])[1] if own is not None and is_same else among_own[other]
        other_vendor = own is None or _vendor(side) != _vendor(own)
        yield (
            (not is_same, other_vendor, len(label.split()) if is_same else 0),
            label or "same configuration",
            entries[other],
        )


def _vendor(side: Side) -> str:
    return side.target.vendor if side.target else ""


def _configuration(entry: Entry | None) -> list[str]:
    """Return the target and the settings of an entry; the others show only differences."""
    if entry is None or entry.config is None:
        return []
    target = [entry.target.arch] if entry.target is not None else []
    return target + [f"{name}={value}" for name, value in settings(entry.config).items()]


def _row(label: str, entry: Entry, label_width: int, figures_width: int) -> Content:
    shown = printable_line(label)
    if len(shown) > label_width:
        shown = f"{shown[: label_width - 1]}…"
    return Content.assemble(
        (f"{shown:<{label_width}}  ", "bold"),
        (f"{_figures(entry):<{figures_width}}  ", MUTED),
        (printable_line(entry.place), MUTED),
    )


def _figures(entry: Entry) -> str:
    resources, occupancy = entry.resources, entry.occupancy
    figures = []
    if resources is not None and resources.registers is not None:
        figures.append(f"{resources.registers} registers")
    if resources is not None and resources.shared_bytes is not None:
        figures.append(f"{count(resources.shared_bytes)} B shared")
    if occupancy is not None:
        share = percent(occupancy.theoretical)
        figures.append(share if occupancy.launchable else "✗ cannot launch")
    return " · ".join(figures)
