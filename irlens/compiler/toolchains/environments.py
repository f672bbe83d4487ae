"""Virtual environments with other versions of Triton, created once with venv and pip.

An environment holds a Triton and nothing of irlens, see ``interpreters``. It is under irlens's
cache directory, and complete when it contains the file ``complete``. A process that finds an
incomplete one waits for the process that creates it; if there is none, it creates it again.
"""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from irlens.artifacts import locks, processes, store
from irlens.artifacts.inventory import Kind
from irlens.artifacts.temporary_folders import TemporaryFolder
from irlens.compiler.toolchains import OLDEST_TRITON, installed_triton, interpreters, is_too_old
from irlens.compiler.toolchains.interpreters import Interpreter
from irlens.model.errors import CaptureError, UnknownNameError

_VERSION = re.compile(r"\d[\w.+!-]*")
_COMPLETE = "complete"
#: Name of an environment; an ABI is a ``SOABI`` such as "cpython-311-x86_64-linux-gnu".
_FOLDER = re.compile(r"triton-(?P<version>\d[\w.+!-]*?)-(?P<abi>[a-z]+-?\d.*)")

#: Messages of pip: the available versions, and an unreachable index.
_AVAILABLE = re.compile(r"\(from versions: ([^)]*)\)")
_UNREACHABLE = re.compile(r"connection broken by|Could not fetch URL|Connection to \S+ timed out")


def identify(triton: str | None) -> str:
    """Return the identity of a ``Request.triton``, see ``versions``, without installing it.

    Raises:
        CaptureError: There is no such Triton.
    """
    if triton is None:
        return installed_triton()
    return version_named(triton) or interpreters.examine(_executable(triton)).triton


def find_interpreter(triton: str | None) -> Interpreter | None:
    """Return the interpreter for a ``Request.triton``, after installing it if need be.

    Returns:
        ``None`` if this interpreter has that Triton.

    Raises:
        CaptureError: There is no such Triton, or it cannot be installed.
    """
    if triton is None:
        return None
    version = version_named(triton)
    if version is None:
        return interpreters.examine(_executable(triton))
    return None if _is_installed_here(version) else _environment(version)


def needs_install(triton: str | None) -> bool:
    """Whether ``find_interpreter`` has to install this Triton, which takes a while."""
    version = version_named(triton) if triton is not None else None
    if version is None or _is_installed_here(version):
        return False
    return not _is_complete(_folder(version))


def version_named(triton: str) -> str | None:
    """Return the version that ``Request.triton`` names: "3.7.0" for "3.7"; ``None`` for a path.

    Raises:
        CaptureError: irlens does not support that version.
    """
    if not _VERSION.fullmatch(triton):
        return None
    if is_too_old(triton):
        raise CaptureError(f"Triton {triton}: irlens compiles with {OLDEST_TRITON} or newer")
    return f"{triton}.0" if re.fullmatch(r"\d+\.\d+", triton) else triton


def _is_installed_here(version: str) -> bool:
    try:
        return installed_triton() == version
    except CaptureError:
        return False


def _executable(name: str) -> Path:
    """Return the interpreter that a path, an environment's folder, or a command name denotes."""
    path = Path(name).expanduser()
    executable = shutil.which(_python(path) if path.is_dir() else path)
    if executable is None:
        is_path = "/" in name or path.exists()
        problem = "no such interpreter" if is_path else "no such version or interpreter"
        raise CaptureError(
            f"{problem}: {name}",
            hint="name a version of Triton, 3.6.0, or a Python that has it, .venv/bin/python",
        )
    # Not resolved: an environment's python is a link to an interpreter outside of it.
    return Path(executable).absolute()


def _folder(version: str) -> Path:
    """Return the path of a version's environment."""
    abi = sysconfig.get_config_var("SOABI") or sys.implementation.cache_tag
    return store.root() / ENVIRONMENTS.folder / f"triton-{version}-{abi}"


def _lock(folder: Path) -> Path:
    """Return the file that the creator of an environment locks."""
    return folder.with_name(f"{folder.name}.lock")


def _name(path: Path) -> str | None:
    """Return the title of an environment, or ``None`` if the path is not one."""
    match = _FOLDER.fullmatch(path.name)
    if match is None or not path.is_dir() or not _lock(path).is_file():
        return None
    return f"Triton {match['version']} for {match['abi']}"


@contextmanager
def _guard(folder: Path) -> Iterator[bool]:
    """Lock an environment against its creators and users; yield whether it has neither."""
    with locks.alone(_lock(folder)) as no_creator, locks.alone(folder / _COMPLETE) as no_user:
        yield no_creator and no_user


