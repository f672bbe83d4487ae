"""Traffic of a launch, against formulas and a brute-force count."""

import json
import shutil
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from irlens.analyze import traffic, work
from irlens.analyze.traffic import (
    Granules,
    Repetition,
    Survey,
    evaluated,
    evaluation,
    survey,
    tiles,
)
from irlens.analyze.traffic.coverage import Coverage, TooManyIntervalsError
from irlens.analyze.traffic.evaluated import Evaluated
from irlens.analyze.traffic.launch import Launch, Numbers
from irlens.analyze.traffic.values import distinct
from irlens.artifacts.load import load
from irlens.isa.mlir import parse
from irlens.model.capture import Capture
from irlens.model.traffic import ArgumentTraffic, Traffic
from irlens.report import inspect
from tests.analyze.traffic_counts import count
from tests.tables import each_row

SOFTMAX = Path(__file__).parents[2] / "samples" / "captures" / "softmax-h100"

ADD = """
module {
  tt.func public @add(%x: !tt.ptr<f32>, %y: !tt.ptr<f16>, %n: i32) {
    %c = arith.constant 64 : i32
    %pid = tt.get_program_id x : i32
    %start = arith.muli %pid, %c : i32
    %range = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>
    %base = tt.splat %start : i32 -> tensor<64xi32>
    %offsets = arith.addi %base, %range : tensor<64xi32>
    %bound = tt.splat %n : i32 -> tensor<64xi32>
    %mask = arith.cmpi slt, %offsets, %bound : tensor<64xi32>
    %xs = tt.splat %x : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>>
    %xp = tt.addptr %xs, %offsets : tensor<64x!tt.ptr<f32>>, tensor<64xi32>
    %v = tt.load %xp, %mask : tensor<64x!tt.ptr<f32>>
    %h = arith.truncf %v : tensor<64xf32> to tensor<64xf16>
    %ys = tt.splat %y : !tt.ptr<f16> -> tensor<64x!tt.ptr<f16>>
    %yp = tt.addptr %ys, %offsets : tensor<64x!tt.ptr<f16>>, tensor<64xi32>
    tt.store %yp, %h, %mask : tensor<64x!tt.ptr<f16>>
    tt.return
  }
}
"""

TILE = """
module {
  tt.func public @tile(%x: !tt.ptr<f32>, %m: i32, %n: i32, %stride: i32, %step: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c8 = arith.constant 8 : i32
    %px = tt.get_program_id x : i32
    %py = tt.get_program_id y : i32
    %r = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32>
    %re = tt.expand_dims %r {axis = 1 : i32} : tensor<8xi32> -> tensor<8x1xi32>
    %ce = tt.expand_dims %r {axis = 0 : i32} : tensor<8xi32> -> tensor<1x8xi32>
    %y0 = arith.muli %py, %c8 : i32
    %ys = tt.splat %y0 : i32 -> tensor<8x1xi32>
    %rows = arith.addi %ys, %re : tensor<8x1xi32>
    %ms = tt.splat %m : i32 -> tensor<8x1xi32>
    %rm = arith.cmpi slt, %rows, %ms : tensor<8x1xi32>
    %rb = tt.broadcast %rm : tensor<8x1xi1> -> tensor<8x8xi1>
    %ss = tt.splat %stride : i32 -> tensor<8x1xi32>
    %ro = arith.muli %rows, %ss : tensor<8x1xi32>
    %rob = tt.broadcast %ro : tensor<8x1xi32> -> tensor<8x8xi32>
    scf.for %k = %px to %n step %step : i32 {
      %k8 = arith.muli %k, %c8 : i32
      %ks = tt.splat %k8 : i32 -> tensor<1x8xi32>
      %cols = arith.addi %ks, %ce : tensor<1x8xi32>
      %ns = tt.splat %n : i32 -> tensor<1x8xi32>
      %cm = arith.cmpi sle, %cols, %ns : tensor<1x8xi32>
      %cb = tt.broadcast %cm : tensor<1x8xi1> -> tensor<8x8xi1>
      %cob = tt.broadcast %cols : tensor<1x8xi32> -> tensor<8x8xi32>
      %mask = arith.andi %rb, %cb : tensor<8x8xi1>
      %o = arith.addi %rob, %cob : tensor<8x8xi32>
      %xs = tt.splat %x : !tt.ptr<f32> -> tensor<8x8x!tt.ptr<f32>>
      %xp = tt.addptr %xs, %o : tensor<8x8x!tt.ptr<f32>>, tensor<8x8xi32>
      %v = tt.load %xp, %mask : tensor<8x8x!tt.ptr<f32>>
    }
    tt.return
  }
}
"""


def _add(n: int, programs: int) -> Traffic:
    arguments: dict[str, int | float | str] = {"x": "fp32[1]", "y": "fp16[1]", "n": n}
    return count(parse(ADD, stage="ttir"), arguments, (programs, 1, 1))


@pytest.mark.parametrize(("n", "programs"), [(1, 1), (64, 1), (1000, 16), (1000, 40), (70, 1)])
def test_elementwise(n: int, programs: int) -> None:
    traffic = _add(n, programs)
    moved = min(n, 64 * programs)
    assert (traffic.read_bytes, traffic.written_bytes) == (4 * moved, 2 * moved)
    assert (traffic.distinct_read_bytes, traffic.distinct_written_bytes) == (4 * moved, 2 * moved)
    assert [each.masked for each in traffic.accesses] == [64 * programs - moved] * 2
    assert [each.argument for each in traffic.accesses] == ["x", "y"]
    assert traffic.arguments == [
        ArgumentTraffic(
            argument="x", read_bytes=4 * moved, distinct_read_bytes=4 * moved, written_bytes=0,
            distinct_written_bytes=0,
        ),
        ArgumentTraffic(
            argument="y", read_bytes=0, distinct_read_bytes=0, written_bytes=2 * moved,
            distinct_written_bytes=2 * moved,
        ),
    ]  # fmt: skip


