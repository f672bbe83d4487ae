"""An analysis that would take too long leaves its figure unknown, and the rest is reported."""

from functools import reduce
from pathlib import Path

import pytest

from irlens.analyze import work
from irlens.analyze.capture_code import CaptureCode
from irlens.analyze.outstanding import Queues
from irlens.artifacts.load import load_bytes
from irlens.isa.events import Copy
from irlens.model.capture import Disassembly
from irlens.model.errors import OutOfWorkError
from irlens.model.report import Report
from irlens.report import inspect
from irlens.report.annotations import list_stage

ROOT = Path(__file__).parents[2]
PTX = (
    ".version 8.8\n.target sm_100a\n.address_size 64\n.visible .entry k(.param .u64 p)\n"
    ".reqntid 128\n{\n.reg .b32 %r<9>;\n.reg .pred %p<9>;\nL0:\n",
    "@%p1 bra L0;\nret;\n}\n",
)
TCGEN05 = (
    "tcgen05.mma.cta_group::1.kind::f16 [%r1], %r2, %r3, %r4, %p1;\n"
    "tcgen05.commit.cta_group::1.mbarrier::arrive::one.b64 [%r5];\n"
)
WGMMA = (
    "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%r1,%r2,%r3,%r4}, %r5, %r6, 1,1,1,0,0;\n"
    "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 1;\n"
)


def report(body: str) -> Report:
    (capture,) = load_bytes((PTX[0] + body + PTX[1]).encode(), name="k")
    return inspect(capture)


@pytest.mark.parametrize(("product", "many"), [(TCGEN05, 2000), (WGMMA, 2000)])
def test_the_pipelines_of_too_many_products_are_unknown(product: str, many: int) -> None:
    few = report(product * 4)
    assert few.pipelines
    assert "pipelines" not in few.unknown
    found = report(product * many)
    assert found.pipelines == []
    assert found.unknown["pipelines"].startswith("it takes more than 1,500,000 steps")
    assert found.pressure.ptx is not None


AMDGCN = (
    '.amdgcn_target "amdgcn-amd-amdhsa--gfx942"\n.text\n.globl k\n.type k,@function\nk:\nL0:\n',
    "s_cbranch_scc1 L0\ns_endpgm\n.Lfunc_end0:\n.size k, .Lfunc_end0-k\n.amdhsa_kernel k\n"
    ".end_amdhsa_kernel\n",
)
#: Loads whose address is one register, which the loop advances.
CHAIN = "v_add_u32_e32 v0, 4, v0\n"
LOAD = "global_load_dword v1, v0, s[0:1]\ns_waitcnt vmcnt(0)\nv_add_f32_e32 v2, v2, v1\n"


def amdgcn(many: int) -> bytes:
    return (AMDGCN[0] + CHAIN + LOAD * many + AMDGCN[1]).encode()


def test_the_pipelines_of_too_many_loads_of_one_loop_are_unknown() -> None:
    (few,) = load_bytes(amdgcn(50), name="k.amdgcn")
    assert "pipelines" not in inspect(few).unknown
    (many,) = load_bytes(amdgcn(4000), name="k.amdgcn")
    assert inspect(many).unknown["pipelines"].startswith("it takes more than 1,500,000 steps")


def test_loads_at_an_address_that_stays_are_linear() -> None:
    """None of them depends on what an iteration before loaded, so nothing is followed."""
    for many, factor in ((500, 1), (4000, 8)):
        (capture,) = load_bytes((AMDGCN[0] + LOAD * many + AMDGCN[1]).encode(), name="k.amdgcn")
        with work.budget(3100 * factor):
            (found,) = inspect(capture).pipelines
        assert found.achieved_stages == 1


