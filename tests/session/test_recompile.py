"""Recompiling with changes: from a capture to a request and to a new capture."""

import shutil
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from irlens import gpus as arch
from irlens.artifacts.load import load
from irlens.compiler import Request, compile_request, parse_value
from irlens.compiler.calls.argument_values import format_value
from irlens.model.capture import Capture, Stage
from irlens.model.config import ConstexprValue, GridFormula
from irlens.model.errors import CaptureError, IrlensError, UnknownNameError
from irlens.report import inspect
from irlens.session import Configurations, recompile
from irlens.session.compilation import Compiler
from irlens.session.interactive import Workbench
from irlens.session.recompile import request_of, settings_of, source_of, unknown_source
from irlens.session.reports import Needs
from irlens.session.session import Session
from irlens.session.sides import between_revisions
from tests.session.compiled import compiled_here, never_asked, when_compiling

ROOT = Path(__file__).parents[2]
CAPTURES = ROOT / "samples" / "captures"


def sample(name: str) -> Capture:
    (capture,) = load(CAPTURES / name)
    assert isinstance(capture, Capture)
    return capture


VALUES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text("ab1'.nf")


@given(VALUES.filter(lambda value: not isinstance(value, str) or value.strip() == value))
def test_what_is_written_is_read_as_the_same(value: ConstexprValue) -> None:
    assert parse_value(format_value(value)) == value
    assert type(parse_value(format_value(value))) is type(value)


def test_the_settings_are_those_that_were_chosen_each_once() -> None:
    settings = {setting.name: setting for setting in settings_of(sample("softmax-h100"), "softmax")}
    told = {name: setting.value for name, setting in settings.items()}
    assert told["num_warps"] == "8"
    assert told["num_stages"] == "4"
    assert told["BLOCK_SIZE"] == "1024"
    assert told["maxnreg"] == "none"
    assert told["target"] == "h100"
    assert {"sm_80", "h200", "mi300x"} <= set(settings["target"].choices)
    assert settings["num_warps"].choices[-1] == "32"
    amd = {setting.name for setting in settings_of(sample("softmax-mi300x"), "softmax")}
    assert not {"maxnreg", "num_ctas"} & amd


def test_a_request_asks_for_all_that_was_asked_but_for_the_change() -> None:
    capture = sample("softmax-h100")
    request = request_of(capture, "softmax", {"num_stages": "2", "target": "A100"})
    assert request.target.arch == "sm_80"
    assert request.settings["num_stages"] == 2
    assert request.settings["BLOCK_SIZE"] == 1024
    assert request.settings["num_warps"] == 8
    assert request.args["n_rows"] == 4096
    assert "maxnreg" not in request.settings
    assert "enable_fp_fusion" not in request.settings, "a new target has its own"
    other = request_of(capture, "softmax", {"enable_fp_fusion": "false"})
    assert other.settings["enable_fp_fusion"] is False, "the compiler knows more options"
    with pytest.raises(UnknownNameError, match="h10"):
        request_of(capture, "softmax", {"target": "h10"})


def test_a_capture_names_a_source_only_among_known_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert str(source_of(sample("softmax-h100"), None)).endswith("softmax.py:softmax_kernel")
    assert source_of(sample("softmax-h100"), "softmax") == "softmax"
    shutil.copytree(CAPTURES / "softmax-h100", tmp_path / "x")
    manifest = tmp_path / "x" / "irlens.json"
    manifest.write_text(manifest.read_text().replace("softmax.py", "elsewhere.py"))
    (tmp_path / "elsewhere.py").write_text("import triton\n@triton.jit\ndef softmax_kernel(): 1\n")
    monkeypatch.chdir(tmp_path)
    (capture,) = load(tmp_path / "x")
    assert isinstance(capture, Capture)
    assert source_of(capture, None) is None
    told = unknown_source(capture)
    assert "unknown: irlens cannot locate elsewhere.py" in told.message
    assert "FOLDER/elsewhere.py:softmax_kernel" in (told.hint or "")
    with pytest.raises(CaptureError, match="no such file"):
        source_of(capture, "gone/softmax.py")


