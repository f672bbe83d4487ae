"""Buffers and their lifetimes, against what Triton really allocated."""

import json
import tarfile
from pathlib import Path

import pytest

from irlens.analyze import shared_memory
from irlens.compiler import Request, capture
from irlens.isa.mlir import parse
from irlens.isa.mlir.values import Value
from irlens.model.config import Target
from irlens.model.memory import SharedMemory
from irlens.report.inspection import Inspection

DATA = Path(__file__).parents[1] / "data"
# What takes scratch beside buffers that are alive, in the kernels at hand.
BUSY = ("tt.reduce", "tt.scan", "tt.histogram", "ttng.tensormap_create", "ttg.warp_specialize")


def account(path: Path) -> dict[str, tuple[str, SharedMemory, int]]:
    """Each kernel's ttgir, its account and its number of warps."""
    files = {}
    with tarfile.open(path) as tar:
        for member in tar:
            if member.name.endswith((".ttgir", ".json")) and (file := tar.extractfile(member)):
                files[member.name] = file.read().decode()
    accounts = {}
    for name, text in files.items():
        if name.endswith(".ttgir"):
            metadata = json.loads(files[name.removesuffix("ttgir") + "json"])
            found = shared_memory.explain(parse(text), metadata["shared"])
            accounts[name] = (text, found, metadata["num_warps"])
    return accounts


@pytest.fixture(scope="module")
def on_h200() -> dict[str, tuple[str, SharedMemory, int]]:
    return account(DATA / "h200" / "triton-cache.tar.xz")


@pytest.fixture(scope="module")
def compiled() -> dict[str, tuple[str, SharedMemory, int]]:
    return account(DATA / "mlir" / "triton.tar.xz")


def test_every_byte_of_the_kernels_of_an_h200_is_accounted_for(
    on_h200: dict[str, tuple[str, SharedMemory, int]],
) -> None:
    assert len(on_h200) == 31
    for name, (text, memory, warps) in on_h200.items():
        assert memory.reason == "", name
        if "softmax" in name:  # two reductions of one float per warp, one after the other
            assert memory.remainder_bytes == 4 * warps, name
            assert {use.operation for use in memory.scratch} == {"tt.reduce"}
        elif "spill" in name:
            assert (memory.peak_bytes, memory.remainder_bytes) == (0, 2048)
            assert "ttg.local_alloc" not in text
        else:
            assert memory.remainder_bytes == 0, name
            assert memory.scratch == ()


def test_lifetimes_are_triton_s_in_every_version_and_for_both_vendors(
    compiled: dict[str, tuple[str, SharedMemory, int]],
) -> None:
    """Where no scratch competes, the peak is the total; nowhere is it more."""
    exact = 0
    for name, (text, memory, _) in compiled.items():
        assert memory.reason == "", name
        assert memory.remainder_bytes is not None
        assert memory.peak_bytes is not None
        if not any(operation in text for operation in (*BUSY, "ttg.convert_layout")):
            assert memory.remainder_bytes == 0, name
        exact += memory.remainder_bytes == 0 and memory.peak_bytes > 0
    assert exact > 50


def test_buffers_that_are_not_alive_together_share(
    on_h200: dict[str, tuple[str, SharedMemory, int]],
) -> None:
    memory = next(memory for name, (_, memory, _) in on_h200.items() if "_tma_" in name)
    assert memory.buffers_bytes is not None
    assert memory.peak_bytes is not None
    assert memory.buffers_bytes > memory.peak_bytes == memory.total_bytes
    assert [buffer.purpose for buffer in memory.buffers].count("barrier") == 1
    result = memory.buffers[-1]
    assert (result.shape, result.copies, result.at_peak) == ((128, 128), 1, False)