@pytest.mark.parametrize(
    "path",
    [
        "samples/captures/softmax-mi300x/softmax_kernel.amdgcn",
        "tests/data/ptx/matmul_tma_36_sm90_s3.ptx",
    ],
)
def test_the_annotations_of_a_listing_have_a_budget_too(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (capture,) = load_bytes((ROOT / path).read_bytes(), name="k")
    found, stage = inspect(capture), path.rpartition(".")[2]
    whole = list_stage(CaptureCode(capture), stage, found)
    assert whole.marks
    assert whole.problem == ""
    monkeypatch.setattr(work, "STEPS", 150)  # enough for what is live, not for the pipelines
    listed = list_stage(CaptureCode(capture), stage, found)
    assert listed.marks == []
    assert listed.problem == (
        "the pipelines are not annotated: it takes more than 150 steps of analysis"
    )
    assert (listed.live, listed.loops) == (whole.live, whole.loops)


def test_a_budget_is_spent_once() -> None:
    with work.budget(10):
        work.spend(4)
        with work.budget(100):
            work.spend(6)  # no more than the one around it has
            with pytest.raises(OutOfWorkError):
                work.spend(1)
        with pytest.raises(OutOfWorkError):
            work.spend(1)


@pytest.mark.parametrize(("outer", "inner", "left"), [(3000, None, None), (8000, 3000, 100)])
def test_a_budget_within_another_names_the_steps_of_the_one_that_ends_first(
    outer: int, inner: int | None, left: int | None
) -> None:
    with work.budget(outer):
        work.spend(2900)
        reason = "more than 3,000 steps"
        with work.budget(inner, left), pytest.raises(OutOfWorkError, match=reason):
            work.spend(101)


def test_without_a_budget_nothing_is_counted() -> None:
    work.spend(10 * work.STEPS)


#: Branches through one list of labels, and loops that are entered in very many ways.
SHARED_LIST = "".join(
    [
        f"t: .branchtargets {','.join(f'T{n}' for n in range(400))};\n",
        *(f"T{n}: brx.idx %r1, t;\n" for n in range(400)),
    ]
)
ENTERED = [(n * 7919 % 4000, (n * 104_729 + 1) % 4000) for n in range(4000)]
PTX_LOOPS = "".join(
    f"T{n}:\n@%p1 bra T{some};\n@%p2 bra T{other};\n" for n, (some, other) in enumerate(ENTERED)
)
AMD_LOOPS = "".join(
    f"T{n}:\ns_cbranch_scc1 T{some}\ns_cbranch_scc0 T{other}\n"
    for n, (some, other) in enumerate(ENTERED)
)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (SHARED_LIST.join(PTX), "the branches through lists of labels have more than"),
        (PTX_LOOPS.join(PTX), "its loops are entered past their headers in too many ways"),
        (AMD_LOOPS.join(AMDGCN), "its loops are entered past their headers in too many ways"),
    ],
    ids=["list", "ptx", "amdgcn"],
)
def test_flow_that_takes_too_long_leaves_figures_unknown_and_refuses_nothing(
    text: str, reason: str
) -> None:
    (capture,) = load_bytes(text.encode(), name="k")
    found = inspect(capture, Disassembly.SKIP)
    (stage,) = found.stages
    assert found.pipelines == []
    for path in ("pipelines", "mix", "warp_groups", f"pressure.{stage}"):
        assert found.unknown[path].startswith(f"the {stage} cannot be followed: ")
        assert reason in found.unknown[path]
    assert reason in list_stage(CaptureCode(capture), stage, found).problem


def test_a_loop_on_barriers_that_is_entered_past_its_header_has_a_report() -> None:
    text = (ROOT / "samples/captures/matmul-b200/matmul_kernel.ptx").read_text()
    lines = text.split("\n")
    start = lines.index("{") + 1
    end = next(n for n, line in enumerate(lines) if line.strip() == "ret;")
    body = [line for line in lines[start:end] if ".reg" not in line]
    (capture,) = load_bytes("\n".join([*lines[:end], *body, *lines[end:]]).encode(), name="k")
    assert inspect(capture, Disassembly.SKIP).pressure.ptx is not None


def test_copies_that_nothing_commits_spend_the_budget() -> None:
    """Each one is pending in the state before each later one: 17,000 took 2.4 GB."""
    with work.budget(100_000), pytest.raises(OutOfWorkError):
        reduce(Queues.after, (Copy(1, 16, at) for at in range(1_000)), Queues())
