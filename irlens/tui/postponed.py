"""What is shown by itself, but not under the fingers of somebody who types or answers."""

from collections import deque
from collections.abc import Callable

from textual.app import App
from textual.screen import ModalScreen
from textual.widgets import Input


class Postponed:
    """What one app has to show.

    What has been compiled is shown when it is done, and why it was not. Letters that were meant
    for a prompt would be commands there, and what a dialogue asks would be covered.

    Args:
        app: The app.
    """

    def __init__(self, app: App[None]) -> None:
        self._app = app
        self._waiting: deque[Callable[[], None]] = deque()

    def do(self, show: Callable[[], None]) -> None:
        """Show something, at once or when nothing is typed and nothing is asked any more."""
        self._waiting.append(show)
        self.go_on()

    def go_on(self) -> None:
        """Show what has waited, as far as it need not wait any longer."""
        while self._waiting and not self._is_occupied:
            self._waiting.popleft()()

    @property
    def _is_occupied(self) -> bool:
        return isinstance(self._app.screen, ModalScreen) or isinstance(self._app.focused, Input)
