"""What a second listing of a directory knows, and what it reads again."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from irlens.artifacts import scan_index, store
from irlens.artifacts.load import load
from irlens.compiler import Request
from irlens.model.capture import Capture
from irlens.model.errors import ArtifactError
from irlens.session import listed_entries
from irlens.session.entry_index import can_index
from irlens.session.exchange import Entry
from irlens.session.interactive import Workbench

CAPTURES = Path(__file__).parents[2] / "samples" / "captures"
NAMES = ("softmax-h100", "spill-h100", "softmax-mi300x")


@pytest.fixture(autouse=True)
def own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give each test a store, and let entries count as settled at once."""
    monkeypatch.setenv(store.ROOT_VARIABLE, str(tmp_path / "store"))
    monkeypatch.setattr(scan_index, "SETTLED_NS", -(1 << 62))


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    for name in NAMES:
        shutil.copytree(CAPTURES / name, tmp_path / "cache" / name)
    return tmp_path / "cache"


def nothing(_name: str) -> Request:
    raise AssertionError("nothing is to be compiled here")


def bench_of(path: Path) -> Workbench:
    return Workbench(path.name, lambda: load(path), request_for=nothing, root=path, indexed=True)


def listed(path: Path) -> list[Entry]:
    """The complete entry under each key, as the index keeps it from then on."""
    bench = bench_of(path)
    entries = {entry.key: entry for entry in bench.entries()}
    due = [key for key, entry in entries.items() if not entry.is_complete]
    entries |= {entry.key: entry for entry in bench.complete(due)}
    bench.close()
    return list(entries.values())


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The entries whose binaries are read."""
    places: list[str] = []
    original = listed_entries.entry_of_binary

    def recorded(key: str, capture: Capture, place: str) -> Entry:
        places.append(place)
        return original(key, capture, place)

    monkeypatch.setattr(listed_entries, "entry_of_binary", recorded)
    monkeypatch.setattr(
        listed_entries, "recall_entries", lambda unread: ((each, None) for each in unread)
    )
    return places


def test_a_second_listing_has_the_same_entries_at_once(cache: Path, read: list[str]) -> None:
    first = listed(cache)
    assert sorted(read) == sorted(NAMES)
    again = list(bench_of(cache).entries())
    assert sorted(read) == sorted(NAMES), "nothing is read again"
    by_key = {entry.key: entry for entry in first}
    assert {entry.key: entry for entry in again} == by_key
    assert len(again) == len(NAMES)
    assert all(entry.findings is not None for entry in again)


def test_what_was_not_completed_is_known_as_far_as_it_was_read(
    cache: Path, read: list[str]
) -> None:
    partly = {entry.key: entry for entry in bench_of(cache).entries()}
    assert not any(entry.is_complete for entry in partly.values())
    bench = bench_of(cache)
    again = {entry.key: entry for entry in bench.entries()}
    assert again == partly
    assert sorted(read) == sorted(NAMES), "nothing is read again"
    first, *_ = again
    (full,) = bench.complete([first])
    bench.close()
    last = {entry.key: entry for entry in bench_of(cache).entries()}
    assert last == {**partly, first: full}


def test_a_changed_entry_is_read_again(cache: Path, read: list[str]) -> None:
    before = {entry.place: entry for entry in listed(cache)}
    read.clear()
    ptx = next((cache / "softmax-h100").glob("*.ptx"))
    ptx.write_text(ptx.read_text() + "\n// changed\n")
    after = {entry.place: entry for entry in listed(cache)}
    assert read == ["softmax-h100"]
    assert after["spill-h100"] == before["spill-h100"]


def test_a_broken_entry_is_read_each_time(cache: Path) -> None:
    (cache / "softmax-h100" / "softmax_kernel.cubin").write_bytes(b"no ELF")
    problems = [[entry.problem for entry in listed(cache) if entry.problem] for _ in range(2)]
    assert len(problems[0]) == 1
    assert problems[0] == problems[1]


def test_an_interrupted_listing_keeps_what_it_knew(cache: Path, read: list[str]) -> None:
    listed(cache)
    entering = bench_of(cache).entries()
    next(entering)
    assert isinstance(entering, Iterator)
    entering.close()  # type: ignore[attr-defined]  # a generator
    read.clear()
    assert len(listed(cache)) == len(NAMES)
    assert not read


def test_an_indexed_entry_opens_like_any_other(cache: Path) -> None:
    listed(cache)
    bench = bench_of(cache)
    for entry in bench.entries():
        assert bench.report(entry.key).kernel == entry.kernel
        assert bench.entry(entry.key) == entry
        assert bench.stages(entry.key)


def test_an_entry_that_was_deleted_says_so(cache: Path) -> None:
    listed(cache)
    bench = bench_of(cache)
    (key,) = (entry.key for entry in bench.entries() if entry.place == "spill-h100")
    shutil.rmtree(cache / "spill-h100")
    with pytest.raises(ArtifactError, match="changed or deleted"):
        bench.report(key)


def test_relative_and_absolute_names_share_what_is_known(
    cache: Path, read: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = listed(cache)
    read.clear()
    monkeypatch.chdir(cache.parent)
    relative = listed(Path("cache"))
    assert not read
    assert [entry.place for entry in relative] == sorted(entry.place for entry in whole)
    monkeypatch.chdir(cache / "spill-h100")
    (within,) = listed(Path())
    plain = Workbench("x", lambda: load(Path()), request_for=nothing, root=Path())
    *_, known = plain.entries()
    (expected,) = plain.complete([known.key])
    assert within == expected == listed(Path())[0]


def test_the_store_is_not_indexed(cache: Path) -> None:
    assert can_index(cache)
    store.captures().mkdir(parents=True)
    assert not can_index(store.captures())
    assert not can_index(store.captures().parent.parent)
    assert not can_index(next((cache / "spill-h100").glob("*.ptx")))


def test_the_captures_of_traces_are_listed(cache: Path) -> None:
    trace = CAPTURES.parents[1] / "tests" / "data" / "tritonparse" / "trace.ndjson"
    shutil.copy(trace, cache / "trace.ndjson")
    for _ in range(2):
        assert [each.kernel for each in listed(cache)].count("add") == 2
    assert [each.kernel for each in listed(trace)] == ["add", "add"]
