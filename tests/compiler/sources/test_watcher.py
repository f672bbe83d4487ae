"""Which changes of which files the watcher reports."""

import hashlib
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import watchfiles

from irlens.artifacts.load import load
from irlens.compiler.sources.watcher import SourceWatcher
from irlens.model.capture import Capture
from irlens.model.errors import CaptureError

SAMPLES = Path(__file__).parents[3] / "samples"
KERNEL = "@triton.jit\ndef k(x):\n    pass\n"
#: Timeout in seconds for a change to be reported.
PATIENCE = 60.0


def made_of(kernel: str, others: dict[Path, str], folder: Path) -> Capture:
    """Return a capture of a kernel's file with this content, and dependencies with these hashes."""
    copy = folder / "capture"
    shutil.copytree(SAMPLES / "captures" / "softmax-h100", copy)
    (copy / "python" / "k.py").write_text(kernel)
    (capture,) = load(copy)
    assert isinstance(capture, Capture)
    assert capture.manifest is not None
    dependencies = {str(file): digest for file, digest in others.items()}
    manifest = msgspec.structs.replace(capture.manifest, file="k.py", dependencies=dependencies)
    return msgspec.structs.replace(capture, manifest=manifest)


def sha256(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


@pytest.fixture
def kernel(tmp_path: Path) -> Path:
    path = tmp_path / "k.py"
    path.write_text(KERNEL)
    return path


def noticed(watcher: SourceWatcher, change: Callable[[], object]) -> list[Path]:
    """Return the files that a wait reports for a change during it."""
    found: list[Path] = []
    stop = threading.Event()
    waiting = threading.Thread(target=lambda: found.extend(watcher.wait(stop)), daemon=True)
    waiting.start()
    change()
    waiting.join(PATIENCE)
    assert not waiting.is_alive()
    return found


def test_every_way_of_saving_is_noticed(kernel: Path) -> None:
    watcher = SourceWatcher(str(kernel))
    assert noticed(watcher, lambda: kernel.write_text(KERNEL + "# 1")) == [kernel]
    new = kernel.with_name(".k.py.swp")

    def replace() -> None:
        new.write_text(KERNEL + "# 2")
        new.replace(kernel)

    assert noticed(watcher, replace) == [kernel]

    def remove_and_write() -> None:
        kernel.write_text("")
        kernel.unlink()
        kernel.write_text(KERNEL + "# 3")

    assert noticed(watcher, remove_and_write) == [kernel]


def test_a_save_before_the_wait_is_noticed(kernel: Path) -> None:
    watcher = SourceWatcher(str(kernel))
    kernel.write_text(KERNEL + "# 1")
    assert watcher.wait() == [kernel]


def test_declined_changes_are_reported_again(kernel: Path) -> None:
    watcher = SourceWatcher(str(kernel))
    kernel.write_text(KERNEL + "# 1")
    reported: list[list[Path]] = []

    def refuse(files: list[Path]) -> bool:
        reported.append(files)
        return False

    assert watcher.wait(take=refuse) == []
    assert reported == [[kernel]]
    assert watcher.wait() == [kernel]


def test_saving_the_same_content_is_ignored(kernel: Path) -> None:
    watcher = SourceWatcher(str(kernel))
    stop = threading.Event()
    threading.Timer(1.5, stop.set).start()
    kernel.write_text(KERNEL)
    kernel.with_name("other.py").write_text("x = 1")
    assert watcher.wait(stop) == []


def test_dependencies_are_watched(kernel: Path, tmp_path: Path) -> None:
    helper = tmp_path / "lib" / "helper.py"
    helper.parent.mkdir()
    helper.write_text("a = 1")
    watcher = SourceWatcher(str(kernel))
    watcher.compiled([made_of(KERNEL, {helper: sha256(helper)}, tmp_path)])
    assert watcher.files == [kernel, helper]
    assert noticed(watcher, lambda: helper.write_text("a = 2")) == [helper]


def test_a_save_during_compilation_is_noticed(kernel: Path, tmp_path: Path) -> None:
    helper = tmp_path / "helper.py"
    helper.write_text("a = 2")
    watcher = SourceWatcher(str(kernel))
    watcher.compiled([made_of(KERNEL, {helper: "that of a = 1"}, tmp_path / "1")])
    assert watcher.wait() == [helper]
    watcher.compiled([made_of(KERNEL + "# 1", {helper: sha256(helper)}, tmp_path / "2")])
    assert watcher.wait() == [kernel]


def test_changes_can_be_accepted(kernel: Path) -> None:
    watcher = SourceWatcher(str(kernel))
    kernel.write_text(KERNEL + "# 1")
    watcher.accept()
    stop = threading.Event()
    stop.set()
    assert watcher.wait(stop) == []
    assert noticed(watcher, lambda: kernel.write_text(KERNEL)) == [kernel]


def test_after_a_failure_the_whole_folder_is_watched(kernel: Path, tmp_path: Path) -> None:
    helper = tmp_path / "helper.py"
    helper.write_text("a = (")
    watcher = SourceWatcher(str(kernel))
    watcher.failed()
    assert noticed(watcher, lambda: helper.write_text("a = 1")) == [helper]


def test_a_folder_that_is_moved_away_is_polled(kernel: Path, tmp_path: Path) -> None:
    watcher = SourceWatcher(str(kernel))
    moved = tmp_path.with_name(f"{tmp_path.name}-moved")

    def away_and_back() -> None:
        tmp_path.rename(moved)
        (moved / "k.py").write_text(KERNEL + "# 1")
        moved.rename(tmp_path)

    assert noticed(watcher, away_and_back) == [kernel]


def test_a_folder_may_be_missing_when_the_wait_begins(kernel: Path, tmp_path: Path) -> None:
    watcher = SourceWatcher(str(kernel))
    moved = tmp_path.with_name(f"{tmp_path.name}-moved")
    tmp_path.rename(moved)
    (moved / "k.py").write_text(KERNEL + "# 1")
    assert noticed(watcher, lambda: moved.rename(tmp_path)) == [kernel]


def test_a_folder_may_disappear_when_the_watch_starts(
    kernel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    watcher = SourceWatcher(str(kernel))
    moved, watch = tmp_path.with_name(f"{tmp_path.name}-moved"), watchfiles.watch

    def go(*folders: Path, **options: Any) -> Iterator[object]:
        assert folders == (tmp_path,)
        tmp_path.rename(moved)
        try:
            yield from watch(*folders, **options)
        finally:
            (moved / "k.py").write_text(KERNEL + "# 1")
            moved.rename(tmp_path)

    monkeypatch.setattr(watchfiles, "watch", go)
    assert watcher.wait() == [kernel]


def test_files_are_polled_without_a_watch(kernel: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Path, **__: object) -> Iterator[object]:
        kernel.write_text(KERNEL + "# 1")
        raise OSError("OS file watch limit reached. about [...]")

    watcher = SourceWatcher(str(kernel))
    monkeypatch.setattr(watchfiles, "watch", refuse)
    assert watcher.wait() == [kernel]


def test_a_watcher_needs_a_file(tmp_path: Path) -> None:
    with pytest.raises(CaptureError, match="no such file"):
        SourceWatcher(str(tmp_path / "k.py"))
