"""Files are replaced completely or not at all."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from irlens.model import files


def test_a_file_is_replaced_and_nothing_else_is_left(tmp_path: Path) -> None:
    path = tmp_path / "a\n.json"
    for pieces in ([b"before"], [b"after", b"wards"]):
        files.replace(path, pieces)
        assert path.read_bytes() == b"".join(pieces)
    assert list(tmp_path.iterdir()) == [path]


def test_a_failure_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.write_bytes(b"before")

    def pieces() -> Iterator[bytes]:
        yield b"half"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        files.replace(path, pieces())
    with pytest.raises(FileNotFoundError):
        files.replace(tmp_path / "absent" / "report.json", [b"after"])
    assert [each.read_bytes() for each in tmp_path.iterdir()] == [b"before"]


def test_what_a_killed_process_leaves_names_the_file_and_the_process(tmp_path: Path) -> None:
    seen: list[str] = []

    def pieces() -> Iterator[bytes]:
        seen.extend(each.name for each in tmp_path.iterdir())
        yield b""

    files.replace(tmp_path / "a\n.json", pieces())
    (name,) = seen
    found = files.TEMPORARY.fullmatch(name)
    assert found is not None
    assert (found["name"], int(found["pid"])) == ("a\n.json", os.getpid())


WRITER = """
import sys, time
from pathlib import Path
from irlens.model import files
def pieces():
    yield b"half"
    print(flush=True)
    time.sleep(60)
files.replace(Path(sys.argv[1]), pieces())
"""


def test_what_a_killed_process_left_is_removed_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    others = [tmp_path / ".report.json.tmp", tmp_path / ".other.json.1.0123abcd.tmp"]
    for each in others:
        each.touch()

    def remaining() -> set[Path]:
        for each in tmp_path.iterdir():
            os.utime(each, (0, 0))
        files.remove_abandoned(path)
        return set(tmp_path.iterdir()) - set(others)

    command = [sys.executable, "-c", WRITER, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        writer.stdout.readline()
        assert len(remaining()) == 1  # it is being written
        writer.kill()
    files.remove_abandoned(path)
    assert remaining() == set()
    assert all(each.exists() for each in others)


def test_a_new_temporary_file_is_left_alone(tmp_path: Path) -> None:
    new = tmp_path / ".report.json.1.0123abcd.tmp"
    new.touch()
    files.remove_abandoned(tmp_path / "report.json")
    assert new.exists()
