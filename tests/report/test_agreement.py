"""Parts of a capture that belong to another kernel are put aside."""

from itertools import permutations
from pathlib import Path

import pytest
from msgspec.structs import replace

import irlens
from irlens.analyze.capture_code import CaptureCode
from irlens.analyze.facts import Provenance
from irlens.artifacts.load import load
from irlens.model.capture import Capture, Stage
from irlens.report.agreement import find_agreement, find_contradictions, read_statements

CAPTURES = Path(__file__).resolve().parents[2] / "samples" / "captures"


def sample(name: str) -> Capture:
    (capture,) = load(CAPTURES / name)
    assert isinstance(capture, Capture)
    return capture


SAMPLES = {path.name: sample(path.name) for path in sorted(CAPTURES.iterdir())}


def splice(capture: Capture, stage: str, other: Capture) -> Capture:
    return replace(capture, stages={**capture.stages, stage: other.stages[stage]})


@pytest.mark.parametrize("name", SAMPLES)
def test_a_capture_as_compiled_agrees(name: str) -> None:
    provenance = Provenance()
    agreement = find_agreement(CaptureCode(SAMPLES[name]), provenance)
    assert agreement.capture is SAMPLES[name]
    assert not agreement.contradictions
    assert not provenance.unknown


def test_every_part_states_something() -> None:
    for capture in SAMPLES.values():
        stated = read_statements(CaptureCode(capture))
        assert stated.keys() == capture.stages.keys() - {"source"} | {"metadata", "irlens.json"}
        assert "architecture" in stated.pop("irlens.json")
        assert all("kernel" in each for each in stated.values())
        assert {"parameters", "threads per CTA"} <= {
            *stated["metadata"],
            *stated.get("ptx", stated.get("amdgcn", {})),
        }


@pytest.mark.parametrize("stage", ["ttir", "ttgir", "llir", "ptx"])
def test_a_part_that_is_no_text_states_nothing(stage: str) -> None:
    capture = SAMPLES["softmax-h100"]
    broken = Stage(stage, content=capture.stages[stage].read() + b"\0")
    stated = read_statements(
        CaptureCode(replace(capture, stages={**capture.stages, stage: broken}))
    )
    assert stated.keys() == read_statements(CaptureCode(capture)).keys() - {stage}


def test_a_kernel_without_attributes_states_no_limits() -> None:
    capture = SAMPLES["softmax-h100"]
    content = capture.stages["llir"].read()
    assert b" #0 !dbg" in content
    bare = Stage("llir", content=content.replace(b" #0 !dbg", b" !dbg"))
    whole = read_statements(CaptureCode(capture))["llir"]
    stated = read_statements(
        CaptureCode(replace(capture, stages={**capture.stages, "llir": bare}))
    )["llir"]
    assert whole.keys() - stated.keys() == {"threads per CTA"}
    assert stated.items() <= whole.items()


def test_a_cubin_of_another_kernel_gives_no_figures() -> None:
    """A matmul for sm_80 needs 96 registers; the softmax for sm_75 beside it needs 26."""
    capture = splice(SAMPLES["matmul-a100"], "cubin", SAMPLES["softmax-t4"])
    report = irlens.inspect(capture)
    assert report.resources.registers is None
    assert report.occupancy is None
    reason = (
        "cubin is of another kernel: architecture sm_75, "
        "but ttgir, ptx, metadata, irlens.json: sm_80"
    )
    assert report.unknown["resources.registers"] == reason
    (finding,) = [each for each in report.findings if each.code == "IRL601"]
    assert finding.severity == "error"
    assert finding.message == reason
    assert report.pipelines[0].achieved_stages == 3  # of the ptx, which belongs to it
    assert set(report.stages) == set(capture.stages)


def test_metadata_of_another_kernel_give_no_figures() -> None:
    other = SAMPLES["softmax-t4"]
    capture = replace(
        SAMPLES["matmul-a100"], metadata=other.metadata, target=other.target, config=other.config
    )
    report = irlens.inspect(capture)
    assert report.resources.registers == 96
    assert report.resources.shared_dynamic_bytes is None
    assert report.target is None
    assert report.config.num_stages is None
    assert "metadata is of another kernel" in report.unknown["resources.shared_dynamic_bytes"]


