"""The library does what the command line does, and says in its own words what to write instead."""

import importlib.util
import subprocess
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import irlens
from irlens.model.errors import CaptureError, IrlensError, UnknownNameError
from irlens.model.report import Report
from tests.running import inline

__all__ = ["inline"]

ROOT = Path(__file__).parents[1]
CAPTURES = ROOT / "samples" / "captures"
SOFTMAX = CAPTURES / "softmax-h100"

anything: Any = irlens


def test_the_target_has_a_default_and_may_come_second() -> None:
    captures = [
        irlens.capture("vector_add"), irlens.capture("vector_add", "h100"),
        irlens.capture("vector_add", target="h100"),
    ]  # fmt: skip
    assert len({each.directory for each in captures}) == 1
    assert irlens.inspect(captures[0]).target is not None


def test_the_grid_of_a_launch_is_a_keyword() -> None:
    captured = irlens.capture("vector_add", "h200", grid=[64], args={"n_elements": 65536})
    assert irlens.inspect(captured).config.grid == (64, 1, 1)


def test_a_function_of_triton_is_a_kernel() -> None:
    file = ROOT / "kernels" / "vector_add.py"
    spec = importlib.util.spec_from_file_location("vector_add_here", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    captured = irlens.capture(module.vector_add_kernel, "h100")
    assert captured.kernel == "vector_add_kernel"


class Tensor:
    """What PyTorch and NumPy say of a tensor."""

    shape = (4096,)
    dtype = "torch.float16"


def test_a_tensor_describes_itself() -> None:
    tensor: Any = Tensor()
    captured = irlens.capture("vector_add", "h100", args={"x_ptr": tensor})
    assert captured.config.args["x_ptr"] == "fp16[4096]"


@pytest.mark.usefixtures("inline")
def test_a_suggestion_and_a_scan_are_records() -> None:
    suggestion = irlens.suggest("vector_add", "h200", most=2, BLOCK_SIZE=1024)
    assert irlens.to_builtins(suggestion)["schema"] == 1
    first = irlens.suggest("vector_add", "h200", most=20, budget=0.0, BLOCK_SIZE=1024)
    assert (first.stopped, first.compiled) == ("budget", 0)
    scanned = irlens.scan(CAPTURES, columns=["kernel", "registers"], where="registers > 90")
    assert scanned.rows
    assert all(int(str(row.figures["registers"])) > 90 for row in scanned.rows)


@pytest.mark.usefixtures("inline")
def test_variants_limits_and_passes_are_records() -> None:
    for _ in range(2):  # no module takes the place of a function
        found = irlens.variants("vector_add", target="h100", args={"n_elements": range(1, 131073)})
    (kernel,) = found.kernels
    assert (kernel.number, kernel.launches) == (3, 131_072)
    listed = irlens.variants("vector_add", target="h100", args={"n_elements": "1,16,100..131072"})
    assert listed.kernels[0].number == 3
    (there,) = irlens.variants(SOFTMAX).kernels
    assert there.number == 1
    for along in ("n_elements=1..4096", {"n_elements": range(1, 4097)}, {"n_elements": "1..4096"}):
        (size,) = irlens.limits("vector_add", target="h100", along=along).sizes
        assert (size.name, size.last, size.limits, size.unknown) == ("n_elements", 4096, [], "")
    passes = irlens.passes("vector_add", "h100", last="tt.load")
    assert passes.crossings[0].operation == "tt.load"
    for record in (
        found,
        irlens.limits("vector_add", target="h100", along="n_elements=1..9"),
        passes,
    ):
        assert irlens.to_builtins(record)["schema"] == 1
        shown: Any = record
        assert "vector_add_kernel" in shown._repr_html_()


@pytest.mark.usefixtures("inline")
def test_a_sweep_is_a_record() -> None:
    for _ in range(2):  # no module takes the place of the function
        swept = irlens.sweep(
            "vector_add", ["h100", "a100"], num_warps="2..4..x2", BLOCK_SIZE="256,512",
            where="BLOCK_SIZE > 256", rank="time",
        )  # fmt: skip
    assert [trial.outcome for trial in swept.trials] == ["fits"] * 4
    assert len(swept.targets) == 2


@pytest.mark.usefixtures("inline")
@pytest.mark.parametrize("sizes", ["4096..1048576", range(4096, 1_048_577)])
def test_a_range_of_sizes_gives_the_time_over_it(sizes: object) -> None:
    swept = irlens.sweep("vector_add", "h100", args={"n_elements": sizes}, jobs=1)
    assert (swept.axis, swept.sizes is not None) == ("n_elements", True)
    ends = [each.value("n_elements") for each in (swept.trials[0], swept.trials[-1])]
    assert ends == [4096, 1_048_576]
    assert irlens.sweep(
        "vector_add", "h100", args={"n_elements": "16..48..16"}, jobs=1
    ).sizes is None  # fmt: skip


def test_a_project_is_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.irlens.budgets]\n"*" = "registers <= 8"\n')
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        checked = irlens.check("vector_add", target="h100")
    assert checked.outcome == "failed"
    assert not (tmp_path / "irlens.baseline.json").exists()
    irlens.check("vector_add", target="h100", update=True)
    assert (tmp_path / "irlens.baseline.json").exists()


