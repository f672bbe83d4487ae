"""Waits for the app: as long as its work takes, and no longer."""

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from textual.app import App
from textual.events import Key
from textual.keys import _character_to_key
from textual.pilot import Pilot
from textual.screen import Screen
from textual.worker import WorkerCancelled

from irlens.tui.app import IrlensApp
from irlens.tui.screens.browser import BrowserScreen

#: Seconds after which a wait fails.
PATIENCE = 60.0
#: Seconds between two looks at what no event announces: a timer of the app, a thread.
_TURN = 0.002
_DRAW = Screen._compositor_refresh
#: The characters of named keys.
_SIGNS = {"slash": "/", "colon": ":"}


async def settle(pilot: Pilot[None]) -> None:
    """Wait until every call has returned and its result is drawn."""
    end = time.monotonic() + PATIENCE
    await rest(pilot.app)
    while _is_asking(pilot.app):
        assert time.monotonic() < end, "it asks for ever"
        with suppress(WorkerCancelled):  # leaving a screen cancels its calls
            await pilot.app.workers.wait_for_complete()
        await asyncio.sleep(0 if all(each.is_finished for each in pilot.app.workers) else _TURN)
        await rest(pilot.app)
    draw(pilot.app)


def draw_later(screen: Screen[Any]) -> None:
    """Note what a frame would draw: nobody sees those between keys, nor before an answer.

    They are most of the processor time of tests.
    """
    if screen is not screen.app.screen:
        _DRAW(screen)
        return
    screen._dirty_widgets.clear()
    screen.app._update_mouse_over(screen)


def draw(app: App[Any]) -> None:
    """Draw all that has changed since the last frame."""
    if app._running and app.screen_stack and app.screen._compositor._dirty_regions:
        _DRAW(app.screen)


async def rest(app: App[Any]) -> None:
    """Wait until the app is idle; calls may still be running.

    Textual's own pilot waits until the process takes little time of a processor, and at least 20 ms
    each time. On a busy machine that is no sign of anything, and on an idle one it is most of a
    test's time. The app is idle when its event loop has nothing to run and no widget has anything
    to draw. The frame that a terminal gets within 16 ms is drawn at once,
    and one frame for all that has changed by then.
    """
    end = time.monotonic() + PATIENCE
    while True:
        await _drained()
        if app._exception is not None:  # it has ended, and will never be idle
            raise app._exception
        if not _is_moving(app):
            return
        assert time.monotonic() < end, "it is busy for ever"
        app.screen._on_timer_update()
        await _drained()
        if _is_moving(app):  # a handler waits for a thread or a timer
            await asyncio.sleep(_TURN)


async def until(pilot: Pilot[None], holds: Callable[[], bool]) -> None:
    """Wait until a condition holds."""
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, "this never came true"
        await asyncio.sleep(_TURN)
        await rest(pilot.app)


async def _drained() -> None:
    """Let the event loop run all that it can: what is left waits for a timer or a thread."""
    loop: Any = asyncio.get_running_loop()
    await asyncio.sleep(0)
    while loop._ready:
        await asyncio.sleep(0)


def _is_moving(app: App[Any]) -> bool:
    """Whether messages are queued or something must be drawn."""
    if not app._running or not app.screen_stack:
        return False
    if app._resize_event is not None:  # Textual waits for the next one of a window that is dragged
        return True
    screen = app.screen
    if isinstance(app, IrlensApp) and app.context.keys.is_acting:
        return True
    if any(node.message_queue_size for node in (app, *screen.walk_children(with_self=True))):
        return True
    is_changed = screen._layout_required or screen._scroll_required or screen._repaint_required
    return bool(is_changed or screen._dirty_widgets or screen._callbacks)


def _is_asking(app: App[Any]) -> bool:
    """Whether a call is running, or a key is deferred."""
    screen = app.screen
    about_to_ask = isinstance(screen, BrowserScreen) and screen.is_resting
    waits = isinstance(app, IrlensApp) and not app.context.keys.is_idle
    return about_to_ask or waits or not all(worker.is_finished for worker in app.workers)


def press_at_once(pilot: Pilot[None], *keys: str) -> None:
    """Press keys without waiting for the effect of any of them."""
    for key in keys:
        name = _character_to_key(key) if len(key) == 1 else key
        character = key if len(key) == 1 else _SIGNS.get(key)
        pilot.app.post_message(Key(name, character))
