"""Finds the variants that launches need, compiles them, and says what tells them apart."""

import math
import time
from collections.abc import Callable, Mapping, Sequence

import msgspec

from irlens.artifacts.identify import code_digest
from irlens.compiler import Request, capture, find_kernel
from irlens.compiler.calls.examples import find_uses, parse_source
from irlens.compiler.planning import PlannedVariant
from irlens.compiler.toolchains import version_of
from irlens.model.config import LAUNCH_OPTIONS, ConstexprValue, Values, identity_of
from irlens.model.errors import IrlensError
from irlens.model.ranking import Ranking, of_trial, rank
from irlens.model.sweep import Result
from irlens.model.variant_times import compared
from irlens.model.variants import KernelVariants, Specialized, Variant, same_code, splits_of
from irlens.sweeps.compiling import Arrived, stream_requests
from irlens.sweeps.launch_classes import Launches, launches_of
from irlens.sweeps.run import plan_grid, trials_of
from irlens.sweeps.variant_advice import advise
from irlens.sweeps.worker_pool import WorkerPool

#: Receives how many variants are compiled, of how many.
Progress = Callable[[int, int], None]


#: Why a variant is given up.
_GIVEN_UP = "larger than one that does not fit"


class _TimeIsUp(Exception):  # noqa: N818  # it is no error
    """The time to compile in has passed."""


class Needed(msgspec.Struct, frozen=True):
    """A variant that launches need.

    Attributes:
        planned: The launch that stands for them, the last.
        launches: Number of the planned launches that need it.
    """

    planned: PlannedVariant
    launch: dict[str, ConstexprValue]
    launches: int


class Built(msgspec.Struct, frozen=True):
    """A compiled variant: its result, a digest of its code, and how long compiling took.

    One that was given up has a reason instead of a result.
    """

    result: Result | None
    digest: str | None = None
    compile_seconds: float | None = None
    reason: str = ""


def find_variants(
    requests: Sequence[Request],
    axes: Mapping[str, Values],
    pool: WorkerPool,
    *,
    most: int,
    seconds: float = math.inf,
    progress: Progress = lambda done, total: None,
) -> list[KernelVariants]:
    """Return the variants of a kernel, for each target and Triton of the requests.

    Args:
        most: Variants to compile at most; the others are counted. With 0 none is listed.
        seconds: Time to compile variants and changes in; what is left then is counted. The tasks
            that run are left to the pool.

    Raises:
        IrlensError: The kernel cannot be loaded, a launch is invalid, or there are too many.
    """
    launches = _launches(requests, axes, pool)
    varied = [
        msgspec.structs.replace(request, args=request.args | chosen)
        for request in requests
        for chosen in launches.chosen
    ]
    plan = plan_grid(varied, pool)
    groups: dict[tuple[object, ...], dict[bytes, Needed]] = {}
    for each in plan.variants:
        needed = groups.setdefault((each.request.target, each.triton), {})
        key = identity_of((each.specialization, sorted(each.options.items())))
        known = needed.pop(key, None)
        launch = {name: each.request.args[name] for name in axes}
        needed[key] = Needed(each, launch, 1 + (known.launches if known is not None else 0))
    ends = time.monotonic() + seconds

    def watch(done: int, total: int) -> None:
        progress(done, total)
        if time.monotonic() > ends:
            raise _TimeIsUp

    return [
        _found(plan.function, list(found.values()), most, launches, pool, watch)
        for found in groups.values()
    ]


def _found(
    kernel: str,
    needed: Sequence[Needed],
    most: int,
    launches: Launches,
    pool: WorkerPool,
    watch: Progress,
) -> KernelVariants:
    """Return the variants of one GPU and Triton, those that there was time for compiled."""
    listed = needed[:most]
    compiled: dict[int, Built] = {}
    try:
        if listed:
            _compile(listed, pool, watch, compiled)
        found = _described(kernel, needed, most, launches, compiled)
        if 1 < found.number == len(listed):
            requests = [each.planned.request for each in listed]
            before = [compiled[id(each)].result for each in listed]
            found = _compared(found, listed, compiled)
            advice, merged = advise(found, requests, before, pool, watch)
            variants = compared(found.variants, merged, _ranked(listed, compiled))
            found = msgspec.structs.replace(found, advice=advice, variants=variants)
    except _TimeIsUp:
        found = _compared(_described(kernel, needed, most, launches, compiled), listed, compiled)
        return msgspec.structs.replace(found, cut_short=True)
    return found


def _compared(
    found: KernelVariants, listed: Sequence[Needed], compiled: Mapping[int, Built]
) -> KernelVariants:
    """Return variants with the times of those that serve the same problem compared."""
    variants = compared(found.variants, [], _ranked(listed, compiled))
    return msgspec.structs.replace(found, variants=variants)


def _ranked(listed: Sequence[Needed], compiled: Mapping[int, Built]) -> Ranking:
    """Rank compiled variants, each among those with the same constexprs apart from tile sizes."""
    source = find_kernel(listed[0].planned.request.kernel)
    tiles = find_uses(parse_source(source.content.decode(errors="replace"))).ranges
    built = [compiled.get(id(each), Built(None)).result for each in listed]
    results = {number: each or Result(outcome="failed") for number, each in enumerate(built)}
    planned = [each.planned for each in listed]
    problems = [
        (sorted((name, repr(value)) for name, value in each.request.args.items()),
         [repr(p) for p in each.specialization
          if p.constexpr and p.name not in tiles and p.name not in each.options])
        for each in planned
    ]  # fmt: skip
    return rank([
        msgspec.structs.replace(of_trial(trial), problem=repr(problem))
        for trial, problem in zip(trials_of(planned, results), problems, strict=True)
    ])  # fmt: skip


