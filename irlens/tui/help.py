"""The help of a screen: what it shows, and every key it has at the moment."""

from textual.app import App
from textual.binding import Binding
from textual.dom import DOMNode
from textual.screen import Screen


def help_of(screen: "Screen[object]") -> str:
    """Return the help in Markdown: the screen's own words, then its keys by where they work."""
    text: str = getattr(screen, "HELP_TEXT", "").strip()
    parts = [f"{text}\n" if text else ""]
    sections: dict[DOMNode, dict[str, list[str]]] = {}
    for active in screen.active_bindings.values():
        binding = active.binding
        if binding.description and binding.id is not None and not binding.system:
            keys = sections.setdefault(active.node, {}).setdefault(binding.description, [])
            keys.append(key_of(screen.app, binding))
    for node, actions in sections.items():
        rows = [f"{' '.join(keys):<14} {what}" for what, keys in actions.items()]
        parts.append("\n".join([f"### {title_of(node)}", "", "```text", *rows, "```", ""]))
    parts.append("`ctrl+p` lists everything that can be done.\n")
    return "\n".join(parts)


def key_of(app: "App[object]", binding: Binding) -> str:
    """Return a key as the user knows it."""
    return app.get_key_display(binding)


def title_of(node: DOMNode) -> str:
    """Return where a node's keys work, in words."""
    if isinstance(node, App):
        return "Everywhere"
    if isinstance(node, Screen):
        return "On this screen"
    return str(getattr(node, "border_title", None) or "Here")
