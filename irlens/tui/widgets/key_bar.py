"""The key bar: the last line of a screen, with as many of its keys as fit."""

from collections.abc import Sequence
from itertools import accumulate

from textual import events
from textual.binding import ActiveBinding
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Static

#: Actions whose keys are always listed: they lead to all others, or out.
_ALWAYS_LISTED = frozenset({"app.help", "quit", "dismiss"})


class KeyBar(Static):
    """Keys and their actions; a key that does not fit is left out whole.

    The command palette is left out first, then the actions in the screen's ``LESS_IMPORTANT``, then
    the last ones.
    """

    # Textual's own footer cuts off whatever does not fit.
    ALLOW_SELECT = False
    DEFAULT_CSS = """
    KeyBar {
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
        """Follow the focus: each widget has keys of its own."""
        self.screen.bindings_updated_signal.subscribe(self, self._on_bindings_updated)
        self._choose()

    def on_resize(self) -> None:
        """Choose the keys for another width."""
        self._choose()

    def on_click(self, event: events.Click) -> None:
        """Press the key that is clicked."""
        ends = accumulate(self._draw(active).cell_length for active in self.shown)
        for active, end in zip(self.shown, ends, strict=True):
            if event.x < end:
                self.app.simulate_key(active.binding.key)
                return

    def _on_bindings_updated(self, screen: Screen[object]) -> None:
        if self.is_attached and screen is self.screen:
            self._choose()

    def _choose(self) -> None:
        """Draw the keys that fit."""
        bindings = self.screen.active_bindings
        by_action: dict[str, ActiveBinding] = {}
        for active in bindings.values():
            if active.binding.show and not self._is_typed(active):
                by_action.setdefault(active.binding.action, active)
        if palette := bindings.get(self.app.COMMAND_PALETTE_BINDING):
            by_action[palette.binding.action] = palette
        self.shown = self._fitting(list(by_action.values()))
        self.update(Content("").join(map(self._draw, self.shown)))

    def _is_typed(self, active: ActiveBinding) -> bool:
        """Whether the focused widget takes the key as text."""
        focused, sign = self.screen.focused, self.app.get_key_display(active.binding)
        # The arrows and Enter are displayed as one character as well, and are not text.
        is_character = len(sign) == 1 and sign.isascii()
        return (
            focused is not None
            and is_character
            and focused.check_consume_key(active.binding.key, sign)
        )

    def _fitting(self, bindings: list[ActiveBinding]) -> list[ActiveBinding]:
        *rest, last = [active.binding.action for active in bindings] or [""]
        less_important: Sequence[str] = getattr(self.screen, "LESS_IMPORTANT", ())
        for action in (last, *less_important, *reversed(rest)):
            if sum(self._draw(active).cell_length for active in bindings) <= self.size.width:
                break
            if action not in _ALWAYS_LISTED:
                bindings = [active for active in bindings if active.binding.action != action]
        return bindings

    def _draw(self, active: ActiveBinding) -> Content:
        key = self.app.get_key_display(active.binding)
        return Content.assemble(
            (f" {key} ", "bold $footer-key-foreground on $footer-key-background"),
            (f"{active.binding.description} ", "$footer-description-foreground"),
        )
