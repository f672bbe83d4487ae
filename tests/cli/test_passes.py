"""``irlens passes`` and ``irlens diff --passes`` from the command line."""

import json
import lzma
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jsonschema
import msgspec
import pytest

import irlens
from irlens import gpus
from irlens.artifacts import pass_dumps
from irlens.artifacts.load import load
from irlens.compiler import Request, compiler_output
from irlens.model.config import Target
from irlens.model.errors import IrlensError
from irlens.model.passes import Passes, PassesDiff
from irlens.render.json import schema
from irlens.session import Configurations
from irlens.session.configuration_choice import single_request
from irlens.session.session import Session
from tests.running import irlens as run
from tests.running import with_changes

AMPERE = Target(vendor="nvidia", arch="sm_80", warp_size=32)
SOFTMAX = ("softmax", "--target", "h100", "--num-stages", "4")


def test_what_the_store_lost_is_compiled_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IRLENS_CACHE_DIR", str(tmp_path))
    assert run("passes", *SOFTMAX).code == 0
    (first,) = tmp_path.glob(f"captures/*/*/{pass_dumps.NAME}")
    first.write_bytes(first.read_bytes()[:1000])
    ran = run("passes", *SOFTMAX)
    assert (ran.code, ran.err) == (0, "")
    (second,) = set(tmp_path.glob(f"captures/*/*/{pass_dumps.NAME}")) - {first}
    second.unlink()
    ran = run("passes", *SOFTMAX)
    assert (ran.code, ran.err) == (0, "")
    assert "passes change the IR" in ran.out


def test_the_passes_that_change_something_are_listed() -> None:
    ran = run("passes", *SOFTMAX)
    assert ran.code == 0, ran.err
    assert ran.err == ""
    assert "passes change the IR" in ran.out
    lines = ran.out.splitlines()
    at = next(number for number, line in enumerate(lines) if "TritonGPUPipeline" in line)
    said = " ".join(" ".join(lines[at + 1 : at + 4]).split())
    assert "+4 ttg.async_copy_global_to_local" in said
    assert "CombineOps" not in ran.out  # it changes nothing
    assert "ptxas" in ran.out


def test_json_has_every_change() -> None:
    ran = run("passes", *SOFTMAX, "--format", "json", "--changes")
    jsonschema.validate(json.loads(ran.out), json.loads(schema("passes")))
    passes = msgspec.json.decode(ran.out, type=Passes)
    text = passes.first
    for each in passes.runs:
        assert text.count("\n") == each.lines_before
        text = with_changes(text, each.changes)
        assert each.lines_after in (text.count("\n"), None)
    assert "llvm.func @softmax_kernel" in text
    refused = run("passes", *SOFTMAX, "--changes")
    assert refused.code == 2
    assert "--changes has no effect without --format json" in refused.err


@pytest.mark.parametrize("form", ["text", "markdown", "html"])
def test_what_is_asked_is_shown_alone(form: str) -> None:
    asked = ("--pass", "pipeline", "--first", "async_wait", "--last", "scf.for", "--line", "50")
    ran = run("passes", *SOFTMAX, *asked, "--format", form)
    assert ran.code == 0, ran.err
    assert "TritonGPUPipeline" in ran.out
    shown = " ".join(ran.out.replace("`", "").split())
    assert "brings the first ttg.async_wait" in shown
    assert "SCFToControlFlow" in shown
    assert "softmax.py:50" in shown
    assert "passes change the IR" not in shown


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (("--pass", "vectorise"), "unknown pass 'vectorise'"),
        (("--pass", "0"), "there is no pass 0"),
        (("--first", "tt.lod"), "unknown operation, layout or attribute of this kernel 'tt.lod'"),
        (("--line", "2"), "no pass has code from softmax.py:2"),
        (("--line", "x"), "'x' is not a line number"),
        (("--num-warps", "4,8"), "with these options is 2 compilations: one is needed"),
        (("--llvm", "--pass", "LLVMDIScope"), "MLIR prints the IR before each of its passes, LLVM"),
    ],
)
def test_bad_input_is_one_clear_line(asked: tuple[str, ...], message: str) -> None:
    ran = run("passes", *SOFTMAX, *asked)
    assert ran.code == 2
    assert ran.out == ""
    first, *hints = ran.err.splitlines()
    assert message in first
    assert len(hints) <= 1


