"""Work on captures that begins before its results are needed, on all cores."""

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import TypeAlias

import msgspec

from irlens.artifacts import processes, store
from irlens.artifacts.report_cache import REPORTS
from irlens.model.capture import Capture, Disassembly, Stage
from irlens.model.errors import ArtifactError, ToolError

#: A capture without a remembered report, and what ``report_of`` takes.
Due: TypeAlias = tuple[Capture, Disassembly]

#: Up to this many reports are made in this process: starting a worker takes as long.
_FEW = 32
#: Captures per task of a worker, whose machine code one run of nvdisasm lists, and tasks of each
#: worker: enough for all of them to end about together, and few, since nvdisasm starts for each.
_BATCH, _MOST, _TASKS = 8, 64, 2


def preparing(
    due: Sequence[Due], make: Callable[[Sequence[Due]], None]
) -> AbstractContextManager[None]:
    """Prepare the reports of captures that the body of a ``with`` makes or recalls.

    Many reports are made by worker processes, and are in the cache when the body begins; the
    machine code of few captures is disassembled while it runs.

    Args:
        make: Makes and caches reports. What fails is left to who needs the report.
    """
    if len(due) > _FEW and store.can_write(REPORTS.folder):
        _spread(due, make)
        return nullcontext()
    return disassembling([capture.stages for capture, each in due if each is not Disassembly.SKIP])


def _spread(due: Sequence[Due], make: Callable[[Sequence[Due]], None]) -> None:
    """Call ``make`` in worker processes, one for each processor."""
    from concurrent.futures.process import BrokenProcessPool

    from irlens.artifacts import pools

    due = sorted(due, key=_alike)
    size = max(_BATCH, min(_MOST, len(due) // (_TASKS * processes.processors())))
    batches = [due[at : at + size] for at in range(0, len(due), size)]
    if processes.can_fork():
        import irlens.report  # noqa: F401  # once, for all workers

    executor = pools.start_pool(processes.processors())
    try:
        for _ in executor.map(make, batches):
            pass
    except BrokenProcessPool:  # a worker was killed, perhaps for its memory
        return
    except BaseException:
        pools.kill(executor)
        raise
    finally:
        pools.end(executor)


def _alike(due: Due) -> tuple[str, str, bytes]:
    """Sort key: a run of nvdisasm is of one architecture; equal kernels share what is evaluated."""
    capture = due[0]
    target = capture.target.name if capture.target else ""
    return target, capture.kernel, msgspec.json.encode(capture.config, order="sorted")


@contextmanager
def disassembling(captures: Iterable[Mapping[str, Stage]]) -> Iterator[None]:
    """Disassemble captures while the body runs; ``tools.disassemble`` then finds them in the cache.

    nvdisasm needs half a second even for a small kernel, and one core. The body waits for a
    disassembly that is being made when it needs it, and gets its errors there. What the body has
    not waited for is abandoned at its end.

    Args:
        captures: The stages of each; those without a cubin are skipped.
    """
    pending = [stages["cubin"] for stages in captures if "cubin" in stages]
    if not pending or not _can_keep():
        yield
        return
    from concurrent.futures import ThreadPoolExecutor

    executor = ThreadPoolExecutor(processes.processors(), thread_name_prefix="nvdisasm")
    for cubin in pending:
        executor.submit(_disassemble, cubin)
    try:
        yield
    finally:
        executor.shutdown(wait=False, cancel_futures=True)


def _can_keep() -> bool:
    from irlens.artifacts.tools import DISASSEMBLY  # a remembered report needs no tool

    return store.can_write(DISASSEMBLY.folder)


def _disassemble(stage: Stage) -> None:
    from irlens.artifacts import tools

    # Errors are raised where the text is needed.
    with _processors_free, suppress(ArtifactError, ToolError):
        cubin = stage.read()
        if not tools.is_disassembled(cubin):
            tools.disassemble(cubin)


#: Keeps several users, one inside another, from running more tools than processors.
_processors_free = threading.BoundedSemaphore(processes.processors())
