"""Running a program under watch, and making captures of what it has compiled."""

import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import current_thread, main_thread

import msgspec

from irlens.artifacts import store
from irlens.gpus import Gpu
from irlens.model.errors import CaptureError
from irlens.record import keep
from irlens.record.order import ENDING, RUNNER, Ending, Order
from irlens.record.processes import STARTED

#: What the user may have set that would keep Triton from compiling, or artifacts from here.
_HIDDEN = frozenset(
    {
        "TRITON_INTERPRET",
        "TRITON_STORE_BINARY_ONLY",
        "TRITON_CACHE_MANAGER",
        "TRITON_REMOTE_CACHE_BACKEND",
    }
)


class Program(msgspec.Struct, frozen=True, kw_only=True):
    """A Python program.

    Attributes:
        name: A script's path, or a module's name.
        is_module: Whether it is a module's.
        arguments: What it is given.
    """

    name: str
    is_module: bool
    arguments: tuple[str, ...] = ()


class Run(Ending, frozen=True, kw_only=True):
    """How a run of the program ended.

    Attributes:
        code: Its exit code: negative is the signal that ended it.
    """

    code: int


class Recording(msgspec.Struct, frozen=True, kw_only=True):
    """What came of it.

    Attributes:
        variants: How many variants of each kernel were compiled, by the kernel's name.
        runs: How each run ended.
    """

    variants: dict[str, int]
    runs: tuple[Run, ...]


def record(program: Program, destination: Path, gpus: Sequence[Gpu], *, pretend: bool) -> Recording:
    """Run a program, and make a capture of each kernel that it compiles.

    Args:
        program: The program. It has this process's standard streams.
        destination: Where the captures go: a path that does not exist, or that of an older
            recording, which is replaced. Nothing is left there if nothing was compiled.
        gpus: What to compile for, one run for each.
        pretend: Whether to do without the GPU, and compute nothing. Else the only one is there.

    Raises:
        CaptureError: The program cannot be started.
        ArtifactError: The captures cannot be written.
    """
    store.clean(destination.absolute().parent)
    runs = []
    with store.workspace(destination.absolute()) as work:
        build = work / "build"
        build.mkdir()
        for index, gpu in enumerate(gpus):
            notes = work / f"run-{index}"
            notes.mkdir()
            runs.append(_run(program, notes, gpu if pretend else None))
            keep.captures(notes, build, gpu.target)
        names = [keep.kernel_of(entry) for entry in build.iterdir()]
        if names:
            store.publish(build, destination, replace=True)
    variants = dict(sorted(Counter(names).items()))
    return Recording(variants=variants, runs=tuple(runs))


def _run(program: Program, notes: Path, gpu: Gpu | None) -> Run:
    """Run the program once."""
    order = Order(
        program=program.name,
        is_module=program.is_module,
        arguments=program.arguments,
        notes=str(notes),
        target=gpu.target if gpu else None,
        sm_count=gpu.sm_count if gpu else None,
        name=_driver_name(gpu) if gpu else "",
        pythonpath=os.environ.get("PYTHONPATH"),
    )
    # -P, because the working directory need not be trusted with irlens's own modules.
    command = [sys.executable, "-P", "-m", RUNNER, msgspec.json.encode(order).decode()]
    try:
        with _signals_are_the_programs() as pass_on_to:
            run = subprocess.Popen(command, env=_environment(notes))
            pass_on_to(run)
            code = run.wait()
    except OSError as error:
        raise CaptureError(f"cannot run {program.name}: {error.strerror}") from error
    ending = _ending(notes)
    return Run(code=code, **msgspec.structs.asdict(ending))


def _environment(notes: Path) -> dict[str, str]:
    """Return the user's environment, with every cache of compiled kernels in a fresh place.

    From a cache that has a kernel already, neither Triton nor TorchInductor would compile it.
    """
    kept = {name: value for name, value in os.environ.items() if name not in _HIDDEN}
    return kept | {
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        "TRITON_CACHE_DIR": str(notes / "triton"),
        "TORCHINDUCTOR_CACHE_DIR": str(notes / "inductor"),
    }


@contextmanager
def _signals_are_the_programs() -> Iterator[Callable[[subprocess.Popen[bytes]], None]]:
    """Leave what ends programs to the program: what it has compiled until then is kept.

    Ctrl-C reaches it by itself.

    Yields:
        A function that takes the program: it gets what is sent to irlens alone, also what was sent
        while it was being started.
    """
    programs: list[subprocess.Popen[bytes]] = []
    early: list[int] = []

    def pass_on(number: int, _: object) -> None:
        if not programs:
            early.append(number)
        for program in programs:
            program.send_signal(number)

    def pass_on_to(program: subprocess.Popen[bytes]) -> None:
        programs.append(program)
        for number in early:
            program.send_signal(number)

    # Not SIG_IGN, which the program would inherit; and what is ignored, it inherits as such.
    handlers = {signal.SIGINT: lambda *_: None, signal.SIGTERM: pass_on, signal.SIGHUP: pass_on}
    is_main = current_thread() is main_thread()
    before = {
        number: signal.signal(number, handler)
        for number, handler in handlers.items()
        if is_main and signal.getsignal(number) != signal.SIG_IGN
    }
    try:
        yield pass_on_to
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _ending(notes: Path) -> Ending:
    """Return how the program's process ended, with the liberties of those that it started."""
    ending = _read_ending(notes / ENDING)
    for other in sorted(notes.glob(f"*-{ENDING}")):
        ending.liberties.add(_read_ending(other).liberties)
    started = notes / STARTED
    ending.liberties.blind = len(list(started.iterdir())) if started.exists() else 0
    return ending


def _read_ending(path: Path) -> Ending:
    try:
        return msgspec.json.decode(path.read_bytes(), type=Ending)
    except (OSError, msgspec.DecodeError):
        return Ending()  # the process was killed


def _driver_name(gpu: Gpu) -> str:
    """Return what a driver calls a GPU, or what irlens does."""
    return next(iter(gpu.product.drivers), gpu.name) if gpu.product else gpu.name
