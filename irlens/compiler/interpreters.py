"""Other Python interpreters: what they are, and work for the Triton that one has.

Only Triton is theirs. irlens and what it needs is lent to them from here, see ``guest``.
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

from irlens.artifacts import locks, store
from irlens.compiler.request import OLDEST_TRITON, Request, is_too_old, triton_identity
from irlens.model.errors import CaptureError

T = TypeVar("T")

_GUEST = Path(__file__).with_name("guest.py")
#: Seconds that an interpreter may take to say what it is.
_PATIENCE = 60.0
_OLDEST_PYTHON = (3, 11)
_OLDEST = ".".join(map(str, _OLDEST_PYTHON))
_RIGHT_PYTHON = f"name a Python {_OLDEST} or newer that has Triton: .venv/bin/python"
#: What compiling needs besides Triton, as long as it is Python; msgspec is machine code.
_LENT = ("irlens", "simpleeval")


class _Facts(msgspec.Struct, frozen=True):
    """What an interpreter says of itself.

    Attributes:
        python: Major and minor version.
        abi: What compiled modules must be made for.
        triton: The file of its Triton's package, if it has one.
        msgspec: Whether it has one of its own.
    """

    python: tuple[int, int]
    abi: str | None
    triton: str | None
    msgspec: bool


class _Outcome(msgspec.Struct, frozen=True):
    """What an interpreter says when it has done its work, or could not.

    Attributes:
        done: What came of the work; ``None`` where it failed.
        message: What is wrong.
        hint: What to do about it.
    """

    done: str | None = None
    message: str = ""
    hint: str | None = None


class CompilerDiedError(CaptureError):
    """An interpreter that ended over its work, without an answer."""


class Interpreter(msgspec.Struct, frozen=True):
    """A Python interpreter with a Triton that irlens can compile with.

    Attributes:
        path: The executable.
        triton: What tells its Triton from another, see ``request.triton_identity``.
        lent: The modules that it gets from here, by name: their files.
        lock: What it shares while it works, see ``locks.share``; ``None`` where it is a user's own.
    """

    path: Path
    triton: str
    lent: dict[str, str]
    lock: Path | None = None

    def carry_out(self, work: str, requests: Sequence[Request]) -> str:
        """Do something with its Triton.

        Args:
            work: What, see ``guest``, which says what is returned, too.
            requests: What is asked for, the kernel by the absolute path of its file.

        Raises:
            CompilerDiedError: It ended before it was done.
            CaptureError: It cannot be done there.
        """
        order: dict[str, object] = {
            "work": work,
            "lent": self.lent,
            "triton": self.triton,
            "requests": [
                msgspec.to_builtins(msgspec.structs.replace(each, triton=None)) for each in requests
            ],
        }
        held = locks.hold(self.lock) if self.lock is not None else None
        answer = _ask(self.path, order, _Outcome, held)
        if answer.done is not None:
            return answer.done
        hint = answer.hint
        if hint is None and ModuleNotFoundError.__name__ in answer.message:
            hint = f"what the kernel's file imports has to be installed for {self.path}, too"
        raise CaptureError(answer.message, hint=hint)


def examine(path: Path) -> Interpreter:
    """Return what irlens needs to know of an interpreter to compile with it.

    Raises:
        CaptureError: It is no Python, too old, has no Triton, or lacks something to run irlens.
    """
    facts = _ask(path, {}, _Facts)
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
    lent = list(_LENT)
    if facts.abi == sysconfig.get_config_var("SOABI"):
        lent.append("msgspec")
    elif not facts.msgspec:
        raise CaptureError(
            f"{path} is Python {python}, for which irlens has no msgspec to lend",
            hint=f"{path} -m pip install msgspec",
        )
    return Interpreter(path, triton, {name: _file(name) for name in lent})


def _file(module: str) -> str:
    """Return the file that an installed package or module begins with."""
    spec = importlib.util.find_spec(module)
    if spec is None or spec.origin is None:
        raise CaptureError(f"{module} cannot be lent to another interpreter: it has no file")
    return spec.origin


def _ask(path: Path, order: dict[str, object], answer: type[T], held: int | None = None) -> T:
    """Give an interpreter an order, and return its answer. What it prints goes to stderr.

    It holds a lock, too, whose descriptor it gets: it may outlive this process.
    """
    # -E: a PYTHONPATH or PYTHONHOME of this environment is not the other one's.
    command = [str(path), "-E", str(_GUEST)]
    try:
        done = subprocess.run(
            command,
            input=json.dumps(order).encode(),
            stdout=subprocess.PIPE,
            stderr=None if order else subprocess.DEVNULL,
            env=os.environ | {store.ROOT_VARIABLE: str(store.root())},
            timeout=None if order else _PATIENCE,
            pass_fds=[] if held is None else [held],
            check=False,
        )
    except OSError as error:
        raise CaptureError(
            f"cannot run {path}: {error.strerror}", hint="name a Python interpreter with Triton"
        ) from error
    except subprocess.TimeoutExpired:
        raise CaptureError(
            f"{path} has not said within {_PATIENCE:g} s what it is", hint=_RIGHT_PYTHON
        ) from None
    try:
        return msgspec.json.decode(done.stdout, type=answer)
    except msgspec.DecodeError:
        if not order:
            raise CaptureError(
                f"{path} is no Python that irlens can compile with", hint=_RIGHT_PYTHON
            ) from None
        raise CompilerDiedError(
            f"{path} {_ending(done.returncode)} while it worked with its Triton"
        ) from None


def _ending(code: int) -> str:
    """Say how a process ended: "was stopped by SIGABRT"."""
    if code >= 0:
        return f"stopped with exit code {code}"
    try:
        return f"was stopped by {signal.Signals(-code).name}"
    except ValueError:
        return f"was stopped by signal {-code}"
