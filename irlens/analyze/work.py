"""The budget of work: how many steps the analyses of one report may take together.

Most analyses take time in proportion to their input. What can take more (products times waits,
iterations times instructions) counts its steps, and ends where the budget does: the figure is then
unknown, with this reason, and the rest of the report is made.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from irlens.model.errors import OutOfWorkError

#: Steps of about two microseconds. Of 129 kernels the one that takes most takes 48,000.
STEPS = 1_500_000
EXCEEDED = "steps of analysis"


class Budget:
    """What is left of a number of steps; negative once more were taken than there were.

    Attributes:
        most: The steps that it, or the budget around it which has fewer left, began with.
    """

    def __init__(self, steps: int, most: int) -> None:
        self.left, self.most = steps, most


_budget: ContextVar[Budget | None] = ContextVar("budget", default=None)


@contextmanager
def budget(most: int | None = None, left: int | None = None) -> Iterator[Budget]:
    """Let what runs within the block take this many steps, and no more than one around it has.

    Args:
        most: ``STEPS`` if not given.
    """
    outer = _budget.get()
    most = STEPS if most is None else most
    inner = Budget(most if left is None else left, most)
    if outer is not None and outer.left < inner.left:
        inner = Budget(outer.left, outer.most)
    token = _budget.set(inner)
    begun = inner.left
    try:
        yield inner
    finally:
        _budget.reset(token)
        if outer is not None:
            outer.left -= begun - inner.left


def spend(steps: int) -> None:
    """Take steps from the budget, if there is one.

    Raises:
        OutOfWorkError: It has fewer.
    """
    current = _budget.get()
    if current is None:
        return
    current.left -= steps
    if current.left < 0:
        raise OutOfWorkError(f"it takes more than {current.most:,} {EXCEEDED}")
