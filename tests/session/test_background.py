"""Reports of many captures are made by worker processes, and equal those made here."""

import os
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from irlens import load
from irlens.artifacts import processes
from irlens.model.capture import Capture, Disassembly
from irlens.session import background
from irlens.session import reports as session_reports
from irlens.session.background import Due, preparing
from irlens.session.reports import report_of
from irlens.session.session import Session

CAPTURES = Path(__file__).parents[2] / "samples" / "captures"
FOLDER = "IRLENS_TEST_FOLDER"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("IRLENS_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv(FOLDER, str(tmp_path))
    monkeypatch.setattr(background, "_FEW", 1)
    monkeypatch.setattr(background, "_BATCH", 1)
    return tmp_path / "cache"


def captures() -> list[Capture]:
    names = ("softmax-h100", "matmul-a100", "softmax-mi300x")
    return [next(iter(load(CAPTURES / name))) for name in names]


def note(due: Sequence[Due]) -> None:
    """Note which process gets which capture."""
    for capture, sass in due:
        directory = capture.directory
        assert directory is not None
        Path(os.environ[FOLDER], directory.name).write_text(f"{os.getpid()} {sass.name}")


def count(due: Sequence[Due]) -> None:
    """Note of how many captures a task is."""
    Path(os.environ[FOLDER], f"{os.getpid()}-{time.monotonic_ns()}").write_text(str(len(due)))


def die(_: Sequence[Due]) -> None:
    os._exit(3)


def test_many_reports_are_made_by_other_processes(tmp_path: Path) -> None:
    with preparing([(capture, Disassembly.SKIP) for capture in captures()], note):
        notes = [path.read_text().split() for path in tmp_path.iterdir() if path.is_file()]
    assert len(notes) == 3
    assert all(int(process) != os.getpid() and sass == "SKIP" for process, sass in notes)


def test_each_worker_starts_nvdisasm_for_two_tasks(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(processes, "processors", lambda: 2)
    with preparing([(capture, Disassembly.SKIP) for capture in captures()[:1] * 40], count):
        notes = [path.read_text() for path in tmp_path.iterdir() if path.is_file()]
    assert notes == ["10"] * 4


@pytest.mark.parametrize("threads", [False, True])
def test_they_equal_those_made_here(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, threads: bool
) -> None:
    monkeypatch.setattr(processes, "can_fork", lambda: not threads)
    made = [report for _, report in Session().inspect("", captures(), Disassembly.SKIP)]
    assert len(list((tmp_path / "cache" / "reports").glob("*.json"))) == 3
    monkeypatch.setenv("IRLENS_CACHE_DIR", str(tmp_path / "another"))
    assert made == [report_of(capture) for capture in captures()]


def test_a_worker_that_dies_costs_time_only() -> None:
    with preparing([(capture, Disassembly.SKIP) for capture in captures()], die):
        assert Session().inspect("", captures()[:1], Disassembly.SKIP)


def test_without_a_cache_reports_are_made_here(cache: Path) -> None:
    cache.write_text("a file where the directory should be")
    with preparing([(capture, Disassembly.SKIP) for capture in captures()], die):
        pass
    assert len(Session().inspect("", captures(), Disassembly.SKIP)) == 3


def test_remembered_reports_need_no_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    first = Session().inspect("", captures(), Disassembly.SKIP)
    monkeypatch.setattr(background, "_spread", lambda *_: pytest.fail("nothing is to be made"))
    monkeypatch.setattr(session_reports, "report_of", lambda *_, **__: pytest.fail("recalled"))
    assert Session().inspect("", captures(), Disassembly.SKIP) == first
