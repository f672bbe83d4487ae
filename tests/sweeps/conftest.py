"""A store of its own for every test, and trials made by hand."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

from irlens.figures import SWEEP_FIGURES
from irlens.model.capture import Timing
from irlens.model.config import ConstexprValue, Target
from irlens.model.sweep import Outcome, Trial

MakeTrial: TypeAlias = Callable[..., Trial]


@pytest.fixture(autouse=True)
def private_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    store = tmp_path / "store"
    monkeypatch.setenv("IRLENS_CACHE_DIR", str(store))
    return store


@pytest.fixture
def h100() -> Target:
    return Target(vendor="nvidia", arch="sm_90", warp_size=32, product="h100")


@pytest.fixture
def trial(h100: Target) -> MakeTrial:
    """Make a trial of which only the given figures are known."""
    blank = dict.fromkeys(SWEEP_FIGURES)

    def make(
        outcome: Outcome = "fits",
        *,
        settings: dict[str, ConstexprValue] | None = None,
        target: Target = h100,
        time: float | None = None,
        **figures: float | None,
    ) -> Trial:
        timing = None if time is None else Timing(median_ms=time, fast_ms=time, slow_ms=time)
        return Trial(
            label=" ".join(f"{name}={value}" for name, value in (settings or {}).items()),
            target=target,
            settings=settings or {},
            args={},
            outcome=outcome,
            figures=None if outcome == "failed" else {**blank, **figures},
            timing=timing,
        )

    return make