@pytest.mark.usefixtures("preloaded")
def test_a_program_is_recorded(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    program = tmp_path / "program.py"
    program.write_text(
        "import sys, torch, triton, triton.language as tl\n\n"
        "@triton.jit\ndef fill(x, BLOCK: tl.constexpr):\n"
        "    tl.store(x + tl.arange(0, BLOCK), 1.0)\n\n"
        "fill[(1,)](torch.empty(64, device='cuda'), BLOCK=int(sys.argv[1]))\n"
    )
    for _ in range(2):
        recorded = irlens.record(program, 64, output=tmp_path / "recording", target="h100")
    (captured,) = irlens.load(tmp_path / "recording")
    assert captured.kernel == "fill"
    (run,) = recorded.programs
    assert [(each.kernel, each.launches) for each in run.kernels] == [("fill", 1)]
    assert run.total_us == pytest.approx(run.kernels[0].total_us)
    assert irlens.to_builtins(recorded)["directory"] == str(tmp_path / "recording")
    shown: Any = recorded
    assert "fill" in shown._repr_html_()


@pytest.mark.parametrize(
    ("wrong", "fix"),
    [
        (lambda: anything.capture(5), "'path/file.py:kernel'"),
        (lambda: anything.capture("softmax", ["h100", "a100"]), "write target='h100'"),
        (lambda: anything.capture("softmax", num_stages=[2]), "irlens.sweep(..., num_stages=[2])"),
        (lambda: anything.capture("softmax", BLOCK=object()), "write a number, a bool, or a name"),
        (lambda: anything.capture("softmax", args=["x"]), "write args={'x_ptr': 'fp32[4096]'"),
        (lambda: anything.capture("softmax", args={"x": [1]}), "'fp16[1024, 1024]'"),
        (lambda: anything.inspect("softmax"), "irlens.inspect(irlens.capture('softmax'))"),
        (lambda: anything.inspect(str(SOFTMAX)), "irlens.inspect(next(irlens.load("),
        (lambda: anything.inspect(irlens.load(SOFTMAX)), "for each in ..."),
        (lambda: anything.inspect(irlens.inspect(*irlens.load(SOFTMAX))), "already its report"),
        (lambda: anything.compare(*irlens.load(SOFTMAX), None), "irlens.inspect(before)"),
        (lambda: anything.load(["a"]), "load takes a path, and not a list"),
        (lambda: anything.scan(), "irlens.scan('~/.triton/cache')"),
        (lambda: anything.scan(CAPTURES, where=5), "write it in quotes"),
        (lambda: anything.variants(), "irlens.variants('softmax', args={...})"),
        (lambda: anything.variants("softmax", args=["n"]), "write args={'x_ptr'"),
        (lambda: anything.limits("softmax", along=5), "write it in quotes"),
        (lambda: anything.limits("softmax", target=["h100"]), "write target='h100'"),
        (lambda: anything.limits("softmax", "h100"), "irlens.limits('softmax', target='h100')"),
        (lambda: anything.variants("softmax", "h100"),
         "irlens.variants('softmax', target='h100')"),
        (lambda: anything.variants("softmax", ["h100", "a100"]), "target=['h100', 'a100'])"),
        (lambda: anything.check("softmax", "mi300x"), "irlens.check('softmax', target='mi300x')"),
        (lambda: anything.to_builtins([1]), "to_builtins takes one record"),
    ],
)  # fmt: skip
def test_a_wrong_argument_is_a_type_error_with_the_fix(wrong: Any, fix: str) -> None:
    with pytest.raises(TypeError) as caught:
        wrong()
    assert fix in str(caught.value)


def test_errors_name_keywords_and_not_options() -> None:
    with pytest.raises(CaptureError) as caught:
        irlens.capture("softmax", "h100", n_cols=781)
    assert caught.value.hint == 'write args={"n_cols": ...}'
    with pytest.raises(CaptureError) as caught:
        irlens.capture("softmax", "h100", args={"BLOCK_SIZE": 1024})
    assert caught.value.hint == "write BLOCK_SIZE=..."
    with pytest.raises(IrlensError, match="num_warps: a value is missing"):
        irlens.sweep("softmax", "h100", num_warps=[])
    with pytest.raises(IrlensError, match="n_cols: a value is missing"):
        irlens.sweep("softmax", "h100", args={"n_cols": []})
    with pytest.raises(UnknownNameError, match="unknown target 'h1000'"):
        irlens.capture("softmax", "h1000")


def test_a_directory_in_the_home_folder_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "cache").symlink_to(SOFTMAX)
    (captured,) = irlens.load("~/cache")
    assert isinstance(irlens.inspect(captured), Report)
    assert irlens.scan("~/cache").rows


