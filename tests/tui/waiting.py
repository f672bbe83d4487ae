"""Waiting for what the app has been asked to do: as long as that takes, and no longer."""

import time
from collections.abc import Callable
from contextlib import suppress

from textual.events import Key
from textual.keys import _character_to_key
from textual.pilot import Pilot
from textual.worker import WorkerCancelled

from irlens.tui.app import Lens
from irlens.tui.screens.browser import BrowserScreen

#: Seconds until something must have happened; a busy machine takes its time.
PATIENCE = 60.0
#: What keys write that are called by a name.
_SIGNS = {"slash": "/", "colon": ":"}


async def settle(pilot: Pilot[None]) -> None:
    """Wait until everything that was asked has been answered and drawn."""
    await pilot.pause()
    end = time.monotonic() + PATIENCE
    while _is_busy(pilot):
        if pilot.app._exception is not None:  # it has ended, and will never be idle
            raise pilot.app._exception
        assert time.monotonic() < end, "it is busy for ever"
        with suppress(WorkerCancelled):  # who leaves a screen abandons what it asked for
            await pilot.app.workers.wait_for_complete()
        await pilot.pause(0.01)
    await pilot.pause()


async def until(pilot: Pilot[None], holds: Callable[[], bool]) -> None:
    """Wait for something while the app may be busy with something else."""
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, "this never came true"
        await pilot.pause(0.01)


def _is_busy(pilot: Pilot[None]) -> bool:
    screen = pilot.app.screen
    about_to_ask = isinstance(screen, BrowserScreen) and screen.is_resting
    if isinstance(pilot.app, Lens) and not pilot.app.keyboard.is_idle:
        return True
    return about_to_ask or not all(worker.is_finished for worker in pilot.app.workers)


def press_at_once(pilot: Pilot[None], *keys: str) -> None:
    """Press keys without waiting for what any of them does, as whoever types ahead."""
    for key in keys:
        name = _character_to_key(key) if len(key) == 1 else key
        character = key if len(key) == 1 else _SIGNS.get(key)
        pilot.app.post_message(Key(name, character))