@pytest.mark.parametrize(("x", "lanes"), [("fp32[66]", 4), ("fp32[66]:strides[2]", None)])
def test_lanes_outside_of_a_view_with_gaps_are_unknown(x: str, lanes: int | None) -> None:
    given: dict[str, int | float | str] = {"x": x, "y": "fp16[70]", "n": 70}
    load, store = count(parse(ADD, stage="ttir"), given, (2, 1, 1)).accesses
    assert (load.out_of_bounds and load.out_of_bounds.lanes) == lanes
    assert store.out_of_bounds is None


def test_a_million_programs_in_chunks() -> None:
    traffic = _add(64_000_000 - 5, 1_000_000)
    assert traffic.read_bytes == traffic.distinct_read_bytes == 4 * (64_000_000 - 5)


@each_row("seed", range(30))
def test_tiles_of_a_loop_equal_brute_force(seed: int) -> None:
    chance = np.random.default_rng(seed)
    m, n, stride = (int(chance.integers(1, 40)) for _ in range(3))
    step, across, down = (int(chance.integers(1, 6)) for _ in range(3))
    given: dict[str, int | float | str] = {"m": m, "n": n, "stride": stride, "step": step}
    traffic = count(parse(TILE, stage="ttir"), given, (across, down, 1))
    places = [
        row * stride + column
        for px in range(across)
        for py in range(down)
        for k in range(px, n, step)
        for row in range(8 * py, 8 * py + 8)
        for column in range(8 * k, 8 * k + 8)
        if row < m and column <= n
    ]
    assert traffic.reason == ""
    assert traffic.read_bytes == 4 * len(places)
    assert traffic.distinct_read_bytes == 4 * len(set(places))


def test_persistent_softmax_moves_each_element_once() -> None:
    manifest = json.loads((SOFTMAX / "irlens.json").read_text())
    module = parse((SOFTMAX / "softmax_kernel.ttir").read_text(), stage="ttir")
    traffic = count(module, manifest["args"] | {"n_rows": 4095, "n_cols": 1000}, (320, 1, 1))
    assert traffic.read_bytes == traffic.distinct_read_bytes == 4095 * 1000 * 4
    assert traffic.written_bytes == traffic.distinct_written_bytes == 4095 * 1000 * 4


CARRIED = """
module {
  tt.func public @carried(%x: !tt.ptr<f32>) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c3 = arith.constant 3 : i32
    %c9 = arith.constant 9 : i32
    %pid = tt.get_program_id x : i32
    %last = scf.for %i = %c0 to %c3 step %c1 iter_args(%a = %pid) -> (i32)  : i32 {
      %p = tt.addptr %x, %a : !tt.ptr<f32>, i32
      %l = tt.load %p : !tt.ptr<f32>
      scf.yield %next : i32
    }
    %q = tt.addptr %x, %last : !tt.ptr<f32>, i32
    %m = tt.load %q : !tt.ptr<f32>
    tt.return
  }
}
"""


