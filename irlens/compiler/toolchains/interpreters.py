"""Other Python interpreters: examine them, and compile with their Triton.

They only provide Triton; ``bootstrap`` imports irlens and its dependencies from this environment.
"""

import importlib.util
import json
import os
import signal
import subprocess
import sysconfig
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

import msgspec

from irlens.artifacts import locks, processes, store
from irlens.compiler.request import Request
from irlens.compiler.toolchains import OLDEST_TRITON, is_too_old, triton_identity
from irlens.model import files
from irlens.model.errors import CaptureError

T = TypeVar("T")

_BOOTSTRAP = Path(__file__).with_name("bootstrap.py")
#: Timeout in seconds for an interpreter to report its facts.
_EXAMINE_TIMEOUT = 60.0
_OLDEST_PYTHON = (3, 11)
_OLDEST = ".".join(map(str, _OLDEST_PYTHON))
_PYTHON_HINT = f"name a Python {_OLDEST} or newer that has Triton: .venv/bin/python"
#: Pure-Python packages that compiling needs besides Triton; msgspec is native code.
_PURE_PACKAGES = ("irlens", "simpleeval")


class _Facts(msgspec.Struct, frozen=True):
    """An interpreter's facts.

    Attributes:
        triton: File of its Triton's package, if it has one.
    """

    python: tuple[int, int]
    abi: str | None
    triton: str | None
    msgspec: bool


class _Reply(msgspec.Struct, frozen=True):
    """An interpreter's reply to a task.

    Attributes:
        result: The task's result; ``None`` if it failed.
    """

    result: str | None = None
    message: str = ""
    hint: str | None = None


class CompilerDiedError(CaptureError):
    """An interpreter ended during a task, without a reply."""


class Interpreter(msgspec.Struct, frozen=True):
    """A Python interpreter with a Triton that irlens can compile with.

    Attributes:
        triton: Identity of its Triton, see ``versions.triton_identity``.
        packages: Modules that it imports from this environment: their files by name.
        lock: Lock file to share while it works, see ``locks.share``; ``None`` for a user's own.
    """

    path: Path
    triton: str
    packages: dict[str, str]
    lock: Path | None = None

    def packages_folder(self) -> Path:
        """Return the folder of its virtual environment's packages."""
        folder = self.path.parent.parent
        return Path(sysconfig.get_path("platlib", "venv", vars={"platbase": str(folder)}))

    def execute(self, task: str, requests: Sequence[Request]) -> str:
        """Execute a task with its Triton.

        Args:
            task: Name of the task; ``bootstrap`` defines its result.
            requests: Requests that name the kernel by the absolute path of its file.

        Raises:
            CompilerDiedError: The interpreter ended without a reply.
            CaptureError: The task failed.
        """
        command: dict[str, object] = {
            "task": task,
            "packages": self.packages,
            "triton": self.triton,
            "requests": [
                msgspec.to_builtins(msgspec.structs.replace(each, triton=None)) for each in requests
            ],
        }
        held = locks.hold(self.lock) if self.lock is not None else None
        reply = _run(self.path, command, _Reply, held)
        if reply.result is not None:
            return reply.result
        hint = reply.hint
        if hint is None and ModuleNotFoundError.__name__ in reply.message:
            hint = f"install the imports of the kernel's file for {self.path}, too"
        raise CaptureError(reply.message, hint=hint)


def examine(path: Path) -> Interpreter:
    """Return the interpreter at a path.

    Raises:
        CaptureError: It is not a Python, is too old, has no Triton, or cannot run irlens.
    """
    facts = _run(path, {}, _Facts)
    python = ".".join(map(str, facts.python))
    if facts.python < _OLDEST_PYTHON:
        raise CaptureError(
            f"{path} is Python {python}, and irlens compiles with {_OLDEST} or newer",
            hint="--triton VERSION installs a Triton for the Python that irlens runs on",
        )
    if facts.triton is None:
        raise CaptureError(
            f"{path} (Python {python}) has no Triton", hint=f"{path} -m pip install triton"
        )
    triton = triton_identity(Path(facts.triton))
    if is_too_old(triton):
        raise CaptureError(
            f"{path} has Triton {triton}, and irlens compiles with {OLDEST_TRITON} or newer"
        )
    packages = list(_PURE_PACKAGES)
    if facts.abi == sysconfig.get_config_var("SOABI"):
        packages.append("msgspec")
    elif not facts.msgspec:
        raise CaptureError(
            f"{path} is Python {python} and has no msgspec; irlens's own does not fit it",
            hint=f"{path} -m pip install msgspec",
        )
    return Interpreter(path, triton, {name: _file(name) for name in packages})


def _file(module: str) -> str:
    """Return the file of an installed module, or of a package's ``__init__``."""
    spec = importlib.util.find_spec(module)
    if spec is None or spec.origin is None:
        raise CaptureError(f"another interpreter cannot import {module}: it has no file")
    return spec.origin


def _run(path: Path, command: dict[str, object], reply: type[T], held: int | None = None) -> T:
    """Run ``bootstrap`` in an interpreter with a command; return its reply.

    Its other output goes to stderr. It inherits the descriptor ``held`` of a lock, since it may
    outlive this process.
    """
    # -E: PYTHONPATH and PYTHONHOME of this environment are not meant for the other interpreter.
    arguments = [str(path), "-E", str(_BOOTSTRAP)]
    try:
        process = subprocess.run(
            arguments,
            input=json.dumps(command).encode(),
            stdout=subprocess.PIPE,
            stderr=None if command else subprocess.DEVNULL,
            env=os.environ | {store.ROOT_VARIABLE: str(store.root())},
            timeout=None if command else _EXAMINE_TIMEOUT,
            pass_fds=[] if held is None else [held],
            process_group=processes.group(),
            check=False,
        )
    except OSError as error:
        raise CaptureError(
            f"cannot run {path}: {error.strerror}", hint="name a Python interpreter with Triton"
        ) from error
    except subprocess.TimeoutExpired:
        raise CaptureError(
            f"{path} did not respond within {_EXAMINE_TIMEOUT:g} s", hint=_PYTHON_HINT
        ) from None
    try:
        return msgspec.json.decode(process.stdout, type=reply)
    except files.DECODE_ERRORS:
        if not command:
            raise CaptureError(
                f"{path} is not a Python that irlens can compile with", hint=_PYTHON_HINT
            ) from None
        raise CompilerDiedError(
            f"{path} {_exit_status(process.returncode)} while it worked with its Triton"
        ) from None


def _exit_status(code: int) -> str:
    """Return how a process ended: "was stopped by SIGABRT"."""
    if code >= 0:
        return f"stopped with exit code {code}"
    try:
        return f"was stopped by {signal.Signals(-code).name}"
    except ValueError:
        return f"was stopped by signal {-code}"