def test_of_two_parts_neither_is_believed() -> None:
    capture = replace(
        splice(SAMPLES["softmax-h100"], "cubin", SAMPLES["softmax-t4"]),
        metadata=None,
        manifest=None,
    )
    only = {name: capture.stages[name] for name in ("ptx", "cubin")}
    agreement = find_agreement(CaptureCode(replace(capture, stages=only)), Provenance())
    assert len(agreement.contradictions) == 2
    assert not agreement.capture.stages
    assert agreement.capture.target is None


def test_every_splice_of_samples_is_found_where_the_parts_differ_in_a_statement() -> None:
    found = 0
    for name, other in permutations(SAMPLES, 2):
        capture, foreign = SAMPLES[name], SAMPLES[other]
        own = read_statements(CaptureCode(capture))
        for stage in capture.stages.keys() & foreign.stages.keys() - {"source"}:
            stated = read_statements(CaptureCode(splice(capture, stage, foreign)))[stage]
            differs = [
                topic
                for topic in stated
                if any(
                    topic in each and each[topic] != stated[topic]
                    for part, each in own.items()
                    if part != stage
                )
            ]
            contradicting = [each.part for each in find_contradictions({**own, stage: stated})]
            assert bool(differs) == bool(contradicting), (name, other, stage)
            found += bool(contradicting)
    assert found > 200


@pytest.mark.parametrize(
    ("texts", "parts", "topic"),
    [
        ((".reqntid 256", ".reqntid 128"), {"ptx"}, "threads per CTA"),
        (("\t.param .u32 softmax_kernel_param_2,\n", ""), {"ptx"}, "number of parameters"),
        (
            (".param .u32 softmax_kernel_param_2", ".param .u64 softmax_kernel_param_2"),
            {"ptx", "cubin"},  # no other part states sizes
            "parameters",
        ),
        ((".entry softmax_kernel", ".entry another_kernel"), {"ptx"}, "kernel"),
        ((".target sm_90a", ".target sm_89"), {"ptx"}, "architecture"),
    ],
)
def test_each_topic_is_compared(texts: tuple[str, str], parts: set[str], topic: str) -> None:
    capture = SAMPLES["softmax-h100"]
    text = capture.stages["ptx"].text()
    assert texts[0] in text
    changed = Stage("ptx", content=text.replace(*texts).encode())
    spliced = replace(capture, stages={**capture.stages, "ptx": changed})
    found = find_contradictions(read_statements(CaptureCode(spliced)))
    assert {each.part for each in found} == parts
    assert {each.topic for each in found} == {topic}


@pytest.mark.parametrize(
    ("name", "stage", "texts", "topic"),
    [
        ("softmax-mi300x", "llir", ("amdgpu_kernel void", "ptx_kernel void"), "vendor"),
        (
            "matmul-a100",
            "llir",
            ('"nvvm.reqntid"="128"', '"nvvm.reqntid"="256"'),
            "threads per CTA",
        ),
        ("softmax-mi300x", "llir", ('size"="1,512"', 'size"="1,256"'), "threads per CTA"),
        (
            "specialized-h100-4",
            "llir",
            ('"nvvm.maxnreg"="256"', '"nvvm.maxnreg"="168"'),
            "registers at most",
        ),
        ("matmul-a100", "ttgir", ('"ttg.num-ctas" = 1', '"ttg.num-ctas" = 2'), "CTAs per cluster"),
        (
            "softmax-mi300x",
            "amdgcn",
            ("size: 0\n    .kernarg", "size: 64\n    .kernarg"),
            "shared memory",
        ),
        (
            "softmax-mi300x",
            "amdgcn",
            ("private_segment_fixed_size: 0", "private_segment_fixed_size: 8"),
            "private memory",
        ),
        (
            "softmax-mi300x",
            "amdgcn",
            (".sgpr_count:     31", ".sgpr_count: 30"),
            "scalar registers",
        ),
        (
            "softmax-mi300x",
            "amdgcn",
            (".vgpr_spill_count: 0", ".vgpr_spill_count: 4"),
            "spilled registers",
        ),
        (
            "softmax-mi300x",
            "amdgcn",
            (".sgpr_spill_count: 0", ".sgpr_spill_count: 4"),
            "spilled scalar registers",
        ),
    ],
)
def test_what_a_stage_repeats_is_compared(
    name: str, stage: str, texts: tuple[str, str], topic: str
) -> None:
    text = SAMPLES[name].stages[stage].text()
    assert texts[0] in text
    changed = Stage(stage, content=text.replace(*texts).encode())
    spliced = replace(SAMPLES[name], stages={**SAMPLES[name].stages, stage: changed})
    found = find_contradictions(read_statements(CaptureCode(spliced)))
    assert stage in {each.part for each in found}
    assert {each.topic for each in found} == {topic}


