"""Runs recorded programs in forks of a process that has imported PyTorch and Triton.

That takes three seconds of processor time in each recording. The program still runs in a process of
its own, with its own arguments, environment, working directory and streams, and ends it as it
likes. ``Preloaded`` stands in for ``subprocess`` in ``irlens.programs.record``; this file is also
what the process runs.
"""

import array
import gc
import io
import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import IO, Any

from irlens.compiler.import_hooks import postpone_dynamo

#: Bytes of a request: the environment and the job.
_LARGEST = 1 << 20
#: What every recorded program imports, or irlens or PyTorch for it. TorchDynamo is not among them:
#: it takes over functions of ``torch.cuda`` that irlens replaces first.
_MODULES = (
    "torch", "triton", "triton.language", "irlens.programs.runner", "sympy",
    "torch.distributed.tensor", "torch.distributed.fsdp", "triton.experimental.gluon",
)  # fmt: skip


class Preloaded:
    """What ``irlens.programs.record`` needs of ``subprocess``, by a process that forks.

    Args:
        runner: The module that a command line has to run for that; others start as always.
    """

    TimeoutExpired = subprocess.TimeoutExpired

    def __init__(self, runner: str) -> None:
        self._runner = runner
        self._owner: int | None = None
        self._server: subprocess.Popen[bytes] | None = None
        self._requests: socket.socket | None = None

    def Popen(  # noqa: N802  # as subprocess says it
        self, command: Sequence[str], *, env: Mapping[str, str], stdout: IO[str] | None
    ) -> "subprocess.Popen[bytes] | _Fork":
        """Start a command."""
        if list(command[:4]) != [sys.executable, "-P", "-m", self._runner]:
            return subprocess.Popen(command, env=env, stdout=stdout)
        mine, theirs = socket.socketpair()
        request = {
            "arguments": list(command[3:]),
            "environment": dict(env),
            "folder": str(Path.cwd()),
        }
        streams = [0, _descriptor(stdout), 2]
        with theirs:
            _send(self._connection(), json.dumps(request).encode(), [*streams, theirs.fileno()])
        return _Fork(command, mine)

    def end(self) -> None:
        """End the process that forks, if there is one."""
        if self._server is not None and self._requests is not None and self._owner == os.getpid():
            self._requests.close()
            self._server.wait()

    def _connection(self) -> socket.socket:
        if self._requests is None or self._owner != os.getpid():
            self._owner = os.getpid()
            self._requests, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            for end in (self._requests, theirs):
                end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _LARGEST)
            with theirs:
                self._server = subprocess.Popen(
                    [sys.executable, "-P", __file__, str(theirs.fileno())],
                    pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL,
                    env={**os.environ, "OMP_NUM_THREADS": "1"},
                )  # fmt: skip
        return self._requests


class _Fork:
    """A process that another one has forked, as ``subprocess`` describes a child."""

    def __init__(self, command: Sequence[str], status: socket.socket) -> None:
        self._command, self._status = command, status
        self.pid = int(self._line() or 0)
        self.returncode: int | None = None

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None:
            ready, _, _ = select.select([self._status], [], [], timeout)
            if not ready:
                assert timeout is not None
                raise subprocess.TimeoutExpired(self._command, timeout)
            line = self._line()
            assert line, "the process that forks has ended"
            self.returncode = int(line)
            self._status.close()
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.returncode is None:
            os.kill(self.pid, number)

    def _line(self) -> bytes:
        line = b""
        while not line.endswith(b"\n") and (read := self._status.recv(1)):
            line += read
        return line


def _descriptor(stdout: IO[str] | None) -> int:
    """Return the descriptor that a program prints to: stderr's for the one that a test keeps."""
    try:
        return 1 if stdout is None else stdout.fileno()
    except io.UnsupportedOperation:
        return 2


def _send(connection: socket.socket, data: bytes, descriptors: list[int]) -> None:
    ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))]
    connection.sendmsg([data], ancillary)


def _serve(requests: socket.socket) -> None:
    """Fork for each request until there are no more; return in each fork, ready to run."""
    before = list(sys.path)
    postpone_dynamo()
    for name in _MODULES:
        with suppress(ModuleNotFoundError):  # where there is no PyTorch
            import_module(name)
    assert len(list(Path("/proc/self/task").iterdir())) == 1, "a fork would lose threads"
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to this process too
    gc.collect()
    gc.freeze()  # what a fork does not visit, it does not copy
    running: dict[int, tuple[int, socket.socket]] = {}  # by the descriptor of a process
    while True:
        ready, _, _ = select.select([requests.fileno(), *running], [], [])
        for each in set(ready) - {requests.fileno()}:
            pid, status = running.pop(each)
            os.close(each)
            code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
            with suppress(BrokenPipeError):
                status.sendall(b"%d\n" % code)
            status.close()
        if requests.fileno() not in ready:
            continue
        data, descriptors, _, _ = socket.recv_fds(requests, _LARGEST, 4)
        if not data:
            os._exit(0)  # nothing here needs to be torn down
        pid = os.fork()
        if pid == 0:
            for descriptor, (_, status) in running.items():
                os.close(descriptor)
                status.close()
            requests.close()
            _become(json.loads(data), descriptors, before)
            return
        *streams, status_descriptor = descriptors
        for descriptor in streams:
            os.close(descriptor)
        status = socket.socket(fileno=status_descriptor)
        status.sendall(b"%d\n" % pid)
        running[os.pidfd_open(pid)] = (pid, status)


def _become(request: dict[str, Any], descriptors: list[int], path: list[str]) -> None:
    """Take on the streams, environment, folder and arguments of a request."""
    for number, descriptor in enumerate(descriptors[:3]):
        os.dup2(descriptor, number)
    for descriptor in descriptors:
        os.close(descriptor)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["folder"])
    own = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    sys.path[:] = dict.fromkeys([*filter(None, own), *path])
    sys.argv[:] = ["", *request["arguments"][1:]]
    import_module(request["arguments"][0]).main()


if __name__ == "__main__":
    _serve(socket.socket(fileno=int(sys.argv[1])))
