"""Screens, one module each, loaded when they are first shown.

A view of one entry is a module with a class ``View``, an ``EntryScreen``; ``VIEWS`` puts them in
the order of their keys.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from irlens.tui.screens.base import EntryScreen

#: The views of an entry: "1" shows the first of them.
VIEWS = ("overview", "inspector")


def load_view(name: str) -> "type[EntryScreen]":
    """Return the screen of a view."""
    view: type[EntryScreen] = importlib.import_module(f"{__name__}.{name}").View
    return view
