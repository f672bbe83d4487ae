"""How the machine issues the accesses of a ttgir; the counters of an H200 test real kernels."""

import pytest

from irlens.analyze.issue_table import IssueTable, issued_accesses
from irlens.analyze.request_runs import Runs
from irlens.analyze.traffic.tally import Machine, Moved, Tally
from irlens.analyze.warp_requests import Requests, WarpAccess, count
from irlens.isa.amdgcn import parse as parse_amdgcn
from irlens.isa.mlir import parse
from irlens.isa.ptx import parse as parse_ptx

BLOCKED = (
    "#ttg.blocked<{sizePerThread = [4], threadsPerWarp = [32], warpsPerCTA = [2], order = [0]}>"
)
TTGIR = f"""#blocked = {BLOCKED}
module attributes {{"ttg.num-warps" = 2 : i32, "ttg.threads-per-warp" = 32 : i32}} {{
  tt.func public @k(%p: !tt.ptr<f32>, %q: tensor<256x!tt.ptr<f16>, #blocked>) {{
    %s = tt.load %p : !tt.ptr<f32> loc(#loc1)
    %v = tt.load %q : tensor<256x!tt.ptr<f16>, #blocked> loc(#loc2)
    tt.store %q, %v : tensor<256x!tt.ptr<f16>, #blocked> loc(#loc3)
    tt.return
  }}
}}
#loc1 = loc("k.py":1:3)
#loc2 = loc("k.py":2:3)
#loc3 = loc("k.py":3:3)
"""
PTX = """.file 1 "k.py"
.loc 1 1 3
ld.global.b32 %r1, [%rd1];
.loc 1 2 3
ld.global.v2.b32 {%r2, %r3}, [%rd2];
.loc 1 3 3
"""
STORE = "st.global.v2.b32 [%rd2], {%r2, %r3};"


def _issued(ttgir: str = TTGIR, ptx: str = PTX + STORE) -> list[tuple[str, int, int] | str | None]:
    """Return direction, bytes of an element and of an instruction, or the reason."""
    (function,) = parse_ptx(ptx).kernels
    return [
        (one.access.direction, one.access.element_bytes, one.access.width)
        if one.access
        else one.reason
        for one in issued_accesses(parse(ttgir), function)
    ]


def test_scalars_and_tensors() -> None:
    assert _issued() == [("load", 4, 4), ("load", 2, 8), ("store", 2, 8)]
    (function,) = parse_ptx(PTX + STORE).kernels
    scalar = issued_accesses(parse(TTGIR), function)[0].access
    assert scalar
    assert count(scalar, 0) == Requests(2, 2, 1, Runs(2, 2, 1), 2, 2)


def test_scalars_of_a_loop_touch_a_sector_each_time() -> None:
    """64 indices in 8 sectors: the L1 has 7 of 8, which both warps load at once."""
    (function,) = parse_ptx(PTX + STORE).kernels
    scalar = issued_accesses(parse(TTGIR), function)[0].access
    assert scalar
    tally = Tally(Moved(4), Machine(issue=(scalar,)))
    tally.requests = Requests(requests=128, sectors=128, ideal_sectors=64)
    assert tally.touched(32) == 64


def test_what_is_unknown_says_why() -> None:
    scalar, load, store = ("load", 4, 4), ("load", 2, 8), ("store", 2, 8)
    assert _issued(ptx=PTX) == [scalar, load, "no instruction has its location"]
    narrow = PTX + STORE + "st.global.b16 [%rd2], %rs1;"
    assert _issued(ptx=narrow) == [scalar, load, "its instructions differ in width"]
    wide = PTX + "st.global.v4.b32 [%rd2], {%r2, %r3, %r4, %r5};"
    assert _issued(ptx=wide) == [scalar, load, "no thread holds 16 bytes of this tensor"]
    odd = TTGIR.replace("sizePerThread = [4]", "sizePerThread = [3]")
    assert _issued(odd) == [scalar, *["#ttg.blocked: 3 is not a power of two"] * 2]
    bare = TTGIR.replace('"ttg.num-warps" = 2 : i32, ', "")
    assert _issued(bare) == ["the module has no ttg.num-warps", load, store]


