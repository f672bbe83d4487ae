"""A counter of AMDGPU's memory operations while a loop runs: what is outstanding where.

See ``amdgcn_memory`` for what raises a counter, and what waits for it.
"""

from collections import deque
from collections.abc import Sequence

import msgspec

#: No pipeline is as deep as this.
MAX_ITERATIONS = 32


class Queue(msgspec.Struct, frozen=True):
    """A counter in the steady state of a loop.

    Attributes:
        retired: For each operation, by its position, the iterations to the wait that retires it,
            and that wait's position.
        waits: For each wait that retires something, by its position, the operations outstanding
            before and behind it, by their positions.
        computing: The operations outstanding where something is computed, by their positions, each
            set of them once.
    """

    retired: dict[int, tuple[int, int]]
    waits: dict[int, tuple[tuple[int, ...], tuple[int, ...]]]
    computing: tuple[tuple[int, ...], ...]


def settle(
    counted: Sequence[bool], limits: Sequence[int | None], computes: Sequence[bool]
) -> Queue | None:
    """Run a counter through a loop until its iterations repeat; ``None`` where they do not.

    Args:
        counted: For each instruction of the loop, whether it is an operation that is counted.
        limits: How many operations each instruction leaves outstanding at most; ``None`` where it
            does not wait.
        computes: Whether it computes something.
    """
    outstanding: deque[tuple[int, int]] = deque()  # (iteration, position)
    previous: list[tuple[int, int]] | None = None
    for iteration in range(MAX_ITERATIONS):
        retired: dict[int, tuple[int, int]] = {}
        waits: dict[int, tuple[tuple[int, ...], tuple[int, ...]]] = {}
        computing: list[tuple[int, ...]] = []
        has_changed = True
        for position, (is_counted, most) in enumerate(zip(counted, limits, strict=True)):
            if is_counted:
                outstanding.append((iteration, position))
                has_changed = True
            if computes[position] and has_changed:
                computing.append(tuple(where for _, where in outstanding))
                has_changed = False
            if most is None or len(outstanding) <= most:
                continue
            before = tuple(where for _, where in outstanding)
            while len(outstanding) > most:
                issued, where = outstanding.popleft()
                retired[where] = iteration - issued, position
            has_changed = True
            waits[position] = before, tuple(where for _, where in outstanding)
        relative = [(iteration - issued, where) for issued, where in outstanding]
        if relative == previous:
            return Queue(retired, waits, tuple(computing))
        previous = relative
    return None
