"""Suggestions: the neighbours of a configuration are compiled, and the fastest returned."""

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from irlens.model.ranking import rank_reports
from irlens.model.suggestion import Suggestion
from irlens.model.text import count
from irlens.session.grids import require_one_kernel
from irlens.session.reports import report_of
from irlens.session.session import Session
from irlens.session.subject import Configurations, is_compiled

# They load the compiler layer.
if TYPE_CHECKING:
    from irlens.compiler import Request
    from irlens.model.estimate import TimeEstimate
    from irlens.sweeps.suggesting import Reached

#: Neighbours to compile at most, unless asked otherwise.
MOST = 40


def requests_near(
    kernel: str, configurations: Configurations, session: Session
) -> "Sequence[Request]":
    """Return the requests that a suggestion starts from, see ``irlens.sweeps.suggesting.suggest``.

    Of a recorded autotuner, whose configurations are all compiled, only the fastest: to compile
    them again would take longer than their neighbours.

    Raises:
        IrlensError: See ``Session.requests``, or KERNEL holds several kernels.
    """
    if not (is_compiled(kernel) and configurations.is_empty):
        requests = list(session.requests(kernel, configurations))
        require_one_kernel(kernel, requests)
        return requests
    captures, found = zip(*session.recompilations(kernel, configurations), strict=True)
    require_one_kernel(kernel, found)
    if len(found) > 1:
        problems = rank_reports([report_of(each) for each in captures]).problems
        if len(problems) == 1 and problems[0].fastest is not None:
            several = f"{count(len(found))} recorded configurations"
            session.note_once([f"starting from the fastest of {several}, by estimate"])
            return [found[problems[0].fastest]]
    return found


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
