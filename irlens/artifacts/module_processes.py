"""Processes of their own that modules of irlens run in: how they start, and answer on stdout.

Triton decides on import whether it compiles, a compiler may crash, and both print what they like.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

import msgspec


class Refused(msgspec.Struct, frozen=True, tag="refused"):
    """The answer of a process that cannot do what it is asked for; see ``IrlensError``."""

    message: str
    hint: str | None = None


def command(module: str, *arguments: str) -> list[str]:
    """Return the command that runs a module with this interpreter."""
    # -P: the working directory is not trusted with modules.
    return [sys.executable, "-P", "-m", module, *arguments]


def environment(**variables: str) -> dict[str, str]:
    """Return the environment of a child that imports from the same directories.

    Args:
        **variables: What the child has besides, or in place of this process's.
    """
    return os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))} | variables


@contextmanager
def answering() -> Iterator[BinaryIO]:
    """Yield the stream of a child's answer; whatever else is printed goes to stderr."""
    stdout = os.dup(1)
    os.dup2(2, 1)
    with os.fdopen(stdout, "wb") as stream:
        yield stream
