"""``irlens suggest`` from the command line."""

import json
from pathlib import Path

import jsonschema
import msgspec
import pytest

from irlens.model.suggestion import Suggestion
from irlens.render.json import schema
from tests.running import Ran, inline, irlens

__all__ = ["inline"]


pytestmark = pytest.mark.usefixtures("inline")


_PAGED = """
import triton, triton.language as tl

@triton.jit
def paged(K, TABLE, O, pages, HEAD: tl.constexpr, PAGE: tl.constexpr):
    row = tl.program_id(0)
    dims, slots, rows = tl.arange(0, HEAD), tl.arange(0, PAGE), tl.arange(0, 16)
    q = tl.load(O + rows[:, None] * HEAD + dims[None, :])
    acc = tl.zeros((16, PAGE), tl.float32)
    for number in range(pages):
        page = tl.load(TABLE + row * pages + number)
        acc += tl.dot(q, tl.load(K + page * (PAGE * HEAD) + slots[None, :] * HEAD + dims[:, None]))
    tl.store(O + row * (16 * PAGE) + rows[:, None] * PAGE + slots[None, :], acc.to(tl.float16))
"""


def run(*arguments: str) -> Ran:
    return irlens("suggest", *arguments)


def test_the_neighbours_of_a_slow_configuration_are_faster() -> None:
    slow = ("vector_add", "--target", "h200", "--num-warps", "1", "--set", "BLOCK_SIZE=32")
    ran = run(*slow, "--format", "json")
    assert ran.code == 0, ran.err
    jsonschema.validate(json.loads(ran.out), json.loads(schema("suggestion")))
    suggestion = msgspec.json.decode(ran.out, type=Suggestion)
    assert suggestion.settings == {"num_warps": 1, "num_stages": 3, "BLOCK_SIZE": 32}
    assert suggestion.is_better
    assert suggestion.low_us is not None
    assert suggestion.high_us is not None
    before = suggestion.current.figures
    assert before is not None
    assert before["time"] is not None
    assert suggestion.low_us <= before["time"] <= suggestion.high_us
    ratios = [each.time_ratio for each in suggestion.best]
    assert len(ratios) == 3
    assert ratios == sorted(ratios)
    for each in suggestion.best:
        assert each.changed.items() <= each.trial.settings.items()
        after = each.trial.figures
        assert after is not None
        assert after["time"] is not None
        assert after["time"] / before["time"] == pytest.approx(each.time_ratio)
        assert after["distinct_read_bytes"] == before["distinct_read_bytes"]
    text = run(*slow).out
    assert "BLOCK_SIZE=512 is the fastest: about" in text
    assert "BLOCK_SIZE 32 → 512" in text
    command = next(line for line in text.splitlines() if "irlens inspect vector_add" in line)
    assert command.split()[-2:] == ["--set", "BLOCK_SIZE=512"]


def test_a_stage_that_changes_nothing_is_looked_past(tmp_path: Path) -> None:
    """A table of pages and its pages share the stages: 4 achieve the 2 of 3, and 5 achieve 3."""
    file = tmp_path / "paged.py"
    file.write_text(_PAGED)
    launch = {"K": "fp16[4194304]", "TABLE": "int32[8192]", "O": "fp16[65536]", "pages": "64"}
    options = [f"--arg={name}={value}" for name, value in launch.items()]
    options += ["--set=HEAD=16", "--set=PAGE=32", "--grid=128", "--num-warps=1", "--num-stages=3"]
    ran = run(f"{file}:paged", "--target=h100", *options, "--most=12", "--format=json")
    assert ran.code == 0, ran.err
    found = msgspec.json.decode(ran.out, type=Suggestion)
    assert found.best[0].changed["num_stages"] in (5, 6, 7)
    assert [each.achieved in (3, 4) for each in found.best[0].trial.pipelines] == [True]
    assert found.best[0].time_ratio < 0.8


def test_nothing_near_is_better_within_the_noise() -> None:
    ran = run("vector_add", "--target", "h200", "--most", "3")
    assert ran.code == 0, ran.err
    assert "nothing near is better" in ran.out
    assert "as fast" in ran.out
    assert "3 neighbours compiled; " in ran.out
    assert "left out by --most" in ran.out


def test_a_given_grid_does_not_hold_for_another_block_size() -> None:
    """Twice the block with the same grid would be programs without anything to do."""
    slow = ("vector_add", "-t", "h200", "--num-warps", "1", "--set", "BLOCK_SIZE=32")
    derived, given = (
        msgspec.json.decode(run(*slow, *more, "--format", "json").out, type=Suggestion)
        for more in ((), ("--grid", "1048576"))
    )
    assert given.current.figures == derived.current.figures, "the description's own grid"
    assert [each.changed for each in given.best] == [each.changed for each in derived.best]
    assert [each.time_ratio for each in given.best] == [each.time_ratio for each in derived.best]
    assert (given.unknown, given.other_launch) == (derived.unknown, derived.other_launch)


def test_a_time_that_is_unknown_is_said_in_one_line() -> None:
    ran = run("vector_add", "--target", "mi300x")
    assert (ran.code, ran.out) == (2, "")
    assert "estimated time of the current configuration is unknown: how long" in ran.err


def test_there_is_one_current_configuration() -> None:
    ran = run("vector_add", "--target", "h100,h200")
    assert (ran.code, ran.out) == (2, "")
    assert "name one target" in ran.err


def test_a_budget_ends_the_search_with_the_fastest_so_far() -> None:
    ran = run("vector_add", "--target", "h200", "--budget", "0.01s", "--format", "json")
    assert ran.code == 0, ran.err
    found = msgspec.json.decode(ran.out, type=Suggestion)
    assert found.stopped == "budget"
    assert found.compiled < found.planned
    assert found.current.figure("time") is not None


def test_a_budget_is_a_time() -> None:
    ran = run("vector_add", "--target", "h200", "--budget", "soon")
    assert (ran.code, ran.out) == (2, "")
    assert "'soon' is not a time: write 60s or 2m" in ran.err
