"""Preferences of the TUI, kept between sessions."""

from contextlib import suppress
from pathlib import Path

import msgspec
import platformdirs

from irlens.model import files
from irlens.tui.themes import DARK


class Preferences(msgspec.Struct, kw_only=True):
    """What the user chose. Changed in place, and saved when the app ends.

    Attributes:
        sort: Column by which the browser sorts; "" for its usual order.
        descending: Whether the largest value comes first.
        follow: Whether the kernel on show is recompiled when it is saved.
        layout: Layout choices by setting ("inspector.panes").
    """

    theme: str = DARK
    sort: str = ""
    descending: bool = False
    follow: bool = True
    layout: dict[str, str] = {}


def default_path() -> Path | None:
    """Return the path of the file in the user's state directory, if there is one."""
    try:
        return platformdirs.user_state_path("irlens") / "tui.json"
    except RuntimeError:  # no home directory
        return None


def load(path: Path | None) -> Preferences:
    """Return the preferences in a file; the defaults if it is missing or invalid."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Preferences) if path else Preferences()
    except (OSError, *files.DECODE_ERRORS):
        return Preferences()


def save(path: Path | None, preferences: Preferences) -> None:
    """Replace a file atomically; a path that cannot be written is ignored."""
    if path is None:
        return
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        files.replace(path, [msgspec.json.encode(preferences)])