def test_one_instruction_stores_in_either_branch() -> None:
    """A scan over chunks stores its state, and the last one elsewhere."""
    stored = "tt.store %q, %v : tensor<256x!tt.ptr<f16>, #blocked> loc(#loc3)"
    other = stored.replace("%q", "%o").replace("loc3", "loc4")
    branch = f"scf.if %c {{\n{stored}\n}} else {{\n{other}\n}} loc(#loc5)"
    ttgir = TTGIR.replace(stored, branch) + '#loc4 = loc("k.py":4:3)\n#loc5 = loc("k.py":5:3)\n'
    scalar, load, store = ("load", 4, 4), ("load", 2, 8), ("store", 2, 8)
    assert _issued(ttgir) == [scalar, load, store, store]
    lost = "no instruction has its location"
    same = ttgir.replace("\n} else {\n", "\n")  # in one branch both are executed
    assert _issued(same) == [scalar, load, store, lost]
    unlike = ttgir.replace("%o, %v", "%o, %w")
    assert _issued(unlike) == [scalar, load, store, lost]


def test_loads_of_one_place_in_two_layouts_are_both_executed() -> None:
    """A load that the compiler repeats for a second layout, with narrower instructions."""
    narrow = BLOCKED.replace("[4]", "[2]")
    ttgir = TTGIR.replace("#blocked =", f"#narrow = {narrow}\n#blocked =").replace(
        "    tt.store",
        "    %w = tt.load %r : tensor<256x!tt.ptr<f16>, #narrow> loc(#loc2)\n    tt.store",
    )
    twice = "ld.global.b32 %r4, [%rd2];\n" * 2
    again = f".loc 1 2 3\n{twice}.loc 1 3 3\n"
    ptx = PTX.replace(".loc 1 3 3\n", again) + STORE
    assert _issued(ttgir, ptx) == [("load", 4, 4), ("load", 2, 8), ("load", 2, 4), ("store", 2, 8)]
    (function,) = parse_ptx(ptx).kernels
    table = IssueTable(parse(ttgir), function)
    load = next(each for each in parse(ttgir).named("tt.load") if each.operand_type.shape)
    issue = table.find(load, [load.index])
    assert isinstance(issue, tuple)
    assert [each.width for each in issue] == [8, 4]
    several = "the ttgir has several different accesses for it"
    assert table.find(load, [0, load.index, 1]) == several
    # Loads of an unrolled loop, as many as the ttgir has: each is one of them, in their order.
    assert table.find(load, [load.index, 0]) == issue[:1]
    assert table.find(load, [0, load.index]) == issue[1:]
    fewer = _issued(
        ttgir, PTX.replace(".loc 1 3 3\n", again.replace(twice, twice[: len(twice) // 2])) + STORE
    )
    assert fewer[1:3] == ["its instructions differ in width"] * 2


SCALES = """#blocked = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [64], \
warpsPerCTA = [2], order = [0]}>
module attributes {"ttg.num-warps" = 2 : i32, "ttg.threads-per-warp" = 64 : i32} {
  tt.func public @k(%p: !tt.ptr<i8>, %o: tensor<128xi32, #blocked>) {
    %s = amdg.buffer_load %p[%o] : tensor<128xi8, #blocked> loc(#loc1)
    %c = ttg.convert_layout %s : tensor<128xi8, #blocked> -> tensor<128xi8, #blocked> loc(#loc3)
    %x = arith.extsi %c : tensor<128xi8, #blocked> to tensor<128xi32, #blocked> loc(#loc2)
    tt.return
  }
}
#loc1 = loc("k.py":1:3)
#loc2 = loc("k.py":2:3)
#loc3 = loc("k.py":3:3)
"""


def _scales(instruction: str, ttgir: str = SCALES) -> list[int | str | None]:
    """The width of each load, whose instruction stands in line 2; or why it is unknown."""
    text = f'\t.file\t1 "/" "k.py"\n\t.type k,@function\nk:\n\t.loc\t1 2 3\n\t{instruction}\n'
    text += "\ts_endpgm\n.Lfunc_end0:\n.amdhsa_kernel k\n.end_amdhsa_kernel\n"
    (kernel,) = parse_amdgcn(text).kernels
    found = issued_accesses(parse(ttgir), kernel)
    return [each.access.width if each.access else each.reason for each in found]


def test_scalar_loads_make_no_requests_of_waves() -> None:
    """As of an index that is the same for the whole program; they pass the vector cache."""
    text = """
        .file 1 "/" "k.py"
        .type k,@function
    k:
        .loc 1 1 3
        {}
        s_endpgm
    .Lfunc_end0:
    """
    module = parse(TTGIR)
    (load, _) = module.named("tt.load")

    def found(instruction: str) -> tuple[WarpAccess, ...] | str:
        (kernel,) = parse_amdgcn(text.format(instruction)).functions
        return IssueTable(module, kernel).find(load, [load.index])

    assert found("s_load_dword s4, s[0:1], 0x0") == ()
    assert found("v_mov_b32 v0, v1") == "no instruction has its location"


def test_an_access_that_llvm_makes_of_two_lines_says_so() -> None:
    """Neighbours that two lines load become one instruction, which has no line."""
    at_load = SCALES.replace("loc(#loc1)", "loc(#loc3)")
    wide = "buffer_load_ubyte v1, v2, s[0:3], 0 offen"
    merged = f".loc\t1 0 0\n\t{wide}"
    (reason,) = _scales(merged, at_load)
    assert reason == "no instruction has its location, as where LLVM makes one of several lines"


def test_a_load_that_extends_its_value_stands_where_it_is_converted() -> None:
    lost = "no instruction has its location"
    load = "buffer_load_sbyte v1, v2, s[0:3], 0 offen"
    assert _scales(load) == [1]
    # An element of another size, and a place that another access has, too.
    assert _scales(load.replace("sbyte", "sshort")) == [lost]
    other = SCALES.replace("    tt.return", "    %y = amdg.buffer_load %p[%o] : "
                           "tensor<128xi8, #blocked> loc(#loc2)\n    tt.return")  # fmt: skip
    assert _scales(load, other) == [lost, 1]
    # Two loads that the place may be of.
    twice = SCALES.replace(
        "    tt.return",
        """    %t = amdg.buffer_load %p[%o] : \
tensor<128xi8, #blocked> loc(#loc3)
    %z = arith.extsi %t : tensor<128xi8, #blocked> to tensor<128xi32, #blocked> loc(#loc2)
    tt.return""",
    )
    assert _scales(load, twice) == [lost, lost]


@pytest.mark.parametrize("pointer", ["!tt.ptr<i8>", "<i8>"])
def test_a_copy_to_lds_prints_its_pointer_in_full_or_in_short(pointer: str) -> None:
    """Triton 3.9 writes the first, versions before it the second."""
    copy = f"{pointer}[tensor<128xi32, #blocked>] -> <128xi8, #shared, #smem, mutable> loc(#loc2)"
    ttgir = SCALES.replace("    tt.return", f"    %t = amdg.buffer_load_to_local %p[%o] into %b : "
                           f"{copy}\n    tt.return")  # fmt: skip
    assert _scales("buffer_load_ubyte v1, s[0:3], 0 offen lds", ttgir)[-1] == 1


def test_an_instruction_without_a_fixed_size_makes_its_access_unknown_by_name() -> None:
    at_load = SCALES.replace("loc(#loc1)", "loc(#loc2)")
    assert _scales("buffer_load_ubyte v1, v2, s[0:3], 0 offen", at_load) == [1]
    for instruction in ("global_load_block v[0:31], v[40:41], off", "image_load v0, v1, s[0:7]"):
        mnemonic = instruction.split()[0]
        assert _scales(instruction, at_load) == [f"how many bytes {mnemonic} moves is unknown"]


def _found(ttgir: str, ptx: str) -> tuple[WarpAccess, ...] | str:
    """Return how the load of a tensor is issued."""
    module = parse(ttgir)
    (function,) = parse_ptx(ptx).kernels
    load = next(each for each in module.named("tt.load") if each.operand_type.shape)
    return IssueTable(module, function).find(load, [load.index])


def test_loads_of_one_block_are_each_executed_however_alike() -> None:
    again = "    %w = tt.load %q : tensor<256x!tt.ptr<f16>, #blocked> loc(#loc2)\n    tt.store"
    twice = "ld.global.v2.b32 {%r2, %r3}, [%rd2];\n"
    issue = _found(TTGIR.replace("    tt.store", again), PTX.replace(twice, twice * 2) + STORE)
    assert isinstance(issue, tuple)
    assert [each.width for each in issue] == [8, 8]


def test_alike_loads_of_an_iteration_before_a_loop_and_in_it_are_all_executed() -> None:
    """As page numbers, that the rows of keys and of values are loaded by."""
    load = "%v = tt.load %q : tensor<256x!tt.ptr<f16>, #blocked> loc(#loc2)\n"
    loop = (
        f"{load}    {load}    scf.for %i = %x to %y step %z  : i32 {{\n    {load}    {load}    }}"
    )
    issued = "ld.global.v2.b32 {%r2, %r3}, [%rd2];\n"
    one, other = f"@%p1 {issued}", f"@%p2 {issued}"
    ptx = PTX.replace(issued, (one + other) * 2) + STORE
    issue = _found(TTGIR.replace(load.rstrip("\n"), loop), ptx)
    assert isinstance(issue, tuple)
    assert [(each.width, each.merged) for each in issue] == [(8, frozenset())] * 2


def test_a_load_that_is_pipelined_in_one_of_its_layouts_counts_once_in_each() -> None:
    """A copy before the loop and in it, and a load of the same elements in it."""
    copy = (
        "ttg.async_copy_global_to_local %q, %m : tensor<256x!tt.ptr<f16>, #blocked>"
        " -> <256xf16, #shared, #smem, mutable> loc(#loc2)\n"
    )
    loop = f"    %a = {copy}    scf.for %i = %x to %y step %z  : i32 {{\n    %b = {copy}"
    ttgir = TTGIR.replace("    %v = tt.load", f"{loop}    %v = tt.load").replace(
        "    tt.return", "    }\n    tt.return"
    )
    copied = "cp.async.ca.shared.global [%r1], [%rd2], 8;\n"
    load = "ld.global.v2.b32 {%r2, %r3}, [%rd2];\n"
    issue = _found(ttgir, PTX.replace(load, copied * 2 + load) + STORE)
    assert isinstance(issue, tuple)
    assert [(each.direction, each.width) for each in issue] == [("copy", 8), ("load", 8)]


def test_copies_before_and_after_a_loop_are_of_the_same_load() -> None:
    """As AMD pipelines the values of attention in four stages: the last copy is after the loop."""
    copy = (
        "ttg.async_copy_global_to_local %q, %m : tensor<256x!tt.ptr<f16>, #blocked>"
        " -> <256xf16, #shared, #smem, mutable> loc(#loc2)\n"
    )
    load = "    %v = tt.load %q : tensor<256x!tt.ptr<f16>, #blocked> loc(#loc2)\n"
    loop = f"    scf.for %i = %x to %y step %z  : i32 {{\n    %b = {copy}    }}\n"
    module = parse(TTGIR.replace(load, f"    %a = {copy}{loop}    %c = {copy}"))
    copied = "cp.async.ca.shared.global [%r1], [%rd2], 8;\n"
    (function,) = parse_ptx(
        PTX.replace("ld.global.v2.b32 {%r2, %r3}, [%rd2];\n", copied * 3) + STORE
    ).kernels
    (_, origin) = parse(TTGIR).named("tt.load")
    issue = IssueTable(module, function).find(origin, [origin.index])
    assert isinstance(issue, tuple)
    assert [each.direction for each in issue] == ["copy"]


def test_loads_of_one_address_are_merged_by_the_assembler() -> None:
    """As of x // 1024: Nsight Compute counted one request where the PTX has four loads.

    Of loads under two predicates in turn (rows of attention's pages) it counted all, and of the
    guarded loads of a layer norm's backward pass, which are in a row, one.
    """
    load = "ld.global.v2.b32 {%r2, %r3}, [%rd2];\n"
    one = "ld.global.b16 %rs1, [%rd2];\n"
    merged = _found(TTGIR, PTX.replace(load, one * 4) + STORE)
    apart = _found(TTGIR, PTX.replace(load, "".join(
        one.replace("rd2", f"rd{n}") for n in range(4))) + STORE)  # fmt: skip
    in_turn = _found(TTGIR, PTX.replace(load, f"@%p1 {one}@%p2 {one}" * 2) + STORE)
    guarded = _found(TTGIR, PTX.replace(load, f"@%p1 {one}" * 2 + f"@%p2 {one}" * 2) + STORE)
    assert isinstance(merged, tuple)
    assert isinstance(apart, tuple)
    assert isinstance(in_turn, tuple)
    assert isinstance(guarded, tuple)
    found = (merged, apart, in_turn, guarded)
    assert [count(each, [0] * 256).requests for (each,) in found] == [2, 8, 8, 4]
