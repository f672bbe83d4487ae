"""Marks of one stage against those of the next: LLVM IR, PTX, machine code.

For machine code ptxas's own table says which line of PTX an instruction was made from.
"""

import importlib.metadata
import re
import shutil
import subprocess
import tarfile
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest

import irlens
from irlens.analyze import sass_origin
from irlens.analyze.capture_code import CaptureCode
from irlens.artifacts import tools
from irlens.isa import ptx, sass
from irlens.model.capture import Capture
from irlens.model.errors import CaptureError
from irlens.model.listing import PipelineAnnotation, PipelineRole, StageListing
from irlens.model.report import Report
from irlens.report import inspect
from irlens.report.annotations import list_stage

DATA = Path(__file__).parents[2] / "data" / "marks"
SAMPLES = Path(__file__).parents[3] / "samples" / "captures"

TRITON = tuple(map(int, importlib.metadata.version("triton").split(".")[:2]))

#: What instructions of PTX do, by the PTX ISA.
ROLES = [
    (r"cp\.async\.c[ag]\.", "copy"),
    (r"cp\.(reduce\.)?async\.bulk\.(?!prefetch|commit|wait)", "copy"),
    (r"wgmma\.mma_async|tcgen05\.(mma|cp|shift|ld|st)\.", "copy"),
    (r"cp\.async\.(bulk\.)?commit_group|cp\.async\.mbarrier|mbarrier\.[\w.:]*expect_tx", "commit"),
    (r"wgmma\.commit_group|tcgen05\.commit", "commit"),
    (r"cp\.async\.(bulk\.)?wait_|mbarrier\.t\w+_wait|wgmma\.wait_group|tcgen05\.wait::", "wait"),
]
PRODUCTS = re.compile(r"[BHIQ]GMMA|WARPGROUP")
TRY = re.compile(r"SYNCS\.PHASECHK[\w.]* U?P\d, (?P<barrier>\[[^]]+])")


class Both(NamedTuple):
    """The PTX and the machine code of a kernel, and the line of PTX that each line comes from."""

    ptx: StageListing
    sass: StageListing
    made_from: dict[int, int | None]
    #: Of the PTX and of the machine code, without guards and offsets.
    instructions: tuple[list[str], list[str]]

    def text(self, line: int | None) -> str:
        """A line of PTX."""
        return self.instructions[0][line - 1] if line else ""

    def code(self, mark: PipelineAnnotation) -> str:
        """What a mark of the machine code is about."""
        return self.instructions[1][mark.line - 1]


def role_of(text: str) -> str | None:
    return next((role for pattern, role in ROLES if re.match(pattern, text)), None)


def read(capture: Capture, report: Report | None = None) -> Both:
    report = report or inspect(capture)
    found = (
        list_stage(CaptureCode(capture), "ptx", report),
        list_stage(CaptureCode(capture), "sass", report),
    )
    lines = sass_origin.lines_of(ptx.parse(found[0].text).kernels)
    return Both(
        *found,
        {
            each.line: each.ptx_line
            for section in sass.parse(found[1].text).sections
            for each in sass_origin.trace(section, lines).instructions
        },
        (
            [re.sub(r"^\s*(@!?%\w+ )?", "", line) for line in found[0].lines],
            [re.sub(r"^.*?\*/\s*(@\S+ )?", "", line) for line in found[1].lines],
        ),
    )


def samples() -> list[str]:
    return [p.name for p in sorted(SAMPLES.iterdir()) if next(p.glob("*.cubin"), None)]


