"""What is changed to test an explanation: the cause that a finding names, and nothing else."""

import pytest

from irlens.analyze import ttgir_refusals
from irlens.analyze.counterfactuals import Change, Symptom, changes_for
from irlens.isa.mlir import parse
from irlens.model.config import Config
from irlens.model.report import Blame, Finding
from irlens.model.source import SourceLocation

TTIR = """module {
  tt.func public @k(%a: i32, %time: i32, %n_cols: i32, %x: !tt.ptr<f32>) {
    %0 = tt.splat %x : !tt.ptr<f32> -> tensor<16x!tt.ptr<f32>>
    %1 = tt.load %0 : tensor<16x!tt.ptr<f32>>
    tt.return
  }
}
"""
LOAD = 4


def _changes(code: str, blame: Blame | None, **constexprs: int) -> list[Change]:
    finding = Finding(
        code=code,
        severity="warning",
        message="a (address) and n_cols (mask) are not known to be multiples of 16",
        hint="",
        stage="ttir",
        line=LOAD,
        source=None,
        blame=blame,
    )
    config = Config(
        num_warps=4, num_stages=3, num_ctas=1, maxnreg=None, constexprs=dict(constexprs), args={}
    )
    return changes_for(Symptom(finding, parse(TTIR, stage="ttir"), config))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["n_cols"], "n_cols known to be a multiple of 16"),
        (["a"], "a known to be a multiple of 16"),
        (["time", "n_cols"], "time and n_cols known to be multiples of 16"),
    ],
)
def test_the_blamed_arguments_alone_are_changed(arguments: list[str], words: str) -> None:
    """Whatever the words of the message are."""
    (change,) = _changes("IRL301", Blame(reason="", kind="alignment", arguments=arguments))
    assert change.words == words
    assert change.ttir.count("tt.divisibility = 16") == len(arguments)


def test_a_message_without_a_blame_changes_nothing() -> None:
    assert _changes("IRL301", None) == []


def test_equal_constexprs_do_not_tell_which_is_the_dimension() -> None:
    """One of them may only happen to remove the finding."""
    rows = Blame(reason="", kind="rows")
    assert all(each.is_cause for each in _changes("IRL302", rows, WIDTH=16))
    equal = _changes("IRL302", rows, WIDTH=16, HEIGHT=16, OTHER=64)
    assert {each.words.partition("=")[0] for each in equal} == {"WIDTH", "HEIGHT"}
    assert not any(each.is_cause for each in equal)
    # Each is doubled before one of them is made eight times as large.
    assert [each.words for each in equal][:3] == ["WIDTH=32", "HEIGHT=32", "WIDTH=64"]


def test_a_stride_becomes_a_constant_in_the_kernel_alone() -> None:
    (change,) = _changes("IRL302", Blame(reason="", kind="untold", arguments=["n_cols"]))
    assert "%n_cols: i32" in change.ttir
    assert change.ttir.count("arith.constant 1 : i32") == 1


@pytest.mark.parametrize("warps", [0, -4])
def test_no_warps_are_not_doubled(warps: int) -> None:
    finding = Finding(
        code="IRL310", severity="note", message="", hint="", stage="ttir", line=LOAD, source=None
    )
    config = Config(num_warps=warps, num_stages=3, num_ctas=1, maxnreg=None, constexprs={}, args={})
    assert changes_for(Symptom(finding, parse(TTIR, stage="ttir"), config)) == []


MASKLESS_LOAD = 6
MASKLESS = """module {
  tt.func public @k(%x: !tt.ptr<f32>) {
    %r = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>
    %p = tt.splat %x : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>>
    %q = tt.addptr %p, %r : tensor<64x!tt.ptr<f32>>, tensor<64xi32>
    %v = tt.load %q : tensor<64x!tt.ptr<f32>>
    tt.return
  }
}
"""


@pytest.mark.parametrize(
    ("tensor", "elements"),
    [("fp32[5, 10]", "50"), ("fp32[5, 10]:strides[12, 1]", ""), ("fp32", "")],
)
def test_a_mask_counts_the_elements_of_a_whole_tensor_alone(tensor: str, elements: str) -> None:
    """The last element of a view with gaps lies beyond its number of elements."""
    finding = Finding(
        code="IRL304", severity="error", message="", hint="", stage="ttir", line=MASKLESS_LOAD,
        source=None, blame=Blame(reason="", arguments=["x"]),
    )  # fmt: skip
    config = Config(
        num_warps=4, num_stages=3, num_ctas=1, maxnreg=None, constexprs={}, args={"x": tensor}
    )
    found = changes_for(Symptom(finding, parse(MASKLESS, stage="ttir"), config))
    words = [f"a mask of the {elements} elements that it has"] if elements else []
    assert [each.words for each in found] == words


