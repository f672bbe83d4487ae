"""What irlens and the process that runs a recorded program send each other."""

import os
from contextlib import suppress
from multiprocessing import util
from pathlib import Path
from uuid import uuid4

import msgspec

from irlens.compiler.fake_cuda import Deviations
from irlens.compiler.tally import Tally
from irlens.model.config import Target

#: The module that runs a job.
RUNNER = "irlens.programs.runner"
#: The file of launches in a job's folder: a JSON ``Launch`` per line.
LAUNCHES = "launches.jsonl"
#: The file of kernels that did not compile: a JSON ``CompileFailure`` per line.
FAILURES = "failures.jsonl"
#: The file of the program's ``ProcessReport``; missing if the process was killed.
REPORT = "report.json"
#: The files of what processes counted: JSON ``Counts``, of another process with a prefix.
COUNTS = "counts.json"
#: The file of the operators that ran: a JSON ``RecordedProgram``.
OPERATIONS = "operations.json"
#: The folder that Triton compiles into.
TRITON_CACHE = "triton"


#: Bytes that a run has to have room for when it ends.
_ROOM = 1 << 16


def full_disk(folder: Path) -> OSError | None:
    """Return why nothing more can be written to a job's folder; ``None`` if it can."""
    probe = folder / f"room-{os.getpid()}"
    try:
        probe.write_bytes(bytes(_ROOM))
    except OSError as error:
        return error
    finally:
        with suppress(OSError):
            probe.unlink()
    return None


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """Options of a recording.

    Attributes:
        assumed: The number that values are assumed to be which only a kernel computes; ``None``
            stops the program.
        configurations: Number of configurations that autotuners try; ``None`` for all.
        operations: Whether to record every operator of PyTorch that runs on the fake GPU, and every
            launch.
        contents: Whether to keep what small tensors of integers hold at a launch.
    """

    assumed: float | None = None
    configurations: int | None = None
    operations: bool = False
    contents: bool = True


class Program(msgspec.Struct, frozen=True, kw_only=True):
    """A Python program.

    Attributes:
        name: A script's path, or a module's name.
    """

    name: str
    is_module: bool
    arguments: tuple[str, ...] = ()


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """How to run a program.

    Attributes:
        target: The GPU to fake; ``None`` launches on the real one.
        memory: Its memory's size in bytes, if known.
        gpu_name: Its name as its driver reports it.
        pythonpath: The user's own ``PYTHONPATH``.
    """

    program: Program
    folder: str
    target: Target | None
    memory: int | None
    gpu_name: str
    pythonpath: str | None
    options: Options = Options()


class ProcessReport(msgspec.Struct, frozen=True, kw_only=True):
    """How a process of the program ended, unless it was killed.

    Attributes:
        stopped: The source line and the requested value, if the program ended because it needed a
            value that was never computed.
    """

    deviations: Deviations = msgspec.field(default_factory=Deviations)
    stopped: str | None = None
    helion: bool = False


class ReportAtExit:
    """Writes a ``ProcessReport`` when a process ends, and when its forks end."""

    def __init__(self, deviations: Deviations, tally: Tally, folder: Path) -> None:
        self._deviations = deviations
        self._tally = tally
        self._folder = folder
        os.register_at_fork(after_in_child=self._restart)  # which keeps a reference to this
        # By then `multiprocessing` has cleared its finalizers.
        util.register_after_fork(self, ReportAtExit._restart)

    def register(self) -> None:
        """Write the report at the end of this process, however ``multiprocessing`` ends it."""
        util.Finalize(None, self._write, args=(uuid4().hex,), exitpriority=0)

    def _restart(self) -> None:
        self._deviations.clear()
        self._tally.clear()
        self.register()

    def _write(self, name: str) -> None:
        report = ProcessReport(deviations=self._deviations)
        with suppress(FileNotFoundError):  # the recording did not wait for this process
            (self._folder / f"{name}-{REPORT}").write_bytes(msgspec.json.encode(report))
            write_counts(self._tally, self._folder / f"{name}-{COUNTS}")


def write_counts(tally: Tally, file: Path) -> None:
    """Write the counts of a process."""
    file.write_bytes(msgspec.json.encode(tally.counts()))
