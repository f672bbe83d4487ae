"""Compiles and inspects the configurations of a sweep in its workers."""

import math
import re
import time
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from irlens.compiler import KernelSource, Request, find_kernel
from irlens.compiler.calls.binding import evaluate_formula
from irlens.compiler.planning import PlannedVariant
from irlens.model.config import LAUNCH_OPTIONS, GridFormula, identity_of
from irlens.model.errors import IrlensError
from irlens.model.sweep import Outcome, Result, from_error
from irlens.sweeps.journal import Journal
from irlens.sweeps.tasks import (
    Compiled,
    Handler,
    decode_answer,
    encode_task,
    run_compile,
    run_inspect,
    run_list,
)
from irlens.sweeps.worker_pool import Crash, Job, Running, WorkerPool, run_jobs

#: Receives how many are compiled, and the running configurations, by index, with their seconds.
Watch: TypeAlias = Callable[[int, Sequence[tuple[int, float]]], None]

#: Configurations that are disassembled together: nvdisasm's start takes longer than their code.
_TOGETHER = 48
#: The fewest of the last configurations that a worker disassembles: each start of nvdisasm takes as
#: long as inspecting two.
_FEWEST = 4
#: The fewest that a worker disassembles for all workers, which then share out inspecting them.
_SHARED = 8
#: What the compiler says of a tile that is too large.
_TOO_LARGE = re.compile(r"exceeds|out of resource", re.IGNORECASE)
#: Seconds after which a configuration is inspected alone where results are taken as they come.
_PATIENCE = 1.0


class Arrived(NamedTuple):
    """A result.

    Attributes:
        number: The index of its request.
        lasts: Whether the same would come again; not where a worker crashed.
        seconds: How long compiling took, if it was timed: not of what the store had.
    """

    number: int
    result: Result
    lasts: bool = True
    seconds: float | None = None


def compile_variants(
    source: KernelSource,
    variants: Sequence[PlannedVariant],
    pool: WorkerPool,
    journal: Journal,
    watch: Watch,
    timeout: float,
) -> dict[int, Result]:
    """Return the result of each variant by its index.

    Args:
        journal: Has the results of an interrupted run, and receives the others.
        timeout: Seconds after which the compilation of a configuration is abandoned.

    Raises:
        IrlensError: Each variant fails for a reason that is not its configuration, or the workers
            cannot run tasks at all.
    """
    results = journal.results()
    requests = [each.request for each in variants]
    terms = _Terms(timeout=timeout, known=results)
    for each in _stream(source, requests, pool, watch, terms):
        results[each.number] = each.result
        if each.lasts:
            journal.add_result(each.number, each.result)
    return results


def stream_requests(
    source: KernelSource,
    requests: Sequence[Request],
    pool: WorkerPool,
    watch: Watch,
    *,
    timed: bool = False,
    larger: Mapping[int, Collection[int]] | None = None,
) -> Iterator[Arrived]:
    """Yield the result of each request soon after it is compiled.

    Each request selects one configuration. Leaving the iteration leaves the running tasks to the
    pool.

    Args:
        larger: Requests with larger tiles than one, by its index. Once that one is too large, those
            that no worker has begun are given up, and have no result.

    Raises:
        IrlensError: As ``compile_variants``.
    """
    terms = _Terms(patience=_PATIENCE, timed=timed, larger=larger or {})
    return _stream(source, requests, pool, watch, terms)


def compile_each(
    source: KernelSource, requests: Mapping[bytes, Request], pool: WorkerPool, timeout: float
) -> dict[bytes, Result]:
    """Compile requests into the store, and inspect none; return the results of those that fail."""
    keys = list(requests)
    jobs = deque(
        Job(run_compile, encode_task(source, [request]), (index,), timeout)
        for index, request in enumerate(requests.values())
    )
    answers = {keys[job.numbers[0]]: answer for job, answer in run_jobs(pool, jobs)}
    failures: dict[bytes, Result] = {}
    for key, answer in answers.items():
        failed = (
            _crashed(answer)
            if isinstance(answer, Crash)
            else decode_answer(answer, Compiled).failed
        )
        if failed is not None:
            failures[key] = failed
    return failures


