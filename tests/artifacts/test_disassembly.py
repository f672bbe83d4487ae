"""Disassembling in the background: once, at the same time, and never in the way."""

import threading
from pathlib import Path

import pytest

from irlens.artifacts import processes, tools
from irlens.model.capture import Stage
from irlens.model.errors import ToolError
from irlens.session import background


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("IRLENS_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def cubin(content: bytes) -> dict[str, Stage]:
    return {"cubin": Stage("cubin", content=content)}


class Tool:
    """Stands in for nvdisasm, and counts how often it runs for each cubin."""

    def __init__(self) -> None:
        self.calls: list[bytes] = []
        self.begun, self.release = threading.Event(), threading.Event()

    def run(
        self,
        _tool: Path,
        arguments: list[str],
        *,
        directory: Path | None = None,
        seconds: int = 0,
    ) -> str:
        if arguments == ["--version"]:
            return "Build 1"
        assert directory is not None
        content = (directory / arguments[-1]).read_bytes()
        assert seconds == tools.LISTING_SECONDS
        self.calls.append(content)
        self.begun.set()
        assert self.release.wait(30)
        if content == b"broken":
            raise ToolError("nvdisasm failed")
        return f"the code of {content.decode()}"


@pytest.fixture
def tool(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Tool:
    tool = Tool()
    (tmp_path / "nvdisasm").touch()
    monkeypatch.setattr(tools, "find", lambda name: tmp_path / name)
    monkeypatch.setattr(tools, "run", tool.run)
    return tool


def test_a_disassembly_that_is_being_made_is_waited_for(tool: Tool) -> None:
    with background.disassembling([cubin(b"one")]):
        assert tool.begun.wait(30)
        threading.Timer(0.05, tool.release.set).start()
        assert tools.disassemble(b"one") == "the code of one"
    assert tool.calls == [b"one"]


def test_each_cubin_is_disassembled_once(tool: Tool) -> None:
    tool.release.set()
    contents = [b"one", b"two", b"one", b"three"]
    captures = [cubin(content) for content in contents]
    with background.disassembling(captures), background.disassembling(captures):
        texts = [tools.disassemble(content) for content in contents]
    assert texts == [f"the code of {content.decode()}" for content in contents]
    assert sorted(tool.calls) == [b"one", b"three", b"two"]


def test_an_error_is_raised_where_the_code_is_needed(tool: Tool) -> None:
    tool.release.set()
    gone = {"cubin": Stage("cubin", path=Path("gone.cubin"))}
    with background.disassembling([cubin(b"broken"), gone, cubin(b"one")]):
        assert tools.disassemble(b"one") == "the code of one"
        with pytest.raises(ToolError, match="nvdisasm failed"):
            tools.disassemble(b"broken")


def test_captures_without_a_cubin_need_no_tool(
    monkeypatch: pytest.MonkeyPatch, cache: Path
) -> None:
    monkeypatch.setattr(tools, "find", lambda _: pytest.fail("no tool is needed"))
    with background.disassembling([{"ptx": Stage("ptx", content=b"")}, {}]):
        pass
    assert not cache.exists()


def test_without_a_cache_nothing_is_disassembled_ahead(tool: Tool, cache: Path) -> None:
    tool.release.set()
    cache.write_text("a file where the directory should be")
    with background.disassembling([cubin(b"one")]):
        assert tool.calls == []
        assert tools.disassemble(b"one") == "the code of one"
    assert tool.calls == [b"one"]


def test_what_is_not_needed_any_more_is_abandoned(
    tool: Tool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "processors", lambda: 1)
    with background.disassembling([cubin(bytes([65 + number])) for number in range(9)]):
        assert tool.begun.wait(30)
    tool.release.set()
    for thread in threading.enumerate():
        if thread.name.startswith("nvdisasm"):
            thread.join(30)
    assert tool.calls == [b"A"]
