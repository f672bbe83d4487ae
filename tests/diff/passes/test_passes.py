"""Passes of real compilations: what each changed, and what brings and removes an operation."""

import random
from collections import Counter
from functools import lru_cache

import pytest
from msgspec.structs import replace

from irlens import gpus
from irlens.artifacts import pass_dumps
from irlens.compiler import Request, capture
from irlens.diff.passes import (
    STAGE,
    States,
    change_of,
    crossing,
    describe_passes,
    text_changes,
)
from irlens.diff.passes.across import first_difference
from irlens.diff.passes.lines import follow, lines_with_code
from irlens.isa import mlir
from irlens.model.errors import IrlensError, UnknownNameError
from irlens.model.source import SourceLocation
from tests.running import with_changes

COPY = "ttg.async_copy_global_to_local"


@lru_cache
def states(target: str, num_stages: int = 4) -> States:
    request = Request(
        kernel="softmax", target=gpus.find(target).target, passes=True,
        settings={"num_stages": num_stages},
    )  # fmt: skip
    (compiled,) = capture(request)
    dumps = pass_dumps.of_capture(compiled)
    assert dumps is not None
    return States(compiled, dumps)


@pytest.fixture(params=["h100", "a100", "b200", "mi300x"])
def compiled(request: pytest.FixtureRequest) -> States:
    return states(request.param)


def test_of_a_cut_module_nothing_is_said() -> None:
    whole = states("h100")
    (number,) = {crossing(whole, COPY, "first").number}
    assert number is not None
    passes = list(whole.dumps.passes)
    passes[number] = replace(passes[number], text="")
    cut = States(whole.capture, replace(whole.dumps, passes=passes))
    assert describe_passes(cut).runs[number - 1].changed is None
    assert describe_passes(cut).runs[number].changed is None
    for each in (number, number + 1):
        with pytest.raises(IrlensError, match="the printed IR is cut"):
            change_of(cut, each)
    with pytest.raises(IrlensError, match="is unknown: the printed IR is cut"):
        crossing(cut, COPY, "first")
    location = SourceLocation("softmax.py", 1)
    assert follow(cut, location).until == number - 1


def test_the_ir_between_pipelines_is_the_stages(compiled: States) -> None:
    texts = {each.text for each in compiled.dumps.passes}
    assert compiled.capture.stages["ttir"].text() in texts
    assert compiled.capture.stages["ttgir"].text() in texts


def test_the_changes_in_order_make_the_last_of_the_first(compiled: States) -> None:
    passes = describe_passes(compiled, changes=True)
    text = passes.first
    assert text == compiled.before(1)
    for number, run in enumerate(passes.runs, 1):
        assert text == compiled.before(number)
        text = with_changes(text, run.changes)
    assert text == compiled.before(len(compiled))
    assert sum(bool(run.changes) for run in passes.runs) > 10


def test_operations_are_those_that_the_parser_reads(compiled: States) -> None:
    for number in range(1, len(compiled) + 1):
        if compiled.stages[number - 1] != "llir":
            module = mlir.parse(compiled.before(number), stage=STAGE)
            named = Counter(each.name for each in module.operations if "." in each.name)
            assert compiled.counts[number - 1] == named
    for run in describe_passes(compiled).runs:
        if run.lines_after is not None:
            after = Counter(compiled.counts[run.number - 1])
            after.update(run.came)
            after.subtract(run.went)
            assert +after == compiled.counts[run.number]


def test_stages_follow_each_other(compiled: States) -> None:
    assert list(dict.fromkeys(compiled.stages)) == ["ttir", "ttgir", "llir"]
    runs = describe_passes(compiled).runs
    assert runs[-1].changed is None
    assert sum(run.seconds is not None for run in runs) > len(runs) - 6


