"""Key queue: every key acts after the one before it, on what it was meant for.

Textual forwards a key to the focused widget as soon as it arrives, although the key before it may
still be opening a prompt or a screen: typed quickly, "/max" would be a prompt and three commands.
It runs actions in the app's own message pump, so that the pump cannot simply block meanwhile. The
queue therefore posts one key at a time, and the next one when a message that follows the first on
its way up (``KeyHandled``) has arrived.

A key that needs content which is still loading is deferred, with those after it, until the screen
calls ``resume``. A key that is held down is not queued while it leaves the focus where it is, so
that many moves are drawn at once.
"""

from collections import deque
from dataclasses import dataclass
from functools import partial
from typing import Protocol, runtime_checkable

from textual.app import App
from textual.events import Key
from textual.message import Message
from textual.message_pump import MessagePump
from textual.timer import Timer
from textual.widgets import Input

#: Seconds after which the next key acts even if the last one was never seen to be handled.
_LONGEST_TURN = 10.0
#: Seconds after which a deferred key is reported.
_PATIENCE = 0.5


@runtime_checkable
class DefersKeys(Protocol):
    """A screen that loads content while the user already presses keys.

    Attributes:
        PROMPT_BINDINGS: Bindings that open a prompt, by id.
    """

    PROMPT_BINDINGS: frozenset[str]

    def defers(self, binding: str) -> bool:
        """Return whether a binding (its id, "" for none) needs content that is still loading."""

    def abandons_loading(self, binding: str) -> bool:
        """Return whether a binding leads away from what is loading: deferred keys are dropped."""


@dataclass
class KeyHandled(Message):
    """Follows a key up the widget tree; when it reaches the app the key has been handled.

    Attributes:
        is_last: Whether it also follows the messages that handling the key posted.
    """

    target: MessagePump
    is_last: bool = False


class KeyQueue:
    """The keys of an app that have not acted yet.

    Args:
        app: The app. Its screens may implement ``DefersKeys``.
    """

    def __init__(self, app: App[None]) -> None:
        self._app = app
        self._pressed: deque[Key] = deque()
        #: Keys pressed before those, whose content is still loading.
        self._deferred: deque[Key] = deque()
        #: The key that acts, and the focus before it did.
        self._acting: Key | None = None
        self._focus_before: tuple[object, object] | None = None
        #: The last key that acted, and the focus before it did.
        self._last: tuple[str, tuple[object, object]] | None = None
        self._turn_timer: Timer | None = None
        self._report_timer: Timer | None = None

    @property
    def is_idle(self) -> bool:
        """Whether every key has acted."""
        return not self._deferred and not self.is_acting

    @property
    def is_acting(self) -> bool:
        """Whether a key acts or is about to; a deferred one is not."""
        return self._acting is not None or bool(self._pressed)

    def accept(self, key: Key) -> bool:
        """Return whether a key acts now; if not, the queue posts it again in its turn."""
        if key is self._acting or self._is_repeated(key):
            return True
        self._enqueue(key)
        return False

    def is_turn_of(self, key: Key) -> bool:
        """Return whether a key is the one that acts, so that the next one waits for it."""
        return key is self._acting

    def resume(self) -> None:
        """Let the next key act, if the content that it needs is loaded."""
        while self._acting is None and (self._deferred or self._pressed):
            if self._deferred and not self._must_defer(self._deferred[0]):
                self._post(self._deferred.popleft())
            elif self._pressed:
                self._schedule(self._pressed.popleft())
            else:
                break
        if self._report_timer is not None and not self._deferred:
            self._report_timer.stop()
            self._report_timer = None

    def follow(self, handled: KeyHandled) -> None:
        """Wait for what a key caused: posted messages, a new screen, the focus."""
        key, app = self._acting, self._app
        last = KeyHandled(handled.target, is_last=True)
        if not handled.is_last and handled.target.post_message(last):
            return
        if not app.screen.call_later(app.call_later, self._end_turn, key):
            app.call_later(self._end_turn, key)

    def _enqueue(self, key: Key) -> None:
        self._pressed.append(key)
        self.resume()

    def _is_repeated(self, key: Key) -> bool:
        """Whether it is the last key once more, and that one did not move the focus."""
        if self._pressed or self._deferred:
            return False
        is_same = self._acting is None or self._acting.key == key.key
        return is_same and self._last == (key.key, self._focus)

    def _schedule(self, key: Key) -> None:
        """Let a key act, or defer it."""
        if not self._deferred:
            if not self._must_defer(key):
                self._post(key)
                return
            self._report_timer = self._app.set_timer(_PATIENCE, self._report_deferred)
        elif (prompt := self._open_prompt()) is not None:
            if key.key == "escape":
                while len(self._deferred) > prompt:
                    self._deferred.pop()
                return
        elif self._abandons_loading(key):
            self._deferred.clear()
            self._post(key)
            return
        self._deferred.append(key)

    @property
    def _focus(self) -> tuple[object, object]:
        return self._app.screen, self._app.focused

    def _post(self, key: Key) -> None:
        # A terminal in line mode sends Enter as a new line: what was typed before the app started.
        is_enter = key.key == "ctrl+j" and key.key not in self._app.screen.active_bindings
        self._acting = Key("enter", "\r") if is_enter else Key(key.key, key.character)
        self._focus_before = self._focus
        self._acting.set_sender(self._app)  # Textual does not bubble a message back to its sender
        self._turn_timer = self._app.set_timer(_LONGEST_TURN, partial(self._end_turn, self._acting))
        self._app.post_message(self._acting)

    def _end_turn(self, key: Key | None) -> None:
        if key is not self._acting:
            return
        if key is not None and self._focus_before is not None:
            self._last = (key.key, self._focus_before)
        self._acting = None
        if self._turn_timer is not None:
            self._turn_timer.stop()
        self.resume()

    def _report_deferred(self) -> None:
        self._report_timer = None
        if self._deferred:
            keys = " ".join(
                (key.character if key.is_printable else None) or key.key for key in self._deferred
            )
            self._app.notify(f"{keys} queued: still loading", timeout=3, markup=False)

    def _open_prompt(self) -> int | None:
        """Index of the deferred key whose prompt receives the next character."""
        prompt = None
        screen = self._app.screen
        bindings = screen.PROMPT_BINDINGS if isinstance(screen, DefersKeys) else ()
        for index, key in enumerate(self._deferred):
            if prompt is None and self._binding(key) in bindings:
                prompt = index
            elif key.key in ("enter", "ctrl+j"):
                prompt = None
        return prompt

    def _must_defer(self, key: Key) -> bool:
        screen = self._app.screen
        is_text = isinstance(self._app.focused, Input)
        if not isinstance(screen, DefersKeys) or is_text or self._is_app_binding(key):
            return False
        return screen.defers(self._binding(key))

    def _abandons_loading(self, key: Key) -> bool:
        screen = self._app.screen
        return self._is_app_binding(key) or (
            isinstance(screen, DefersKeys) and screen.abandons_loading(self._binding(key))
        )

    def _is_app_binding(self, key: Key) -> bool:
        active = self._app.screen.active_bindings.get(key.key)
        return active is not None and active.node is self._app

    def _binding(self, key: Key) -> str:
        active = self._app.screen.active_bindings.get(key.key)
        return (active.binding.id or "") if active is not None else ""
