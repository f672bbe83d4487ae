"""Which reads run ahead, against the PTX of the same kernels; and why the others do not."""

import json
import tarfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from irlens import gpus as arch
from irlens.analyze import cfg, shared_memory, ttgir_loads, ttgir_refusals
from irlens.analyze.mlir_loops import requested_stages
from irlens.analyze.pipelines import cp_async
from irlens.analyze.pipelines.ptx_loops import analyze_loops
from irlens.analyze.pipelines.verdicts import PtxKernel
from irlens.compiler import Request, capture
from irlens.isa import ptx
from irlens.isa.mlir import parse
from irlens.model.config import ConstexprValue
from irlens.model.errors import ParseError
from irlens.model.memory import LoopLoad
from irlens.model.report import Pipeline
from irlens.report.inspection import Inspection

DATA = Path(__file__).parents[1] / "data"


def archive(path: Path, *ends: str) -> dict[str, dict[str, str]]:
    """Files of an archive by stem and ending."""
    stems: dict[str, dict[str, str]] = {}
    with tarfile.open(path) as tar:
        for member in tar:
            stem, _, end = member.name.rpartition(".")
            if end in ends and (file := tar.extractfile(member)):
                stems.setdefault(stem, {})[end] = file.read().decode()
    return {stem: files for stem, files in stems.items() if "ttgir" in files}


@pytest.fixture(scope="module")
def compiled() -> dict[str, tuple[LoopLoad, ...]]:
    files = archive(DATA / "mlir" / "triton.tar.xz", "ttgir", "json")
    return {
        name: ttgir_loads.find(parse(found["ttgir"]), json.loads(found["json"])["num_stages"])
        for name, found in files.items()
    }


def pipelines(files: dict[str, str]) -> list[Pipeline]:
    requested = requested_stages(None, None)
    found = []
    for function in ptx.parse(files["ptx"]).functions:
        loops = analyze_loops(function, cfg.build(function))
        found += cp_async.find(PtxKernel(loops=loops, requested=requested))
    return found


def test_the_ptx_of_the_kernels_of_an_h200_runs_as_far_ahead() -> None:
    """The groups in PTX are followed by code that knows nothing of ttgir."""
    compared = 0
    for name, files in archive(
        DATA / "h200" / "triton-cache.tar.xz", "ttgir", "json", "ptx"
    ).items():
        loads = ttgir_loads.find(parse(files["ttgir"]), json.loads(files["json"])["num_stages"])
        copied = [load for load in loads if load.operation == "ttg.async_copy_global_to_local"]
        for found in pipelines(files):
            here = [load for load in copied if load.loop_source == found.source]
            ahead = {load.iterations_ahead for load in here}
            if found.achieved_stages is not None:
                assert ahead == {found.achieved_stages - 1}, name
                compared += 1
            elif found.verdict == "not pipelined":
                assert not here, name
            if found.bytes_per_copy is not None:
                assert found.bytes_per_copy <= max(load.widest_access_bytes or 0 for load in here)
    assert compared >= 20


