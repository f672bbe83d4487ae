"""What irlens keeps: found, measured, and removed without harming anything else."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from irlens.artifacts import inventory, store
from irlens.artifacts.inventory import CAPTURES, Kind, StoredItem, list_items, remove
from irlens.artifacts.report_cache import REPORTS
from irlens.artifacts.scan_index import SCANS
from irlens.artifacts.tools import DISASSEMBLY
from irlens.compiler.toolchains.environments import ENVIRONMENTS
from irlens.model.capture import MANIFEST_NAME
from irlens.model.errors import ArtifactError
from irlens.sweeps.journal import SWEEPS

KEYS = [letter * 64 for letter in "0123456789abcdef"]
KINDS = [ENVIRONMENTS, CAPTURES, REPORTS, DISASSEMBLY, SWEEPS]


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("IRLENS_CACHE_DIR", str(tmp_path / "store"))
    return tmp_path / "store"


def make_capture(root: Path, key: str = KEYS[0], *, variants: int = 1) -> Path:
    path = root / "captures" / key
    for number in range(variants):
        entry = path / f"{number:03}"
        (entry / "python").mkdir(parents=True)
        (entry / MANIFEST_NAME).write_text("{}")
        (entry / "f.ptx").write_bytes(b"x" * 10_000)
    return path


def make_environment(root: Path, version: str = "3.6.0") -> Path:
    path = root / "environments" / f"triton-{version}-cpython-311-x86_64-linux-gnu"
    (path / "bin").mkdir(parents=True)
    (path / "bin" / "python").symlink_to(sys.executable)
    (path / "complete").touch()
    path.with_name(f"{path.name}.lock").touch()
    return path


def make_file(root: Path, kind: Kind, name: str) -> Path:
    path = root / kind.folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("{}")
    return path


def make_all(root: Path) -> dict[str, Path]:
    return {
        "environments": make_environment(root),
        "captures": make_capture(root, variants=2),
        "reports": make_file(root, REPORTS, f"{KEYS[0]}.json"),
        "disassembly": make_file(root, DISASSEMBLY, f"{KEYS[0]}.gz"),
        "sweeps": make_file(root, SWEEPS, f"{KEYS[0]}.jsonl"),
    }


def unused_for(path: Path, seconds: float) -> None:
    then = time.time() - seconds
    os.utime(path, (then, then))


def all_of(kind: Kind) -> list[Path]:
    return [each.path for each in list_items(kind)]


def test_everything_is_found_and_measured_as_du_does(root: Path) -> None:
    assert [list_items(kind) for kind in KINDS] == [[]] * 5, "nothing is kept yet"
    made = make_all(root)
    with (made["captures"] / "000" / "sparse").open("wb") as file:
        file.truncate(10_000_000)
    os.link(made["captures"] / "000" / "f.ptx", made["captures"] / "000" / "twice")
    for kind in KINDS:
        (found,) = list_items(kind)
        assert found.path == made[kind.title]
        du = subprocess.run(
            ["du", "-s", "--block-size=1", found.path], capture_output=True, text=True, check=True
        )
        assert found.bytes == int(du.stdout.split()[0])
    assert list_items(ENVIRONMENTS)[0].name == "Triton 3.6.0 for cpython-311-x86_64-linux-gnu"


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.title)
def test_what_is_removed_is_gone_and_nothing_else(kind: Kind, root: Path) -> None:
    made = make_all(root)
    (found,) = list_items(kind)
    assert remove(kind, found)
    assert not made[kind.title].exists()
    assert [each.exists() for each in made.values()].count(True) == 4
    assert not list(root.rglob(".irlens-tmp-*"))
    assert not remove(kind, found), "it is gone already"


def foreign(root: Path, outside: Path) -> list[Path]:
    """Put into a store what irlens did not write, much of it called like what it did."""
    capture = make_capture(outside)
    environment = make_environment(outside)
    report = make_file(outside, REPORTS, f"{KEYS[0]}.json")
    made: list[Path] = [make_capture(root, KEYS[3]) / "notes.txt"]
    made[0].write_text("mine")
    for kind in KINDS:
        made += [make_file(root, kind, "notes.txt"), make_file(root, kind, f"{KEYS[1]}.txt")]
        made.append(root / kind.folder / KEYS[2])
        made[-1].mkdir()
        (made[-1] / "notes.txt").write_text("mine")
    links = {
        root / "captures" / KEYS[4]: capture,
        root / "environments" / "triton-3.5.0-cpython-311-x86_64-linux-gnu": environment,
        root / "reports" / f"{KEYS[4]}.json": report,
    }
    for link, leads_to in links.items():
        link.symlink_to(leads_to)
    (root / "environments" / "triton-3.5.0-cpython-311-x86_64-linux-gnu.lock").touch()
    unlocked = root / "environments" / "triton-3.4.0-cpython-311-x86_64-linux-gnu"
    unlocked.mkdir()
    (root / "reports" / f"{KEYS[5]}.json").mkdir()
    made += [*links, *outside.rglob("*"), unlocked, root / "reports" / f"{KEYS[5]}.json"]
    return [*made, make_file(root, Kind("", "elsewhere", lambda _: None), f"{KEYS[0]}.json")]


def test_what_irlens_did_not_write_is_not_seen(root: Path, tmp_path: Path) -> None:
    theirs = foreign(root, tmp_path / "outside")
    assert [list_items(kind) for kind in KINDS] == [[]] * 5
    make_all(root)
    for kind in KINDS:
        for each in list_items(kind):
            assert remove(kind, each)
    assert [path for path in theirs if not path.exists()] == []


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.title)
def test_a_folder_that_is_a_link_is_left_alone(kind: Kind, root: Path, tmp_path: Path) -> None:
    made = make_all(tmp_path / "elsewhere")
    root.mkdir()
    assert not inventory.is_link(kind)
    (root / kind.folder).symlink_to(tmp_path / "elsewhere" / kind.folder)
    assert inventory.is_link(kind)
    assert list_items(kind) == []
    assert all(path.exists() for path in made.values())


def test_links_in_what_is_removed_are_not_followed(root: Path, tmp_path: Path) -> None:
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "file").touch()
    capture, environment = make_capture(root), make_environment(root)
    for inside in (capture / "000" / "python", environment):
        (inside / "folder").symlink_to(theirs)
        (inside / "file").symlink_to(theirs / "file")
    for kind in (CAPTURES, ENVIRONMENTS):
        (found,) = list_items(kind)
        assert remove(kind, found)
    assert (theirs / "file").exists()


def test_what_was_swapped_for_a_link_meanwhile_loses_the_link_alone(
    root: Path, tmp_path: Path
) -> None:
    capture = make_capture(root)
    (found,) = list_items(CAPTURES)
    moved = Path(shutil.move(capture, tmp_path / "moved"))
    capture.symlink_to(moved)
    remove(CAPTURES, StoredItem(capture, found.name, found.bytes, capture.lstat().st_mtime))
    assert (moved / "000" / MANIFEST_NAME).exists()


def test_the_least_recently_used_comes_first(root: Path) -> None:
    young, old = make_capture(root, KEYS[0]), make_capture(root, KEYS[1])
    unused_for(old, 1000)
    assert all_of(CAPTURES) == [old, young]
    store.touch(old)
    unused_for(young, 10)
    assert all_of(CAPTURES) == [young, old]


def test_an_environment_was_used_when_its_mark_says_so(root: Path) -> None:
    path = make_environment(root)
    unused_for(path / "complete", 1_000_000)
    (found,) = list_items(ENVIRONMENTS)
    assert time.time() - found.used == pytest.approx(1_000_000, abs=100)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.title)
def test_what_is_used_after_it_was_found_stays(kind: Kind, root: Path) -> None:
    path = make_all(root)[kind.title]
    unused_for(kind.stamp(path), 1000)
    (found,) = list_items(kind)
    store.touch(kind.stamp(path))
    assert not remove(kind, found)
    assert path.exists()


HOLDS = """
import sys
from irlens.artifacts import store
store.hold()
print(flush=True)
sys.stdin.read()
"""
SHARES = """
import os, sys
from irlens.artifacts import locks
locks.share(os.open(sys.argv[1], os.O_RDONLY))
print(flush=True)
sys.stdin.read()
"""


def in_use(script: str, *arguments: str) -> "subprocess.Popen[str]":
    process = subprocess.Popen(
        [sys.executable, "-c", script, *arguments],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == "\n"
    return process


@pytest.mark.parametrize(
    ("kind", "users"),
    [
        (CAPTURES, lambda path: in_use(HOLDS)),
        (ENVIRONMENTS, lambda path: in_use(SHARES, f"{path}.lock")),
        (ENVIRONMENTS, lambda path: in_use(SHARES, str(path / "complete"))),
        (SWEEPS, lambda path: in_use(SHARES, str(path))),
    ],
    ids=lambda each: each.title if isinstance(each, Kind) else "",
)
def test_what_another_irlens_uses_stays_until_it_ends(
    kind: Kind, users: Callable[[Path], "subprocess.Popen[str]"], root: Path
) -> None:
    path = make_all(root)[kind.title]
    (found,) = list_items(kind)
    one, two = users(path), users(path)
    for process in (one, two):
        assert inventory.is_used(kind, found)
        assert not remove(kind, found)
        assert path.exists()
        process.kill()
        process.communicate()
    assert not inventory.is_used(kind, found)
    assert remove(kind, found)
    assert not path.exists()


def test_a_lock_that_cannot_be_opened_counts_as_held(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_capture(root)
    (found,) = list_items(CAPTURES)

    def refuse(*_: object) -> int:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", refuse)
        assert inventory.is_used(CAPTURES, found)
    assert not inventory.is_used(CAPTURES, found)


def test_what_a_killed_process_left_behind_is_found_when_it_is_old(root: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as dead:
        dead.wait()
    left = {
        CAPTURES: root / "captures" / f".irlens-tmp-{dead.pid}-0123abcd",
        ENVIRONMENTS: root / "environments" / f".irlens-tmp-{dead.pid}-0123abcd",
        REPORTS: root / "reports" / f".{KEYS[0]}.json.{dead.pid}.tmp",
        SCANS: root / "scans" / f".{KEYS[0]}.msgpack.{dead.pid}.0123abcd.tmp",
        DISASSEMBLY: root / "sass" / f".{KEYS[0]}.gz.{dead.pid}.0123abcd.tmp",
    }
    for kind, path in left.items():
        path.parent.mkdir(parents=True)
        path.mkdir() if path.name.startswith(".irlens") else path.touch()
        assert list_items(kind) == [], "it may still be at work"
        unused_for(path, store.STALE_AFTER + 60)
        (found,) = list_items(kind)
        assert (found.path, found.name) == (path, inventory.UNFINISHED)
        assert remove(kind, found)
        assert not path.exists()
    mine = root / "captures" / f".irlens-tmp-{os.getpid()}-0123abcd"
    mine.mkdir()
    unused_for(mine, store.STALE_AFTER + 60)
    assert list_items(CAPTURES) == [], "its process runs"


def test_what_may_not_be_removed_is_told(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = make_all(root)

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "iterdir", refuse)
        with pytest.raises(ArtifactError, match=r"cannot read .*reports: Permission denied"):
            list_items(REPORTS)
    monkeypatch.setattr(Path, "unlink", refuse)
    monkeypatch.setattr(Path, "rename", refuse)
    for kind in (REPORTS, CAPTURES):
        (found,) = list_items(kind)
        with pytest.raises(ArtifactError, match=r"cannot remove .*: Permission denied"):
            remove(kind, found)
        assert made[kind.title].exists()


def test_what_is_removed_only_in_part_is_told(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_capture(root)
    (found,) = list_items(CAPTURES)
    monkeypatch.setattr(shutil, "rmtree", lambda path, ignore_errors: None)
    with pytest.raises(ArtifactError, match="cannot remove all of"):
        remove(CAPTURES, found)
    assert not found.path.exists(), "nobody finds half a capture"
