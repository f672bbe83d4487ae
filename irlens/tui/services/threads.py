"""Worker threads for slow calls, so that the interface's own thread never blocks.

The threads are daemons: quitting does not wait for a disassembler.
"""

import asyncio
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from typing import TypeVar

from textual.dom import DOMNode
from textual.worker import Worker

from irlens.model.errors import IrlensError

T = TypeVar("T")

#: Seconds until the first batch of a stream, and the longest interval between two batches. The
#: first rows appear soon, and drawing many does not take longer than finding them.
_FIRST_BATCH, _LONGEST_INTERVAL = 0.05, 0.4


def run_in_thread(
    node: DOMNode,
    call: Callable[[], T],
    on_result: Callable[[T], None],
    on_error: Callable[[IrlensError], None],
    *,
    group: str = "default",
) -> Worker[None]:
    """Run a call in a thread and pass its result back to the interface's thread.

    The result is dropped if ``node`` is gone by then or has started another call of the group.

    Args:
        group: Starting a call cancels an earlier one of ``node`` in the same group.
    """

    async def work() -> None:
        try:
            result = await _in_thread(call)
        except IrlensError as error:
            on_error(error)
        else:
            on_result(result)

    return node.run_worker(work, group=group, exclusive=True)


def stream_from_thread(
    node: DOMNode,
    iterate: Callable[[], Iterator[T]],
    on_batch: Callable[[list[T]], None],
    on_end: Callable[[], None],
    on_error: Callable[[IrlensError], None],
    *,
    group: str = "stream",
) -> Worker[None]:
    """Iterate in a thread and pass the items in batches to the interface's thread.

    Args:
        node: The screen or widget that needs the items; the iterator is closed when it is gone.
        on_end: Called after the last batch.
        on_error: Called instead of ``on_end`` if the iterator raises.
        group: Starting a stream cancels an earlier one of ``node`` in the same group.
    """

    async def work() -> None:
        try:
            async for batch in _batches(iterate):
                on_batch(batch)
        except IrlensError as error:
            on_error(error)
        else:
            on_end()

    return node.run_worker(work, group=group, exclusive=True)


async def _in_thread(call: Callable[[], T]) -> T:
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def settle(result: T | None, error: BaseException | None) -> None:
        if future.done():  # cancelled meanwhile
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(result)  # type: ignore[arg-type]

    def run() -> None:
        result, problem = None, None
        try:
            result = call()
        except BaseException as error:  # raised again in the thread that awaits the future
            problem = error
        with suppress(RuntimeError):  # the loop is closed: the app has ended
            loop.call_soon_threadsafe(settle, result, problem)

    threading.Thread(target=run, daemon=True).start()
    return await future


async def _batches(iterate: Callable[[], Iterator[T]]) -> AsyncIterator[list[T]]:
    found: deque[T] = deque()
    stopped = threading.Event()

    def run() -> None:
        items = iterate()
        try:
            for item in items:
                if stopped.is_set():
                    break
                found.append(item)
        finally:
            if close := getattr(items, "close", None):
                close()

    thread = asyncio.ensure_future(_in_thread(run))
    interval = _FIRST_BATCH
    try:
        while found or not thread.done():
            await asyncio.wait({thread}, timeout=interval)
            if batch := [found.popleft() for _ in range(len(found))]:
                interval = min(interval * 2, _LONGEST_INTERVAL)
                yield batch
        thread.result()
    finally:
        stopped.set()
