import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import irlens
from irlens.artifacts import store
from irlens.model.capture import MANIFEST_NAME
from irlens.model.errors import ArtifactError


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("IRLENS_CACHE_DIR", str(tmp_path / "store"))
    return tmp_path / "store"


def _build(directory: Path, mark: str, files: int = 3) -> Path:
    directory.mkdir(parents=True)
    (directory / MANIFEST_NAME).write_text(mark)
    for number in range(files):
        (directory / f"part{number}").write_text(mark)
    return directory


def _marks(capture: Path) -> set[str]:
    return {path.read_text() for path in capture.iterdir()}


def test_root_follows_the_variable(root: Path) -> None:
    assert store.root() == root
    assert store.path_for("abc").is_relative_to(root)


def test_root_without_the_variable_is_the_users_cache(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("IRLENS_CACHE_DIR", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert store.root() == tmp_path / "irlens"


def test_what_is_published_appears_as_a_whole(root: Path) -> None:
    destination = store.path_for("key")
    with store.workspace(destination) as space:
        build = _build(space / "entry", "one")
        assert not destination.exists()
        store.publish(build, destination)
    assert _marks(destination) == {"one"}
    assert [path.name for path in destination.parent.iterdir()] == ["key"]


def test_the_workspace_itself_can_be_published(root: Path) -> None:
    destination = store.path_for("key")
    with store.workspace(destination) as space:
        (space / MANIFEST_NAME).write_text("one")
        store.publish(space, destination)
    assert _marks(destination) == {"one"}


def test_first_publisher_wins_unless_told_to_replace(root: Path) -> None:
    destination = store.path_for("key")
    store.publish(_build(root / "a", "one"), destination)
    store.publish(_build(root / "b", "two"), destination)
    assert _marks(destination) == {"one"}
    assert not (root / "b").exists()
    store.publish(_build(root / "c", "three"), destination, older="replace")
    assert _marks(destination) == {"three"}
    assert [path.name for path in destination.parent.iterdir()] == ["key"]


def test_a_directory_of_captures_is_replaced_too(root: Path) -> None:
    destination = root / "key"
    _build(destination / "config0", "old")
    _build(root / "build" / "config0", "new")
    store.publish(root / "build", destination, older="replace")
    assert _marks(destination / "config0") == {"new"}


@pytest.mark.parametrize("older", ["keep", "replace"])
def test_somebody_elses_directory_is_never_touched(tmp_path: Path, older: store.Older) -> None:
    home = tmp_path / "home"
    _build(home / "capture", "mine")
    (home / "thesis.tex").write_text("years of work")
    with pytest.raises(ArtifactError, match=r"home exists and is not a capture"):
        store.publish(_build(tmp_path / "build", "new"), home, older=older)
    assert (home / "thesis.tex").read_text() == "years of work"


def test_a_file_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("a file")
    with pytest.raises(ArtifactError, match="out exists and is not a capture"):
        store.publish(_build(tmp_path / "build", "new"), tmp_path / "out")


def test_a_parent_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ArtifactError, match="cannot write") as caught:
        store.publish(_build(tmp_path / "build", "new"), tmp_path / "file" / "out")
    assert caught.value.hint is not None
    assert "IRLENS_CACHE_DIR" in caught.value.hint
    with (
        pytest.raises(ArtifactError, match="cannot write"),
        store.workspace(tmp_path / "file" / "out"),
    ):
        raise AssertionError("the workspace cannot exist")


def test_a_directory_that_cannot_be_written(tmp_path: Path) -> None:
    # root writes anywhere, so the attempt is made as nobody where the tests run as root.
    (tmp_path / "closed").mkdir(mode=0o555)
    script = """
import os
from pathlib import Path
from irlens.artifacts import store
from irlens.model.errors import ArtifactError
if os.geteuid() == 0:
    os.seteuid(65534)
try:
    with store.workspace(Path("closed/out")):
        pass
except ArtifactError as error:
    print(error.message)
"""
    tmp_path.chmod(0o755)
    package = {"PYTHONPATH": str(Path(irlens.__file__).parent.parent)}
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=os.environ | package,
    )
    assert done.stdout == "cannot write closed: Permission denied\n", done.stderr


def test_from_another_file_system(tmp_path: Path) -> None:
    shared = Path("/dev/shm")
    if not shared.is_dir() or shared.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("this machine has one file system only")
    build = _build(shared / f"irlens-test-{os.getpid()}", "far")
    try:
        store.publish(build, tmp_path / "out")
        assert not build.exists()
    finally:
        shutil.rmtree(build, ignore_errors=True)
    assert _marks(tmp_path / "out") == {"far"}
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


_PUBLISHER = """
import sys
from pathlib import Path
from irlens.artifacts import store
destination, mark, older = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
for _ in range(40):
    with store.workspace(destination) as space:
        build = space / "entry"
        build.mkdir()
        for name in ["irlens.json", *(f"part{number}" for number in range(8))]:
            (build / name).write_text(mark)
        store.publish(build, destination, older=older)
"""