def test_softmax_with_other_stages_is_compiled_and_compared() -> None:
    bench, key = compiled_here()
    two = bench.recompile(key, {"num_stages": "2"})
    assert two.stages == ((2, 2),)
    comparison = bench.compare(key, two.key)
    assert (comparison.before.label, comparison.after.label) == ("num_stages=4", "num_stages=2")
    moved = {delta.path: (delta.before, delta.after) for delta in comparison.figures}
    assert moved["resources.shared_dynamic_bytes"] == (12320, 4128)
    four = bench.recompile(two.key, {"num_stages": "4"})
    assert not bench.compare(key, four.key).different, "and back again it is as it was"
    assert {entry.key for entry in bench.entries()} == {key, two.key, four.key}
    assert bench.code(two.key, four.key, "ptx").different


def test_another_size_changes_what_follows_from_it_as_on_the_command_line() -> None:
    bench, key = compiled_here()
    settings = {setting.name: setting for setting in bench.settings(key)}
    assert settings["input_row_stride"].follows == "n_cols"
    assert settings["n_cols"].is_argument
    assert not settings["n_cols"].follows
    made = bench.recompile(key, {"n_cols": "2001", "output_ptr": "fp16"})
    assert made.config is not None
    assert made.config.constexprs["BLOCK_SIZE"] == 2048
    gpu = arch.find("h100")
    asked = Request(
        kernel="softmax", target=gpu.target, sm_count=gpu.sm_count,
        settings={"num_stages": 4}, args={"n_cols": "2001", "output_ptr": "fp16"},
    )  # fmt: skip
    (same,) = Compiler().compile(asked)
    assert made.config == inspect(same).config
    kept = bench.recompile(key, {"n_cols": "2001", "BLOCK_SIZE": "4096"})
    assert kept.config is not None
    assert kept.config.constexprs["BLOCK_SIZE"] == 4096, "what is chosen does not follow"


def test_what_the_compiler_refuses_is_told() -> None:
    bench, key = compiled_here()
    with pytest.raises(IrlensError, match="power of 2"):
        bench.recompile(key, {"BLOCK_SIZE": "1000"})


def test_a_recompilation_can_be_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    bench, key = compiled_here()
    with (
        when_compiling(monkeypatch, bench.cancel),
        pytest.raises(CaptureError, match="was cancelled"),
    ):
        bench.recompile(key, {"BLOCK_SIZE": "4096"})


def test_it_can_be_cancelled_before_the_compiler_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    bench, key = compiled_here()

    def meanwhile(*asked: Any) -> Request:
        bench.cancel()
        return request_of(*asked)

    monkeypatch.setattr(recompile, "request_of", meanwhile)
    with pytest.raises(CaptureError, match="was cancelled"):
        bench.recompile(key, {"BLOCK_SIZE": "4096"})
    monkeypatch.undo()
    assert bench.recompile(key, {}).config is not None, "the next one is none of it"


def test_without_its_source_nothing_can_be_chosen(tmp_path: Path) -> None:
    copy = tmp_path / "x"
    shutil.copytree(CAPTURES / "softmax-h100", copy)
    (copy / "irlens.json").unlink()
    bench = Workbench("x", lambda: load(copy), request_for=never_asked)
    (key,) = {entry.key for entry in bench.entries()}
    for ask in (lambda: bench.settings(key), lambda: bench.recompile(key, {})):
        with pytest.raises(CaptureError, match=r"cannot locate softmax\.py") as caught:
            ask()
        assert (caught.value.hint or "").endswith("FOLDER/softmax.py:softmax_kernel")


SCALE = """
import triton
import triton.language as tl

@triton.jit
def scale(x_ptr, n, factor, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(x_ptr + offsets, tl.load(x_ptr + offsets, mask=mask) * factor, mask=mask)
"""


