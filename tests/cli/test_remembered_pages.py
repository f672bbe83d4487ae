"""A page that is shown again is the page that a fresh run would make."""

import itertools
import os
import shutil
from collections import defaultdict
from pathlib import Path

import pytest
from click.testing import CliRunner

from irlens import render
from irlens.artifacts import store
from irlens.cli import output
from irlens.cli.root import root
from irlens.model.errors import ToolError

CAPTURES = Path(__file__).parents[2] / "samples" / "captures"


@pytest.fixture(autouse=True)
def pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the pages."""
    monkeypatch.setenv("IRLENS_CACHE_DIR", str(tmp_path / "store"))
    return tmp_path / "store" / "pages"


@pytest.fixture
def rendered(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The formats that were rendered, one for each time."""
    seen: list[str] = []
    original = render.render

    def spy(name: str, *arguments: object) -> str:
        seen.append(name)
        return original(name, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr("irlens.cli.writing.render", spy)
    return seen


def inspect(*arguments: object, color: str = "") -> str:
    ran = CliRunner().invoke(
        root, ["inspect", *map(str, arguments)],
        env={"FORCE_COLOR": color or None},
    )  # fmt: skip
    assert ran.exit_code == 0, ran.output
    return ran.output


@pytest.mark.parametrize("form", ["text", "json", "markdown", "csv"])
@pytest.mark.parametrize("name", sorted(path.name for path in CAPTURES.iterdir())[::4])
def test_the_second_run_renders_nothing_and_writes_the_same(
    name: str, form: str, rendered: list[str]
) -> None:
    first = inspect(CAPTURES / name, "-f", form, "--no-sass")
    assert rendered == [form]
    assert inspect(CAPTURES / name, "-f", form, "--no-sass") == first
    assert rendered == [form]


def test_a_page_depends_on_its_options(rendered: list[str], tmp_path: Path) -> None:
    capture = CAPTURES / "softmax-mi300x"
    again = tmp_path / "again"
    shutil.copytree(capture, again)
    pages = [
        inspect(capture),
        inspect(capture, color="1"),
        inspect(capture, "--mix"),
        inspect(capture, "--mix", "--figures"),
        inspect(capture, "-f", "markdown"),
        inspect(again),  # the suggested commands name it
        inspect(CAPTURES / "softmax-t4", "--no-sass"),
    ]
    assert len(set(pages)) == len(pages) == len(rendered)


def test_a_page_is_as_wide_as_the_terminal(
    rendered: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pages = []
    for width in (80, 120, 80):
        monkeypatch.setattr(output, "width", lambda width=width: width)
        pages.append(inspect(CAPTURES / "softmax-mi300x"))
    assert pages[0] == pages[2] != pages[1]
    assert len(rendered) == 2


def test_a_file_gets_what_a_file_gets(tmp_path: Path) -> None:
    """What goes to a file names no path of this machine."""
    capture, file = CAPTURES / "softmax-mi300x", tmp_path / "report.txt"
    shown = inspect(capture)
    for _ in range(2):
        inspect(capture, "-o", file)
        assert str(CAPTURES) in shown
        assert str(CAPTURES) not in file.read_text()


def test_a_changed_artifact_makes_a_new_page(rendered: list[str], tmp_path: Path) -> None:
    capture = tmp_path / "capture"
    shutil.copytree(CAPTURES / "softmax-mi300x", capture)
    before = inspect(capture)
    (llir,) = capture.rglob("*.llir")
    llir.write_text(llir.read_text() + "; more\n")
    assert inspect(capture) != before  # it counts the lines
    assert len(rendered) == 2


@pytest.mark.parametrize("form", ["html", "github", "sarif"])
def test_formats_that_look_at_other_files_are_made_anew(form: str, rendered: list[str]) -> None:
    for _ in range(2):
        inspect(CAPTURES / "softmax-mi300x", "-f", form)
    assert rendered == [form, form]


def test_a_page_without_the_disassembler_is_not_kept(
    rendered: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once the tool is there, its live registers are."""

    def missing(*_: object, **__: object) -> None:
        raise ToolError("nvdisasm is not there")

    with monkeypatch.context() as patch:
        patch.setattr("irlens.artifacts.tools.disassemble", missing)
        for _ in range(2):
            assert "nvdisasm is not there" in inspect(CAPTURES / "softmax-h100")
        assert len(rendered) == 2
    assert "nvdisasm is not there" not in inspect(CAPTURES / "softmax-h100")


def test_a_damaged_page_is_made_anew(rendered: list[str], pages: Path) -> None:
    page = inspect(CAPTURES / "softmax-mi300x")
    (kept,) = pages.glob("*.json")
    kept.write_bytes(b"\xff\xfe")
    assert inspect(CAPTURES / "softmax-mi300x") == page
    assert len(rendered) == 2


def test_the_folder_of_pages_has_a_limit_of_its_own(
    pages: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is looked at when the first page is written, though a report was written before it."""
    inspect(CAPTURES / "softmax-mi300x", "-f", "json")
    (old,) = pages.glob("*.json")
    monkeypatch.setattr(store, "_MAX_BYTES", 1)
    monkeypatch.setattr(store, "_writes", defaultdict(itertools.count))  # as in a new run
    os.utime(old, (0, 0))
    inspect(CAPTURES / "softmax-t4", "--no-sass")
    assert not old.exists()


def test_showing_a_page_counts_as_a_use_of_its_report(pages: Path) -> None:
    inspect(CAPTURES / "softmax-mi300x")
    (report,) = (pages.parent / "reports").glob("*.json")
    os.utime(report, (0, 0))
    inspect(CAPTURES / "softmax-mi300x")
    assert report.stat().st_mtime > 0
