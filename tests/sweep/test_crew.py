"""Worker processes that live and die. The work is ``eval``, which every interpreter can find."""

import os
from collections.abc import Iterator
from concurrent.futures import BrokenExecutor, Future
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import cast

import pytest

from irlens.model.errors import IrlensError
from irlens.sweep.crew import Death, LocalCrew, answers
from irlens.sweep.work import Work

WORK = cast(Work, eval)
KILLED = b"__import__('os').kill(__import__('os').getpid(), 9)"
ABORTED = (
    b"(__import__('os').write(2, b'first\\nLLVM ERROR: cannot select\\n\\n'),"
    b" __import__('os').abort())"
)
LEFT = b"__import__('os')._exit(3)"


@pytest.fixture
def crew() -> Iterator[LocalCrew]:
    crew = LocalCrew(2)
    yield crew
    crew.stop()


def test_every_order_is_answered(crew: LocalCrew) -> None:
    orders = [f"b'{number}'".encode() for number in range(20)]
    assert dict(answers(crew, WORK, orders)) == {n: str(n).encode() for n in range(20)}


def test_a_worker_that_dies_takes_only_its_own_order_along(crew: LocalCrew) -> None:
    orders = [b"b'a'", KILLED, b"b'b'", ABORTED, LEFT, b"b'c'", b"b'd'"]
    found = dict(answers(crew, WORK, orders))
    assert found.pop(1) == Death("worker died (signal 9, SIGKILL)")
    assert found.pop(3) == Death("worker died (signal 6, SIGABRT)", "LLVM ERROR: cannot select")
    assert found.pop(4) == Death("worker died (exit code 3)")
    assert found == {0: b"a", 2: b"b", 5: b"c", 6: b"d"}


def test_what_others_say_of_a_death_is_waited_for(crew: LocalCrew) -> None:
    late = "import sys, time; sys.stdin.read(); time.sleep(1); print('late words', file=sys.stderr)"
    order = (
        "(__import__('subprocess').Popen([__import__('sys').executable, '-c', "
        f"{late!r}], stdin=-1), {KILLED.decode()})"
    )
    found = dict(answers(crew, WORK, [order.encode()]))
    assert found == {0: Death("worker died (signal 9, SIGKILL)", "late words")}


def test_a_worker_that_was_not_started_yet_is_let_go(
    crew: LocalCrew, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(process: SpawnProcess) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(SpawnProcess, "start", interrupted)
        with pytest.raises(KeyboardInterrupt):
            dict(answers(crew, WORK, [b"b''"]))
    crew.stop()


def test_an_order_that_only_was_near_a_death_succeeds_the_second_time(
    crew: LocalCrew, tmp_path: Path
) -> None:
    # It dies the first time, and is carried out when it is tried alone.
    mark = str(tmp_path / "mark")
    once = f"b'alive' if __import__('os').path.exists({mark!r}) else (open({mark!r}, 'w'), {KILLED.decode()})"  # noqa: E501
    assert dict(answers(crew, WORK, [once.encode(), b"b'x'"])) == {0: b"alive", 1: b"x"}


def test_stopping_does_not_wait_for_what_is_under_way(crew: LocalCrew) -> None:
    endless = b"__import__('time').sleep(3600)"
    pid = next(
        iter(dict(answers(crew, WORK, [b"str(__import__('os').getpid()).encode()"])).values())
    )
    assert isinstance(pid, bytes)
    crew.submit(WORK, endless)
    crew.submit(WORK, endless)
    crew.stop()
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid), 0)


def test_work_that_no_worker_can_do_is_an_error(crew: LocalCrew) -> None:
    with pytest.raises(IrlensError, match="the workers cannot do it: ZeroDivisionError"):
        dict(answers(crew, WORK, [b"1 / 0"]))


class LosesOne:
    """A crew like a cluster: a death there may be another order's fault."""

    width = 2
    one_fate = False

    def __init__(self) -> None:
        self.told: list[str] = []

    def submit(self, work: Work, order: bytes) -> Future[bytes]:
        future = Future[bytes]()
        self.told.append(f"submit {order.decode()}")
        if order == b"1":
            future.set_exception(BrokenExecutor())
        else:
            future.set_result(order)
        return future

    def died(self, error: BaseException) -> bool:
        return isinstance(error, BrokenExecutor)

    def retry(self, work: Work, order: bytes, error: BaseException) -> bytes | Death:
        self.told.append(f"retry {order.decode()}")
        return b"alone"

    def stop(self) -> None: ...


def test_what_others_may_have_killed_is_tried_when_all_else_is_done() -> None:
    crew = LosesOne()
    found = dict(answers(crew, WORK, [b"0", b"1", b"2", b"3"]))
    assert found == {0: b"0", 1: b"alone", 2: b"2", 3: b"3"}
    assert crew.told == ["submit 0", "submit 1", "submit 2", "submit 3", "retry 1"]
