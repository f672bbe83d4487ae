"""Loads a document in a thread: the plain text first if the annotations take a while."""

from collections.abc import Callable
from functools import partial
from typing import Protocol, TypeAlias

from textual.widget import Widget

from irlens.model.errors import IrlensError
from irlens.tui.code.document import Document
from irlens.tui.services.workers import run_in_thread

#: Fetches a document, annotated (``True``) or, faster, as plain text.
Fetch: TypeAlias = Callable[[bool], Document]

#: Seconds without an answer after which the plain text is fetched; before that the annotated
#: document may arrive, and drawing the text twice would be wasted.
_PATIENCE = 0.15


class ShowsDocuments(Protocol):
    """What shows the loaded document."""

    def on_loading(self, name: str) -> None:
        """Note that a document starts to load."""

    def on_text(self, document: Document) -> None:
        """Show the plain text of a document, or the whole document at once."""

    def on_annotated(self, document: Document) -> None:
        """Add annotations to the text that is shown."""

    def on_load_error(self, message: str) -> None:
        """Note that the document, or its annotations, cannot be loaded."""


class DocumentLoader:
    """Loads one document at a time.

    Args:
        node: The widget that owns the workers.
        target: Shows the documents.

    Attributes:
        name: The document that is shown or loading: a stage, or a Python file.
        is_complete: Whether loading has ended, with the annotated document or an error.
    """

    def __init__(self, node: Widget, target: ShowsDocuments) -> None:
        self._node, self._target = node, target
        self.name = ""
        self.is_complete = True
        self._has_text = False

    def load(self, name: str, fetch: Fetch) -> None:
        """Load a document.

        Args:
            name: The document's name.
            fetch: Called in a thread, possibly twice.
        """
        self.name, self.is_complete, self._has_text = name, False, False
        self._target.on_loading(name)
        run_in_thread(self._node, partial(fetch, True), self._on_annotated, self._on_error)
        self._node.set_timer(_PATIENCE, partial(self._fetch_text, name, fetch))

    def show(self, document: Document) -> None:
        """Show a document that is loaded already."""
        self.name, self.is_complete, self._has_text = document.name, True, True
        self._node.workers.cancel_node(self._node)
        self._target.on_text(document)

    def _fetch_text(self, name: str, fetch: Fetch) -> None:
        if not self.is_complete and self.name == name and not self._has_text:
            run_in_thread(
                self._node, partial(fetch, False), self._on_text, _ignore, group="plain text"
            )

    def _on_text(self, document: Document) -> None:
        if not self.is_complete and self.name == document.name:
            self._has_text = True
            self._target.on_text(document)

    def _on_annotated(self, document: Document) -> None:
        self.is_complete = True
        if self._has_text:
            self._target.on_annotated(document)
        else:
            self._has_text = True
            self._target.on_text(document)

    def _on_error(self, error: IrlensError) -> None:
        self.is_complete = True
        self._target.on_load_error(error.joined("; "))


def _ignore(error: IrlensError) -> None:
    """The call for the annotated document fails as well, and reports the error."""
