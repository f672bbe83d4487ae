"""The help of a screen: what it shows, and every key it has at the moment."""

from textual.app import App
from textual.binding import Binding
from textual.dom import DOMNode
from textual.screen import Screen

#: Textual's own, which every terminal program has, or which only its developers need.
_LEFT_OUT = frozenset({"screen.copy_text", "app.command_palette", "app.suspend_process"})


def help_of(screen: "Screen[object]") -> str:
    """Return the help in Markdown: the screen's own words, then its keys by where they work."""
    text: str = getattr(screen, "HELP_TEXT", "").strip()
    parts = [f"{text}\n" if text else ""]
    sections: dict[DOMNode, dict[str, list[str]]] = {}
    for active in screen.active_bindings.values():
        binding = active.binding
        if binding.description and binding.id is not None and not binding.system:
            keys = sections.setdefault(active.node, {}).setdefault(binding.description, [])
            keys.append(_key(screen.app, binding))
    for node, actions in sections.items():
        rows = [f"| `{' '.join(keys)}` | {what} |" for what, keys in actions.items()]
        parts.append("\n".join([f"### {_title(node)}", "", "| key | |", "|---|---|", *rows, ""]))
    parts.append("`ctrl+p` lists everything that can be done.\n")
    return "\n".join(parts)


def _key(app: "App[object]", binding: Binding) -> str:
    return app.get_key_display(binding).replace("|", "\\|").replace("`", "backtick")


def _title(node: DOMNode) -> str:
    if isinstance(node, App):
        return "Everywhere"
    if isinstance(node, Screen):
        return "On this screen"
    return str(getattr(node, "border_title", None) or "Here")
