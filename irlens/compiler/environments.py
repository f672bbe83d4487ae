"""Environments for other versions of Triton: made once, with venv and pip, and kept.

An environment holds a Triton and nothing of irlens, see ``interpreters``. They lie under irlens's
cache directory. One is whole when the file ``complete`` is in it; whoever finds one without waits
for the process that makes it, and where none does, makes it anew.
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

from irlens.artifacts import locks, store
from irlens.artifacts.kept import Kind
from irlens.compiler import interpreters
from irlens.compiler.interpreters import Interpreter
from irlens.compiler.request import OLDEST_TRITON, installed_triton, is_too_old
from irlens.model.errors import CaptureError, UnknownNameError

_VERSION = re.compile(r"\d[\w.+!-]*")
_COMPLETE = "complete"
#: An ABI as ``SOABI`` has it: "cpython-311-x86_64-linux-gnu".
_FOLDER = re.compile(r"triton-(?P<version>\d[\w.+!-]*?)-(?P<abi>[a-z]+-?\d.*)")

#: What pip says of the versions that there are, and of an index that it cannot reach.
_OFFERED = re.compile(r"\(from versions: ([^)]*)\)")
_UNREACHABLE = "connection broken by"


def identify(triton: str | None) -> str:
    """Return what tells a Triton from others; nothing is installed for that.

    Args:
        triton: As ``Request.triton`` has it.

    Raises:
        CaptureError: There is no such Triton.
    """
    if triton is None:
        return installed_triton()
    version = version_named(triton)
    return version or interpreters.examine(_executable(triton)).triton


def find(triton: str | None) -> Interpreter | None:
    """Return the interpreter that has a Triton, ``None`` if this one has. Make one if need be.

    Args:
        triton: As ``Request.triton`` has it.

    Raises:
        CaptureError: There is no such Triton, or it cannot be installed.
    """
    if triton is None:
        return None
    version = version_named(triton)
    if version is None:
        return interpreters.examine(_executable(triton))
    return None if _is_here(version) else _environment(version)


def must_install(triton: str | None) -> bool:
    """Whether ``find`` would have to install that Triton, which takes a while."""
    version = version_named(triton) if triton is not None else None
    return version is not None and not _is_here(version) and not _is_complete(_folder(version))


def version_named(triton: str) -> str | None:
    """Return the version that ``Request.triton`` names: "3.7" is "3.7.0"; ``None`` for a path.

    Raises:
        CaptureError: irlens cannot compile with a version that old.
    """
    if not _VERSION.fullmatch(triton):
        return None
    if is_too_old(triton):
        raise CaptureError(f"Triton {triton}: irlens compiles with {OLDEST_TRITON} or newer")
    return f"{triton}.0" if re.fullmatch(r"\d+\.\d+", triton) else triton


def _is_here(version: str) -> bool:
    try:
        return installed_triton() == version
    except CaptureError:
        return False


def _executable(name: str) -> Path:
    """Return the interpreter that a path, an environment, or a name as a shell takes it, means."""
    path = Path(name).expanduser()
    found = shutil.which(_python(path) if path.is_dir() else path)
    if found is None:
        is_path = "/" in name or path.exists()
        wanted = "no such interpreter" if is_path else "no such version or interpreter"
        raise CaptureError(
            f"{wanted}: {name}",
            hint="name a version of Triton, 3.6.0, or a Python that has it, .venv/bin/python",
        )
    return Path(found).absolute()  # not resolved: an environment's python is a link out of it


def _folder(version: str) -> Path:
    """Return where the environment of a version is, or will be."""
    abi = sysconfig.get_config_var("SOABI") or sys.implementation.cache_tag
    return store.root() / ENVIRONMENTS.folder / f"triton-{version}-{abi}"


def _lock(folder: Path) -> Path:
    """Return the file that who makes an environment holds alone."""
    return folder.with_name(f"{folder.name}.lock")


def _name(path: Path) -> str | None:
    """Return what a folder among the environments is, ``None`` if it is none of them."""
    named = _FOLDER.fullmatch(path.name)
    if named is None or not path.is_dir() or not _lock(path).is_file():
        return None
    return f"Triton {named['version']} for {named['abi']}"


@contextmanager
def _guard(folder: Path) -> Iterator[bool]:
    """Hold an environment against who makes it and who uses it, if there is nobody."""
    with locks.alone(_lock(folder)) as made, locks.alone(folder / _COMPLETE) as unused:
        yield made and unused


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
    # The interpreter is a link: what it leads to may have been removed since.
    return (folder / _COMPLETE).is_file() and _python(folder).exists()


def _environment(version: str) -> Interpreter:
    """Return an environment's interpreter; make the environment if it is not there."""
    folder = _folder(version)
    while not _is_held(folder):
        with _locked(folder) as lock:
            if not _is_complete(folder):
                _install(version, folder, lock)
    complete = folder / _COMPLETE
    store.touch(complete)
    return msgspec.structs.replace(interpreters.examine(_python(folder)), lock=complete)


