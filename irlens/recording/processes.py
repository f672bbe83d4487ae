"""Watching for Python processes that a program starts: they are not the one that is watched."""

import re
import sys
from collections.abc import Callable
from multiprocessing import spawn
from pathlib import PurePath
from types import FrameType
from typing import Any

_PYTHON = re.compile(r"python[\d.]*")


def watch_processes(tell: Callable[[], None]) -> None:
    """Tell of each Python process that is started anew, from now on; one that is forked is not.

    Args:
        tell: Called for each.
    """

    def audit(event: str, details: tuple[Any, ...]) -> None:
        if event == "subprocess.Popen" and _is_python(str(details[0])) and not _is_for_cpu():
            tell()

    sys.addaudithook(audit)
    prepare = spawn.get_preparation_data

    def prepared(name: str) -> dict[str, Any]:
        tell()  # multiprocessing does not go through subprocess
        return prepare(name)

    spawn.get_preparation_data = prepared


def _is_for_cpu() -> bool:
    """Whether it is TorchInductor that starts a process: it tries what the CPU can do."""
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        if "/torch/_inductor/" in frame.f_code.co_filename:
            return True
        frame = frame.f_back
    return False


def _is_python(executable: str) -> bool:
    return executable == sys.executable or bool(_PYTHON.fullmatch(PurePath(executable).name))
