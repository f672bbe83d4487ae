"""The user's folders, as the XDG Base Directory Specification 0.8 names them."""

import os
from pathlib import Path


def cache() -> Path:
    """Return irlens's folder for what can be made again."""
    return _folder("XDG_CACHE_HOME", "~/.cache")


def config() -> Path:
    """Return irlens's folder for what the user writes."""
    return _folder("XDG_CONFIG_HOME", "~/.config")


def state() -> Path:
    """Return irlens's folder for what it remembers between runs."""
    return _folder("XDG_STATE_HOME", "~/.local/state")


def _folder(variable: str, default: str) -> Path:
    """Return irlens's folder in the one that a variable names, or else in the default one.

    Without a home directory it is a relative path.
    """
    named = os.environ.get(variable, "")
    base = named if os.path.isabs(named) else os.path.expanduser(default)  # noqa: PTH111, PTH117
    return Path(base, "irlens")
