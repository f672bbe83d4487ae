"""``irlens inspect`` from the command line."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from irlens.model.report import Report
from tests.running import irlens

SOFTMAX = ("softmax", "--target", "h100", "--num-stages", "4")
REPORTS = Path(__file__).parents[2] / "samples" / "reports"


def fails(*arguments: str, stdin: bytes | None = None) -> str:
    """Run a command that must fail as irlens fails: exit 2, a line or two, nothing on stdout."""
    ran = irlens("inspect", *arguments, stdin=stdin)
    assert ran.code == 2, ran
    assert ran.raw == b""
    assert "Traceback" not in ran.err
    return ran.err


def test_the_main_job() -> None:
    ran = irlens("inspect", *SOFTMAX)
    assert ran.code == 0, ran.err
    lines = ran.out.splitlines()
    assert all(len(line) <= 80 for line in lines)
    assert "\x1b" not in ran.out
    assert lines[0].startswith("softmax_kernel   sm_90 (h100)   num_warps 8   num_stages 4")
    assert "Pipeline    4 of 4 stages ✓ · cp.async at softmax.py:48 · 3 iterations ahead" in lines
    assert "Shared      12,320 B per CTA · + 1,024 B reserved by the system" in lines


def test_the_default_target_is_said_on_stderr() -> None:
    ran = irlens("inspect", "vector_add")
    assert ran.code == 0
    assert "vector_add" in ran.out
    assert "--target" in ran.err


def test_json_is_the_records_and_can_be_inspected_again(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    ran = irlens("inspect", *SOFTMAX, "--format", "json", "--output", str(path))
    assert (ran.code, ran.raw) == (0, b""), ran.err
    text = path.read_text()
    report = msgspec.json.decode(text, type=Report, strict=True)
    assert report.schema == 1
    assert json.loads(text) == json.loads(msgspec.json.encode(report))
    # Keys are sorted in JSON, and so the stages lose their order; nothing else is lost.
    again, first = (irlens("inspect", *what).out for what in ([str(path)], SOFTMAX))
    assert again.partition("Stages")[0] == first.partition("Stages")[0]
    arguments = json.loads(text)["config"]["args"]
    assert list(arguments)[:2] == ["output_ptr", "input_ptr"], "as in the kernel's signature"
    assert irlens("inspect", str(path), "--format", "json").out == text
    assert [child.name for child in tmp_path.iterdir()] == ["report.json"]


def test_the_same_question_gives_the_same_bytes() -> None:
    first, second = (irlens("inspect", *SOFTMAX, "--format", "json").raw for _ in range(2))
    assert first == second


def test_several_values_ask_for_each() -> None:
    ran = irlens("inspect", "softmax", "-t", "sm_75,sm_80", "--num-stages", "2,3", "-f", "json")
    reports = msgspec.json.decode(ran.raw, type=list[Report])
    asked = [(report.target and report.target.arch, report.config.num_stages) for report in reports]
    assert asked == [("sm_75", 2), ("sm_75", 3), ("sm_80", 2), ("sm_80", 3)]
    text = irlens("inspect", "softmax", "-t", "sm_75,sm_80", "--num-stages", "2,3").out
    rows = {line.split()[0]: line.split()[1:] for line in text.splitlines() if line}
    assert rows["target"] == ["sm_75", "sm_75", "sm_80", "sm_80"]
    assert rows["num_stages"] == ["2", "3", "2", "3"]


@pytest.mark.parametrize("stage", ["source", "ttir", "ttgir", "llir", "ptx", "cubin", "metadata"])
def test_a_stage_goes_into_a_pipe_as_it_is(stage: str, h200_cache: Path) -> None:
    entry = sorted(h200_cache.iterdir())[0]
    (metadata,) = (path for path in entry.glob("*.json") if not path.name.startswith("__grp__"))
    name = metadata.stem
    expected = entry / f"{name}.{'json' if stage == 'metadata' else stage}"
    assert irlens("inspect", str(entry), "--stage", stage).raw == expected.read_bytes()


@pytest.mark.parametrize("several", [False, True])
def test_a_saved_report_from_stdin(*, several: bool) -> None:
    path = str(REPORTS / "softmax-h100.json")
    report = Path(path).read_bytes()
    content = b"[%b]" % report if several else report
    told = irlens("inspect", "-", "--format", "json", stdin=content)
    assert (told.raw, told.err) == (irlens("inspect", path, "--format", "json").raw, "")
    same = irlens("diff", "-", path, "--format", "html", stdin=content)
    assert (same.code, same.err) == (0, "")
    assert "stdin is a saved report" in fails("-", "--stage", "ptx", stdin=content)
    assert "stdin: invalid JSON" in fails("-", stdin=content[:-9])


def test_a_bare_ptx_from_stdin() -> None:
    group = (
        "".join(f"cp.async.ca.shared.global [%r{n}], [%rd1], 4, %r9;\n" for n in range(4))
        + "cp.async.commit_group;\n"
    )
    text = f"""
