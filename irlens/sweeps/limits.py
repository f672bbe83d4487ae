"""Finds the smallest sizes at which a kernel breaks: by powers of two, then by bisection."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType

import msgspec

from irlens.analyze import work
from irlens.artifacts.temporary_folders import TemporaryFolder
from irlens.compiler import KernelSource, Request, find_kernel
from irlens.compiler.planning import PlannedVariant
from irlens.compiler.sources.widening import operation_start, widened_versions
from irlens.compiler.toolchains import version_of
from irlens.model.errors import UnknownNameError
from irlens.model.limits import (
    LIMITS_SCHEMA,
    Cause,
    Edit,
    Fix,
    Limit,
    LimitKind,
    Limits,
    LimitSearch,
    SizeLimits,
)
from irlens.model.text import count
from irlens.sweeps.limit_probes import Evaluate, Probe, Prober
from irlens.sweeps.run import plan_grid
from irlens.sweeps.size_bounds import find_bounds
from irlens.sweeps.tile_covers import Derived, cover_of
from irlens.sweeps.worker_pool import WorkerPool

#: Sizes that are tried unless a range is given.
DEFAULT_RANGE = range(1, (1 << 32) + 1)
#: Steps of analysis that the launches of one size may take together, and those that are timed: of
#: the kernels of irlens none takes more than 3,500,000.
_STEPS = 5_000_000
#: Sizes that are guessed before the interval is halved: the limit, and the size below it.
_GUESSES = 6
#: Sizes that are tried together on the way up: a block that no GPU holds compiles for minutes.
_AHEAD = 2


def find_limits(
    request: Request,
    sizes: Mapping[str, range],
    pool: WorkerPool,
    evaluate: Evaluate,
    asked: LimitSearch,
    derived: Derived = MappingProxyType({}),
) -> Limits:
    """Return the limits of a kernel in each of some sizes.

    Args:
        request: The launch whose sizes vary; of an autotuned kernel its first configuration.

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
            return Prober(chosen, name, pool, evaluate, asked.progress, derived)

        with work.budget(_STEPS):
            prober = prober_of(fixed.kernel)
            limits = search(prober, name, numbers)
            cover = cover_of(fixed.kernel, name, prober.planned_names, limits.last)
            limits = msgspec.structs.replace(limits, cover=cover)
            if asked.details:
                limits = _fixed(limits, fixed.kernel, numbers, prober_of)
        if asked.details:
            with work.budget(_STEPS):
                limits = _timed(limits, fixed, pool, derived, asked.progress)
        found.append(limits)
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

    def moved(prober: Prober, size: int) -> tuple[Fix, Limit | None]:
        after = search(prober, found.name, range(size, numbers.stop))
        first = next((each for each in after.limits if not each.is_of_fixed_tensor), None)
        at, kind = (first.size, first.kind) if first is not None else (None, None)
        fix = Fix(edits=[], size=at, kind=kind, last=after.last, unknown=after.unknown)
        return fix, first

    limits = [
        msgspec.structs.replace(each, fix=fix_of(kernel, each, prober_of, moved))
        if each.kind == "overflow"
        else each
        for each in found.limits
    ]
    return msgspec.structs.replace(found, limits=limits)


def _timed(
    found: SizeLimits,
    request: Request,
    pool: WorkerPool,
    derived: Derived,
    progress: Callable[[str, int], None],
) -> SizeLimits:
    """Return the limits of one size with what binds the estimated time below them."""
    held = range(found.first, min((each.size for each in found.limits), default=found.last + 1))
    if not held:
        return found
    bounds, untimed = find_bounds(request, found.name, held, pool, derived, progress)
    return msgspec.structs.replace(found, bounds=bounds, untimed=untimed)


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
        alone=prober.is_alone,
    )


def _climbed(prober: Prober, name: str, tried: Sequence[int]) -> tuple[list[int], str]:
    """Return the sizes up to one that cannot be launched, or is unknown, and why it is."""
    known: list[int] = []
    prober.plan(tried)
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


def _guessed(prober: Prober, low: int, high: int) -> int:
    """Return the size between two at which the largest integer exceeds its type, if it is linear.

    Where what is largest is masked off it is not there: bisection finds the limit then.
    """
    least = prober.probes[low].reach if low in prober.probes else 0.0
    most = prober.probes[high].reach
    if not least < most:
        return (low + high) // 2
    guess = low + (high - low) * (1.0 - least) / (most - least)
    return min(max(round(guess), low + 1), high - 1)


