"""HTML reports from the command line include the code."""

from pathlib import Path

import pytest

from irlens.cli import Exit
from irlens.cli.root import root

SAMPLES = Path(__file__).parents[2] / "samples"
CAPTURES = SAMPLES / "captures"


def written(*arguments: str, folder: Path, code: Exit = Exit.OK) -> str:
    page = folder / "page.html"
    given = [*arguments, "--format", "html", "--output", str(page)]
    assert root.main(given, standalone_mode=False) == code
    return page.read_text()


def test_a_capture_is_shown_with_its_code(tmp_path: Path) -> None:
    page = written("inspect", str(CAPTURES / "softmax-t4"), folder=tmp_path)
    assert page.startswith("<!doctype html>")
    assert 'data-name="softmax.py"' in page
    assert 'data-name="ptx"' in page


def test_a_saved_report_has_no_code_to_show(tmp_path: Path) -> None:
    saved = SAMPLES / "reports" / "softmax-t4.json"
    page = written("inspect", str(saved), folder=tmp_path)
    assert "softmax_kernel" in page
    assert "data-name" not in page


def test_two_captures_are_shown_with_the_sides_of_their_code(tmp_path: Path) -> None:
    sides = (str(CAPTURES / "softmax-t4"), str(CAPTURES / "softmax-h100"))
    page = written("diff", *sides, folder=tmp_path, code=Exit.DIFFERENCE)
    assert "ttg.async_copy_global_to_local" in page
    alone = written("diff", *sides, "--stage", "ttgir", folder=tmp_path, code=Exit.DIFFERENCE)
    assert "ttg.async_copy_global_to_local" in alone


def test_with_live_registers_the_machine_code_has_sides_too(tmp_path: Path) -> None:
    sides = (str(CAPTURES / "softmax-t4"), str(CAPTURES / "softmax-h100"))
    assert "<b>sass</b>" not in written("diff", *sides, folder=tmp_path, code=Exit.DIFFERENCE)
    page = written("diff", *sides, "--sass", folder=tmp_path, code=Exit.DIFFERENCE)
    assert "<b>sass</b>" in page


def test_a_saved_side_leaves_the_figures(tmp_path: Path) -> None:
    sides = (str(SAMPLES / "reports" / "softmax-t4.json"), str(CAPTURES / "softmax-h100"))
    page = written("diff", *sides, folder=tmp_path, code=Exit.DIFFERENCE)
    assert "stages</abbr> achieved" in page
    assert "ttg.async_copy_global_to_local" not in page


def test_more_kernels_than_a_page_can_hold_leave_their_code_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("irlens.cli.commands.inspect._MAX_LISTINGS", 2)
    page = written("inspect", str(CAPTURES), folder=tmp_path)
    assert "too large" in capsys.readouterr().err
    assert "data-name" not in page
