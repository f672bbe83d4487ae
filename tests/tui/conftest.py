"""A workbench over the samples: the same answers on every machine, without delay."""

import lzma
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import pytest
import textual.app
import textual.pilot
import textual.screen
from msgspec.structs import replace
from textual.css.model import RuleSet
from textual.css.stylesheet import Stylesheet
from textual.notifications import Notification
from textual.pilot import Pilot
from textual.screen import Screen

from irlens.analyze.capture_code import CaptureCode
from irlens.artifacts import pass_dumps
from irlens.artifacts.load import load
from irlens.diff.code import compare_code
from irlens.diff.passes import States, change_of, crossing, describe_passes
from irlens.diff.report import compare
from irlens.model.capture import Capture, Disassembly
from irlens.model.code import CodeComparison
from irlens.model.comparison import Comparison
from irlens.model.errors import ArtifactError, CaptureError
from irlens.model.layout import LayoutDrawing
from irlens.model.limits import Limits
from irlens.model.listing import Occurrences, StageListing
from irlens.model.passes import Crossing, CrossingKind, FollowedLine, Passes
from irlens.model.report import Finding, Occupancy, Report
from irlens.model.source import SourceLocation
from irlens.model.suggestion import Suggestion
from irlens.model.variants import Variants
from irlens.model.why import Explanations
from irlens.report.annotations import list_stage, occurrences
from irlens.session.exchange import Entry, Inquiry, Setting
from irlens.session.interactive import Workbench
from irlens.session.listed_entries import entry_of_report
from irlens.session.passes import follow_line
from irlens.session.stages import layout_in
from irlens.session.what_if import demand_of_report
from irlens.tui.widgets import compile_status
from tests.tui.waiting import draw, draw_later, rest

T = TypeVar("T")

SAMPLES = Path(__file__).parents[2] / "samples"


#: Seconds after which the app draws a frame of its own accord: ``rest`` draws them, when the app
#: has nothing else to do.
_FRAME = 60.0

HOUR, DAY = 3600, 86400

#: The samples in the snapshots; others may be added and removed.
NAMES = (
    "matmul-a100", "matmul-b200", "matmul_tma-h100", "softmax-h100", "softmax-mi300x",
    "softmax-t4", "spill-h100",
)  # fmt: skip


def load_report(name: str) -> Report:
    """Return the report of a sample."""
    return msgspec.json.decode((SAMPLES / "reports" / f"{name}.json").read_bytes(), type=Report)


#: What commands answered with --format json: ``irlens suggest softmax -t h100 --num-stages 4
#: --num-warps 32``, ``irlens variants`` and ``irlens explain`` of the same, ``irlens limits
#: vector_add -t h100``; and the passes of the compilation.
ANSWERS = Path(__file__).with_name("answers")


def load_answer(name: str, kind: type[T]) -> T:
    """Return what a command answered."""
    return msgspec.json.decode((ANSWERS / f"{name}.json").read_bytes(), type=kind)


def load_suggestion() -> Suggestion:
    """Return the suggestion."""
    return load_answer("suggestion", Suggestion)


