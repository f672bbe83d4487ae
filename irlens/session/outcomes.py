"""What recompilations come to, each looked at only as far as it is asked about."""

from functools import cached_property
from pathlib import Path

from irlens import rules
from irlens.analyze import register_holders
from irlens.artifacts import pass_dumps
from irlens.diff.passes import States
from irlens.model.capture import Capture
from irlens.model.config import Config
from irlens.model.errors import ArtifactError
from irlens.model.pressure import StagePressure
from irlens.model.report import Finding, Report
from irlens.report.inspection import Inspection
from irlens.session.reports import complete_report, needs_machine_code, recall_complete

#: Compilations whose parsed stages are kept.
_MOST_KEPT = 4


class Outcome:
    """One compilation: a report that is remembered, or what is computed when it is read.

    A whole report takes several times as long as one rule: it evaluates all programs of the
    launch, and estimates what would change the time.

    Raises:
        ArtifactError: By all methods, if an artifact is broken.
    """

    def __init__(self, capture: Capture) -> None:
        self._capture = capture
        self._seen: Report | Inspection = recall_complete(capture) or Inspection(capture)
        if isinstance(self._seen, Inspection) and needs_machine_code(self._seen):
            self._seen = complete_report(capture)

    def findings(self, code: str) -> list[Finding]:
        """Return the findings of a code, those included that are only found on request."""
        seen, capture = self._seen, self._capture
        inspection = seen if isinstance(seen, Inspection) else Inspection(capture)
        return [*self.reported(code), *rules.answers(code, lambda: inspection.facts)]

    def reported(self, code: str) -> list[Finding]:
        """Return the findings of a code that a report lists."""
        if isinstance(self._seen, Inspection):
            return self._seen.findings_of(code)
        return [each for each in self._seen.findings if each.code == code]

    def leaves_open(self, code: str) -> bool:
        """Whether it is unknown if there are findings of a code, or some of them."""
        return f"findings.{code}" in complete_report(self._capture).unknown

    @cached_property
    def passes(self) -> States | None:
        """The compiler's passes; ``None`` if they were not printed or cannot be read."""
        return printed_passes(self._capture)[0]

    @property
    def occupancy(self) -> float:
        """Return the theoretical occupancy, 0 if it is unknown."""
        occupancy = self._seen.occupancy
        return occupancy.theoretical if occupancy is not None else 0.0

    @property
    def is_launchable(self) -> bool:
        """Whether a CTA fits, as far as that is known."""
        occupancy = self._seen.occupancy
        return occupancy is None or occupancy.launchable

    @property
    def needed(self) -> StagePressure | None:
        """Return what needs the registers at the peak."""
        return register_holders.needed(self._seen.pressure)

    @property
    def work(self) -> tuple[int | None, int | None]:
        """Return the bytes that the launch stores, and those that it loads, each counted once.

        A smaller tile may leave some to nobody.
        """
        traffic = self._seen.traffic
        if traffic is None:
            return None, None
        return traffic.written_bytes, traffic.distinct_read_bytes

    @property
    def config(self) -> Config:
        """Return how the kernel is compiled and launched."""
        return self._capture.config

    @property
    def flops(self) -> dict[str, int] | None:
        """Return the operations of the launch by type; ``None`` if unknown."""
        traffic = self._seen.traffic
        return traffic.flops if traffic is not None else None

    @property
    def estimate_us(self) -> float | None:
        """Return the estimated time."""
        seen = self._seen
        time = seen.time_alone if isinstance(seen, Inspection) else seen.time
        return time.estimate_us if time is not None else None


def printed_passes(capture: Capture) -> tuple[States | None, str]:
    """Return what the compiler printed of a capture, and why that cannot be read."""
    try:
        dumps = pass_dumps.of_capture(capture)
    except ArtifactError as error:
        return None, error.message
    return (States(capture, dumps) if dumps is not None else None), ""


class Outcomes:
    """The outcomes of captures, the last ones kept."""

    def __init__(self) -> None:
        self._kept: dict[tuple[bytes, Path | None], Outcome] = {}

    def of(self, capture: Capture) -> Outcome:
        """Return the outcome of a capture.

        Raises:
            ArtifactError: An artifact is broken.
        """
        key = capture.digest, capture.directory  # what the compiler printed is only in the latter
        found = self._kept.pop(key, None) or Outcome(capture)
        self._kept[key] = found
        if len(self._kept) > _MOST_KEPT:
            del self._kept[next(iter(self._kept))]
        return found
