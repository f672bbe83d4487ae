"""Which of the kernels in an artifact a capture is of."""

from collections.abc import Sequence
from typing import Protocol, TypeVar


class Named(Protocol):
    """A kernel, as any of the parsers returns it."""

    @property
    def name(self) -> str:
        """The function's name."""


K = TypeVar("K", bound=Named)


def by_name(kernels: Sequence[K], name: str) -> K | None:
    """Return the kernel of that name, or the only one there is.

    A cache entry without metadata goes by its files' name, which somebody may have changed.
    """
    named = [kernel for kernel in kernels if kernel.name == name]
    if named:
        return named[0]
    return kernels[0] if len(kernels) == 1 else None
