"""A workbench made of the samples alone: the same answers everywhere, at once."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec
import pytest

from irlens.model.capture import BINARY_STAGES, STAGE_ORDER
from irlens.model.code import CodeComparison
from irlens.model.comparison import Comparison
from irlens.model.errors import ArtifactError
from irlens.model.listing import Occurrences, StageListing
from irlens.model.report import Occupancy, Report, Severity
from irlens.tui.workbench import Entry, Setting

SAMPLES = Path(__file__).parents[2] / "samples"


def load_reports() -> dict[str, Report]:
    """The samples' reports by name."""
    return {
        path.stem: msgspec.json.decode(path.read_bytes(), type=Report)
        for path in sorted((SAMPLES / "reports").glob("*.json"))
    }


def entry_of(key: str, report: Report) -> Entry:
    """What a list tells of a report."""
    severities: Counter[Severity] = Counter(finding.severity for finding in report.findings)
    return Entry(
        key=key,
        kernel=report.kernel,
        target=report.target,
        triton_version=report.triton_version,
        config=report.config,
        resources=report.resources,
        occupancy=report.occupancy,
        stages=tuple(
            (pipeline.achieved_stages, pipeline.requested_stages)
            for pipeline in report.pipelines
            if pipeline.achieved_stages is not None
        ),
        findings=dict(severities),
        place=f"captures/{key}",
    )


class FakeWorkbench:
    """Answers from the samples' reports, and from their artifacts without analysing them."""

    def __init__(self) -> None:
        self.title = "samples"
        self.reports = load_reports()
        self.broken = [
            Entry(key="broken", kernel="add_kernel", problem="add_kernel.json is broken", place="x")
        ]
        #: Keys of entries that have been deleted meanwhile.
        self.deleted: set[str] = set()

    def entries(self) -> Iterator[Entry]:
        for key, report in self.reports.items():
            yield entry_of(key, report)
        yield from self.broken

    def report(self, key: str, *, sass: bool = False) -> Report:
        if key in self.deleted or key not in self.reports:
            raise ArtifactError(f"cannot read {key}: No such file or directory")
        return self.reports[key]

    def stages(self, key: str) -> Sequence[str]:
        return [name for name in STAGE_ORDER if name in self.reports[key].stages]

    def python(self, key: str) -> dict[str, str]:
        folder = SAMPLES / "captures" / key / "python"
        return {path.name: path.read_text() for path in sorted(folder.iterdir())}

    def listing(self, key: str, stage: str, *, annotated: bool = True) -> StageListing:
        if key in self.deleted or stage in BINARY_STAGES:
            raise ArtifactError(f"cannot read {stage} of {key}")
        (path,) = (SAMPLES / "captures" / key).glob(f"*.{stage}")
        text = path.read_text()
        return StageListing(
            stage=stage, text=text, chains=[], chain=[-1] * text.count("\n"), live=[], peak=None,
            loops=[], marks=[],
        )  # fmt: skip

    def occurrences(self, key: str, stage: str, name: str, line: int) -> Occurrences:
        lines = self.listing(key, stage).lines
        found = tuple(number for number, line in enumerate(lines, 1) if name in line.split())
        return Occurrences(name=name, definitions=found[:1], uses=found[1:])

    def what_if(
        self, key: str, *, registers: int, shared_bytes: int, num_warps: int
    ) -> Occupancy | None:
        occupancy = self.reports[key].occupancy
        if occupancy is None:
            return None
        blocks = min(65536 // (registers * num_warps * 32), 233472 // max(shared_bytes, 1), 32)
        warps = min(blocks * num_warps, occupancy.max_warps)
        return msgspec.structs.replace(
            occupancy,
            blocks_per_sm=warps // num_warps,
            active_warps=warps // num_warps * num_warps,
            theoretical=warps // num_warps * num_warps / occupancy.max_warps,
            launchable=blocks > 0,
        )

    def compare(self, before: str, after: str) -> Comparison:
        raise NotImplementedError

    def code(self, before: str, after: str, stage: str) -> CodeComparison:
        raise NotImplementedError

    def settings(self, key: str) -> Sequence[Setting]:
        return ()

    def recompile(self, key: str, changes: dict[str, str]) -> Entry:
        raise NotImplementedError

    def cancel(self) -> None:
        pass

    def explain(self, code: str) -> str:
        return f"# {code}\n\nWhat it means.\n"


@pytest.fixture
def bench() -> FakeWorkbench:
    """A workbench of the samples."""
    return FakeWorkbench()


@pytest.fixture
def delete(bench: FakeWorkbench) -> Callable[[str], None]:
    """Delete an entry behind the workbench's back."""
    return bench.deleted.add
