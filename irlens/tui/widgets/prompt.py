"""A line at the bottom of the screen to type into: words to filter by, a line, a search."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
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
    """A prompt that searches views while the user types.

    The views are searched as one: matches of the first come first, from its cursor on, then those
    of the next view. For other questions it is opened with ``open``; only the answers to those
    bubble up as ``Submitted``.
    """

    @dataclass
    class Jumped(Message):
        """A search that began in a view at ``start`` has moved a cursor."""

        view: CodeView
        start: Hit

    def __init__(self) -> None:
        super().__init__()
        self._is_search = False
        #: The views that are searched, and the cursor of the first one before; empty between
        #: searches.
        self._views: Sequence[CodeView] = ()
        self._start: Hit = (0, 0)
        #: The name of the searched panes, for messages; and the view with the latest match.
        self._name = ""
        self._found: CodeView | None = None
        #: The cursor when the query was submitted, while the search still runs.
        self._submitted_at: Hit | None = None

    def open(self, hint: str) -> None:
        """Open the prompt for a question other than a search."""
        self._is_search = False
        super().open(hint)

    def search(self, views: Sequence[CodeView], name: str) -> None:
        """Ask for text to search for, and go to the first match while it is typed.

        Args:
            views: The views, at least one; the search begins at the first one's cursor.
        """
        self._views, self._start, self._name = views, views[0].position, name
        self._found = None
        super().open(f"text or regular expression in {name}")
        self._is_search = True

    def find(self, views: Sequence[CodeView], name: str, step: int) -> None:
        """Go to the next (-1: previous) match, from view to view."""
        if views[0].search.query is None:
            self.search(views, name)
        elif not _is_running(views):
            found = _find(views, step)
            if found is None:
                self._name = name
                self._report_no_match(views[0])
            elif found is not views[0]:
                found.focus()

    def is_pending(self, views: Sequence[CodeView]) -> bool:
        """Return whether it is still open where a submitted search leads."""
        is_submitted = bool(self._views) and not self._is_asking
        return is_submitted or _is_running(views)

    def on_searched(self, view: CodeView) -> None:
        """Go to the first match, unless the user has moved the cursor meanwhile."""
        if view in self._views and self._is_decided:
            if self._is_asking or self._views[0].position == self._submitted_at:
                self._show_first_match()
            if not self._is_asking:
                self._conclude()

    def return_to_match(self) -> None:
        """Go back to a match in another view, which has followed the first one to its start."""
        found = next((view for view in self._views[1:] if view is self._found), None)
        if found is not None and self._views[0].position == self._start:
            found.search.find_end(1)

    def on_input_changed(self, event: Input.Changed) -> None:
        """Search for what has been typed."""
        if self._views and self._is_asking:
            query = query_for(event.value)
            for view in self._views:
                view.search.start(query)
            if not event.value:
                self._views[0].go_to_position(self._start)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """End a search; leave other answers to the screen."""
        if not self._is_asking:
            return
        event.stop()
        self.close()
        if self._views:
            self._submitted_at = self._views[0].position
            if self._is_decided:
                self._show_first_match()  # it may have ended without ``on_searched`` so far
                self._conclude()

    def action_cancel(self) -> None:
        """Close without an answer; a search returns to where it began."""
        super().action_cancel()
        if self._views and self._is_search:
            views, self._views = self._views, ()
            for view in views:
                view.search.start(None)
            views[0].go_to_position(self._start)

    @property
    def _is_asking(self) -> bool:
        return self.is_open and self._is_search

    @property
    def _is_decided(self) -> bool:
        """Whether the first match is known."""
        first = self._views[0].search
        return not first.is_running and (bool(first.hits) or not _is_running(self._views))

    def _show_first_match(self) -> None:
        """Go to the first match after the position where the search began."""
        first, *others = self._views
        line, column = self._start
        if first.search.find(1, (line, column - 1)):
            self._found = first
            return
        if first.position != self._start:
            first.go_to_position(self._start)
        self._found = next((view for view in others if view.search.find_end(1)), None)

    def _conclude(self) -> None:
        views, self._views = self._views, ()
        if self._found is not None:
            self.post_message(self.Jumped(views[0], self._start))
            if self._found is not views[0]:
                self._found.focus()
        elif views[0].search.query is not None:
            self._report_no_match(views[0])

    def _report_no_match(self, view: CodeView) -> None:
        if query := view.search.query:
            message = f"no match for {query.text} in {self._name}"
            if query.problem:
                message += f" (not a regular expression: {query.problem})"
            self.notify(printable_line(message), severity="warning", markup=False)


def _is_running(views: Iterable[CodeView]) -> bool:
    return any(view.search.is_running for view in views)


def _find(views: Sequence[CodeView], step: int) -> CodeView | None:
    """Go to the next (-1: previous) match, and return its view."""
    first, *others = views
    if first.search.find(step, wrap=False):
        return first
    others = others if step > 0 else others[::-1]
    return next((view for view in (*others, first) if view.search.find_end(step)), None)
