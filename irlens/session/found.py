"""What there is to look at, before anything is known of it."""

from typing import TypeAlias

import msgspec

from irlens.artifacts.entries import Broken
from irlens.model.capture import Capture
from irlens.model.report import Report


class Uncompiled(msgspec.Struct, frozen=True):
    """A kernel that can be compiled by its name."""

    name: str


Found: TypeAlias = Capture | Broken | Report | Uncompiled


def key_of(found: Found, number: int) -> str:
    """Return the key of an entry.

    Args:
        found: What it is an entry of.
        number: The how-manieth it is, for what has no name of its own.
    """
    if isinstance(found, Broken):
        return str(found.path)
    if isinstance(found, Uncompiled):
        return found.name
    if isinstance(found, Report):
        return f"report {number}"
    paths = [stage.path for stage in found.stages.values() if stage.path is not None]
    return f"{paths[0] if paths else number}:{found.kernel}"
