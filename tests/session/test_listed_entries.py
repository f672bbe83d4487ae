"""Entries of the TUI's list, read by workers."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any

import pytest

from irlens.artifacts import pools, processes
from irlens.artifacts.load import load
from irlens.model.capture import Capture
from irlens.session.exchange import Entry
from irlens.session.listed_entries import EntryReader, Unread
from tests.session.test_interactive import CAPTURES


class _Pool:
    """Runs nothing, and notes how many captures each task has."""

    def __init__(self) -> None:
        self.sizes: list[int] = []

    def submit(self, _: Callable[..., Any], batch: Sequence[Unread], *_more: Any) -> Future[Any]:
        self.sizes.append(len(batch))
        done: Future[list[Entry]] = Future()
        done.set_result([])
        return done


def test_tasks_grow_from_one_group_of_rows_to_the_next_while_all_workers_have_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pool = _Pool()
    monkeypatch.setattr(pools, "start_pool", lambda _: pool)
    monkeypatch.setattr(processes, "processors", lambda: 3)
    (capture,) = load(CAPTURES / "softmax-h100")
    assert isinstance(capture, Capture)
    reader = EntryReader("brief")
    for number in (6, 32, 80):
        unread = [(str(n), capture, "") for n in range(number)]
        assert not list(reader.read(unread, many=True))
    assert pool.sizes == [3, 3, 16, 16, 32, 32, 16]
