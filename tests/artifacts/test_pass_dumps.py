"""What the compiler prints of its passes, and the file in which a capture keeps it."""

import lzma
import time
from pathlib import Path

import pytest
from msgspec.structs import replace

from irlens.artifacts import pass_dumps
from irlens.artifacts.load import load_bytes
from irlens.model import files
from irlens.model.capture import Capture
from irlens.model.errors import ArtifactError

_TIMES = """\
===-------------------------------------------------------------------------===
                         ... Execution time report ...
===-------------------------------------------------------------------------===
  Total Execution Time: 0.0972 seconds

  ----Wall Time----  ----Name----
    0.0532 ( 54.8%)  InlinerPass
    0.0001 (  0.1%)    (A) CallGraph
    0.0521 ( 53.6%)  'tt.func' Pipeline
    0.0040 (  4.1%)    CanonicalizerPass
    0.0002 (  0.1%)  CSEPass
    0.0300 (  0.1%)  'tt.func' Pipeline
    0.0007 (  0.1%)    TritonAMDGPUHoistLayoutConversions
    0.0081 (  2.3%)  TritonGPUOptimizeDotOperands
    0.0164 (  4.7%)  'any' Pipeline
    0.0003 (  0.2%)    SCCPPass
   -0.0095 ( -9.8%)  Rest
    0.0972 (100.0%)  Total
"""


def _module(body: str) -> str:
    lines = ("#loc = loc(unknown)", "module {", f"  {body} loc(#loc)", "} loc(#loc)",
             '#loc1 = loc("k.py":3:1)')  # fmt: skip
    return "\n".join(lines) + "\n"


def _printed(name: str, body: str, on: str = "'builtin.module' operation") -> str:
    return f"// -----// IR Dump Before {name} ({on}) //----- //\n{_module(body)}\n\n"


NEWER = "".join(
    (
        "k.py:3:5: remark: not lowered to wgmma\n",
        _printed("InlinerPass: inline{inlining-threshold=4 max-iterations=4 }", "a.a"),
        _printed("CanonicalizerPass: canonicalize", "a.b", "'tt.func' operation: @f"),
        _printed("CSEPass: cse", "a.c"),
        _printed("TritonAMDGPUHoistLayoutConversions: hoist", "a.d", "'tt.func' operation: @k"),
        _printed("TritonGPUOptimizeDotOperands: dot", "a.e"),
        "// -----// SoftwarePipeliner internal IR Dump After: LowerLoops\nmodule {\n}\n\n\n",
        _printed("SCCPPass: sccp", "a.f"),
        _TIMES,
        _printed("TritonGPUCoalesce: tritongpu-coalesce", "a.g"),
        "ptxas info    : Used 30 registers\n",
    )
)


def test_passes_have_their_module_and_their_time() -> None:
    read = pass_dumps.read(NEWER)
    assert [(each.name, each.argument, each.function) for each in read.passes] == [
        ("InlinerPass", "inline", ""),
        ("CSEPass", "cse", ""),
        ("TritonAMDGPUHoistLayoutConversions", "hoist", "k"),
        ("TritonGPUOptimizeDotOperands", "dot", ""),
        ("SCCPPass", "sccp", ""),
        ("TritonGPUCoalesce", "tritongpu-coalesce", ""),
    ]
    assert [each.text for each in read.passes] == [_module(f"a.{name}") for name in "acdefg"]
    assert [each.pipeline for each in read.passes] == [0, 0, 0, 0, 0, 1]
    assert read.passes[0].options == "inlining-threshold=4 max-iterations=4"
    # The inliner took 53.2 ms, of which 52.1 in a pipeline whose passes took 4.0.
    assert [each.seconds for each in read.passes] == [0.0051, 0.0002, 0.0007, None, 0.0003, None]
    assert read.remarks == [
        "k.py:3:5: remark: not lowered to wgmma", "ptxas info    : Used 30 registers",
    ]  # fmt: skip
    assert read.size == len(NEWER)


