"""Whether ptxas serialized matrix products: what irlens reads against ptxas's own warning."""

import re
import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from irlens.analyze import cfg
from irlens.analyze.pipelines import find_pipelines
from irlens.analyze.pipelines.products import UNSEEN
from irlens.analyze.pipelines.ptx_loops import analyze_loops
from irlens.analyze.pipelines.verdicts import PtxKernel
from irlens.analyze.pipelines.wgmma import SERIALIZED, find_serialized
from irlens.artifacts import load, tools
from irlens.isa import ptx
from irlens.isa.events import Wait
from irlens.isa.ptx.copies import wgmma_events
from irlens.isa.sass import warpgroup
from irlens.model.capture import Capture
from irlens.model.report import Pipeline
from irlens.report import inspection
from irlens.report.inspection import Inspection

ROOT = Path(__file__).parents[3]
H200 = ROOT / "tests" / "data" / "h200" / "triton-cache.tar.xz"
WARNING = re.compile(
    r"wgmma\.mma_async instructions are serialized due to .* in the function '(\w+)"
)

PRODUCT = (
    "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {{%f{0}, %f{1}, %f{2}, %f{3}}}, %rd1, %rd1,"
    " 1, 1, 1, 0, 0;"
)
COMMIT = "wgmma.commit_group.sync.aligned;"
WAIT = "wgmma.wait_group.sync.aligned {};"
KERNEL = """
.version 8.0
.target sm_90a
.address_size 64
.visible .entry made(.param .u64 p)
{{
.reg .pred %p<3>; .reg .b32 %r<9>; .reg .b64 %rd<4>; .reg .f32 %f<8>;
ld.param.u64 %rd1, [p];
ld.global.b32 %r1, [%rd1];
{0}
st.global.f32 [%rd1], %f0; st.global.f32 [%rd1+4], %f4;
ret;
}}
"""
ZERO = "mov.f32 %f{0}, 0f00000000;"
ZEROS = " ".join(ZERO.format(index) for index in range(8))


def loop(name: str, body: str) -> str:
    return (
        f"{name}: wgmma.fence.sync.aligned; {body} add.s32 %r1, %r1, -1;"
        f" setp.gt.s32 %p1, %r1, 0; @%p1 bra {name};"
    )


def product(first: int) -> str:
    return PRODUCT.format(*range(first, first + 4))


def waited(first: int, limit: int) -> str:
    """A product that is a group of its own."""
    return f"{product(first)} {COMMIT} {WAIT.format(limit)}"


#: Kernels that ptxas has nothing to warn of, and such that it has, by what they show.
MADE = {
    "two products a group": loop("L", f"{product(0)} {product(0)} {COMMIT} {WAIT.format(0)}"),
    "one under way": loop("L", waited(0, 1)) + WAIT.format(0),
    "one after the other, as written": loop("L", waited(0, 0)),
    "waited for in the next iteration": loop("L", f"{WAIT.format(0)} {product(0)} {COMMIT}")
    + WAIT.format(0),
    "read while under way": loop(
        "L", f"{product(0)} {product(4)} st.global.f32 [%rd1+8], %f0; {COMMIT} {WAIT.format(0)}"
    ),
    "written while under way": loop(
        "L", f"{product(0)} {product(4)} {COMMIT} add.f32 %f0, %f0, %f0; {WAIT.format(1)}"
    )
    + WAIT.format(0),
    "one loop of two": loop("L", f"{product(0)} {product(0)} {COMMIT} {WAIT.format(0)}")
    + loop(
        "M", f"{product(4)} {product(4)} st.global.f32 [%rd1+8], %f4; {COMMIT} {WAIT.format(0)}"
    ),
}


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("h200")
    with tarfile.open(H200) as tar:
        tar.extractall(directory, filter="data")
    return directory


def only(directory: Path) -> Capture:
    """The capture of a directory that holds one."""
    (capture,) = load.load(directory)
    assert isinstance(capture, Capture)
    return capture


def captures(directory: Path) -> Iterator[tuple[Capture, Path]]:
    """Every capture with matrix products, with its PTX."""
    for path in sorted(directory.rglob("*.ptx")):
        if "wgmma.mma_async" in path.read_text():
            yield only(path.parent), path


def assemble(source: Path, directory: Path, *options: str) -> tuple[Capture, bool]:
    """Assemble PTX anew; return what came of it, and whether ptxas warned."""
    directory.mkdir()
    shutil.copy(source, directory / source.name)
    target = (directory / source.name).with_suffix(".cubin")
    new = ".version 9" in source.read_text()
    tool = tools.find("ptxas-blackwell" if new else "ptxas")
    done = subprocess.run(
        [tool, "-v", *options, "--gpu-name", "sm_90a", source, "-o", target],
        capture_output=True,
        text=True,
        check=True,
    )
    return only(directory), WARNING.search(done.stdout + done.stderr) is not None


