"""Keys in their order: each acts when the one before it has acted, on what it was meant for.

Textual hands a key to what has the focus the moment it comes. What the key before it asked for may
not be there yet: of "/max", typed faster than the prompt opens, three letters would be three
commands. And what a key is meant for may still be read: such a key waits, and so do those behind
it; no other key waits for an answer. A key that is held down, and leaves the focus where it is, is
not kept in turn with itself: so many moves are drawn at once.
"""

from collections import deque
from functools import partial
from typing import TYPE_CHECKING

from textual.events import Key
from textual.message import Message
from textual.message_pump import MessagePump
from textual.timer import Timer
from textual.widgets import Input

if TYPE_CHECKING:
    from irlens.tui.app import Lens

#: Seconds after which the next key is not kept waiting by what the last one was given to.
_LONGEST = 10.0
#: Seconds for which a key waits in silence.
_PATIENCE = 0.5


class Acted(Message):
    """Follows a key on its way up; where this is, the key has been.

    Attributes:
        target: What the key was given to.
        is_last: Whether it also follows what the key has sent on that way, such as an answer.
    """

    def __init__(self, target: MessagePump, *, is_last: bool = False) -> None:
        super().__init__()
        self.target = target
        self.is_last = is_last


class Keyboard:
    """The keys of one app that have not acted yet.

    Args:
        app: Whose keys they are. Of its screen it asks ``is_too_early`` and ``leads_away``, by the
            name of a key's binding, "" for none, and which bindings open ``PROMPTS``.
    """

    def __init__(self, app: "Lens") -> None:
        self._app = app
        #: Keys as they were pressed, and those before them for which it is too early.
        self._pressed: deque[Key] = deque()
        self._waiting: deque[Key] = deque()
        #: The key that acts, and what had the focus before it did.
        self._acting: Key | None = None
        self._before: tuple[object, object] | None = None
        #: The last key that has acted, and what had the focus before it did.
        self._settled: tuple[str, tuple[object, object]] | None = None
        self._guard: Timer | None = None
        self._telling: Timer | None = None

    @property
    def is_idle(self) -> bool:
        """Whether every key has acted."""
        return not self._pressed and not self._waiting and self._acting is None

    @property
    def is_acting(self) -> bool:
        """Whether a key acts, or is about to; one that waits for an answer does not."""
        return self._acting is not None or bool(self._pressed)

    def repeats(self, key: Key) -> bool:
        """Return whether a key is the last one again, and that one has not moved the focus."""
        return (
            key is not self._acting
            and not self._pressed
            and not self._waiting
            and (self._acting is None or self._acting.key == key.key)
            and self._settled == (key.key, self._focus)
        )

    def takes(self, key: Key) -> bool:
        """Take a key that was pressed, to give it to the app anew when its turn has come.

        Returns:
            Whether it was taken: if not, its turn has come.
        """
        if key is self._acting:
            return False
        self._pressed.append(key)
        self.go_on()
        return True

    def go_on(self) -> None:
        """Let the next key act, if what it is meant for is there by now."""
        while self._acting is None and (self._waiting or self._pressed):
            if self._waiting and not self._is_too_early(self._waiting[0]):
                self._give(self._waiting.popleft())
            elif self._pressed:
                self._consider(self._pressed.popleft())
            else:
                break
        if self._telling is not None and not self._waiting:
            self._telling.stop()
            self._telling = None

    def follow(self, acted: Acted) -> None:
        """Wait for what a key has asked for: answers, a screen that is made, the focus that moves.

        Args:
            acted: What has come up behind the key.
        """
        key, app = self._acting, self._app
        if not acted.is_last and acted.target.post_message(Acted(acted.target, is_last=True)):
            return
        if not app.screen.call_later(app.call_later, self._has_acted, key):
            app.call_later(self._has_acted, key)

    def _consider(self, key: Key) -> None:
        """Let a key act, or wait."""
        if not self._waiting:
            if not self._is_too_early(key):
                self._give(key)
                return
            self._telling = self._app.set_timer(_PATIENCE, self._tell)
        elif (opens := self._prompt_at()) is not None:
            if key.key == "escape":
                self._forget(opens)
                return
        elif self._leads_away(key):
            self._waiting.clear()
            self._give(key)
            return
        self._waiting.append(key)

    @property
    def _focus(self) -> tuple[object, object]:
        return self._app.screen, self._app.focused

    def _give(self, key: Key) -> None:
        # Enter is a new line where it was typed before the app had the terminal.
        is_enter = key.key == "ctrl+j" and key.key not in self._app.screen.active_bindings
        acting = Key("enter", "\r") if is_enter else Key(key.key, key.character)
        self._acting, self._before = acting, self._focus
        self._acting.set_sender(self._app)  # who sends it does not get it back
        self._guard = self._app.set_timer(_LONGEST, partial(self._has_acted, self._acting))
        self._app.post_message(self._acting)

    def _has_acted(self, key: Key | None) -> None:
        if key is self._acting:
            if key is not None and self._before is not None:
                self._settled = (key.key, self._before)
            self._acting = None
            if self._guard is not None:
                self._guard.stop()
            self.go_on()

    def _forget(self, first: int) -> None:
        """Forget what waits, from one on."""
        while len(self._waiting) > first:
            self._waiting.pop()

    def _tell(self) -> None:
        self._telling = None
        if self._waiting:
            keys = " ".join(map(_name_of, self._waiting))
            self._app.notify(f"{keys} waits for what is being read", timeout=3, markup=False)

    def _prompt_at(self) -> int | None:
        """Where among the keys that wait one stands whose prompt the next letter belongs into."""
        found = None
        prompts = getattr(self._app.screen, "PROMPTS", ())
        for at, key in enumerate(self._waiting):
            if found is None and self._name(key) in prompts:
                found = at
            elif key.key in ("enter", "ctrl+j"):
                found = None
        return found

    def _is_too_early(self, key: Key) -> bool:
        ask = getattr(self._app.screen, "is_too_early", None)
        is_text = isinstance(self._app.focused, Input)
        return ask is not None and not is_text and not self._is_of_app(key) and ask(self._name(key))

    def _leads_away(self, key: Key) -> bool:
        ask = getattr(self._app.screen, "leads_away", None)
        return self._is_of_app(key) or (ask is not None and ask(self._name(key)))

    def _is_of_app(self, key: Key) -> bool:
        active = self._app.screen.active_bindings.get(key.key)
        return active is not None and active.node is self._app

    def _name(self, key: Key) -> str:
        active = self._app.screen.active_bindings.get(key.key)
        return (active.binding.id or "") if active is not None else ""


def _name_of(key: Key) -> str:
    return (key.character if key.is_printable else None) or key.key
