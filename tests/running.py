"""Runs irlens's commands in the process of the test, which has imported all that they need.

A process of its own takes half a second for that, and a second where Triton is needed. What depends
on one (a terminal, a signal, a crash, what is imported, the interpreter) is tested with one.
"""

import os
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from contextlib import chdir
from pathlib import Path
from typing import Any, NoReturn

import click
import msgspec
import pytest
from click.testing import CliRunner

from irlens.cli import _run
from irlens.compiler import forked
from irlens.model.passes import TextChange
from irlens.sweeps import worker_pool
from irlens.sweeps.tasks import Handler


class Ran(msgspec.Struct, frozen=True):
    """What a command printed, and its exit code."""

    code: int
    raw: bytes
    err: str

    @property
    def out(self) -> str:
        return self.raw.decode()


class _Program(click.Command):
    """All of irlens as a command: an error is a line and an exit code, as it is in ``main``."""

    def main(self, args: Sequence[str] | None = None, *_: Any, **__: Any) -> NoReturn:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys, "argv", ["irlens", *(args or ())])
            sys.exit(_run())


def irlens(
    *arguments: object,
    cwd: Path | None = None,
    stdin: bytes | None = None,
    environment: Mapping[str, str] | None = None,
) -> Ran:
    """Run a command whose stdout is no terminal, with 80 columns unless the environment says so."""
    _compile_into(os.environ["IRLENS_CACHE_DIR"])
    with chdir(cwd or Path.cwd()):
        ran = CliRunner().invoke(
            _Program("irlens"), list(map(str, arguments)), input=stdin,
            env={"COLUMNS": "80", **(environment or {})}, catch_exceptions=False,
        )  # fmt: skip
    return Ran(ran.exit_code, ran.stdout_bytes, ran.stderr)


#: The store of the last command.
_store = ""


def _compile_into(store: str) -> None:
    """End the child that compiles, if it was forked for commands with another store."""
    global _store
    if store != _store:
        forked.end()
    _store = store


class InlinePool:
    """A pool of workers whose tasks run when they are submitted, in this process."""

    width = 1
    shares_store = True

    def __init__(self, jobs: int) -> None:
        """Take the number of workers, of which there are none."""

    def submit(self, handler: Handler, task: bytes) -> "Future[bytes]":
        future: Future[bytes] = Future()
        try:
            future.set_result(handler(task))
        except Exception as error:  # the pool's user raises it
            future.set_exception(error)
        return future

    def is_crash(self, error: BaseException) -> bool:
        return False

    def crash(self, future: "Future[bytes]") -> worker_pool.Crash:
        raise AssertionError("this process is still there")

    def prepare(self, handler: "Handler", task: bytes, workers: int) -> None: ...

    def abandon(self, future: "Future[bytes]") -> None:
        """Do nothing: a task that was submitted has ended."""

    def stop(self) -> None:
        """Do nothing: there is no worker."""


@pytest.fixture
def inline(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let sweeps and suggestions compile in this process."""
    monkeypatch.setattr(worker_pool, "LocalPool", InlinePool)


def with_changes(before: str, changes: Sequence[TextChange]) -> str:
    """Return the text that the changes of a pass make of another."""
    lines = before.split("\n")
    made: list[str] = []
    at = 0
    for change in changes:
        made += lines[at : change.start]
        made += change.added
        at = change.start + change.removed
    return "\n".join(made + lines[at:])
