"""Limits: from what the user named to the sizes at which the kernel breaks."""

import re
from collections.abc import Collection, Mapping, Sequence
from math import prod
from types import MappingProxyType
from typing import TYPE_CHECKING

import msgspec

from irlens.model.errors import IrlensError, UnknownNameError
from irlens.model.limits import LimitSearch
from irlens.session import Configurations, is_compiled
from irlens.session.grids import require_one_kernel
from irlens.session.session import Session

if TYPE_CHECKING:  # they load the compiler layer
    from irlens.compiler import Request
    from irlens.compiler.planning import PlannedVariant
    from irlens.model.capture import Capture
    from irlens.model.limits import Limits
    from irlens.sweeps.limit_probes import Probe
    from irlens.sweeps.tile_covers import Derived
    from irlens.sweeps.worker_pool import WorkerPool

_RANGE = re.compile(r"(?P<first>[0-9]{1,18})\.\.(?P<last>[0-9]{1,18})")


def limits_of(
    session: Session,
    kernel: str,
    configurations: Configurations,
    sizes: Mapping[str, range | None],
    search: LimitSearch,
) -> "Limits":
    """Return the smallest sizes at which a kernel breaks.

    Args:
        kernel: The kernel's source, or a capture whose source is known.
        sizes: The sizes to vary, each over a range or the default one; all if there are none.

    Raises:
        IrlensError: The source of a capture is unknown, or KERNEL has several configurations or
            lacks a size.
    """
    requests = _launched(session, kernel, configurations)
    require_one_kernel(kernel, requests)
    others: list[Request] = []
    if len(requests) > 1 and is_compiled(kernel) and configurations.is_single:
        largest = _largest(session, requests)
        others = [each for each in requests if each is not largest]
        requests = [largest]
    if len(requests) != 1:
        raise IrlensError(
            f"{len(requests)} configurations are requested: limits are those of one",
            hint="name one target and one value of each setting",
        )
    (request,) = requests
    is_given = not is_compiled(kernel) or configurations.args or configurations.grid
    if is_given:
        return limits_of_request(session, request, sizes, search)
    chosen = {name for name, _ in configurations.settings}
    return limits_of_launch(session, request, sizes, search, others, chosen)


def limits_of_launch(
    session: Session,
    request: "Request",
    sizes: Mapping[str, range | None],
    search: LimitSearch,
    others: "Sequence[Request]" = (),
    chosen: Collection[str] = (),
) -> "Limits":
    """Return the limits of a recorded launch, whose equal values follow each other.

    A kernel's description says how they follow from sizes; see ``limits_of``.

    Args:
        others: Other launches of the recording, which tell how constexprs follow.
        chosen: Constexprs that the user chose, which stay.
    """
    from irlens.compiler import find_kernel
    from irlens.session.recorded_sizes import RecordedSizes, recorded_sizes

    recorded = RecordedSizes(request, [], [])
    if find_kernel(request.kernel).description is None:
        recorded = recorded_sizes(request, others)
    varied = dict(sizes) or dict.fromkeys(recorded.names)
    derived = {n: each for n, each in recorded.derived.items() if n not in chosen}
    with session.workers([request], search.jobs) as pool:
        launch, decided = _with_heuristics(recorded.request, {*derived, *chosen}, pool)
    found = limits_of_request(session, launch, varied, search, derived)
    return msgspec.structs.replace(found, follows=[*recorded.follows, *decided])


def _with_heuristics(
    request: "Request", known: Collection[str], pool: "WorkerPool"
) -> "tuple[Request, list[str]]":
    """Return a recorded launch whose heuristics decide what they decided when it was recorded."""
    from irlens.sweeps.run import plan_grid

    plan = plan_grid([request], pool)
    constexprs = {each.name for each in plan.variants[0].specialization if each.constexpr}
    names = [
        n for n in plan.decided if n in request.settings and n in constexprs and n not in known
    ]
    settings = {name: value for name, value in request.settings.items() if name not in names}
    free = msgspec.structs.replace(request, settings=settings)
    try:
        variants = plan_grid([free], pool).variants if names else []
    except IrlensError:  # another function decides, which takes what is not recorded
        return request, []
    if len(variants) != 1 or any(variants[0].names.get(n) != request.settings[n] for n in names):
        return request, []
    return free, [f"{name} by the heuristics of the file" for name in names]


def _launched(session: Session, kernel: str, configurations: Configurations) -> "list[Request]":
    """Return the requests of a kernel; of a recording those that the program launched, if any."""
    if not is_compiled(kernel):
        return list(session.requests(kernel, configurations))
    from irlens.session.programs import launches_of

    found = list(session.recompilations(kernel, configurations))
    launches = launches_of(capture for capture, _ in found)
    launched = [r for (_, r), number in zip(found, launches, strict=True) if number != 0]
    if not launched:
        session.note_once(["no launch used this: an autotuner only tried it"])
    return launched or [request for _, request in found]


