"""The index of a scanned directory: what its signature covers."""

import os
from pathlib import Path

import msgspec
import pytest

from irlens.artifacts import scan_index
from irlens.artifacts.entries import list_files
from irlens.artifacts.scan_index import has_changed, signature


class _Row(msgspec.Struct, frozen=True):
    number: int


@pytest.fixture
def entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(scan_index, "SETTLED_NS", -(1 << 62))
    for name in ("k.ptx", "k.json", "irlens.json"):
        (tmp_path / name).write_text(name)
    (tmp_path / "python").mkdir()
    (tmp_path / "python" / "k.py").write_text("pass")
    return tmp_path


def sign(entry: Path) -> bytes | None:
    return signature(entry, list_files(entry))


def test_it_is_stable(entry: Path) -> None:
    assert sign(entry) == sign(entry)
    assert not has_changed(entry, sign(entry))


@pytest.mark.parametrize("name", ["k.ptx", "k.json", "irlens.json", "python/k.py"])
def test_it_covers_every_file(entry: Path, name: str) -> None:
    before = sign(entry)
    status = (entry / name).stat()
    (entry / name).write_bytes((entry / name).read_bytes()[::-1])
    os.utime(entry / name, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert has_changed(entry, before)
    changed = sign(entry)
    (entry / name).unlink()
    assert has_changed(entry, changed)


def test_a_replaced_file_is_another(entry: Path) -> None:
    before = sign(entry)
    (entry / "copy").write_bytes((entry / "k.ptx").read_bytes())
    (entry / "copy").replace(entry / "k.ptx")
    assert has_changed(entry, before)


def test_what_changed_just_now_has_none(entry: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scan_index, "SETTLED_NS", 1 << 62)
    assert sign(entry) is None


def test_an_entry_that_is_gone_has_changed(entry: Path) -> None:
    assert has_changed(entry / "gone", sign(entry))


def test_a_number_without_a_place_in_the_index_is_not_remembered(entry: Path) -> None:
    index = scan_index.ScanIndex(entry, _Row)
    index.add("large", b"1", [_Row(10**30)])
    index.add("small", b"1", [_Row(1)])
    index.save(complete=True)
    again = scan_index.ScanIndex(entry, _Row)
    assert (again.rows("large", b"1"), again.rows("small", b"1")) == ([], [_Row(1)])
