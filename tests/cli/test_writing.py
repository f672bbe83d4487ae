"""Options for writing a result, on every command."""

import os
from pathlib import Path

import pytest

from tests import running
from tests.running import Ran

ROOT = Path(__file__).parents[2]
SAMPLES = ROOT / "samples"
T4 = str(SAMPLES / "captures" / "softmax-t4")
H100 = str(SAMPLES / "captures" / "softmax-h100")


def irlens(*arguments: str, cwd: Path, summary: Path | None = None) -> Ran:
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if "GITHUB" in name]:
            patch.delenv(name)
        if summary is not None:
            patch.setenv("GITHUB_STEP_SUMMARY", str(summary))
        return running.irlens(*arguments, cwd=cwd)


def test_the_summary_is_added_to_in_markdown(tmp_path: Path) -> None:
    summary = tmp_path / "summary.md"
    summary.write_text("# before\n")
    ran = irlens(
        "inspect", T4, "--no-sass", "--format", "json", "--summary", cwd=tmp_path, summary=summary
    )
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("{")
    assert summary.read_text() == "# before\n" + (SAMPLES / "reports/softmax-t4.md").read_text()
    ran = irlens("diff", T4, H100, "--no-sass", "--summary", cwd=tmp_path, summary=summary)
    assert ran.code == 1
    assert summary.read_text().endswith((SAMPLES / "comparisons/softmax-t4-h100.md").read_text())


def test_without_the_variable_there_is_a_note_and_the_report(tmp_path: Path) -> None:
    ran = irlens("inspect", T4, "--summary", cwd=tmp_path)
    assert ran.code == 0
    assert ran.out
    assert ran.err.count("\n") == 1
    assert "GITHUB_STEP_SUMMARY" in ran.err


def test_a_summary_that_cannot_be_written_is_the_users_mistake(tmp_path: Path) -> None:
    ran = irlens("inspect", T4, "--summary", cwd=tmp_path, summary=tmp_path / "no" / "file")
    assert ran.code == 2
    assert ran.out == ""
    assert ran.err.startswith("irlens: error: cannot write $GITHUB_STEP_SUMMARY")


def test_files_are_named_by_their_path_in_the_tree(tmp_path: Path) -> None:
    # The sample's own file, as long as the capture was made from what it says today.
    kernel = SAMPLES / "captures" / "softmax-t4" / "python" / "softmax.py"
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "softmax.py").write_text(kernel.read_text())
    ran = irlens("inspect", T4, "--format", "github", cwd=tmp_path)
    assert ran.out.startswith("::warning file=src/softmax.py,line=50,title=irlens IRL203")
    ran = irlens("inspect", T4, "--format", "sarif", "--source-root", "src", cwd=tmp_path)
    assert '"uri": "softmax.py"' in ran.out
    assert '"name": "load-not-pipelined"' in ran.out


@pytest.mark.parametrize("kind", ["", "comparisons", "diff", "inspect", "check", "sweep", "code"])
def test_every_result_has_a_schema(kind: str, tmp_path: Path) -> None:
    named = {"": "report", "inspect": "report", "diff": "comparisons"}.get(kind, kind)
    ran = irlens("schema", *([kind] if kind else []), cwd=tmp_path)
    assert ran.out == (SAMPLES / f"{named}.schema.json").read_text()


def test_an_unknown_kind_of_result_is_named(tmp_path: Path) -> None:
    ran = irlens("schema", "comparison", cwd=tmp_path)
    assert ran.code == 2
    assert "did you mean comparisons" in ran.err
