"""Which configuration of an autotuned kernel counts as launched without a GPU."""

from pathlib import Path

import msgspec
from msgspec.structs import replace

from irlens.model.ranking import rank_reports
from irlens.model.recording import RecordedKernel, RecordedLaunches
from irlens.model.report import Report
from irlens.render.view.configurations import ranked_headline
from irlens.session.tuning import LaunchOf, tunings, with_fastest

CALL = RecordedLaunches(number=2, args={"n": 8}, grid=(4, 1, 1))
SAMPLE = Path(__file__).parents[2] / "samples" / "reports" / "softmax-h100.json"
#: Time of each variant by its entry, and whether it is causal.
TIMES = {"a": (80.0, False), "b": (90.0, False), "c": (60.0, True), "d": (70.0, True)}


def report_of(launched: LaunchOf) -> Report:
    us, causal = TIMES[launched[0].entry]
    report = msgspec.json.decode(SAMPLE.read_bytes(), type=Report)
    assert report.time is not None
    constexprs = {"CAUSAL": causal, "BLOCK": int(us)}
    config = replace(report.config, constexprs=constexprs, fixed=("CAUSAL",))
    return replace(report, config=config, time=replace(report.time, estimate_us=us))


def test_the_fastest_solves_the_problem_that_was_launched() -> None:
    """Half of the scores of attention are no faster attention."""
    kernels = [
        RecordedKernel(
            entry=each, kernel="k", launches=(CALL,) if each in "bd" else (), tried=(CALL,)
        )
        for each in TIMES
    ]
    counted, choices = with_fastest(kernels, list(tunings(kernels, 4)), report_of)
    assert {each.entry: len(each.launches or ()) for each in counted} == {
        "a": 1, "b": 0, "c": 1, "d": 0,
    }  # fmt: skip
    assert {entry: (each.how, each.among) for entry, each in choices.items()} == {
        "a": ("estimated", 2), "c": ("estimated", 2),
    }  # fmt: skip


def test_what_is_computed_sets_problems_apart() -> None:
    reports = [report_of((RecordedKernel(entry=each, kernel="k"), CALL)) for each in TIMES]
    found = rank_reports(reports)
    assert [each.members for each in found.problems] == [(0, 1), (2, 3)]
    assert [each.mark for each in found.standings] == ["fastest", None, "fastest", None]


def test_the_headline_says_once_what_is_computed() -> None:
    reports = [report_of((RecordedKernel(entry=each, kernel="k"), CALL)) for each in TIMES]
    words = [run.text for run in ranked_headline(reports).phrases]
    assert words[0].startswith("CAUSAL=False: A (BLOCK=80) is the fastest: about 80.0 µs")
    assert any(each.startswith("CAUSAL=True: C (BLOCK=60) is the fastest") for each in words)
