"""Runs a program and makes a capture of each Triton kernel that it compiles."""

import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import current_thread, main_thread
from typing import IO, TypeVar

import msgspec

from irlens.analyze.address_slice import written_arguments
from irlens.artifacts import locks, store
from irlens.artifacts.load import load
from irlens.artifacts.revisions import kept_path
from irlens.compiler.capture_files import (
    CompileFailure,
    Launch,
    copy_artifacts,
    copy_sources,
    sha256,
    source_file,
    write_manifest,
)
from irlens.compiler.sources.target_facts import driver_name
from irlens.compiler.toolchains import environments, triton_version
from irlens.gpus import Gpu
from irlens.isa.mlir.parser import parse
from irlens.model import files
from irlens.model.capture import MANIFEST_SCHEMA, PYTHON_FOLDER, Capture, Manifest
from irlens.model.config import GridFormula, Target
from irlens.model.errors import ArtifactError, CaptureError
from irlens.model.recording import (
    PROGRAM_NAME,
    PROGRAM_SCHEMA,
    ProgramRun,
    RecordedIndex,
    RecordedRun,
)
from irlens.programs.child_processes import STARTED
from irlens.programs.job import (
    FAILURES,
    LAUNCHES,
    REPORT,
    RUNNER,
    TRITON_CACHE,
    Job,
    Options,
    ProcessReport,
    Program,
    full_disk,
)
from irlens.programs.launches import recorded_run
from irlens.version import VERSION

_T = TypeVar("_T")

#: Seconds between two reports of progress.
_PROGRESS_INTERVAL = 0.5
#: Variables that would keep Triton from compiling, or keep its artifacts from irlens.
_HIDDEN = frozenset(
    {
        "TRITON_INTERPRET",
        "TRITON_STORE_BINARY_ONLY",
        "TRITON_CACHE_MANAGER",
        "TRITON_REMOTE_CACHE_BACKEND",
    }
)


class Run(ProcessReport, frozen=True, kw_only=True):
    """How a run of the program ended.

    Attributes:
        code: Its exit code; a negative one is the signal that ended it.
    """

    code: int