.version 8.0
.target sm_80
.address_size 64
.visible .entry copy() .reqntid 128 {{
.reg .b32 %r<10>; .reg .b64 %rd<2>; .reg .pred %p<2>; .reg .f32 %f<9>;
{group}
loop:
cp.async.wait_group 0;
ld.shared.f32 %f1, [%r1];
add.f32 %f2, %f2, %f1;
{group}
@%p1 bra loop;
ret;
}}
"""
    ran = irlens("inspect", "-", "--format", "json", stdin=text.encode())
    assert ran.code == 0, ran.err
    report = msgspec.json.decode(ran.raw, type=Report)
    (pipeline,) = report.pipelines
    assert (pipeline.achieved_stages, pipeline.groups_during_compute) == (2, 0)
    assert pipeline.bytes_per_iteration == 4 * 4 * 128
    assert report.occupancy is not None  # of the cubin that ptxas makes of it
    assert "ptxas" in report.sources["stages"]


def test_a_single_artifact_says_what_is_missing(h200_cache: Path) -> None:
    entry = sorted(h200_cache.iterdir())[0]
    for stage in ("ttgir", "ptx", "cubin"):
        (path,) = entry.glob(f"*.{stage}")
        ran = irlens("inspect", str(path))
        assert ran.code == 0, ran.err
        assert "Unknown" in ran.out


def test_a_config_that_cannot_launch_is_reported_in_full() -> None:
    tile = ("--set", "BLOCK_SIZE_M=256", "--set", "BLOCK_SIZE_N=128", "--set", "BLOCK_SIZE_K=128")
    ran = irlens("inspect", "matmul", "-t", "sm_86", *tile, "--num-stages", "3", "--num-warps", "8")
    assert ran.code == 0, ran.err
    assert "cannot launch" in ran.out
    words = " ".join(ran.out.split())
    assert "196,608 bytes/CTA requested, 95,232 over the limit of 101,376" in words
    assert "95,232 fewer bytes/CTA: 0 → 1 block/SM" in words


def _kernel(folder: Path, parameters: str) -> str:
    """Return a kernel of a file of its own that does nothing with its parameters."""
    path = folder / "kernel.py"
    path.write_text(
        "import triton\nimport triton.language as tl\n\n\n@triton.jit\n"
        f"def kernel({parameters}):\n    pass\n"
    )
    return str(path)


class TestBadInput:
    def test_unknown_names_offer_the_nearest(self) -> None:
        assert "did you mean softmax" in fails("sofmax")
        assert "did you mean" in fails("softmax", "--target", "sm_91")
        assert "did you mean BLOCK_SIZE" in fails("softmax", "--set", "BLOCK_SIZ=3", "-t", "sm_80")
        assert "did you mean ptx" in fails("softmax", "--stage", "ptxx")
        assert "n_cols" in fails("softmax", "--arg", "n_col=3", "-t", "sm_80")
        assert "did you mean json" in fails("softmax", "--format", "jsn")

    def test_short_names_offer_those_that_differ_in_a_letter(self, tmp_path: Path) -> None:
        kernel = _kernel(tmp_path, "BM: tl.constexpr, BN: tl.constexpr, GROUP: tl.constexpr")
        assert "did you mean BM or BN?" in fails(kernel, "--set", "BX=3", "-t", "sm_80")

    @pytest.mark.parametrize(
        ("written", "message"),
        [
            ("num_warps=0", "num_warps must be a whole number of at least 1, not 0"),
            ("num_warps=two", "num_warps must be a whole number of at least 1, not two"),
            ("num_stages=-1", "num_stages must be a whole number of at least 0, not -1"),
            ("num_stages=1.5", "num_stages must be a whole number of at least 0, not 1.5"),
            ("num_ctas=0", "num_ctas must be a whole number of at least 1, not 0"),
            ("num_ctas=3", "num_ctas must be a power of 2, not 3"),
        ],
    )
    def test_options_that_triton_cannot_take(
        self, tmp_path: Path, written: str, message: str
    ) -> None:
        kernel = _kernel(tmp_path, "BM: tl.constexpr = 16")
        told = fails(kernel, "--set", written, "-t", "sm_90")
        assert told == f"irlens: error: kernel: {message}\n"

    def test_an_argument_that_is_none_is_told_what_is_accepted(self) -> None:
        for given in ("n_cols=abc", "input_ptr=abc"):
            told = fails("softmax", "--arg", given, "-t", "sm_80")
            name = given.partition("=")[0]
            assert f"--arg {name}: 'abc' is neither a number nor a tensor" in told
            assert "write a number, a tensor such as fp16[1024, 1024], or an expression of" in told

    def test_values_that_are_none(self) -> None:
        assert "'x' is not an integer" in fails("softmax", "--num-stages", "x")
        assert "not NAME=VALUE" in fails("softmax", "--set", "BLOCK_SIZE")
        assert "missing" in fails("softmax", "--num-warps", ",")
        assert "--stage" in fails("softmax", "--interleave")

    def test_a_kernel_that_does_not_compile(self) -> None:
        told = fails("softmax", "--set", "BLOCK_SIZE=1000", "-t", "sm_80")
        assert "softmax.py:" in told
        assert "power of 2" in told
        assert "tl.arange(0, BLOCK_SIZE)" in told

    @pytest.mark.parametrize("stage", ["ptx", "cubin", "ttir", "ttgir", "json"])
    def test_truncated_files(self, stage: str, h200_cache: Path, tmp_path: Path) -> None:
        entry = sorted(h200_cache.iterdir())[0]
        (whole,) = (path for path in entry.glob(f"*.{stage}") if "__grp__" not in path.name)
        path = tmp_path / whole.name
        content = whole.read_bytes()
        path.write_bytes(content[: len(content) // 2])
        assert whole.name in fails(str(path)) or f"{stage}:" in fails(str(path))

    def test_a_damaged_layout_is_unknown_and_no_traceback(
        self, h200_cache: Path, tmp_path: Path
    ) -> None:
        (whole,) = sorted(h200_cache.iterdir())[0].glob("*.ttgir")
        path = tmp_path / whole.name
        text = re.sub(r"sizePerThread = \[[^\]]*\]", "sizePerThread = [ ]", whole.read_text())
        assert "sizePerThread = [ ]" in text
        path.write_text(text)
        ran = irlens("inspect", str(path))
        assert (ran.code, "Traceback" in ran.err) == (0, False)
        assert "there is no machine code in this capture" in " ".join(ran.out.split())

    def test_directories_without_captures(self, tmp_path: Path) -> None:
        assert str(tmp_path) in fails(str(tmp_path))
        assert "nowhere" in fails(str(tmp_path / "nowhere"))

    def test_empty_stdin_and_a_report_of_another_schema(self, tmp_path: Path) -> None:
        assert "empty" in fails("-")
        path = tmp_path / "report.json"
        path.write_text('{"schema": 99}')
        assert "schema 99" in fails(str(path))
        path.write_text('{"schema": 1, "kernel": "x"}')
        assert "incomplete report" in fails(str(path))

    def test_options_for_something_compiled(self, h200_cache: Path) -> None:
        assert "already compiled" in fails(str(h200_cache), "--num-stages", "2")

    def test_a_launch_of_something_compiled(self, h200_cache: Path) -> None:
        entry = next(path.parent for path in sorted(h200_cache.glob("*/softmax_kernel.ttir")))
        given = (
            "output_ptr=fp32[64,781]", "input_ptr=fp32[64,781]", "in_stride=781",
            "out_stride=781", "n_rows=64", "n_cols=781",
        )  # fmt: skip
        arguments = [word for each in given for word in ("--arg", each)]
        options = ["--grid", "n_rows,1", "-t", "h200", "--format", "json"]
        ran = irlens("inspect", str(entry), *arguments, *options)
        assert ran.code == 0, ran.err
        report = json.loads(ran.raw)
        assert report["target"]["product"] == "h200"
        assert report["config"]["grid"] == [64, 1, 1]
        assert report["traffic"]["read_bytes"] == 64 * 781 * 4

    def test_a_launch_that_does_not_fit(self, h200_cache: Path) -> None:
        entry = next(path.parent for path in sorted(h200_cache.glob("*/softmax_kernel.ttir")))
        told = fails(str(entry), "--arg", "input_ptr=7")
        assert "input_ptr of softmax_kernel is a tensor, not 7" in told
        assert "compiled for sm_90, and a100 is sm_80" in fails(str(entry), "-t", "a100")

    def test_an_output_that_cannot_be_written(self, tmp_path: Path) -> None:
        told = fails("softmax", "-t", "sm_80", "--output", str(tmp_path / "no" / "report.txt"))
        assert "cannot write" in told

    def test_a_binary_stage_is_not_thrown_at_a_terminal(self, h200_cache: Path) -> None:
        entry = sorted(h200_cache.iterdir())[0]
        reader, writer = os.openpty()
        command = [sys.executable, "-m", "irlens", "inspect", str(entry), "--stage", "cubin"]
        ran = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, check=False)
        os.close(writer)
        os.close(reader)
        assert ran.returncode == 2
        assert b"binary" in ran.stderr


@pytest.mark.parametrize(
    "extra", [("--pressure",), ("--all",), ("--format", "json"), ("--summary",), ("--line", "51")]
)
def test_what_has_no_effect_beside_a_stage_is_refused(extra: tuple[str, ...]) -> None:
    told = fails(*SOFTMAX, "--stage", "ptx", *extra)
    assert f"{' '.join(extra[:1])}" in told
    assert "with --stage" in told


def test_a_saved_report_has_no_stages() -> None:
    report = Path(__file__).parents[2] / "samples" / "reports" / "softmax-h100.json"
    assert "holds no code" in fails(str(report), "--stage", "ptx")


def test_an_error_of_one_line_for_what_is_no_artifact(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "long.ptx").write_text(".target sm_90\n" + "x" * 2_000_000)
    (tmp_path / "deep.json").write_text("[" * 1_000_000)
    for name in ("pipe", "long.ptx", "deep.json", "x" * 5000, "/dev/zero"):
        done = irlens("inspect", name, cwd=tmp_path)
        assert done.code == 2
        *_, error = done.err.partition("irlens: error: ")
        _, *hints = error.splitlines()
        assert all(hint.startswith("  ") for hint in hints)
        assert len(done.err) < 2000


def test_a_layout_is_drawn() -> None:
    drawn = irlens("inspect", "softmax", "-t", "h100", "--layout", "row")
    assert drawn.code == 0, drawn.err
    assert "in shared memory" in drawn.out
    refused = irlens("inspect", "softmax", "-t", "h100", "--layout", "nosuch")
    assert refused.code == 2
    assert "unknown value with a layout '%nosuch'" in refused.err