@pytest.mark.parametrize("target", ["h100", "a100", "b200"])
def test_the_pipeliner_brings_the_copies_and_removes_the_load(target: str) -> None:
    compiled = states(target)
    (pipeliner,) = compiled.numbers("TritonGPUPipeline")
    assert crossing(compiled, COPY, "first").number == pipeliner
    assert crossing(compiled, "async_copy_global_to_local", "first").operation == COPY
    assert crossing(compiled, "tt.load", "last").number == pipeliner
    assert crossing(compiled, "tt.load", "first").number is None
    assert crossing(compiled, "llvm.return", "last").number is None
    change = change_of(compiled, pipeliner)
    added = [row.after for hunk in change.hunks for row in hunk.rows if row.kind == "added"]
    assert sum(COPY in (line or "") for line in added) == 4


def test_layouts_and_attributes_are_found_as_operations_are() -> None:
    compiled = states("h100")
    (coalescer,) = compiled.numbers("TritonGPUCoalesce")
    (allocator,) = compiled.numbers("AllocateSharedMemoryNv")
    found = [crossing(compiled, name, "first") for name in ("blocked", "ttg.shared", "offset")]
    assert [each.operation for each in found] == ["ttg.blocked", "ttg.shared", "allocation.offset"]
    assert found[0].number is not None
    assert found[0].number < coalescer
    assert found[1].number == found[2].number == allocator
    with pytest.raises(
        UnknownNameError, match="unknown operation, layout or attribute of this kernel 'nvidia_mma'"
    ):
        crossing(compiled, "nvidia_mma", "first")


def test_names_of_passes_are_found_in_part() -> None:
    compiled = states("h100")
    assert compiled.numbers("tritongpu-pipeline") == compiled.numbers("TritonGPUPipeline")
    assert len(compiled.numbers("canonicalize")) > 3
    assert compiled.numbers("2") == [2]
    with pytest.raises(UnknownNameError, match="unknown pass 'vectorize'"):
        compiled.numbers("vectorize")
    with pytest.raises(IrlensError, match="there is no pass 500"):
        compiled.numbers("500")
    with pytest.raises(UnknownNameError, match=r"of this kernel 'tt\.lod'"):
        crossing(compiled, "tt.lod", "first")
    with pytest.raises(IrlensError, match="the last"):
        change_of(compiled, len(compiled))


def test_a_line_is_followed_to_its_copies() -> None:
    compiled = states("h100")
    code = (compiled.capture.python("softmax.py") or "").splitlines()
    line = next(number for number, each in enumerate(code, 1) if "tl.load(" in each)
    followed = follow(compiled, SourceLocation("softmax.py", line))
    assert followed.code == code[line - 1].strip()
    assert followed.until == len(compiled) - 1
    assert line in lines_with_code(compiled, "softmax.py")
    steps = {step.number: step for step in followed.steps}
    assert "tt.load" in steps[0].operations
    (pipeliner,) = compiled.numbers("TritonGPUPipeline")
    assert steps[pipeliner].operations[COPY] == 4
    assert not any("loc(" in written for step in followed.steps for written in step.text)


def test_two_numbers_of_stages_differ_first_where_latencies_are_assigned() -> None:
    diff = first_difference(states("h100", 2), states("h100", 4))
    assert diff.at_start == 1  # the number itself
    first = next(each for each in diff.passes if each.after_number == diff.first)
    assert first.name == "TritonGPUAssignLatencies"
    assert diff.code is not None
    assert diff.code.changed == 2
    assert any("tl.load(" in each.code for each in diff.lines)
    assert (diff.only_before, diff.only_after) == ([], [])


def test_the_name_of_the_gpu_is_no_difference() -> None:
    """The first pass of ttgir writes it into the module."""
    diff = first_difference(states("a100"), states("h100"))
    assert (diff.first, diff.code) == (None, None)


def test_a_compilation_does_not_differ_from_itself() -> None:
    diff = first_difference(states("h100"), states("h100"))
    assert (diff.at_start, diff.first, diff.code) == (0, None, None)
    assert len(diff.passes) == len(states("h100")) - 1


def test_changes_rebuild_any_text() -> None:
    chance = random.Random(0)
    for _ in range(300):
        one, two = (
            "\n".join(chance.choice("abcd") * chance.randrange(3) for _ in range(length))
            for length in (chance.randrange(30), chance.randrange(30))
        )
        assert with_changes(one, list(text_changes(one, two))) == two
