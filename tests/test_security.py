"""SECURITY.md states the limits that the code has, and what it does with links."""

import re
from pathlib import Path

import pytest

from irlens.analyze import work
from irlens.artifacts import assembling, tools
from irlens.artifacts import load as loading
from irlens.artifacts.load import load
from irlens.model import files
from irlens.model.errors import ArtifactError
from irlens.session import session
from irlens.sweeps import limits

ROOT = Path(__file__).parents[1]
TEXT = " ".join((ROOT / "SECURITY.md").read_text("utf-8").split())


def stated(pattern: str) -> int:
    """Return the number that the document states, of which there is one."""
    (number,) = re.findall(pattern, TEXT)
    return int(number.replace(",", ""))


def test_the_limits_of_inputs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(files.LIMIT_VARIABLE, raising=False)
    assert f"`{files.LIMIT_VARIABLE}` replaces the 16" in TEXT
    assert stated(r"An artifact may have (\d+) MB") * 1_000_000 == files.size_limit()
    lines = stated(r"Text may have ([\d,]+) ends of lines")
    tokens = stated(r"and ([\d,]+) characters that are not part of a word")
    files.text(b"\n" * lines, name="k")
    for content in (b"\n" * (lines + 1), b"\t" * (tokens + 1)):
        with pytest.raises(ArtifactError, match="more than"):
            files.text(content, name="k")


def test_the_budgets_of_analyses_and_tools() -> None:
    assert stated(r"has a budget of ([\d,]+) steps") == work.STEPS
    assert stated(r"tries for a size share ([\d,]+)") == limits._STEPS
    most = stated(r"PTX of more than (\d+) MB is not assembled")
    assert most * 1_000_000 == assembling.MOST_BYTES
    assert stated(r"nvdisasm gets (\d+) seconds of processor time") == tools.LISTING_SECONDS
    assert stated(r"ptxas gets (\d+) seconds") == tools.SECONDS
    assert stated(r"of processor time and (\d+) GB of") << 30 == tools._MEMORY


def test_the_limits_of_directories() -> None:
    assert stated(r"reports are made of at most ([\d,]+) captures") == session._MOST_CAPTURES
    assert stated(r"the search ends after ([\d,]+) folders in a row") == loading._MOST_FRUITLESS
    with pytest.raises(ArtifactError, match="is the whole file system"):
        next(load(Path("/")))


def test_the_limits_of_servers() -> None:
    pytest.importorskip("mcp")
    from irlens.cli import serving
    from irlens.mcp import server

    assert stated(r"a process of its own that ends after (\d+) seconds") == server.TIME_LIMIT
    assert "eight visitors can be there" in TEXT
    assert serving.MOST_SESSIONS == 8


def test_a_link_that_leads_out_refuses_the_capture(tmp_path: Path) -> None:
    assert "A link in a capture that leads out of its directory refuses the whole capture" in TEXT
    (tmp_path / "secret.ptx").write_text("secret")
    (tmp_path / "k").mkdir()
    (tmp_path / "k" / "k.ttir").write_text("module {}")
    (tmp_path / "k" / "k.ptx").symlink_to(tmp_path / "secret.ptx")
    (found,) = load(tmp_path / "k")
    assert "reason" in type(found).__struct_fields__  # broken as a whole