@pytest.mark.parametrize(
    ("name", "other", "topic"),
    [
        ("layer_norm-b200-3.7", "spill-h100", "architecture sm_90, but ttgir, "),
        ("softmax-h100", "spill-h100", "arguments 5 without n_rows, but ttir, ttgir: 6"),
    ],
)
def test_the_record_of_another_kernel_is_put_aside(name: str, other: str, topic: str) -> None:
    capture, foreign = SAMPLES[name], SAMPLES[other]
    config = replace(capture.config, args=foreign.config.args, grid=foreign.config.grid)
    report = irlens.inspect(
        replace(capture, manifest=foreign.manifest, target=foreign.target, config=config)
    )
    assert report.target is not None
    assert capture.target is not None
    assert report.target.arch == capture.target.arch
    assert report.resources == irlens.inspect(capture).resources
    assert not report.config.args
    assert report.config.grid is None
    (finding,) = [each for each in report.findings if each.code == "IRL601"]
    assert finding.message.startswith(f"irlens.json is of another kernel: {topic}")


def test_the_parts_of_a_hosts_descriptor_are_of_its_argument() -> None:
    """Up to Triton 3.6 its pointer, sizes and strides have its name and a number on sm_80."""
    capture = SAMPLES["softmax-h100"]
    assert capture.manifest is not None
    args = {name.replace("n_rows", "rows"): value for name, value in capture.manifest.args.items()}
    stages = {
        name: Stage(name, content=stage.text().replace("n_rows", "rows_11").encode())
        if name in ("ttir", "ttgir")
        else stage
        for name, stage in capture.stages.items()
    }
    described = replace(capture, stages=stages, manifest=replace(capture.manifest, args=args))
    assert find_contradictions(read_statements(CaptureCode(described))) == []
    other = replace(described, manifest=replace(capture.manifest, args={**args, "rows_1": 1}))
    assert find_contradictions(read_statements(CaptureCode(other))) == []
    del args["rows"]
    (found,) = find_contradictions(read_statements(CaptureCode(described)))
    assert found.value == "5 without rows_11"


@pytest.mark.parametrize(
    ("changed", "topic"),
    [
        ({"arch": "gfx100000000000", "product": None}, "architecture"),
        ({"product": "t4"}, "architecture"),
        ({"product": "x9"}, "architecture"),
        ({"warp_size": 33}, "threads per warp"),
        ({"vendor": "amd"}, "vendor"),
    ],
)
def test_a_damaged_target_of_the_record_is_not_believed(
    changed: dict[str, object], topic: str
) -> None:
    capture = SAMPLES["softmax-h100"]
    assert capture.target is not None
    assert capture.manifest is not None
    target = replace(capture.target, **changed)
    damaged = replace(capture, manifest=replace(capture.manifest, target=target), target=target)
    (found,) = find_contradictions(read_statements(CaptureCode(damaged)))
    assert (found.part, found.topic) == ("irlens.json", topic)
    report = irlens.inspect(damaged)
    assert report.target is not None
    assert report.target.arch == "sm_90"
    assert report.target.warp_size == 32
