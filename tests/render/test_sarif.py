"""SARIF as OASIS's own schema has it, with places that code hosts take."""

import json
from functools import partial
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from irlens.diff.report.comparisons import against_first
from irlens.model.comparison import Comparisons
from irlens.model.report import Finding, Report
from irlens.model.source import SourceLocation
from irlens.render import Options, render
from irlens.rules import all_rules, find_rule

ROOT = Path(__file__).parents[2]
SAMPLES = ROOT / "samples"
OFFICIAL = json.loads((ROOT / "tests/data/sarif/sarif-2.1.0-rtm.5.json").read_text())
VALIDATOR = jsonschema.Draft4Validator(OFFICIAL)
SOFTMAX = msgspec.json.decode((SAMPLES / "reports/softmax-t4.json").read_bytes(), type=Report)
WRITER = partial(render, "sarif", "reports")


def results(text: str) -> list[dict[str, Any]]:
    log = json.loads(text)
    VALIDATOR.validate(log)
    (run,) = log["runs"]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert rules == sorted(set(rules))
    found: list[dict[str, Any]] = run["results"]
    for each in found:
        assert rules[each["ruleIndex"]] == each["ruleId"]
        # What GitHub refuses a file for: a result without a place.
        (location,) = each["locations"]
        assert location["physicalLocation"]["artifactLocation"]["uri"]
    fingerprints = [json.dumps(each["partialFingerprints"]) for each in found]
    assert len(set(fingerprints)) == len(fingerprints)
    return found


def with_findings(*findings: Finding, code: dict[str, str] | None = None) -> Report:
    return msgspec.structs.replace(SOFTMAX, findings=list(findings), code=code or SOFTMAX.code)


def finding(message: str = "it is slow", line: int | None = 50, **fields: Any) -> Finding:
    source = SourceLocation("softmax.py", line) if line is not None else None
    made = {"code": "IRL203", "severity": "warning", "hint": "", "stage": None, "line": None}
    return Finding(message=message, source=source, **{**made, **fields})


@pytest.mark.parametrize("path", sorted(SAMPLES.rglob("*.sarif")), ids=lambda path: path.name)
def test_the_samples_are_valid(path: Path) -> None:
    results(path.read_text())


def test_a_finding_stands_at_its_line() -> None:
    (found,) = results(WRITER([SOFTMAX], Options(locate=lambda file, _: f"my kernels/{file}")))
    assert (found["ruleId"], found["level"]) == ("IRL203", "warning")
    place = found["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "my%20kernels/softmax.py", "uriBaseId": "%SRCROOT%"}
    assert place["region"] == {"startLine": 50}
    assert found["locations"][0]["logicalLocations"] == [
        {"kind": "function", "name": "softmax_kernel"}
    ]


def test_files_are_looked_up_by_what_is_known_of_their_lines() -> None:
    asked = []

    def locate(file: str, lines: Any) -> None:
        asked.append((file, dict(lines)))

    WRITER([SOFTMAX], Options(locate=locate))
    assert asked == [("softmax.py", {50: SOFTMAX.code["softmax.py:50"]})]


def test_rules_are_documented_where_somebody_can() -> None:
    def rules(view: Options) -> list[dict[str, Any]]:
        driver = json.loads(WRITER([SOFTMAX], view))["runs"][0]["tool"]["driver"]
        found: list[dict[str, Any]] = driver["rules"]
        return found

    (told,) = rules(Options(explain=find_rule))
    assert told["name"] == "load-not-pipelined"
    assert told["help"]["markdown"].startswith("# IRL203")
    assert told["defaultConfiguration"] == {"level": "warning"}
    (bare,) = rules(Options())
    assert bare == {"id": "IRL203", "help": {"text": SOFTMAX.findings[0].hint}}


def test_every_check_can_be_a_rule() -> None:
    findings = [finding(code=check.CODE, severity=check.SEVERITY) for check in all_rules()]
    found = results(WRITER([with_findings(*findings)], Options(explain=find_rule)))
    assert len(found) == len(findings)


def test_a_finding_without_a_line_is_about_the_file_or_the_stage() -> None:
    found = results(WRITER([with_findings(finding(line=None))], Options()))
    place = found[0]["locations"][0]["physicalLocation"]
    assert place == {"artifactLocation": {"uri": "softmax.py", "uriBaseId": "%SRCROOT%"}}
    unknown = msgspec.structs.replace(
        with_findings(finding(line=None, stage="ptx")),
        pressure=msgspec.structs.replace(SOFTMAX.pressure, ptx=None, sass=None, amdgcn=None),
    )
    unknown = msgspec.structs.replace(
        unknown, findings=[msgspec.structs.replace(unknown.findings[0], line=7)]
    )
    (found,) = (results(WRITER([unknown], Options())),)
    place = found[0]["locations"][0]["physicalLocation"]
    assert place == {
        "artifactLocation": {"uri": "softmax_kernel.ptx"},
        "region": {"startLine": 7},
    }


def fingerprint(report: Report) -> str:
    (found,) = results(WRITER([report], Options()))
    (value,) = found["partialFingerprints"].values()
    return str(value)


def test_fingerprints_survive_moved_lines_and_changed_figures() -> None:
    before = with_findings(finding("uses 64 registers", 50), code={"softmax.py:50": "a = b"})
    moved = with_findings(finding("uses 72 registers", 57), code={"softmax.py:57": "a = b"})
    edited = with_findings(finding("uses 64 registers", 50), code={"softmax.py:50": "a = c"})
    other = with_findings(finding("uses 64 stages", 50), code={"softmax.py:50": "a = b"})
    assert fingerprint(before) == fingerprint(moved)
    assert len({fingerprint(each) for each in (before, edited, other)}) == 3


def test_what_is_the_same_in_several_configurations_is_said_once() -> None:
    config = SOFTMAX.config
    reports = [
        msgspec.structs.replace(SOFTMAX, config=msgspec.structs.replace(config, num_warps=warps))
        for warps in (1, 2, 4, 8, 16)
    ]
    (found,) = results(WRITER(reports, Options()))
    assert len(found["properties"]["configurations"]) == 5
    assert "num_warps=4 and 2 more: the load" in found["message"]["text"]


def test_comparisons_say_what_is_new_and_what_is_gone() -> None:
    clean = with_findings()
    worse = msgspec.structs.replace(clean, findings=SOFTMAX.findings)

    def states(*reports: Report) -> list[str]:
        compared: Comparisons = against_first(list(reports))
        text = render("sarif", "comparisons", compared, Options())
        return [found["baselineState"] for found in results(text)]

    assert states(clean, worse) == ["new"]
    assert states(worse, clean) == ["absent"]
    assert states(clean, clean) == []


@given(
    text=st.text(max_size=30),
    hostile=st.sampled_from(
        ["[x](javascript:y)", "\x1b[31m", "\u202e", "<b>", "{0}", "%n", "\ud800"]
    ),
)
def test_hostile_text_is_inert(text: str, hostile: str) -> None:
    bad = text.encode("utf-8", "replace").decode() + hostile.encode("utf-8", "replace").decode()
    report = msgspec.structs.replace(
        with_findings(finding(bad, hint=bad), code={"softmax.py:50": bad}), kernel=bad or "k"
    )
    source = SourceLocation(bad or "k", 3)
    report = msgspec.structs.replace(
        report, findings=[msgspec.structs.replace(report.findings[0], source=source)]
    )
    written = WRITER([report], Options())
    (found,) = results(written)
    assert "](" not in found["message"]["text"]
    assert not set(written) & {"\x1b", "\u202e", "\x7f"}
