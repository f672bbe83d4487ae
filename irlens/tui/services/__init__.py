"""Services that screens and widgets share, as a screen receives them, and the app's navigation."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias

import msgspec
from textual.screen import Screen

from irlens.model.errors import IrlensError
from irlens.model.report import Finding
from irlens.model.source import SourceLocation, Span
from irlens.model.why import Explanations
from irlens.render.view.nodes import Section
from irlens.tui.services.compilations import Compilations, DeferredResults
from irlens.tui.services.key_queue import KeyQueue
from irlens.tui.services.preferences import Preferences
from irlens.tui.services.save_watcher import SaveWatcher

if TYPE_CHECKING:  # it loads what reads captures
    from irlens.session.interactive import Workbench

#: The views of an entry by their keys, and what each shows.
VIEWS = {
    "overview": ("1", "Show the figures of the entry"),
    "inspector": ("2", "Show the code of the entry, stage by stage"),
    "passes": ("3", "Show what each pass of the compiler changed"),
    "variants": ("4", "Show what the kernel is compiled for, and what tells variants apart"),
    "limits": ("5", "Show the smallest sizes at which the kernel breaks"),
}


class PassPlace(NamedTuple):
    """A line of Python, and a pass that changes its operations, or could."""

    source: SourceLocation
    number: int


#: A position in code: lines of a stage, or a line of Python.
CodePlace: TypeAlias = Span | SourceLocation
#: A position to open.
Place: TypeAlias = CodePlace | PassPlace


class Navigator(Protocol):
    """Moves between screens and talks to the user."""

    def show_browser(self) -> None:
        """Show the list of entries."""

    def show_view(
        self, name: str, key: str, at: Place | None = None, *, like: Screen[None] | None = None
    ) -> None:
        """Show a view of an entry.

        Args:
            name: The view: one of ``VIEWS``.
            like: The same view of another entry, whose panels and cursor to adopt.
        """

    def show_comparison(self, before: str, after: str) -> None:
        """Show the differences between two entries, above the current screen."""

    def show_recompile_form(self, key: str) -> None:
        """Ask for other settings of an entry, and compile it with them."""

    def show_suggestion(self, key: str) -> None:
        """Compile the neighbours of an entry, and offer the fastest."""

    def pick_entry(self, key: str, then: Callable[[str], None]) -> None:
        """Let the user pick an entry to compare with."""

    def show_finding(self, key: str, finding: Finding) -> None:
        """Explain a finding of an entry, above the current screen."""

    def show_drawing(self, document: Section) -> None:
        """Show a document of nodes above the current screen."""

    def show_text(self, markdown: str) -> None:
        """Show Markdown above the current screen."""

    def show_error(self, error: IrlensError) -> None:
        """Show an error and its hint in a notification."""

    def close_screen(self) -> None:
        """Return to the screen below the current one."""

    def copy(self, text: str) -> None:
        """Copy text to the clipboard of the user's terminal (OSC 52), over ssh as well."""

    def open_externally(self, kind: str, *, name: str, text: str, line: int = 1) -> None:
        """Open text in the user's program, see ``irlens.tui.services.external_program``."""

    def is_open(self, screen: Screen[None]) -> bool:
        """Return whether a screen is shown, or kept to be shown again."""


@dataclass(frozen=True)
class Context:
    """The services of one app.

    Attributes:
        preferences: What the user chose, kept between sessions.
        keys: The key queue; a screen wakes it when content arrives.
        deferred: Results that wait until the user has finished typing.
        save_watcher: Recompiles the kernel on show when it is saved.
    """

    workbench: "Workbench"
    preferences: Preferences
    navigator: Navigator
    keys: KeyQueue
    compilations: Compilations
    deferred: DeferredResults
    save_watcher: SaveWatcher
    _explanations: dict[tuple[str, bytes], Explanations] = field(default_factory=dict)

    def explanation(self, key: str, finding: Finding) -> Explanations | None:
        """Return why an entry has a finding, if that was asked before."""
        return self._explanations.get((key, msgspec.json.encode(finding)))

    def keep_explanation(self, key: str, finding: Finding, explanations: Explanations) -> None:
        """Remember why an entry has a finding."""
        self._explanations[key, msgspec.json.encode(finding)] = explanations
