"""Watching for Python processes that a program starts: they are not the one that is watched."""

import re
import sys
from collections.abc import Callable
from multiprocessing import spawn
from pathlib import PurePath
from typing import Any

_PYTHON = re.compile(r"python[\d.]*")


def watch_processes(tell: Callable[[], None]) -> None:
    """Tell of each Python process that is started anew, from now on; one that is forked is not.

    Args:
        tell: Called for each.
    """

    def audit(event: str, details: tuple[Any, ...]) -> None:
        if event == "subprocess.Popen" and _is_python(str(details[0])):
            tell()

    sys.addaudithook(audit)
    prepare = spawn.get_preparation_data

    def prepared(name: str) -> dict[str, Any]:
        tell()  # multiprocessing does not go through subprocess
        return prepare(name)

    spawn.get_preparation_data = prepared


def _is_python(executable: str) -> bool:
    return executable == sys.executable or bool(_PYTHON.fullmatch(PurePath(executable).name))
