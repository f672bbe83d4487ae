"""Following the Python processes that a program starts: they pretend the same GPU.

Each is started with a path that has the folder ``hook`` in front, whose ``sitecustomize`` Python
imports before all else. What a Python process sees of its environment is what it would have been.
"""

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import wraps
from multiprocessing import util
from pathlib import Path, PurePath
from typing import Any
from uuid import uuid4

_HOOK = str(Path(__file__).with_name("hook"))
#: Where irlens is, if not among what the process has installed.
_IRLENS = str(Path(__file__).parents[2])
#: What tells the hook of the order.
_VARIABLE = "IRLENS_FOLLOW"
#: One file for each process that has not been followed.
STARTED = "started"
_PYTHON = re.compile(r"python[\d.]*")
_CHANGING = threading.RLock()


def follow_processes(order: str, notes: Path) -> None:
    """Let each Python process that is started from now on carry out an order.

    Args:
        order: What it is told, see ``child.join``.
        notes: Where there is a file for each that has been started, until it says that it follows.
    """
    (notes / STARTED).mkdir(exist_ok=True)

    def variables(environment: Mapping[str, str], *, is_python: bool) -> dict[str, str]:
        token = uuid4().hex
        # They are gone when nobody waits for this process any more.
        with suppress(FileNotFoundError):
            if is_python:
                (notes / STARTED / token).touch()
        before = environment.get("PYTHONPATH")
        told = {
            "order": order,
            "path": _IRLENS,
            "prefix": sys.prefix,
            "pythonpath": before,
            "token": token,
        }
        path = _HOOK if before is None else os.pathsep.join((_HOOK, before))
        return {"PYTHONPATH": path, _VARIABLE: json.dumps(told)}

    _follow_subprocesses(variables)
    _follow_multiprocessing(variables)


def _follow_subprocesses(variables: Callable[..., dict[str, str]]) -> None:
    start = subprocess.Popen.__init__

    @wraps(start)
    def started(self: Any, args: Any, *others: Any, **options: Any) -> None:
        if len(others) > _ENVIRONMENT:  # given by its place, as nobody does
            start(self, args, *others, **options)
            return
        environment = options.get("env")
        environment = os.environ if environment is None else environment
        if all(isinstance(name, str) for name in environment):
            is_python = _is_python(options.get("executable") or args)
            options["env"] = {**environment, **variables(environment, is_python=is_python)}
        start(self, args, *others, **options)

    subprocess.Popen.__init__ = started  # type: ignore[method-assign]


#: The place of ``env`` among what ``Popen`` takes behind its first argument.
_ENVIRONMENT = 9


def _follow_multiprocessing(variables: Callable[..., dict[str, str]]) -> None:
    """Follow what is started for the methods "spawn" and "forkserver"."""
    start = util.spawnv_passfds

    @wraps(start)
    def started(*args: Any, **options: Any) -> Any:
        with _environment(variables(os.environ, is_python=True)):
            return start(*args, **options)

    util.spawnv_passfds = started


@contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Set variables for as long as a process is started that inherits them."""
    with _CHANGING:
        before = {name: os.environ.get(name) for name in variables}
        os.environ.update(variables)
        try:
            yield
        finally:
            for name, value in before.items():
                if value is None:
                    os.environ.pop(name, None)
                else:
                    os.environ[name] = value


def _is_python(command: Any) -> bool:
    """Whether a command, or the executable of one, is a Python's."""
    first = command[0] if isinstance(command, list | tuple) and command else command
    if not isinstance(first, str | bytes | os.PathLike):
        return False
    executable = os.fsdecode(first)
    return executable == sys.executable or bool(_PYTHON.fullmatch(PurePath(executable).name))
