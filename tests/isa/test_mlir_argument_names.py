"""Arguments that Triton up to 3.4 only numbers get the names of the kernel's parameters."""

import re
import shutil
from pathlib import Path

import pytest

from irlens import inspect, load
from irlens.isa.mlir import parse
from irlens.isa.mlir.normalization import named_text

CAPTURE = Path(__file__).parents[2] / "samples" / "captures" / "softmax-h100"

TEXT = """module {
  tt.func public @k(%arg0: !tt.ptr<f32>, %arg1: i32, %arg2: f32) {
    %0 = scf.for %arg3 = %arg1 to %arg1 step %arg1 iter_args(%arg4 = %arg0) -> (!tt.ptr<f32>) {
      scf.yield %arg4 : !tt.ptr<f32>
    }
    %1 = tt.call @inner(%arg1) : (i32) -> i32
    tt.return
  }
  tt.func private @inner(%arg0: i32) -> i32 {
    tt.return %arg0 : i32
  }
}
"""


def names(text: str | None) -> list[str]:
    kernel = parse(text or "").kernel
    assert kernel is not None
    return [argument.name for argument in kernel.regions[0].blocks[0].arguments]


def test_the_names_are_those_of_the_parameters_in_order() -> None:
    named = named_text(parse(TEXT), {"x_ptr": "fp32[8]", "n": 8, "scale": 0.5})
    assert names(named) == ["%x_ptr", "%n", "%scale"]
    assert named is not None
    assert "scf.for %arg3 = %n to %n step %n iter_args(%arg4 = %x_ptr)" in named
    assert "@inner(%arg0: i32)" in named  # another function has arguments of its own
    assert named.count("\n") == TEXT.count("\n")


@pytest.mark.parametrize(
    "given",
    [
        {"x_ptr": "fp32[8]", "stride": 1, "n": 8, "scale": 0.5},
        {"x_ptr": "fp32[8]", "n": 8, "none": None, "scale": 1.0},
    ],
)
def test_numbers_that_are_1_and_none_are_no_arguments(given: dict[str, object]) -> None:
    expected = [
        f"%{name}" for name, value in given.items() if value is not None and name != "stride"
    ]
    assert names(named_text(parse(TEXT), given)) == expected


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"x_ptr": "fp32[8]", "n": 8},
        {"n": 8, "x_ptr": "fp32[8]", "scale": 0.5},
        {"x_ptr": "fp32[8]", "n": 8, "scale": 0.5, "more": 2},
    ],
)
def test_what_is_not_certain_stays_as_it_is(given: dict[str, object]) -> None:
    assert named_text(parse(TEXT), given) is None


def test_names_that_are_there_stay() -> None:
    named = named_text(parse(TEXT), {"x_ptr": "fp32[8]", "n": 8, "scale": 0.5})
    assert named_text(parse(named or ""), {"a": "fp32[8]", "b": 8, "c": 0.5}) is None


def test_a_numbered_capture_moves_as_many_bytes(tmp_path: Path) -> None:
    entry = tmp_path / "entry"
    shutil.copytree(CAPTURE, entry)
    for path in (*entry.glob("*.ttir"), *entry.glob("*.ttgir")):
        text = path.read_text()
        for number, name in enumerate(names(text)):
            text = re.sub(rf"{name}(?![\w$.-])", f"%arg{number}", text)
        path.write_text(text)
    (named,), (numbered,) = load(CAPTURE), load(entry)
    expected, found = inspect(named), inspect(numbered)
    assert found.traffic is not None
    assert found.traffic.read_bytes == 16_777_216
    assert found.traffic == expected.traffic
    assert found.time == expected.time


ASSIGNED = """
#loc = loc("/k.py":3:0)
#loc1 = loc("/k.py":5:0)
#loc2 = loc("out"(#loc))
#loc3 = loc("in_a"(#loc))
#loc4 = loc("in_b"(#loc))
#loc5 = loc("x"(#loc4))
module {
  tt.func public @k(%out: !tt.ptr<f32> {tt.divisibility = 16 : i32} loc("out"(#loc)), %x: !tt.ptr<f32> loc("x"(#loc3)), %x_0: !tt.ptr<f32> loc("again"(#loc5))) {
    %x_1 = tt.load %x : !tt.ptr<f32> loc(#loc1)
    %y = tt.load %x_0 : !tt.ptr<f32> loc(#loc1)
    tt.store %out, %y : !tt.ptr<f32> loc(#loc1)
    tt.return loc(#loc1)
  } loc(#loc)
} loc(#loc)
"""  # noqa: E501


def test_parameters_that_are_assigned_to_other_names_keep_theirs() -> None:
    text = named_text(parse(ASSIGNED), {})
    assert text is not None
    assert names(text) == ["%out", "%in_a", "%in_b"]
    for kept in ("tt.load %in_a :", "tt.load %in_b :", "%x_1 ="):
        assert kept in text
    taken = ASSIGNED.replace("%y", "%in_b")
    assert named_text(parse(taken), {}) is None