def specialization_key(planned: PlannedVariant) -> bytes:
    """Return what equals for launches of the same compiled code."""
    return identity_of((planned.specialization, sorted(planned.options.items())))


def grid_of(planned: PlannedVariant, blocks_per_sm: int | None) -> tuple[int, int, int] | None:
    """Return the CTAs of a launch in x, y and z; ``None`` where the grid is unknown.

    A grid of as many CTAs as fit is unknown where none does.

    Raises:
        CaptureError: An expression of the grid is invalid, or its value too large.
    """
    description = find_kernel(planned.request.kernel).description
    described = description.grid if description is not None else ()
    formula = GridFormula(planned.request.grid or described, planned.names)
    return evaluate_formula(formula, blocks_per_sm or None)


def _crashed(crash: Crash) -> Result:
    outcome: Outcome = "timed out" if crash.timed_out else "died"
    return Result(outcome=outcome, reason=crash.reason, hint=crash.last_line)


class _Terms(NamedTuple):
    """How requests are compiled.

    Attributes:
        timeout: Seconds after which the compilation of one is abandoned.
        patience: Seconds for which what is compiled may wait for others to be inspected with.
        known: Those that need none, by their indices.
        larger: Those that are given up once one is too large, by its index.
    """

    timeout: float = math.inf
    patience: float = math.inf
    known: Collection[int] = ()
    timed: bool = False
    larger: Mapping[int, Collection[int]] = MappingProxyType({})


def _stream(
    source: KernelSource,
    requests: Sequence[Request],
    pool: WorkerPool,
    watch: Watch,
    terms: _Terms,
) -> Iterator[Arrived]:
    compilation = _Compilation(source, requests, pool, terms)

    def report(running: Sequence[Running]) -> None:
        now = time.monotonic()
        current = [(each.job.numbers[0], now - each.since) for each in running]
        watch(compilation.done, current)

    report([])
    for job, answer in run_jobs(pool, compilation.jobs, watch=report):
        compilation.take(job, answer)
        while compilation.fresh:
            yield compilation.fresh.popleft()
    report([])
    if len(compilation.failures) == len(requests):
        raise compilation.failures[0]


