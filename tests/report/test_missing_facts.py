"""What a rule could not look for is told from what it did not find."""

import shutil
from pathlib import Path

import msgspec
import pytest

from irlens import compare, inspect, load, rules
from irlens.analyze.facts import Facts
from irlens.compiler import Request
from irlens.compiler.compile_request import capture
from irlens.gpus import find
from irlens.model.config import Config, ConstexprValue
from irlens.model.report import Report
from irlens.model.resources import Resources
from irlens.render.view.verdict import verdict
from irlens.report.missing_facts import missing_facts
from tests.tables import each_row

CAPTURE = Path(__file__).parents[2] / "samples" / "captures" / "softmax-t4"


def only(stage: str) -> Report:
    """What the capture's single stage says."""
    (capture,) = load(next(CAPTURE.glob(f"*.{stage}")))
    return inspect(capture)


@pytest.fixture(scope="module")
def whole() -> Report:
    (capture,) = load(CAPTURE)
    return inspect(capture)


def unlooked(report: Report) -> dict[str, str]:
    codes = {path.removeprefix("findings."): path for path in report.unknown}
    return {code: report.unknown[path] for code, path in codes.items() if code != path}


@each_row("rule", rules.all_rules())
def test_what_a_rule_needs_is_a_fact_that_can_be_missing(rule: rules.RuleModule) -> None:
    unknown = Config(
        num_warps=None, num_stages=None, num_ctas=None, maxnreg=None, constexprs={}, args={}
    )
    resources = Resources(
        registers=None, shared_dynamic_bytes=None, shared_static_bytes=None, local_bytes=None,
        stack_bytes=None,
    )  # fmt: skip
    facts = Facts(gpu=None, config=unknown, resources=resources)
    known = {*missing_facts(facts, {"pipelines": "x", "loads": "x"}), "serialized", "sectors"}
    assert rule.NEEDS or rule.NAME == "parts-disagree"  # one part alone contradicts none
    assert set(rule.NEEDS) <= known


def test_a_whole_capture_with_a_launch_leaves_out_what_the_product_decides(whole: Report) -> None:
    assert unlooked(whole) == {}
    assert [one.code for one in whole.findings] == ["IRL203"]


def test_addresses_that_data_decide_leave_out_what_lies_outside_of_tensors(
    tmp_path: Path,
) -> None:
    """Neither was the load found to leave its tensor, nor was it said that nobody looked."""
    path = tmp_path / "chosen.py"
    path.write_text(
        "import triton\nimport triton.language as tl\n\n\n@triton.jit\n"
        "def chosen(x_ptr, flags_ptr, y_ptr):\n"
        "    o = tl.arange(0, 128)\n"
        "    for i in range(4):\n"
        "        x = tl.load(x_ptr + i * 128 + o)\n"
        "        if tl.load(flags_ptr + i) > 0:\n"
        "            tl.store(y_ptr + i * 128 + o, x)\n"
    )
    args: dict[str, ConstexprValue] = {
        "x_ptr": "fp32[256]", "flags_ptr": "int32[4]", "y_ptr": "fp32[512]",
    }  # fmt: skip
    request = Request(kernel=f"{path}:chosen", target=find("h100").target, args=args, grid=(1,))

    def looked(**given: ConstexprValue) -> Report:
        (found,) = capture(msgspec.structs.replace(request, args=args | given))
        return inspect(found)

    assert "the traffic depends on data in flags_ptr" in unlooked(looked())["IRL304"]
    known = looked(flags_ptr="int32[4]:values[1]")
    assert "IRL304" not in unlooked(known)
    assert "IRL304" in {each.code for each in known.findings}


def test_a_cache_line_that_no_document_gives_is_why_coalescing_is_unknown() -> None:
    """It was unknown without a reason."""
    (found,) = capture(Request(kernel="vector_add", target=find("gfx1201").target))
    report = inspect(found)
    reason = "no document gives the size of a cache line of gfx1201"
    assert unlooked(report)["IRL302"] == reason
    assert f"coalescing unknown: {reason}" in [each.text for each in verdict(report).phrases]


def test_a_stage_alone_leaves_out_what_others_show(whole: Report) -> None:
    ptx, ttgir = only("ptx"), only("ttgir")
    assert unlooked(ptx)["IRL203"] == "there is no ttir in this capture"
    assert "IRL201" not in unlooked(ptx)
    assert unlooked(ttgir)["IRL201"] == "there is no ptx and no amdgcn in this capture"
    assert unlooked(ttgir)["IRL304"].startswith("the launch is unknown")


def test_what_was_not_looked_for_is_neither_gone_nor_new(whole: Report) -> None:
    for before, after in ((whole, only("ptx")), (only("ptx"), whole)):
        found = compare(before, after)
        assert found.findings == []
        assert "findings.IRL203" in found.not_compared
        assert "no ttir" in found.not_compared_because["findings.IRL203"]
        assert not any(loop.what == "load" for loop in found.loops)


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("ttg.local_alloc", "ttg.alloc_tensor", "the ttgir is of a Triton before 3.0"),
        ("    tt.return", "    ???\n    tt.return", "of the ttgir is not understood"),
    ],
)
def test_a_ttgir_that_is_not_read_has_not_lost_its_buffers(
    tmp_path: Path, old: str, new: str, reason: str
) -> None:
    entry = tmp_path / "entry"
    shutil.copytree(CAPTURE.with_name("softmax-h100"), entry)
    (path,) = entry.glob("*.ttgir")
    path.write_text(path.read_text().replace(old, new))
    (whole,), (capture,) = load(CAPTURE.with_name("softmax-h100")), load(entry)
    before, after = inspect(capture), inspect(whole)
    assert (before.memory, before.loads) == (None, [])
    assert reason in before.unknown["memory"]
    found = compare(before, after)
    assert {"loads", "memory"} <= set(found.not_compared)
    assert reason in found.not_compared_because["memory"]
    assert not any(each.path.startswith("memory.") for each in found.figures)
    assert not found.findings
    assert not any(loop.what == "load" for loop in found.loops)
