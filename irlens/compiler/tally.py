"""Counts of what a process of a recorded program ran."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from irlens.model.recording import LibraryCall


class LaunchKey(msgspec.Struct, frozen=True):
    """Launches that are counted together.

    Attributes:
        entry: Triton's cache entry of the variant, an absolute directory.
        grid: CTAs in x, y and z; ``None`` if Triton does not accept it.
        tensors: Its tensor arguments: "fp32[4096, 1024]". Numbers of launches with the same tensors
            may differ: a seed, or a step.
        source: The line of the program that launched it: "train.py:12"; empty if unknown.
    """

    entry: str
    grid: tuple[int, int, int] | None
    tensors: tuple[str, ...]
    source: str


class Origin(msgspec.Struct, frozen=True):
    """Where a kernel that TorchInductor generated comes from.

    Attributes:
        source: The line that it computes most of: "model.py:31".
    """

    source: str
    operations: tuple[str, ...]


class Counts(msgspec.Struct, frozen=True):
    """The counts of a process, as a file holds them."""

    launches: list[tuple[LaunchKey, dict[str, int | float | str], int]]
    library: list[tuple[LibraryCall, int]]
    origins: dict[str, Origin]
    others: int
    tried: list[tuple[LaunchKey, dict[str, int | float | str], int]] = []


class Pausable:
    """Notes what runs, but for what runs while it is paused."""

    is_paused = False

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Do not record what runs within this context."""
        before, self.is_paused = self.is_paused, True
        try:
            yield
        finally:
            self.is_paused = before


class Tally(Pausable):
    """Counts of this process.

    Attributes:
        launches: Launches, without those that only measure.
        tried: Those that only measure.
        arguments: The arguments of the first of each.
        library: Calls of libraries; ``calls`` of each is 1.
    """

    def __init__(self) -> None:
        self.launches: Counter[LaunchKey] = Counter()
        self.tried: Counter[LaunchKey] = Counter()
        self.arguments: dict[LaunchKey, dict[str, int | float | str]] = {}
        self.library: Counter[LibraryCall] = Counter()
        self.origins: dict[str, Origin] = {}
        self.others = 0

    def launch(
        self,
        entry: str,
        args: dict[str, int | float | str],
        grid: tuple[int, int, int] | None,
        source: str,
    ) -> None:
        """Count a launch.

        Args:
            args: The run-time arguments as manifests have them.
        """
        tensors = tuple(value for value in args.values() if isinstance(value, str))
        key = LaunchKey(entry, grid, tensors, source)
        counted = self.tried if self.is_paused else self.launches
        counted[key] += 1
        self.arguments.setdefault(key, args)

    def clear(self) -> None:
        """Reset all counts, for a forked process."""
        self.launches.clear()
        self.tried.clear()
        self.library.clear()
        self.others = 0

    def counts(self) -> Counts:
        """Return all counts."""
        launches = [(key, self.arguments[key], n) for key, n in self.launches.items()]
        tried = [(key, self.arguments[key], n) for key, n in self.tried.items()]
        return Counts(launches, list(self.library.items()), self.origins, self.others, tried)
