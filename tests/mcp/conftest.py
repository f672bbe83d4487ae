"""Answers calls without a process."""

import msgspec
import pytest


@pytest.fixture
def answering_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Answer calls in this process; otherwise each has one of its own."""
    from irlens.mcp import worker  # where there is no ``mcp``, its tests are skipped
    from irlens.mcp.server import Server

    async def run(_: Server, call: worker.Call) -> worker.Answered:
        return worker.answer(msgspec.json.decode(msgspec.json.encode(call), type=worker.Call))

    monkeypatch.setattr(Server, "_run", run)
