"""The cache of reports: a report is recalled for an unchanged capture only."""

import os
import shutil
from pathlib import Path

import pytest

import irlens
from irlens.artifacts import inventory, report_cache, store, tools
from irlens.artifacts.scan_index import SCANS
from irlens.artifacts.tools import DISASSEMBLY, UnansweredError
from irlens.model.capture import Capture, Disassembly, Stage
from irlens.report import inspect
from irlens.session.scan.entry_rows import Wanted, read_rows

SAMPLE = Path(__file__).parents[2] / "samples" / "captures" / "softmax-h100"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of a capture, and an empty store."""
    monkeypatch.setenv("IRLENS_CACHE_DIR", str(tmp_path / "store"))
    return Path(shutil.copytree(SAMPLE, tmp_path / "capture"))


def read(folder: Path) -> Capture:
    (capture,) = irlens.load(folder)
    return capture


def test_a_report_comes_back_as_it_was_kept(folder: Path) -> None:
    capture = read(folder)
    report, key = inspect(capture), report_cache.key_of(capture.digest, Disassembly.SKIP)
    assert report_cache.recall(key) is None
    report_cache.remember(key, report)
    assert report_cache.recall(report_cache.key_of(read(folder).digest, Disassembly.SKIP)) == report
    assert report_cache.recall(report_cache.key_of(capture.digest, Disassembly.REQUIRE)) is None


@pytest.mark.parametrize(
    "changed", ["softmax_kernel.ptx", "softmax_kernel.cubin", "python/softmax.py"]
)
def test_one_byte_makes_another_capture(folder: Path, changed: str) -> None:
    before = report_cache.key_of(read(folder).digest, Disassembly.SKIP)
    content = (folder / changed).read_bytes()
    (folder / changed).write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    assert report_cache.key_of(read(folder).digest, Disassembly.SKIP) != before


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("softmax_kernel.json", b'"num_warps": 8', b'"num_warps": 4'),
        ("irlens.json", b'"n_rows": 4096', b'"n_rows": 4097'),
    ],
)
def test_what_is_recorded_of_a_capture_counts(
    folder: Path, name: str, old: bytes, new: bytes
) -> None:
    before = report_cache.key_of(read(folder).digest, Disassembly.SKIP)
    content = (folder / name).read_bytes()
    assert old in content
    (folder / name).write_bytes(content.replace(old, new))
    assert report_cache.key_of(read(folder).digest, Disassembly.SKIP) != before


@pytest.mark.parametrize("content", [b"", b"{", b"{}", b"\xff", b'{"kernel": "\xc3("}'])
def test_a_damaged_report_is_made_again(folder: Path, content: bytes) -> None:
    capture = read(folder)
    key = report_cache.key_of(capture.digest, Disassembly.SKIP)
    report_cache.remember(key, inspect(capture))
    (kept,) = (folder.parent / "store").rglob("*.json")
    kept.write_bytes(content)
    assert report_cache.recall(key) is None


def test_a_capture_is_hashed_once_until_a_file_changes(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    capture = read(folder)
    key = report_cache.key_of(capture.digest, Disassembly.SKIP)
    ptx = capture.stages["ptx"].path
    assert ptx is not None

    def unread(*_: object, **__: object) -> bytes:
        raise AssertionError("read again")

    with monkeypatch.context() as patch:
        patch.setattr(Stage, "read", unread)
        assert report_cache.key_of(capture.digest, Disassembly.SKIP) == key
        assert report_cache.key_of(capture.digest, Disassembly.REQUIRE) != key
    ptx.write_text(ptx.read_text() + "\n")
    assert report_cache.key_of(capture.digest, Disassembly.SKIP) != key


def test_a_store_that_cannot_be_written_is_no_error(folder: Path) -> None:
    (folder.parent / "store").write_text("a file")
    capture = read(folder)
    report_cache.remember(report_cache.key_of(capture.digest, Disassembly.SKIP), inspect(capture))


def test_the_least_recently_used_reports_go(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    report = inspect(read(folder))
    kept = folder.parent / "store" / "reports"
    monkeypatch.setattr(store, "_WRITES_PER_LOOK", 1)
    for age, name in enumerate("abc"):
        report_cache.remember(name, report)
        os.utime(kept / f"{name}.json", (age, age))
    monkeypatch.setattr(store, "_MAX_BYTES", 2 * (kept / "a.json").stat().st_size)
    report_cache.remember("d", report)
    assert {path.stem for path in kept.iterdir()} == {"c", "d"}


@pytest.mark.parametrize("kind", [DISASSEMBLY, SCANS])
def test_all_that_can_be_made_again_has_the_limit(
    kind: inventory.Kind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new, unfinished = (tmp_path / kind.folder / name for name in ("old", "new", ".new.tmp"))
    store.remember(old, bytes(100))
    os.utime(old, (0, 0))
    unfinished.write_bytes(bytes(100))
    monkeypatch.setattr(store, "_WRITES_PER_LOOK", 1)
    monkeypatch.setattr(store, "_MAX_BYTES", 150)
    store.remember(new, bytes(100))
    assert not old.exists()
    assert store.recall(new) == bytes(100)
    assert unfinished.exists()


def test_nothing_that_this_process_used_goes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    report = inspect(read(folder))
    kept = folder.parent / "store" / "reports"
    report_cache.remember("a", report)
    os.utime(kept / "a.json", (0, 0))
    monkeypatch.setattr(store, "_WRITES_PER_LOOK", 1)
    monkeypatch.setattr(store, "_MAX_BYTES", 1)
    monkeypatch.setattr(store, "_BEGUN", 1.0)  # clocks of file systems are coarse
    assert report_cache.recall("a") == report
    report_cache.remember("b", report)
    assert {path.stem for path in kept.iterdir()} == {"a", "b"}


def test_the_library_takes_the_cache_too(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    report = irlens.inspect(read(folder))
    monkeypatch.setattr("irlens.report.inspect", None)
    assert irlens.inspect(read(folder)) == report


def test_what_a_tool_did_not_answer_is_asked_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On an overloaded machine times stayed unknown, long after it had recovered."""

    def run(*arguments: object, **more: object) -> str:
        raise UnansweredError("nvdisasm did not end within 50 s", hint="is it overloaded?")

    entries = [Wanted(folder, ("time.estimate_us",))]
    with monkeypatch.context() as context:
        context.setattr(tools, "run", run)
        time = irlens.inspect(read(folder)).time
        assert time is not None
        assert time.reason == "nvdisasm did not end within 50 s"
        (row,) = read_rows(entries)
        assert not row.is_lasting
    time = irlens.inspect(read(folder)).time
    assert time is not None
    assert time.estimate_us is not None
    (row,) = read_rows(entries)
    assert row.is_lasting
