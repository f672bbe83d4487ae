"""``irlens diff --stage`` from the command line."""

import shutil
from pathlib import Path

import msgspec
import pytest

from irlens.model.code import CodeComparisons
from tests.running import irlens

CAPTURES = Path(__file__).parents[2] / "samples" / "captures"
SOFTMAX, T4 = str(CAPTURES / "softmax-h100"), str(CAPTURES / "softmax-t4")
AMD = str(CAPTURES / "softmax-mi300x")


def diff(*arguments: str, **environment: str) -> tuple[int, str, str]:
    ran = irlens("diff", *arguments, environment=environment)
    return ran.code, ran.out, ran.err


@pytest.mark.parametrize("form", ["text", "markdown", "json"])
def test_nothing_moved(form: str, tmp_path: Path) -> None:
    shutil.copytree(SOFTMAX, tmp_path / "twin")
    stages = "source,ttir,ttgir,llir,ptx,metadata"
    code, out, err = diff(SOFTMAX, str(tmp_path / "twin"), "--stage", stages, "-f", form)
    assert (code, err) == (0, "")
    assert '"different": false' in out if form == "json" else out.count("no difference") == 6


def test_a_pipeline_of_more_stages_is_compared_configuration_by_configuration() -> None:
    options = ("-t", "h100", "--num-stages", "2,4", "--stage", "ttgir", "--no-run")
    code, out, err = diff("softmax", *options)
    assert code == 1, err
    lines = out.splitlines()
    assert lines[0] == "softmax_kernel on sm_90 num_stages=2 → num_stages=4"
    (at,) = (n for n, line in enumerate(lines) if "-" in line[:1] and "local_alloc" in line)
    assert "memdesc<1x1024xf32" in lines[at]
    assert lines[at + 1].strip("~ ") == "^" * len("1x1024xf32")
    assert "memdesc<3x1024xf32" in lines[at + 2]
    assert any("scf.for at softmax.py:48  for row_idx in" in line for line in lines)
    assert "\x1b" not in out


def test_colour_only_repeats_what_marks_say() -> None:
    _, plain, _ = diff(T4, SOFTMAX, "--stage", "ttgir", "-U", "0")
    _, coloured, _ = diff(T4, SOFTMAX, "--stage", "ttgir", "-U", "0", FORCE_COLOR="1")
    assert "\x1b[1;4;31m" in coloured
    marks = [line[0] for line in plain.splitlines() if line[:1] in ("-", "+")]
    assert marks.count("-") == coloured.count("\x1b[31m-\x1b[0m")
    assert marks.count("+") == coloured.count("\x1b[32m+\x1b[0m")


def test_side_by_side_fits_and_loses_nothing() -> None:
    _, out, _ = diff(T4, SOFTMAX, "--stage", "ttgir", "-y", COLUMNS="100")
    rows = [line for line in out.splitlines() if not line.startswith(("@@", "softmax"))]
    assert max(map(len, rows)) <= 100
    _, wide, _ = diff(T4, SOFTMAX, "--stage", "ttgir", "-y", COLUMNS="700")
    assert "ttg.async_copy_global_to_local" in wide
    assert '{"ttg.num-ctas" = 1 : i32' in wide


def test_folders_are_matched_and_what_has_no_counterpart_is_told(tmp_path: Path) -> None:
    shutil.copytree(SOFTMAX, tmp_path / "softmax-h100")
    shutil.copytree(CAPTURES / "matmul-a100", tmp_path / "matmul-a100")
    code, out, err = diff(str(CAPTURES), str(tmp_path), "--stage", "ttir", "-f", "json")
    assert code == 1, err
    found = msgspec.json.decode(out, type=CodeComparisons)
    assert [pair.different for pair in found.pairs] == [False, False]
    assert {side.kernel for side in found.removed} >= {"spill_kernel", "matmul_tma_kernel"}
    assert found.added == []


class TestBadInput:
    def fails(self, *arguments: str) -> str:
        code, out, err = diff(*arguments)
        assert (code, out) == (2, ""), (code, out, err)
        assert "Traceback" not in err
        assert len(err.splitlines()) <= 4
        return err

    def test_no_such_stage(self) -> None:
        assert "did you mean ttgir or ttir" in self.fails(SOFTMAX, T4, "--stage", "ttgirr")
        assert "unknown stage 'cubin'" in self.fails(SOFTMAX, T4, "--stage", "cubin")

    def test_a_format_that_has_no_place_for_code(self) -> None:
        told = self.fails(SOFTMAX, T4, "--stage", "ptx", "-f", "sarif")
        assert "sarif cannot hold code\n  use one of html, json, markdown, text\n" in told

    def test_a_stage_that_one_side_has_not(self) -> None:
        assert "no ptx in this capture" in self.fails(SOFTMAX, AMD, "--stage", "ptx")

    def test_one_side(self) -> None:
        assert "one side" in self.fails(SOFTMAX, "--stage", "ttgir")

    def test_a_saved_report(self) -> None:
        report = str(CAPTURES.parent / "reports" / "softmax-h100.json")
        assert "holds no code" in self.fails(report, SOFTMAX, "--stage", "ttgir")

    def test_options_without_effect(self) -> None:
        assert "--side-by-side needs --stage" in self.fails(SOFTMAX, T4, "-y")
        told = self.fails(SOFTMAX, T4, "--stage", "ttgir", "--sass")
        assert "--sass has no effect" in told
