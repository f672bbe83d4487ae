"""Asking the workbench in threads, so that no key ever waits for an answer.

The threads are daemons: whoever quits while something is being disassembled is gone at once.
"""

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from typing import TypeVar

from textual.dom import DOMNode
from textual.worker import Worker

from irlens.model.errors import IrlensError

T = TypeVar("T")

#: Seconds until the first handful of what a stream yields is handed over, and at most between
#: two: the first is seen soon, and showing many does not take longer than finding them.
_FIRST, _MOST = 0.05, 0.4


def ask(
    node: DOMNode,
    call: Callable[[], T],
    then: Callable[[T], None],
    failed: Callable[[IrlensError], None],
    *,
    group: str = "default",
) -> Worker[None]:
    """Ask something in a thread, and hand the answer over in the interface's own.

    The answer is dropped if ``node`` is gone by then, or has asked something else meanwhile.

    Args:
        node: Who asks: a screen or a widget.
        call: What takes a while.
        then: Receives the answer.
        failed: Receives the error instead.
        group: An earlier question of ``node`` in the same group is abandoned.
    """

    async def work() -> None:
        try:
            answer = await _in_thread(call)
        except IrlensError as error:
            failed(error)
        else:
            then(answer)

    return node.run_worker(work, group=group, exclusive=True)


def stream(
    node: DOMNode,
    iterate: Callable[[], Iterator[T]],
    each: Callable[[list[T]], None],
    done: Callable[[], None],
    failed: Callable[[IrlensError], None],
) -> Worker[None]:
    """Iterate in a thread, and hand what comes over in handfuls, in the interface's own.

    Args:
        node: Who asks; when it is gone the iterator is closed.
        iterate: Makes the iterator.
        each: Receives a handful.
        done: Is called at the end.
        failed: Is called instead of ``done`` where the iterator raises.
    """

    async def work() -> None:
        try:
            async for handful in _handfuls(iterate):
                each(handful)
        except IrlensError as error:
            failed(error)
        else:
            done()

    return node.run_worker(work, group="stream", exclusive=True)


async def _in_thread(call: Callable[[], T]) -> T:
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def settle(answer: T | None, error: BaseException | None) -> None:
        if future.done():  # nobody waits any more
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(answer)  # type: ignore[arg-type]

    def run() -> None:
        answer, problem = None, None
        try:
            answer = call()
        except BaseException as error:  # the one who waits shall raise it
            problem = error
        with suppress(RuntimeError):  # the loop is closed: the app has ended
            loop.call_soon_threadsafe(settle, answer, problem)

    threading.Thread(target=run, daemon=True).start()
    return await future


async def _handfuls(iterate: Callable[[], Iterator[T]]) -> AsyncIterator[list[T]]:
    loop = asyncio.get_running_loop()
    arrived: asyncio.Queue[list[T]] = asyncio.Queue()
    stopped = threading.Event()

    def deliver(handful: list[T]) -> None:
        with suppress(RuntimeError):  # the loop is closed: the app has ended
            loop.call_soon_threadsafe(arrived.put_nowait, handful)

    def run() -> None:
        items = iterate()
        handful: list[T] = []
        since, pause = time.monotonic(), _FIRST
        try:
            for item in items:
                if stopped.is_set():
                    break
                handful.append(item)
                if time.monotonic() - since >= pause:
                    deliver(handful)
                    handful, since, pause = [], time.monotonic(), min(pause * 2, _MOST)
        finally:
            deliver(handful)
            if close := getattr(items, "close", None):
                close()

    running = asyncio.ensure_future(_in_thread(run))
    try:
        while not (running.done() and arrived.empty()):
            next_one = asyncio.ensure_future(arrived.get())
            try:
                await asyncio.wait({running, next_one}, return_when=asyncio.FIRST_COMPLETED)
                if next_one.done() and (handful := next_one.result()):
                    yield handful
            finally:
                next_one.cancel()  # it does nothing to what is done
        running.result()
    finally:
        stopped.set()
