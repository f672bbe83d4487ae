"""Runs NVIDIA's tools (nvdisasm, cuobjdump, ptxas), and caches disassemblies.

The Triton wheel contains them; they are run from its directory without importing Triton.
"""

import gzip
import hashlib
import os
import re
import resource
import shutil
import signal
import subprocess
import threading
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import lru_cache, partial
from importlib.util import find_spec
from pathlib import Path

from irlens.artifacts import inventory, processes, store
from irlens.artifacts.temporary_folders import TemporaryFolder
from irlens.model import files
from irlens.model.errors import ToolError
from irlens.model.text import rounded_size

#: Seconds of processor time that a tool gets.
SECONDS = 5
#: The same of nvdisasm, since what it prints is read and analyzed then: code of 2 MB takes 3 s, and
#: 5 more for its report. Some damaged cubins would take it forever.
LISTING_SECONDS = 4
#: A machine that is busy with other work lets a tool run for a part of the time.
_WALL_PER_PROCESSOR_TIME = 10
#: Bytes of address space that a tool gets. A cubin of 2 MB takes nvdisasm 400 MB, PTX of 590 kB
#: ptxas as much, and more time than it gets.
_MEMORY = 1 << 30
#: What NVIDIA's tools say when that does not suffice.
_NO_MEMORY = b"Memory allocation failure"

#: Code sections only, with the line table and the inlining that led to each line.
_DISASSEMBLE = ("-c", "-gi", "-gp")
#: Leaves out the analysis that finds the targets of indirect branches: a third of nvdisasm's time.
#: The listing is the same without it where there is no such branch.
WITHOUT_DATAFLOW = "-ndf"
INDIRECT_BRANCH = re.compile(r"\b(?:BRX|JMX)U?\b")
#: Variables for NVIDIA's tools, which fill 50 MB as they start: in large pages, asked for at once,
#: that takes a tenth less.
LARGE_PAGES = {"GLIBC_TUNABLES": f"glibc.malloc.hugetlb=1:glibc.malloc.top_pad={64 << 20}"}

#: Suffix of the file that says that nvdisasm was stopped at a cubin, in place of a listing.
_STOPPED = ".stopped"


def _name(path: Path) -> str | None:
    """Return the name of a cached disassembly, ``None`` for any other file."""
    return inventory.name_of(path, ".gz") or inventory.name_of(path, _STOPPED)


DISASSEMBLY = inventory.Kind("disassembly", folder="sass", name=_name)


class StoppedError(ToolError):
    """A tool was stopped because it exceeded its limit of time or memory."""

    def __init__(self, message: str) -> None:
        super().__init__(
            message, hint="the input may be damaged, or larger than the tool can handle"
        )


class UnansweredError(ToolError):
    """A tool did not answer, but may another time: it is missing, or the machine is overloaded."""

    #: Number of these errors in this process.
    count = 0

    def __init__(self, message: str, *, hint: str) -> None:
        super().__init__(message, hint=hint)
        UnansweredError.count += 1


#: One lock for each disassembly: who asks for one that is being made waits for it.
_making: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)
#: Why nvdisasm was stopped in this process, by disassembly.
_stopped: dict[str, str] = {}


def find(name: str) -> Path:
    """Return the path of a tool: the installed Triton's, or else the first on ``PATH``.

    Raises:
        ToolError: It is in neither place.
    """
    for directory in _triton_directories():
        candidate = directory / "backends" / "nvidia" / "bin" / name
        if candidate.is_file():
            return candidate
    on_path = shutil.which(name)
    if on_path is None:
        raise UnansweredError(
            f"{name} is neither in an installed Triton nor on PATH",
            hint="install triton, or add the CUDA toolkit's bin directory to PATH",
        )
    return Path(on_path)


def version(tool: Path) -> str:
    """Return a tool's version: the last line of ``--version``.

    Raises:
        ToolError: It cannot be run, fails, or prints nothing.
    """
    lines = run(tool, ["--version"]).strip().splitlines()
    if not lines:
        raise ToolError(
            f"{tool.name} --version prints nothing", hint=f"is {tool} what it claims to be?"
        )
    return lines[-1]


