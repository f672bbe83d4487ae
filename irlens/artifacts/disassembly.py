"""Disassembles the cubins of captures in the background, on all cores, before they are needed."""

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress

from irlens.artifacts import processes, store
from irlens.model.capture import Capture
from irlens.model.errors import ArtifactError, ToolError


@contextmanager
def disassembling(captures: Iterable[Capture]) -> Iterator[None]:
    """Disassemble captures while the body runs; ``tools.disassemble`` then finds them in the cache.

    nvdisasm needs half a second even for a small kernel, and one core. The body waits for a
    disassembly that is being made when it needs it, and gets its errors there. What the body has
    not waited for is abandoned at its end.

    Args:
        captures: Those without a cubin are skipped.
    """
    pending = [capture for capture in captures if "cubin" in capture.stages]
    if not pending or not _can_keep():
        yield
        return
    from concurrent.futures import ThreadPoolExecutor

    executor = ThreadPoolExecutor(processes.processors(), thread_name_prefix="nvdisasm")
    for capture in pending:
        executor.submit(_disassemble, capture)
    try:
        yield
    finally:
        executor.shutdown(wait=False, cancel_futures=True)


def _can_keep() -> bool:
    from irlens.artifacts.tools import DISASSEMBLY  # a remembered report needs no tool

    return store.can_write(DISASSEMBLY.folder)


def _disassemble(capture: Capture) -> None:
    from irlens.artifacts import tools

    # Errors are raised where the text is needed.
    with _processors_free, suppress(ArtifactError, ToolError):
        cubin = capture.stages["cubin"].read()
        if not tools.is_disassembled(cubin):
            tools.disassemble(cubin)


#: Keeps several users, one inside another, from running more tools than processors.
_processors_free = threading.BoundedSemaphore(processes.processors())
