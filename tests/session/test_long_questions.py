"""What the TUI asks of an entry: the answers of the commands, from a child that can be killed."""

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from irlens.artifacts.load import load
from irlens.model.capture import Capture
from irlens.model.errors import IrlensError
from irlens.model.limits import Limits
from irlens.model.passes import Passes
from irlens.model.report import Report
from irlens.model.source import SourceLocation
from irlens.model.variants import Variants
from irlens.model.why import Explanations
from irlens.session import Configurations
from irlens.session.exchange import Inquiry
from irlens.session.interactive import Workbench, open_session
from irlens.session.session import Session
from irlens.sweeps import worker_pool
from tests.running import InlinePool, irlens
from tests.session.compiled import never_asked

SAMPLES = Path(__file__).parents[2] / "samples"
RAGGED = (("n_cols", ("781",)),)


def opened(kernel: str, **selected: Any) -> tuple[Workbench, str]:
    bench = open_session(kernel, Configurations(targets=("h100",), **selected), Session())
    (key,) = {entry.key for entry in bench.entries()}
    return bench, key


def printed(kind: type[Any], *words: str) -> Any:
    """Return what a command prints with --format json."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(worker_pool, "LocalPool", InlinePool)
        ran = irlens(*words, "--format", "json")
    assert ran.code == 0, ran.err
    return msgspec.json.decode(ran.raw, type=kind)


def test_why_is_what_explain_says() -> None:
    bench, key = opened("softmax", args=RAGGED)
    findings = [each for each in bench.report(key).findings if each.code == "IRL301"]
    assert len(findings) == 2
    inquiry = Inquiry()
    explanations = bench.why(key, findings[1], inquiry)
    assert inquiry.reached.startswith("IRL301: trying ")
    command = printed(
        Explanations, "explain", "softmax", "IRL301", "-t", "h100", "--arg", "n_cols=781"
    )
    assert explanations.explanations == command.explanations[1:2]
    assert explanations.explanations[0].proof == "proved"


def test_the_passes_are_those_of_the_command() -> None:
    bench, key = opened("softmax")
    passes = bench.passes(key, Inquiry())
    command: Passes = printed(Passes, "passes", "softmax", "-t", "h100")
    names = [(run.number, run.name, run.came, run.went, run.changed) for run in passes.runs]
    assert names == [(r.number, r.name, r.came, r.went, r.changed) for r in command.runs]
    number = bench.crossing(key, "async_wait", "first").number
    assert number is not None
    assert passes.runs[number - 1].name == "TritonGPUPipeline"
    assert bench.pass_change(key, number).added > 0
    steps = bench.line_through_passes(key, SourceLocation("softmax.py", 50)).steps
    assert number in [step.number for step in steps]


def test_variants_are_those_of_the_command() -> None:
    """A block that the kernel's description derives follows the argument that varies."""
    bench, key = opened("softmax")
    ranges = ("n_cols=1,16,100",)
    variants = bench.variants(key, ranges, Inquiry())
    command = printed(Variants, "variants", "softmax", "-t", "h100", "--arg", ranges[0])
    [mine], [theirs] = variants.kernels, command.kernels
    assert mine.number == theirs.number == 3
    assert [each.specialization for each in mine.variants] == [
        each.specialization for each in theirs.variants
    ]
    assert [each.code for each in mine.variants] == [each.code for each in theirs.variants]


def test_limits_are_those_of_the_command() -> None:
    bench, key = opened("vector_add")
    limits = bench.limits(key, ("n_elements=2000000000..2200000000",), Inquiry())
    command = printed(
        Limits, "limits", "vector_add", "-t", "h100",
        "--along", "n_elements=2000000000..2200000000",
    )  # fmt: skip
    assert limits == command
    assert limits.sizes[0].limits[0].size == 2**31 + 1


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda bench, key: bench.variants(key, ("n",), Inquiry()), "NAME=VALUES"),
        (lambda bench, key: bench.limits(key, ("n=5..1",), Inquiry()), "not an ascending range"),
        (lambda bench, key: bench.limits(key, ("rows",), Inquiry()), "size 'rows'"),
    ],
)
def test_a_mistake_in_a_range_is_said(ask: Any, message: str) -> None:
    bench, key = opened("vector_add")
    with pytest.raises(IrlensError, match=message):
        ask(bench, key)


def _listed(*items: Capture | Report) -> tuple[Workbench, list[str]]:
    bench = Workbench("listed", lambda: iter(items), request_for=never_asked)
    return bench, list(dict.fromkeys(entry.key for entry in bench.entries()))


def _without_source(name: str) -> Capture:
    (capture,) = load(SAMPLES / "captures" / name)
    assert isinstance(capture, Capture)
    return msgspec.structs.replace(capture, manifest=None)


def test_what_has_no_source_says_so() -> None:
    bench, (key,) = _listed(_without_source("softmax-t4"))
    asked: list[Callable[[], object]] = [
        lambda: bench.passes(key, Inquiry()),
        lambda: bench.limits(key, (), Inquiry()),
        lambda: bench.variants(key, ("n_cols=1..4",), Inquiry()),
        lambda: bench.why(key, bench.report(key).findings[0], Inquiry()),
    ]
    for ask in asked:
        with pytest.raises(IrlensError, match="its source is unknown"):
            ask()


def test_a_saved_report_says_so() -> None:
    path = SAMPLES / "reports" / "softmax-h100.json"
    report = msgspec.json.decode(path.read_bytes(), type=Report)
    bench, (key,) = _listed(report)
    with pytest.raises(IrlensError, match="a saved report holds no code"):
        bench.passes(key, Inquiry())


def test_variants_without_a_source_are_the_listed_captures() -> None:
    one, other = _without_source("softmax-h100"), _without_source("softmax-t4")
    unrelated = _without_source("matmul-a100")
    bench, keys = _listed(one, other, unrelated)
    kernels = bench.variants(keys[0], (), Inquiry()).kernels
    assert {each.kernel for each in kernels} == {one.kernel}
    assert sum(each.number for each in kernels) == 2


def test_a_cancelled_question_ends_its_processes() -> None:
    bench, key = opened("softmax")
    inquiry, failed, before = Inquiry(), list[IrlensError](), _children()

    def ask() -> None:
        try:
            bench.variants(key, ("n_cols=1..131072",), inquiry)
        except IrlensError as error:
            failed.append(error)

    thread = threading.Thread(target=ask)
    thread.start()
    end = time.monotonic() + 60
    while not inquiry.reached:
        assert time.monotonic() < end
        time.sleep(0.01)
    children = _children() - before
    assert children
    inquiry.cancel()
    thread.join(60)
    assert "cancelled" in failed[0].message
    while _children() & children:
        assert time.monotonic() < end
        time.sleep(0.01)


def _children() -> set[int]:
    """Return the processes that this one has started and that run."""
    found = set()
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            _, _, rest = path.read_text().rpartition(")")
        except OSError:  # it has ended meanwhile
            continue
        state, parent, *_ = rest.split()
        if int(parent) == os.getpid() and state not in "ZX":
            found.add(int(path.parent.name))
    return found


def test_a_question_that_is_cancelled_before_it_begins_is_not_answered() -> None:
    bench, key = opened("vector_add")
    inquiry = Inquiry()
    inquiry.cancel()
    with pytest.raises(IrlensError, match="cancelled"):
        bench.passes(key, inquiry)
