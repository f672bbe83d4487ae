"""What is remembered on disk is whole, or made again."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from irlens.artifacts import store


@pytest.mark.parametrize("content", [b"", b"86 registers", bytes(range(256)) * 100])
def test_content_comes_back(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "folder" / "file"
    store.remember(path, content)
    assert store.recall(path) == content
    assert list(path.parent.iterdir()) == [path]


@given(st.binary(min_size=1, max_size=200), st.data())
@settings(max_examples=50, deadline=None)
def test_a_flipped_bit_or_a_lost_end_is_noticed(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, draw: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("remembered") / "file"
    store.remember(path, content)
    whole = bytearray(path.read_bytes())
    at = draw.draw(st.integers(0, len(whole) - 1))
    flipped = whole.copy()
    flipped[at] ^= 1 << draw.draw(st.integers(0, 7))
    for damaged in (flipped, whole[:at]):
        path.write_bytes(damaged)
        assert store.recall(path) is None


def test_what_is_absent_or_cannot_be_written_is_lost(tmp_path: Path) -> None:
    assert store.recall(tmp_path / "absent") is None
    file = tmp_path / "file"
    file.write_text("no directory")
    store.remember(file / "below", b"content")
    assert store.recall(file / "below") is None
