"""Files are replaced completely or not at all."""

import os
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
