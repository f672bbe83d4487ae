"""A sweep's figures are those of the reports of the samples."""

import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from irlens import gpus
from irlens.compiler import Request, find_kernel
from irlens.compiler.planning import Plan
from irlens.model.config import identity_of
from irlens.model.errors import CaptureError, IrlensError
from irlens.model.report import Report
from irlens.model.sweep import Result, from_error
from irlens.sweeps.inspecting import from_report
from irlens.sweeps.tasks import (
    decode_answer,
    encode_task,
    run_plan,
)

REPORTS = Path(__file__).parents[2] / "samples" / "reports"


def report(name: str) -> Report:
    return msgspec.json.decode((REPORTS / f"{name}.json").read_bytes(), type=Report)


def found(name: str) -> Result:
    return from_report(report(name))


@pytest.mark.parametrize(
    ("name", "stages"),
    [
        ("softmax-h100", (4, 4)),
        ("softmax-t4", (1, 4)),
        ("matmul_tma-h100", (3, 3)),
        ("spill-h100", (None, None)),
    ],
)
def test_stages_are_those_of_the_copies(name: str, stages: tuple[int | None, int | None]) -> None:
    figures = found(name).figures
    assert figures is not None
    assert (figures["stages_achieved"], figures["stages_requested"]) == stages


def test_figures_of_softmax() -> None:
    made, told = found("softmax-h100"), report("softmax-h100")
    assert made.outcome == "fits"
    assert made.reason == ""
    assert made.figures is not None
    assert made.figures["occupancy"] == 1.0
    assert made.figures["registers"] == told.resources.registers
    assert made.figures["shared_bytes"] == 12320
    assert made.figures["live_registers"] == (told.pressure.ptx.peak if told.pressure.ptx else None)
    assert made.limited_by == ["warps", "registers"]
    assert made.findings == told.findings


def test_one_loop_of_unknown_depth_makes_the_depth_unknown() -> None:
    told = report("softmax-h100")
    odd = msgspec.structs.replace(told.pipelines[0], achieved_stages=None, verdict="unknown")
    made = from_report(msgspec.structs.replace(told, pipelines=[*told.pipelines, odd]))
    assert made.figures is not None
    assert made.figures["stages_achieved"] is None


def test_warps_that_run_ahead_as_far_as_there_is_room() -> None:
    made = found("specialized-h100-4").figures
    assert made is not None
    assert (made["stages_achieved"], made["stages_at_most"]) == (None, 3)
    ring = next(each for each in report("specialized-h100-4").pipelines if each.kind == "tma")
    for beside, at_most in ((4, 3), (2, 2)):
        other = msgspec.structs.replace(ring, stages_at_most=None, achieved_stages=beside)
        told = msgspec.structs.replace(report("softmax-h100"), pipelines=[ring, other])
        figures = from_report(told).figures
        assert figures is not None
        assert (figures["stages_achieved"], figures["stages_at_most"]) == (None, at_most)
    unknown = msgspec.structs.replace(ring, stages_at_most=None)
    figures = from_report(msgspec.structs.replace(told, pipelines=[ring, unknown])).figures
    assert figures is not None
    assert (figures["stages_achieved"], figures["stages_at_most"]) == (None, None)


def test_what_is_not_known_is_no_fit() -> None:
    told = report("softmax-h100")
    made = from_report(
        msgspec.structs.replace(told, occupancy=None, unknown={"occupancy": "no cubin"})
    )
    assert (made.outcome, made.reason) == ("unknown", "no cubin")


def test_an_error() -> None:
    made = from_error(CaptureError("x.py:3: no", hint="a\n^"))
    assert made == Result(outcome="failed", reason="x.py:3: no", hint="a\n^")


#: No task, and no answer, has a place for it.
LONG = 10**30


def test_an_integer_that_no_task_can_hold_is_an_error() -> None:
    request = Request(
        kernel="vector_add", target=gpus.find("h100").target, settings={"BLOCK_SIZE": LONG}
    )
    with pytest.raises(CaptureError, match="more than 64 bits"):
        encode_task(find_kernel("vector_add"), [request])


def test_an_autotuner_with_an_integer_that_no_answer_can_hold_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "k.py"
    path.write_text(
        f"""import triton
import triton.language as tl


@triton.autotune(configs=[triton.Config({{"B": 64}}), triton.Config({{"B": {LONG}}})], key=["n"])
@triton.jit
def k(x, n, B: tl.constexpr):
    tl.store(x + tl.program_id(0), B % 7)
"""
    )
    request = Request(
        kernel=f"{path}:k", target=gpus.find("h100").target, args={"x": "fp32[64]", "n": 64}
    )
    answer = run_plan(encode_task(find_kernel(request.kernel), [request]))
    with pytest.raises(IrlensError, match="more than 64 bits"):
        decode_answer(answer, Plan)


def test_records_with_such_integers_have_an_identity() -> None:
    assert identity_of({"n": LONG, "m": 1}) == identity_of({"m": 1, "n": LONG})
    assert identity_of({"n": LONG}) != identity_of({"n": LONG + 1})


def test_only_the_first_task_exempts_objects_from_garbage_collection() -> None:
    program = """
import gc
from irlens.sweeps.tasks import run_compile
before = gc.get_freeze_count()  # Python 3.12 begins with some
run_compile(b"")
first = gc.get_freeze_count()
kept = [[] for _ in range(1000)]
run_compile(b"")
print(first > before + 1000, gc.get_freeze_count() <= first)
"""
    command = [sys.executable, "-c", program]
    ran = subprocess.run(command, check=True, capture_output=True, text=True)
    assert ran.stdout.split() == ["True", "True"]
