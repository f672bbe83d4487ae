"""Several sides: each against the first, or against the first of its own GPU."""

from pathlib import Path

import msgspec

from irlens.diff.report.comparisons import against_first, by_other_settings
from irlens.model.config import Target
from irlens.model.report import Report
from irlens.render import Options, render

SAMPLE = Path(__file__).parents[2] / "samples" / "reports" / "softmax-h100.json"
SOFTMAX = msgspec.json.decode(SAMPLE.read_bytes(), type=Report)
A100 = Target(vendor="nvidia", arch="sm_80", warp_size=32, product="a100")
replace = msgspec.structs.replace


def report(target: Target | None, stages: int) -> Report:
    resources = replace(SOFTMAX.resources, registers=10 * stages)
    config = replace(SOFTMAX.config, num_stages=stages, constexprs={})
    return replace(SOFTMAX, target=target, config=config, resources=resources)


def test_each_gpu_is_compared_with_itself() -> None:
    every = [report(target, stages) for target in (SOFTMAX.target, A100) for stages in (2, 3, 4)]
    compared = against_first(every)
    assert compared.against_first
    assert [(p.before.target, p.before.label, p.after.label) for p in compared.pairs] == [
        (target, "num_stages=2", f"num_stages={stages}")
        for target in (SOFTMAX.target, A100)
        for stages in (3, 4)
    ]
    page = render("text", "comparisons", compared, Options(width=100))
    assert page.index("sm_90") < page.index("sm_80")
    assert page.count("30 +10 !") == page.count("40 +20 !") == 2
    assert len(page.splitlines()) < 40


def test_two_sides_of_each_gpu_are_pairs() -> None:
    every = [report(target, stages) for target in (SOFTMAX.target, A100) for stages in (2, 4)]
    compared = against_first(every)
    assert not compared.against_first
    assert [pair.before.target for pair in compared.pairs] == [SOFTMAX.target, A100]


def test_gpus_with_one_side_each_are_compared_with_each_other() -> None:
    compared = against_first([report(SOFTMAX.target, 2), report(A100, 2)])
    assert [pair.after.target for pair in compared.pairs] == [A100]


def test_configurations_of_an_autotuner_are_compared_with_themselves() -> None:
    every = [
        replace(each, config=replace(each.config, constexprs={"BLOCK": block}))
        for block in (64, 128)
        for each in (report(SOFTMAX.target, 2), report(SOFTMAX.target, 4))
    ]
    compared = by_other_settings(every, {"num_stages"})
    assert compared is not None
    assert not compared.against_first
    assert [(p.setting, p.before.label, p.after.label) for p in compared.pairs] == [
        ("BLOCK=64", "num_stages=2", "num_stages=4"),
        ("BLOCK=128", "num_stages=2", "num_stages=4"),
    ]
    assert by_other_settings(every[:2], {"num_stages"}) is None
    assert by_other_settings(every[:3], {"num_stages"}) is None
    assert by_other_settings(every, {"num_stages", "BLOCK"}) is None
