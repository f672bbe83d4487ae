"""Interactive sessions over kernels that the installed Triton compiles."""

import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from irlens import gpus as arch
from irlens.compiler import Request
from irlens.session.compilation import Compiler
from irlens.session.interactive import Workbench


def never_asked(_: str) -> Request:
    raise AssertionError("nothing is compiled by its name here")


def compiled_here() -> tuple[Workbench, str]:
    """Softmax in four stages for an H100; and its key."""
    gpu = arch.find("h100")
    request = Request(
        kernel="softmax",
        target=gpu.target,
        sm_count=gpu.sm_count,
        settings={"num_stages": 4},
    )
    captures = Compiler().compile(request)
    origins = [(capture, request) for capture in captures]
    bench = Workbench("softmax", lambda: iter(captures), request_for=never_asked, origins=origins)
    (key,) = {entry.key for entry in bench.entries()}
    return bench, key


@contextmanager
def when_compiling(patch: pytest.MonkeyPatch, do: Callable[[], object]) -> Iterator[None]:
    """Do something in another thread as soon as a process has been started that compiles."""
    started, start = threading.Event(), subprocess.Popen.__init__

    def told(*arguments: Any, **options: Any) -> None:
        start(*arguments, **options)
        started.set()

    def wait_and_do() -> None:
        started.wait()
        do()

    waiting = threading.Thread(target=wait_and_do, daemon=True)
    waiting.start()
    with patch.context() as context:
        context.setattr(subprocess.Popen, "__init__", told)
        yield
    waiting.join()
