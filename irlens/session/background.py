"""Reading many captures at once, in processes of their own: one core stays free for the keys."""

import multiprocessing
import os
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import redirect_stderr
from multiprocessing import resource_tracker
from typing import TypeAlias

from irlens.model.capture import Capture
from irlens.session.reading import read_entry
from irlens.session.workbench import Entry

#: An entry's key, its capture and where that lies.
Waiting: TypeAlias = tuple[str, Capture, str]

#: Fewer are read in place: starting a process takes as long as reading some.
_FEW = 12
_MOST_PROCESSES = 4
#: Captures that a process is handed at once, to hear of each soon and not to talk too much.
_HANDFUL = 8


def read_all(waiting: Sequence[Waiting]) -> Iterator[Entry]:
    """Yield each capture's entry as soon as it is read, in any order.

    When the iterator is closed, what has not begun is dropped.
    """
    if len(waiting) <= _FEW:
        for key, capture, place in waiting:
            yield read_entry(key, capture, place)
        return
    executor = _executor()
    try:
        handfuls = [waiting[at : at + _HANDFUL] for at in range(0, len(waiting), _HANDFUL)]
        futures = [executor.submit(_read, handful) for handful in handfuls]
        for future in as_completed(futures):
            yield from future.result()
    except BrokenProcessPool:
        # One of them was killed, perhaps for memory. What is known so far stays on the screen.
        return
    finally:
        executor.shutdown(wait=False, cancel_futures=True)


def _executor() -> Executor:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    processes = max(1, min((cores or 1) - 1, _MOST_PROCESSES))
    # A fork would copy the interface's threads half-way through whatever they do.
    context = multiprocessing.get_context("spawn")
    # It hands its standard error on to a helper, and that of a running interface is no file.
    with redirect_stderr(sys.__stderr__):
        resource_tracker.ensure_running()
    return ProcessPoolExecutor(processes, mp_context=context, initializer=os.nice, initargs=(5,))


def _read(handful: Sequence[Waiting]) -> list[Entry]:
    return [read_entry(key, capture, place) for key, capture, place in handful]
