"""Finds the smallest sizes at which a kernel breaks: by powers of two, then by bisection."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

import msgspec

from irlens import gpus
from irlens.compiler import Request, capture, find_kernel
from irlens.compiler.calls.binding import evaluate_formula
from irlens.compiler.planning import PlannedVariant
from irlens.compiler.toolchains.versions import version_of
from irlens.model.capture import Capture
from irlens.model.config import GridFormula
from irlens.model.errors import IrlensError, UnknownNameError
from irlens.model.limits import LIMITS_SCHEMA, Cause, Limit, LimitKind, Limits, SizeLimits
from irlens.model.text import count
from irlens.report.inspection import Inspection
from irlens.sweeps.run import plan_grid
from irlens.sweeps.tasks import Compiled, decode_answer, encode_task, run_compile
from irlens.sweeps.worker_pool import Crash, Job, WorkerPool, run_jobs

#: Sizes that are tried unless a range is given.
DEFAULT_RANGE = range(1, (1 << 32) + 1)
#: Number of sizes in one planning request.
_TOGETHER = 8
#: Sizes that are tried together on the way up: a block that no GPU holds compiles for minutes.
_AHEAD = 2
#: Seconds after which a compilation is abandoned.
_PATIENCE = 60.0
#: Limits above which nothing is launched.
_FINAL = frozenset({"compile", "fit"})


class Probe(msgspec.Struct, frozen=True):
    """A launch of one size: what breaks, whether that is so of all programs, or why unknown."""

    causes: dict[LimitKind, Cause] = {}
    is_whole: bool = True
    unknown: str = ""


#: Evaluates a launch of a compiled variant, with its grid; in every program, if there are not too
#: many.
Evaluate: TypeAlias = Callable[[Capture, PlannedVariant, tuple[int, int, int], bool], Probe]


def find_limits(
    request: Request,
    sizes: Mapping[str, range],
    pool: WorkerPool,
    evaluate: Evaluate,
    progress: Callable[[str, int], None] = lambda name, size: None,
) -> Limits:
    """Return the limits of a kernel in each of some sizes.

    Args:
        request: The launch whose sizes vary; of an autotuned kernel its first configuration.
        sizes: The sizes, and what each ranges over.
        evaluate: Evaluates a launch of a compiled variant.
        progress: Receives the size's name and value.

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
        prober = _Prober(fixed, name, pool, evaluate, progress)
        found.append(_search(prober, name, numbers))
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


class _Prober:
    """Evaluates launches of several sizes, each once."""

    def __init__(
        self,
        request: Request,
        name: str,
        pool: WorkerPool,
        evaluate: Evaluate,
        progress: Callable[[str, int], None],
    ) -> None:
        self._request, self._name, self._pool = request, name, pool
        self._evaluate, self._progress = evaluate, progress
        self._compiled: dict[bytes, Probe | Capture] = {}
        self.probes: dict[int, Probe] = {}
        self._whole: dict[int, Probe] = {}

    def whole(self, size: int) -> Probe:
        """Return what breaks in any program of a launch, as far as these are not too many."""
        if size not in self._whole:
            self._progress(self._name, size)
            (planned,) = self._planned([size]).values()
            if isinstance(planned, PlannedVariant):
                self._compile([planned])
                planned = self._evaluated(planned, every=True)
            self._whole[size] = planned
        return self._whole[size]

    def probe(self, sizes: Iterable[int]) -> None:
        """Evaluate launches of sizes that were not evaluated before, of many programs some."""
        new = [size for size in dict.fromkeys(sizes) if size not in self.probes]
        for at in range(0, len(new), _TOGETHER):
            some = new[at : at + _TOGETHER]
            planned = self._planned(some)
            self._compile([each for each in planned.values() if isinstance(each, PlannedVariant)])
            for size, each in planned.items():
                self._progress(self._name, size)
                self.probes[size] = each if isinstance(each, Probe) else self._evaluated(each)

    def _planned(self, sizes: Sequence[int]) -> dict[int, PlannedVariant | Probe]:
        requests = [
            msgspec.structs.replace(
                self._request, args=self._request.args | {self._name: str(size)}
            )
            for size in sizes
        ]
        try:
            variants = plan_grid(requests, self._pool).variants
        except IrlensError as error:
            if len(sizes) == 1:
                return {sizes[0]: Probe(unknown=error.message)}
            return {n: each for size in sizes for n, each in self._planned([size]).items()}
        return {int(str(each.request.args[self._name])): each for each in variants}

    def _compile(self, planned: Sequence[PlannedVariant]) -> None:
        missing = {_key(each): each.request for each in planned if _key(each) not in self._compiled}
        if not missing:
            return
        source, keys = find_kernel(self._request.kernel), list(missing)
        # Not inspected: to count what a launch of the largest sizes moves takes minutes.
        jobs = deque(
            Job(run_compile, encode_task(source, [request]), (index,), _PATIENCE)
            for index, request in enumerate(missing.values())
        )
        for job, answer in run_jobs(self._pool, jobs):
            key = keys[job.numbers[0]]
            self._compiled[key] = _failed(answer) or capture(missing[key])[0]

    def _evaluated(self, planned: PlannedVariant, *, every: bool = False) -> Probe:
        compiled = self._compiled[_key(planned)]
        if isinstance(compiled, Probe):
            return compiled
        occupancy = Inspection(compiled).occupancy
        if occupancy is not None and not occupancy.launchable:
            exceeded = ", ".join(each.replace("_", " ") for each in occupancy.limited_by)
            return Probe({"fit": Cause(reason=f"a CTA exceeds the GPU's {exceeded}")})
        try:
            grid = _grid(planned, occupancy.blocks_per_sm if occupancy is not None else None)
        except IrlensError as error:
            return Probe(unknown=error.message)
        if grid is None:
            return Probe(unknown="the grid of the launch is not known")
        over = _over(grid, compiled)
        probe = self._evaluate(compiled, planned, grid, every)
        return msgspec.structs.replace(probe, causes=probe.causes | over)


