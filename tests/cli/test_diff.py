"""``irlens diff`` from the command line."""

import json
import shlex
import shutil
from pathlib import Path

import msgspec
import pytest

from irlens.model.comparison import Comparisons
from tests.running import Ran, irlens

CAPTURES = Path(__file__).parents[2] / "samples" / "captures"
SOFTMAX = str(CAPTURES / "softmax-h100")


def diff(*arguments: str) -> Ran:
    return irlens("diff", *arguments)


def test_stages_of_a_pipeline() -> None:
    ran = diff("softmax", "--target", "h100", "--num-stages", "2,4")
    assert ran.code == 1, ran.err
    lines = [" ".join(line.split()) for line in ran.out.splitlines()]
    assert lines[0] == "softmax_kernel on sm_90 num_stages=2 → num_stages=4"
    assert "stages achieved 2 4 +2 ✓" in lines
    assert "shared memory 4,128 B 12,320 B +8,192 B !" in lines
    assert "occupancy 100 % 100 % ~" in lines
    assert all(len(line) <= 80 for line in ran.out.splitlines())
    assert "\x1b" not in ran.out


def test_every_option_with_several_values_is_an_axis() -> None:
    axes = ("--target", "sm_75,sm_80", "--num-stages", "2,3", "--format", "json")
    ran = diff("softmax", *axes)
    found = msgspec.json.decode(ran.out, type=Comparisons)
    # Each GPU is compared with itself.
    sides = [(p.before.target, p.before.label, p.after.label) for p in found.pairs]
    assert [(target and target.arch, *labels) for target, *labels in sides] == [
        ("sm_75", "num_stages=2", "num_stages=3"), ("sm_80", "num_stages=2", "num_stages=3"),
    ]  # fmt: skip


@pytest.mark.parametrize("form", ["text", "markdown", "json"])
def test_nothing_moved(form: str, tmp_path: Path) -> None:
    twin = tmp_path / "twin"
    shutil.copytree(SOFTMAX, twin)
    for other in (SOFTMAX, str(twin)):
        ran = diff(SOFTMAX, other, "--format", form)
        assert ran.code == 0, ran.err
        assert '"different": false' in ran.out if form == "json" else "no difference" in ran.out


def test_what_both_caches_hold_byte_for_byte_needs_no_reports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sides = tmp_path / "before", tmp_path / "after"
    for side in sides:
        shutil.copytree(CAPTURES, side)
    (ptx,) = sides[1].glob("softmax-t4/*.ptx")
    ptx.write_text(ptx.read_text().replace("\tret;", "\tadd.s32 %r1, %r1, 0;\n\tret;"))
    shutil.rmtree(sides[1] / "matmul-a100")
    monkeypatch.setenv("IRLENS_CACHE_DIR", str(tmp_path / "store"))
    forms = ("text", "markdown", "csv", "github", "sarif")
    told = {}
    for form in forms:
        told[form] = diff(*map(str, sides), "--format", form)
        assert len(list((tmp_path / "store" / "reports").rglob("*.*"))) == 3
    monkeypatch.setattr("irlens.session.reports._MOST_DISASSEMBLED", 99)
    for form in forms:
        whole = diff(*map(str, sides), "--no-sass", "--format", form)
        assert told[form].code == 1
        assert sorted(told[form].out.splitlines()) == sorted(whole.out.splitlines())


def test_a_comment_above_the_kernel_is_no_difference_and_an_operation_is(tmp_path: Path) -> None:
    source = (CAPTURES / "softmax-h100" / "python" / "softmax.py").read_text()
    edits = {
        "before": source,
        "moved": "# a comment\n\n" + source,
        "changed": "# a comment\n\n" + source.replace("tl.sum(numerator", "tl.sum(numerator + 1"),
    }
    for name, text in edits.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "softmax.py").write_text(text)
    before, moved, changed = (f"{tmp_path / name / 'softmax.py'}:softmax_kernel" for name in edits)
    options = ("--target", "h100", "--no-run", "--no-sass", "--format", "json")
    ran = diff(before, moved, *options)
    assert ran.code == 0, ran.err
    ran = diff(before, changed, *options)
    assert ran.code == 1, ran.err
    (pair,) = msgspec.json.decode(ran.out, type=Comparisons).pairs
    (mix,) = pair.mix
    assert [each.path for each in mix.classes] == ["classes.floating point"]
    grown = [pair.code[str(line.source)] for line in pair.lines if line.instructions.moved]
    assert grown == ["denominator = tl.sum(numerator + 1, axis=0)"]


def test_pressure_is_an_old_name_of_sass() -> None:
    sides = [str(CAPTURES / f"layer_norm-b200-{version}") for version in ("3.6", "3.7")]
    ran = diff(*sides, "--pressure")
    assert ran == diff(*sides, "--sass")
    assert "--pressure" not in diff("--help").out


def test_a_saved_report_is_a_side(tmp_path: Path) -> None:
    path = CAPTURES.parent / "reports" / "softmax-h100.json"
    assert diff(str(path), SOFTMAX).code == 0
    assert diff(str(path), str(CAPTURES / "softmax-t4")).code == 1


