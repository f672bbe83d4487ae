"""A sweep: a line for each configuration on each target."""

from irlens.figures import SWEEP_FIGURES
from irlens.model.sweep import Sweep, Timing, Trial
from irlens.render import View
from irlens.render.csv import Field, written


def render(sweep: Sweep, view: View) -> str:
    """Return every trial with all its settings and figures."""
    return written(_row(trial, sweep) for trial in sweep.trials)


def _row(trial: Trial, sweep: Sweep) -> dict[str, Field]:
    row: dict[str, Field] = {
        "kernel": sweep.kernel,
        "arch": trial.target.arch,
        "product": trial.target.product,
        "triton": trial.triton or trial.triton_version,
    }
    chosen = {name: None for each in sweep.trials for name in (*each.settings, *each.args)}
    # A constexpr may be called like a column of ours: then it is told apart.
    ours = {*row, "outcome", "reason", "limited_by", *SWEEP_FIGURES}
    for name in chosen:
        title = f"setting {name}" if name in ours else name
        row[title] = trial.settings.get(name, trial.args.get(name))
    row["outcome"] = trial.outcome
    for name in Timing.__struct_fields__ if sweep.device is not None else ():
        row[name] = getattr(trial.timing, name, None)
    for name in SWEEP_FIGURES:
        row[name] = (trial.figures or {}).get(name)
    row["limited_by"] = " ".join(trial.limited_by)
    row["reason"] = trial.reason
    return row
