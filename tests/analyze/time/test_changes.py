"""What would change a launch's time, on launches that an H200 ran."""

from pathlib import Path

import pytest
from msgspec.structs import replace

import irlens
from irlens import gpus
from irlens.analyze.time.changes import estimate_with_steps
from irlens.analyze.time.counting import CostedLaunch, executed
from irlens.model.estimate import RESOLUTION, TimeEstimate, TimeStep
from irlens.render.view.details import details
from irlens.render.view.launch_time import time_fact
from irlens.render.view.nodes import Items, Sentence
from irlens.report.inspection import Inspection
from irlens.report.launch_time import share_of_waits
from tests.analyze.h200_launches import launches
from tests.report.test_launch_time import SAMPLES, capture, report

H200 = gpus.find("h200")


def launch(number: int, folder: Path) -> CostedLaunch:
    """Return what the estimate of a launch is made of."""
    found = Inspection(capture(number, folder)).launch
    assert not isinstance(found, str)
    return found


def with_spare(known: CostedLaunch, **resources: int) -> CostedLaunch:
    """Return a launch whose code can do with some of its resources less."""
    return replace(known, spare={name: lambda few=few: few for name, few in resources.items()})


def steps(found: TimeEstimate) -> dict[str, TimeStep]:
    return {step.cause: step for step in found.steps}


def saved(found: TimeEstimate, cause: str) -> float:
    assert found.estimate_us is not None
    return 1 - steps(found)[cause].estimate_us / found.estimate_us


@pytest.mark.parametrize(("deep", "shallow"), [(156, 155), (160, 159), (195, 194)])
def test_fewer_stages_save_what_the_step_says(deep: int, shallow: int, tmp_path: Path) -> None:
    """A stage less admits a second CTA, which is the change that the step is about."""
    measured = 1 - launches()[shallow]["ms"] / launches()[deep]["ms"]
    time = report(deep, tmp_path).time
    assert time is not None
    assert saved(time, "shared_memory") == pytest.approx(measured, abs=0.03)


def test_the_first_step_saves_the_most_and_each_more_than_the_noise(tmp_path: Path) -> None:
    # Its own 1,024 CTAs are 2.9 % from even.
    uneven = replace(launch(208, tmp_path), grid=(7 * 132 + 40, 1, 1))
    time = estimate_with_steps(uneven)
    found = replace(report(208, tmp_path), time=time)
    assert time.estimate_us is not None
    assert [step.cause for step in time.steps] == ["grid"]
    assert time.steps[-1].estimate_us < time.estimate_us * (1 - RESOLUTION)
    time = estimate_with_steps(with_spare(uneven, registers=46))
    assert [step.cause for step in time.steps] == ["registers", "grid"]
    left = [step.estimate_us for step in time.steps]
    assert left == sorted(left)
    found = replace(found, time=time)
    fact = time_fact(found)
    assert fact is not None
    assert "up to 38 % less time with 46 fewer registers/thread" in str(fact.lines[1])
    (section,) = (each for each in details(found) if each.key == "time")
    (listed,) = (each for each in section.children if isinstance(each, Items))
    assert len(listed.items) == 2
    assert "with the work in 40 fewer CTAs, so that each SM gets as many" in str(listed.items[1])


def test_where_nothing_helps_it_says_what_binds(tmp_path: Path) -> None:
    found = report(8, tmp_path)
    assert found.time is not None
    assert found.time.steps == []
    (section,) = (each for each in details(found) if each.key == "time")
    (sentence,) = (each for each in section.children if isinstance(each, Sentence))
    assert "would save no more than 3 %: bound by DRAM" in str(sentence)
    assert "with the same code" in str(sentence), "a finding may ask for other code"