def test_folders_of_captures(tmp_path: Path) -> None:
    after = tmp_path / "after"
    after.mkdir()
    for name in ("softmax-h100", "matmul-a100"):
        shutil.copytree(CAPTURES / name, after / name)
    ran = diff(str(CAPTURES), str(after), "--format", "json")
    assert ran.code == 1, ran.err
    found = msgspec.json.decode(ran.out, type=Comparisons)
    assert [pair.different for pair in found.pairs] == [False, False]
    assert {side.kernel for side in found.removed} == {
        "layer_norm_kernel", "matmul", "matmul_tma_kernel", "spill_kernel",
    }  # fmt: skip
    assert len(found.unmatched_before) == 3
    assert diff(str(CAPTURES), str(CAPTURES)).code == 0


class TestBadInput:
    def fails(self, *arguments: str) -> str:
        ran = diff(*arguments)
        assert (ran.code, ran.out) == (2, ""), ran
        assert "Traceback" not in ran.err
        return ran.err

    def test_one_side(self) -> None:
        assert "one side" in self.fails(SOFTMAX)
        assert "--num-stages 2,4" in self.fails("softmax", "-t", "h100")

    def test_sides_with_nothing_in_common(self, tmp_path: Path) -> None:
        for side, names in {"a": ("softmax-h100", "softmax-t4"), "b": ("spill-h100",)}.items():
            for name in names:
                shutil.copytree(CAPTURES / name, tmp_path / side / name)
        told = self.fails(str(tmp_path / "a"), str(tmp_path / "b"))
        assert "no kernel in common" in told
        assert f"{tmp_path}/a has softmax_kernel sm_90; softmax_kernel sm_75" in told
        assert f"{tmp_path}/b has spill_kernel" in told
        _, _, command = told.strip().splitlines()[-1].partition("irlens ")
        verb, *sides = shlex.split(command)
        assert verb == "diff"
        assert diff(*sides).code == 1

    def test_sides_with_a_kernel_but_no_configuration_in_common(self, tmp_path: Path) -> None:
        report = json.loads(
            (CAPTURES.parent / "reports" / "softmax-h100.json").read_text(encoding="utf-8")
        )
        for side, sizes in {"a.json": (128, 256), "b.json": (512, 1024)}.items():
            made = [json.loads(json.dumps(report)) for _ in sizes]
            for one, size in zip(made, sizes, strict=True):
                one["config"]["constexprs"]["BLOCK_SIZE"] = size
            (tmp_path / side).write_text(json.dumps(made))
        told = self.fails(str(tmp_path / "a.json"), str(tmp_path / "b.json"))
        assert "no configuration of softmax_kernel in common" in told
        assert "a.json has BLOCK_SIZE=128; BLOCK_SIZE=256" in told
        assert "b.json has BLOCK_SIZE=512; BLOCK_SIZE=1024" in told

    def test_a_side_that_is_not_there(self, tmp_path: Path) -> None:
        assert "nowhere" in self.fails(SOFTMAX, str(tmp_path / "nowhere"))
        assert "did you mean" in self.fails(SOFTMAX, SOFTMAX, "--format", "jso")


def test_options_are_for_the_side_that_is_compiled(tmp_path: Path) -> None:
    saved = tmp_path / "before.json"
    made = ("softmax", "--target", "h100", "--num-stages", "4")
    assert irlens("inspect", *made, "--format", "json", "--output", str(saved)).code == 0
    assert diff(str(saved), *made).code == 0
    assert diff(made[0], str(saved), *made[1:]).code == 0
    assert diff(str(saved), *made[:-1], "2").code == 1
    both = diff(str(saved), str(saved), *made[1:])
    assert both.code == 2
    assert "already compiled" in both.err


def test_of_two_sides_it_is_said_which_is_damaged(tmp_path: Path) -> None:
    damaged = tmp_path / "damaged"
    shutil.copytree(SOFTMAX, damaged)
    ptx = damaged / "softmax_kernel.ptx"
    ptx.write_text(ptx.read_text()[:9000])
    ran = diff(SOFTMAX, str(damaged))
    assert ran.code == 2
    assert ran.err.startswith(f"irlens: error: {damaged}: ptx:236:")


@pytest.mark.parametrize("number", [-1.0, 0.0, 5e-324, 1e15, 1e308])
@pytest.mark.parametrize("field", ["estimate_us", "low_us", "high_us", "parts"])
def test_any_time_of_a_saved_report_is_compared_or_refused(
    field: str, number: float, tmp_path: Path
) -> None:
    whole = CAPTURES.parent / "reports" / "softmax-h100.json"
    content = json.loads(whole.read_text())
    content["time"] |= {field: {"l2": number} if field == "parts" else number}
    path = tmp_path / "report.json"
    path.write_text(json.dumps(content))
    for sides in ([str(whole), str(path)], [str(path), str(whole)]):
        ran = diff(*sides)
        assert "Traceback" not in ran.err
        assert ran.code in (0, 1) or "incomplete report" in ran.err
