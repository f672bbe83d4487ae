"""Operations that a counter of an AMDGPU wave has outstanding, in the steady state of a loop."""

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
            before and after it, by their positions.
        computing: The distinct sets of operations outstanding at a computation, by position.
    """

    retired: dict[int, tuple[int, int]]
    waits: dict[int, tuple[tuple[int, ...], tuple[int, ...]]]
    computing: tuple[tuple[int, ...], ...]


def settle(
    counted: Sequence[bool], limits: Sequence[int | None], computes: Sequence[bool]
) -> Queue | None:
    """Replay a counter through a loop until its iterations repeat; ``None`` where they do not.

    Args:
        counted: For each instruction of the loop, whether it raises the counter.
        limits: The most operations each instruction leaves outstanding; ``None`` if no wait.
        computes: Whether each instruction computes something.
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