class _Compilation:
    """Requests on their way through the workers.

    Each is compiled by a job of its own, which finds what crashes the compiler. Several are then
    disassembled together, and the workers share them out for inspection; few are inspected by
    the job that disassembles them. Workers without a common store do all in one job.

    Attributes:
        failures: Those that are not due to a configuration.
    """

    def __init__(
        self,
        source: KernelSource,
        requests: Sequence[Request],
        pool: WorkerPool,
        terms: _Terms,
    ) -> None:
        self._source, self._requests, self._terms = source, requests, terms
        self.fresh = deque[Arrived]()
        self.failures: list[IrlensError] = []
        self._finished = set(terms.known)
        left = [number for number in range(len(requests)) if number not in self._finished]
        share = math.ceil(len(left) / pool.width)
        self._together = (_TOGETHER if share >= _SHARED else share) if pool.shares_store else 1
        apart = pool.shares_store and (terms.timed or self._together > 1)
        first = run_compile if apart else run_inspect
        self._lists = any(requests[number].target.vendor == "nvidia" for number in left)
        self._width, self._inspecting = pool.width, 0
        self.jobs = deque(self._job(first, [number]) for number in left)
        self._compiling = len(left) if apart else 0
        self._compiled: set[int] = set()
        self._seconds: dict[int, float | None] = {}
        self._waiting: list[int] = []  # to be inspected
        self._inspected_at = time.monotonic()

    @property
    def done(self) -> int:
        """Number of requests that are compiled: all that takes long."""
        return len(self._compiled | self._finished)

    def _job(self, handler: Handler, numbers: Sequence[int], instructions: bytes = b"") -> Job:
        self._inspecting += handler is not run_compile
        requests = [self._requests[number] for number in numbers]
        task = encode_task(self._source, requests, instructions=instructions)
        return Job(handler, task, tuple(numbers), self._terms.timeout * len(numbers))

    def take(self, job: Job, answer: bytes | Crash) -> None:
        """Take the answer of a job, and add the jobs that follow from it."""
        compiling = job.handler is run_compile
        self._compiling -= compiling
        self._inspecting -= not compiling
        try:
            if isinstance(answer, Crash):
                self._take_failure(job, answer)
            elif compiling:
                self._take_compiled(job.numbers[0], decode_answer(answer, Compiled))
            elif job.handler is run_list:
                self._take_listed(job.numbers, decode_answer(answer, bytes))
            else:
                self._take_results(job.numbers, decode_answer(answer, list[Result]))
        except IrlensError as error:
            self._take_failure(job, error)
        now = time.monotonic()
        late = now - self._inspected_at >= self._terms.patience
        while self._waiting:
            size = self._share()
            if not late and len(self._waiting) < size and self._compiling > 0:
                break
            due, self._waiting = self._waiting[:size], self._waiting[size:]
            handler = run_list if self._lists and len(due) >= _SHARED else run_inspect
            self.jobs.appendleft(self._job(handler, due))
            self._inspected_at = now

    def _share(self) -> int:
        """Return how many configurations to disassemble in one job.

        Once none waits to be compiled, the rest is divided among the workers that inspect nothing.
        """
        if any(job.handler is run_compile for job in self.jobs):
            return self._together
        left, free = len(self._waiting) + self._compiling, self._width - self._inspecting
        return min(self._together, max(math.ceil(left / max(free, 1)), _FEWEST))

    def _take_listed(self, numbers: Sequence[int], instructions: bytes) -> None:
        """Add jobs that inspect some requests, ever smaller ones: the workers end together.

        Those of equal tiles come in a row, since a worker remembers what their programs access.
        """
        parts: list[Job] = []
        left = sorted(numbers, key=self._tiles)
        while left:
            size = math.ceil(len(left) / self._width / 2)
            parts.append(self._job(run_inspect, left[:size], instructions))
            left = left[size:]
        self.jobs.extendleft(reversed(parts))

    def _tiles(self, number: int) -> str:
        settings = self._requests[number].settings.items()
        return str(sorted(each for each in settings if each[0] not in LAUNCH_OPTIONS))

    def _take_compiled(self, number: int, answer: Compiled) -> None:
        failed, self._seconds[number] = answer.failed, answer.seconds
        if failed is None:
            self._compiled.add(number)
            self._waiting.append(number)
        else:
            self._take_results([number], [failed])

    def _take_results(
        self, numbers: Sequence[int], results: Sequence[Result], *, last: bool = True
    ) -> None:
        self.fresh += [
            Arrived(number, result, last, self._seconds.get(number))
            for number, result in zip(numbers, results, strict=True)
        ]
        self._finished |= set(numbers)
        for number, result in zip(numbers, results, strict=True):
            if number in self._terms.larger and is_too_large(result):
                self._give_up(frozenset(self._terms.larger[number]) - self._compiled)

    def _give_up(self, numbers: frozenset[int]) -> None:
        """Take back the jobs of requests that no worker has begun."""
        for job in [job for job in self.jobs if numbers.issuperset(job.numbers)]:
            self.jobs.remove(job)
            self._compiling -= job.handler is run_compile
            self._finished |= set(job.numbers)

    def _take_failure(self, job: Job, failure: Crash | IrlensError) -> None:
        if len(job.numbers) > 1:
            # Each is inspected alone: one of them, or all together, are too much.
            self.jobs += [self._job(run_inspect, [number]) for number in job.numbers]
        elif isinstance(failure, Crash):
            self._take_results(job.numbers, [_crashed(failure)], last=False)
        else:
            self.failures.append(failure)
            self._take_results(job.numbers, [from_error(failure)], last=False)


def is_too_large(result: Result) -> bool:
    """Whether a CTA does not fit, or a tile has more elements than the compiler takes."""
    is_refused = result.outcome == "failed" and _TOO_LARGE.search(result.reason) is not None
    return is_refused or result.outcome == "does not fit"