@pytest.mark.parametrize("kernel", ["matmul", "matmul_tma"])
@pytest.mark.parametrize("stages", [3, 4])
def test_blackwell_multiplies_the_first_tiles_before_the_loop(
    kernel: str, stages: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The copies of a tile that is used before the loop do not run ahead of the loop."""
    monkeypatch.setenv("IRLENS_CACHE_DIR", str(tmp_path))
    b200 = arch.find("b200").target
    tile: dict[str, ConstexprValue] = dict.fromkeys(("BLOCK_SIZE_M", "BLOCK_SIZE_N"), 64)
    rest = {"BLOCK_SIZE_K": 32, "GROUP_SIZE_M": 8, "num_warps": 4, "num_stages": stages}
    (found,) = capture(Request(kernel=kernel, target=b200, settings={**tile, **rest}))
    report = Inspection(found)
    (copies,) = (each for each in report.pipelines if each.kind in ("cp.async", "tma"))
    assert copies.prefetch_iterations == stages - 1
    assert {load.iterations_ahead for load in report.loads} == {stages - 1}


@pytest.mark.parametrize(
    ("kernel", "operation", "state", "ahead", "copies"),
    [
        ("3.9.0-sm_90-softmax4", "ttg.async_copy_global_to_local", "asynchronous", 3, 3),
        ("3.6.0-sm_80-softmax4", "ttg.async_copy_global_to_local", "asynchronous", 3, 3),
        ("3.9.0-gfx942-softmax4", "amdg.buffer_load", "registers", 3, None),
        ("3.9.0-gfx1100-softmax4", "amdg.buffer_load", "registers", 3, None),
        ("3.9.0-gfx950-matmul3", "amdg.buffer_load_to_local", "asynchronous", 2, 3),
        ("3.9.0-gfx942-matmul3", "amdg.buffer_load", "registers", 2, None),
        ("3.9.0-sm_90-tma", "ttng.async_tma_copy_global_to_local", "asynchronous", 2, 3),
        ("3.6.0-sm_90-tma_ws", "ttng.async_tma_copy_global_to_local", "asynchronous", None, 3),
        ("3.9.0-gfx1250-tma", "amdg.async_tdm_copy_global_to_local", "asynchronous", 2, 2),
    ],
)
def test_every_mechanism_is_seen(
    compiled: dict[str, tuple[LoopLoad, ...]],
    kernel: str,
    operation: str,
    state: str,
    ahead: int | None,
    copies: int | None,
) -> None:
    loads = compiled[kernel]
    assert loads
    assert {load.operation for load in loads} == {operation}
    assert {load.state for load in loads} == {state}
    assert {load.iterations_ahead for load in loads} == {ahead}
    assert {load.buffer_copies for load in loads} == {copies}
    assert {load.reason for load in loads} == {""}


def test_the_reads_of_a_matmul(compiled: dict[str, tuple[LoopLoad, ...]]) -> None:
    a, b = compiled["3.9.0-sm_90-matmul3"]
    assert (a.shape, a.element, a.bytes_per_iteration) == ((128, 64), "f16", 128 * 64 * 2)
    assert (b.shape, b.element, b.bytes_per_iteration) == ((64, 128), "f16", 64 * 128 * 2)
    assert a.widest_access_bytes == b.widest_access_bytes == 16
    assert a.buffer_line != b.buffer_line
    assert [str(load.source) for load in (a, b)] == ["kernels.py:129", "kernels.py:130"]


def test_a_prologue_in_an_outer_loop_is_no_read_of_it(
    compiled: dict[str, tuple[LoopLoad, ...]],
) -> None:
    loads = compiled["3.9.0-sm_90-persistent"]
    assert [load.state for load in loads] == ["asynchronous", "asynchronous"]
    assert len({load.loop_line for load in loads}) == 1


REASONS = [
    ("3.9.0-sm_75-softmax4", ttgir_refusals.NO_CP_ASYNC),
    ("3.9.0-sm_90-softmax1", ttgir_refusals.ONE_STAGE),
    ("3.9.0-sm_90-layernorm", ttgir_refusals.NO_DOT),
    ("3.9.0-gfx942-layernorm", ttgir_refusals.NO_DOT),
    ("3.9.0-sm_90-halfload", ttgir_refusals.UNKNOWN),
]


@pytest.mark.parametrize(("kernel", "reason"), REASONS)
def test_reasons_in_what_triton_wrote(
    compiled: dict[str, tuple[LoopLoad, ...]], kernel: str, reason: str
) -> None:
    loads = compiled[kernel]
    assert loads
    assert {(load.state, load.iterations_ahead, load.reason) for load in loads} == {
        ("in place", 0, reason)
    }


def test_scales_of_a_byte_are_too_narrow_to_copy(
    compiled: dict[str, tuple[LoopLoad, ...]],
) -> None:
    loads = {load.shape: load for load in compiled["3.9.0-sm_90-scaled"]}
    assert loads[128, 128].state == "asynchronous"
    assert loads[128, 4].reason == ttgir_refusals.NARROW
    assert loads[128, 4].widest_access_bytes == 1


HEAD = (
    "#b = #ttg.blocked<{{sizePerThread = [2], threadsPerWarp = [32], warpsPerCTA = [4],"
    " order = [0]}}>\n"
    'module attributes {{ttg.target = "{target}"}} {{\n{text}\n}}'
)
LOOP = 'scf.for %i = %l to %u step %s : i32 {{\n{body}\n}}{attributes} loc("k.py":1:1)'
POINTERS = "tensor<256x!tt.ptr<f32>, #b>"
DOT = "%d = tt.dot %x, %y, %z : tensor<4xf32> * tensor<4xf32> -> tensor<4xf32>"


def refusals(
    body: str, attributes: str = " {tt.num_stages = 3 : i32}", target: str = "cuda:90"
) -> list[str]:
    text = HEAD.format(target=target, text=LOOP.format(body=body, attributes=attributes))
    return [load.reason for load in ttgir_loads.find(parse(text), 3)]


@pytest.mark.parametrize(
    ("body", "attributes", "reason"),
    [
        (f"%x = tt.load %p : {POINTERS}", " {tt.num_stages = 3 : i32}", ttgir_refusals.UNKNOWN),
        (f"%x = tt.load %p : {POINTERS}", "", ttgir_refusals.NO_DOT),
        (
            f"%x = tt.load %p : {POINTERS}",
            " {tt.num_stages = 0 : i32}",
            ttgir_refusals.SWITCHED_OFF,
        ),
        ("%x = tt.load %p : !tt.ptr<f16>", " {tt.num_stages = 3 : i32}", ttgir_refusals.NARROW),
        (f"%w = tt.load %p : !tt.ptr<f32>\n{DOT}", "", ttgir_refusals.NO_OPERAND),
        (f"scf.if %k {{\n%x = tt.load %p : {POINTERS}\n}}", "", ttgir_refusals.CONDITIONAL),
        (f"%x = tt.load %p : {POINTERS}\n{DOT}", "", ttgir_refusals.UNKNOWN),
        (
            f"%x = tt.load %p : {POINTERS}\nscf.if %k {{\n{DOT}\n}}",
            "",
            ttgir_refusals.DOT_IN_BRANCH,
        ),
        (f"%w = tt.load %p : {POINTERS}\n{DOT}", "", ttgir_refusals.NO_OPERAND),
        (f"%z = tt.load %p : {POINTERS}\n{DOT}", "", ttgir_refusals.NO_OPERAND),
        (
            f"%w = tt.load %p : {POINTERS}\nttg.local_store %w, %m : tensor<4xf32>\n{DOT}",
            "",
            ttgir_refusals.UNKNOWN,
        ),
        (
            "%x = tt.load %p : tensor<256x!tt.ptr<i8>, #b>",
            " {tt.num_stages = 3 : i32}",
            ttgir_refusals.NARROW,
        ),
        (
            "%x = ttg.async_copy_global_to_local %p, %m : " + POINTERS + " -> <256xf32, #s, #smem>",
            "",
            ttgir_loads.OWN_ITERATION,
        ),
    ],
)
def test_reasons(body: str, attributes: str, reason: str) -> None:
    assert refusals(body, attributes) == [reason]


def test_narrow_loads_of_amd_are_not_refused_for_cp_async() -> None:
    """Triton leaves them alone on gfx942, and pipelines them on gfx950 (tests/session/test_why)."""
    body = "%x = tt.load %p : tensor<256x!tt.ptr<i8>, #b>"
    assert refusals(body, target="hip:gfx942") == [ttgir_refusals.SMALL]
    assert refusals(body, target="hip:gfx950") == [ttgir_refusals.UNKNOWN]


@pytest.mark.parametrize(
    ("inside", "reason"),
    [("ttg.barrier all", ttgir_refusals.BARRIER), ("gpu.barrier", ttgir_refusals.BARRIER)],
)
def test_loops_with_barriers_are_refused(inside: str, reason: str) -> None:
    body = f"{inside}\n%x = tt.load %p : {POINTERS}"
    assert refusals(body) == [reason]


def test_two_stages_have_no_room_for_an_index_and_what_it_points_at() -> None:
    body = (
        f"%j = tt.load %p : {POINTERS}\n"
        f"%q = tt.addptr %p, %j : {POINTERS}, tensor<256xi32, #b>\n%x = tt.load %q : {POINTERS}"
    )
    assert refusals(body, " {tt.num_stages = 2 : i32}") == [
        ttgir_refusals.INDIRECT,
        ttgir_refusals.UNKNOWN,
    ]


def test_nested_and_while_loops() -> None:
    inner = LOOP.format(body="tt.return", attributes="")
    outer = f"%x = tt.load %p : {POINTERS}\n{inner}"
    assert refusals(outer) == [ttgir_refusals.OUTER]
    loop = f"scf.while (%i = %l) : (i32) -> i32 {{\n}} do {{\n%x = tt.load %p : {POINTERS}\n}}"
    found = ttgir_loads.find(parse(HEAD.format(target="cuda:90", text=loop)), 3)
    assert [load.reason for load in found] == [ttgir_refusals.NOT_FOR]


READ = f'%x = tt.load %p : {POINTERS} loc("k.py":2:2)'


@pytest.mark.parametrize(
    ("before", "inside", "expected"),
    [
        ([READ], [READ], [1]),
        ([READ, READ], [READ], [2]),
        ([READ] * 4, [READ, READ], [2, 2]),  # an unrolled loop reads two tiles an iteration
        ([READ] * 3, [READ, READ], [None, None]),
        ([], [READ], [0]),
        ([READ.replace("2:2", "2:9")], [READ], [0]),
    ],
)
def test_what_stands_before_the_loop_counts(
    before: list[str], inside: list[str], expected: list[int | None]
) -> None:
    loop = LOOP.format(body="\n".join(inside), attributes=" {tt.num_stages = 3 : i32}")
    text = HEAD.format(target="cuda:90", text="\n".join([*before, loop]))
    loads = ttgir_loads.find(parse(text), 3)
    assert [load.iterations_ahead for load in loads] == expected


def test_loops_in_a_row_have_their_own_prologues() -> None:
    """An outer loop that Python unrolled: the same places, twice."""
    loop = LOOP.format(body=READ, attributes="")
    text = HEAD.format(target="cuda:90", text="\n".join([READ, READ, loop, READ, loop]))
    loads = ttgir_loads.find(parse(text), 3)
    assert [load.iterations_ahead for load in loads] == [2, 1]


def test_a_copy_with_the_line_of_the_function_has_that_of_its_loop() -> None:
    """NVIDIA's pass that specializes warps gives the copies which it makes no other line."""
    loop = LOOP.format(body=f"{READ}\n{READ}".replace("2:2", "7:1", 1), attributes="")
    function = (
        f'tt.func public @k(%p: {POINTERS}) {{\n{loop.replace("1:1", "9:1")}\n}} loc("k.py":7:1)'
    )
    loads = ttgir_loads.find(parse(HEAD.format(target="cuda:90", text=function)), 3)
    assert [load.source and load.source.line for load in loads] == [9, 2]


def test_a_cluster_s_share_is_not_guessed() -> None:
    text = HEAD.format(target="cuda:90", text=LOOP.format(body=READ, attributes=""))
    (load,) = ttgir_loads.find(parse(text.replace("{ttg", '{"ttg.num-ctas" = 2 : i32, ttg')), 3)
    assert load.bytes_per_iteration is None


TOKENS = (
    "%a %b #c %c#1 %d:2 , = ttg.local_alloc scf.for scf.yield tt.load tt.dot ttg.memdesc_index "
    "ttg.async_copy_global_to_local ttg.warp_specialize ( ) { } [ ] : -> loc(#l) "
    "!ttg.memdesc<4x8xf16,#s,#smem> tensor<4x!tt.ptr<f16>,#b> {tt.num_stages=3:i32} ^bb1(%a:i32): "
    "iter_args(%x=%a) i32 tt.return ttng.init_barrier {contiguity=8}"
)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(TOKENS.split()), min_size=1, max_size=30))
def test_nothing_that_parses_breaks_an_analysis(tokens: list[str]) -> None:
    text = '#l = loc("k.py":1:2)\n#s = #ttg.swizzled_shared<{}>\ntt.return\n' + " ".join(tokens)
    try:
        module = parse(text)
    except ParseError:
        return
    loads = ttgir_loads.find(module, 3)
    assert all(load.reason for load in loads if load.state == "in place")
    memory = shared_memory.explain(module, 0)
    assert memory.peak_bytes is None or memory.peak_bytes <= (memory.buffers_bytes or 0)


CARRIED = """
%first = tt.load %q : POINTERS loc("k.py":2:1)
%r:3 = scf.for %i = %l to %u step %s iter_args(%a = %z, %b = %first, %c = %first)
    -> (tensor<256xf32>, tensor<256xf32>, tensor<256xf32>) : i32 {
  %sum = arith.addf %a, USED : tensor<256xf32>
  %x = tt.load %p : POINTERS loc("k.py":9:1)
  scf.yield %sum, %c, %x : tensor<256xf32>, tensor<256xf32>, tensor<256xf32>
} loc("k.py":1:1)
"""


@pytest.mark.parametrize(("used", "ahead"), [("%b", 2), ("%c", 1), ("%a", 0)])
def test_a_load_that_the_loop_yields_runs_ahead(used: str, ahead: int) -> None:
    """Its copies before the loop were the same as the loads of the loop before, and are no more."""
    body = CARRIED.replace("POINTERS", POINTERS).replace("USED", used)
    (load,) = ttgir_loads.find(parse(HEAD.format(target="hip:gfx942", text=body)), 2)
    assert load.iterations_ahead == ahead
    assert load.state == ("registers" if ahead else "in place")
