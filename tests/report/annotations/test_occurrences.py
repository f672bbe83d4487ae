"""Where the names of a stage are defined and used."""

import re
from pathlib import Path

import pytest

import irlens
from irlens.analyze.capture_code import CaptureCode
from irlens.artifacts.load import load_bytes
from irlens.model.capture import Capture
from irlens.model.listing import Occurrences
from irlens.report.annotations import occurrences

SAMPLES = Path(__file__).parents[3] / "samples" / "captures"


def sample(name: str) -> Capture:
    return next(iter(irlens.load(SAMPLES / name)))


def where(capture: Capture, stage: str, name: str, line: int | None = None) -> tuple[object, ...]:
    found = occurrences(CaptureCode(capture), stage, name, line=line)
    assert found.name == name
    return found.definitions, found.uses


def artifact(name: str, text: str) -> Capture:
    (capture,) = load_bytes(text.encode(), name=name)
    return capture


TTIR = """module {
  tt.func public @k(%n: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %a:2 = scf.for %i = %c0 to %n step %c1 iter_args(%x = %c0, %y = %c1) -> (i32, i32) : i32 {
      %s = arith.addi %x, %i : i32
      scf.yield %s, %y : i32, i32
    }
    %b = scf.for %i = %c0 to %n step %c1 iter_args(%x = %a#1) -> (i32) : i32 {
      %s = arith.muli %x, %a#0 : i32
      scf.yield %s : i32
    }
    tt.return
  }
}
"""


def test_ssa_values_of_regions_side_by_side_are_told_apart() -> None:
    capture = artifact("k.ttir", TTIR)
    assert where(capture, "ttir", "%a#1") == where(capture, "ttir", "%a") == ((5,), (9, 10))
    assert where(capture, "ttir", "%x") == ((5, 9), (6, 10))
    assert where(capture, "ttir", "%x", 6) == ((5,), (6,))
    assert where(capture, "ttir", "%x", 10) == ((9,), (10,))
    assert where(capture, "ttir", "%s", 7) == ((6,), (7,))
    assert where(capture, "ttir", "%n") == ((2,), (5, 9))
    assert where(capture, "ttir", "%nothing") == ((), ())


LLIR = """define void @f(ptr %0) {
  %2 = load i32, ptr %0, align 4
  br label %3

3:                                                ; preds = %3, %1
  %4 = phi i32 [ %2, %1 ], [ %5, %3 ]
  %5 = add i32 %4, 1
  call void asm sideeffect "mov %2, %4;", ""()
  br i1 true, label %3, label %6

6:
  ret void
}

define void @g(ptr %0) {
  %2 = load i32, ptr %0, align 4
  ret void
}
"""


def test_llvm_values_and_labels() -> None:
    capture = artifact("f.llir", LLIR)
    assert where(capture, "llir", "%2", 2) == ((2,), (6,))
    assert where(capture, "llir", "%2", 16) == ((16,), ())
    assert where(capture, "llir", "%3") == where(capture, "llir", "3:") == ((5,), (3, 6, 9))
    assert where(capture, "llir", "%0", 1) == ((1,), (2,))


PTX = """
.version 8.0
.target sm_80
.address_size 64
.visible .entry k() {
.reg .pred p;
.reg .b32 %r<3>;
mov.u32 %r1, %tid.x;
LOOP:
{
.reg .pred p;
setp.lt.u32 p, %r1, 5;
@p add.u32 %r2, %r1, 1;
}
setp.lt.u32 p, %r2, 5;
@p bra LOOP;
ret;
}
"""


def test_ptx_registers_are_those_of_their_scope() -> None:
    capture = artifact("k.ptx", PTX)
    assert where(capture, "ptx", "p") == ((12, 15), (13, 16))
    assert where(capture, "ptx", "p", 13) == ((12,), (13,))
    assert where(capture, "ptx", "p", 16) == ((15,), (16,))
    assert where(capture, "ptx", "%r1") == ((8,), (12, 13))
    assert where(capture, "ptx", "%tid") == ((), (8,))
    assert where(capture, "ptx", "LOOP") == ((9,), (16,))


@pytest.mark.parametrize(("stage", "name"), [("sass", ".L_x_1"), ("ptx", "$L__BB0_3")])
def test_labels_are_found_where_they_stand_and_where_they_are_branched_to(
    stage: str, name: str
) -> None:
    capture = sample("softmax-h100")
    found = occurrences(CaptureCode(capture), stage, name)
    assert len(found.definitions) == 1
    assert found.uses
    assert occurrences(CaptureCode(capture), stage, f"{name}:").definitions == found.definitions


def test_a_machine_register_is_found_in_wider_ones() -> None:
    capture = sample("softmax-h100")
    lines = CaptureCode(capture)["sass"].text.split("\n")
    pair = re.compile(r"\[R(\d+)\.64(?:\+0x\w+)?\]")
    addresses = {n: int(m[1]) for n, line in enumerate(lines, 1) if (m := pair.search(line))}
    assert addresses
    for line, low in addresses.items():
        assert line in occurrences(CaptureCode(capture), "sass", f"R{low}").uses
        assert line in occurrences(CaptureCode(capture), "sass", f"R{low + 1}").uses
    assert occurrences(CaptureCode(capture), "sass", "RZ") == Occurrences(
        name="RZ", definitions=(), uses=()
    )


def test_amds_ranges_overlap() -> None:
    capture = sample("softmax-mi300x")
    part, whole = (occurrences(CaptureCode(capture), "amdgcn", name) for name in ("s5", "s[4:7]"))
    assert set(part.uses) < set(whole.uses)
    assert occurrences(CaptureCode(capture), "amdgcn", "s[7:4]").uses == ()
    label = occurrences(CaptureCode(capture), "amdgcn", ".LBB0_2")
    assert len(label.definitions) == 1
    assert label.uses


def test_metadata_has_no_names() -> None:
    capture = sample("softmax-h100")
    assert where(capture, "metadata", "name") == ((), ())
