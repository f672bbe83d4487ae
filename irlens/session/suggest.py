"""Suggestions: the neighbours of a configuration are compiled, and the fastest returned."""

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from irlens.model.errors import IrlensError
from irlens.model.ranking import longest_first, rank_reports
from irlens.model.suggestion import Suggestion
from irlens.model.text import count
from irlens.session import Configurations, is_compiled
from irlens.session.grids import require_one_kernel
from irlens.session.reports import report_of
from irlens.session.session import Session

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
        IrlensError: See ``Session.requests``, or KERNEL holds several kernels, or launches.
    """
    if not (is_compiled(kernel) and configurations.is_empty):
        requests = list(session.requests(kernel, configurations))
        require_one_kernel(kernel, requests)
        return requests
    captures, found = zip(*session.recompilations(kernel, configurations), strict=True)
    if len(found) == 1:
        return found
    ranking = longest_first(rank_reports([report_of(each) for each in captures]))
    longest = ranking.problems[0]
    if len(ranking.problems) > 1:
        directory = captures[longest.members[0]].directory
        named = f": {directory}" if directory is not None else ""
        raise IrlensError(
            f"{kernel} holds {count(len(ranking.problems))} launches: neighbours belong to one",
            hint=f"name one of its captures; the one that takes the longest{named}",
        )
    if longest.fastest is None:
        return found
    several = f"{count(len(found))} recorded configurations"
    session.note_once([f"starting from the fastest of {several}, by estimate"])
    return [found[longest.fastest]]


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