def _is_held(folder: Path) -> bool:
    """Whether an environment is whole, and stays so as long as this process lives."""
    if not _is_complete(folder):
        return False
    locks.hold(folder / _COMPLETE)
    return _is_complete(folder)  # it may have been cleaned away while the lock was waited for


def _install(version: str, folder: Path, lock: int) -> None:
    """Make an environment with Triton in it, or leave nothing."""
    shutil.rmtree(folder, ignore_errors=True)
    try:
        failed = _run([sys.executable, "-m", "venv", str(folder)], lock)
        if failed is not None:
            raise CaptureError(
                f"cannot make an environment for Triton {version}: {_last_line(failed)}",
                hint="irlens needs Python's venv (python3-venv), or --python PATH",
            )
        pip = [str(_python(folder)), "-m", "pip", "install", "--quiet", "--no-input"]
        # Only wheels: to build one would take an hour, and run what the index says.
        failed = _run([*pip, "--only-binary", ":all:", f"triton=={version}"], lock)
        if failed is not None:
            raise _explain(version, failed)
        got = interpreters.examine(_python(folder)).triton
        if got != version:
            raise CaptureError(f"pip installed Triton {got} for {version}")
        (folder / _COMPLETE).touch()
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _run(command: Sequence[str], lock: int) -> str | None:
    """Run a command, which holds the lock as well; return what it printed if it failed."""
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
        pass_fds=[lock],
        check=False,
    )
    return done.stdout.decode("utf-8", "replace") if done.returncode != 0 else None


def _explain(version: str, printed: str) -> CaptureError | UnknownNameError:
    """Return the error for what pip printed."""
    offered = _OFFERED.search(printed)
    if offered is not None and offered[1] not in ("", "none"):
        usable = [one for one in offered[1].split(", ") if not is_too_old(one)]
        return UnknownNameError("version of Triton", version, usable)
    here = f"Python {sys.version_info.major}.{sys.version_info.minor} on {sysconfig.get_platform()}"
    if _UNREACHABLE in printed:
        problem = "pip cannot reach its index"
    elif offered is not None:
        problem = f"pip finds no Triton for {here}"
    else:
        problem = _last_line(printed)
    return CaptureError(
        f"cannot install Triton {version}: {problem}",
        hint="--python PATH takes an interpreter that has it",
    )


def _last_line(printed: str) -> str:
    lines = [line.strip() for line in printed.splitlines() if line.strip()]
    return lines[-1].removeprefix("ERROR: ") if lines else "no reason given"


@contextmanager
def _locked(folder: Path) -> Iterator[int]:
    """Wait until no other process makes this environment, and hand out the lock's descriptor.

    A process that dies lets go, but not before what it started: a pip that outlives its irlens
    would otherwise write into the environment that the next one makes.
    """
    import fcntl  # not on Windows, where captures can be read all the same

    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        lock = _lock(folder).open("w")
    except OSError as error:
        raise CaptureError(
            f"cannot write {folder.parent}: {error.strerror}",
            hint=f"set {store.ROOT_VARIABLE} to a directory that can be written",
        ) from error
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield lock.fileno()
