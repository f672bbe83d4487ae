"""``irlens cache`` from the command line, alone and while other commands run."""

import fcntl
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.running import Ran, irlens


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("IRLENS_CACHE_DIR", str(tmp_path / "store"))
    return tmp_path / "store"


def inspect(*options: str) -> "subprocess.CompletedProcess[bytes]":
    """Run it in a process of its own: captures are in use until it has ended."""
    command = [sys.executable, "-m", "irlens", "inspect", "vector_add", "-t", "sm_80", "--no-run"]
    return subprocess.run([*command, *options], capture_output=True)


def numbers(*arguments: str) -> dict[str, int]:
    ran = irlens("cache", "--format", "json", *arguments)
    assert (ran.code, ran.err) == (0, "")
    return {kind["kind"]: kind["number"] for kind in json.loads(ran.out)["kinds"]}


def removed(ran: Ran) -> dict[str, int]:
    assert (ran.code, ran.err) == (0, "")
    return {kind["kind"]: kind["removed"] for kind in json.loads(ran.out)["kinds"]}


def test_what_is_kept_is_shown_and_removed(store: Path) -> None:
    ran = irlens("cache")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines()[-1].split() == ["total", "0", "0", "B"]
    assert not store.exists(), "looking makes nothing"
    assert irlens("cache", "clean").out == "nothing to remove\n"
    assert inspect("--num-warps", "2,4", "--pressure").returncode == 0
    assert numbers() == {
        "environments": 0, "captures": 2, "reports": 2, "pages": 1, "disassembly": 2,
        "sweeps": 0, "revisions": 0, "scans": 0,
    }  # fmt: skip
    lines = irlens("cache").out.splitlines()
    assert lines[0] == str(store)
    (told,) = (line.split() for line in lines if line.startswith("captures"))
    assert told[1] == "2"
    assert told[3:] == ["kB", "less", "than", "2", "hours"]
    dry = irlens("cache", "clean", "--captures", "--dry-run")
    assert dry.out.splitlines()[1].split()[:2] == ["captures", "2"]
    assert numbers()["captures"] == 2
    assert removed(irlens("cache", "clean", "--captures", "-f", "json")) == {"captures": 2}
    assert numbers() == {
        "environments": 0, "captures": 0, "reports": 2, "pages": 1, "disassembly": 2,
        "sweeps": 0, "revisions": 0, "scans": 0,
    }  # fmt: skip
    everything = irlens("cache", "clean", "--format", "json")
    assert sum(removed(everything).values()) == json.loads(everything.out)["removed"] == 5
    assert sum(numbers().values()) == 0
    assert inspect("--num-warps", "2").returncode == 0, "it is made again"


def test_only_what_was_not_used_for_so_long(store: Path) -> None:
    assert inspect("--num-warps", "2").returncode == 0
    assert inspect("--num-warps", "4").returncode == 0
    then = time.time() - 31 * 24 * 3600
    for path in [*(store / "captures").iterdir(), *(store / "reports").iterdir()]:
        os.utime(path, (then, then))
    entries = json.loads(irlens("cache", "-f", "json").out)["kinds"][1]["entries"]
    assert {each["last_used"][:10] for each in entries} == {
        time.strftime("%Y-%m-%d", time.gmtime(then))
    }
    assert "31 days" in irlens("cache").out
    assert inspect("--num-warps", "2").returncode == 0
    clean = ("cache", "clean", "--format", "json", "--older-than")
    assert sum(removed(irlens(*clean, "5w")).values()) == 0
    found = removed(irlens(*clean, "30d"))
    assert (found["captures"], found["reports"]) == (1, 1)
    captured = (store / "captures").stat().st_mtime_ns
    assert inspect("--num-warps", "2").returncode == 0
    assert (store / "captures").stat().st_mtime_ns == captured, "the one that was used is there"


