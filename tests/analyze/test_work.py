"""An analysis that would take too long leaves its figure unknown, and the rest is reported."""

import pytest

from irlens.analyze import work
from irlens.artifacts.load import load_bytes
from irlens.model.report import Report
from irlens.report import inspect

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


def test_a_budget_is_spent_once() -> None:
    with work.budget(10):
        work.spend(4)
        with work.budget(100):
            work.spend(6)  # no more than the one around it has
            with pytest.raises(work.OutOfWorkError):
                work.spend(1)
        with pytest.raises(work.OutOfWorkError):
            work.spend(1)


def test_without_a_budget_nothing_is_counted() -> None:
    work.spend(10 * work.STEPS)
