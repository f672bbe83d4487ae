"""Finds the smallest sizes at which a kernel breaks: by powers of two, then by bisection."""

from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec

from irlens.compiler import Request, find_kernel
from irlens.compiler.planning import PlannedVariant
from irlens.compiler.toolchains.versions import version_of
from irlens.model.errors import UnknownNameError
from irlens.model.limits import LIMITS_SCHEMA, Fix, Limit, LimitKind, Limits, SizeLimits
from irlens.model.text import count
from irlens.sweeps.limit_fixes import fix_of
from irlens.sweeps.limit_probes import TOGETHER, Evaluate, Probe, Prober
from irlens.sweeps.run import plan_grid
from irlens.sweeps.worker_pool import WorkerPool

#: Sizes that are tried unless a range is given.
DEFAULT_RANGE = range(1, (1 << 32) + 1)
#: Sizes that are tried together on the way up: a block that no GPU holds compiles for minutes.
_AHEAD = 2


def find_limits(
    request: Request,
    sizes: Mapping[str, range],
    pool: WorkerPool,
    evaluate: Evaluate,
    progress: Callable[[str, int], None] = lambda name, size: None,
    *,
    fixes: bool = True,
) -> Limits:
    """Return the limits of a kernel in each of some sizes.

    Args:
        request: The launch whose sizes vary; of an autotuned kernel its first configuration.
        sizes: The sizes, and what each ranges over.
        evaluate: Evaluates a launch of a compiled variant.
        progress: Receives the size's name and value.
        fixes: Whether to apply the fix of an overflow to a copy of the file.

    Raises:
        UnknownNameError: There is no such size.
        IrlensError: The kernel cannot be loaded.
    """
    first = plan_grid([request], pool).variants[0]
    for name in sizes:
        if not isinstance(first.names.get(name), int) or name in first.options:
            known = [n for n, v in first.names.items() if _is_size(n, v, first)]
            raise UnknownNameError("size", name, known)
    fixed = msgspec.structs.replace(request, settings=request.settings | first.request.settings)
    found = []
    for name, numbers in sizes.items():

        def prober_of(kernel: str, name: str = name) -> Prober:
            chosen = msgspec.structs.replace(fixed, kernel=kernel)
            return Prober(chosen, name, pool, evaluate, progress)

        limits = search(prober_of(fixed.kernel), name, numbers)
        found.append(_fixed(limits, fixed.kernel, numbers, prober_of) if fixes else limits)
    return Limits(
        schema=LIMITS_SCHEMA,
        kernel=find_kernel(request.kernel).function,
        target=request.target,
        triton_version=version_of(first.triton),
        sizes=found,
    )


def sizes_of(request: Request, pool: WorkerPool) -> list[str]:
    """Return the names of a launch's sizes: of the description, else integer arguments."""
    first = plan_grid([request], pool).variants[0]
    described = find_kernel(request.kernel).description
    names = described.sizes if described is not None and described.sizes else first.names
    return [name for name in names if _is_size(name, first.names.get(name), first)]


def _is_size(name: str, value: object, planned: PlannedVariant) -> bool:
    constexprs = {each.name for each in planned.specialization if each.constexpr}
    is_option = name in planned.options or name in constexprs or name == "sm_count"
    return type(value) is int and not is_option


def _fixed(
    found: SizeLimits, kernel: str, numbers: range, prober_of: Callable[[str], Prober]
) -> SizeLimits:
    """Return the limits of one size, that of an overflow with its fix."""

    def moved(prober: Prober, size: int) -> Fix:
        after = search(prober, found.name, range(size, numbers.stop))
        first = after.limits[0] if after.limits else None
        return Fix(
            edits=[],
            size=first.size if first is not None else None,
            kind=first.kind if first is not None else None,
            last=after.last,
            unknown=after.unknown,
        )

    limits = [
        msgspec.structs.replace(each, fix=fix_of(kernel, each, prober_of, moved))
        if each.kind == "overflow"
        else each
        for each in found.limits
    ]
    return msgspec.structs.replace(found, limits=limits)


