"""Configurations on their way through the workers, whose answers are written by hand."""

import math
from collections.abc import Callable, Sequence
from concurrent.futures import BrokenExecutor, Future
from typing import TypeAlias

import msgspec
import pytest

from irlens import gpus
from irlens.artifacts.processes import Refused
from irlens.compiler import Request, find_kernel
from irlens.compiler.planning import Plan, PlannedVariant
from irlens.model.config import Target
from irlens.model.errors import IrlensError
from irlens.model.sweep import Result
from irlens.sweeps.compiling import compile_variants
from irlens.sweeps.journal import Journal
from irlens.sweeps.tasks import (
    Answered,
    Compiled,
    Handler,
    Task,
    run_compile,
    run_inspect,
    run_list,
)
from irlens.sweeps.worker_pool import Crash

#: What a worker answers of configurations; ``None`` for one that it does not survive.
Work: TypeAlias = Callable[[Handler, list[int]], Compiled | list[Result] | Refused | None]


def result(number: int) -> Result:
    return Result(outcome="fits", reason=str(number))


def work(handler: Handler, numbers: list[int]) -> Compiled | list[Result] | Refused | None:
    if handler is run_compile:
        return Compiled(None)
    return [result(each) for each in numbers]


class Pool:
    """Does each task at once, and remembers what it was asked."""

    def __init__(self, work: Work, width: int = 2, *, shares_store: bool = True) -> None:
        self.width, self.shares_store = width, shares_store
        self._work = work
        self.compiled: list[int] = []
        self.listed: list[list[int]] = []
        self.inspected: list[list[int]] = []

    def submit(self, handler: Handler, task: bytes) -> Future[bytes]:
        requests = msgspec.msgpack.decode(task, type=Task).requests
        numbers = [int(str(each.settings["num_stages"])) for each in requests]
        if handler is run_compile:
            self.compiled += numbers
        elif handler is run_list:
            self.listed.append(numbers)
        else:
            self.inspected.append(numbers)
        answer = b"" if handler is run_list else self._work(handler, numbers)
        future: Future[bytes] = Future()
        if answer is None:
            future.set_exception(BrokenExecutor())
        else:
            sent = answer if isinstance(answer, Refused) else Answered(answer)
            future.set_result(msgspec.msgpack.encode(sent))
        return future

    def is_crash(self, error: BaseException) -> bool:
        return isinstance(error, BrokenExecutor)

    def crash(self, future: Future[bytes]) -> Crash:
        return Crash("worker died", "last line")

    def prepare(self, handler: Handler, task: bytes, workers: int) -> None: ...

    def abandon(self, future: Future[bytes]) -> None:
        raise NotImplementedError

    def stop(self) -> None: ...


@pytest.fixture
def variants(h100: Target) -> list[PlannedVariant]:
    requests = [
        Request(kernel="softmax", target=h100, sm_count=132, settings={"num_stages": number})
        for number in range(5)
    ]
    return [PlannedVariant(request=each, names={}, triton="3.6.0") for each in requests]


def compile_with(
    pool: Pool, variants: Sequence[PlannedVariant]
) -> tuple[dict[int, Result], list[int]]:
    """Return the results, and the numbers of those that the journal has."""
    plan = Plan(function="softmax_kernel", variants=list(variants), dependencies={})
    counts: list[int] = []
    with Journal(plan, variants) as journal:
        results = compile_variants(
            find_kernel("softmax"), variants, pool, journal,
            lambda done, _: counts.append(done), math.inf,
        )  # fmt: skip
        assert counts == sorted(counts)
        assert counts[-1] == len(variants)
        return results, sorted(journal.results())


def test_each_is_compiled_alone_and_several_are_inspected_together(
    variants: list[PlannedVariant],
) -> None:
    pool = Pool(work)
    assert compile_with(pool, variants) == ({n: result(n) for n in range(5)}, [0, 1, 2, 3, 4])
    assert sorted(pool.compiled) == [0, 1, 2, 3, 4]
    assert sorted(map(len, pool.inspected)) == [2, 3], "a share for each worker"


def many(variants: Sequence[PlannedVariant], count: int) -> list[PlannedVariant]:
    requests = [
        msgspec.structs.replace(variants[0].request, settings={"num_stages": number})
        for number in range(count)
    ]
    return [msgspec.structs.replace(variants[0], request=each) for each in requests]


