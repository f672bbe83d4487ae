"""What a check holds reports against."""

from collections.abc import Sequence

import msgspec

from irlens.check.baseline import Baseline
from irlens.check.project import Budget


class Rules(msgspec.Struct, frozen=True, kw_only=True):
    """What reports are held against, and how strictly.

    Attributes:
        baseline: The checked-in figures; ``None`` where there are none.
        baseline_file: Where they are, relative to the project.
        project_file: Where the budgets are, relative to the project.
        budgets: The project's.
        everything: Whether all that the project names is checked, so that an entry or a budget
            that meets nothing is out of date.
        strict: Whether every movement fails.
        update: Whether the baseline is about to be made anew, so that no movement fails.
    """

    baseline: Baseline | None
    baseline_file: str
    project_file: str = "pyproject.toml"
    budgets: Sequence[Budget] = ()
    everything: bool = True
    strict: bool = False
    update: bool = False
