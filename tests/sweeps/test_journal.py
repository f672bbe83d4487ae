"""What an interrupted sweep has written down, beside the sweeps of others."""

from pathlib import Path

from irlens.compiler import Request
from irlens.compiler.planning import Plan, PlannedVariant
from irlens.model.capture import Timing
from irlens.model.config import Target
from irlens.model.sweep import Measurement
from irlens.sweeps.journal import Journal


def test_another_sweep_may_end_while_old_journals_are_looked_for(
    h100: Target, private_store: Path
) -> None:
    # What leads nowhere is listed and not there, as a file that goes in between.
    other = private_store / "sweeps" / f"{'0' * 64}.jsonl"
    other.parent.mkdir(parents=True)
    other.symlink_to("nowhere")
    timing = Measurement(timing=Timing(median_ms=2, fast_ms=1, slow_ms=3))
    variant = PlannedVariant(Request(kernel="x", target=h100), "3.9.0", {})
    with Journal(Plan("x", [variant], {}), [variant]) as journal:
        journal.add_time(0, timing, "bench")
        assert journal.times() == {"bench": {0: timing}}
