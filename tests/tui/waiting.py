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
from textual.worker import WorkerCancelled

from irlens.tui.app import IrlensApp
from irlens.tui.screens.browser import BrowserScreen

#: Seconds after which a wait fails.
PATIENCE = 60.0
#: Seconds of a turn: longer than a frame, so that changes have been drawn.
_TURN = 0.02
#: The characters of named keys.
_SIGNS = {"slash": "/", "colon": ":"}


async def settle(pilot: Pilot[None]) -> None:
    """Wait until every call has returned and its result is drawn."""
    end = time.monotonic() + PATIENCE
    while await _has_moved(pilot.app, end) or _is_asking(pilot.app):
        with suppress(WorkerCancelled):  # leaving a screen cancels its calls
            await pilot.app.workers.wait_for_complete()
        await asyncio.sleep(_TURN)


async def rest(app: App[Any]) -> None:
    """Wait until the app is idle; calls may still be running.

    Textual's own pilot waits until the process takes little time of a processor. On a busy machine
    that is no sign of anything.
    """
    end = time.monotonic() + PATIENCE
    while await _has_moved(app, end):
        pass


async def until(pilot: Pilot[None], holds: Callable[[], bool]) -> None:
    """Wait until a condition holds."""
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, "this never came true"
        await pilot.pause(0.01)


async def _has_moved(app: App[Any], end: float) -> bool:
    """Give the app a turn, and return whether it was busy before or after."""
    if app._exception is not None:  # it has ended, and will never be idle
        raise app._exception
    assert time.monotonic() < end, "it is busy for ever"
    was_moving = _is_moving(app)
    await asyncio.sleep(_TURN)
    return was_moving or _is_moving(app)


def _is_moving(app: App[Any]) -> bool:
    """Whether messages are queued or something must be drawn."""
    if not app._running or not app.screen_stack:
        return False
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