DESCRIBED = """module {{
  tt.func public @k({arguments}) {{
    %x1 = tt.splat %x : !tt.ptr<f16> -> tensor<64x!tt.ptr<f16>>
    %v = tt.load %x1 : tensor<64x!tt.ptr<f16>>
    %u = tt.splat {last} : i64 -> tensor<64xi64>
    tt.return
  }}
}}
"""


@pytest.mark.parametrize(
    ("arguments", "last"),
    [
        ("%x: !tt.ptr<f16>, %x.shape.0: i64, %x.stride.0: i64, %x.padding: i1", "%x.stride.0"),
        ("%x: !tt.ptr<f16>, %x_0: i64, %x_1: i64, %x_2: i1", "%x_1"),  # as Triton 3.6 names them
    ],
)
def test_the_last_stride_of_a_descriptor_becomes_1(arguments: str, last: str) -> None:
    finding = Finding(
        code="IRL203", severity="warning", message="", hint="", stage="ttir", line=LOAD,
        source=None, blame=Blame(reason=ttgir_refusals.NARROW),
    )  # fmt: skip
    config = Config(num_warps=4, num_stages=3, num_ctas=1, maxnreg=None, constexprs={}, args={})
    module = parse(DESCRIBED.format(arguments=arguments, last=last), stage="ttir")
    first = changes_for(Symptom(finding, module, config))[0]
    assert first.words.startswith("the last stride of each descriptor known to be 1")
    constant = f"%irlens_constant_{last.removeprefix('%')}"
    assert f"{constant} = arith.constant 1 : i64" in first.ttir
    assert f"tt.splat {constant} : i64" in first.ttir


SUMMED = """#at = loc("k.py":3:1)
module {
  tt.func public @k(%n: i32, %a: tensor<16x16xf16>, %q: !tt.ptr<i32>) {
    %cst = arith.constant dense<0.000000e+00> : tensor<16x16xf16>
    %r = scf.for %i = %n to %n step %n iter_args(%t = %cst) -> (tensor<16x16xf16>)  : i32 {
      tt.store %q, %i : !tt.ptr<i32>
      %d = tt.dot %a, %a, %t : tensor<16x16xf16> * tensor<16x16xf16> -> tensor<16x16xf16> loc(#at)
      scf.yield %d : tensor<16x16xf16>
    }
    tt.return
  }
}
"""


def test_a_sum_is_fp32_behind_a_store_of_its_loop() -> None:
    finding = Finding(
        code="IRL404", severity="warning", message="", hint="", stage="ttgir", line=1,
        source=SourceLocation("k.py", 3, 1), blame=Blame(reason="", kind="type"),
    )  # fmt: skip
    config = Config(num_warps=4, num_stages=3, num_ctas=1, maxnreg=None, constexprs={}, args={})
    module = parse(SUMMED, stage="ttir")
    (change,) = changes_for(Symptom(finding, module, config))
    assert "tt.store" not in change.ttir
    assert "-> tensor<16x16xf32>" in change.ttir


COLUMN_OF_TILE = """module {
  tt.func public @k(%x: !tt.ptr<f32>, %n: i32) {
    %0 = tt.splat %x : !tt.ptr<f32> -> tensor<16x64x!tt.ptr<f32>>
    %1 = tt.splat %n : i32 -> tensor<16xi32>
    %r = tt.make_range {end = 16 : i32, start = 0 : i32} : tensor<16xi32>
    %rows = arith.addi %r, %1 : tensor<16xi32>
    %2 = tt.expand_dims %rows {axis = AXIS : i32} : tensor<16xi32> -> tensor<SHAPExi32>
    %3 = tt.broadcast %2 : tensor<SHAPExi32> -> tensor<16x64xi32>
    %4 = tt.addptr %0, %3 : tensor<16x64x!tt.ptr<f32>>, tensor<16x64xi32>
    %v = tt.load %4 : tensor<16x64x!tt.ptr<f32>>
    tt.return
  }
}
"""
COLUMN_LOAD = 10