@pytest.fixture(autouse=True)
def _patient_pilot(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make pilots wait for the app instead of for an idle processor."""
    press, pause = Pilot.press, Pilot.pause

    async def nothing(*_: object) -> None:
        """Wait for nothing: ``rest`` follows every key and every pause."""

    async def press_in_turn(pilot: Pilot[Any], *keys: str) -> None:
        for key in keys:
            await press(pilot, key)
            await rest(pilot.app)
        draw(pilot.app)

    async def pause_and_rest(pilot: Pilot[Any], delay: float | None = None) -> None:
        await pause(pilot, delay)
        await rest(pilot.app)
        draw(pilot.app)

    monkeypatch.setattr(textual.screen, "UPDATE_PERIOD", _FRAME)
    monkeypatch.setattr(Screen, "_compositor_refresh", draw_later)
    monkeypatch.setattr(compile_status, "_TICK", 0.4)  # a busy machine is idle between two ticks
    monkeypatch.setattr(textual.app, "wait_for_idle", nothing)
    monkeypatch.setattr(textual.pilot, "wait_for_idle", nothing)
    monkeypatch.setattr(Pilot, "press", press_in_turn)
    monkeypatch.setattr(Pilot, "pause", pause_and_rest)


_parse_rules = Stylesheet._parse_rules
#: Parsed rules of style sheets, by the values of the variables in them, their text and place.
_parsed: dict[object, list[RuleSet]] = {}


@pytest.fixture(autouse=True)
def _styles_parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Share the parsed style sheets of all apps, as each app does among its widgets."""

    def parsed(sheet: Stylesheet, *args: Any, **named: Any) -> list[RuleSet]:
        key = (*sorted(sheet._variables.items()), args, *sorted(named.items()))
        if key not in _parsed:
            _parsed[key] = _parse_rules(sheet, *args, **named)
        return _parsed[key]

    monkeypatch.setattr(Stylesheet, "_parse_rules", parsed)


class FakeWorkbench(Workbench):
    """Answers from the samples' reports and artifacts."""

    def __init__(self) -> None:
        self.title = "samples"
        self.reports = {name: load_report(name) for name in NAMES}
        self.broken = [
            Entry(key="broken", kernel="add_kernel", problem="add_kernel.json is broken", place="x")
        ]
        now = time.time()
        #: When entries were captured, in seconds since the epoch; the others a day and a half ago.
        #: What is older than a month shows its date, which must not move with the calendar.
        self.captured = defaultdict(
            lambda: now - 1.5 * DAY,
            {"softmax-h100": now - 2.5 * HOUR, "softmax-t4": datetime(2026, 3, 14, 12).timestamp()},
        )
        #: Keys of deleted entries.
        self.deleted: set[str] = set()
        #: Keys whose complete entries were asked for, each time.
        self.completed: list[list[str]] = []
        #: Recompilations that were requested; they end when ``compiled`` is set.
        self.recompiled: list[tuple[str, dict[str, str]]] = []
        #: Entries whose neighbours were asked for; answered when ``compiled`` is set.
        self.suggested: list[str] = []
        #: Questions with a range that were asked: the view, and the ranges.
        self.asked: list[tuple[str, ...]] = []
        self._dumped: States | None = None
        self.compiled, self.cancelled = threading.Event(), threading.Event()
        self.compiled.set()
        #: Keys of entries whose sources are watched, and the files that are saved.
        self.followed: set[str] = set()
        self.saves: deque[str] = deque()
        #: Saves that were reported and refused, each time.
        self.refused: list[str] = []
        #: Errors of the first save, the second one, ...
        self.mistakes: deque[str] = deque()

    def entries(self) -> Iterator[Entry]:
        for key, report in self.reports.items():
            entry = entry_of_report(key, report, f"captures/{key}")
            yield replace(entry, modified=self.captured[key])
        yield from self.broken

    def complete(self, keys: Sequence[str]) -> Iterator[Entry]:
        """Yield entries without findings as ``entry`` returns them, and note what was asked."""
        self.completed.append(list(keys))
        yield from (self.entry(key) for key in keys)

    def entry(self, key: str) -> Entry:
        return entry_of_report(key, self.report(key), f"captures/{key}")

    def report(self, key: str, disassembly: Disassembly = Disassembly.SKIP) -> Report:
        if key in self.deleted or key not in self.reports:
            raise ArtifactError(f"cannot read {key}: No such file or directory")
        return self.reports[key]

    def kernel(self, key: str) -> str:
        return self.report(key).kernel

    def stages(self, key: str) -> Sequence[str]:
        # The output of a vendor's disassembler depends on its version.
        return [name for name in CaptureCode(self._capture(key)).stages if name != "sass"]

    def python(self, key: str) -> dict[str, str]:
        folder = SAMPLES / "captures" / key / "python"
        return {path.name: path.read_text() for path in sorted(folder.iterdir())}

    def listing(self, key: str, stage: str, *, annotated: bool = True) -> StageListing:
        capture = self._capture(key)
        return list_stage(CaptureCode(capture), stage, self.reports[key] if annotated else None)

    def occurrences(self, key: str, stage: str, name: str, line: int) -> Occurrences:
        return occurrences(CaptureCode(self._capture(key)), stage, name, line=line)

    def what_if(
        self, key: str, *, registers: int, shared_bytes: int, num_warps: int
    ) -> Occupancy | None:
        demands = demand_of_report(self.report(key))
        if demands is None:
            return None
        return demands.occupancy(
            registers=registers, shared_bytes=shared_bytes, num_warps=num_warps
        )

    def compare(self, before: str, after: str) -> Comparison:
        return compare(self.report(before), self.report(after))

    def code(self, before: str, after: str, stage: str) -> CodeComparison:
        told = self.compare(before, after)
        names = (told.before.label, told.after.label)
        ours, theirs = (CaptureCode(self._capture(key)) for key in (before, after))
        return compare_code(ours, theirs, stage, names=names)

    def settings(self, key: str) -> Sequence[Setting]:
        if not key.startswith("softmax"):
            return ()
        config = self.report(key).config
        return [
            Setting(name="num_stages", value=str(config.num_stages)),
            Setting(name="num_warps", value="8", choices=("1", "2", "4", "8", "16", "32")),
            Setting(name="maxnreg", value="none"),
            Setting(name="BLOCK_SIZE", value="1024"),
            Setting(name="PRECISE", value="false", choices=("false", "true")),
            Setting(name="target", value="h100", choices=("sm_80", "sm_90", "a100", "h100", "t4")),
            Setting(name="n_cols", value="1024", is_argument=True),
            Setting(
                name="input_ptr",
                value="fp32[4096, 1024]",
                is_argument=True,
                choices=("fp32[4096, 1024]", "fp16", "bf16"),
                follows="fp32[n_rows, n_cols]",
            ),
        ]

    def recompile(self, key: str, changes: dict[str, str]) -> Entry:
        """Return softmax for a T4 whatever is requested, and from there for an MI300X."""
        self.cancelled.clear()
        self.recompiled.append((key, changes))
        self.report(key)
        while not self.compiled.wait(0.01):
            if self.cancelled.is_set():
                raise CaptureError("compiling softmax was cancelled")
        if "maxnreg" in changes:
            raise CaptureError("ptxas has failed", hint="[red]``` too few registers\x1b[2J")
        made = "softmax-mi300x" if key == "softmax-t4" else "softmax-t4"
        return entry_of_report(made, self.reports[made], f"captures/{made}")

    def saved(self, key: str, until: threading.Event, take: Callable[[str], bool]) -> str:
        """Report each of ``saves`` for the entries in ``followed``."""
        while key in self.followed and not until.wait(0.01):
            if self.saves:
                saved = self.saves.popleft()
                if take(saved):
                    return saved
                self.saves.appendleft(saved)
                self.refused.append(saved)
                break
        return ""

    def remake(self, key: str) -> Entry:
        if self.mistakes:
            raise CaptureError(self.mistakes.popleft())
        return self.recompile(key, {})

    def suggest(self, key: str, inquiry: Inquiry) -> Suggestion:
        """Return what ``irlens suggest softmax --num-warps 32`` finds, once ``compiled`` is set."""
        self.suggested.append(key)
        self._compile(key, inquiry)
        return load_suggestion()

    def _compile(self, key: str, inquiry: Inquiry) -> None:
        """Take as long as the test says."""
        self.cancelled.clear()
        if not key.startswith("softmax"):
            raise CaptureError("the kernel's source is unknown", hint="name the source instead")
        inquiry.reached = "2 of 5"
        while not self.compiled.wait(0.01):
            if self.cancelled.is_set() or inquiry.is_cancelled:
                self.cancelled.set()
                raise CaptureError("softmax: cancelled")

    def why(self, key: str, finding: Finding, inquiry: Inquiry) -> Explanations:
        """Return an explanation of a narrow access, as if it were of the finding."""
        self._compile(key, inquiry)
        told = load_answer("why", Explanations)
        explanation = replace(told.explanations[0], finding=finding)
        return replace(told, explanations=[explanation], unexplained=[])

    def _passes(self, key: str) -> States:
        if self._dumped is None:
            dumps = pass_dumps.read(lzma.decompress((ANSWERS / "passes.xz").read_bytes()).decode())
            self._dumped = States(self._capture("softmax-h100"), dumps)
        return self._dumped

    def passes(self, key: str, inquiry: Inquiry) -> Passes:
        self._compile(key, inquiry)
        return describe_passes(self._passes(key))

    def pass_change(self, key: str, number: int) -> CodeComparison:
        return change_of(self._passes(key), number)

    def line_through_passes(self, key: str, line: SourceLocation) -> FollowedLine:
        return follow_line(self._passes(key), line)

    def crossing(self, key: str, operation: str, kind: CrossingKind) -> Crossing:
        return crossing(self._passes(key), operation, kind)

    def variants(self, key: str, ranges: Sequence[str], inquiry: Inquiry) -> Variants:
        """Return the variants of a range, of which without one the first alone."""
        self.asked.append(("variants", *ranges))
        self._compile(key, inquiry)
        variants = load_answer("variants", Variants)
        if not ranges:
            (kernel,) = variants.kernels
            alone = replace(kernel.variants[0], launch={})
            kernel = replace(kernel, number=1, variants=[alone], splits=[], advice=[], launches=1)
            variants = replace(variants, kernels=[kernel])
        return variants

    def limits(self, key: str, sizes: Sequence[str], inquiry: Inquiry) -> Limits:
        self.asked.append(("limits", *sizes))
        self._compile(key, inquiry)
        return load_answer("limits", Limits)

    def layout(self, key: str, names: Sequence[str], line: int) -> LayoutDrawing:
        return layout_in(self._capture(key), names, line)

    def cancel(self) -> None:
        self.cancelled.set()

    def close(self) -> None:
        self.cancel()

    def explain(self, code: str) -> str:
        return f"# {code}\n\nWhat it means.\n"

    def _capture(self, key: str) -> Capture:
        if key in self.deleted:
            raise ArtifactError(f"cannot read {key}: No such file or directory")
        (capture,) = load(SAMPLES / "captures" / key)
        assert isinstance(capture, Capture)
        return capture


@pytest.fixture
def bench() -> FakeWorkbench:
    """Return a workbench over the samples."""
    return FakeWorkbench()


@pytest.fixture
def delete(bench: FakeWorkbench) -> Callable[[str], None]:
    """Return a function that deletes an entry."""
    return bench.deleted.add


class Late:
    """A method of a workbench that delays some calls until it is released.

    Args:
        method: The method.
        when: Selects calls by their arguments.

    Attributes:
        asked: Set when such a call has arrived.
        go: Set it to release the call.
    """

    def __init__(self, method: Callable[..., Any], when: Callable[..., bool]) -> None:
        self._method, self._when = method, when
        self.asked, self.go = threading.Event(), threading.Event()

    def __call__(self, *args: object, **named: object) -> object:
        if self._when(*args, **named):
            self.asked.set()
            self.go.wait(60)
        return self._method(*args, **named)


@pytest.fixture
def late(bench: FakeWorkbench, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Late]]:
    """Return a function that delays a method of the workbench: ``late("report", when)``."""
    made: list[Late] = []

    def make(name: str, when: Callable[..., bool] = lambda *_, **__: True) -> Late:
        made.append(Late(getattr(bench, name), when))
        monkeypatch.setattr(bench, name, made[-1])
        return made[-1]

    yield make
    for each in made:
        each.go.set()


@pytest.fixture(autouse=True)
def told_for_good(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep notifications: a busy machine may take longer than they are shown."""
    monkeypatch.setattr(Notification, "has_expired", False)
