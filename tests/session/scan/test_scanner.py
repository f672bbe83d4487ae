"""Scans: what a repeated scan reads, and that workers change neither rows nor their order."""

import gzip
import os
import shutil
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

from irlens.artifacts import pools, report_cache, scan_index, store
from irlens.artifacts.entries import Broken
from irlens.artifacts.load import load
from irlens.model.scan import ScanValue
from irlens.session import scan as scanner
from irlens.session.scan import Request, Scanner, entry_rows, reader_pool
from irlens.session.scan.columns import DEFAULT, find_column
from irlens.session.scan.selection import parse_where

CAPTURES = Path(__file__).parents[3] / "samples" / "captures"
TRACES = Path(__file__).parents[2] / "data" / "tritonparse"


@pytest.fixture(autouse=True)
def own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give each test a store, and let entries count as settled at once."""
    monkeypatch.setenv(store.ROOT_VARIABLE, str(tmp_path / "store"))
    monkeypatch.setattr(scan_index, "SETTLED_NS", -(1 << 62))


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    for name in ("softmax-h100", "spill-h100", "softmax-t4"):
        shutil.copytree(CAPTURES / name, tmp_path / "cache" / name)
    return tmp_path / "cache"


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, tuple[str, ...]]]:
    """The entries that were read, with the keys of the values that were."""
    calls: list[tuple[str, tuple[str, ...]]] = []
    original = entry_rows.read_rows

    def recorded(wanted: Sequence[entry_rows.Wanted]) -> list[entry_rows.EntryRows]:
        calls.extend((each.directory.name, each.keys) for each in wanted)
        return original(wanted)

    for module in (reader_pool, scanner):
        monkeypatch.setattr(module, "read_rows", recorded)
    return calls


def request(
    root: Path, *names: str, jobs: int = 1, where: str = "", reports: bool = False
) -> Request:
    return Request(
        roots=(root,), columns=tuple(map(find_column, names)), jobs=jobs, reports=reports,
        where=tuple(parse_where([where] if where else [])),
    )  # fmt: skip


def rows(wanted: Request) -> list[dict[str, ScanValue]]:
    return list(
        Scanner(wanted, lambda broken: pytest.fail(f"{broken.path}: {broken.reason}")).rows()
    )


def test_an_unchanged_entry_is_not_read_again(
    cache: Path, read: list[tuple[str, tuple[str, ...]]]
) -> None:
    first = rows(request(cache, *DEFAULT))
    assert [name for name, _ in read] == ["softmax-h100", "softmax-t4", "spill-h100"]
    read.clear()
    assert rows(request(cache, *DEFAULT)) == first
    assert rows(request(cache, "registers", where="occupancy < 0.5"))[0]["kernel"] == "spill_kernel"
    assert read == []


def test_only_missing_values_are_read(cache: Path, read: list[tuple[str, tuple[str, ...]]]) -> None:
    rows(request(cache, "registers"))
    read.clear()
    both = rows(request(cache, "registers", "occupancy"))
    assert {keys for _, keys in read} == {("occupancy.theoretical",)}
    assert [row["resources.registers"] for row in both] == [30, 26, 128]


@pytest.mark.parametrize("change", ["content", "new file", "link", "python"])
def test_a_changed_entry_is_read_again(
    cache: Path, read: list[tuple[str, tuple[str, ...]]], change: str
) -> None:
    rows(request(cache, "registers"))
    read.clear()
    folder = cache / "spill-h100"
    cubin = folder / "spill_kernel.cubin"
    if change == "content":  # of the same size, with the time of the last change set back
        status = cubin.stat()
        content = bytearray(cubin.read_bytes())
        content[-1] ^= 1
        cubin.write_bytes(content)
        os.utime(cubin, ns=(status.st_atime_ns, status.st_mtime_ns))
    elif change == "new file":
        (folder / "notes.txt").touch()
    elif change == "link":
        cubin.rename(folder / "other")
        cubin.symlink_to("other")
    else:
        next((folder / "python").iterdir()).touch()
    rows(request(cache, "registers"))
    assert [name for name, _ in read] == ["spill-h100"]


def test_an_entry_that_changed_just_now_is_not_indexed(
    cache: Path, read: list[tuple[str, tuple[str, ...]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scan_index, "SETTLED_NS", 1 << 62)
    rows(request(cache, "registers"))
    read.clear()
    rows(request(cache, "registers"))
    assert len(read) == 3


def test_another_irlens_or_a_damaged_index_starts_anew(
    cache: Path, read: list[tuple[str, tuple[str, ...]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = rows(request(cache, "registers"))
    (index,) = (store.root() / "scans").iterdir()
    index.write_bytes(index.read_bytes()[:-7])
    read.clear()
    assert rows(request(cache, "registers")) == expected
    assert len(read) == 3
    monkeypatch.setattr(report_cache, "program_digest", lambda: b"another")
    assert rows(request(cache, "registers")) == expected
    assert len(read) == 6


def test_entries_that_are_gone_leave_the_index(cache: Path) -> None:
    rows(request(cache, "registers"))
    (index,) = (store.root() / "scans").iterdir()
    assert b"spill-h100" in index.read_bytes()
    shutil.rmtree(cache / "spill-h100")
    assert len(rows(request(cache, "registers"))) == 2
    assert b"spill-h100" not in index.read_bytes()


def test_an_interrupted_scan_keeps_what_it_read(
    cache: Path, read: list[tuple[str, tuple[str, ...]]]
) -> None:
    started = Scanner(request(cache, "registers"), lambda _: None).rows()
    next(started)
    started.close()
    read.clear()
    rows(request(cache, "registers"))
    assert [name for name, _ in read] == ["softmax-t4", "spill-h100"]


def test_values_read_later_belong_to_the_same_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = tmp_path / "cache"
    shutil.copytree(CAPTURES / "layer_norm-b200-3.6", cache)
    rows(request(cache, "registers"))
    cubin = CAPTURES / "layer_norm-b200-3.7" / "layer_norm_kernel.cubin"
    original = entry_rows.read_rows

    def replaced(wanted: Sequence[entry_rows.Wanted]) -> list[entry_rows.EntryRows]:
        shutil.copy(cubin, cache)  # after the status was taken
        return original(wanted)

    for module in (reader_pool, scanner):
        monkeypatch.setattr(module, "read_rows", replaced)
    (row,) = rows(request(cache, "registers", "local_bytes"))
    assert (row["resources.registers"], row["resources.local_bytes"]) == (72, 0)  # and not 64


def test_an_entry_that_lost_its_files_since_it_was_listed_is_skipped(cache: Path) -> None:
    directory = cache / "softmax-h100"
    for child in directory.iterdir():
        shutil.rmtree(child) if child.is_dir() else child.unlink()
    (rows,) = entry_rows.read_rows([entry_rows.Wanted(directory, ("kernel",))])
    assert rows.broken == [Broken(directory, "its files were deleted during the scan")]


@pytest.mark.parametrize("columns", [DEFAULT, ("registers", "occupancy")], ids=["all", "cheap"])
def test_workers_change_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, columns: tuple[str, ...]
) -> None:
    small = {"_FEW": 1, "_FEW_UNPARSED": 1, "_BATCH": 2, "_MOST": 2, "_AHEAD": 1}
    for name, number in small.items():
        monkeypatch.setattr(reader_pool, name, number)
    started: list[int] = []
    original = pools.start_pool

    def start(workers: int) -> ProcessPoolExecutor:
        started.append(workers)
        return original(workers)

    monkeypatch.setattr(pools, "start_pool", start)
    root = tmp_path / "many"
    for number in range(13):
        shutil.copytree(CAPTURES / ("softmax-t4", "spill-h100")[number % 2], root / f"{number:02}")
    (root / "04" / "softmax_kernel.cubin").write_bytes(b"\0")
    results = []
    for jobs in (1, 2):
        shutil.rmtree(tmp_path / "store", ignore_errors=True)
        skipped: list[Broken] = []
        found = list(Scanner(request(root, *columns, jobs=jobs), skipped.append).rows())
        assert [broken.path.name for broken in skipped] == ["04"]
        results.append(found)
    assert results[0] == results[1]
    assert started == [2]
    names = [Path(str(row["path"])).name for row in results[0]]
    assert names == [f"{number:02}" for number in range(13) if number != 4]


def test_a_report_that_the_cache_lost_is_made_again(cache: Path) -> None:
    wanted = request(cache, reports=True)
    first = dict(Scanner(wanted, lambda _: None).reports())
    shutil.rmtree(store.root() / "reports")
    assert dict(Scanner(wanted, lambda _: None).reports()) == first
    assert len(first) == 3


def test_progress_counts_the_directories_below_the_root(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scanner, "_SECONDS_BETWEEN", -1)
    shutil.copytree(CAPTURES / "softmax-h100", cache / "deep" / "er" / "one")
    shutil.copytree(CAPTURES / "softmax-h100", cache / "deep" / "er" / "two")
    shown: list[tuple[int, int]] = []
    wanted = request(cache, "kernel")
    found = Scanner(wanted, lambda _: None, lambda done, total: shown.append((done, total)))
    assert len(list(found.rows())) == 5
    assert shown == [(1, 4), (2, 4), (3, 4), (4, 4)]


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("named", ["folder", "file"])
def test_traces_of_tritonparse_are_scanned(tmp_path: Path, named: str, compressed: bool) -> None:
    trace = (TRACES / "trace.ndjson").read_bytes()
    name = "trace.ndjson.gz" if compressed else "trace.ndjson"
    (tmp_path / "traces").mkdir()
    (tmp_path / "traces" / name).write_bytes(gzip.compress(trace) if compressed else trace)
    captures = [each for each in load(TRACES / "trace.ndjson") if not isinstance(each, Broken)]
    path = tmp_path / "traces" / name
    wanted = request(path.parent if named == "folder" else path, "kernel", "num_warps")
    for _ in range(2):  # the second time from the index
        found = rows(wanted)
        assert captures
        assert [row["kernel"] for row in found] == [each.kernel for each in captures]
        assert {row["path"] for row in found} == {str(path)}