def _failed(answer: bytes | Crash) -> Probe | None:
    """Return the probe of a variant that did not compile; ``None`` if it did."""
    if isinstance(answer, Crash):
        if answer.timed_out:
            return Probe(unknown=f"the compilation was {answer.reason}")
        return Probe({"compile": Cause(reason=answer.reason)})
    failed = decode_answer(answer, Compiled).failed
    if failed is None:
        return None
    return Probe({"compile": Cause(reason=failed.reason.partition("\n")[0])})


def _key(planned: PlannedVariant) -> bytes:
    return msgspec.msgpack.encode((planned.specialization, sorted(planned.options.items())))


def _grid(planned: PlannedVariant, blocks_per_sm: int | None) -> tuple[int, int, int] | None:
    description = find_kernel(planned.request.kernel).description
    described = description.grid if description is not None else ()
    formula = GridFormula(planned.request.grid or described, planned.names)
    return evaluate_formula(formula, blocks_per_sm)


def _over(grid: tuple[int, int, int], compiled: Capture) -> dict[LimitKind, Cause]:
    """Return the dimension of a grid that has more CTAs than the GPU takes."""
    target = compiled.target
    if target is None:
        return {}
    threads = (compiled.config.num_warps or 1) * target.warp_size
    limits = gpus.by_arch(target.arch).arch.most_in_grid(threads)
    for axis, extent, most in zip("xyz", grid, limits, strict=True):
        if extent > most:
            return {"grid": Cause(word=axis, value=extent, most=most)}
    return {}


def _search(prober: _Prober, name: str, numbers: range) -> SizeLimits:
    """Return the limits of one size."""
    first, last = numbers.start, numbers.stop - 1
    steps = [first, *(1 << p for p in range(first.bit_length(), last.bit_length())), last]
    tried = sorted({each for each in steps if first <= each <= last})
    known: list[int] = []
    unknown = ""
    for at in range(0, len(tried), _AHEAD):
        prober.probe(tried[at : at + _AHEAD])
        for size in tried[at : at + _AHEAD]:
            if prober.probes[size].unknown:
                unknown = f"at {name}={count(size)}: {prober.probes[size].unknown}"
                break
            known.append(size)
        if unknown or _FINAL & prober.probes[known[-1]].causes.keys():
            break
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
    )


def _bisected(prober: _Prober, kind: LimitKind, low: int, high: int) -> tuple[Limit | None, str]:
    """Return the smallest size above ``low`` that breaks, and why it is unknown.

    Args:
        prober: Evaluates launches.
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


def _exact(prober: _Prober, kind: LimitKind, found: int) -> Limit:
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
    for part in range(1, _TOGETHER + 1):
        size = low + (high - low) * part // (_TOGETHER + 1)
        if low < size < high:
            yield size