def test_accesses_in_more_sectors_than_they_need_are_worth_coalescing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ideal = launch(8, tmp_path)
    assert "coalescing" not in steps(estimate_with_steps(ideal))
    moved = ideal.moved
    scattered = replace(
        ideal,
        moved=replace(
            moved, load_sectors=8 * moved.load_sectors, missed_sectors=8 * moved.missed_sectors
        ),
    )
    found = estimate_with_steps(scattered)
    step = steps(found)["coalescing"]
    assert (step.change, step.unit) == (-7 * moved.load_sectors, "sectors")
    # What is left is the launch as it was.
    assert step.estimate_us == pytest.approx(estimate_with_steps(ideal).estimate_us)


def test_bytes_that_memory_delivers_again_are_worth_keeping(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    once = launch(8, tmp_path)
    read = once.moved.dram_read_bytes
    again = replace(once, moved=replace(once.moved, dram_read_bytes=2 * read))
    found = estimate_with_steps(again)
    assert steps(found)["rereads"].change == -read
    assert steps(found)["rereads"].estimate_us == pytest.approx(
        estimate_with_steps(once).estimate_us, rel=0.01
    )


def test_a_grid_is_even_where_each_sm_gets_as_many_ctas(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sms = H200.sm_count
    assert sms is not None
    known = replace(launch(208, tmp_path), grid=(7 * sms + 40, 1, 1))
    step = steps(estimate_with_steps(known))["grid"]
    assert (known.ctas + step.change) % sms == 0
    for ctas in (7 * sms, sms, sms - 1):
        assert "grid" not in steps(estimate_with_steps(replace(known, grid=(ctas, 1, 1))))


def test_registers_that_are_live_cannot_be_taken_away(tmp_path: Path) -> None:
    """Under a cap that admits another CTA, this attention spilled and took six times as long."""
    known = launch(208, tmp_path)
    live = known.spare["registers"]()
    assert live is not None
    assert live < 46
    assert "registers" not in steps(estimate_with_steps(known))
    assert "registers" not in steps(estimate_with_steps(with_spare(known, registers=45)))
    assert "registers" in steps(estimate_with_steps(with_spare(known, registers=46)))


def test_no_stage_is_left_out_where_its_copies_would_drain(tmp_path: Path) -> None:
    """Three stages keep a copy in flight; two of a matmul take as long though a CTA more fits."""
    known = launch(156, tmp_path)
    assert known.spare["shared_memory"]() == 32768
    assert "shared_memory" in steps(estimate_with_steps(known))
    assert "shared_memory" not in steps(estimate_with_steps(with_spare(known, shared_memory=0)))
    assert launch(155, tmp_path).spare["shared_memory"]() == 0


def test_spills_cost_what_the_code_takes_without_them() -> None:
    """Without them the sample waits for less, and moves no local memory."""
    (spilling,) = irlens.load(SAMPLES / "spill-h100")
    known = Inspection(spilling).launch
    assert not isinstance(known, str)
    local = known.moved.local_bytes
    step = steps(estimate_with_steps(known))["spills"]
    assert (step.change, step.unit) == (-round(local), "bytes")
    moved = known.moved.without_local()
    assert known.moved.crossed_bytes - moved.crossed_bytes == known.moved.local_written_bytes / 2
    kept = replace(known.code, removed=known.spills)
    without = estimate_with_steps(replace(known, code=kept, moved=moved, spills=frozenset()))
    assert step.estimate_us == without.estimate_us
    left = {known.code.section.instructions[each].opcode for each in executed(kept, known.followed)}
    assert left.isdisjoint({"LDL", "STL"})


@pytest.mark.parametrize(
    ("number", "helps"), [(154, True), (158, True), (162, True), (155, False), (167, False)]
)
def test_stages_save_no_more_than_the_waits_for_loads(
    number: int, helps: bool, tmp_path: Path
) -> None:
    """The launch behind each is the same with one stage more."""
    share = share_of_waits(launch(number, tmp_path))
    saved = 1 - launches()[number + 1]["ms"] / launches()[number]["ms"]
    assert share is not None
    assert (share >= RESOLUTION, saved >= RESOLUTION) == (helps, helps)
    if helps:
        assert share == pytest.approx(saved, abs=0.05)