@pytest.mark.parametrize("older", ["keep", "replace"])
def test_publishers_at_the_same_time_leave_one_complete_capture(
    tmp_path: Path, older: store.Older
) -> None:
    destination = tmp_path / "store" / "key"
    publishers = [
        subprocess.Popen([sys.executable, "-c", _PUBLISHER, str(destination), mark, older])
        for mark in "abc"
    ]
    assert [publisher.wait() for publisher in publishers] == [0, 0, 0]
    assert len(_marks(destination)) == 1, "parts of two captures were mixed"
    assert len(list(destination.iterdir())) == 9
    assert [path.name for path in destination.parent.iterdir()] == ["key"]


def test_who_is_overtaken_while_it_looks_publishes_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    destination = _build(tmp_path / "key", "old")
    look, looked = store.holds_captures, 0

    def overtaken(path: Path) -> bool:
        """Look between the two steps in which another one replaces the old capture."""
        nonlocal looked
        looked += 1
        if looked > 1:
            return look(path)
        path.rename(tmp_path / "aside")
        found = look(path)
        _build(tmp_path / "other", "other").rename(path)
        return found

    monkeypatch.setattr(store, "holds_captures", overtaken)
    store.publish(_build(tmp_path / "build", "new"), destination, older="replace")
    assert _marks(destination) == {"new"}


_KILLED = """
import sys, time
from pathlib import Path
from irlens.artifacts import store
with store.workspace(Path(sys.argv[1])) as space:
    (space / "half").write_text("written")
    print("ready", flush=True)
    time.sleep(900)
"""


def test_a_killed_process_leaves_only_what_clean_removes(tmp_path: Path) -> None:
    destination = tmp_path / "store" / "key"
    with subprocess.Popen(
        [sys.executable, "-c", _KILLED, str(destination)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        assert store.clean(destination.parent, min_age=0) == 0, "its process is alive"
        process.send_signal(signal.SIGKILL)
    assert not destination.exists()
    assert len(list(destination.parent.iterdir())) == 1
    assert store.clean(destination.parent) == 0, "too young"
    (left,) = destination.parent.iterdir()
    long_ago = time.time() - 2 * store.STALE_AFTER
    os.utime(left, (long_ago, long_ago))
    assert store.clean(destination.parent) == 1
    assert list(destination.parent.iterdir()) == []


def test_clean_leaves_everything_else_alone(tmp_path: Path) -> None:
    for name in ("key", ".irlens-tmp-x-00", ".irlens-tmp-1", "irlens-tmp-999999999-00"):
        (tmp_path / name).mkdir()
    assert store.clean(tmp_path, min_age=0) == 0
    assert store.clean(tmp_path / "absent") == 0


def test_digest_tells_values_apart_and_ignores_order() -> None:
    values: list[object] = [1, 1.0, True, "1", None, float("inf"), float("nan"), [1], {"1": 1}]
    assert len({store.digest(value) for value in values}) == len(values)
    assert store.digest({"a": 1, "b": 2}) == store.digest({"b": 2, "a": 1})


@pytest.mark.parametrize(
    ("variables", "problem"),
    [
        ({"IRLENS_CACHE_DIR": "/proc/irlens"}, "cannot write /proc/irlens: "),
        ({"HOME": "/dev/null"}, "cannot write /dev/null/.cache/irlens: Not a directory"),
    ],
)
def test_a_kernel_compiles_without_a_usable_cache_directory(
    variables: dict[str, str], problem: str, tmp_path: Path
) -> None:
    unset = ("IRLENS_CACHE_DIR", "XDG_CACHE_HOME")
    environment = {name: value for name, value in os.environ.items() if name not in unset}
    done = subprocess.run(
        [sys.executable, "-m", "irlens", "inspect", "vector_add", "-t", "a100,h100"],
        env={**environment, "TMPDIR": str(tmp_path), **variables},
        capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (warning,) = done.stderr.splitlines()
    assert warning.startswith(f"irlens: {problem}")
    assert warning.endswith("; using a temporary directory, which is removed at the end")
    assert list(tmp_path.glob("tmp-irlens-*")) == []


def test_without_a_home_directory_nothing_is_written_into_the_current_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("IRLENS_CACHE_DIR", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.delenv("HOME")
    monkeypatch.setattr("pwd.getpwuid", {}.__getitem__)  # knows nobody
    monkeypatch.chdir(tmp_path)
    assert not store.root().exists()
    assert store.ensure_writable() == "no cache directory: there is no home directory"
    assert store.root() == Path(os.environ["IRLENS_CACHE_DIR"])
    assert store.ensure_writable() is None
    monkeypatch.delenv("IRLENS_CACHE_DIR")
    assert list(tmp_path.iterdir()) == []
