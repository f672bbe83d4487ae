"""The last line of a screen: its keys, as many as there is room for."""

from collections.abc import Sequence
from itertools import accumulate

from textual import events
from textual.binding import ActiveBinding
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Static

#: What leads to everything else, and what leads out, by the names of their actions.
_NEVER_LEFT_OUT = frozenset({"app.help", "quit", "dismiss"})


class Hints(Static):
    """Keys and what they do; where there is no room for all of them some are left out whole.

    The command palette goes first, then what a screen names in ``LESS_IMPORTANT``, then what
    stands last.

    Attributes:
        shown: The keys that there is room for.
    """

    # Textual's own footer cuts off what has no room, whatever it is.
    ALLOW_SELECT = False
    DEFAULT_CSS = """
    Hints {
        dock: bottom;
        height: 1;
        color: $footer-foreground;
        background: $panel;
        text-wrap: nowrap;
    }
    """

    def __init__(self) -> None:
        super().__init__(markup=False)
        self.shown: Sequence[ActiveBinding] = ()

    def on_mount(self) -> None:
        """Follow the screen: what has the focus has keys of its own."""
        self.screen.bindings_updated_signal.subscribe(self, self._follow)
        self._choose()

    def on_resize(self) -> None:
        """Choose anew for another width."""
        self._choose()

    def on_click(self, event: events.Click) -> None:
        """Do what the hint says that is clicked on."""
        ends = accumulate(self._drawn(hint).cell_length for hint in self.shown)
        for hint, end in zip(self.shown, ends, strict=True):
            if event.x < end:
                self.app.simulate_key(hint.binding.key)
                return

    def _follow(self, screen: "Screen[object]") -> None:
        if self.is_attached and screen is self.screen:
            self._choose()

    def _choose(self) -> None:
        """Draw what there is room for."""
        active = self.screen.active_bindings
        by_action: dict[str, ActiveBinding] = {}
        for hint in active.values():
            if hint.binding.show and not self._is_typed(hint):
                by_action.setdefault(hint.binding.action, hint)
        if palette := active.get(self.app.COMMAND_PALETTE_BINDING):
            by_action[palette.binding.action] = palette
        self.shown = self._fitting(list(by_action.values()))
        self.update(Content("").join(map(self._drawn, self.shown)))

    def _is_typed(self, hint: ActiveBinding) -> bool:
        """Whether the key is text to what has the focus."""
        focused, sign = self.screen.focused, self.app.get_key_display(hint.binding)
        key = hint.binding.key
        # An arrow or Enter has a sign, too, and is no text.
        is_sign = len(sign) == 1 and sign.isascii()
        return focused is not None and is_sign and focused.check_consume_key(key, sign)

    def _fitting(self, hints: list[ActiveBinding]) -> list[ActiveBinding]:
        *rest, last = [hint.binding.action for hint in hints] or [""]
        less_important: Sequence[str] = getattr(self.screen, "LESS_IMPORTANT", ())
        for action in (last, *less_important, *reversed(rest)):
            if sum(self._drawn(hint).cell_length for hint in hints) <= self.size.width:
                break
            if action not in _NEVER_LEFT_OUT:
                hints = [hint for hint in hints if hint.binding.action != action]
        return hints

    def _drawn(self, hint: ActiveBinding) -> Content:
        key = self.app.get_key_display(hint.binding)
        return Content.assemble(
            (f" {key} ", "bold $footer-key-foreground on $footer-key-background"),
            (f"{hint.binding.description} ", "$footer-description-foreground"),
        )
