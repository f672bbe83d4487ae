"""A workbench made of the samples alone: the same answers everywhere, at once."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec
import pytest

from irlens.artifacts.load import load
from irlens.listing import list_stage, list_stages, occurrences
from irlens.model.capture import Capture
from irlens.model.code import CodeComparison
from irlens.model.comparison import Comparison
from irlens.model.errors import ArtifactError
from irlens.model.listing import Occurrences, StageListing
from irlens.model.report import Occupancy, Report
from irlens.tui.workbench import Entry, Setting
from irlens.workbench.changes import demands_of_report
from irlens.workbench.reading import entry_of

SAMPLES = Path(__file__).parents[2] / "samples"


#: Those that snapshots show; other samples may come and go.
NAMES = (
    "matmul-a100", "matmul-b200", "matmul_tma-h100", "softmax-h100", "softmax-mi300x",
    "softmax-t4", "spill-h100",
)  # fmt: skip


def load_report(name: str) -> Report:
    """A sample's report."""
    return msgspec.json.decode((SAMPLES / "reports" / f"{name}.json").read_bytes(), type=Report)


class FakeWorkbench:
    """Answers from the samples' reports, and from what their artifacts are listed as."""

    def __init__(self) -> None:
        self.title = "samples"
        self.reports = {name: load_report(name) for name in NAMES}
        self.broken = [
            Entry(key="broken", kernel="add_kernel", problem="add_kernel.json is broken", place="x")
        ]
        #: Keys of entries that have been deleted meanwhile.
        self.deleted: set[str] = set()

    def entries(self) -> Iterator[Entry]:
        for key, report in self.reports.items():
            yield entry_of(key, report, f"captures/{key}")
        yield from self.broken

    def report(self, key: str, *, sass: bool = False) -> Report:
        if key in self.deleted or key not in self.reports:
            raise ArtifactError(f"cannot read {key}: No such file or directory")
        return self.reports[key]

    def stages(self, key: str) -> Sequence[str]:
        # What a vendor's tool makes is not the same everywhere.
        return [name for name in list_stages(self._capture(key)) if name != "sass"]

    def python(self, key: str) -> dict[str, str]:
        folder = SAMPLES / "captures" / key / "python"
        return {path.name: path.read_text() for path in sorted(folder.iterdir())}

    def listing(self, key: str, stage: str, *, annotated: bool = True) -> StageListing:
        capture = self._capture(key)
        return list_stage(capture, stage, self.reports[key] if annotated else None)

    def occurrences(self, key: str, stage: str, name: str, line: int) -> Occurrences:
        return occurrences(self._capture(key), stage, name, line=line)

    def what_if(
        self, key: str, *, registers: int, shared_bytes: int, num_warps: int
    ) -> Occupancy | None:
        demands = demands_of_report(self.report(key))
        if demands is None:
            return None
        return demands.occupancy(
            registers=registers, shared_bytes=shared_bytes, num_warps=num_warps
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

    def _capture(self, key: str) -> Capture:
        if key in self.deleted:
            raise ArtifactError(f"cannot read {key}: No such file or directory")
        (capture,) = load(SAMPLES / "captures" / key)
        assert isinstance(capture, Capture)
        return capture


@pytest.fixture
def bench() -> FakeWorkbench:
    """A workbench of the samples."""
    return FakeWorkbench()


@pytest.fixture
def delete(bench: FakeWorkbench) -> Callable[[str], None]:
    """Delete an entry behind the workbench's back."""
    return bench.deleted.add
