"""The workers that read the entries of a scan."""

import multiprocessing
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from irlens.artifacts.entries import Listing
from irlens.session.scan import reader_pool
from irlens.session.scan.entry_rows import EntryRows, Wanted
from irlens.session.scan.reader_pool import Reader


def _read_for_ever(entries: Sequence[Wanted]) -> list[EntryRows]:
    time.sleep(600)
    return []


def _interrupt() -> None:
    """Raise once workers read entries."""
    with Reader[int](2, parsed=1000) as reader:
        for number in range(1000):
            list(reader.read(number, Path("k"), Listing({}, set(), [], []), ("kernel",)))
            if multiprocessing.active_children():
                raise KeyboardInterrupt


def test_an_interrupt_does_not_wait_for_what_workers_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader_pool, "read_rows", _read_for_ever)
    others = multiprocessing.active_children()  # of the tests before
    with pytest.raises(KeyboardInterrupt):
        _interrupt()
    for worker in set(multiprocessing.active_children()).difference(others):
        worker.join(60)
        assert not worker.is_alive()


def _read_nothing(entries: Sequence[Wanted]) -> list[EntryRows]:
    return [EntryRows([], []) for _ in entries]


def test_no_thread_of_the_workers_runs_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that ends while the interpreter does ends it with a traceback."""
    monkeypatch.setattr(reader_pool, "read_rows", _read_nothing)
    before = threading.active_count()
    with Reader[int](2, parsed=1000) as reader:
        for number in range(100):
            list(reader.read(number, Path("k"), Listing({}, set(), [], []), ("kernel",)))
        list(reader.finish())
        assert threading.active_count() > before
    assert threading.active_count() == before