ENVIRONMENTS = Kind(
    "environments",
    folder="environments",
    name=_name,
    stamp=lambda folder: folder / _COMPLETE,
    guard=_guard,
)


def _python(folder: Path) -> Path:
    return folder / "bin" / "python"


def _is_complete(folder: Path) -> bool:
    # The interpreter is a link; its target may have been removed since.
    return (folder / _COMPLETE).is_file() and _python(folder).exists()


def _environment(version: str) -> Interpreter:
    """Return the interpreter of a version's environment, creating the environment if missing."""
    folder = _folder(version)
    while not _hold(folder):
        with _locked(folder) as lock:
            if not _is_complete(folder):
                _install(version, folder, lock)
    complete = folder / _COMPLETE
    store.touch(complete)
    return msgspec.structs.replace(interpreters.examine(_python(folder)), lock=complete)


def _hold(folder: Path) -> bool:
    """Keep an environment for the lifetime of this process; return whether it is complete."""
    if not _is_complete(folder):
        return False
    locks.hold(folder / _COMPLETE)
    return _is_complete(folder)  # it may have been removed while this process waited for the lock


def _install(version: str, folder: Path, lock: int) -> None:
    """Create an environment with Triton; on failure, remove it."""
    shutil.rmtree(folder, ignore_errors=True)
    try:
        # -I: the working directory and the user's own packages are not trusted with modules.
        error = _run([sys.executable, "-I", "-m", "venv", str(folder)], lock)
        if error is not None:
            raise CaptureError(
                f"cannot create an environment for Triton {version}: {_last_line(error)}",
                hint="irlens needs Python's venv (python3-venv), or --python PATH",
            )
        pip = [str(_python(folder)), "-I", "-m", "pip", "install", "--no-input"]
        # Only wheels: building one would take an hour, and run code from the index.
        error = _run([*pip, "--only-binary", ":all:", f"triton=={version}"], lock)
        if error is not None:
            raise _pip_error(version, error)
        installed = interpreters.examine(_python(folder)).triton
        if installed != version:
            raise CaptureError(f"pip installed Triton {installed} for {version}")
        (folder / _COMPLETE).touch()
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _run(command: Sequence[str], lock: int) -> str | None:
    """Run a command that inherits the lock; return its output if it failed, else ``None``."""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    with TemporaryFolder() as temporary:  # pip, if killed, leaves what it has downloaded
        process = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=env | {"TMPDIR": temporary},
            pass_fds=[lock],
            process_group=processes.group(),
            check=False,
        )
    return process.stdout.decode("utf-8", "replace") if process.returncode != 0 else None


def _pip_error(version: str, output: str) -> CaptureError | UnknownNameError:
    """Return the error that the output of pip indicates."""
    available = _AVAILABLE.search(output)
    local = available[1] if available is not None else ""
    if _UNREACHABLE.search(output):
        # pip then lists the versions of the folders that it can read.
        others = f", and finds only {local} without it" if local not in ("", "none") else ""
        problem = f"pip cannot reach its index{others}"
        hint = "connect to the network, or name an interpreter that has it: --python PATH"
        return CaptureError(f"cannot install Triton {version}: {problem}", hint=hint)
    if local not in ("", "none"):
        supported = [each for each in local.split(", ") if not is_too_old(each)]
        return UnknownNameError("version of Triton", version, supported)
    here = f"Python {sys.version_info.major}.{sys.version_info.minor} on {sysconfig.get_platform()}"
    problem = f"pip finds no Triton for {here}" if available is not None else _last_line(output)
    return CaptureError(
        f"cannot install Triton {version}: {problem}",
        hint="--python PATH takes an interpreter that has it",
    )


def _last_line(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return lines[-1].removeprefix("ERROR: ") if lines else "no reason given"


@contextmanager
def _locked(folder: Path) -> Iterator[int]:
    """Wait until no other process creates this environment; yield the lock's descriptor.

    Child processes inherit the lock: otherwise a pip that outlives its irlens would write into
    the environment that the next irlens creates.
    """
    import fcntl  # not on Windows, where irlens can still read captures

    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        lock = _lock(folder).open("w")
    except OSError as error:
        raise CaptureError(
            f"cannot write {folder.parent}: {error.strerror}",
            hint=f"set {store.ROOT_VARIABLE} to a writable directory",
        ) from error
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield lock.fileno()
