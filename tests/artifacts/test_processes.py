"""Children that end with irlens, whatever ends it."""

import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from irlens.artifacts import processes

#: Starts a child in each of the ways, prints their process numbers, and waits.
IN_GROUP = """
from subprocess import Popen
from irlens.artifacts import processes
first = Popen(["sleep", "600"], process_group=processes.group())
second = Popen(["sleep", "600"], process_group=processes.group())
print(first.pid, second.pid, flush=True)
first.wait()
"""
GUARDED = """
from subprocess import Popen
from irlens.artifacts import processes
with Popen(["sh", "-c", "sleep 600 & echo $!; wait"], start_new_session=True) as child:
    with processes.guarded(child.pid):
        print(child.pid, flush=True)
        child.wait()
"""
WORKERS = """
import sys, time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from irlens.artifacts import pools

if __name__ == "__main__":
    executor = ProcessPoolExecutor(
        3, mp_context=get_context(sys.argv[1]), initializer=pools.end_with_parent
    )
    tasks = [executor.submit(time.sleep, 600) for _ in range(3)]
    while len(executor._processes) < 3: time.sleep(0.01)
    print(*executor._processes, flush=True)
    tasks[0].result()
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
@pytest.mark.parametrize(
    ("program", "lines", "arguments"),
    [
        (IN_GROUP, 1, []),
        (GUARDED, 2, []),
        (WORKERS, 1, ["fork"]),
        (WORKERS, 1, ["spawn"]),
    ],
    ids=["in group", "guarded", "forked workers", "spawned workers"],
)
def test_children_end_with_their_parent(
    program: str, lines: int, arguments: list[str], number: signal.Signals, tmp_path: Path
) -> None:
    script = tmp_path / "program.py"
    script.write_text(program)
    parent = subprocess.Popen(
        [sys.executable, script, *arguments], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert parent.stdout is not None
    children = [int(pid) for _ in range(lines) for pid in parent.stdout.readline().split()]
    assert len(children) >= 2
    assert all(map(is_running, children))
    with parent, parent.stdout:
        parent.send_signal(number)
        parent.stdout.read()  # until nothing holds it any more
    wait_until(lambda: not any(map(is_running, children)))


def test_an_exception_ends_a_guarded_group() -> None:
    child = subprocess.Popen(["sleep", "600"], start_new_session=True)
    with pytest.raises(ValueError, match="enough"), child, processes.guarded(child.pid):
        raise ValueError("enough")
    assert child.returncode == -signal.SIGKILL


def test_a_guarded_group_that_ends_first_leaves_nothing(tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text(GUARDED.replace("sleep 600 & echo $!; wait", "exit 7"))
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0
    assert done.stderr == ""


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def is_running(pid: int) -> bool:
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False