def test_the_row_buffer_of_a_softmax(compiled: dict[str, tuple[str, SharedMemory, int]]) -> None:
    _, memory, _ = compiled["3.9.0-sm_90-softmax4.ttgir"]
    (row,) = memory.buffers
    assert (row.shape, row.element, row.copies, row.bytes) == ((3, 1024), "f32", 3, 12_288)
    assert str(row.source) == "kernels.py:77"
    assert (memory.total_bytes, memory.peak_bytes, memory.remainder_bytes) == (12_320, 12_288, 32)


ALLOC = "#s = #ttg.swizzled_shared<{{vec = 1}}>\n%b = ttg.local_alloc : () -> !ttg.memdesc<{}>"


@pytest.mark.parametrize(
    ("text", "total", "reason", "peak"),
    [
        (ALLOC.format("2x8xf16, #s, #smem"), None, shared_memory.UNKNOWN_TOTAL, 32),
        (ALLOC.format("2x8xf16, #s, #smem"), 16, shared_memory.CONTRADICTION, 32),
        (ALLOC.format("2x8xf16, #t, #smem"), 64, shared_memory.UNKNOWN_SIZE, None),
        (ALLOC.format("2x8xf99x, #s, #smem"), 64, shared_memory.UNKNOWN_SIZE, None),
        ("ttg.local_alloc", 64, shared_memory.UNKNOWN_SIZE, None),
        ("tt.return", 64, "", 0),
    ],
)
def test_what_is_not_known_is_not_said(
    text: str, total: int | None, reason: str, peak: int | None
) -> None:
    memory = shared_memory.explain(parse(text), total)
    assert memory.reason == reason
    assert memory.peak_bytes == peak
    assert (memory.remainder_bytes is None) == (reason != "")


def test_a_cluster_s_share_is_not_guessed() -> None:
    text = ALLOC.format("2x8xf16, #s, #smem").replace(
        "%b", 'module attributes {"ttg.num-ctas" = 2 : i32} {\n%b'
    )
    memory = shared_memory.explain(parse(text + "\n}"), 64)
    assert memory.reason == shared_memory.UNKNOWN_SIZE


@pytest.mark.parametrize(
    ("ctas", "layout", "expected"),
    [
        (2, "CGALayout = [[0, 1]]", 128),
        (2, "CGALayout = [[0, 0]]", 256),
        (4, "CGALayout = [[1, 0], [0, 0]]", 128),
        (4, "CGALayout = [[1, 0], [0, 1]]", 64),
        (4, "CGALayout = [[1, 0]]", None),
        (2, "CTAsPerCGA = [1, 2], CTASplitNum = [1, 2], CTAOrder = [1, 0]", 128),
        (2, "CTAsPerCGA = [1, 2], CTASplitNum = [1, 1], CTAOrder = [1, 0]", 256),
        (2, "CTAsPerCGA = [1, 2], CTASplitNum = [1, 0]", None),
        (256, "CTAsPerCGA = [1, 256], CTASplitNum = [1, 256]", None),
    ],
)
def test_a_cta_holds_what_the_layout_of_its_cluster_gives_it(
    ctas: int, layout: str, expected: int | None
) -> None:
    text = ALLOC.format("2x8x8xf16, #s, #smem").replace("vec = 1", f"vec = 1, {layout}")
    alias, _, allocation = text.partition("\n")
    module = f'{alias}\nmodule attributes {{"ttg.num-ctas" = {ctas} : i32}} {{\n{allocation}\n}}'
    assert shared_memory.explain(parse(module), 1024).peak_bytes == expected


def test_every_byte_of_a_cluster_is_accounted_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IRLENS_CACHE_DIR", str(tmp_path))
    sm_90 = Target(vendor="nvidia", arch="sm_90", warp_size=32)
    (found,) = capture(Request(kernel="matmul_tma", target=sm_90, settings={"num_ctas": 2}))
    assert found.metadata is not None
    memory = shared_memory.explain(parse(found.stages["ttgir"].text()), found.metadata.shared)
    assert memory.reason == ""
    assert memory.remainder_bytes == 0
    report = Inspection(found)
    (copies,) = (each for each in report.pipelines if each.kind == "tma")
    # What the barriers of each CTA are told to expect.
    tiles = [load.bytes_per_iteration or 0 for load in report.loads]
    assert copies.bytes_per_iteration == sum(tiles) > 0