@pytest.fixture
def scale(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Capture:
    """A capture of a kernel without a description, as ``record`` makes them."""
    monkeypatch.setenv("IRLENS_CACHE_DIR", str(tmp_path / "store"))
    file = tmp_path / "own" / "scale.py"
    file.parent.mkdir()
    file.write_text(SCALE)
    request = Request(
        kernel=f"{file}:scale",
        target=arch.find("h100").target,
        settings={"BLOCK": 128, "num_warps": 2, "enable_fp_fusion": False},
        args={"x_ptr": "fp16[1000]", "n": 1000, "factor": 0.5},
        grid=(8,),
    )
    (found,) = compile_request.capture(request)
    return found


def test_a_capture_is_compiled_again_from_its_file(scale: Capture) -> None:
    told: list[str] = []
    session = Session(told.append)
    options = Configurations(settings=(("num_warps", ("2", "4")),), targets=("a100", "h100"))
    captures = session.captures(str(scale.directory), options)
    configs = [each.config for each in captures]
    assert [config.num_warps for config in configs] == [2, 4, 2, 4]
    assert {each.target.arch for each in captures if each.target} == {"sm_80", "sm_90"}
    assert all(config.args == scale.config.args for config in configs)
    assert all(config.constexprs == {"BLOCK": 128} for config in configs)
    assert all(config.options == {"enable_fp_fusion": False} for config in configs)
    assert told[0].startswith("compiling from /")
    assert told[0].endswith("own/scale.py:scale")
    (same,) = session.captures(
        str(scale.directory), Configurations(settings=(("maxnreg", ("64",)),))
    )
    assert same.config.grid == (8, 1, 1)
    (larger,) = session.captures(
        str(scale.directory), Configurations(settings=(("BLOCK", ("256",)),))
    )
    assert larger.config.grid is None, "a capture does not tell how the grid depends on BLOCK"


def test_what_was_said_of_a_tensor_is_said_of_what_is_compiled_again(scale: Capture) -> None:
    """The values were kept, and the label no longer had them."""
    kernel = source_of(scale, None)
    assert kernel is not None
    values = "int32[8]:values[7]"
    request = Request(
        kernel=kernel,
        target=arch.find("h100").target,
        settings={"BLOCK": 128},
        args={"x_ptr": values, "n": 1000, "factor": 2},
        grid=("cdiv(n, BLOCK)",),
    )
    (first,) = compile_request.capture(request)
    assert first.config.arguments()["x_ptr"] == values
    for changes, told in (({"num_warps": "2"}, values), ({"x_ptr": "int32[16]"}, "int32[16]")):
        again = request_of(first, kernel, changes)
        assert again.grid == (request.grid if told == values else ())
        for (capture,) in (compile_request.capture(again), Compiler().compile(again)):
            assert capture.config.arguments()["x_ptr"] == told
            assert bool(capture.contents) == (told == values)


def test_a_grid_stays_where_no_program_id_depends_on_what_changes(scale: Capture) -> None:
    kernel = source_of(scale, None) or ""

    def kept(grid: tuple[int, int, int], **changes: str) -> bool:
        capture = msgspec.structs.replace(
            scale, config=msgspec.structs.replace(scale.config, grid=grid)
        )
        return bool(request_of(capture, kernel, changes).grid)

    assert kept((8, 1, 1), factor="2.0")
    assert not kept((8, 1, 1), n="500"), "it masks offsets, which follow from the program ID"
    assert not kept((8, 1, 1), BLOCK="256")
    assert not kept((8, 1, 1), x_ptr="fp16[500]"), "a program may take its size from the shape"
    assert not kept((8, 2, 1), factor="2.0"), "the source has no second axis"
    told: list[str] = []
    options = Configurations(args=(("factor", ("2.0",)),))
    session = Session(told.append)
    list(session.requests(str(scale.directory), options))
    assert told[1:] == ["the grid stays: no program ID depends on factor"]


def test_a_grid_that_evidently_follows_is_offered_as_a_formula(scale: Capture) -> None:
    """1,000 elements in blocks of 128 are 8 CTAs, as the source says: no other number is that."""

    def offered(grid: tuple[int, int, int], **args: int) -> str:
        config = msgspec.structs.replace(scale.config, grid=grid, args=args)
        capture = msgspec.structs.replace(scale, config=config)
        request = request_of(scale, source_of(scale, None) or "", {"BLOCK": "256"})
        return recompile.evident_grid(capture, request)

    assert offered((8, 1, 1), n=1000) == "cdiv(n, BLOCK)"
    assert offered((8, 3, 1), n=1000) == "cdiv(n, BLOCK),3"
    assert offered((8, 1, 1), n=1000, m=1020) == "cdiv(n, BLOCK)"
    assert offered((9, 1, 1), n=1000) == ""


def with_formula(capture: Capture, *extents: int | str) -> Capture:
    assert capture.manifest is not None
    manifest = msgspec.structs.replace(capture.manifest, grid_formula=GridFormula(extents, {}))
    return msgspec.structs.replace(capture, manifest=manifest)


def test_a_grid_that_is_not_taken_is_offered(scale: Capture) -> None:
    kernel = source_of(scale, None)
    assert kernel is not None
    for grid, offered in (((8, 1, 1), "8"), ((4, 2, 1), "4,2"), ((1, 1, 1), "1"), (None, "")):
        config = msgspec.structs.replace(scale.config, grid=grid)
        recorded = msgspec.structs.replace(scale, config=config)
        larger = request_of(recorded, kernel, {"BLOCK": "256"})
        assert recompile.dropped_grid(recorded, larger) == offered
        same = request_of(recorded, kernel, {"num_warps": "8"})
        assert recompile.dropped_grid(recorded, same) == ""


def test_a_grid_stays_on_another_gpu_unless_it_may_follow_its_sms(scale: Capture) -> None:
    kernel = source_of(scale, None) or ""

    def kept(*grid: int, target: str = "a100", **constexprs: int) -> bool:
        config = msgspec.structs.replace(
            scale.config, grid=grid, constexprs={**scale.config.constexprs, **constexprs}
        )
        capture = msgspec.structs.replace(scale, config=config)
        return bool(request_of(capture, kernel, {"target": target}).grid)

    assert kept(392, 4, 1)
    assert kept(8, 1, 1)
    assert kept(1, 1, 1, FLAG=True)
    assert not kept(264, 1, 1), "two programs for each of the 132 SMs"
    assert not kept(132, 8, 1)
    assert not kept(120, 1, 1), "fewer tiles than SMs, of which an A100 has 108"
    assert kept(120, 1, 1, target="b200")
    assert not kept(400, 1, 1, PROGRAMS=400)
    told: list[str] = []
    session = Session(told.append)
    list(session.requests(str(scale.directory), Configurations(targets=("a100",))))
    assert told[1:] == ["the grid stays as recorded: 8"]


def test_a_grid_of_another_gpu_is_not_taken_where_programs_ask_for_their_number(
    scale: Capture,
) -> None:
    kernel = source_of(scale, None) or ""
    persistent = scale.stages["ttir"].text().replace("tt.get_program_id", "tt.get_num_programs")
    stages = {**scale.stages, "ttir": Stage("ttir", content=persistent.encode())}
    capture = msgspec.structs.replace(scale, stages=stages)
    assert request_of(capture, kernel, {"target": "a100"}).grid == ()


def test_a_recorded_grid_function_holds_for_other_constexprs(scale: Capture) -> None:
    kernel = source_of(scale, None)
    assert kernel is not None
    recorded = with_formula(scale, "cdiv(1000, BLOCK)")
    larger = request_of(recorded, kernel, {"BLOCK": "256", "target": "h100", "n": "1000"})
    assert larger.grid == ("cdiv(1000, BLOCK)",)
    (compiled,) = compile_request.capture(larger)
    assert compiled.config.grid == (4, 1, 1)
    again = request_of(compiled, kernel, {"BLOCK": "512"})
    assert again.grid == larger.grid, "an experiment changes what was compiled again"
    for change in ({"n": "2000"}, {"target": "a100"}):
        other = request_of(recorded, kernel, {"BLOCK": "256", **change})
        assert other.grid == (), "its numbers are those of the recorded launch"


@pytest.mark.parametrize("extent", ["cdiv(999, BLOCK) + 1", "open('x')", "BLOCK ** BLOCK ** 9"])
def test_a_formula_that_contradicts_the_grid_is_not_taken(scale: Capture, extent: str) -> None:
    kernel = source_of(scale, None)
    assert kernel is not None
    assert request_of(with_formula(scale, extent), kernel, {"BLOCK": "256"}).grid == ()


def test_an_edited_file_of_several_kernels_is_said_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IRLENS_CACHE_DIR", str(tmp_path / "store"))
    file = tmp_path / "scale.py"
    file.write_text(SCALE + SCALE[SCALE.index("@triton.jit") :].replace("scale", "shrink"))
    for name in ("scale", "shrink"):
        request = Request(
            kernel=f"{file}:{name}",
            target=arch.find("h100").target,
            settings={"BLOCK": 128},
            args={"x_ptr": "fp16[1000]", "n": 1000, "factor": 0.5},
            grid=(8,),
        )
        (found,) = compile_request.capture(request)
        assert found.directory is not None
        shutil.copytree(found.directory, tmp_path / "both" / name)
    file.write_text(file.read_text().replace("* factor", "+ factor"))
    told: list[str] = []
    session = Session(told.append)
    session.captures(str(tmp_path / "both"), Configurations(settings=(("BLOCK", ("64",)),)))
    assert told[0].endswith(
        "scale.py:scale, shrink, which has changed since; the launches are as recorded"
    )


def test_an_edited_file_is_said_to_be_so(scale: Capture) -> None:
    assert scale.manifest is not None
    assert scale.manifest.source is not None
    Path(scale.manifest.source.path).write_text(SCALE.replace("* factor", "+ factor"))
    told: list[str] = []
    session = Session(told.append)
    (again,) = session.captures(
        str(scale.directory), Configurations(settings=(("BLOCK", ("64",)),))
    )
    assert told[0].endswith("scale.py:scale, which has changed since; the launch is as recorded")
    assert "arith.addf" in again.stages["ttir"].text()


def test_what_is_shown_as_compiled_is_said_to_be_older_than_its_file(scale: Capture) -> None:
    assert scale.source is not None
    file, told = Path(scale.source.path), list[str]()
    session = Session(told.append)
    session.reports(str(scale.directory), Configurations())
    assert told == []
    file.write_text(SCALE.replace("* factor", "+ factor"))
    session.reports(str(scale.directory), Configurations())
    assert len(told) == 1
    assert told[0].startswith(f"{scale.directory} was compiled before {file} changed: ")
    assert session.edited == {str(scale.directory): [str(file)]}


DESCRIBED = """
import triton
import triton.language as tl

@triton.jit
def doubled(x, y, BM: tl.constexpr, BN: tl.constexpr):
    y.store([tl.program_id(0) * BM, tl.program_id(1) * BN],
            x.load([tl.program_id(0) * BM, tl.program_id(1) * BN]) + tl.zeros([BM, BN], tl.float16))
"""


def test_blocks_of_descriptors_follow_the_tile_that_a_kernel_loads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A recording has numbers, and a block of another shape than the tile does not compile."""
    monkeypatch.setenv("IRLENS_CACHE_DIR", str(tmp_path / "store"))
    file = tmp_path / "doubled.py"
    file.write_text(DESCRIBED)
    block = "fp16[512, 512]:block[64, 64]"
    request = Request(
        kernel=f"{file}:doubled",
        target=arch.find("h100").target,
        settings={"BM": 64, "BN": 64},
        args={"x": block, "y": block},
        grid=(8, 8),
    )
    (found,) = compile_request.capture(request)
    told: list[str] = []
    session = Session(told.append)
    settings = Configurations(settings=(("BM", ("32", "64")),))
    small, same = session.captures(str(found.directory), settings)
    follows = "fp16[512, 512]:block[BM, BN]"
    for each in (small, same):
        assert [each.config.args[name] for name in ("x", "y")] == [follows] * 2
    assert "tensor<32x64xf16" in small.stages["ttir"].text()
    assert sum("the blocks of x, y follow the tile" in each for each in told) == 1


@pytest.mark.parametrize("forged", ["seal", "path", "key"])
def test_the_file_that_somebody_elses_capture_names_is_not_executed(
    scale: Capture, tmp_path: Path, forged: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert scale.directory is not None
    assert scale.manifest is not None
    assert scale.manifest.source is not None
    trap = tmp_path / "trap.py"
    trap.write_text(f"open({str(tmp_path / 'executed')!r}, 'w')\n{SCALE}")
    source = scale.manifest.source
    if forged == "key":
        monkeypatch.setenv("IRLENS_CACHE_DIR", str(tmp_path / "somebody else's"))
    elif forged == "path":
        source = msgspec.structs.replace(source, path=str(trap))
    else:
        source = msgspec.structs.replace(source, path=str(trap), seal="")
    manifest = msgspec.structs.replace(scale.manifest, source=source)
    (scale.directory / "irlens.json").write_bytes(msgspec.json.encode(manifest))
    with pytest.raises(CaptureError, match="somebody else names") as caught:
        Session().captures(str(scale.directory), Configurations(settings=(("BLOCK", ("64",)),)))
    assert f"irlens inspect {source.path}:scale" in (caught.value.hint or "")
    assert not (tmp_path / "executed").exists()


@pytest.mark.parametrize("name", ["ptx_options", "ir_override", "extern_libs"])
def test_options_that_may_name_files_are_not_taken_from_a_capture(name: str) -> None:
    capture = sample("softmax-h100")
    config = msgspec.structs.replace(capture.config, options={name: "--output-file=/tmp/x"})
    hostile = msgspec.structs.replace(capture, config=config)
    with pytest.raises(CaptureError, match=f"was compiled with {name}=--output-file"):
        request_of(hostile, "softmax", {"num_stages": "2"})
    assert request_of(hostile, "softmax", {name: "-O1"}).settings[name] == "-O1"


def test_of_a_gone_file_the_recorded_copy_is_compiled(scale: Capture) -> None:
    """TorchInductor's files are removed with the program that it generates them for."""
    assert scale.directory is not None
    assert scale.manifest is not None
    assert scale.manifest.source is not None
    Path(scale.manifest.source.path).unlink()
    told: list[str] = []
    options = Configurations(settings=(("num_warps", ("4",)),))
    (again,) = Session(told.append).captures(str(scale.directory), options)
    assert again.config.num_warps == 4
    assert again.python_texts() == scale.python_texts()
    assert told[0] == "compiling from the recorded copy of scale.py:scale"
    with pytest.raises(IrlensError, match=r"git has no versions of scale\.py"):
        between_revisions(str(scale.directory), "HEAD", Configurations(), Session()).compare(
            Needs()
        )
    copy = scale.directory / "python" / "scale.py"
    copy.write_text(f"{SCALE}\n")  # not what was sealed, so not what was executed before
    with pytest.raises(CaptureError, match=r"no such file: .*scale\.py"):
        source_of(scale, None)
    copy.unlink()
    with pytest.raises(CaptureError, match=r"no such file: .*scale\.py"):
        source_of(scale, None)


def test_sources_that_are_not_loaded_are_named(scale: Capture) -> None:
    """The hint was to record again, and to name FILE.py, where the files are known."""
    assert scale.directory is not None
    assert scale.manifest is not None
    generated = scale.directory / "python" / "cabc.py"
    generated.write_text("@triton_heuristics.pointwise()\n@triton.jit\ndef triton_poi_0(): 0\n")
    manifest = msgspec.structs.replace(scale.manifest, source=None, file="cabc.py")
    told = unknown_source(msgspec.structs.replace(scale, manifest=manifest))
    assert "TorchInductor generated cabc.py" in told.message
    here = str(scale.manifest.source.path) if scale.manifest.source else ""
    assert here in (told.hint or ""), "the file that ttir names is there"
    Path(here).unlink()
    told = unknown_source(msgspec.structs.replace(scale, manifest=manifest))
    assert f"irlens inspect {generated}:scale" in (told.hint or "")
    entry = msgspec.structs.replace(scale, manifest=None, directory=None)
    told = unknown_source(entry)
    assert f"its source is gone: {here}" in told.message
    assert "irlens record PROGRAM.py" in (told.hint or "")
    bare = unknown_source(msgspec.structs.replace(entry, stages={}))
    assert "name the source instead: FILE.py:scale" in (bare.hint or "")


def test_an_extent_does_not_become_negative(scale: Capture) -> None:
    session = Session()
    with pytest.raises(CaptureError, match="n is the extent of a tensor: -5 is not a whole number"):
        session.captures(str(scale.directory), Configurations(args=(("n", ("-5",)),)))