class Recording(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a recording.

    Attributes:
        programs: What the program launched on each GPU, with estimated times; empty where nobody
            asked for them.
    """

    variants: dict[str, int]
    runs: tuple[Run, ...]
    failures: tuple[CompileFailure, ...] = ()
    directory: str = ""
    programs: tuple[ProgramRun, ...] = ()


_DEFAULTS = Options()
#: Receives the number of launched variants and the seconds since the program's start.
Progress = Callable[[int, float], None]


def record(
    program: Program,
    destination: Path,
    gpus: Sequence[Gpu],
    *,
    fake: bool,
    options: Options = _DEFAULTS,
    triton: str | None = None,
    progress: Progress = lambda variants, seconds: None,
) -> Recording:
    """Run a program and make a capture of each kernel that it compiles.

    Args:
        program: The program. It inherits this process's standard streams.
        destination: The folder for the captures: a path that does not exist, or an older
            recording, which is replaced. It stays absent if nothing was compiled.
        gpus: The GPUs to compile for, with one run each.
        fake: Whether to fake the GPU and compute nothing. Otherwise ``gpus`` is the real one.
        triton: Another Triton: a version, or the path of an interpreter that runs the program.
        progress: Called about twice a second.

    Raises:
        CaptureError: The program cannot be started, or there is no such Triton.
        ArtifactError: The captures cannot be written.
    """
    store.clean(destination.absolute().parent)
    runs = []
    recorded: list[RecordedRun] = []
    failures: dict[CompileFailure, None] = {}
    with store.workspace(destination.absolute()) as work:
        build = work / "build"
        build.mkdir()
        for index, gpu in enumerate(gpus):
            folder = work / f"run-{index}"
            folder.mkdir()
            job = make_job(program, folder, gpu if fake else None, options)
            runs.append(run_job(job, *program_interpreter(triton, work), progress))
            entries = _write_or_fail(folder, build, gpu.target, destination)
            recorded.append(recorded_run(folder, entries, gpu.target, is_fake=fake))
            failures |= dict.fromkeys(_lines(folder / FAILURES, CompileFailure))
        names = [kernel_of(entry) for entry in build.iterdir()]
        if names:
            title = Path(program.name).name
            contents = RecordedIndex(schema=PROGRAM_SCHEMA, program=title, runs=tuple(recorded))
            (build / PROGRAM_NAME).write_bytes(msgspec.json.encode(contents))
            store.publish(build, destination, older="replace")
    variants = dict(sorted(Counter(names).items()))
    return Recording(variants=variants, runs=tuple(runs), failures=tuple(failures))


def _write_or_fail(folder: Path, build: Path, target: Target, destination: Path) -> dict[str, str]:
    """Make the captures of a run, which may have filled the disk; see ``write_captures``."""
    error = full_disk(folder)
    if error is None:
        try:
            return write_captures(folder, build, target)
        except OSError as failure:  # shutil's own for several files has no number
            error = full_disk(folder) or failure
    raise store.unwritable(destination, error) from error


def make_job(program: Program, folder: Path, gpu: Gpu | None, options: Options) -> Job:
    """Return the job that runs a program, on a fake GPU or, for ``None``, on the real one."""
    return Job(
        program=program,
        folder=str(folder),
        target=gpu.target if gpu else None,
        memory=gpu.product.memory if gpu and gpu.product else None,
        gpu_name=driver_name(gpu) if gpu else "",
        pythonpath=os.environ.get("PYTHONPATH"),
        options=options,
    )


def program_interpreter(triton: str | None, work: Path) -> tuple[str, list[str]]:
    """Return the executable that runs the program, and the folders that it imports from.

    A version of Triton comes first on the path of this interpreter. An interpreter of the user's
    has its own packages; of this one's it gets those that irlens needs.
    """
    own = [folder for folder in sys.path if folder]
    other = environments.find_interpreter(triton)
    if other is None:
        return sys.executable, own
    if environments.version_named(triton or "") is not None:
        if other.lock is not None:
            locks.hold(other.lock)
        return sys.executable, [str(other.packages_folder()), *own]
    shared = work / "packages"
    shared.mkdir(exist_ok=True)
    for name, file in other.packages.items():
        source = Path(file).parent if Path(file).stem == "__init__" else Path(file)
        with suppress(FileExistsError):
            (shared / (name if source.is_dir() else source.name)).symlink_to(source)
    return str(other.path), [str(shared), *filter(None, [os.environ.get("PYTHONPATH")])]


def run_job(
    job: Job,
    python: str,
    paths: Sequence[str],
    progress: Progress,
    stdout: IO[str] | None = None,
) -> Run:
    """Run the program once, and return how it ended.

    Args:
        progress: Called about twice a second.
        stdout: Where it prints; ``None`` for this process's stdout.

    Raises:
        CaptureError: It cannot be started.
    """
    folder = Path(job.folder)
    # -P, because files in the working directory must not shadow irlens's own modules.
    try:
        encoded = msgspec.json.encode(job).decode()
    except UnicodeEncodeError as error:
        raise CaptureError(
            f"{error.object}: not UTF-8",
            hint="rename it: a program, its arguments and its recording have names in UTF-8",
        ) from error
    command = [python, "-P", "-m", RUNNER, encoded]
    try:
        with _signals_forwarded() as forward_to:
            run = subprocess.Popen(command, env=_environment(folder, paths), stdout=stdout)
            forward_to(run)
            code = _wait(run, folder / LAUNCHES, progress)
    except OSError as error:
        raise CaptureError(f"cannot run {job.program.name}: {error.strerror}") from error
    return Run(code=code, **msgspec.structs.asdict(_report(folder)))


def _wait(run: subprocess.Popen[bytes], launches: Path, progress: Progress) -> int:
    """Wait for the program, reporting its progress; return its exit code."""
    began = time.monotonic()
    while True:
        try:
            return run.wait(timeout=_PROGRESS_INTERVAL)
        except subprocess.TimeoutExpired:
            launched = launches.read_bytes().count(b"\n") if launches.exists() else 0
            progress(launched, time.monotonic() - began)


def _environment(folder: Path, paths: Sequence[str]) -> dict[str, str]:
    """Return the user's environment, with fresh caches of compiled kernels.

    Triton and TorchInductor would not compile a kernel that is in their cache.
    """
    kept = {name: value for name, value in os.environ.items() if name not in _HIDDEN}
    return kept | {
        "PYTHONPATH": os.pathsep.join(paths),
        "TRITON_CACHE_DIR": str(folder / TRITON_CACHE),
        "TORCHINDUCTOR_CACHE_DIR": str(folder / "inductor"),
    }


@contextmanager
def _signals_forwarded() -> Iterator[Callable[[subprocess.Popen[bytes]], None]]:
    """Forward termination signals to the program, so that its captures survive.

    Ctrl-C reaches it without that.

    Yields:
        A function that takes the program's process, which then gets the signals sent to irlens,
        including those sent while it was starting.
    """
    programs: list[subprocess.Popen[bytes]] = []
    early: list[int] = []

    def forward(number: int, _: object) -> None:
        if not programs:
            early.append(number)
        for program in programs:
            program.send_signal(number)

    def forward_to(program: "subprocess.Popen[bytes]") -> None:
        programs.append(program)
        for number in early:
            program.send_signal(number)

    # Not SIG_IGN, which the program would inherit; ignored signals stay ignored for it.
    handlers = {signal.SIGINT: lambda *_: None, signal.SIGTERM: forward, signal.SIGHUP: forward}
    is_main = current_thread() is main_thread()
    before = {
        number: signal.signal(number, handler)
        for number, handler in handlers.items()
        if is_main and signal.getsignal(number) != signal.SIG_IGN
    }
    try:
        yield forward_to
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _report(folder: Path) -> ProcessReport:
    """Return how the program's process ended, with the deviations of its child processes."""
    report = _read_report(folder / REPORT)
    for other in sorted(folder.glob(f"*-{REPORT}")):
        report.deviations.add(_read_report(other).deviations)
    started = folder / STARTED
    report.deviations.blind = len(list(started.iterdir())) if started.exists() else 0
    return report


def _read_report(path: Path) -> ProcessReport:
    try:
        return msgspec.json.decode(path.read_bytes(), type=ProcessReport)
    except (OSError, *files.DECODE_ERRORS):
        return ProcessReport()  # the process was killed


#: A file in a location of ttir.
_NAMED_FILE = re.compile(r'loc\("(/[^"]+\.py)":\d')
#: Files of Triton's own library.
_IN_TRITON = re.compile(r"/triton/(language|experimental|tools)/")
#: Digits of the number that sorts captures by launch.
_DIGITS = 4


def write_captures(folder: Path, build: Path, target: Target) -> dict[str, str]:
    """Make a capture of each cache entry of a run.

    Args:
        build: The folder for the captures, each in a directory of its own.

    Returns:
        The name of each capture's directory, by that of the cache entry.
    """
    entries: dict[str, str] = {}
    launches = {launch.entry: launch for launch in _lines(folder / LAUNCHES, Launch)}
    compiled = {str(capture.directory): capture for capture in _compiled(folder, launches)}
    # In launch order, followed by kernels that were not seen to be launched.
    for directory in dict.fromkeys((*launches, *compiled)):
        capture = compiled.get(directory)
        if capture is None or capture.metadata is None:
            continue  # a compilation that did not finish, or was removed
        entry = build / f"{len(list(build.iterdir())):0{_DIGITS}}-{capture.kernel}"
        copy_artifacts(Path(directory), entry)
        sources = _sources(capture, launches.get(directory))
        contents = {path: path.read_bytes() for path in sources}
        copy_sources(contents, entry / PYTHON_FOLDER)
        manifest = _manifest(capture, launches.get(directory), sources, target)
        if sources and directory in launches:
            own, content = sources[0], contents[sources[0]]
            if own.is_relative_to(folder):  # TorchInductor's, which is removed: the copy is left
                own = kept_path(own.name, sha256(content))
            source = source_file(own.absolute(), content, capture.kernel)
            manifest = msgspec.structs.replace(manifest, source=source)
        write_manifest(manifest, entry)
        entries[directory] = entry.name
    return entries


def kernel_of(entry: Path) -> str:
    """Return the kernel's name of a capture that ``write_captures`` made."""
    return entry.name.partition("-")[2]


def _lines(file: Path, kind: type[_T]) -> Iterator[_T]:
    """Yield the records of a file, without a line that a killed process left incomplete."""
    try:
        lines = file.read_bytes().splitlines()
    except FileNotFoundError:
        return
    for line in lines:
        with suppress(*files.DECODE_ERRORS):
            yield msgspec.json.decode(line, type=kind)


def _compiled(folder: Path, launches: Iterable[str]) -> Iterator[Capture]:
    """Yield the compiled kernels: in this run's caches, or where the program put them."""
    elsewhere = [Path(entry) for entry in launches if not Path(entry).is_relative_to(folder)]
    for directory in (folder, *elsewhere):
        # Nothing was compiled, or the program cleared its cache.
        with suppress(ArtifactError):
            yield from (found for found in load(directory) if isinstance(found, Capture))


def _sources(capture: Capture, launch: Launch | None) -> list[Path]:
    """Return the Python files of a capture, the kernel's own first.

    Its ttir names them; Triton's own library is left out.
    """
    ttir = capture.stages.get("ttir")
    named = _NAMED_FILE.findall(ttir.text()) if ttir is not None else []
    own = [launch.file] if launch is not None and launch.file is not None else []
    paths = dict.fromkeys(Path(name) for name in (*own, *named) if not _IN_TRITON.search(name))
    return [path for path in paths if path.is_file()]


def _manifest(
    capture: Capture, launch: Launch | None, sources: Sequence[Path], target: Target
) -> Manifest:
    """Return a capture's manifest.

    Launches by others than Triton and TorchInductor are not noted: their constexprs, arguments and
    grid are unknown.
    """
    compiled_for = capture.target or target
    written = capture.metadata.triton_version if capture.metadata else None
    return Manifest(
        schema=MANIFEST_SCHEMA,
        irlens_version=VERSION,
        # A program may use a Triton of its own.
        triton_version=written or triton_version(),
        kernel=capture.kernel,
        file=sources[0].name if sources else "",
        # The artifacts do not state the product's name.
        target=target if compiled_for.arch == target.arch else compiled_for,
        constexprs=launch.constexprs if launch else {},
        args=launch.args if launch else {},
        grid=launch.grid if launch else None,
        options=launch.options if launch else None,
        fixed=launch.fixed if launch else (),
        grid_formula=(
            GridFormula(launch.grid_formula, {}) if launch and launch.grid_formula else None
        ),
        contents=_unwritten(capture, launch.contents) if launch else {},
    )


def _unwritten(capture: Capture, contents: dict[str, bytes]) -> dict[str, bytes]:
    """Return what tensors hold that a kernel does not write: the others hold something else now."""
    ttir = capture.stages.get("ttir")
    if not contents or ttir is None:
        return {}
    module = parse(ttir.text(), stage="ttir")
    written = written_arguments(ttir.text(), "ttir")
    if module.kernel is None or written is None:
        return {}
    names = [each.name.removeprefix("%") for each in module.kernel.parameters]
    kept = {name for at, name in enumerate(names) if at not in written}
    return {name: content for name, content in contents.items() if name in kept}