@pytest.mark.parametrize(("following", "elements"), [("%c9", [3, 1]), ("%i", [2, 1])])
def test_a_loop_may_carry_what_its_body_does_not_compute(
    following: str, elements: list[int]
) -> None:
    # Programs 0 and 1 load elements 0 and 1 first, then both 9, or 0 and 1; after the loop 9, or 2.
    traffic = count(parse(CARRIED.replace("%next", following), stage="ttir"), {}, (2, 1, 1))
    assert [each.distinct_bytes // 4 for each in traffic.accesses] == elements


RETURNS = """
module {
  tt.func public @returns(%x: !tt.ptr<f32>) {
    %c1 = arith.constant 1 : i32
    %c3 = arith.constant 3 : i32
    %pid = tt.get_program_id x : i32
    %last = arith.cmpi sge, %pid, %c3 : i32
    cf.cond_br %last, ^bb1, ^bb2
  ^bb1:  // 2 preds: ^bb0, ^bb2
    tt.return
  ^bb2:  // pred: ^bb0
    %p = tt.addptr %x, %pid : !tt.ptr<f32>, i32
    %l = tt.load %p : !tt.ptr<f32>
    %first = arith.cmpi slt, %pid, %c1 : i32
    cf.cond_br %first, ^bb1, ^bb3
  ^bb3:  // pred: ^bb2
    tt.store %p, %l : !tt.ptr<f32>
    cf.br ^bb%NEXT
  }
}
"""


def test_early_returns_share_a_block_that_stands_before_what_leads_to_it() -> None:
    # Of 5 programs, 3 and 4 return before the load, and 0 before the store.
    traffic = count(parse(RETURNS.replace("%NEXT", "1"), stage="ttir"), {}, (5, 1, 1))
    assert (traffic.read_bytes, traffic.written_bytes) == (3 * 4, 2 * 4)


def test_branches_that_make_a_loop_are_unknown() -> None:
    traffic = count(parse(RETURNS.replace("%NEXT", "2"), stage="ttir"), {}, (5, 1, 1))
    assert traffic.read_bytes is None
    assert traffic.reason.endswith("a loop of branches is not understood")


def test_an_address_that_depends_on_data_is_unknown_with_its_line() -> None:
    text = ADD.replace("%n: i32) {", "%n: !tt.ptr<i32>) {").replace(
        "    %bound = tt.splat %n", "    %l = tt.load %n : !tt.ptr<i32>\n    %bound = tt.splat %l"
    )
    traffic = count(parse(text, stage="ttir"), {}, (4, 1, 1))
    assert traffic.read_bytes is None
    assert (
        traffic.reason == "line 10: the traffic depends on data in n (--arg n=@FILE.npy gives them)"
    )


def test_what_a_kernel_writes_is_not_as_it_was_given() -> None:
    text = ADD.replace("%n: i32) {", "%n: !tt.ptr<i32>) {").replace(
        "    %bound = tt.splat %n",
        "    tt.store %n, %start : !tt.ptr<i32>\n"
        "    %l = tt.load %n : !tt.ptr<i32>\n    %bound = tt.splat %l",
    )
    traffic = count(parse(text, stage="ttir"), {}, (4, 1, 1), contents={"n": np.array([9])})
    assert traffic.read_bytes is None
    assert traffic.reason == "line 10: n, whose contents are given, is written"
    traffic = count(parse(text, stage="ttir"), {}, (4, 1, 1))
    assert traffic.reason == (
        "line 11: the traffic depends on data in n, which the kernel itself writes"
    )


def test_a_missing_argument_is_named() -> None:
    traffic = count(parse(ADD, stage="ttir"), {}, (4, 1, 1))
    assert traffic.reason == "line 14: the launch does not give n as a number"


def _filled(*intervals: tuple[int, int]) -> Coverage:
    coverage = Coverage(2)
    for start, length in intervals:
        coverage.add(np.array([start]), np.array([0]), np.array([length]))
    return coverage


def test_intervals_merge() -> None:
    assert _filled((0, 4), (8, 4), (4, 4), (100, 4), (2, 4), (102, 4)).size() == 12 + 6


def test_many_intervals_become_a_map() -> None:
    coverage = Coverage(4)
    every_other = np.arange(7 << 20) * 8
    nothing = np.array([0]), np.array([4])
    coverage.add(every_other, *nothing)
    assert coverage.size() == 4 * (7 << 20)
    other = Coverage(4)
    other.add(every_other + 4 * (1 << 20), *nothing)
    coverage.update(other)
    assert coverage.size() == 4 * ((7 << 20) + (1 << 19))


def test_intervals_that_fit_no_map_are_unknown() -> None:
    with pytest.raises(TooManyIntervalsError):
        Coverage(4).add(np.arange(7 << 20) * 8 + 1, np.array([0]), np.array([4]))


@pytest.mark.parametrize("shift", ["shli", "shrsi", "shrui"])
def test_addresses_may_be_shifted(shift: str) -> None:
    """As ``(pid << 6) + arange`` and ``pid >> 1``, where a constant multiplies or divides."""
    by, factor = ("6", "64") if shift == "shli" else ("1", "2")
    other = "muli" if shift == "shli" else "divsi"
    shifted = ADD.replace("arith.muli %pid", f"arith.{shift} %pid").replace(
        "64 : i32\n    %pid", f"{by} : i32\n    %pid"
    )
    multiplied = ADD.replace("arith.muli %pid", f"arith.{other} %pid").replace(
        "64 : i32\n    %pid", f"{factor} : i32\n    %pid"
    )
    counted = [
        count(parse(each, stage="ttir"), {"n": 1000}, (16, 1, 1)) for each in (shifted, multiplied)
    ]
    assert counted[0] == counted[1]
    assert counted[0].reason == ""


LEAPS = """
module {
  tt.func public @leaps(%x: !tt.ptr<f32>) {
    %c = arith.constant 256 : i32
    %step = arith.constant dense<32> : tensor<256xi32>
    %row = tt.get_program_id x : i32
    %column = tt.get_program_id y : i32
    %r = tt.make_range {end = 256 : i32, start = 0 : i32} : tensor<256xi32>
    %base = arith.muli %row, %c : i32
    %bases = tt.splat %base : i32 -> tensor<256xi32>
    %steps = arith.addi %bases, %r : tensor<256xi32>
    %far = arith.muli %steps, %step : tensor<256xi32>
    %columns = tt.splat %column : i32 -> tensor<256xi32>
    %o = arith.addi %far, %columns : tensor<256xi32>
    %xs = tt.splat %x : !tt.ptr<f32> -> tensor<256x!tt.ptr<f32>>
    %xp = tt.addptr %xs, %o : tensor<256x!tt.ptr<f32>>, tensor<256xi32>
    %v = tt.load %xp : tensor<256x!tt.ptr<f32>>
    tt.return
  }
}
"""


def test_elements_a_stride_apart_are_counted_however_many_they_are() -> None:
    """2^25 elements, each in a run of its own until its neighbours' programs come."""
    found = survey(
        parse(LEAPS, stage="ttir"), {}, (4096, 32, 1), granules=Granules(64, 32), wave=2112
    )
    traffic = found.traffic
    assert traffic.reason == ""
    assert traffic.read_bytes == traffic.distinct_read_bytes == 1 << 27
    assert found.footprint is not None
    assert found.footprint.read_bytes == 1 << 27
    # A wave of 2,112 programs has a part of one column, or of two: no element twice.
    assert traffic.wave_read_bytes == 1 << 27
    # It takes a whole granule for each element of its columns, which columns of a wave share.
    programs = [range(at, min(at + 2112, 1 << 17)) for at in range(0, 1 << 17, 2112)]
    granules = sum(len({(n % 4096, n // 4096 // 16) for n in wave}) * 256 for wave in programs)
    assert found.footprint.wave_read_bytes == 64 * granules


REPEATED = """
module {
  tt.func public @repeated(%x: !tt.ptr<f32>) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c16 = arith.constant 16 : i32
    %r = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>
    %p = tt.splat %x : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>>
    %q = tt.addptr %p, %r : tensor<64x!tt.ptr<f32>>, tensor<64xi32>
    %v = tt.load %q : tensor<64x!tt.ptr<f32>>
    scf.for %i = %c0 to %c16 step %c1  : i32 {
      %s = arith.muli %i, %STEP : i32
      %a = tt.addptr %x, %s : !tt.ptr<f32>, i32
      %l = tt.load %a : !tt.ptr<f32>
    }
    tt.return
  }
}
"""


@pytest.mark.parametrize(
    ("step", "loop"),
    [
        ("%c1", Repetition(distinct=2, new=0, touched=2.0, of_tiles=16.0)),
        ("%c16", Repetition(distinct=16, new=12, touched=16.0, of_tiles=16.0)),
        ("%c0", Repetition(distinct=1, new=0, touched=16.0, of_tiles=16.0)),
    ],
)
def test_what_a_program_loads_again_is_told_by_access(step: str, loop: Repetition) -> None:
    # 64 floats are 8 sectors; of 16 floats 16 apart, each in a sector, the first 4 are among them.
    module = parse(REPEATED.replace("%STEP", step), stage="ttir")
    found = survey(module, {}, (4, 1, 1), granules=Granules(64, 32), first=1)
    assert found.repeated[0] == Repetition(distinct=8, new=8, touched=8.0, of_tiles=8.0)
    assert found.repeated[1] == loop
    assert survey(module, {}, (4, 1, 1), granules=Granules(64, 32)).repeated == ()


IGNORED = """
module {
  tt.func public @ignored(%x: !tt.ptr<f32>, %t: !tt.ptr<i32>) {
    %c5 = arith.constant 5 : i32
    %r = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>
    %y = tt.load %t : !tt.ptr<i32>
    %ignored = arith.cmpi eq, %y, %c5 : i32
    cf.cond_br %ignored, ^bb1, ^bb2
  ^bb1:  // pred: ^bb0
    tt.return
  ^bb2:  // pred: ^bb0
    %one = tt.addptr %x, %y : !tt.ptr<f32>, i32
    %logit = tt.load %one : !tt.ptr<f32>
    %s = tt.splat %y : i32 -> tensor<64xi32>
    %m = arith.cmpi slt, %r, %s : tensor<64xi32>
    %p = tt.splat %x : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>>
    %q = tt.addptr %p, %r : tensor<64x!tt.ptr<f32>>, tensor<64xi32>
    %v = tt.load %q, %m : tensor<64x!tt.ptr<f32>>
    tt.store %q, %v : tensor<64x!tt.ptr<f32>>
    tt.return
  }
}
"""


def test_what_depends_on_data_is_assumed_only_where_that_is_asked_for() -> None:
    """A loss: a label may be ignored, one element is the label's, and a mask is of data."""
    module = parse(IGNORED, stage="ttir")
    exact = survey(module, {}, (4, 1, 1), granules=None)
    assert exact.traffic.read_bytes is None
    assert (
        exact.traffic.reason
        == "line 6: the traffic depends on data in t (--arg t=@FILE.npy gives them)"
    )
    assumed = survey(module, {}, (4, 1, 1), granules=None, numbers="random")
    assert assumed.traffic.read_bytes == 4 * (4 + 4 + 64 * 4)
    assert assumed.traffic.written_bytes == 4 * 64 * 4
    assert (
        assumed.assumed == "line 6: the traffic depends on data in t (--arg t=@FILE.npy gives them)"
    )


UNTIL = """
module {
  tt.func public @k(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>) {
    %one = arith.constant 1.0 : f32
    %v = tt.load %x : !tt.ptr<f32>
    %w = scf.while (%a = %v) : (f32) -> f32 {
      %b = arith.addf %a, %one : f32
      %more = arith.cmpf olt, %b, %one : f32
      scf.condition(%more) %b : f32
    } do {
    ^bb0(%c: f32):
      scf.yield %c : f32
    }
    tt.store %y, %w : !tt.ptr<f32>
    tt.return
  }
}
"""


def test_a_loop_until_data_say_so_hides_no_access_beside_it() -> None:
    traffic = count(parse(UNTIL, stage="ttir"), {}, (3, 1, 1))
    assert (traffic.read_bytes, traffic.written_bytes, traffic.reason) == (12, 12, "")
    assert traffic.flops is None  # nor is it known how often it adds
    inside = UNTIL.replace("scf.yield", "tt.store %y, %c : !tt.ptr<f32>\n      scf.yield")
    assert count(parse(inside, stage="ttir"), {}, (3, 1, 1)).read_bytes is None
    integers = UNTIL.replace("f32", "i32").replace("1.0", "1").replace("addf", "addi")
    integers = integers.replace("cmpf olt", "cmpi slt")
    assert count(parse(integers, stage="ttir"), {}, (3, 1, 1)).flops == {}


def test_a_pointer_to_booleans_is_cast_to_one_to_bytes() -> None:
    """As Triton loads a mask that PyTorch has stored."""
    text = CARRIED.replace("!tt.ptr<f32>", "!tt.ptr<i8>").replace("%next", "%c9")
    text = text.replace("@carried(%x: !tt.ptr<i8>) {", "@carried(%b: !tt.ptr<i1>) {\n"
                        "    %x = tt.bitcast %b : !tt.ptr<i1> -> !tt.ptr<i8>")  # fmt: skip
    traffic = count(parse(text, stage="ttir"), {}, (2, 1, 1))
    assert [(each.argument, each.distinct_bytes) for each in traffic.accesses] == [
        ("b", 3),
        ("b", 1),
    ]


CHOICE = """
module {
  tt.func public @k(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>, %z: !tt.ptr<f32>, %n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %c2 = arith.constant 2 : i32
    %r = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32>
    scf.for %i = %c0 to %n step %c1 : i32 {
      %first = arith.cmpi eq, %i, %c1 : i32
      %one = arith.select %first, %y, %x : !tt.ptr<f32>
      %second = arith.cmpi sge, %i, %c2 : i32
      %two = arith.select %second, %z, %one : !tt.ptr<f32>
      %moved = tt.addptr %two, %i : !tt.ptr<f32>, i32
      %s = tt.splat %moved : !tt.ptr<f32> -> tensor<8x!tt.ptr<f32>>
      %p = tt.addptr %s, %r : tensor<8x!tt.ptr<f32>>, tensor<8xi32>
      %v = tt.load %p : tensor<8x!tt.ptr<f32>>
    }
    tt.return
  }
}
"""


def test_a_pointer_is_chosen_among_arguments_in_each_iteration() -> None:
    traffic = count(parse(CHOICE, stage="ttir"), {"n": 4}, (3, 1, 1))
    assert not traffic.reason
    found = {each.argument: (each.bytes, each.distinct_bytes) for each in traffic.accesses}
    # x in iteration 0, y in 1, z from 2 on: there the eight elements lie one apart.
    assert found == {"x": (96, 32), "y": (96, 32), "z": (192, 36)}
    only = count(parse(CHOICE, stage="ttir"), {"n": 1}, (3, 1, 1))
    assert [each.argument for each in only.accesses] == ["x"]


CHOSEN = """
module {
  tt.func public @k(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>, %n: i32) {
    %c2 = arith.constant 2 : i32
    %few = arith.constant dense<3> : tensor<8xi32>
    %pid = tt.get_program_id x : i32
    %late = arith.cmpi sge, %pid, %c2 : i32
    %xp = tt.addptr %x, %pid : !tt.ptr<f32>, i32
    %p = arith.select %late, %xp, %y : !tt.ptr<f32>
    %q = tt.addptr %p, %pid : !tt.ptr<f32>, i32
    %r = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32>
    %bound = tt.splat %n : i32 -> tensor<8xi32>
    %short = arith.cmpi slt, %r, %few : tensor<8xi32>
    %long = arith.cmpi slt, %r, %bound : tensor<8xi32>
    %mask = arith.select %late, %short, %long : tensor<8xi1>
    %qs = tt.splat %q : !tt.ptr<f32> -> tensor<8x!tt.ptr<f32>>
    %far = tt.addptr %qs, %bound : tensor<8x!tt.ptr<f32>>, tensor<8xi32>
    %at = arith.select %short, %qs, %far : tensor<8xi1>, tensor<8x!tt.ptr<f32>>
    %ps = tt.addptr %at, %r : tensor<8x!tt.ptr<f32>>, tensor<8xi32>
    %v = tt.load %ps, %mask : tensor<8x!tt.ptr<f32>>
    tt.return
  }
}
"""


@pytest.mark.parametrize("elementwise", [False, True])
def test_a_condition_chooses_pointers_and_masks_of_some_programs(elementwise: bool) -> None:
    """Programs 0 and 1 read eight elements of y, and 2 to 5 three of x, from 2 x pid on."""
    text = CHOSEN if elementwise else CHOSEN.replace("%at, %r", "%qs, %r")
    if elementwise:  # the condition of each element chooses within one argument alone
        text = text.replace("%late, %xp, %y", "%late, %xp, %x")
    traffic = count(parse(text, stage="ttir"), {"n": 8}, (6, 1, 1))
    assert traffic.reason == ""
    found = {each.argument: (each.bytes, each.distinct_bytes) for each in traffic.accesses}
    late = {index for pid in range(2, 6) for index in range(2 * pid, 2 * pid + 3)}
    early = {pid + e + 8 * (elementwise and e > 2) for pid in range(2) for e in range(8)}
    if elementwise:
        assert found == {"x": (4 * (16 + 12), 4 * len(late | early))}
    else:
        assert found == {"x": (48, 4 * len(late)), "y": (64, 4 * len(early))}


OPTIONAL = """
module {
  tt.func public @k(%x: !tt.ptr<f32>, %bias: !tt.ptr<f32>) {
    %null = arith.constant 0 : i64
    %b = tt.ptr_to_int %bias : !tt.ptr<f32> -> i64
    %given = arith.cmpi ne, %b, %null : i64
    %pid = tt.get_program_id x : i32
    %p = tt.addptr %x, %pid : !tt.ptr<f32>, i32
    scf.if %given {
      %v = tt.load %p : !tt.ptr<f32>
    } else {
      %one = arith.constant 1 : i32
      %u = tt.load %p : !tt.ptr<f32>
      %next = tt.addptr %p, %one : !tt.ptr<f32>, i32
      %v = tt.load %next : !tt.ptr<f32>
    }
    tt.return
  }
}
"""


@pytest.mark.parametrize(("predicate", "loads"), [("ne", [3]), ("eq", [3, 3])])
def test_the_pointer_of_a_tensor_is_not_null(predicate: str, loads: list[int]) -> None:
    """The three programs take one way where it is given, and load twice on the other."""
    module = parse(OPTIONAL.replace("cmpi ne", f"cmpi {predicate}"), stage="ttir")
    traffic = count(module, {}, (3, 1, 1))
    assert traffic.reason == ""
    assert [each.bytes // 4 for each in traffic.accesses if each.bytes] == loads


ROUNDED = """
module {
  tt.func public @k(%x: !tt.ptr<f32>, %n: i32) {
    %half = arith.constant dense<5.000000e-01> : tensor<8xf32>
    %zero = arith.constant dense<0.000000e+00> : tensor<8xf32>
    %size = arith.constant 4.000000e+00 : f32
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %r = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32>
    %f = arith.sitofp %r : tensor<8xi32> to tensor<8xf32>
    %g = arith.mulf %f, %half : tensor<8xf32>
    %h = arith.subf %g, %half : tensor<8xf32>
    %m = arith.cmpf ogt, %h, %zero : tensor<8xf32>
    %k = arith.select %m, %h, %zero : tensor<8xi1>, tensor<8xf32>
    %i = arith.fptosi %k : tensor<8xf32> to tensor<8xi32>
    %s = tt.splat %x : !tt.ptr<f32> -> tensor<8x!tt.ptr<f32>>
    %p = tt.addptr %s, %i : tensor<8x!tt.ptr<f32>>, tensor<8xi32>
    %nf = arith.sitofp %n : i32 to f32
    %q = arith.divf %nf, %size : f32
    %up = math.ceil %q : f32
    %end = arith.fptosi %up : f32 to i32
    %acc = scf.for %j = %c0 to %end step %c1 iter_args(%sum = %zero) -> (tensor<8xf32>) : i32 {
      %v = tt.load %p : tensor<8x!tt.ptr<f32>>
      %w = arith.addf %sum, %v : tensor<8xf32>
      scf.yield %w : tensor<8xf32>
    }
    tt.return
  }
}
"""


@pytest.mark.parametrize(("n", "rounds"), [(8, 2), (9, 3)])
def test_indices_are_interpolated_and_rounded_up(n: int, rounds: int) -> None:
    """Lanes 0 to 7 of an image twice as large read pixels 0, 0, 0, 1, 1, 2, 2 and 3."""
    traffic = count(parse(ROUNDED, stage="ttir"), {"n": n}, (1, 1, 1))
    assert not traffic.reason
    (load,) = traffic.accesses
    assert (load.bytes, load.distinct_bytes) == (32 * rounds, 16)


STILL = """
module {
  tt.func public @still(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>, %n: i32) {
    %r = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32>
    %row = tt.expand_dims %r {axis = 0 : i32} : tensor<8xi32> -> tensor<1x8xi32>
    %tile = tt.broadcast %row : tensor<1x8xi32> -> tensor<4x8xi32>
    %s = tt.splat %x : !tt.ptr<f32> -> tensor<4x8x!tt.ptr<f32>>
    %p = tt.addptr %s, %tile : tensor<4x8x!tt.ptr<f32>>, tensor<4x8xi32>
    %ns = tt.splat %n : i32 -> tensor<4x8xi32>
    %mask = arith.cmpi slt, %tile, %ns : tensor<4x8xi32>
    %v = tt.load %p, %mask : tensor<4x8x!tt.ptr<f32>>
    %ys = tt.splat %y : !tt.ptr<f32> -> tensor<4x8x!tt.ptr<f32>>
    %old = tt.atomic_rmw fadd, acq_rel, gpu, %ys, %v, %mask : (tensor<4x8x!tt.ptr<f32>>, tensor<4x8xf32>, tensor<4x8xi1>) -> tensor<4x8xf32>
    tt.return
  }
}
"""  # noqa: E501


def test_what_elements_share_is_read_once_and_updated_by_each() -> None:
    """Four rows have one address, as ``x + rows[:, None] * 0 + columns``; 2 of 8 are masked off."""
    traffic = count(parse(STILL, stage="ttir"), {"n": 6}, (3, 1, 1))
    load, update = traffic.accesses
    assert (load.bytes, load.distinct_bytes, load.masked) == (3 * 6 * 4, 6 * 4, 3 * 8)
    assert (update.bytes, update.distinct_bytes) == (3 * 24 * 4, 4)


WAITING = """
module {
  tt.func public @waiting(%x: !tt.ptr<f32>, %locks: !tt.ptr<i32>, %n: i32) {
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %pid = tt.get_program_id x : i32
    %lock = tt.addptr %locks, %pid : !tt.ptr<i32>, i32
    %last = scf.while (%turn = %zero) : (i32) -> i32 {
      %at = tt.addptr LOCK : !tt.ptr<i32>, i32
      %held = tt.atomic_cas acq_rel, gpu, %at, %zero, %one : (!tt.ptr<i32>, i32, i32) -> i32
      %again = arith.cmpi eq, %held, %one : i32
      scf.condition(%again) %held : i32
    } do {
    ^bb0(%next: i32):
      INSIDE
      scf.yield %next : i32
    }
    %to = tt.addptr %x, %pid : !tt.ptr<f32>, i32
    %value = tt.load %to : !tt.ptr<f32>
    tt.store %to, %value : !tt.ptr<f32>
    tt.return
  }
}
"""


FETCHED = "%f = tt.addptr %x, %next : !tt.ptr<f32>, i32\n%v = tt.load %f : !tt.ptr<f32>"


@pytest.mark.parametrize(
    ("lock", "inside", "is_wait"),
    [
        ("%lock, %n", "", True),
        ("%lock, %n", "%more = tt.load %lock : !tt.ptr<i32>", True),
        ("%lock, %turn", "", False),  # a search
        ("%lock, %n", "tt.store %lock, %next : !tt.ptr<i32>", False),  # work that is taken
        ("%lock, %n", FETCHED, False),
    ],
)
def test_a_loop_that_waits_for_other_programs_counts_once(
    lock: str, inside: str, is_wait: bool
) -> None:
    text = WAITING.replace("LOCK", lock).replace("INSIDE", inside)
    traffic = count(parse(text, stage="ttir"), {"n": 0}, (4, 1, 1))
    if not is_wait:
        assert "how often this while loop runs is not known" in traffic.reason
        assert traffic.read_bytes is None
        return
    assert (traffic.read_bytes, traffic.written_bytes) == (4 * (4 + 4), 4 * (4 + 4))
    assert traffic.at_least == "line 8: this loop waits for other programs, and counts once"


SCALED = """
module {
  tt.func public @scaled(%x: !tt.ptr<f32>, %scale: f32) {
    %r = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32>
    %c3 = arith.constant dense<3> : tensor<8xi32>
    %away = arith.subi %r, %c3 : tensor<8xi32>
    %near = math.absi %away : tensor<8xi32>
    %f = arith.sitofp %near : tensor<8xi32> to tensor<8xf32>
    %s = tt.splat %scale : f32 -> tensor<8xf32>
    %g = arith.mulf %f, %s : tensor<8xf32>
    %i = arith.fptosi %g : tensor<8xf32> to tensor<8xi32>
    %p = tt.splat %x : !tt.ptr<f32> -> tensor<8x!tt.ptr<f32>>
    %q = tt.addptr %p, %i : tensor<8x!tt.ptr<f32>>, tensor<8xi32>
    %v = tt.load %q : tensor<8x!tt.ptr<f32>>
    tt.return
  }
}
"""


@pytest.mark.parametrize(("scale", "distinct"), [(0.5, 3), (1, 5), (2.0, 5), (0.1, 1)])
def test_indices_follow_from_an_argument_that_is_a_float(scale: float, distinct: int) -> None:
    """Lanes 0 to 7 are 3, 2, 1, 0, 1, 2, 3 and 4 from the third."""
    module = parse(SCALED, stage="ttir")
    traffic = count(module, {"scale": scale}, (1, 1, 1))
    assert not traffic.reason
    assert traffic.accesses[0].distinct_bytes == 4 * distinct
    assert "scale is a floating-point number" in count(module, {}, (1, 1, 1)).reason


COMPACTED = """
module {
  tt.func public @compacted(%mask: !tt.ptr<i32>, %counts: !tt.ptr<i32>, %out: !tt.ptr<f32>) {
    %c1 = arith.constant 1 : i32
    %c0 = arith.constant 0 : i32
    %c4 = arith.constant 4 : i32
    %zero = arith.constant dense<0> : tensor<64xi32>
    %value = arith.constant dense<1.0> : tensor<64xf32>
    %r = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>
    %first = tt.load %counts : !tt.ptr<i32>
    %end:2 = scf.for %i = %c0 to %c4 step %c1 iter_args(%to = %out, %step = %first) -> (!tt.ptr<f32>, i32) : i32 {
      %p = tt.splat %mask : !tt.ptr<i32> -> tensor<64x!tt.ptr<i32>>
      %q = tt.addptr %p, %r : tensor<64x!tt.ptr<i32>>, tensor<64xi32>
      %m = tt.load %q : tensor<64x!tt.ptr<i32>>
      %next = tt.addptr %to, %step : !tt.ptr<f32>, i32
      %sum = "tt.reduce"(%m) <{axis = 0 : i32}> ({
      ^bb0(%a: i32, %b: i32):
        %ab = arith.addi %a, %b : i32
        tt.reduce.return %ab : i32
      }) : (tensor<64xi32>) -> i32
      %s = tt.splat %next : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>>
      %t = tt.addptr %s, %r : tensor<64x!tt.ptr<f32>>, tensor<64xi32>
      tt.store %t, %value : tensor<64x!tt.ptr<f32>>
      scf.yield %next, %sum : !tt.ptr<f32>, i32
    }
    %last = tt.addptr %end#0, %end#1 : !tt.ptr<f32>, i32
    %ls = tt.splat %last : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>>
    %lt = tt.addptr %ls, %r : tensor<64x!tt.ptr<f32>>, tensor<64xi32>
    tt.store %lt, %value : tensor<64x!tt.ptr<f32>>
    tt.return
  }
}
"""  # noqa: E501


def test_what_stands_for_a_tensor_of_data_stands_for_no_sum_of_it() -> None:
    module = parse(COMPACTED, stage="ttir")
    given = {"mask": "i32[64]", "counts": "i32[4]", "out": "fp32[4096]"}
    held = {"counts": np.arange(4, dtype=np.int32)}
    found = survey(module, given, (4, 1, 1), granules=None, contents=held, numbers="random")
    assert "malformed" not in found.traffic.reason


LARGER = """
        %more = arith.cmpi sgt, %a, %b : i32
        %ab = arith.select %more, %a, %b : i32
"""


@pytest.mark.parametrize(
    ("combination", "step"),
    [
        ("        %ab = arith.addi %a, %b : i32\n", 4 * 64 + 3),
        ("        %ab = arith.minsi %a, %b : i32\n", 4),
        ("        %ab = arith.maxsi %a, %b : i32\n", 7),
        (LARGER, 7),
    ],
)
def test_reductions_of_known_contents_are_computed(combination: str, step: int) -> None:
    """Programs sum the lengths of the sequences before theirs."""
    text = COMPACTED.replace("        %ab = arith.addi %a, %b : i32\n", combination)
    numbers = np.full(64, 4, dtype=np.int32)
    numbers[17] = 7
    held = {"counts": np.array([step] * 4, dtype=np.int32), "mask": numbers}
    given = {"mask": "i32[64]", "counts": "i32[4]", "out": "fp32[4096]"}
    found = survey(parse(text, stage="ttir"), given, (4, 1, 1), granules=None, contents=held)
    assert not found.traffic.reason
    # Five tiles of 64 elements, each a step after the one before.
    distinct = 4 * (64 + 4 * min(step, 64))
    assert found.traffic.distinct_written_bytes == distinct


def test_contents_of_what_is_only_written_do_not_matter() -> None:
    module = parse(COMPACTED, stage="ttir")
    given = {"mask": "i32[64]", "counts": "i32[4]", "out": "i32[4096]"}
    held = {name: np.ones(4096, dtype=np.int32) for name in given}
    found = survey(module, given, (4, 1, 1), granules=None, contents=held)
    assert not found.traffic.reason
    copied = COMPACTED.replace("tt.load %counts : !tt.ptr<i32>", "tt.load %out : !tt.ptr<f32>")
    found = survey(parse(copied, stage="ttir"), given, (4, 1, 1), granules=None, contents=held)
    assert "out, whose contents are given, is written" in found.traffic.reason


GATHER = """
module {
  tt.func public @gather(%x: !tt.ptr<f32>, %index: !tt.ptr<i32>, %y: !tt.ptr<f32>) {
    %c64 = arith.constant 64 : i32
    %c256 = arith.constant dense<256> : tensor<64xi32>
    %pid = tt.get_program_id x : i32
    %ip = tt.addptr %index, %pid : !tt.ptr<i32>, i32
    %row = tt.load %ip : !tt.ptr<i32>
    %range = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>
    %rows = tt.splat %row : i32 -> tensor<64xi32>
    %start = arith.muli %rows, %c256 : tensor<64xi32>
    %offsets = arith.addi %start, %range : tensor<64xi32>
    %xs = tt.splat %x : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>>
    %xp = tt.addptr %xs, %offsets : tensor<64x!tt.ptr<f32>>, tensor<64xi32>
    %v = tt.load %xp : tensor<64x!tt.ptr<f32>>
    %first = arith.muli %pid, %c64 : i32
    %base = tt.splat %first : i32 -> tensor<64xi32>
    %place = arith.addi %base, %range : tensor<64xi32>
    %ys = tt.splat %y : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>>
    %yp = tt.addptr %ys, %place : tensor<64x!tt.ptr<f32>>, tensor<64xi32>
    tt.store %yp, %v : tensor<64x!tt.ptr<f32>>
    tt.return
  }
}
"""


@pytest.mark.parametrize("numbers", ["ascending", "random", "equal"])
def test_rows_whose_numbers_are_data_are_assumed_for_an_estimate(numbers: Numbers) -> None:
    module, grid = parse(GATHER, stage="ttir"), (512, 1, 1)
    given = {"x": "fp32[1024, 256]", "index": "i32[512]", "y": "fp32[512, 64]"}
    assert "depends on data" in count(module, given, grid).reason
    found = survey(module, given, grid, granules=Granules(64, 32), numbers=numbers)
    assert found.scattered
    assert "depends on data" in found.assumed
    traffic = found.traffic
    assert traffic.reason == ""
    assert traffic.read_bytes == 512 * (4 + 256)
    (x,) = [each for each in traffic.arguments if each.argument == "x"]
    assert all(each.out_of_bounds is None for each in traffic.accesses)
    if numbers == "ascending":  # each row once
        assert x.distinct_read_bytes == 512 * 256
    elif numbers == "equal":
        assert x.distinct_read_bytes == 256
    else:  # of 1,024 rows, 512 random ones hit 403 on average, each of 256 bytes
        assert x.distinct_read_bytes % 256 == 0
        assert 350 < x.distinct_read_bytes // 256 < 512


@pytest.mark.parametrize("grid", [(2**31 - 1, 1, 1), (2**31 - 1, 65535, 65535)])
def test_a_launch_of_too_many_programs_is_unknown(
    grid: tuple[int, int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(work, "STEPS", 100_000)  # a fifteenth, in a fifteenth of the time
    begun = time.process_time()
    found = count(parse(ADD, stage="ttir"), {"x": "fp32[64]", "y": "fp16[64]", "n": 64}, grid)
    assert time.process_time() - begun < 2
    assert "takes more than 100,000 steps" in found.reason
    assert found.read_bytes is None


def test_loops_in_loops_of_too_many_iterations_are_unknown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(work, "STEPS", 100_000)  # a fifteenth, in a fifteenth of the time
    text = """
module {
  tt.func public @nest(%x: !tt.ptr<f32>) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %many = arith.constant 8000 : i32
    %few = arith.constant 1000 : i32
    scf.for %i = %c0 to %many step %c1 : i32 {
      scf.for %j = %c0 to %many step %c1 : i32 {
        scf.for %k = %c0 to %few step %c1 : i32 {
          %o = arith.addi %j, %k : i32
          %p = tt.addptr %x, %o : !tt.ptr<f32>, i32
          %v = tt.load %p : !tt.ptr<f32>
        }
      }
    }
    tt.return
  }
}
"""
    begun = time.process_time()
    found = count(parse(text, stage="ttir"), {"x": "fp32[64]"}, (1, 1, 1))
    assert time.process_time() - begun < 4
    assert "takes more than 100,000 steps" in found.reason


def test_a_tensor_of_thousands_of_digits_has_no_size() -> None:
    launch = {"x": f"fp32[{'9' * 5000}]", "y": "fp16[64]", "n": 64}
    found = count(parse(ADD, stage="ttir"), launch, (1, 1, 1))
    assert found.read_bytes == 256


def test_a_launch_of_no_ctas_is_reported(tmp_path: Path) -> None:
    spill = shutil.copytree(SOFTMAX.parent / "spill-h100", tmp_path / "spill")
    manifest = json.loads((spill / "irlens.json").read_text())
    (spill / "irlens.json").write_text(json.dumps({**manifest, "grid": [4096, 1, 0]}))
    (capture,) = load(spill)
    assert isinstance(capture, Capture)
    assert inspect(capture).time is None


def test_a_large_matmul_is_counted() -> None:
    size = 16384
    folder = SOFTMAX.parent / "matmul-a100"
    ttir = (folder / "matmul_kernel.ttir").read_text(encoding="utf-8")  # tiles of 64 x 64 x 32
    matrices = dict.fromkeys(("a_ptr", "b_ptr", "c_ptr"), f"fp16[{size}, {size}]")
    strides = dict.fromkeys(("M", "N", "K", "stride_am", "stride_bk", "stride_cm"), size)
    begun = time.process_time()
    found = count(parse(ttir, stage="ttir"), {**matrices, **strides}, ((size // 64) ** 2, 1, 1))
    assert time.process_time() - begun < 30
    assert found.reason == ""
    assert found.read_bytes == 2 * (size // 64) ** 2 * 64 * size * 2
    assert found.written_bytes == found.distinct_written_bytes == size * size * 2
    assert found.distinct_read_bytes == 2 * size * size * 2


@pytest.mark.parametrize("room", [64 << 20, 1 << 10], ids=["remembered", "too large"])
def test_machines_that_differ_share_the_addresses_of_a_launch(
    monkeypatch: pytest.MonkeyPatch, room: int
) -> None:
    """Waves are counted for each, as if nothing had been evaluated before."""
    monkeypatch.setattr(evaluated, "_MOST", room)
    monkeypatch.setattr(tiles, "_MOST_KEPT", room >> 4)
    forget = partial(evaluated.Latest[Evaluated], room, lambda each: each.bytes)
    tensors = {"x": "fp32[96, 80]", "m": 90, "n": 10, "stride": 80, "step": 1}

    def counted(wave: int | None) -> Survey:
        module = parse(TILE, stage="ttir")
        return survey(module, tensors, (2, 12, 1), granules=Granules(64, 32), wave=wave)

    waves = (None, 3, 5, 24)
    alone = []
    for wave in waves:
        monkeypatch.setattr(traffic, "LAUNCHES", forget())
        alone.append(counted(wave))
    launches: list[Launch] = []

    def run(*arguments: Any) -> Iterator[Any]:
        launches.append(arguments[1])
        return evaluation.run(*arguments)

    monkeypatch.setattr(traffic, "LAUNCHES", forget())
    monkeypatch.setattr(traffic, "run", run)
    assert [counted(wave) for wave in waves] == alone
    assert len({each.traffic.wave_read_bytes for each in alone}) > 2
    assert len(launches) == (1 if room > 1 << 20 else len(waves))


def test_distinct_numbers_are_sorted_or_marked() -> None:
    rng = np.random.default_rng(7)
    for shift in (0, 6, 40):
        for span in (4, 1 << 10, 1 << 20):
            numbers = (rng.integers(-span, span, 1 << 10) << shift) + 3
            assert np.array_equal(distinct(numbers), np.unique(numbers))
    ends = np.array([1 << 62, -(1 << 62), -(1 << 62), (1 << 63) - 1, -(1 << 63)])
    assert np.array_equal(distinct(ends), np.unique(ends))


def test_bytes_of_tiles_side_by_side_are_those_of_each_tile() -> None:
    """Rows of some tiles touch, and make intervals of as many lengths as there are gaps."""
    bases = np.array([0, 8, 16, 32, 48, 56, 1024, 1032, 1048], np.int64)
    for pitch in (16, 64, 256):
        starts = np.arange(4) * pitch
        found = Coverage(4)
        found.add(bases, starts, np.full(4, 8))
        touched = {base + start + n for base in bases for start in starts for n in range(8)}
        assert found.size() == len(touched)
        assert found.granules(32) == len({each // 32 for each in touched})
