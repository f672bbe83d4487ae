"""Worker processes that live and die. The work is ``eval``, which every interpreter can find."""

import os
import signal
import time
from collections import deque
from collections.abc import Iterator
from concurrent.futures import BrokenExecutor, Future
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import cast

import pytest

from irlens.artifacts import store
from irlens.model.errors import IrlensError
from irlens.sweeps.tasks import Handler
from irlens.sweeps.worker_pool import Crash, Job, LocalPool, run_jobs, run_tasks

WORK = cast(Handler, eval)
KILLED = b"__import__('os').kill(__import__('os').getpid(), 9)"
ABORTED = (
    b"(__import__('os').write(2, b'first\\nLLVM ERROR: cannot select\\n\\n'),"
    b" __import__('os').abort())"
)
LEFT = b"__import__('os')._exit(3)"


@pytest.fixture
def pool() -> Iterator[LocalPool]:
    pool = LocalPool(2)
    yield pool
    pool.stop()


def test_every_task_is_answered(pool: LocalPool) -> None:
    tasks = [f"b'{number}'".encode() for number in range(20)]
    assert dict(run_tasks(pool, WORK, tasks)) == {n: str(n).encode() for n in range(20)}


def test_a_crash_loses_its_own_task_only(pool: LocalPool) -> None:
    tasks = [b"b'a'", KILLED, b"b'b'", ABORTED, LEFT, b"b'c'", b"b'd'"]
    found = dict(run_tasks(pool, WORK, tasks))
    assert found.pop(1) == Crash("worker died (signal 9, SIGKILL)")
    assert found.pop(3) == Crash(
        "worker died (signal 6, SIGABRT)",
        "cannot select; try other values of num_warps and num_stages, or another Triton"
        " (--triton VERSION)",
    )
    assert found.pop(4) == Crash("worker died (exit code 3)")
    assert found == {0: b"a", 2: b"b", 5: b"c", 6: b"d"}


def test_a_stopped_worker_leaves_nothing_in_the_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(store.ROOT_VARIABLE, str(tmp_path))
    writes = (
        b"(lambda held: held.__enter__() and __import__('time').sleep(600))("
        b"__import__('irlens.artifacts.store').artifacts.store.workspace("
        b"__import__('pathlib').Path(%a, 'captures', 'key')))" % str(tmp_path)
    )
    pool = LocalPool(1)
    pool.submit(WORK, writes)
    captures = tmp_path / "captures"
    other = captures / f".irlens-tmp-{os.getpid():08}-0123456789abcdef"
    other.mkdir(parents=True)  # of a process that lives
    while len(list(captures.iterdir())) < 2:
        time.sleep(0.01)
    pool.stop()
    assert list(captures.iterdir()) == [other]


