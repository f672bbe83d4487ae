"""What the TUI remembers from one time to the next."""

import os
from contextlib import suppress
from pathlib import Path

import msgspec

from irlens.tui.themes import DARK


class Remembered(msgspec.Struct, kw_only=True):
    """What the user chose. It is changed in place, and kept when the app ends.

    Attributes:
        theme: The theme's name.
        sort: Column by which the browser sorts.
        descending: Whether it does so from the largest down.
        follow: Whether what is looked at is compiled again when it is saved.
        layout: What a screen wants to find again, by a name of its own ("inspector.panes").
    """

    theme: str = DARK
    sort: str = "kernel"
    descending: bool = False
    follow: bool = True
    layout: dict[str, str] = {}


def default_path() -> Path:
    """Return where it is kept: a file of the user's state directory."""
    import platformdirs

    return platformdirs.user_state_path("irlens") / "tui.json"


def recall(path: Path | None) -> Remembered:
    """Return what a file keeps, or the defaults: forgetting is no error."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Remembered) if path else Remembered()
    except (OSError, msgspec.DecodeError):
        return Remembered()


def keep(path: Path | None, remembered: Remembered) -> None:
    """Keep it, whole or not at all; where it cannot be kept it will be forgotten."""
    if path is None:
        return
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_bytes(msgspec.json.encode(remembered))
        temporary.replace(path)
    except OSError:
        with suppress(OSError):
            temporary.unlink()
