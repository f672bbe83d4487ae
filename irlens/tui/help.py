"""Help of a screen and the command palette: both list the bindings that are active."""

from collections.abc import Iterator
from functools import partial

from textual.app import App
from textual.binding import ActiveBinding
from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.dom import DOMNode
from textual.screen import Screen
from textual.widget import Widget


def help_text(screen: Screen[object]) -> str:
    """Return the help in Markdown: the screen's own text, then its keys by where they work."""
    text: str = getattr(screen, "HELP_TEXT", "").strip()
    parts = [f"{text}\n" if text else ""]
    sections: dict[DOMNode, dict[str, list[str]]] = {}
    for active in screen.active_bindings.values():
        binding = active.binding
        if binding.description and binding.id is not None and not binding.system:
            keys = sections.setdefault(active.node, {}).setdefault(binding.description, [])
            keys.append(screen.app.get_key_display(binding))
    for node, actions in sections.items():
        rows = [f"{' '.join(keys):<14} {action}" for action, keys in actions.items()]
        parts.append("\n".join([f"### {_title(node)}", "", "```text", *rows, "```", ""]))
    parts.append("`ctrl+p` opens the command palette with every action.\n")
    return "\n".join(parts)


class KeyBindingCommands(Provider):
    """Every action that has a key at the moment."""

    async def discover(self) -> Hits:
        """Yield all of them."""
        for title, active in self._actions():
            yield DiscoveryHit(title, partial(self._run, active), help=self._key(active))

    async def search(self, query: str) -> Hits:
        """Yield those that match a query."""
        matcher = self.matcher(query)
        for title, active in self._actions():
            score = matcher.match(title)
            if score > 0:
                highlighted = matcher.highlight(title)
                yield Hit(score, highlighted, partial(self._run, active), help=self._key(active))

    def _actions(self) -> Iterator[tuple[str, ActiveBinding]]:
        seen: set[str] = set()
        # Bindings of a widget only move about in it: they come last.
        for active in sorted(
            self.screen.active_bindings.values(), key=lambda active: _is_part(active.node)
        ):
            binding = active.binding
            if not binding.description or binding.id is None or not active.enabled:
                continue
            if binding.action not in seen:
                seen.add(binding.action)
                where = f"{_title(active.node)}: " if _is_part(active.node) else ""
                yield f"{where}{binding.description}", active

    def _key(self, active: ActiveBinding) -> str:
        return f"key: {self.app.get_key_display(active.binding)}"

    async def _run(self, active: ActiveBinding) -> None:
        await self.app.run_action(active.binding.action, active.node)


def _is_part(node: DOMNode) -> bool:
    """Whether a node is a widget of a screen, with a title of its own."""
    return isinstance(node, Widget) and not isinstance(node, Screen)


def _title(node: DOMNode) -> str:
    """Where the keys of a node work."""
    if isinstance(node, App):
        return "Everywhere"
    if isinstance(node, Screen):
        return "On this screen"
    return str(getattr(node, "border_title", None) or "Here")