def test_it_is_safe_beside_commands_that_compile_and_read(store: Path) -> None:
    def start(block: int) -> "subprocess.Popen[str]":
        command = ("inspect", "vector_add", "-t", "sm_80", "--no-run", "--set",
                   f"BLOCK_SIZE={block}", "--num-warps", "1,4")  # fmt: skip
        return subprocess.Popen(
            [sys.executable, "-m", "irlens", *command], stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    cleaned = 0
    for _ in range(2):
        running: Sequence[subprocess.Popen[str]] = [start(64), start(64), start(128)]
        while any(process.poll() is None for process in running):
            cleaned += sum(removed(irlens("cache", "clean", "--format", "json")).values())
            time.sleep(0.05)  # the time is for those that compile
        for process in running:
            out, err = process.communicate()
            assert process.returncode == 0, err
            assert "num_warps=4" in out
    cleaned += sum(removed(irlens("cache", "clean", "--format", "json")).values())
    assert cleaned >= 6
    assert sum(numbers().values()) == 0


def test_an_environment_that_compiles_stays(store: Path, tmp_path: Path) -> None:
    folder = store / "environments" / "triton-3.6.0-cpython-311-x86_64-linux-gnu"
    folder.mkdir(parents=True)
    lock = folder.with_name(f"{folder.name}.lock")
    lock.touch()
    (folder / "complete").touch()
    script = (
        "import sys\n"
        "from pathlib import Path\n"
        "from irlens.compiler.toolchains import interpreters\n"
        "interpreters.Interpreter(Path(sys.argv[1]), '3.6.0', {}, Path(sys.argv[2]))"
        ".execute('compile', [])\n"
    )
    slow = tmp_path / "python"
    slow.write_text("#!/bin/sh\necho >&2 started\nexec sleep 900\n")
    slow.chmod(0o755)
    command = [sys.executable, "-c", script, str(slow), str(folder / "complete")]
    with subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == "started\n"
        ran = irlens("cache", "clean", "--environments")
        assert ran.out.splitlines()[1].split() == ["environments", "0", "0", "B", "1"]
        assert folder.exists()
        process.kill()
        with (folder / "complete").open() as used:
            fcntl.flock(used, fcntl.LOCK_EX)  # what was killed lets go when it has ended
    ran = irlens("cache", "clean", "--environments")
    assert ran.out.splitlines()[1].split()[:2] == ["environments", "1"]
    assert [path.name for path in folder.parent.iterdir()] == [lock.name]


def test_a_link_is_told(store: Path, tmp_path: Path) -> None:
    assert inspect("--num-warps", "2").returncode == 0
    (store / "captures").rename(tmp_path / "elsewhere")
    (store / "captures").symlink_to(tmp_path / "elsewhere")
    told = f"irlens: {store / 'captures'} is a link: its target is left alone\n"
    for command in (("cache",), ("cache", "clean")):
        ran = irlens(*command)
        assert (ran.code, ran.err) == (0, told)
    assert len(list((tmp_path / "elsewhere").iterdir())) == 1


def test_names_in_the_store_cannot_steer_a_terminal(store: Path) -> None:
    folder = store / "environments" / "triton-3.6\x1b[31m.0-cpython-311"
    folder.mkdir(parents=True)
    folder.with_name(f"{folder.name}.lock").touch()
    assert "\x1b" not in irlens("cache").out


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("clean", "--older-than", "30"), "'30' is not an age: write 12h, 30d or 8w"),
        (("clean", "--older-than", "-3d"), "'-3d' is not an age"),
        (("clean", "--older-than", "९d"), "is not an age"),
        (("clean", "--everything"), "unknown option '--everything'"),
        (("wipe",), "no such command 'wipe'"),
        (("--format", "csv"), "'csv' is not one of"),
    ],
)
def test_mistakes(arguments: tuple[str, ...], complaint: str, store: Path) -> None:
    ran = irlens("cache", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert complaint in ran.err
    assert "Traceback" not in ran.err
