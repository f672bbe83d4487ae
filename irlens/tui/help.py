"""Help of a screen and the command palette: both list the bindings that are active."""

import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Protocol, runtime_checkable

import msgspec
from textual.actions import parse
from textual.app import App
from textual.binding import ActiveBinding
from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.content import Content
from textual.dom import DOMNode
from textual.screen import Screen
from textual.widget import Widget

#: Score of a command whose description matches, and not its title.
_IN_DESCRIPTION = 0.1
#: How the documentation of an action names the direction of a negative step.
_DIRECTIONS = re.compile(r"(\S+) \((?:-1|negative): ([^)]+)\)")


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


class Command(msgspec.Struct, frozen=True):
    """An entry of the palette."""

    title: str
    description: str
    run: Callable[[], object]


class Commands(Provider):
    """Every action: those of the screen first, then irlens's others, Textual's own last."""

    async def discover(self) -> Hits:
        """Yield all of them."""
        for command in self._commands():
            yield DiscoveryHit(command.title, command.run, help=command.description)

    async def search(self, query: str) -> Hits:
        """Yield those whose title, or else whose description, matches a query."""
        matcher = self.matcher(query)
        for command in self._commands():
            score, title = matcher.match(command.title), matcher.highlight(command.title)
            if not score and query.lower() in command.description.lower():
                score, title = _IN_DESCRIPTION, Content(command.title)
            if score > 0:
                yield Hit(score, title, command.run, command.title, command.description)

    def _commands(self) -> Iterator[Command]:
        parts: list[Command] = []
        for active in self._active_bindings():
            is_part = isinstance(active.node, Widget) and (not isinstance(active.node, Screen))
            where = f"{_title(active.node)}: " if is_part else ""
            key = self.app.get_key_display(active.binding)
            command = Command(
                f"{where}{active.binding.description}",
                f"{_describe(active)} · key {key}",
                partial(self.app.run_action, active.binding.action, active.node),
            )
            if is_part:
                parts.append(command)
            else:
                yield command
        if isinstance(self.screen, HasCommands):
            yield from self.screen.commands()
        # Bindings of a widget only move about in it.
        yield from parts
        for title, description, run, _ in self.app.get_system_commands(self.screen):
            yield Command(title, description, run)

    def _active_bindings(self) -> Iterator[ActiveBinding]:
        seen: set[str] = set()
        for active in self.screen.active_bindings.values():
            binding = active.binding
            if binding.description and binding.id and active.enabled and binding.action not in seen:
                seen.add(binding.action)
                yield active


@runtime_checkable
class HasCommands(Protocol):
    """A screen with actions in the palette that have no key there."""

    def commands(self) -> Iterator[Command]:
        """Yield them."""


def _describe(active: ActiveBinding) -> str:
    """Return what a binding does: its tooltip, or what the documentation of its action says.

    "Go to the next (-1: previous) match." documents both directions.
    """
    binding = active.binding
    if binding.tooltip:
        return binding.tooltip
    target, name, parameters = parse(binding.action)
    node = {"app": active.node.app, "screen": active.node.screen}.get(target, active.node)
    lines = (getattr(node, f"action_{name}", None).__doc__ or binding.description).splitlines()
    is_back = any(isinstance(each, int | float) and each < 0 for each in parameters)
    return _DIRECTIONS.sub(r"\2" if is_back else r"\1", lines[0]).rstrip(".")


def _title(node: DOMNode) -> str:
    """Where the keys of a node work."""
    if isinstance(node, App):
        return "Everywhere"
    if isinstance(node, Screen):
        return "On this screen"
    return str(getattr(node, "border_title", None) or "Here")
