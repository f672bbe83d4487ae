"""Triton's settings for the length of a compilation: its knobs, or its environment up to 3.3."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path

from irlens.compiler.compiler_output import environment

#: Triton up to 3.3 reads these when it compiles. An empty one counts as absent.
_OF_ENVIRONMENT = (
    "TRITON_CACHE_MANAGER",
    "TRITON_INTERPRET",
    "TRITON_KERNEL_DUMP",
    "TRITON_KERNEL_OVERRIDE",
    "TRITON_OVERRIDE_ARCH",
    "TRITON_REMOTE_CACHE_BACKEND",
    "TRITON_STORE_BINARY_ONLY",
)
_CACHE = "TRITON_CACHE_DIR"
_HAS_KNOBS = find_spec("triton.knobs") is not None


@contextmanager
def compiling_into(directory: Path) -> Iterator[None]:
    """Make Triton compile into a directory, whatever the user's settings.

    Afterwards, knobs that the user's file has set are as they were.
    """
    if not _HAS_KNOBS:
        with environment({_CACHE: str(directory)}, without=_OF_ENVIRONMENT):
            yield
        return
    from triton import knobs

    with ExitStack() as stack:
        for group in vars(knobs).values():
            if isinstance(group, knobs.base_knobs):
                stack.enter_context(group.scope())
        knobs.cache.dir = str(directory)
        knobs.cache.manager_class = None
        knobs.cache.remote_manager_class = None
        knobs.compilation.override = False
        knobs.compilation.dump_ir = False
        knobs.compilation.store_binary_only = False
        knobs.runtime.interpret = False
        knobs.runtime.override_arch = None
        yield


def cache_directory() -> str:
    """Return the directory that Triton compiles into now."""
    if not _HAS_KNOBS:
        return os.environ.get(_CACHE, "")
    from triton import knobs

    return str(knobs.cache.dir)


def never_interpret() -> None:
    """Make Triton compile in this process, even if ``TRITON_INTERPRET`` is set."""
    if not _HAS_KNOBS:
        os.environ.pop("TRITON_INTERPRET", None)
        return
    from triton import knobs

    knobs.runtime.interpret = False


try:
    from triton.runtime.errors import PTXASError
except ImportError:  # Triton 3.2 raises a RuntimeError

    class PTXASError(Exception):  # type: ignore[no-redef]  # it stands for what is never raised
        """Stands for an exception that this Triton does not raise."""


__all__ = ["PTXASError"]