def kernel_of(capture: Capture) -> ptx.Function:
    (kernel,) = ptx.parse(capture.stages["ptx"].text()).kernels
    return kernel


def serialized(capture: Capture) -> bool | None:
    return find_serialized(kernel_of(capture), capture.stages.get("cubin"), capture.kernel)


@pytest.mark.slow
@pytest.mark.parametrize("options", [(), ("-O0",)], ids=["optimized", "not optimized"])
def test_agrees_with_what_ptxas_warns_of(
    cache: Path, tmp_path: Path, options: tuple[str, ...]
) -> None:
    told = []
    for number, (_, path) in enumerate(captures(cache)):
        capture, warned = assemble(path, tmp_path / str(number), *options)
        assert serialized(capture) == warned, path
        told.append(warned)
    assert any(told)
    assert options or not all(told)


@pytest.mark.parametrize("name", MADE)
def test_agrees_on_kernels_that_triton_does_not_write(name: str, tmp_path: Path) -> None:
    source = tmp_path / "made.ptx"
    source.write_text(KERNEL.format(ZEROS + MADE[name]))
    capture, warned = assemble(source, tmp_path / "made")
    assert serialized(capture) == warned


def test_the_waits_of_all_others_are_those_of_the_ptx(cache: Path) -> None:
    for capture, path in captures(cache):
        if serialized(capture):
            continue
        (code,) = warpgroup.read(capture.stages["cubin"].read()) or []
        made = {step.limit for step in code.steps if isinstance(step, warpgroup.Wait)}
        asked = {
            e.limit for e in wgmma_events(kernel_of(capture).instructions) if isinstance(e, Wait)
        }
        assert made == asked, path


def test_three_of_the_kernels_on_the_h200_were(cache: Path) -> None:
    found = {
        path.stem: [p for p in Inspection(capture).pipelines if p.kind == "wgmma"]
        for capture, path in captures(cache)
        if serialized(capture)
    }
    assert sum(serialized(capture) is True for capture, _ in captures(cache)) == 3
    for pipelines in found.values():
        assert [(p.verdict, p.reason) for p in pipelines] == [("not pipelined", SERIALIZED)]


def read(text: str, *, known: bool | None) -> Pipeline:
    (kernel,) = ptx.parse(KERNEL.format(text)).kernels
    (pipeline,) = find_pipelines(
        PtxKernel(
            loops=analyze_loops(kernel, cfg.build(kernel)),
            threads_per_cta=128,
            requested=lambda *_: None,
            serialized=known,
        )
    )
    return pipeline


def test_a_group_and_a_wait_for_each_product() -> None:
    body = f"{product(0)} {product(0)} {product(4)} {COMMIT} {WAIT.format(1)}"
    found = read(loop("L", body), known=True)
    assert (found.groups_before_loop, found.groups_per_iteration) == (0, 3)
    assert (found.outstanding_at_wait, found.outstanding_after_wait) == (1, 0)
    assert (found.achieved_stages, found.prefetch_iterations) == (1, 0)
    assert (found.verdict, found.reason) == ("not pipelined", SERIALIZED)


def test_without_machine_code_only_what_cannot_change_is_told() -> None:
    overlapping = read(loop("L", waited(0, 1)), known=None)
    assert (overlapping.verdict, overlapping.reason) == ("unknown", UNSEEN)
    assert overlapping.achieved_stages is None
    serial = read(loop("L", waited(0, 0)), known=None)
    assert (serial.verdict, serial.achieved_stages) == ("not pipelined", 1)


def test_a_capture_without_machine_code_does_not_tell(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    capture, path = next(pair for pair in captures(cache) if _verdict(pair[0]) == "pipelined")
    assert serialized(capture) is False
    shutil.copy(path, tmp_path)
    alone = only(tmp_path)
    assert serialized(alone) is None
    assert _verdict(alone) == "pipelined"  # by the cubin that ptxas makes of it
    monkeypatch.setattr(inspection, "with_machine_code", lambda capture, _: capture)
    assert _verdict(alone) == "unknown"


def _verdict(capture: Capture) -> str:
    return next(p.verdict for p in Inspection(capture).pipelines if p.kind == "wgmma")


def test_a_kernel_without_products_is_not_serialized() -> None:
    assert serialized(only(ROOT / "samples" / "captures" / "softmax-h100")) is False