def test_triton_34_prints_the_user_s_time_as_well() -> None:
    row = "    0.0002 (  0.1%)  CSEPass"
    rows = NEWER.replace(row, "    0.0007 (  0.4%)" + row)
    assert rows != NEWER
    assert pass_dumps.read(rows).passes == pass_dumps.read(NEWER).passes
    assert pass_dumps.read(rows).remarks == pass_dumps.read(NEWER).remarks


def test_times_of_other_passes_are_not_used() -> None:
    read = pass_dumps.read(NEWER.replace("  CSEPass\n", "  CSE\n"))
    assert [each.seconds for each in read.passes] == [None] * 6


def test_versions_before_3_8_put_the_argument_in_parentheses() -> None:
    (only,) = pass_dumps.read(_printed("Inliner (inline)", "a.a")).passes
    assert (only.name, only.argument, only.options) == ("Inliner", "inline", "")
    assert only.text == _module("a.a")


def test_a_module_that_is_cut_is_left_out() -> None:
    text = _printed("CSE (cse)", "a.a")
    comment, module = text.index("\n") + 1, _module("a.a")
    closed = text.index("\n}") + 2
    for length in range(comment, len(text)):
        (only,) = pass_dumps.read(text[:length]).passes
        assert module.startswith(only.text.rstrip("\n"))
        assert bool(only.text) == (length >= closed)
    assert not pass_dumps.has_dumps("module {\n}\n")
    assert pass_dumps.has_dumps(text)


def test_a_header_of_a_megabyte_takes_no_longer_than_its_length() -> None:
    begun = time.process_time()
    text = "// -----// IR Dump Before A: a{" + "} ('any' operation: @" * 50_000 + "\n"
    assert not pass_dumps.has_dumps(text)
    assert time.process_time() - begun < 2


def _capture(directory: Path) -> Capture:
    ttir = b"module {\n  tt.func public @k() {\n    tt.return\n  }\n}\n"
    (capture,) = load_bytes(ttir, name="k")
    return replace(capture, directory=directory)


def test_a_capture_keeps_them_compressed(tmp_path: Path) -> None:
    assert pass_dumps.of_capture(_capture(tmp_path)) is None
    (tmp_path / pass_dumps.NAME).write_bytes(pass_dumps.compressed(NEWER))
    assert pass_dumps.of_capture(_capture(tmp_path)) == pass_dumps.read(NEWER)


@pytest.mark.parametrize("content", [b"", b"no xz", pass_dumps.compressed(NEWER)[:-9]])
def test_a_broken_file_is_an_error(tmp_path: Path, content: bytes) -> None:
    (tmp_path / pass_dumps.NAME).write_bytes(content)
    with pytest.raises(ArtifactError):
        pass_dumps.of_capture(_capture(tmp_path))


def test_a_bomb_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(files.LIMIT_VARIABLE, "1")
    (tmp_path / pass_dumps.NAME).write_bytes(lzma.compress(b"\n" * (17 << 20), preset=0))
    with pytest.raises(ArtifactError, match=r"larger than"):
        pass_dumps.of_capture(_capture(tmp_path))


def test_the_largest_modules_are_left_out_of_what_is_too_large(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(files.LIMIT_VARIABLE, "1")
    large = "\n  ".join(["a.b"] * 2_000_000)
    printed = NEWER.replace("a.c", large).replace("a.f", large + large)
    (tmp_path / pass_dumps.NAME).write_bytes(pass_dumps.compressed(printed))
    found = pass_dumps.of_capture(_capture(tmp_path))
    assert found is not None
    left_out = "left out: the IR before SCCPPass, 24 MB, which is too large"
    whole = pass_dumps.read(NEWER.replace("a.c", large))
    remarks = [*whole.remarks[:1], left_out, *whole.remarks[1:]]
    passes = [replace(p, text="") if p.name == "SCCPPass" else p for p in whole.passes]
    assert (found.passes, found.remarks) == (passes, remarks)