def _launches(
    requests: Sequence[Request], axes: Mapping[str, Values], pool: WorkerPool
) -> Launches:
    """Return launches that need every variant, of the first request."""
    if not axes:
        return Launches([{}], 1)
    first = requests[0]
    values = {name: next(iter(each)) for name, each in axes.items()}
    one = {n: str(v.start) if isinstance(v, range) else v for n, v in values.items()}
    plan = plan_grid([msgspec.structs.replace(first, args=first.args | one)], pool)
    parameters = [each.name for each in plan.variants[0].specialization if not each.constexpr]
    description = find_kernel(first.kernel).description
    decided = [name for name in plan.decided if name not in first.settings]
    vendors = {request.target.vendor for request in requests}
    return launches_of(
        axes, description, first.settings, parameters, decided=decided, vendors=vendors
    )


def _compile(
    needed: Sequence[Needed], pool: WorkerPool, progress: Progress, compiled: dict[int, Built]
) -> None:
    """Add what becomes of each variant, by its ``id``: of the smallest tiles first."""
    source = find_kernel(needed[0].planned.request.kernel)
    tiles = find_uses(parse_source(source.content.decode(errors="replace"))).ranges
    sizes = [_sizes(each, tiles) for each in needed]
    order = sorted(range(len(needed)), key=lambda number: math.prod(sizes[number].values()))
    needed, sizes = [needed[at] for at in order], [sizes[at] for at in order]
    kinds = [_kind(each, tiles) for each in needed]
    larger = {
        one: [
            other for other in range(one + 1, len(needed))
            if kinds[other] == kinds[one] and _is_larger(sizes[other], sizes[one])
        ]
        for one in range(len(needed))
    }  # fmt: skip
    requests = [each.planned.request for each in needed]
    stream = stream_requests(
        source, requests, pool, lambda done, running: progress(done, len(requests)),
        timed=True, larger=larger,
    )  # fmt: skip
    for arrived in stream:
        compiled[id(needed[arrived.number])] = _built(requests[arrived.number], arrived)
    for each in needed:
        compiled.setdefault(id(each), Built(None, reason=_GIVEN_UP))


def _sizes(needed: Needed, tiles: set[str]) -> dict[str, int]:
    """Return the constexprs that are extents of tiles."""
    own = needed.planned.specialization
    return {
        each.name: each.value for each in own
        if each.constexpr and each.name in tiles and type(each.value) is int
    }  # fmt: skip


def _kind(needed: Needed, tiles: set[str]) -> object:
    """Return what else may decide whether a CTA fits: options, constexprs and types."""
    own = needed.planned.specialization
    others = [
        (each.name, repr(each.value)) if each.constexpr else (each.name, _type(each))
        for each in own
        if not (each.constexpr and each.name in tiles and type(each.value) is int)
    ]
    return others, sorted((name, repr(value)) for name, value in needed.planned.options.items())


def _type(specialized: Specialized) -> str:
    """Return the type of an argument, one for all integers."""
    text = specialized.type or "integer"
    return "integer" if text[0] in "iu" else text


def _is_larger(sizes: Mapping[str, int], than: Mapping[str, int]) -> bool:
    return sizes != than and all(sizes[name] >= than.get(name, 0) for name in sizes)


def _built(request: Request, arrived: Arrived) -> Built:
    result = arrived.result
    if result.figures is None:
        return Built(result)
    try:
        (compiled,) = capture(request)
        return Built(result, code_digest(compiled), arrived.seconds)
    except (IrlensError, ValueError):  # gone, or of several configurations
        return Built(result)


def _described(
    kernel: str,
    needed: Sequence[Needed],
    most: int,
    launches: Launches,
    compiled: Mapping[int, Built],
) -> KernelVariants:
    digests = [compiled[id(each)].digest if id(each) in compiled else None for each in needed]
    varying = {name for each in needed for name in each.planned.options
               if len({str(other.planned.options.get(name)) for other in needed}) > 1}  # fmt: skip
    variants = [
        _variant(each, compiled.get(id(each)), varying | {*LAUNCH_OPTIONS}, code)
        for each, code in zip(needed, same_code(digests), strict=True)
    ]
    first = needed[0].planned
    return KernelVariants(
        kernel=kernel,
        target=first.request.target,
        triton_version=version_of(first.triton),
        variants=variants[:most],
        splits=splits_of(variants),
        number=len(variants),
        launches=launches.number,
        bounded=launches.bounded,
    )


def _variant(needed: Needed, built: Built | None, options: set[str], code: int | None) -> Variant:
    planned, result = needed.planned, built.result if built is not None else None
    figures = (result.figures if result is not None else None) or {}
    registers = figures.get("registers")
    return Variant(
        specialization=list(planned.specialization),
        options={n: v for n, v in planned.options.items() if n in options and v is not None},
        launch=needed.launch,
        outcome=result.outcome if result is not None else None,
        reason=result.reason if result is not None else built.reason if built is not None else "",
        registers=registers if isinstance(registers, int) else None,
        time_us=figures.get("time"),
        compile_seconds=built.compile_seconds if built is not None else None,
        code=code,
    )
