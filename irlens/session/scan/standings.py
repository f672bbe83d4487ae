"""Which configurations of a scan are the fastest, what sets each apart, and their order.

A scan shows rows of figures and keeps no reports, so each row has what decides its rank as values
of its own, which the index of the scanned directory keeps too.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, get_args

import msgspec

from irlens.figures import derived
from irlens.model.config import Config, Target
from irlens.model.estimate import Bound
from irlens.model.label import Labelled, labels_among
from irlens.model.ranking import Candidate, Problem, Ranking, problem_of, rank
from irlens.model.scan import RooflinePlace, ScanRow, ScanValue
from irlens.model.terms import no_time_model
from irlens.model.traffic import flops_of_floor

if TYPE_CHECKING:  # a scan that only repeats another loads no analysis
    from irlens.model.report import Report
    from irlens.report.inspection import Inspection

#: The key of a row's identity: an ``Identity`` as JSON.
IDENTITY = "identity"
#: The key of its ``RooflinePlace``, as JSON.
PLACE = "roofline"
_TIME, _BOUND, _LAUNCHABLE = "time.estimate_us", "time.bound", "occupancy.launchable"
_READ, _WRITTEN = "traffic.distinct_read_bytes", "traffic.distinct_written_bytes"
#: The keys of the values that decide a row's rank.
KEYS = (IDENTITY, PLACE, _TIME, _BOUND, _LAUNCHABLE, _READ, _WRITTEN)


#: Where only the report says more.
_LAUNCH = "irlens inspect says why; its --arg and --grid give a launch that is missing"


class Identity(msgspec.Struct, frozen=True, omit_defaults=True):
    """What tells a capture apart from others: it is labelled as its report is."""

    kernel: str
    target: Target | None
    triton_version: str | None
    config: Config


def place_of(inspected: "Inspection | Report") -> str | None:
    """Return where a launch is on a roofline as JSON; ``None`` if that is unknown."""
    time, roofline, target = inspected.time, inspected.roofline, inspected.target
    flops = derived.flops(inspected)
    if time is None or roofline is None or target is None or not flops:
        return None
    place = RooflinePlace(
        target=target,
        flops=flops,
        roofline=roofline,
        compute_flops=flops_of_floor(inspected.traffic, roofline),
        low_us=time.low_us,
        high_us=time.high_us,
    )
    return msgspec.json.encode(place).decode()


def identity_of(inspected: Labelled) -> str:
    """Return the identity of a capture as JSON, which an index can keep."""
    identity = Identity(
        inspected.kernel, inspected.target, inspected.triton_version, inspected.config
    )
    return msgspec.json.encode(identity).decode()


def ranked_rows(
    rows: Sequence[ScanRow],
    values: Sequence[Mapping[str, ScanValue]],
    launches: Sequence[int | None],
) -> list[tuple[int, ScanRow]]:
    """Return the rows with their ranks in the order of these, each with its index.

    Those of one problem follow each other, the fastest first. The problem that takes the longest is
    the first: the time of its launches where a program launches it, otherwise that of the fastest.

    Args:
        values: Of each row the values of ``KEYS``.
        launches: How often a recorded program launches each.
    """
    identities = [msgspec.json.decode(str(row[IDENTITY]), type=Identity) for row in values]
    labels = labels_among(identities, lambda each: (each.kernel, each.target))
    found = zip(identities, values, strict=True)
    ranking = rank([_candidate(identity, row) for identity, row in found])
    problems = sorted(ranking.problems, key=lambda each: -_length(each, ranking, launches))
    return [
        (
            n,
            msgspec.structs.replace(
                rows[n],
                label=labels[n],
                problem=number,
                standing=ranking.standings[n],
                bound=ranking.candidates[n].bound,
                untimed=ranking.candidates[n].missing,
                launches=launches[n],
                place=_place(values[n]),
            ),
        )
        for number, problem in enumerate(problems)
        for n in problem.members
    ]


def _place(row: Mapping[str, ScanValue]) -> RooflinePlace | None:
    place = row[PLACE]
    return msgspec.json.decode(place, type=RooflinePlace) if isinstance(place, str) else None


def _candidate(identity: Identity, row: Mapping[str, ScanValue]) -> Candidate:
    read, written = _number(row[_READ]), _number(row[_WRITTEN])
    return Candidate(
        problem=problem_of(identity),
        launchable=row[_LAUNCHABLE] is not False,
        estimated_us=_number(row[_TIME]),
        accessed=read or written,
        written=written,
        bound=next((each for each in get_args(Bound) if each == row[_BOUND]), None),
        missing="" if row[_TIME] is not None else _why_untimed(identity.target),
    )


def _why_untimed(target: Target | None) -> str:
    """Return why a row has no time, as far as its target says it."""
    if target is not None and target.vendor == "amd":
        return no_time_model(target.name)
    return _LAUNCH


def _length(problem: Problem, ranking: Ranking, launches: Sequence[int | None]) -> float:
    """Return how long a problem takes in a program, or one launch of its fastest configuration."""
    times = [(launches[n], ranking.standings[n].time_us) for n in problem.members]
    total = sum((number or 0) * (time or 0.0) for number, time in times)
    return total or times[0][1] or 0.0


def _number(value: ScanValue) -> float | None:
    return value if isinstance(value, int | float) else None
