"""Loops that copy more iterations ahead than they run."""

from collections.abc import Callable
from typing import Any

import pytest

from irlens.analyze.mlir_loops import iterations
from irlens.isa.mlir import parse
from irlens.model.report import Finding

Look = Callable[..., list[Finding]]
CODE = "IRL206"
KERNEL = "users.py:moved_line"
TILE = {"BM": 32, "BN": 32, "BK": 32, "EARLY": True}


@pytest.mark.parametrize(("target", "stages"), [("sm_80", 8), ("sm_90", 8)])
def test_shows_a_loop_of_fewer_iterations_than_it_copies_ahead(
    target: str, stages: int, look: Look
) -> None:
    (finding,) = look(CODE, KERNEL, target, **TILE, num_stages=stages, args={"K": 128})
    assert "copies 7 iterations ahead and runs 4: 5 stages load as early" in finding.message
    assert finding.blame is not None
    assert finding.blame.suffices == 5


@pytest.mark.parametrize(
    ("stages", "length"),
    [
        (5, 128),  # all of them are under way before the first one
        (8, 256),
    ],
)
def test_silent_where_all_stages_are_filled(stages: int, length: int, look: Look) -> None:
    assert not look(CODE, KERNEL, "sm_80", **TILE, num_stages=stages, args={"K": length})


LOOP = """\
module {{
  tt.func public @k(%n: i32, %m: i32) {{
    %c0 = arith.constant 0 : i32
    %c7 = arith.constant 7 : i32
    %c8 = arith.constant 8 : i32
    %p = tt.get_program_id x : i32
    %s = arith.addi %n, %c7 : i32
    %e = arith.divsi %s, %c8 : i32
    %t = arith.minsi %e, %m : i32
    scf.for %i = {bounds} : i32 {{
    }}{attributes}
    tt.return
  }}
}}
"""


@pytest.mark.parametrize(
    ("bounds", "expected"),
    [
        ("%c0 to %e step %c7", 2),
        ("%c0 to %t step %c7", 1),
        ("%c8 to %c7 step %c7", 0),
        ("%p to %e step %c7", None),
        ("%c0 to %n step %c0", None),
    ],
)
def test_iterations_follow_from_constants_and_arguments(bounds: str, expected: int | None) -> None:
    module = parse(LOOP.format(bounds=bounds, attributes=""), stage="ttir")
    (loop,) = module.named("scf.for")
    values: dict[str, Any] = {"n": 100, "m": 3}
    assert iterations(module, loop, values) == expected
    assert iterations(module, loop, {}) is None or expected == 0


def test_a_flattened_loop_has_the_iterations_of_its_nest() -> None:
    text = LOOP.format(bounds="%c0 to %c8 step %c7", attributes=" {tt.flatten}")
    module = parse(text, stage="ttir")
    (loop,) = module.named("scf.for")
    assert iterations(module, loop, {}) is None