def _bisected(prober: Prober, kind: LimitKind, low: int, high: int) -> tuple[Limit | None, str]:
    """Return the smallest size above ``low`` that breaks, and why it is unknown.

    Args:
        low: A size that does not, or one below the first.
    """
    guesses = _GUESSES if kind == "overflow" else 0
    while high - low > 1:
        middle = (low + high) // 2
        if guesses:
            middle, guesses = _guessed(prober, low, high), guesses - 1
        prober.probe([middle])
        probe = prober.probes[middle]
        if probe.unknown:
            return None, f"at {middle:,}: {probe.unknown}"
        low, high = (low, middle) if kind in probe.causes else (middle, high)
    is_exact = low not in prober.probes or prober.probes[low].is_whole
    cause = prober.probes[high].causes[kind]
    cause = msgspec.structs.replace(cause, fixed=prober.is_fixed(cause.argument))
    return Limit(kind=kind, size=high, cause=cause, is_exact=is_exact), ""


#: Edits of one fix at most: each access may compute its own offset.
_MOST_EDITS = 8
#: Overflows that are fixed one after the other: the sizes from there on are searched for each.
_MOST_ROUNDS = 3
#: Versions of an edit that are tried.
_MOST_VERSIONS = 4


def fix_of(
    kernel: str,
    limit: Limit,
    prober_of: Callable[[str], Prober],
    search: Callable[[Prober, int], tuple[Fix, Limit | None]],
) -> Fix:
    """Return what becomes of an overflow with wider integers.

    Where another overflow follows, its operands are wide, too, as long as that moves the limit.

    Args:
        search: Finds the next limit, from a size on.
    """
    source = find_kernel(kernel)
    text, edits, size = source.content.decode(errors="replace"), list[Edit](), limit.size
    cause: Cause | None = limit.cause
    found: list[Fix] = []
    while cause is not None and len(found) < _MOST_ROUNDS:
        if len(edits) == _MOST_EDITS:
            return _last(found, edits, f"{len(edits)} edits were not enough")
        if cause.at is None or cause.at.file != source.path.name:
            where = f"in {cause.at.file}" if cause.at is not None else "unknown"
            return _last(found, edits, f"the operation is {where}")
        reason = "no operand of the operation can be edited"
        versions = widened_versions(text, cause.at, cause.word)
        for (version, edit), _ in zip(versions, range(_MOST_VERSIONS), strict=False):
            with _copied(source, version) as copy:
                prober = prober_of(copy)
                prober.probe([size])
                probe = prober.probes[size]
                if reason := _refused(probe, cause, text, version):
                    continue
                text, cause = version, probe.causes.get("overflow")
                edits.append(edit)
                if cause is None:
                    fix, following = search(prober, size)
                    found.append(msgspec.structs.replace(fix, edits=[*edits]))
                    if following is not None and following.kind == "overflow":
                        cause, size = following.cause, following.size
                break
        else:
            return _last(found, edits, reason)
    return _last(found, edits, "")


def _last(found: Sequence[Fix], edits: list[Edit], reason: str) -> Fix:
    """Return the last fix of an overflow; without one, why there is none."""
    return found[-1] if found else Fix(edits=edits, unknown=reason)


def _refused(probe: Probe, cause: Cause, text: str, version: str) -> str:
    """Return why a version of a file is no fix of an operation; empty if it is one."""
    if probe.unknown:
        return probe.unknown
    if "compile" in probe.causes:
        return probe.causes["compile"].reason
    overflow = probe.causes.get("overflow")
    if overflow is None or cause.at is None or overflow.at is None:
        return ""
    if (overflow.at.file, overflow.word) != (cause.at.file, cause.word):
        return ""
    start = operation_start(text, cause.at, cause.word)
    same = start == operation_start(version, overflow.at, cause.word)
    return "it overflows as before" if same else ""


@contextmanager
def _copied(source: KernelSource, text: str) -> Iterator[str]:
    """Yield KERNEL of an edited copy of a file, which imports what the file does."""
    top = source.path.parent
    while (top / "__init__.py").is_file():
        top = top.parent
    with TemporaryFolder() as temporary:
        folder, original = Path(temporary), top
        for part in source.path.relative_to(top).parts:
            for each in original.iterdir():
                if each.name != part and each.name != "__pycache__":
                    (folder / each.name).symlink_to(each)
            folder, original = folder / part, original / part
            if original != source.path:
                folder.mkdir()
        folder.write_text(text)
        yield f"{folder}:{source.function}"