def test_a_file_without_code_is_said_to_have_none() -> None:
    ran = run("passes", *SOFTMAX, "--line", "other.py:3")
    assert ran.err.splitlines()[1].strip() == "no code is from this file"


@pytest.mark.parametrize("command", ["passes", "diff"])
def test_a_triton_that_prints_no_passes_is_named(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IRLENS_CACHE_DIR", str(tmp_path))
    monkeypatch.setitem(compiler_output._OF, "mlir", {})
    options = ("--passes", "--num-warps", "4,8") if command == "diff" else ()
    ran = run(command, "vector_add", "-t", "sm_80", *options)
    assert (ran.code, ran.out) == (2, "")
    (line, hint) = ran.err.splitlines()
    assert "printed no IR between its passes" in line
    assert "--triton" in hint


def test_two_kernels_and_two_revisions_are_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """AFTER was refused, and so was --git, without a word on what the command takes."""
    path = tmp_path / "k.py"
    text = (
        "import triton\nimport triton.language as tl\n\n\n@triton.jit\n"
        "def copy(x_ptr, y_ptr, BLOCK: tl.constexpr = 64):\n"
        "    o = tl.arange(0, BLOCK)\n"
        "    tl.store(y_ptr + o, tl.load(x_ptr + o))\n"
    )
    path.write_text(text)
    (tmp_path / "other.py").write_text(text.replace("tl.load(x_ptr + o)", "tl.load(x_ptr + o) + 1"))
    git = ("git", "-c", "user.name=x", "-c", "user.email=x@x")
    for command in (("init", "-q"), ("add", "k.py"), ("commit", "-qm", "x")):
        subprocess.run([*git, *command], cwd=tmp_path, check=True)
    monkeypatch.chdir(tmp_path)
    options = ("-t", "h100", "-a", "x_ptr=fp32[64]", "-a", "y_ptr=fp32[64]", "--passes")
    ran = run("diff", "k.py", "other.py", *options, "--format", "json")
    assert ran.code == 1, ran.err
    diff = msgspec.json.decode(ran.out, type=PassesDiff)
    assert (diff.before.label, diff.after.label) == ("before", "after")
    assert diff.at_start
    assert run("diff", "k.py", "k.py", *options).code == 0
    assert run("diff", "k.py", "--git", *options).code == 0
    path.write_text(text.replace("tl.load(x_ptr + o)", "tl.load(x_ptr + o) * 2"))
    of_git = run("diff", "k.py", "--git", *options)
    assert of_git.code == 1
    assert "HEAD against working tree" in of_git.out
    refused = run("diff", "k.py", "--last-save", *options)
    assert refused.code == 2
    assert "cannot be used with --passes: compare a revision, --git HEAD" in refused.err


def test_of_a_recording_one_capture_is_named(tmp_path: Path) -> None:
    """Without it the hint asked for options of one value, which a recording does not have."""
    (tmp_path / "0000-norm").mkdir()
    target = gpus.find("h100").target
    requests = [Request(kernel=f"k.py:{name}", target=target) for name in ("norm", "matmul")]
    session: Any = SimpleNamespace(requests=lambda *_: requests)
    with pytest.raises(IrlensError, match="holds several kernels") as raised:
        single_request(str(tmp_path), Configurations(), session)
    assert raised.value.hint == f"name one of its captures, such as {tmp_path / '0000-norm'}"


def test_two_configurations_differ_first_behind_a_pass() -> None:
    ran = run(
        "diff", "softmax", "-t", "h100", "--num-stages", "2,4", "--passes", "--format", "json"
    )
    assert ran.code == 1, ran.err
    jsonschema.validate(json.loads(ran.out), json.loads(schema("passes-diff")))
    diff = msgspec.json.decode(ran.out, type=PassesDiff)
    assert diff.first == next(
        each.after_number for each in diff.passes if each.name == "TritonGPUAssignLatencies"
    )
    text = run("diff", "softmax", "-t", "h100", "--num-stages", "2,4", "--passes").out
    assert "it grows first after TritonGPUAssignLatencies" in text
    same = run("diff", "softmax", "-t", "h100", "--num-warps", "8,8", "--passes")
    assert same.code == 0, same.err
    assert "no difference after any pass" in same.out
    refused = run("diff", "softmax", "-t", "h100", "--passes")
    assert refused.code == 2
    assert "name a second kernel, or give one option two values" in refused.err
    for option in (("--stage", "ptx"), ("--sass",)):
        refused = run("diff", "softmax", "--num-stages", "2,4", "--passes", *option)
        assert refused.code == 2
        assert f"{option[0]} cannot be used with --passes: remove one of them" in refused.err


@pytest.mark.parametrize("target", ["h100", "mi300x"])
def test_two_configurations_are_compared_after_passes_of_llvm_on_request(target: str) -> None:
    asked = ("vector_add", "-t", target, "--num-warps", "4,8", "--passes", "--llvm")
    ran = run("diff", *asked, "--format", "json")
    assert ran.code == 1, ran.err
    jsonschema.validate(json.loads(ran.out), json.loads(schema("passes-diff")))
    diff = msgspec.json.decode(ran.out, type=PassesDiff)
    last = max(each.before_number for each in diff.passes)
    assert all(each.before_number > last for each in diff.llvm)
    assert any("Instruction Selection" in each.name for each in diff.llvm)
    before = [0, *(each.differing for each in diff.llvm)]
    assert all(
        each.grown == each.differing - known for each, known in zip(diff.llvm, before, strict=False)
    )
    assert not {each.name for each in diff.llvm} & {*diff.only_before, *diff.only_after}
    most = max(diff.llvm, key=lambda each: each.grown)
    text = " ".join(run("diff", *asked).out.split())
    assert f"of LLVM's passes, {most.name} ({most.before_number} and" in text
    refused = run("diff", "vector_add", "-t", target, "--num-warps", "4,8", "--llvm")
    assert (refused.code, "--llvm needs --passes" in refused.err) == (2, True)


def _stored(store: Path) -> Path:
    (found,) = store.rglob(pass_dumps.NAME)
    return found.parent


def test_a_capture_and_a_log_are_read_without_a_compiler(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IRLENS_CACHE_DIR", str(tmp_path / "store"))
    expected = run("passes", *SOFTMAX)
    copy = tmp_path / "capture"
    shutil.copytree(_stored(tmp_path / "store"), copy)
    shutil.rmtree(tmp_path / "store")
    (loaded,) = load(copy)
    assert loaded.kernel == "softmax_kernel"  # type: ignore[union-attr]
    assert run("passes", str(copy)).out == expected.out
    with monkeypatch.context() as patch:
        patch.setattr(Session, "compile", None)
        assert run("diff", str(copy), str(copy), "--passes").code == 0
    log = tmp_path / "log.txt"
    log.write_bytes(lzma.decompress((copy / pass_dumps.NAME).read_bytes()))
    of_log = run("passes", str(log), "--first", "async_wait")
    assert of_log.code == 0, of_log.err
    assert "TritonGPUPipeline" in of_log.out
    (copy / pass_dumps.NAME).write_bytes(b"broken")
    broken = run("passes", str(copy))
    assert broken.code == 2
    assert "not the compiler's passes" in broken.err


def test_a_capture_of_unknown_source_without_passes_is_refused(tmp_path: Path) -> None:
    ttir = tmp_path / "k.ttir"
    ttir.write_text("module {\n  tt.func public @k() {\n    tt.return\n  }\n}\n")
    ran = run("passes", str(ttir))
    assert ran.code == 2
    assert "already compiled, and its source is unknown" in ran.err


def test_the_compiler_prints_no_passes_of_llvm_afterwards(
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Triton 3.6 sets an option of LLVM's for good, so that another process compiles."""
    assert run("passes", "vector_add", "-t", "sm_80", "--llvm").code == 0
    capfd.readouterr()
    Session().compile(Request(kernel="softmax", target=AMPERE, settings={"num_stages": 7}))
    assert "IR Dump" not in capfd.readouterr().err


@pytest.mark.parametrize(
    ("target", "selection"), [("h100", "nvptx-isel"), ("mi300x", "amdgpu-isel")]
)
def test_passes_of_llvm_follow_on_request(target: str, selection: str) -> None:
    ran = run("passes", "vector_add", "-t", target, "--llvm", "--format", "json")
    assert ran.code == 0, ran.err
    passes = msgspec.json.decode(ran.out, type=Passes)
    of_llvm = [each for each in passes.runs if each.stage in ("llvm", "codegen")]
    assert passes.runs[-len(of_llvm) :] == of_llvm
    chosen = next(each for each in of_llvm if each.argument == selection)
    assert chosen.changed
    assert chosen.stage == "codegen"
    assert "call" in chosen.went
    assert [each.number for each in of_llvm if each.changed is None] == [of_llvm[0].number]
    shown = run("passes", "vector_add", "-t", target, "--llvm", "--pass", selection)
    assert shown.code == 0, shown.err
    assert chosen.name in shown.out
    plain = run("passes", "vector_add", "-t", target, "--format", "json")
    assert len(msgspec.json.decode(plain.out, type=Passes).runs) == len(passes.runs) - len(of_llvm)


@pytest.fixture(scope="module")
def tuned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Captures of one launch in the configurations that an autotuner tried."""
    folder = tmp_path_factory.mktemp("tuned")
    for block in (512, 1024):
        compiled = irlens.capture("vector_add", "h100", BLOCK_SIZE=block)
        assert compiled.directory is not None
        shutil.copytree(compiled.directory, folder / f"of-{block}")
    return folder


def chosen(said: str) -> str:
    """Return the configuration that a note says to be taken."""
    (note,) = [line for line in said.splitlines() if "2 configurations: " in line]
    return note.rpartition(": ")[2]


def test_of_a_recorded_autotuner_the_fastest_configuration_is_taken(tuned: Path) -> None:
    ran = run("passes", str(tuned), "--format", "json")
    assert ran.code == 0, ran.err
    assert "2 configurations: showing the fastest: BLOCK_SIZE=" in ran.err
    config = msgspec.json.decode(ran.out, type=Passes).compiled.config
    assert chosen(ran.err) == f"BLOCK_SIZE={config.constexprs['BLOCK_SIZE']}"


@pytest.mark.parametrize("option", [("--num-warps", "4,8"), ("--target", "h100,a100")])
def test_a_recorded_autotuners_configuration_is_compared_with_itself(
    tuned: Path, option: tuple[str, str]
) -> None:
    """Each side had a fastest one of its own, or two configurations were refused."""
    ran = run("diff", str(tuned), *option, "--passes", "--format", "json")
    assert ran.code == 1, ran.err
    assert "comparing the fastest with itself: " in ran.err
    diff = msgspec.json.decode(ran.out, type=PassesDiff)
    sizes = [each.config.constexprs["BLOCK_SIZE"] for each in (diff.before, diff.after)]
    assert {f"BLOCK_SIZE={size}" for size in sizes} == {chosen(ran.err)}


def test_launches_that_do_not_compare_are_named_one_by_one(tuned: Path, tmp_path: Path) -> None:
    shutil.copytree(tuned / "of-512", tmp_path / "0000-add")
    compiled = irlens.capture("vector_add", "h100", args={"n_elements": 4096})
    assert compiled.directory is not None
    shutil.copytree(compiled.directory, tmp_path / "0001-add")
    ran = run("diff", str(tmp_path), "--num-warps", "4,8", "--passes")
    assert ran.code == 2
    assert "holds 2 launches of vector_add_kernel" in ran.err
    assert f"name one of its captures, such as {tmp_path / '0000-add'}" in ran.err