def test_importing_needs_no_record() -> None:
    script = "import irlens, sys; sys.exit(any(n.startswith('irlens.model') for n in sys.modules))"
    assert subprocess.run([sys.executable, "-c", script]).returncode == 0


def test_a_script_needs_no_guard(tmp_path: Path) -> None:
    script = (
        "import irlens\nprint('once')\n"
        "swept = irlens.sweep('vector_add', 'h100', num_warps=[2, 4], jobs=1)\n"
        "print(len(swept.trials))\n"
    )
    file = tmp_path / "script.py"
    file.write_text(script)
    for arguments, text in (([str(file)], ""), (["-"], script)):
        ran = subprocess.run(
            [sys.executable, *arguments], input=text, capture_output=True, text=True
        )
        assert (ran.stdout, ran.returncode) == ("once\n2\n", 0), ran.stderr


@pytest.mark.parametrize("function", [irlens.capture, irlens.sweep, irlens.suggest])
def test_a_misspelt_keyword_is_no_constexpr(function: Callable[..., object]) -> None:
    with pytest.raises(TypeError, match="unknown constexpr or option 'num_stage'") as refused:
        function("softmax", num_stage=4)
    written = traceback.format_exception(refused.value)
    assert written[-1].strip() == "did you mean num_stages?"
    assert "During handling" not in "".join(written)
    with pytest.raises(IrlensError) as raised:
        function("softmax", targt="h100")
    assert raised.value.hint == "did you mean target?"
    assert traceback.format_exception(raised.value)[-1].strip() == raised.value.hint
    with pytest.raises(IrlensError) as raised:
        function("softmax", BLOCK_SIZ=512)
    assert raised.value.hint == "did you mean BLOCK_SIZE?"