def run(
    tool: Path, arguments: Sequence[str], *, directory: Path | None = None, seconds: int = SECONDS
) -> str:
    """Run a tool without a shell and with an empty standard input. It ends with this process.

    Args:
        directory: Its working directory; irlens's own by default.
        seconds: Processor time that it gets.

    Returns:
        Its standard output.

    Raises:
        StoppedError: It took too long, or too much memory.
        ToolError: It cannot be started, or exits with an error, or the machine is overloaded.
    """
    try:
        with subprocess.Popen(
            [tool.absolute(), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=directory,
            env=LARGE_PAGES | os.environ,
            process_group=processes.group(),
        ) as process:
            _limit(process.pid, seconds)
            try:
                output, errors = process.communicate(timeout=seconds * _WALL_PER_PROCESSOR_TIME)
            except BaseException:
                process.kill()
                raise
    except subprocess.TimeoutExpired:
        waited = seconds * _WALL_PER_PROCESSOR_TIME
        raise UnansweredError(
            f"{tool.name} did not end within {waited} s", hint="is the machine overloaded?"
        ) from None
    except OSError as error:
        raise UnansweredError(
            f"cannot run {tool}: {error.strerror}", hint="reinstall triton or the CUDA toolkit"
        ) from error
    if process.returncode == -signal.SIGXCPU:
        raise StoppedError(f"{tool.name} was stopped after {seconds} s of processor time")
    if process.returncode != 0 and _NO_MEMORY in errors + output:
        raise StoppedError(f"{tool.name} was stopped at {rounded_size(_MEMORY)} of memory")
    if process.returncode != 0:
        raise ToolError(
            f"{tool.name} failed: {_complaint(errors, output, process.returncode)}",
            hint=f"the input may be damaged, or made by something newer than this {tool.name}",
        )
    return output.decode("utf-8", "replace")


@contextmanager
def folder_with(tool: Path, name: str, content: bytes) -> Iterator[Path]:
    """Yield a temporary folder that holds what a tool reads.

    Raises:
        UnansweredError: It cannot be written: the disk is full, say.
    """
    with ExitStack() as stack:
        try:
            folder = Path(stack.enter_context(TemporaryFolder()))
            (folder / name).write_bytes(content)
        except OSError as error:
            raise UnansweredError(
                f"cannot write what {tool.name} reads: {error.strerror}",
                hint="free space, or name another place: TMPDIR",
            ) from error
        yield folder


def _limit(process: int, seconds: int) -> None:
    """Limit a process's processor time and memory."""
    with suppress(ProcessLookupError):  # it has ended
        # One second more for the hard limit, which kills without saying why.
        resource.prlimit(process, resource.RLIMIT_CPU, (seconds, seconds + 1))
        resource.prlimit(process, resource.RLIMIT_AS, (_MEMORY, _MEMORY))


def disassemble(cubin: bytes) -> str:
    """Return the machine code of a cubin as nvdisasm prints it, with source lines.

    The output is cached in irlens's store, by content and tool version: the tool needs 0.3 s even
    for a small kernel.

    Raises:
        StoppedError: nvdisasm takes too long, now or when it was tried before.
        ToolError: nvdisasm is missing or refuses the cubin.
    """
    tool = find("nvdisasm")
    path = _cached_path(cubin, tool)
    with _making[path.name]:
        text = _read_cached(path)
        if text is None:
            stopped = path.with_suffix(_STOPPED)
            message = _stopped.get(path.name) or _read_cached(stopped)
            if message is not None:
                raise StoppedError(message)
            try:
                text = _disassemble(tool, cubin)
            except StoppedError as error:
                _stopped[path.name] = error.message  # where nothing can be written
                _write_cached(stopped, error.message)
                raise
            _write_cached(path, text)
        return text


def _disassemble(tool: Path, cubin: bytes) -> str:
    # A relative name keeps the temporary directory out of the tool's output.
    with folder_with(tool, "kernel.cubin", cubin) as directory:
        call = partial(run, tool, directory=directory, seconds=LISTING_SECONDS)
        text = call([*_DISASSEMBLE, WITHOUT_DATAFLOW, "kernel.cubin"])
        if INDIRECT_BRANCH.search(text):
            text = call([*_DISASSEMBLE, "kernel.cubin"])
        return text


def is_disassembled(cubin: bytes) -> bool:
    """Whether ``disassemble`` finds a cubin in the cache, or that nvdisasm was stopped at it.

    Raises:
        ToolError: nvdisasm is missing.
    """
    path = _cached_path(cubin, find("nvdisasm"))
    return path.exists() or path.with_suffix(_STOPPED).exists()


def _cached_path(cubin: bytes, tool: Path) -> Path:
    """Return the cache file of a cubin's disassembly."""
    maker = "\0".join((_version_once(tool, files.state(tool)), *_DISASSEMBLE)).encode()
    key = hashlib.sha256(hashlib.sha256(cubin).digest() + maker).hexdigest()
    return store.root() / DISASSEMBLY.folder / f"{key}.gz"


@lru_cache(maxsize=8)
def _version_once(tool: Path, _state: files.State | None) -> str:
    """Return the version of a tool, which is asked once for each state of its file."""
    return version(tool)


def _triton_directories() -> list[Path]:
    spec = find_spec("triton")  # a top-level name is located, not imported
    locations = spec.submodule_search_locations if spec is not None else None
    return [Path(location) for location in locations or ()]


def _complaint(stderr: bytes, stdout: bytes, code: int) -> str:
    """Return the line with a tool's error message; warnings precede it."""
    lines = (stderr or stdout).decode("utf-8", "replace").strip().splitlines()
    errors = [line for line in lines if "fatal" in line or "error" in line]
    if errors or lines:
        return (errors or lines)[-1].strip()
    return f"killed by signal {-code}" if code < 0 else f"exit status {code}, and no message"


def _read_cached(path: Path) -> str | None:
    content = store.recall(path)
    return None if content is None else gzip.decompress(content).decode()


def _write_cached(path: Path, text: str) -> None:
    """Write a cache file atomically. A cache that cannot be written only costs time."""
    store.remember(path, gzip.compress(text.encode(), compresslevel=3, mtime=0))