def search(prober: Prober, name: str, numbers: range) -> SizeLimits:
    """Return the limits of one size."""
    first, last = numbers.start, numbers.stop - 1
    steps = [first, *(1 << p for p in range(first.bit_length(), last.bit_length())), last]
    tried = sorted({each for each in steps if first <= each <= last})
    known, unknown = _climbed(prober, name, tried)
    if known and not prober.probes[known[-1]].is_launched:
        known, reason = _largest_launched(prober, known, first)
        unknown = unknown or reason
    limits = []
    for kind in dict.fromkeys(kind for each in known for kind in prober.probes[each].causes):
        at = next(n for n, size in enumerate(known) if kind in prober.probes[size].causes)
        low, high = known[at - 1] if at else known[0] - 1, known[at]
        limit, reason = _bisected(prober, kind, low, high)
        unknown = unknown or reason
        if limit is not None:
            limits.append(limit)
    return SizeLimits(
        name=name,
        first=first,
        last=known[-1] if known else first,
        limits=sorted(limits, key=lambda each: each.size),
        unknown=unknown,
        sampled=not all(prober.probes[each].is_whole for each in known),
    )


def _climbed(prober: Prober, name: str, tried: Sequence[int]) -> tuple[list[int], str]:
    """Return the sizes up to one that cannot be launched, or is unknown, and why it is."""
    known: list[int] = []
    for at in range(0, len(tried), _AHEAD):
        prober.probe(tried[at : at + _AHEAD])
        for size in tried[at : at + _AHEAD]:
            if prober.probes[size].unknown:
                return known, f"at {name}={count(size)}: {prober.probes[size].unknown}"
            known.append(size)
            if not prober.probes[size].is_launched:
                return known, ""
    return known, ""


def _largest_launched(prober: Prober, known: list[int], first: int) -> tuple[list[int], str]:
    """Return sizes of which the last cannot be launched, with the largest below that can be.

    What breaks between the power of two below and there would be missed otherwise.
    """
    *lower, high = known
    (kind,) = prober.probes[high].causes
    limit, unknown = _bisected(prober, kind, lower[-1] if lower else first - 1, high)
    if limit is None or limit.size == first:
        return known, unknown
    below = limit.size - 1
    prober.probe([below])
    if prober.probes[below].unknown:
        return known, f"at {count(below)}: {prober.probes[below].unknown}"
    return list(dict.fromkeys((*lower, below, limit.size, high))), ""


def _bisected(prober: Prober, kind: LimitKind, low: int, high: int) -> tuple[Limit | None, str]:
    """Return the smallest size above ``low`` that breaks, and why it is unknown.

    Args:
        kind: What breaks.
        low: A size that does not, or one below the first.
        high: A size that does.
    """
    while high - low > 1:
        parts = list(_between(low, high))
        prober.probe(parts)
        for size in parts:
            if prober.probes[size].unknown:
                return None, f"at {size:,}: {prober.probes[size].unknown}"
        broken = [size for size in parts if kind in prober.probes[size].causes]
        if broken:
            high = broken[0]
        low = max((size for size in (low, *parts) if size < high), default=low)
    probe = prober.probes[high]
    if probe.is_whole:
        return Limit(kind=kind, size=high, cause=probe.causes[kind]), ""
    return _exact(prober, kind, high), ""


def _exact(prober: Prober, kind: LimitKind, found: int) -> Limit:
    """Return the smallest size that breaks in any program, from one that breaks in some."""
    inexact = Limit(kind=kind, size=found, cause=prober.probes[found].causes[kind], is_exact=False)
    high, step = found, 1
    while True:  # down in steps that double, to a size that holds
        low = max(0, high - step)
        probe = prober.whole(low) if low else Probe()
        if probe.unknown or not probe.is_whole:
            return inexact
        if kind not in probe.causes:
            break
        high, step = low, step * 2
    while high - low > 1:
        middle = (low + high) // 2
        probe = prober.whole(middle)
        if probe.unknown or not probe.is_whole:
            return inexact
        low, high = (low, middle) if kind in probe.causes else (middle, high)
    last = prober.whole(high)
    return Limit(
        kind=kind, size=high, cause=last.causes.get(kind, inexact.cause),
        is_exact=kind in last.causes,
    )  # fmt: skip


def _between(low: int, high: int) -> Iterator[int]:
    """Yield sizes that cut an interval into equal parts, as many as are planned together."""
    for part in range(1, TOGETHER + 1):
        size = low + (high - low) * part // (TOGETHER + 1)
        if low < size < high:
            yield size