def test_ctrl_c_does_not_end_a_worker_that_is_starting(
    pool: LocalPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A terminal sends it to all processes; the parent decides what becomes of its workers."""
    start = SpawnProcess.start

    def interrupted(process: SpawnProcess) -> None:
        start(process)
        assert process.pid is not None
        os.kill(process.pid, signal.SIGINT)

    monkeypatch.setattr(SpawnProcess, "start", interrupted)
    ignored = b"repr(__import__('signal').getsignal(2)).encode()"
    assert dict(run_tasks(pool, WORK, [ignored])) == {0: b"<Handlers.SIG_IGN: 1>"}
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())


def test_the_last_line_of_a_process_that_outlives_its_worker_is_waited_for(pool: LocalPool) -> None:
    late = "import sys, time; sys.stdin.read(); time.sleep(1); print('late words', file=sys.stderr)"
    task = (
        "(__import__('subprocess').Popen([__import__('sys').executable, '-c', "
        f"{late!r}], stdin=-1), {KILLED.decode()})"
    )
    found = dict(run_tasks(pool, WORK, [task.encode()]))
    assert found == {0: Crash("worker died (signal 9, SIGKILL)", "late words")}


def test_a_worker_that_was_not_started_yet_is_let_go(
    pool: LocalPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(process: SpawnProcess) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(SpawnProcess, "start", interrupted)
        with pytest.raises(KeyboardInterrupt):
            dict(run_tasks(pool, WORK, [b"b''"]))
    pool.stop()


def test_a_task_that_ran_beside_a_crash_succeeds_on_retry(pool: LocalPool, tmp_path: Path) -> None:
    # It dies the first time, and is carried out when it is tried alone.
    mark = str(tmp_path / "mark")
    once = f"b'alive' if __import__('os').path.exists({mark!r}) else (open({mark!r}, 'w'), {KILLED.decode()})"  # noqa: E501
    assert dict(run_tasks(pool, WORK, [once.encode(), b"b'x'"])) == {0: b"alive", 1: b"x"}


def test_stopping_does_not_wait_for_what_is_under_way(pool: LocalPool) -> None:
    endless = b"__import__('time').sleep(3600)"
    pid = next(
        iter(dict(run_tasks(pool, WORK, [b"str(__import__('os').getpid()).encode()"])).values())
    )
    assert isinstance(pid, bytes)
    pool.submit(WORK, endless)
    pool.submit(WORK, endless)
    pool.stop()
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid), 0)


def test_work_that_no_worker_can_do_is_an_error(pool: LocalPool) -> None:
    with pytest.raises(IrlensError, match="the workers cannot run the task: ZeroDivisionError"):
        dict(run_tasks(pool, WORK, [b"1 / 0"]))


class LosesOne:
    """A pool like a cluster: a crash there may be another task's fault."""

    width = 2
    shares_store = True

    def __init__(self) -> None:
        self.told: list[str] = []

    def submit(self, handler: Handler, task: bytes) -> Future[bytes]:
        future = Future[bytes]()
        self.told.append(f"submit {task.decode()}")
        if task == b"1" and self.told.count("submit 1") == 1:
            future.set_exception(BrokenExecutor())
        else:
            future.set_result(task)
        return future

    def is_crash(self, error: BaseException) -> bool:
        return isinstance(error, BrokenExecutor)

    def crash(self, future: Future[bytes]) -> Crash:
        raise NotImplementedError

    def prepare(self, handler: Handler, task: bytes, workers: int) -> None: ...

    def abandon(self, future: Future[bytes]) -> None:
        raise NotImplementedError

    def stop(self) -> None: ...


def test_tasks_lost_to_others_are_retried_after_all_else() -> None:
    pool = LosesOne()
    found = dict(run_tasks(pool, WORK, [b"0", b"1", b"2", b"3"]))
    assert found == {0: b"0", 1: b"1", 2: b"2", 3: b"3"}
    assert pool.told == ["submit 0", "submit 1", "submit 2", "submit 3", "submit 1"]


def test_a_task_that_takes_too_long_is_abandoned_and_the_rest_goes_on(pool: LocalPool) -> None:
    endless = b"__import__('time').sleep(3600)"
    tasks = [endless, b"b'a'", endless, b"b'b'", b"b'c'"]
    jobs = deque(Job(WORK, task, (number,), timeout=5) for number, task in enumerate(tasks))
    seen: set[tuple[int, ...]] = set()
    answers = run_jobs(
        pool, jobs, watch=lambda running: seen.update(each.job.numbers for each in running)
    )
    abandoned = Crash("not finished after 5 s", timed_out=True)
    expected = {(0,): abandoned, (1,): b"a", (2,): abandoned, (3,): b"b", (4,): b"c"}
    assert {job.numbers: answer for job, answer in answers} == expected
    assert {(0,), (2,)} <= seen, "what takes long is named meanwhile"


def test_an_answer_may_lead_to_more_jobs(pool: LocalPool) -> None:
    jobs = deque([Job(WORK, b"b'a'", (0,)), Job(WORK, b"b'b'", (1,))])
    found = []
    for job, answer in run_jobs(pool, jobs):
        found.append(answer)
        if job.numbers == (0,):
            jobs.append(Job(WORK, b"b'c'", (2,)))
    assert set(found) == {b"a", b"b", b"c"}


def test_a_stopped_worker_leaves_no_temporary_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    pool = LocalPool(1)
    made = pool.submit(WORK, b"__import__('tempfile').mkstemp()[1].encode()").result()
    assert Path(made.decode()).is_relative_to(tmp_path)
    pool.stop()
    assert list(tmp_path.iterdir()) == []


def test_prepared_workers_take_the_next_tasks(tmp_path: Path) -> None:
    note = f"__import__('pathlib').Path({str(tmp_path)!r}, str(__import__('os').getpid()))"
    pool = LocalPool(2)
    try:
        pool.prepare(WORK, f"{note}.touch()".encode(), 3)
        pool.prepare(WORK, b"__import__('os').kill(__import__('os').getpid(), 9)", 2)
        found = dict(run_tasks(pool, WORK, [f"bytes({note}.exists())".encode()] * 2))
        assert found == {0: b"\0", 1: b"\0"}
        assert len(list(tmp_path.iterdir())) == 2
    finally:
        pool.stop()


def test_a_worker_that_ends_as_it_prepares_is_replaced() -> None:
    pool = LocalPool(1)
    try:
        pool.prepare(WORK, b"__import__('os').kill(__import__('os').getpid(), 9)", 1)
        assert dict(run_tasks(pool, WORK, [b"b'a'"])) == {0: b"a"}
    finally:
        pool.stop()


def test_no_worker_is_prepared_without_a_task() -> None:
    begun = time.monotonic()
    pool = LocalPool(10**9)
    try:
        assert dict(run_tasks(pool, WORK, [b"b'a'", b"b'b'"])) == {0: b"a", 1: b"b"}
    finally:
        pool.stop()
    assert time.monotonic() - begun < 60
