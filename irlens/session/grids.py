"""Sweeps: from what the user named to a compiled grid, and to the finished record."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from irlens.artifacts import processes
from irlens.model.errors import IrlensError
from irlens.model.text import count
from irlens.session.session import Session
from irlens.session.subject import Configurations, is_compiled

if TYPE_CHECKING:  # they load the compiler layer
    from irlens.compiler import Request
    from irlens.model.sweep import Sweep
    from irlens.sweeps.measuring import Progress
    from irlens.sweeps.run import CompiledGrid
    from irlens.sweeps.selection import Selection
    from irlens.sweeps.worker_pool import WorkerPool

#: Planning more configurations takes minutes.
_MAX_CONFIGURATIONS = 100_000


def requests_of(
    session: Session, kernel: str, configurations: Configurations
) -> "Sequence[Request]":
    """Return the requests of a sweep, which are all of one kernel.

    Raises:
        IrlensError: KERNEL cannot be compiled, nothing or too much varies, or it holds several.
    """
    compilers = [configurations.targets or (None,), configurations.tritons or (None,)]
    settings = (*configurations.settings, *configurations.args)
    number = math.prod(len(values) for values in (*compilers, *(v for _, v in settings)))
    if number > _MAX_CONFIGURATIONS:
        raise IrlensError(
            f"{count(number)} configurations exceed the limit of {count(_MAX_CONFIGURATIONS)}",
            hint="name fewer values: --where does not reduce this number",
        )
    requests = list(session.requests(kernel, configurations))
    require_one_kernel(kernel, requests)
    if len(requests) == 1 and is_compiled(kernel) and configurations.is_empty:
        raise IrlensError(
            f"{kernel} holds one configuration, and no option says what to vary",
            hint="vary something (--num-stages 2,3,4), or use `irlens inspect`",
        )
    return requests


def require_one_kernel(kernel: str, requests: "Sequence[Request]") -> None:
    """Raise ``IrlensError`` if KERNEL, as the user wrote it, holds several kernels."""
    if len({request.kernel for request in requests}) > 1:
        folders = sorted(each.name for each in Path(kernel).glob("*/"))
        example = f", such as {Path(kernel) / folders[0]}" if folders else ""
        raise IrlensError(
            f"{kernel} holds several kernels", hint=f"name one of its captures{example}"
        )


def compile_sweep(
    session: Session,
    requests: "Sequence[Request]",
    selection: "Selection",
    workers: "WorkerPool",
    progress: "Progress" = lambda *_: None,
    *,
    timeout: float | None = None,
) -> "CompiledGrid":
    """Compile a grid with workers, which are stopped at the end; see ``sweep.run.compile_grid``.

    Raises:
        IrlensError: See ``compile_grid``, or a Triton cannot be installed.
    """
    from irlens.sweeps.run import compile_grid

    try:
        for triton in dict.fromkeys(request.triton for request in requests):
            session.require_triton(triton)
        session.ensure_store()
        grid = compile_grid(requests, workers, selection, progress, timeout=timeout or math.inf)
    finally:
        workers.stop()
    session.note_once(grid.notes)
    return grid


def sweep(
    session: Session,
    kernel: str,
    configurations: Configurations,
    selection: "Selection",
    *,
    jobs: int | None = None,
) -> "Sweep":
    """Return the sweep of every configuration of KERNEL that is selected, without measuring.

    Raises:
        IrlensError: See ``requests_of`` and ``compile_sweep``.
    """
    from irlens.sweeps.run import build_sweep
    from irlens.sweeps.worker_pool import LocalPool

    requests = requests_of(session, kernel, configurations)
    grid = compile_sweep(session, requests, selection, LocalPool(jobs or processes.processors()))
    with grid.journal:
        grid.journal.remove()
    return build_sweep(grid, selection)
