"""``irlens explain KERNEL FINDING`` and ``irlens inspect --why`` from the command line."""

import json
from collections.abc import Iterator
from pathlib import Path

import jsonschema
import msgspec
import pytest

from irlens.analyze import counterfactuals
from irlens.analyze.counterfactuals import Change, Symptom
from irlens.compiler import compiler_output
from irlens.model.comparison import Side
from irlens.model.config import Config
from irlens.model.report import Finding
from irlens.model.why import Experiment, Explanation, Explanations
from irlens.render.json import schema
from irlens.render.options import Options
from irlens.render.text import write
from irlens.render.view.why import why_view
from tests.running import Ran, inline, irlens

__all__ = ["inline"]

pytestmark = pytest.mark.usefixtures("inline")

RAGGED = ("softmax", "-t", "h100", "-a", "n_cols=781", "-a", "input_row_stride=781")


def run(*arguments: str) -> Ran:
    return irlens(*arguments)


def test_a_finding_of_a_kernel_is_proved() -> None:
    ran = run("explain", "softmax", "IRL301", *RAGGED[1:])
    assert ran.code == 0, ran.err
    said = " ".join(ran.out.split())
    assert "proved: the finding goes with its cause" in said
    assert "Decided by TritonGPUCoalesce, pass " in said
    assert "input_row_stride and n_cols known to be multiples of 16: the finding is gone" in said
    assert run("explain", "softmax", "narrow-access", *RAGGED[1:]).out == ran.out


def test_without_a_finding_all_of_a_kernel_are_explained() -> None:
    """A kernel's name with options, or one that is nothing else."""
    ran = run("explain", *RAGGED)
    assert ran.code == 0, ran.err
    assert ran.out == run("inspect", *RAGGED, "--why").out
    assert "IRL301 at softmax.py:50" in ran.out
    assert "no findings to explain" in run("explain", "softmax").out
    assert run("explain", "spill").out.startswith("# Spill (term)")
    assert "spill_kernel" in run("explain", "spill", "-t", "sm_75", "-a", "n_cols=64").out


@pytest.mark.parametrize("form", ["json", "markdown", "html"])
def test_every_finding_is_explained_or_named(form: str) -> None:
    ran = run("inspect", *RAGGED, "--why", "--format", form)
    assert ran.code == 0, ran.err
    if form == "json":
        jsonschema.validate(json.loads(ran.out), json.loads(schema("explanations")))
        explanations = msgspec.json.decode(ran.out, type=Explanations)
        report = json.loads(run("inspect", *RAGGED, "--format", "json").out)
        explained = [each.finding.code for each in explanations.explanations]
        found = {each["code"] for each in report["findings"]}
        assert {*explained, *explanations.unexplained} == found
    else:
        assert "TritonGPUCoalesce" in ran.out
    assert "/kernels/" not in ran.out


def test_an_unknown_cause_is_not_likely() -> None:
    config = Config(num_warps=4, num_stages=3, num_ctas=1, maxnreg=None, constexprs={}, args={})
    compiled = Side(kernel="k", target=None, triton_version=None, config=config, label="")
    message = "the load at k.py:1 is not pipelined: the ttgir does not show why"
    finding = Finding(
        code="IRL203", severity="warning", message=message, hint="", stage="ttgir", line=None,
        source=None,
    )  # fmt: skip
    explanation = Explanation(
        finding=finding, cause="", decided_by="", number=None, operations=[], said=[],
        experiments=[], proof="untested",
    )  # fmt: skip
    shown = Explanations(schema=1, compiled=compiled, explanations=[explanation], unexplained=[])
    text = write(why_view(shown), Options())
    assert "cause not found, and no experiment exists" in text
    assert "likely" not in text
    broken = Experiment(change="num_stages=2", gone=None, error="the pass X failed")
    tried = msgspec.structs.replace(explanation, cause="LLVM waits", experiments=[broken])
    text = write(why_view(msgspec.structs.replace(shown, explanations=[tried])), Options())
    assert "likely, not tested: nothing that was tried has a result" in text
    assert "with num_stages=2: no result: the pass X failed" in text


def test_what_has_no_experiment_names_the_command_that_says_what_is_known() -> None:
    config = Config(num_warps=4, num_stages=3, num_ctas=1, maxnreg=None, constexprs={}, args={})
    compiled = Side(kernel="k", target=None, triton_version=None, config=config, label="")
    shown = Explanations(schema=1, compiled=compiled, explanations=[], unexplained=["IRL201"])
    text = " ".join(write(why_view(shown), Options()).split()).replace("\xa0", " ")
    assert "No experiment exists for IRL201: what decides it was not tested." in text
    assert "irlens explain IRL201 tells what is known." in text


def test_what_the_compiler_says_of_several_findings_is_shown_once() -> None:
    ran = run("inspect", "spill", "-t", "a100", "--why")
    assert ran.code == 0, ran.err
    said = " ".join(ran.out.split())
    assert "IRL104" in said
    assert "IRL105" in said
    assert said.count("bytes spill stores") == 1


def test_a_change_that_leaves_the_cause_alone_proves_none(monkeypatch: pytest.MonkeyPatch) -> None:
    known = counterfactuals._MAKERS["IRL301"]

    def elsewhere(symptom: Symptom) -> Iterator[Change]:
        yield from (msgspec.structs.replace(each, is_cause=False) for each in known(symptom))

    monkeypatch.setitem(counterfactuals._MAKERS, "IRL301", elsewhere)
    ran = run("explain", "softmax", "IRL301", *RAGGED[1:])
    assert ran.code == 0, ran.err
    said = " ".join(ran.out.split())
    assert "likely, not proved: the finding goes with a change that leaves its cause alone" in said
    assert "multiples of 16: the finding goes, whatever its cause" in said


def test_an_interruption_leaves_what_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    known = counterfactuals._MAKERS["IRL301"]
    asked = []

    def interrupted(symptom: Symptom) -> Iterator[Change]:
        asked.append(symptom.finding)
        if len(asked) > 1:
            raise KeyboardInterrupt
        yield from known(symptom)

    monkeypatch.setitem(counterfactuals._MAKERS, "IRL301", interrupted)
    ran = run("explain", "softmax", "IRL301", *RAGGED[1:])
    assert ran.code == 130
    said = " ".join(ran.out.split())
    assert said.count("proved: the finding goes with its cause") == 1
    assert f"Interrupted, and not looked at: IRL301 at {asked[1].source}" in said


def test_a_triton_that_prints_no_passes_leaves_the_proof(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IRLENS_CACHE_DIR", str(tmp_path))
    monkeypatch.setitem(compiler_output._OF, "mlir", {})
    said = " ".join(run("explain", "softmax", "IRL301", *RAGGED[1:]).out.split())
    assert "proved: the finding goes with its cause" in said
    assert "Decided by" not in said
    assert said.count("Which pass decides is unknown: Triton") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("explain", "softmax", "IRL203", "-t", "h100"), "has no finding IRL203"),
        (("explain", "softmax", "IRL999", "-t", "h100"), "unknown finding 'IRL999'"),
        (("explain", "IRL301", "-t", "h100"), "options need KERNEL: irlens explain"),
        (("explain", "nosuch", "IRL301", "-t", "h100"), "nosuch"),
        (("inspect", "softmax", "--why", "--stage", "ptx"), "--why explains the findings alone"),
    ],
)
def test_bad_input_is_one_clear_line(arguments: tuple[str, ...], message: str) -> None:
    ran = run(*arguments)
    assert ran.code == 2
    assert ran.out == ""
    assert message in ran.err
    assert "Traceback" not in ran.err
