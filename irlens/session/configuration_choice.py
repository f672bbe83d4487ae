"""Chooses the configuration of an autotuned kernel, or of its recording, that is compiled alone.

Compiling every configuration with its passes takes minutes, so that one stands for all: the one
with the least estimated time.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

from msgspec.structs import replace

from irlens.diff import match, other_settings, requested, take_pairs
from irlens.model.capture import Capture
from irlens.model.errors import IrlensError
from irlens.model.label import labels
from irlens.model.ranking import rank_reports
from irlens.session import Configurations, is_compiled
from irlens.session.grids import name_one, require_one_kernel
from irlens.session.recompile import request_of
from irlens.session.reports import report_of
from irlens.session.session import Session

if TYPE_CHECKING:  # it loads the compiler layer
    from irlens.compiler import Request

    #: A configuration that an autotuner tries, and what compiles it alone.
    _Candidate: TypeAlias = tuple[Capture, Request]


def single_request(kernel: str, configurations: Configurations, session: Session) -> "Request":
    """Return the request of the one compilation of KERNEL that the options select.

    Raises:
        IrlensError: They select several, or KERNEL cannot be compiled.
    """
    requests = _requests(kernel, configurations, session)
    if _is_alone(requests):
        return requests[0]
    candidates = _fastest_first(kernel, _candidates(requests, session))
    _note(session, candidates, "showing {}")
    return candidates[0][1]


def paired_requests(
    one: tuple[str, Configurations], other: tuple[str, Configurations], session: Session
) -> "tuple[Request, Request]":
    """Return the requests of two sides, KERNEL and options, that differ in nothing but these.

    That is the fastest configuration of the first side that the second has, too: what another
    configuration takes says nothing about the options. Where they share none, it is the fastest
    of each.

    Raises:
        IrlensError: See ``single_request``.
    """
    ours, theirs = (_requests(*side, session) for side in (one, other))
    if _is_alone(ours) and _is_alone(theirs):
        return ours[0], theirs[0]
    before = _fastest_first(one[0], _candidates(ours, session))
    after = _candidates(theirs, session)
    first, second = (dict(side[1].settings) for side in (one, other))
    varied = {name for name in first if first[name] != second.get(name)}
    paired = _paired(before, after, varied)
    if paired is None:
        fastest = _fastest_first(other[0], after)
        _note(session, before, "comparing {} of each side, before")
        _note(session, fastest, "comparing {} of each side, after")
        return before[0][1], fastest[0][1]
    chosen, counterpart = before[paired[0]], after[paired[1]]
    if len(before) > 1:
        told = [chosen, *(each for each in before if each is not chosen)]
        _note(session, told, "comparing {} with itself")
    return chosen[1], counterpart[1]


def _requests(kernel: str, configurations: Configurations, session: Session) -> "list[Request]":
    """Return the request of a kernel, or those of a recording."""
    requests = list(session.requests(kernel, configurations))
    require_one_kernel(kernel, requests)
    if len(requests) != 1 and not (is_compiled(kernel) and configurations.is_single):
        raise IrlensError(
            f"{kernel} with these options is {len(requests)} compilations: one is needed",
            hint="give each option one value, or name one capture; `irlens diff` compares two",
        )
    return [replace(each, run=False) for each in requests]


def _is_alone(requests: "Sequence[Request]") -> bool:
    """Whether nothing is tuned, so that nothing is to be ranked."""
    from irlens.compiler import find_kernel

    return len(requests) == 1 and b"autotune" not in find_kernel(requests[0].kernel).content


def _candidates(requests: "Sequence[Request]", session: Session) -> "list[_Candidate]":
    """Compile what an autotuner tries, each with the request that compiles it alone."""
    found = []
    for request in requests:
        captures = session.compile(request)
        alone = len(captures) == 1
        found += [
            (each, request if alone else request_of(each, request.kernel, {})) for each in captures
        ]
    return found


def _fastest_first(kernel: str, candidates: "Sequence[_Candidate]") -> "list[_Candidate]":
    """Return configurations by their estimated times.

    Raises:
        IrlensError: They compute different things, whose times do not compare.
    """
    if len(candidates) == 1:
        return list(candidates)
    ranking = rank_reports([report_of(capture) for capture, _ in candidates])
    if len(ranking.problems) > 1:
        raise IrlensError(
            f"{kernel} holds {len(ranking.problems)} launches of {candidates[0][0].kernel}",
            hint=name_one(kernel),
        )
    return [candidates[index] for index in ranking.order]


def _paired(
    before: "Sequence[_Candidate]", after: "Sequence[_Candidate]", varied: set[str]
) -> tuple[int, int] | None:
    """Return the index of the first configuration that is on both sides, and its counterpart's."""
    ours, theirs = ([capture for capture, _ in each] for each in (before, after))
    if varied:

        def key(each: Capture) -> object:
            return other_settings(each, varied)

        pairs = take_pairs([*ours], [*theirs], key, key, unique=False)
    else:
        pairs, _, _ = match(ours, theirs, requested)
    return min(((ours.index(one), theirs.index(other)) for one, other in pairs), default=None)


def _note(session: Session, candidates: "Sequence[_Candidate]", does: str) -> None:
    """Say which of several configurations is taken: the first of them."""
    reports = [report_of(capture) for capture, _ in candidates]
    if len(reports) > 1:
        which = (
            "the fastest" if rank_reports(reports).is_timed else "the first (no times are known)"
        )
        said = does.format(which)
        session.note_once([f"{len(reports)} configurations: {said}: {labels(reports)[0]}"])
