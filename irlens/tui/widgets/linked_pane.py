"""A pane that fetches what it shows, and whose border says what that is."""

from collections.abc import Callable
from functools import partial

from textual.content import Content
from textual.message import Message

from irlens.model.errors import IrlensError
from irlens.model.text import printable_line
from irlens.tui.asking import ask
from irlens.tui.code.document import Document
from irlens.tui.widgets.code_pane import CodePane

#: Fetches a document; annotated or, sooner, as text alone.
Fetch = Callable[[bool], Document]

# Seconds without an answer after which the text alone is asked for: what is there sooner than
# that is not worth drawing twice.
_PATIENCE = 0.15
_WEIGHT, _LIGHTEST, _HEAVIEST = 6, 2, 18


class LinkedPane(CodePane):
    """One of several panes.

    Attributes:
        showing: The stage or the Python file that it shows or is about to show.
        weight: Its share of the width, compared with the others'.
        complete: Whether what it shows is all there is, or an error.
        problem: Why no more than the text is known; empty if more is.
    """

    DEFAULT_CSS = """
    LinkedPane {
        height: 1fr;
        &:focus { border: heavy $primary; }
    }
    """

    class Opened(Message):
        """It has come to show something, or to say why it cannot.

        Attributes:
            pane: Which.
            at: The line that was asked for, if one was.
        """

        def __init__(self, pane: "LinkedPane", at: int | None) -> None:
            super().__init__()
            self.pane = pane
            self.at = at

    def __init__(self) -> None:
        super().__init__()
        self.showing = ""
        self.weight = _WEIGHT
        self.resize_by(0)
        self.complete = True
        self.problem = ""
        #: Line and column to go to when there is a text.
        self._at: tuple[int, int] | None = None

    def open(self, name: str, fetch: Fetch, at: tuple[int, int] | None = None) -> None:
        """Show something as soon as there is something to show.

        Args:
            name: What it is.
            fetch: Called in a thread, perhaps twice.
            at: Line (from 1) and column to go to.
        """
        if name == self.showing and not self.complete:
            self._at = at or self._at
            return
        self.showing, self.complete, self._at = name, False, at
        self.show_note(f"reading {name} …")
        self.describe()
        ask(self, partial(fetch, True), self._whole, self._failed)
        self.set_timer(_PATIENCE, partial(self._impatient, name, fetch))

    def present(self, document: Document, at: tuple[int, int] | None = None) -> None:
        """Show what is at hand."""
        self.showing, self.complete, self._at = document.name, True, at
        self.workers.cancel_node(self)
        self._shown(document)

    def resize_by(self, step: int) -> None:
        """Take a larger (negative: smaller) share of the width."""
        self.weight = min(max(self.weight + step, _LIGHTEST), _HEAVIEST)
        self.styles.width = f"{self.weight}fr"

    def describe(self) -> None:
        """Say in the border what is shown and where the cursor is."""
        self.border_title = Content(printable_line(self.showing))
        if self.document is None:
            self.border_subtitle = ""
            return
        count = len(self.document)
        known = [f"{self.line}/{count}"]
        if places := len(self.places):
            known.append("1 place" if places == 1 else f"{places} places")
        if told := self.told_of_search:
            known.insert(0, told)
        if hidden := count - len(self.rows):
            known.append(f"{hidden} left out")
        if not self.complete:
            known.append("being analysed …")
        elif self.problem:
            known.append("not analysed")
        self.border_subtitle = " · ".join(known)

    def _impatient(self, name: str, fetch: Fetch) -> None:
        if not self.complete and self.showing == name and self.document is None:
            ask(self, partial(fetch, False), self._text, _ignore, group="text")

    def _text(self, document: Document) -> None:
        if not self.complete and self.showing == document.name:
            self._shown(document)

    def _whole(self, document: Document) -> None:
        self.complete = True
        if self.document is None:
            self._shown(document)
            return
        is_moved = self.is_moved
        self.annotate(document)
        if not is_moved:
            self.begin()  # which the text alone does not tell
        self.post_message(self.Opened(self, self.line if is_moved else None))

    def _shown(self, document: Document) -> None:
        self.problem = ""
        self.show(document)
        if self._at is None:
            self.begin()
        else:
            self.go_to(*self._at)
        self.post_message(self.Opened(self, self._at and self._at[0]))

    def _failed(self, error: IrlensError) -> None:
        self.complete = True
        told = error.told("; ")
        if self.document is None:
            self.show_note(told)
        else:
            self.problem = told
        self.describe()
        self.post_message(self.Opened(self, None))


def _ignore(error: IrlensError) -> None:
    """The question for all of it fails, too, and is the one that tells."""
