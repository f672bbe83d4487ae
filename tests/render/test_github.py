"""Workflow commands, read back as GitHub's runner reads them."""

from functools import partial
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from irlens.model.check import Check
from irlens.model.report import Report, Severity
from irlens.model.source import SourceLocation
from irlens.render import Options, render
from irlens.rules import find_rule

SAMPLES = Path(__file__).parents[2] / "samples"
SOFTMAX = msgspec.json.decode((SAMPLES / "reports/softmax-t4.json").read_bytes(), type=Report)
WRITER = partial(render, "github", "reports")


def unescaped(text: str, *, is_property: bool) -> str:
    table = {"%0D": "\r", "%0A": "\n", **({"%3A": ":", "%2C": ","} if is_property else {})}
    for written, meant in table.items():
        text = text.replace(written, meant)
    return text.replace("%25", "%")


def read(line: str) -> tuple[str, dict[str, str], str]:
    """What ``ActionCommand.TryParseV2`` of the runner makes of a line."""
    assert line.startswith("::")
    head, _, data = line[2:].partition("::")
    command, _, properties = head.partition(" ")
    found = dict(each.split("=", 1) for each in properties.split(",") if each)
    decoded = {name: unescaped(value, is_property=True) for name, value in found.items()}
    return command, decoded, unescaped(data, is_property=False)


def test_a_finding_becomes_an_annotation() -> None:
    view = Options(explain=find_rule, locate=lambda file, _: f"src/{file}")
    (line,) = WRITER([SOFTMAX], view).splitlines()
    command, properties, message = read(line)
    assert command == "warning"
    assert properties == {
        "file": "src/softmax.py",
        "line": "50",
        "title": "irlens IRL203 load-not-pipelined",
    }
    told, hint = message.split("\n")
    found = SOFTMAX.findings[0]
    assert told == f"softmax_kernel on sm_75: {found.message}"
    assert hint == found.hint


@pytest.mark.parametrize(
    ("severity", "command"), [("error", "error"), ("warning", "warning"), ("note", "notice")]
)
def test_severities_have_their_commands(severity: Severity, command: str) -> None:
    found = msgspec.structs.replace(SOFTMAX.findings[0], severity=severity)
    report = msgspec.structs.replace(SOFTMAX, findings=[found])
    assert read(WRITER([report], Options()))[0] == command


def test_the_worst_stands_first_for_a_step_shows_ten() -> None:
    note, error = (
        msgspec.structs.replace(SOFTMAX.findings[0], severity=severity)
        for severity in ("note", "error")
    )
    reports = [msgspec.structs.replace(SOFTMAX, findings=[each]) for each in (note, error)]
    lines = WRITER(reports, Options()).splitlines()
    assert [read(line)[0] for line in lines] == ["error", "notice"]


def test_nothing_to_say_is_no_command() -> None:
    report = msgspec.structs.replace(SOFTMAX, findings=[])
    assert WRITER([report], Options()) == "irlens: nothing to annotate\n"


def test_a_check_that_fails_has_errors_at_the_lines_to_look_at() -> None:
    """One for the kernel, whatever the number of its figures that moved, and one for the budget."""
    check = msgspec.json.decode((SAMPLES / "checks/failed.json").read_bytes(), type=Check)
    found = [read(line) for line in render("github", "check", check, Options()).splitlines()]
    errors = [properties for command, properties, _ in found if command == "error"]
    assert [properties["title"] for properties in errors] == ["irlens baseline", "irlens budget"]
    assert {properties["file"] for properties in errors} == {"layer_norm.py"}
    assert all(int(properties["line"]) > 0 for properties in errors)
    assert found[0][2].startswith("layer_norm_kernel on b200: ")
    assert "occupancy 50 % → 25 %" in found[0][2]
    assert [command for command, _, _ in found] == ["error", "error", "notice"]


def test_a_difference_is_told_and_what_went_is_no_warning() -> None:
    text = (SAMPLES / "comparisons/softmax-t4-h100.annotations").read_text()
    gone, moved = (read(line) for line in text.splitlines())
    assert (gone[0], gone[1]["title"]) == ("notice", "irlens IRL203 load-not-pipelined, gone")
    assert moved[1] == {"title": "irlens difference"}
    assert moved[2].startswith("softmax_kernel on sm_75 → sm_90: ")


@given(
    st.text(max_size=40),
    st.sampled_from(["\n::error::x", "\r", "%0A", "%", ",line=9", "::", "\x1b[0m"]),
)
def test_hostile_text_starts_no_command_of_its_own(text: str, hostile: str) -> None:
    bad = (text + hostile).encode("utf-8", "replace").decode()
    found = msgspec.structs.replace(
        SOFTMAX.findings[0], message=bad, hint=bad, source=SourceLocation(bad, 3), code=bad
    )
    report = msgspec.structs.replace(SOFTMAX, kernel=bad, findings=[found])
    written = WRITER([report], Options())
    assert written.count("\n") == 1
    assert "\r" not in written
    command, properties, message = read(written.rstrip("\n"))
    assert command == "warning"
    assert properties.keys() == {"file", "line", "title"}
    assert properties["line"] == "3"
    assert "\x1b" not in message
    assert message.count("\n") == 1