def test_workers_share_what_one_has_disassembled(variants: list[PlannedVariant]) -> None:
    pool = Pool(work)
    assert compile_with(pool, many(variants, 120))[0] == {n: result(n) for n in range(120)}
    assert sorted(map(len, pool.listed)) == [12, 12, 48, 48], "nvdisasm starts seldom"
    assert sorted(n for each in pool.inspected for n in each) == list(range(120))
    assert {1, 12} <= {len(each) for each in pool.inspected}, "the last jobs are small"
    first = [each for each in pool.inspected if set(each) <= set(pool.listed[0])]
    assert [len(each) for each in first] == sorted(map(len, first), reverse=True)


def test_the_last_are_disassembled_by_all_workers(variants: list[PlannedVariant]) -> None:
    pool = Pool(work)
    assert compile_with(pool, many(variants, 40))[0] == {n: result(n) for n in range(40)}
    assert sorted(map(len, pool.listed)) == [20, 20], "neither worker waits for the other"


def test_what_has_no_sass_is_not_disassembled(variants: list[PlannedVariant]) -> None:
    mi300x = gpus.find("mi300x").target
    amd = [
        msgspec.structs.replace(each, request=msgspec.structs.replace(each.request, target=mi300x))
        for each in many(variants, 40)
    ]
    pool = Pool(work)
    assert compile_with(pool, amd)[0] == {n: result(n) for n in range(40)}
    assert pool.listed == []
    assert sorted(map(len, pool.inspected)) == [20, 20]


def test_what_cannot_be_disassembled_together_is_inspected_alone(
    variants: list[PlannedVariant],
) -> None:
    class Failing(Pool):
        def submit(self, handler: Handler, task: bytes) -> Future[bytes]:
            future = super().submit(handler, task)
            if handler is run_list:
                future = Future()
                future.set_exception(BrokenExecutor())
            return future

    pool = Failing(work)
    assert compile_with(pool, many(variants, 40))[0] == {n: result(n) for n in range(40)}
    assert sorted(pool.inspected) == [[n] for n in range(40)]


@pytest.mark.parametrize(("width", "shares_store"), [(2, False), (5, True)])
def test_workers_do_both_at_once_where_nothing_is_gained(
    variants: list[PlannedVariant], width: int, shares_store: bool
) -> None:
    pool = Pool(work, width, shares_store=shares_store)
    assert compile_with(pool, variants)[0] == {n: result(n) for n in range(5)}
    assert pool.compiled == []
    assert sorted(pool.inspected) == [[0], [1], [2], [3], [4]]


def test_what_does_not_compile_is_not_inspected(variants: list[PlannedVariant]) -> None:
    failed = Result(outcome="failed", reason="no")

    def fail(handler: Handler, numbers: list[int]) -> Compiled | list[Result] | Refused | None:
        if handler is run_compile and numbers == [3]:
            return Compiled(failed)
        if handler is run_compile and numbers == [4]:
            return None
        return work(handler, numbers)

    pool = Pool(fail)
    results, known = compile_with(pool, variants)
    assert results[3] == failed
    assert results[4] == Result(outcome="died", reason="worker died", hint="last line")
    assert sorted(n for each in pool.inspected for n in each) == [0, 1, 2]
    assert known == [0, 1, 2, 3], "the next run tries again what crashed"


@pytest.mark.parametrize("answer", [None, Refused("broken", None)])
def test_one_that_cannot_be_inspected_leaves_the_others(
    variants: list[PlannedVariant], answer: Refused | None
) -> None:
    def fail(handler: Handler, numbers: list[int]) -> Compiled | list[Result] | Refused | None:
        if handler is run_inspect and 2 in numbers:
            return answer
        return work(handler, numbers)

    pool = Pool(fail)
    results, known = compile_with(pool, variants)
    assert {n: each for n, each in results.items() if n != 2} == {
        n: result(n) for n in (0, 1, 3, 4)
    }
    assert results[2].outcome == ("died" if answer is None else "failed")
    assert known == [0, 1, 3, 4]


def test_what_fails_whatever_the_configuration_is_an_error(variants: list[PlannedVariant]) -> None:
    with pytest.raises(IrlensError, match="no Triton"):
        compile_with(Pool(lambda *_: Refused("no Triton", None)), variants)


def test_known_results_are_not_asked_for_again(
    variants: list[PlannedVariant],
) -> None:
    def stop(handler: Handler, numbers: list[int]) -> Compiled | list[Result] | Refused | None:
        if handler is run_inspect and 4 in numbers:
            raise KeyboardInterrupt
        return work(handler, numbers)

    with pytest.raises(KeyboardInterrupt):
        compile_with(Pool(stop), variants)
    pool = Pool(work)
    assert compile_with(pool, variants)[0] == {n: result(n) for n in range(5)}
    assert sorted(n for each in pool.inspected for n in each) == [3, 4]
