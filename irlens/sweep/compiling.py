"""Compiles and inspects the configurations of a sweep in its workers."""

import math
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import TypeAlias

from irlens.compiler import KernelSource
from irlens.compiler.planning import PlannedVariant
from irlens.model.errors import IrlensError
from irlens.sweep.journal import Journal
from irlens.sweep.tasks import (
    Compiled,
    Handler,
    Inspected,
    Result,
    decode_answer,
    encode_task,
    from_error,
    run_compile,
    run_inspect,
)
from irlens.sweep.workers import Crash, Job, Running, WorkerPool, run_jobs

#: Receives how many are compiled, and the running configurations, by index, with their seconds.
Watch: TypeAlias = Callable[[int, Sequence[tuple[int, float]]], None]

#: Configurations that are inspected together, since nvdisasm's start takes longer than their code.
_TOGETHER = 16


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
        source: Their kernel.
        variants: The variants.
        pool: The workers.
        journal: Has the results of an interrupted run, and receives the others.
        watch: Sees the progress.
        timeout: Seconds after which the compilation of a configuration is abandoned.

    Raises:
        IrlensError: Each variant fails for a reason that is not its configuration, or the workers
            cannot run tasks at all.
    """
    compilation = _Compilation(source, variants, pool, journal, timeout)

    def report(running: Sequence[Running]) -> None:
        now = time.monotonic()
        current = [(each.job.numbers[0], now - each.since) for each in running]
        watch(compilation.done, current)

    report([])
    for job, answer in run_jobs(pool, compilation.jobs, watch=report):
        compilation.take(job, answer)
    report([])
    if len(compilation.failures) == len(variants):
        raise compilation.failures[0]
    return compilation.results


class _Compilation:
    """The variants on their way through the workers.

    Each is compiled by a job of its own, which finds what crashes the compiler; several are then
    inspected together. Workers without a common store do both in one job.

    Attributes:
        jobs: What is left to submit.
        results: The result of each variant, by index.
        failures: Those that are not due to a configuration.
    """

    def __init__(
        self,
        source: KernelSource,
        variants: Sequence[PlannedVariant],
        pool: WorkerPool,
        journal: Journal,
        timeout: float,
    ) -> None:
        self._source, self._variants = source, variants
        self._journal, self._timeout = journal, timeout
        self.results = journal.results()
        self.failures: list[IrlensError] = []
        left = [number for number in range(len(variants)) if number not in self.results]
        share = math.ceil(len(left) / pool.width)
        self._together = min(_TOGETHER, share) if pool.shares_store else 1
        first = run_compile if self._together > 1 else run_inspect
        self.jobs = deque(self._job(first, [number]) for number in left)
        self._compiling = len(left) if self._together > 1 else 0
        self._compiled: set[int] = set()
        self._waiting: list[int] = []  # to be inspected

    @property
    def done(self) -> int:
        """Number of variants that are compiled: all that takes long."""
        return len(self._compiled | self.results.keys())

    def _job(self, handler: Handler, numbers: Sequence[int]) -> Job:
        requests = [self._variants[number].request for number in numbers]
        task = encode_task(self._source, requests)
        return Job(handler, task, tuple(numbers), self._timeout * len(numbers))

    def take(self, job: Job, answer: bytes | Crash) -> None:
        """Take the answer of a job, and add the jobs that follow from it."""
        compiling = job.handler is run_compile
        self._compiling -= compiling
        try:
            if isinstance(answer, Crash):
                self._take_failure(job, answer)
            elif compiling:
                self._take_compiled(job.numbers[0], decode_answer(answer, Compiled).failed)
            else:
                self._take_results(job.numbers, decode_answer(answer, Inspected).results)
        except IrlensError as error:
            self._take_failure(job, error)
        full = len(self._waiting) >= self._together
        if self._waiting and (full or self._compiling == 0):
            self.jobs.appendleft(self._job(run_inspect, self._waiting))
            self._waiting = []

    def _take_compiled(self, number: int, failed: Result | None) -> None:
        if failed is None:
            self._compiled.add(number)
            self._waiting.append(number)
        else:
            self._take_results([number], [failed])

    def _take_results(self, numbers: Sequence[int], results: Sequence[Result]) -> None:
        for number, result in zip(numbers, results, strict=True):
            self.results[number] = result
            self._journal.add_result(number, result)

    def _take_failure(self, job: Job, failure: Crash | IrlensError) -> None:
        if len(job.numbers) > 1:
            # Each variant is inspected alone: one of them, or all together, are too much.
            self.jobs += [self._job(run_inspect, [number]) for number in job.numbers]
        elif isinstance(failure, Crash):
            self.results[job.numbers[0]] = Result(
                outcome="timed out" if failure.timed_out else "died",
                reason=failure.reason,
                hint=failure.last_line,
            )
        else:
            self.failures.append(failure)
            self.results[job.numbers[0]] = from_error(failure)
