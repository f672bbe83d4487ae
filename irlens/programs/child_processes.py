"""Follows the Python processes that a program starts: they get the same fake GPU.

Each starts with the folder ``hook`` first on its path, whose ``sitecustomize`` Python imports
before anything else. The hook restores the environment that the process would have had.
"""

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import wraps
from multiprocessing import util
from pathlib import Path, PurePath
from typing import Any
from uuid import uuid4

import msgspec

from irlens.artifacts.processes import with_variables
from irlens.compiler.fake_cuda import Deviations
from irlens.compiler.import_hooks import after_import, postpone_dynamo
from irlens.compiler.tally import Tally
from irlens.programs.job import Job, ReportAtExit

_HOOK = str(Path(__file__).with_name("hook"))
#: The folder of irlens, for processes that do not have it installed.
_IRLENS = str(Path(__file__).parents[2])
#: The variable that passes the job to the hook.
_VARIABLE = "IRLENS_FOLLOW"
#: The folder with a file for each process that was started and has not joined.
STARTED = "started"
_PYTHON = re.compile(r"python[\d.]*")
_ENVIRONMENT_LOCK = threading.RLock()


def join(job: str, token: str) -> None:
    """Instrument this child process once it imports Triton or PyTorch; the hook calls it.

    Args:
        token: The name of this process's file in the folder ``STARTED``.
    """
    decoded = msgspec.json.decode(job, type=Job)
    folder = Path(decoded.folder)
    if not (folder / STARTED).exists():  # the recording has ended
        return
    (folder / STARTED / token).unlink(missing_ok=True)
    follow_child_processes(job, folder)
    instrumented = False

    def instrument_once() -> None:
        nonlocal instrumented
        if instrumented:
            return
        instrumented = True
        from irlens.programs.instrument import instrument

        deviations, tally = Deviations(), Tally()
        instrument(decoded, deviations, tally)
        ReportAtExit(deviations, tally, folder).register()

    postpone_dynamo()
    after_import("triton", lambda module: instrument_once())
    after_import("torch", lambda module: instrument_once())


def follow_child_processes(job: str, folder: Path) -> None:
    """Let each Python process that is started from now on join a job.

    Args:
        folder: The job's folder, which gets a file for each started process until it joins.
    """
    (folder / STARTED).mkdir(exist_ok=True)

    def variables(environment: Mapping[str, str], *, is_python: bool) -> dict[str, str]:
        token = uuid4().hex
        # The folder is gone once the recording has ended.
        with suppress(FileNotFoundError):
            if is_python:
                (folder / STARTED / token).touch()
        before = environment.get("PYTHONPATH")
        message = {
            "job": job,
            "path": _IRLENS,
            "prefix": sys.prefix,
            "pythonpath": before,
            "token": token,
        }
        path = _HOOK if before is None else os.pathsep.join((_HOOK, before))
        return {"PYTHONPATH": path, _VARIABLE: json.dumps(message)}

    _follow_subprocesses(variables)
    _follow_multiprocessing(variables)


def _follow_subprocesses(variables: Callable[..., dict[str, str]]) -> None:
    start = subprocess.Popen.__init__

    @wraps(start)
    def started(self: Any, args: Any, *others: Any, **options: Any) -> None:
        if len(others) > _ENV_POSITION:  # passed by position, which nobody does
            start(self, args, *others, **options)
            return
        environment = options.get("env")
        environment = os.environ if environment is None else environment
        if all(isinstance(name, str) for name in environment):
            is_python = _is_python(options.get("executable") or args)
            options["env"] = {**environment, **variables(environment, is_python=is_python)}
        start(self, args, *others, **options)

    subprocess.Popen.__init__ = started  # type: ignore[method-assign]


#: Position of ``env`` in the arguments of ``Popen`` after the first.
_ENV_POSITION = 9


def _follow_multiprocessing(variables: Callable[..., dict[str, str]]) -> None:
    """Follow processes that start by the methods "spawn" and "forkserver"."""
    start = util.spawnv_passfds

    @wraps(start)
    def started(*args: Any, **options: Any) -> Any:
        # Set while a process starts that inherits them.
        own = variables(os.environ, is_python=True)
        with _ENVIRONMENT_LOCK, with_variables(own):
            return start(*args, **options)

    util.spawnv_passfds = started


def _is_python(command: Any) -> bool:
    """Whether a command, or its executable, is a Python interpreter."""
    first = command[0] if isinstance(command, list | tuple) and command else command
    if not isinstance(first, str | bytes | os.PathLike):
        return False
    executable = os.fsdecode(first)
    return executable == sys.executable or bool(_PYTHON.fullmatch(PurePath(executable).name))
