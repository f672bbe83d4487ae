"""What screens with a view of differences have in common: search, go to, copy, open elsewhere."""

from collections.abc import Callable, Iterator
from typing import ClassVar

from textual import on
from textual.binding import Binding

from irlens.model.text import printable_line
from irlens.tui.screens import IrlensScreen
from irlens.tui.widgets.code_view import CodeView
from irlens.tui.widgets.diff_view import DiffView
from irlens.tui.widgets.prompt import Prompt, SearchPrompt

#: Columns from which the sides are shown side by side, unless the user has chosen.
_WIDE = 150
YES_OR_NO = {True: "yes", False: "no"}


def diff_bindings(screen: str) -> Iterator[Binding]:
    """Yield the bindings of ``DiffActions``."""
    for key, action, description, name, show in (
        ("u", "split", "Split", "split", True),
        ("slash", "search", "Search", "search", False),
        ("n", "find(1)", "Next match", "next_match", False),
        ("N", "find(-1)", "Previous match", "previous_match", False),
        ("colon", "line", "Go to line", "line", False),
        ("y", "copy", "Copy the change", "copy", False),
        ("e", "external('editor')", "Open in $EDITOR", "editor", False),
        ("v", "external('pager')", "Open in $PAGER", "pager", False),
    ):
        yield Binding(key, action, description, id=f"{screen}.{name}", show=show)


class DiffActions(IrlensScreen):
    """A screen with one ``DiffView`` and one ``SearchPrompt``.

    Attributes:
        SPLIT_SETTING: The preference for side by side or unified.
    """

    SPLIT_SETTING: ClassVar[str] = ""
    #: Takes the answer to what the prompt asks, other than a search.
    _take_answer: Callable[[str], None] | None = None

    @property
    def diff(self) -> DiffView:
        """The code."""
        return self.query_one(DiffView)

    @property
    def diff_name(self) -> str:
        """What the code is called: "the differences in ptx"."""
        raise NotImplementedError

    @property
    def diff_width(self) -> int:
        """The columns that the code has."""
        return self.app.size.width

    @property
    def prompt(self) -> SearchPrompt:
        """The prompt."""
        return self.query_one(SearchPrompt)

    def ask(self, hint: str, take: Callable[[str], None]) -> None:
        """Open the prompt for a question other than a search."""
        self._take_answer = take
        self.prompt.open(hint)

    def fit_split(self) -> None:
        """Show the sides side by side where there is room, or as the user has chosen."""
        layout = self.context.preferences.layout
        is_wide = YES_OR_NO[self.diff_width >= _WIDE]
        if (layout.get(self.SPLIT_SETTING, is_wide) == "yes") != self.diff.split:
            self.diff.toggle_split()

    def action_split(self) -> None:
        """Switch between side by side and unified."""
        self.diff.toggle_split()
        self.context.preferences.layout[self.SPLIT_SETTING] = YES_OR_NO[self.diff.split]

    def action_copy(self) -> None:
        """Copy the change at the cursor as a unified diff."""
        line, difference = self.diff.current, self.diff.difference
        if line is not None and difference is not None:
            self.context.navigator.copy(difference.hunk_text(line.hunk))

    def action_external(self, kind: str) -> None:
        """Open the differences in the user's editor or pager."""
        if (difference := self.diff.difference) is not None:
            name = f"{difference.comparison.stage}.diff"
            self.context.navigator.open_externally(kind, name=name, text=difference.text)

    def action_search(self) -> None:
        """Ask for text to search for."""
        self.prompt.search([self.diff], self.diff_name)

    def action_find(self, step: int) -> None:
        """Go to the next (-1: previous) match."""
        self.prompt.find([self.diff], self.diff_name, step)

    def action_line(self) -> None:
        """Ask for a line to go to."""
        self.ask("line of the second side", self._go_to_line)

    @on(CodeView.Searched)
    def _on_searched(self, event: CodeView.Searched) -> None:
        self.prompt.on_searched(event.view)
        self.context.keys.resume()

    @on(Prompt.Submitted)
    def _on_submitted(self, event: Prompt.Submitted) -> None:
        self.prompt.close()
        if self._take_answer is not None:
            self._take_answer(event.value.strip())

    def _go_to_line(self, answer: str) -> None:
        numbers = [line.after.number if line.after else 0 for line in self.diff.lines]
        if not answer.isdecimal() or len(answer) > 18:
            self.notify(f"'{printable_line(answer)}' is not a line number", markup=False)
        elif numbers:
            line = int(answer)
            self.diff.go_to(min(range(len(numbers)), key=lambda row: abs(numbers[row] - line)))
