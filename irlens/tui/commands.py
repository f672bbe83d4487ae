"""The command palette: everything that a key does on the screen, findable by its words."""

from collections.abc import Iterator
from functools import partial

from textual.binding import ActiveBinding
from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.dom import DOMNode
from textual.screen import Screen
from textual.widget import Widget

from irlens.tui.help import key_of, title_of


def _is_part(node: DOMNode) -> bool:
    """Whether it is a part of a screen, which has a title of its own."""
    return isinstance(node, Widget) and not isinstance(node, Screen)


class KeyedActions(Provider):
    """Every action that has a key at the moment."""

    async def discover(self) -> Hits:
        """Yield all of them."""
        for told, active in self._actions():
            yield DiscoveryHit(told, partial(self._run, active), help=self._where(active))

    async def search(self, query: str) -> Hits:
        """Yield those that match."""
        matcher = self.matcher(query)
        for told, active in self._actions():
            score = matcher.match(told)
            if score > 0:
                shown = matcher.highlight(told)
                yield Hit(score, shown, partial(self._run, active), help=self._where(active))

    def _actions(self) -> Iterator[tuple[str, ActiveBinding]]:
        seen: set[str] = set()
        # What only moves about in a part of the screen comes last: there the keys are known.
        for active in sorted(
            self.screen.active_bindings.values(), key=lambda each: _is_part(each.node)
        ):
            binding = active.binding
            if not binding.description or binding.id is None or not active.enabled:
                continue
            if binding.action not in seen:
                seen.add(binding.action)
                where = f"{title_of(active.node)}: " if _is_part(active.node) else ""
                yield f"{where}{binding.description}", active

    def _where(self, active: ActiveBinding) -> str:
        return f"key: {key_of(self.app, active.binding)}"

    async def _run(self, active: ActiveBinding) -> None:
        await self.app.run_action(active.binding.action, active.node)
