"""A line at the bottom of the screen to type into: words to filter by, a line, a search."""

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input

from irlens.model.text import printable_line
from irlens.tui.code.search import Hit, query_for
from irlens.tui.widgets.code_view import CodeView


class Prompt(Input, can_focus=False):
    """Hidden until it is opened; returns the focus when it closes."""

    DEFAULT_CSS = """
    Prompt {
        display: none;
        height: 1;
        border: none;
        padding: 0 1;
        background: $panel;
        &:focus { border: none; background-tint: transparent; }
        &.-open { display: block; }
    }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "cancel", "Cancel", id="prompt.cancel"),
    ]

    class Cancelled(Message):
        """The prompt was closed without an answer."""

    def __init__(self) -> None:
        super().__init__(select_on_focus=False)
        self._focused_before: Widget | None = None

    @property
    def is_open(self) -> bool:
        """Whether the prompt is open."""
        return self.has_class("-open")

    def open(self, hint: str) -> None:
        """Open the prompt; ``hint`` is shown until something is typed."""
        self._focused_before = self.screen.focused
        with self.prevent(Input.Changed):
            self.value = ""
        self.placeholder = hint
        self.add_class("-open")
        self.can_focus = True
        self.focus()

    def close(self) -> None:
        """Hide the prompt."""
        self.remove_class("-open")
        self.can_focus = False
        if self._focused_before is not None and self._focused_before.is_attached:
            self._focused_before.focus()

    def action_cancel(self) -> None:
        """Close without an answer."""
        self.close()
        self.post_message(self.Cancelled())


class SearchPrompt(Prompt):
    """A prompt that searches a view while the user types.

    For other questions it is opened with ``open``; only the answers to those bubble up as
    ``Submitted``.
    """

    class Jumped(Message):
        """A search has moved the cursor of a view away from ``start``."""

        def __init__(self, view: CodeView, start: Hit) -> None:
            super().__init__()
            self.view = view
            self.start = start

    def __init__(self) -> None:
        super().__init__()
        self._is_search = False
        #: The view that is searched, its cursor before, and what to call it.
        self._target: tuple[CodeView, Hit] | None = None
        self._name = ""
        #: The cursor when the query was submitted, while the search still runs.
        self._submitted_at: Hit | None = None

    def open(self, hint: str) -> None:
        """Open the prompt for a question other than a search."""
        self._is_search = False
        super().open(hint)

    def search(self, view: CodeView, name: str) -> None:
        """Ask for text to search for, and go to the first match while it is typed."""
        self._target, self._name = (view, view.position), name
        super().open("text or regular expression")
        self._is_search = True

    def find(self, view: CodeView, name: str, step: int) -> None:
        """Go to the next (-1: previous) match of a view."""
        if view.search.query is None:
            self.search(view, name)
        elif not view.search.is_running and not view.search.find(step):
            self._name = name
            self._report_no_match(view)

    def is_pending(self, view: CodeView | None) -> bool:
        """Return whether it is still open where a submitted search leads."""
        is_submitted = self._target is not None and not self._is_asking
        return is_submitted or (view is not None and view.search.is_running)

    def on_searched(self, view: CodeView) -> None:
        """Go to the first match, unless the user has moved the cursor meanwhile."""
        if self._target is not None and view is self._target[0]:
            if self._is_asking or view.position == self._submitted_at:
                self._show_first_match()
            if not self._is_asking:
                self._conclude()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Search for what has been typed."""
        if self._target is not None and self._is_asking:
            view, start = self._target
            view.search.start(query_for(event.value))
            if not event.value:
                view.go_to_position(start)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """End a search; leave other answers to the screen."""
        if not self._is_asking:
            return
        event.stop()
        self.close()
        if self._target is not None:
            view, _ = self._target
            self._submitted_at = view.position
            if not view.search.is_running:
                self._show_first_match()  # it may have ended without ``on_searched`` so far
                self._conclude()

    def action_cancel(self) -> None:
        """Close without an answer; a search returns to where it began."""
        super().action_cancel()
        if self._target is not None and self._is_search:
            (view, start), self._target = self._target, None
            view.search.start(None)
            view.go_to_position(start)

    @property
    def _is_asking(self) -> bool:
        return self.is_open and self._is_search

    def _show_first_match(self) -> None:
        """Go to the first match after the position where the search began."""
        if self._target is not None:
            view, (line, column) = self._target
            if not view.search.find(1, (line, column - 1)):
                view.go_to_position((line, column))

    def _conclude(self) -> None:
        if self._target is not None:
            (view, start), self._target = self._target, None
            if view.search.hits:
                self.post_message(self.Jumped(view, start))
            elif view.search.query is not None:
                self._report_no_match(view)

    def _report_no_match(self, view: CodeView) -> None:
        if query := view.search.query:
            message = f"no match for {query.text} in {self._name}"
            if query.problem:
                message += f" (not a regular expression: {query.problem})"
            self.notify(printable_line(message), severity="warning", markup=False)