def _largest(session: Session, requests: "Sequence[Request]") -> "Request":
    """Return the recorded launch with the most programs, the first of several."""
    from irlens.compiler.calls.binding import evaluate_formula
    from irlens.model.config import GridFormula

    def programs(request: "Request") -> int:
        try:
            formula = GridFormula(request.grid, {**request.settings, **request.args})
            return prod(evaluate_formula(formula, blocks_per_sm=1) or ())
        except IrlensError:
            return 0

    largest = max(requests, key=programs)
    differing = [
        f"{name}={value}" for name, value in {**largest.settings, **largest.args}.items()
        if any({**each.settings, **each.args}.get(name) != value for each in requests)
    ]  # fmt: skip
    session.note_once(
        [f"of {len(requests)} launches that of the most programs: {', '.join(differing)}"]
    )
    return largest


def limits_of_request(
    session: Session,
    request: "Request",
    sizes: Mapping[str, range | None],
    search: LimitSearch,
    derived: "Derived" = MappingProxyType({}),
) -> "Limits":
    """Return the smallest sizes at which one configuration breaks; see ``limits_of``."""
    from irlens.sweeps.limits import DEFAULT_RANGE, find_limits, sizes_of

    with session.workers([request], search.jobs) as pool:
        varied = dict(sizes) or dict.fromkeys(_deciding(request, sizes_of(request, pool), pool))
        if not varied:
            raise IrlensError(
                f"{request.kernel} has no size to vary", hint="write --arg n=1024 --along n"
            )
        ranges = {name: DEFAULT_RANGE if each is None else each for name, each in varied.items()}
        return find_limits(request, ranges, pool, _probe, search, derived)


def _deciding(request: "Request", names: Sequence[str], pool: "WorkerPool") -> list[str]:
    """Return the sizes that a launch's accesses depend on: no seed, no scale; all if unknown."""
    from irlens.analyze.capture_code import CaptureCode
    from irlens.analyze.traffic.accesses import data_arguments
    from irlens.analyze.traffic.values import UnknownTrafficError
    from irlens.compiler import capture, find_kernel
    from irlens.sweeps.run import plan_grid

    description = find_kernel(request.kernel).description
    if len(names) < 2 or (description is not None and description.sizes):
        return list(names)
    others = [*map(str, request.grid), *map(str, request.args.values())]
    written = set(re.findall(r"[A-Za-z_]\w*", " ".join(others)))
    first = plan_grid([request], pool).variants[0].request
    code = CaptureCode(capture(first)[0]).ttir
    try:
        idle = data_arguments(code.named) if code is not None else frozenset()
    except UnknownTrafficError:
        return list(names)
    return [name for name in names if f"%{name}" not in idle or name in written]


def read_along(texts: Sequence[str]) -> dict[str, range | None]:
    """Return the sizes of ``NAME`` and ``NAME=1..4096``.

    Raises:
        IrlensError: One is neither.
    """
    sizes: dict[str, range | None] = {}
    for text in texts:
        name, equals, written = text.partition("=")
        match = _RANGE.fullmatch(written.strip())
        if not name.strip().isidentifier() or (equals and match is None):
            raise IrlensError(f"'{text}' is neither NAME nor NAME=FIRST..LAST")
        numbers = None if match is None else range(int(match["first"]), int(match["last"]) + 1)
        if numbers is not None and not numbers:
            raise IrlensError(f"'{written}' is not an ascending range")
        if numbers is not None and numbers.start < 1:
            raise IrlensError(f"{numbers.start} is not a size: it is at least 1")
        sizes[name.strip()] = numbers
    return sizes


def holds_up_to(limits: "Limits", name: str, size: int) -> bool:
    """Whether nothing breaks up to a size; not where that is unknown, or follows from a recording.

    Raises:
        UnknownNameError: The size was not varied.
    """
    for each in limits.sizes:
        if each.name == name:
            covered = each.cover is None or size <= each.cover.last
            known = each.last >= size and not each.alone and not limits.follows and covered
            return known and all(limit.size > size for limit in each.limits)
    raise UnknownNameError("size", name, [each.name for each in limits.sizes])


def _probe(capture: "Capture", planned: "PlannedVariant", grid: tuple[int, int, int]) -> "Probe":
    """Evaluate a launch of a compiled variant."""
    from irlens.analyze.breaking_launches import broken
    from irlens.analyze.capture_code import CaptureCode
    from irlens.analyze.traffic.values import UnknownTrafficError
    from irlens.sweeps.limit_probes import Probe

    code = CaptureCode(capture).ttir
    if code is None:
        return Probe(unknown="there is no ttir, which says how addresses are computed")
    try:
        found = broken(code.named, planned.args, grid)
    except UnknownTrafficError as error:
        reason = str(error).replace("the traffic depends", "what is accessed depends")
        return Probe(unknown=reason)
    return Probe(found.causes, found.is_whole, reach=found.reach)