@pytest.mark.parametrize(
    ("axis", "shape", "dimension", "is_hinted"),
    [
        ("1", "16x1", 1, False),
        ("1", "16x1", -1, False),
        ("1", "16x1", 0, True),
        ("1", "16x1", -2, True),
        ("0", "1x16", 1, True),
        ("0", "1x16", 0, False),
    ],
)
def test_amd_offsets_are_contiguous_along_their_own_dimension(
    axis: str, shape: str, dimension: int, *, is_hinted: bool
) -> None:
    finding = Finding(
        code="IRL302", severity="warning", message="", hint="", stage="ttir", line=COLUMN_LOAD,
        source=None, blame=Blame(reason="", kind="untold", dimension=dimension),
    )  # fmt: skip
    config = Config(num_warps=4, num_stages=3, num_ctas=1, maxnreg=None, constexprs={}, args={})
    text = COLUMN_OF_TILE.replace("AXIS", axis).replace("SHAPE", shape)
    symptom = Symptom(finding, parse(text, stage="ttir"), config, is_amd=True)
    (change,) = changes_for(symptom)
    rows, address = (change.ttir.splitlines()[number] for number in (5, 8))
    assert "tt.contiguity" in address
    assert ("tt.contiguity = dense<4> : tensor<1xi32>" in rows) == is_hinted


SPREAD = """#at = loc("k.py":3:1)
module {
  tt.func public @k(%x: !tt.ptr<i8>, %n: i32) {
    %r = tt.make_range {end = 256 : i32, start = 0 : i32} : tensor<256xi32>
    %0 = tt.splat %x : !tt.ptr<i8> -> tensor<256x!tt.ptr<i8>>
    %1 = tt.addptr %0, %r : tensor<256x!tt.ptr<i8>>, tensor<256xi32>
    %v = tt.load %1 : tensor<256x!tt.ptr<i8>> loc(#at)
    tt.return
  }
}
"""


def test_each_of_two_causes_is_tried_alone_first() -> None:
    """A load that is only too narrow is not spread over too many threads."""
    finding = Finding(
        code="IRL203", severity="warning", message="", hint="", stage="ttgir", line=1,
        source=SourceLocation("k.py", 3, 1),
        blame=Blame(reason="it is small", kind="spread", suffices=4),
    )  # fmt: skip
    config = Config(num_warps=4, num_stages=3, num_ctas=1, maxnreg=None, constexprs={}, args={})
    found = changes_for(Symptom(finding, parse(SPREAD, stage="ttir"), config))
    alone = [each.words for each in found[:-1]]
    *_, told, both = found
    assert alone == ["num_warps=2", "num_warps=1", told.words]
    assert told.settings == {}
    assert told.cause == "the compiler does not know that the addresses are contiguous"
    assert both.words == f"num_warps=1, and {told.words}"
    assert both.cause == f"{told.cause}, and it is small"


def test_a_flag_is_no_extent_of_a_tile() -> None:
    """``True`` equals 1."""
    finding = Finding(
        code="IRL309", severity="warning", message="", hint="", stage="ttir", line=LOAD,
        source=None, blame=Blame(reason="", kind="lanes"),
    )  # fmt: skip
    text = TTIR.replace("<16x", "<1x")
    config = Config(
        num_warps=4, num_stages=3, num_ctas=1, maxnreg=None, args={},
        constexprs={"FLAG": True, "ROWS": 1},
    )  # fmt: skip
    symptom = Symptom(finding, parse(text, stage="ttir"), config, target="gfx942")
    found = changes_for(symptom)
    assert not any("FLAG" in each.words for each in found)
    (both,) = (each for each in found if each.words == "ROWS=64, num_warps=1")
    assert not both.is_cause


@pytest.mark.parametrize(
    ("grid", "programs", "first"),
    [
        ((108, 1, 1), 108, "PROGRAMS=132 in place of 108"),
        ((128, 1, 1), 128, "PROGRAMS=132 in place of 128"),
        ((16, 1, 1), 16, "PROGRAMS=8 in place of 16"),  # the extent of a tile, too
        ((8, 16, 1), 128, "PROGRAMS=64 in place of 128"),
        ((1, 1, 1), True, ""),
    ],
)
def test_a_persistent_kernel_gets_a_program_for_each_sm(
    grid: tuple[int, int, int], programs: int, first: str
) -> None:
    finding = Finding(
        code="IRL502", severity="note", message="", hint="", stage=None, line=None, source=None
    )
    config = Config(
        num_warps=4, num_stages=3, num_ctas=1, maxnreg=None, args={}, grid=grid,
        constexprs={"PROGRAMS": programs},
    )  # fmt: skip
    share = f"""%n = arith.constant {int(programs)} : i32
    %share = arith.divsi %n_cols, %n : i32
    tt.return"""
    module = parse(TTIR.replace("tt.return", share), stage="ttir")
    symptom = Symptom(finding, module, config, sm_count=132)
    assert next((each.words for each in changes_for(symptom)), "") == first