@pytest.mark.parametrize(
    ("intervals", "expected"),
    # PaddedSharedEncodingAttr::getPaddedSize: after every interval, and not after the last.
    [("[8:+2]", 16 + 2), ("[4:+2]", 16 + 6), ("[8:+2, 4:+1]", 16 + 2 + 3), ("[32:+4]", 16)],
)
def test_padding_stands_between_intervals(intervals: str, expected: int) -> None:
    text = (
        f"#p = #ttg.padded_shared<{intervals} {{order = [0]}}>\n"
        "%b = ttg.local_alloc : () -> !ttg.memdesc<16xi8, #p, #smem>"
    )
    assert shared_memory.explain(parse(text), 64).peak_bytes == expected


LOOP = """
#s = #ttg.swizzled_shared<{vec = 1}>
%a = ttg.local_alloc : () -> !ttg.memdesc<8xi8, #s, #smem>
scf.for %i = %l to %u step %c : i32 {
  %x = ttg.local_load %a : !ttg.memdesc<8xi8, #s, #smem> -> tensor<8xi8>
  %b = ttg.local_alloc %x : (tensor<8xi8>) -> !ttg.memdesc<4xi8, #s, #smem>
}
%c = ttg.local_alloc : () -> !ttg.memdesc<2xi8, #s, #smem>
"""


def test_a_buffer_used_in_a_loop_is_needed_all_through_it() -> None:
    memory = shared_memory.explain(parse(LOOP), 12)
    assert (memory.peak_bytes, memory.remainder_bytes, memory.buffers_bytes) == (12, 0, 14)
    assert [buffer.last_line for buffer in memory.buffers] == [6, 6, 8]
    assert [buffer.at_peak for buffer in memory.buffers] == [True, True, False]


def test_a_buffer_is_needed_while_any_view_of_it_is() -> None:
    view = (
        "%v = ttg.memdesc_trans %a : !ttg.memdesc<8xi8, #s, #smem> -> !ttg.memdesc<8xi8, #s, #smem>"
    )
    for made in (
        view,
        "%v = scf.if %k -> (!ttg.memdesc<8xi8, #s, #smem>) {\n"
        "  scf.yield %a : !ttg.memdesc<8xi8, #s, #smem>\n}",
        "%v = scf.for %i = %l to %u step %k iter_args(%w = %a)"
        " -> (!ttg.memdesc<8xi8, #s, #smem>) : i32 {\n"
        "  scf.yield %w : !ttg.memdesc<8xi8, #s, #smem>\n}",
    ):
        text = (
            "#s = #ttg.swizzled_shared<{vec = 1}>\n"
            "%a = ttg.local_alloc : () -> !ttg.memdesc<8xi8, #s, #smem>\n"
            f"{made}\n"
            "%c = ttg.local_alloc : () -> !ttg.memdesc<2xi8, #s, #smem>\n"
            "ttg.local_dealloc %v : !ttg.memdesc<8xi8, #s, #smem>\n"
        )
        assert shared_memory.explain(parse(text), 10).peak_bytes == 10, made


def test_a_name_means_what_it_means_where_it_is_read() -> None:
    module = parse(
        "%a = x.first\n"
        "scf.for %i = %a to %a step %a : i32 {\n  %r:2 = x.inner %i\n  x.use %r#1\n}\n"
        "scf.for %i = %a to %a step %a : i32 {\n  x.use %i, %r\n}"
    )
    values = module.values
    first_use, second_use = (op.index for op in module.named("x.use"))
    loops = [op.index for op in module.named("scf.for")]
    assert values.operands[first_use] == (Value(2, 1),)
    assert values.operands[second_use] == (Value(loops[1], 0, 0), None)
