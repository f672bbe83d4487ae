"""Suggestions: the neighbours of a configuration are compiled, and the fastest returned."""

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from irlens.model.suggestion import Suggestion
from irlens.session.reports import report_of
from irlens.session.session import Session

# They load the compiler layer.
if TYPE_CHECKING:
    from irlens.compiler import Request
    from irlens.model.estimate import TimeEstimate
    from irlens.sweeps.suggesting import Reached

#: Neighbours to compile at most, unless asked otherwise.
MOST = 40


def suggest_near(
    requests: "Sequence[Request]",
    session: Session,
    *,
    most: int = MOST,
    jobs: int | None = None,
    seconds: float = math.inf,
    progress: "Callable[[Reached], None]" = lambda _: None,
) -> Suggestion:
    """Compile the neighbours of a configuration, and return the fastest.

    Args:
        requests: A single one, see ``irlens.sweeps.suggesting.suggest``.
        most: Neighbours to compile at most.
        jobs: Worker processes; as many as there are processors if not given.
        seconds: Budget, see ``irlens.sweeps.suggesting.Limits``.

    Raises:
        IrlensError: See ``irlens.sweeps.suggesting.suggest``.
    """
    from irlens.sweeps.suggesting import Limits, suggest

    with session.workers(requests, jobs) as pool:
        limits = Limits(most=most, seconds=seconds)
        return suggest(requests, pool, _estimate, limits, progress)


def _estimate(request: "Request") -> "TimeEstimate | None":
    """Return the estimated time in the report of a compiled configuration."""
    from irlens.compiler import capture

    (compiled,) = capture(request)
    return report_of(compiled).time
