"""The budget of work: how many steps the analyses of one report may take together.

Most analyses take time in proportion to their input. What can take more (products times waits,
iterations times instructions) counts its steps, and ends where the budget does: the figure is then
unknown, with this reason, and the rest of the report is made.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from irlens.model.errors import ArtifactError

#: Steps of about two microseconds. Of 129 kernels the one that takes most takes 48,000.
STEPS = 1_500_000
EXCEEDED = "steps of analysis"


class OutOfWorkError(ArtifactError):
    """An analysis would take more steps than the budget has."""


class Budget:
    """What is left of a number of steps; negative once more were taken than there were."""

    def __init__(self, steps: int) -> None:
        self.left = steps


_budget: ContextVar[Budget | None] = ContextVar("budget", default=None)


@contextmanager
def budget(steps: int | None = None) -> Iterator[Budget]:
    """Let what runs within the block take this many steps, and no more than one around it has.

    Args:
        steps: ``STEPS`` if not given.
    """
    outer = _budget.get()
    most = STEPS if steps is None else steps
    inner = Budget(most if outer is None else min(most, outer.left))
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
        raise OutOfWorkError(f"it takes more than {STEPS:,} {EXCEEDED}")
