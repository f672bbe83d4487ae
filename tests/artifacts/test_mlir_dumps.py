"""Files with several modules: what the compiler prints with MLIR_ENABLE_DUMP, and pastes."""

import time
from pathlib import Path

import pytest

from irlens import inspect, load
from irlens.artifacts import mlir_dumps
from irlens.model.errors import ArtifactError

CAPTURES = Path(__file__).parents[2] / "samples" / "captures"


def stage(capture: str, name: str) -> str:
    (path,) = (CAPTURES / capture).glob(f"*.{name}")
    return path.read_text()


TTIR, TTGIR = stage("softmax-h100", "ttir"), stage("softmax-h100", "ttgir")
OTHER = stage("matmul-a100", "ttgir")
BEFORE = "// -----// IR Dump Before {0} ({0}) ('builtin.module' operation) //----- //\n"


def dumped(*modules: str) -> str:
    return "\n".join(BEFORE.format(f"Pass{n}") + text for n, text in enumerate(modules, 1))


@pytest.mark.parametrize(
    "text",
    [
        dumped(TTIR, TTIR, TTGIR, TTGIR),
        TTIR + TTGIR,
        TTGIR + TTIR + TTGIR,
        dumped(TTIR, TTGIR) + BEFORE.format("Cut") + TTGIR[: len(TTGIR) // 2],
        "warning: something\n" + dumped(TTIR, TTGIR) + "ptxas info: more\n",
        dumped(TTIR, TTGIR) + "\n" + BEFORE.format("Inner") + "tt.func public @x() {\n}\n",
    ],
    ids=["all passes", "stages in a row", "out of order", "cut off", "with messages", "functions"],
)
def test_the_last_complete_module_of_each_stage_is_the_kernel(text: str, tmp_path: Path) -> None:
    path = tmp_path / "dump.ttgir"
    path.write_text(text)
    (capture,) = load(path)
    (whole,) = load(CAPTURES / "softmax-h100")
    expected, found = inspect(whole), inspect(capture)
    assert capture.kernel == "softmax_kernel"
    assert list(capture.stages) == ["ttir", "ttgir"]
    assert expected.memory is not None
    assert found.memory is not None
    assert found.memory.buffers_bytes == expected.memory.buffers_bytes == 12_288
    assert [one.state for one in found.loads] == [one.state for one in expected.loads]
    assert found.target == expected.target or found.target is not None
    assert capture.notes
    assert capture.notes[0] in found.sources["stages"]


def test_the_note_says_how_many_and_which(tmp_path: Path) -> None:
    path = tmp_path / "dump.ttgir"
    path.write_text(dumped(TTGIR, TTGIR))
    (capture,) = load(path)
    line = TTGIR.count("\n") + 3
    assert capture.notes == (
        "the file holds 2 modules of softmax_kernel; irlens reads the 2nd module (Before Pass2),"
        f" line {line}, as its ttgir",
    )


def test_kernels_become_captures_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "dump.mlir"
    path.write_text(dumped(TTGIR, OTHER, TTGIR))
    first, second = load(path)
    assert [first.kernel, second.kernel] == ["softmax_kernel", "matmul_kernel"]
    (alone,) = load(CAPTURES / "matmul-a100")
    memory, expected = inspect(second).memory, inspect(alone).memory
    assert memory is not None
    assert expected is not None
    assert memory.buffers_bytes == expected.buffers_bytes
    assert second.notes == ()


def test_another_module_can_be_named(tmp_path: Path) -> None:
    path = tmp_path / "dump.ttgir"
    path.write_text(dumped(TTIR, TTGIR, TTGIR))
    (capture,) = load(Path(f"{path}#2"))
    assert list(capture.stages) == ["ttgir"]
    assert "the 2nd module (Before Pass2)" in capture.notes[0]
    with pytest.raises(ArtifactError, match="has no module 4"):
        list(load(Path(f"{path}#4")))


def test_a_text_without_a_module_has_none_of_any_number(tmp_path: Path) -> None:
    path = tmp_path / "k.ttgir"
    path.write_text("tt.func public @k() {\n  tt.return\n}\n")
    with pytest.raises(ArtifactError, match="has no module 2"):
        list(load(Path(f"{path}#2")))


def test_a_module_that_is_lowered_already_is_not_the_ttgir(tmp_path: Path) -> None:
    path = tmp_path / "dump.ttgir"
    lowered = TTGIR.replace("ttg.local_alloc", "ttg.local_alloc {allocation.offset = 0 : i32}")
    branches = lowered.replace("tt.return", "cf.br ^bb1 loc(#loc)\n  ^bb1:\n  tt.return")
    path.write_text(dumped(TTIR, TTGIR, lowered, branches))
    (capture,) = load(path)
    assert "the 2nd module (Before Pass2)" in capture.notes[0]
    path.write_text(dumped(TTIR, branches, branches))
    (capture,) = load(path)
    assert "the 3rd module" in capture.notes[0]


def test_loops_of_branches_are_not_taken_for_no_loops(tmp_path: Path) -> None:
    path = tmp_path / "k.ttgir"
    path.write_text(
        "module {\n  tt.func public @k(%a: i1) {\n    cf.br ^bb1\n  ^bb1:\n"
        "    cf.cond_br %a, ^bb1, ^bb2\n  ^bb2:\n    tt.return\n  }\n}\n"
    )
    (capture,) = load(path)
    report = inspect(capture)
    assert (report.loads, report.memory) == ([], None)
    assert "loops of branches" in report.unknown["loads"]


def test_one_module_is_no_dump() -> None:
    assert mlir_dumps.choose(TTGIR.encode()) == []


@pytest.mark.parametrize("name", ["excerpt.ttgir", "excerpt.txt"])
def test_an_excerpt_says_that_it_is_one(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(
        "%1 = ttg.local_load %0 : !ttg.memdesc<4xf32, #shared> -> tensor<4xf32> loc(#loc7)\n}\n"
    )
    (capture,) = load(path)
    report = inspect(capture)
    assert (report.memory, report.loads) == (None, [])
    assert report.unknown["memory"] == "the ttgir is an excerpt, without the kernel's function"
    assert report.unknown["findings.IRL303"]


def test_a_function_without_its_module_is_read(tmp_path: Path) -> None:
    start = TTGIR.index("  tt.func")
    end = TTGIR.index("\n}", start)
    path = tmp_path / "function.ttgir"
    path.write_text(TTGIR[start:end])
    (capture,) = load(path)
    report = inspect(capture)
    assert capture.kernel == "softmax_kernel"
    # Without the lines of its loads nothing tells the copies before the loop from other loads.
    assert report.loads == []
    assert "does not say which lines" in report.unknown["loads"]
    assert report.unknown["findings.IRL203"]
    assert report.memory is not None
    # The layout's alias is not in the text, so that its size is not known.
    assert (report.memory.buffers_bytes, report.memory.reason) == (
        None,
        "the size of a buffer's layout is not known exactly",
    )


def test_a_block_may_stand_before_one_that_leads_to_it(tmp_path: Path) -> None:
    """Two early returns share one."""
    path = tmp_path / "k.ttgir"
    path.write_text(
        "module {\n  tt.func public @k(%a: i1) {\n    cf.cond_br %a, ^bb1, ^bb2\n  ^bb1:\n"
        "    tt.return\n  ^bb2:\n    cf.cond_br %a, ^bb1, ^bb3\n  ^bb3:\n    tt.return\n  }\n}\n"
    )
    (capture,) = load(path)
    assert "loads" not in inspect(capture).unknown


def test_many_modules_that_nothing_closes_are_read_in_proportion_to_them() -> None:
    text = "module {\n" * 100_000
    begun = time.process_time()
    found = list(mlir_dumps.dumps(text))
    assert time.process_time() - begun < 3
    assert len(found) == 100_000
    assert not any(each.complete for each in found)
