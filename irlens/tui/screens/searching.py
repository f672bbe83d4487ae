"""Searching at a screen's prompt: what is typed is gone to at once."""

from textual import on

from irlens.model.text import printable_line
from irlens.tui.code.search import Hit, query_for
from irlens.tui.screens.base import LensScreen
from irlens.tui.widgets.prompt import Prompt
from irlens.tui.widgets.searched import SearchedText


class SearchingScreen(LensScreen):
    """A screen with a prompt, and text that can be searched."""

    #: What is searched while something is typed, and where its cursor was before.
    _seeking: tuple[SearchedText, Hit] | None = None
    #: Where the cursor is left until a search that has been typed is over.
    _left_at: Hit | None = None

    @property
    def searched(self) -> SearchedText | None:
        """What ``/`` searches."""
        raise NotImplementedError

    @property
    def searched_name(self) -> str:
        """What that is, in a sentence."""
        raise NotImplementedError

    def sought(self, text: SearchedText, start: Hit) -> None:
        """Take notice that a search has led away from somewhere."""

    def action_search(self) -> None:
        """Ask what to search for, and go there while it is typed."""
        if (text := self.searched) is not None:
            self._seeking = text, text.position
            self._prompt.open("search", "text or a regular expression")

    def action_find(self, step: int) -> None:
        """Go to the next (-1: previous) match."""
        text = self.searched
        if text is not None and text.sought is None:
            self.action_search()
        elif text is not None and not text.searching and not text.find(step):
            self._miss_match(text)

    @property
    def _prompt(self) -> Prompt:
        return self.query_one(Prompt)

    @property
    def _is_asking(self) -> bool:
        """Whether the prompt waits for what to search for."""
        return self._prompt.has_class("-open") and self._prompt.purpose == "search"

    @on(Prompt.Changed)
    def _search_for(self, event: Prompt.Changed) -> None:
        if self._seeking is not None and self._is_asking:
            text, start = self._seeking
            text.search(query_for(event.value))
            if not event.value:
                text.go_to_position(start)

    @on(SearchedText.Searched)
    def _searched(self, event: SearchedText.Searched) -> None:
        """Go to what was found, unless the user has gone elsewhere meanwhile."""
        if self._seeking is not None and event.text is self._seeking[0]:
            if self._is_asking or event.text.position == self._left_at:
                self._show_match()
            if not self._is_asking:
                self._conclude()
        self.lens.keyboard.go_on()

    def _show_match(self) -> None:
        """Go to the first match, seen from where the search began."""
        if self._seeking is not None:
            text, (line, column) = self._seeking
            if not text.find(1, (line, column - 1)):
                text.go_to_position((line, column))

    @on(Prompt.Submitted)
    def _search_on(self) -> None:
        if self._is_asking:
            self._prompt.close()
            if self._seeking is not None:
                self._left_at = self._seeking[0].position
                if not self._seeking[0].searching:
                    self._show_match()  # it may be found, and not be told yet
                    self._conclude()

    @on(Prompt.Cancelled)
    def _search_no_more(self) -> None:
        if self._seeking is not None and self._prompt.purpose == "search":
            (text, start), self._seeking = self._seeking, None
            text.search(None)
            text.go_to_position(start)

    @property
    def _is_seeking(self) -> bool:
        """Whether it is not known yet where a search leads."""
        text = self.searched
        is_left = self._seeking is not None and not self._is_asking
        return is_left or (text is not None and text.searching)

    def _conclude(self) -> None:
        if self._seeking is not None:
            (text, start), self._seeking = self._seeking, None
            if text.hits:
                self.sought(text, start)
            elif text.sought is not None:
                self._miss_match(text)

    def _miss_match(self, text: SearchedText) -> None:
        if text.sought is not None:
            told = f"{self.searched_name} has no match for {text.sought.text}"
            if text.sought.problem:
                told += f", which is no regular expression: {text.sought.problem}"
            self.notify(printable_line(told), severity="warning", markup=False)