@pytest.fixture(scope="session")
def older(tmp_path_factory: pytest.TempPathFactory) -> list[Both]:
    folder = tmp_path_factory.mktemp("marks")
    with tarfile.open(DATA / "triton36.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    return [read(capture) for capture in irlens.load(folder)]


def is_product(both: Both, mark: PipelineAnnotation) -> bool:
    return PRODUCTS.match(both.code(mark)) is not None


def is_first_try(both: Both, line: int) -> bool:
    """Whether it waits for a barrier, and ptxas names the line of whatever precedes it."""
    asks = TRY.match(both.instructions[1][line - 1])
    return asks is not None and not both.text(both.made_from[line]).startswith("mbarrier.t")


def same_lines(both: Both) -> None:
    """Everything that PTX does stands in the machine code where ptxas says, and nothing else.

    Two things ptxas does not say truly: ``HGMMA`` and the first try of a wait for a barrier have
    the line of whatever precedes them. And what waits for a load from tensor memory is a
    scoreboard.
    """
    expected = {
        (line, role)
        for line, text in enumerate(both.instructions[0], 1)
        if (role := role_of(text)) is not None
        and not text.startswith(("wgmma", "tcgen05.wait::ld"))
    }
    found = set[tuple[int | None, str]]()
    tries: dict[str, list[PipelineAnnotation]] = {}
    for mark in both.sass.marks:
        asks = TRY.match(both.code(mark))
        if asks and is_first_try(both, mark.line):
            tries.setdefault(asks["barrier"], []).append(mark)
        elif not is_product(both, mark):
            found.add((both.made_from[mark.line], mark.role))
    assert found == expected
    repeated = [mark for mark in both.sass.marks if TRY.match(both.code(mark))]
    for barrier, first in tries.items():
        ends = {m.partners for m in repeated if m not in first and barrier in both.code(m)}
        assert ends, barrier
        assert all(not mark.partners or mark.partners in ends for mark in first)


def same_partners(both: Both) -> None:
    """What belongs together in PTX does so in the machine code, and nothing else does."""
    expected = {(mark.line, mark.role): set(mark.partners) for mark in both.ptx.marks}
    found: dict[tuple[int, PipelineRole], set[int]] = {}
    for mark in both.sass.marks:
        line = None if is_first_try(both, mark.line) else both.made_from[mark.line]
        if line is not None and (line, mark.role) in expected and not is_product(both, mark):
            partners = [both.made_from[p] for p in mark.partners if not is_first_try(both, p)]
            known = {each for each in partners if each and role_of(both.text(each)) is not None}
            found.setdefault((line, mark.role), set()).update(known)
    for place, together in found.items():
        if not both.text(place[0]).startswith("tcgen05.ld"):
            assert together == expected[place], both.text(place[0])


def same_loops(both: Both) -> None:
    """Every loop of PTX is one of the machine code, whose others are none of the source."""
    sources = {loop.source for loop in both.ptx.loops}
    assert {loop.source for loop in both.sass.loops} - {None} == sources
    for loop in both.sass.loops:
        made_from = {both.made_from.get(line) for line in range(loop.first, loop.last + 1)} - {None}
        inside = any(made_from.intersection(range(o.first, o.last + 1)) for o in both.ptx.loops)
        assert inside is (loop.source is not None), both.instructions[1][loop.first - 1]


def same_products(both: Both) -> bool:
    """As many products, commits and waits; whether ptxas lets the products overlap."""
    wanted = Counter(
        role_of(both.text(mark.line))
        for mark in both.ptx.marks
        if both.text(mark.line).startswith("wgmma")
    )
    marks = [mark for mark in both.sass.marks if is_product(both, mark)]
    found = Counter(mark.role for mark in marks)
    assert found["copy"] + found["commit"] == wanted["copy"]
    if found["copy"] == 0 and found["commit"] > wanted["commit"]:
        # Each is a group of its own, waited for at once.
        assert found["wait"] == found["commit"]
        assert all("0x0" in both.code(mark) for mark in marks if mark.role == "wait")
        return False
    assert (found["commit"], found["wait"]) == (wanted["commit"], wanted["wait"])
    return True


def all_of_it_is_marked(both: Both) -> None:
    marked = {mark.line: mark.role for mark in both.ptx.marks}
    texts = enumerate(both.instructions[0], 1)
    expected = {n: role for n, text in texts if (role := role_of(text))}
    assert {line: marked.get(line) for line in expected} == expected
    for mark in both.ptx.marks:
        if mark.line not in expected:  # of loads that run ahead in registers
            assert any(both.text(line).startswith("ld.") for line in (mark.line, *mark.partners))


KERNELS = ["matmul_tma", "flash_attention", "softmax", f"{DATA / 'persistent.py'}:persistent"]


@pytest.mark.parametrize("target", ["sm_80", "sm_90", "sm_100", "sm_120"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_what_is_compiled_here(kernel: str, target: str) -> None:
    both = read(irlens.capture(kernel, target=target))
    same_lines(both)
    same_partners(both)
    same_loops(both)
    assert same_products(both)
    all_of_it_is_marked(both)


@pytest.mark.parametrize("name", samples())
def test_samples(name: str) -> None:
    (capture,) = irlens.load(SAMPLES / name)
    both = read(capture)
    same_lines(both)
    same_partners(both)
    same_loops(both)
    assert same_products(both)


@pytest.mark.parametrize(("target", "tool"), [("sm_90a", "ptxas"), ("sm_100a", "ptxas-blackwell")])
def test_what_triton_does_not_write(target: str, tool: str, tmp_path: Path) -> None:
    written = tmp_path / "every.ptx"
    shutil.copy(DATA / f"every_{target}.ptx", written)
    made = ("-lineinfo", f"-arch={target}", str(written), "-o", str(written.with_suffix(".cubin")))
    ran = subprocess.run([tools.find(tool), *made], check=True, capture_output=True, text=True)
    (capture,) = irlens.load(tmp_path)
    both = read(capture)
    same_lines(both)
    same_partners(both)
    assert same_products(both) == ("are serialized" not in ran.stdout + ran.stderr)
    all_of_it_is_marked(both)


def test_what_triton_3_6_made(older: list[Both]) -> None:
    for both in older:
        same_lines(both)
        same_partners(both)
        same_loops(both)
        assert same_products(both)
        all_of_it_is_marked(both)
    opcodes = {
        both.code(mark).split(".")[0].split()[0] for both in older for mark in both.sass.marks
    }
    assert opcodes >= {
        "LDGSTS",
        "UTMALDG",
        "UTMASTG",
        "SYNCS",
        "HGMMA",
        "UTCHMMA",
        "UTCBAR",
        "LDTM",
    }


def test_products_that_ptxas_serialises_are_told(
    h200_reports: list[tuple[Capture, Report]],
) -> None:
    overlap = Counter[bool]()
    for capture, report in h200_reports:
        both = read(capture, report)
        same_lines(both)
        same_partners(both)
        same_loops(both)
        overlap[same_products(both)] += 1
    assert overlap == {True: 28, False: 3}


def place(listing: StageListing, mark: PipelineAnnotation) -> tuple[tuple[str, int], ...]:
    chain = listing.chain[mark.line - 1]
    return tuple((frame.file, frame.line) for frame in listing.chains[chain] if chain >= 0)


def same_in_llvm(capture: Capture, report: Report) -> bool:
    """As much of everything from each line, with as many partners; whether of barriers, too.

    Barriers are followed in the PTX, and LLVM may write blocks in another order.
    """
    groups, barriers = list[Counter[object]](), list[Counter[tuple[object, ...]]]()
    for listing in (list_stage(CaptureCode(capture), stage, report) for stage in ("llir", "ptx")):
        by_group, by_barrier = Counter[object](), Counter[tuple[object, ...]]()
        lines = listing.lines
        for mark in listing.marks:
            text = lines[mark.line - 1]
            ahead = [lines[line - 1] for line in (mark.line, *mark.partners)]
            if listing.stage == "ptx" and any(re.match(r"\s*(@!?%\w+ )?ld\.", t) for t in ahead):
                continue  # it runs ahead in registers
            what = (mark.role, place(listing, mark))
            if re.search(r"mbarrier\.[at]|tcgen05\.commit", text) is None:
                by_group[*what, mark.pipeline, len(mark.partners)] += 1
            else:
                by_group[what] += 1
                by_barrier[*what, mark.pipeline, len(mark.partners)] += 1
        groups.append(by_group)
        barriers.append(by_barrier)
    assert groups[0] == groups[1]
    if barriers[0] == barriers[1]:
        return True
    assert not any(shape[-1] for shape in barriers[0])
    return False


@pytest.mark.parametrize("target", ["sm_80", "sm_90", "sm_100", "sm_120"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_llvm_ir_and_ptx(kernel: str, target: str) -> None:
    capture = irlens.capture(kernel, target=target)
    barriers = same_in_llvm(capture, inspect(capture))
    assert barriers or target == "sm_100"


def test_llvm_ir_and_ptx_of_triton_3_6(h200_reports: list[tuple[Capture, Report]]) -> None:
    assert all(same_in_llvm(capture, report) for capture, report in h200_reports)


def retired(listing: StageListing) -> Counter[int]:
    """How many copies each wait retires, directly or by their groups; waits for none aside."""
    marks = {(mark.line, mark.role): mark for mark in listing.marks}
    copies = [mark for mark in listing.marks if mark.role == "copy"]
    found = []
    for wait in (mark for mark in listing.marks if mark.role == "wait"):
        ends = {line for line in wait.partners if (line, "commit") in marks}
        direct = [copy for copy in copies if wait.line in copy.partners]
        found.append(len(direct) + sum(not ends.isdisjoint(copy.partners) for copy in copies))
    return Counter(count for count in found if count)


@pytest.mark.parametrize("target", ["gfx950", "gfx1250"])
@pytest.mark.parametrize("kernel", ["matmul_tma", "flash_attention"])
@pytest.mark.skipif(TRITON < (3, 7), reason="what Triton 3.6 copies to LDS goes through registers")
def test_amds_copies_to_lds_are_retired_as_llvm_ir_says(kernel: str, target: str) -> None:
    try:
        capture = irlens.capture(kernel, target=target, num_stages=2)
    except CaptureError:
        if target != "gfx1250":
            raise
        pytest.skip("this Triton does not compile for gfx1250")
    report = inspect(capture)
    llvm, code = (list_stage(CaptureCode(capture), stage, report) for stage in ("llir", "amdgcn"))
    if not llvm.marks:  # a Triton that copies through registers
        pytest.skip(f"this Triton has no copies to LDS on {target}")
    assert retired(llvm) == retired(code)
    assert sum(retired(llvm).values()) >= 2
    out = [mark for mark in code.marks if "from_lds" in code.lines[mark.line - 1]]
    assert all(mark.pipeline is None and len(mark.partners) == 1 for mark in out)
    into = [mark for mark in code.marks if mark.role == "copy" and mark not in out]
    assert into
    assert {mark.pipeline for mark in into} == {0}
