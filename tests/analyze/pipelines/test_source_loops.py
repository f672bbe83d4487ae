"""AMD loops that LLVM unrolled, and loops that are not the user's."""

import msgspec
import pytest

from irlens.analyze.pipelines.amdgcn import against_source
from irlens.isa.mlir import parse
from irlens.model.memory import LoopLoad
from irlens.model.report import Pipeline, PipelineLoad
from irlens.model.source import SourceLocation

FOR, LOAD = SourceLocation("kernel.py", 6), SourceLocation("kernel.py", 7)
PIPELINE = Pipeline(
    stage="amdgcn", loop=".LBB0_1", line=53, source=FOR, kind="register", requested_stages=3,
    achieved_stages=2, prefetch_iterations=1, groups_before_loop=None, groups_per_iteration=2,
    outstanding_at_wait=2, outstanding_after_wait=0, groups_during_compute=2,
    copies_per_iteration=2, bytes_per_copy=16, bytes_per_iteration=8192, bytes_in_flight=8192,
    verdict="shallower", reason="",
)  # fmt: skip


def load(amount: int | None) -> LoopLoad:
    return LoopLoad(
        operation="tt.load", line=9, source=LOAD, loop_line=8, loop_source=FOR, state="registers",
        iterations_ahead=2, shape=(1024,), element="f32", bytes_per_iteration=amount,
        widest_access_bytes=16, buffer_line=None, buffer_copies=None, reason="",
    )  # fmt: skip


def test_an_unrolled_loop_is_not_judged_by_iterations_of_the_machine() -> None:
    (found,) = against_source([PIPELINE], [load(4096)], None)
    assert found.verdict == "unknown"
    assert (found.achieved_stages, found.prefetch_iterations) == (None, None)
    assert "loads 2 times the bytes of one of the source" in found.reason


def test_a_load_that_is_awaited_at_once_decides_in_an_unrolled_loop_too() -> None:
    ahead = PipelineLoad(
        line=60, wait_line=80, source=LOAD, instructions=2, bytes_per_lane=16, iterations_ahead=1,
        computes_before_wait=True, verdict="shallower",
    )  # fmt: skip
    exposed = msgspec.structs.replace(
        ahead, iterations_ahead=0, computes_before_wait=False, verdict="not pipelined"
    )
    partly = msgspec.structs.replace(
        PIPELINE, achieved_stages=1, loads=(ahead, exposed), verdict="not pipelined", reason="so"
    )
    (found,) = against_source([partly], [load(4096)], None)
    assert (found.verdict, found.achieved_stages, found.loads) == ("not pipelined", 1, partly.loads)
    assert found.reason.startswith("so; an iteration of the machine code loads 2 times")
    assert against_source([found], [load(4096)], None) == [found], "the same is said once"
    # Without others that run ahead, LLVM may have unrolled a loop that is not pipelined.
    alone = msgspec.structs.replace(partly, loads=(exposed,))
    (found,) = against_source([alone], [load(4096)], None)
    assert (found.verdict, found.loads) == ("unknown", ())


def test_a_loop_as_it_stands_in_the_source_keeps_its_reading() -> None:
    assert against_source([PIPELINE], [load(8192)], None) == [PIPELINE]
    assert against_source([PIPELINE], [load(4096), load(4096)], None) == [PIPELINE]
    assert against_source([PIPELINE], [load(4096), load(None)], None) == [PIPELINE]
    assert against_source([PIPELINE], [], None) == [PIPELINE]
    unread = msgspec.structs.replace(PIPELINE, verdict="unknown", reason="as said elsewhere")
    assert against_source([unread], [load(4096)], None) == [unread]


def test_loops_of_the_run_time_library_are_left_out_where_others_have_a_source() -> None:
    foreign = msgspec.structs.replace(PIPELINE, source=None)
    assert against_source([foreign, PIPELINE, foreign], [], None) == [PIPELINE]
    assert against_source([foreign], [], None) == [foreign]


LOOP = """
module {
  tt.func public @k(%n: i32) {
    BODY
    tt.return
  }
}
"""
SCF = """scf.for %i = %n to %n step %n : i32 {
    } loc("kernel.py":6:3)"""


@pytest.mark.parametrize(
    ("body", "kept"),
    [(SCF, ["at its for"]), ("", []), ("cf.br ^bb1\n  ^bb1:", ["elsewhere", "at its for"])],
)
def test_the_ttgir_says_where_the_source_has_loops(body: str, kept: list[str]) -> None:
    """RDNA 4's device_print has loops whose branches claim to be of its line."""
    elsewhere = msgspec.structs.replace(
        PIPELINE, loop="elsewhere", source=SourceLocation("kernel.py", 9)
    )
    own = msgspec.structs.replace(PIPELINE, loop="at its for")
    ttgir = parse(LOOP.replace("BODY", body))
    assert [each.loop for each in against_source([elsewhere, own], [], ttgir)] == kept
