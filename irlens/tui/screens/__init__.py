"""Screens, one module each, loaded when they are first shown."""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from irlens.tui.screens.base import EntryScreen

#: The views of an entry in the order of their keys, with the class of each.
VIEWS = {"overview": "OverviewScreen", "inspector": "InspectorScreen"}


def load_view(name: str) -> "type[EntryScreen]":
    """Return the screen class of a view."""
    module = importlib.import_module(f"{__name__}.{name}")
    view: type[EntryScreen] = getattr(module, VIEWS[name])
    return view
