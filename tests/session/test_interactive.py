"""The interactive session over captures, saved reports, and kernels compiled on demand."""

import shutil
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest

from irlens import gpus as arch
from irlens.artifacts import store
from irlens.artifacts.load import load
from irlens.compiler import Request
from irlens.model.capture import Capture
from irlens.model.config import ConstexprValue
from irlens.model.errors import CaptureError, IrlensError
from irlens.model.report import Report
from irlens.report import inspect
from irlens.session.compilation import Compiler
from irlens.session.exchange import Entry
from irlens.session.interactive import Workbench
from irlens.session.listed_entries import Item, Uncompiled
from tests.session.compiled import when_compiling
from tests.tui.waiting import PATIENCE

CAPTURES = Path(__file__).parents[2] / "samples" / "captures"


def nothing(_name: str) -> Request:
    raise AssertionError("nothing is to be compiled here")


def softmax(**settings: ConstexprValue) -> Request:
    return Request(kernel="softmax", target=arch.find("h100").target, settings=settings)


def bench_of(path: Path) -> Workbench:
    return Workbench(path.name, lambda: load(path), request_for=nothing, root=path)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Three captures that a test may damage."""
    for name in ("softmax-h100", "softmax-mi300x", "spill-h100"):
        shutil.copytree(CAPTURES / name, tmp_path / name)
    return tmp_path


def read_all(bench: Workbench) -> Iterator[Entry]:
    """Yield the entries as they are listed, and then completed."""
    keys = {}
    for entry in bench.entries():
        keys[entry.key] = entry.is_complete
        yield entry
    yield from bench.complete([key for key, is_complete in keys.items() if not is_complete])


def test_an_entry_comes_by_name_then_with_figures_and_in_full_if_it_is_wanted(
    copy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IRLENS_CACHE_DIR", str(tmp_path / "no reports yet"))
    listed = {entry.key: entry for entry in bench_of(copy).entries()}
    assert len(listed) == 3
    assert not any(entry.is_complete for entry in listed.values())
    for expected in (["name", "figures", "full"], ["name", "full"]):  # then reports are remembered
        seen: dict[str, list[str]] = {}
        for entry in read_all(bench_of(copy)):
            known = (
                "full" if entry.findings is not None else "figures" if entry.resources else "name"
            )
            seen.setdefault(entry.place, []).append(known)
        assert len(seen) == 3
        assert all(stages == expected for stages in seen.values())


def test_the_figures_at_a_glance_are_those_of_the_report(copy: Path) -> None:
    bench = bench_of(copy)
    for entry in bench.entries():
        if entry.resources is not None and entry.occupancy is not None:
            report = bench.report(entry.key)
            assert entry.resources == report.resources
            assert report.occupancy is not None
            assert entry.occupancy.limits == report.occupancy.limits
            assert entry.occupancy.theoretical == report.occupancy.theoretical


def test_what_is_broken_is_listed_beside_the_rest(copy: Path) -> None:
    (copy / "softmax-h100" / "softmax_kernel.cubin").write_bytes(b"no ELF")
    (copy / "spill-h100" / "spill_kernel.json").write_text("{")
    bench = bench_of(copy)
    last = {entry.key: entry for entry in read_all(bench)}
    assert sum(1 for entry in last.values() if entry.problem) == 2
    assert sum(1 for entry in last.values() if entry.findings is not None) == 1


def test_many_captures_are_read_by_other_processes(tmp_path: Path) -> None:
    for number in range(14):
        shutil.copytree(CAPTURES / "softmax-t4", tmp_path / str(number))
    bench = bench_of(tmp_path)
    full = [entry for entry in read_all(bench) if entry.findings is not None]
    assert len({entry.key for entry in full}) == 14


def test_only_what_is_asked_for_is_completed(copy: Path) -> None:
    bench = bench_of(copy)
    key, *others = {entry.key: None for entry in bench.entries()}
    (entry,) = bench.complete([key, "no such key"])
    assert (entry.key, entry.is_complete) == (key, True)
    assert entry == bench.entry(key)
    shutil.rmtree(copy / "spill-h100")
    gone = [entry for entry in bench.complete(others) if entry.problem]
    assert all("spill-h100" in entry.place for entry in gone)


@pytest.mark.parametrize("path", sorted(CAPTURES.iterdir()), ids=lambda path: path.name)
def test_what_if_nothing_changed_equals_the_report(path: Path) -> None:
    (capture,) = (each for each in load(path) if isinstance(each, Capture))
    report = inspect(capture)
    saved = Workbench("saved", lambda: iter([report]), request_for=nothing)
    assert report.occupancy is not None
    at = {curve.resource: curve.at for curve in report.occupancy.curves}
    for bench in (bench_of(path), saved):
        key = bench.single()
        assert key is not None
        answer = bench.what_if(
            key,
            registers=at["registers"],
            shared_bytes=at["shared_memory"],
            num_warps=report.config.num_warps or 0,
        )
        if bench is saved and report.warp_groups:
            # The warps that the compiler added for itself are not in a report.
            assert answer is None
            continue
        assert answer is not None
        assert answer.limits == report.occupancy.limits
        assert answer.blocks_per_sm == report.occupancy.blocks_per_sm


def test_a_capture_deleted_meanwhile_is_an_error(copy: Path) -> None:
    bench = bench_of(copy)
    keys = [entry.key for entry in bench.entries()]
    shutil.rmtree(copy / "softmax-h100")
    key = next(key for key in keys if "softmax-h100" in key)
    with pytest.raises(IrlensError, match="there is no"):
        bench.report(key)
    with pytest.raises(IrlensError, match="there is no"):
        bench.listing(key, "ptx")


def test_the_text_of_a_capture(copy: Path) -> None:
    bench = bench_of(copy / "softmax-h100")
    key = bench.single()
    assert key is not None
    assert {"ttir", "ttgir", "llir", "ptx"} <= set(bench.stages(key))
    assert "def softmax_kernel" in bench.python(key)["softmax.py"]
    listing = bench.listing(key, "ptx")
    assert ".entry softmax_kernel" in listing.text
    assert max(listing.live) == listing.peak
    assert "# IRL201" in bench.explain("IRL201")


def test_a_saved_report_has_figures_and_no_code() -> None:
    (capture,) = (each for each in load(CAPTURES / "softmax-h100") if isinstance(each, Capture))
    report: Report = inspect(capture)
    bench = Workbench("saved", lambda: iter([report]), request_for=nothing)
    (entry,) = bench.entries()
    assert bench.report(entry.key) == report
    assert bench.stages(entry.key) == ()
    with pytest.raises(IrlensError, match="holds no code"):
        bench.listing(entry.key, "ptx")


def test_a_kernel_is_compiled_when_it_is_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    (capture,) = (each for each in load(CAPTURES / "softmax-h100") if isinstance(each, Capture))
    asked: list[Request] = []

    def compile_(_: Compiler, request: Request, cancels: int) -> list[Capture]:
        asked.append(request)
        return [capture]

    monkeypatch.setattr(Compiler, "compile", compile_)

    def find() -> Iterator[Item]:
        yield Uncompiled("softmax")

    bench = Workbench("all", find, request_for=lambda _: softmax())
    (entry,) = bench.entries()
    assert (entry.config, entry.resources, asked) == (None, None, [])
    assert bench.entry(entry.key) == entry
    assert asked == []
    assert bench.report(entry.key).kernel == "softmax_kernel"
    assert bench.entry(entry.key).config == capture.config
    listed = list(bench.entries())
    assert {each.kernel for each in listed} == {"softmax_kernel"}, "no longer as not compiled"
    assert entry.key not in {each.key for each in listed}
    assert bench.listing(entry.key, "ptx").text
    assert asked == [softmax()], "once is enough"


def test_what_the_store_holds_twice_is_one_entry(
    copy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IRLENS_CACHE_DIR", str(tmp_path / "cache"))
    for name in ("asked", "asked-otherwise", "edited", "of-another-file"):
        shutil.copytree(copy / "softmax-h100", store.captures() / name / "000")
    (store.captures() / "edited" / "000" / "softmax_kernel.ptx").write_text("// other\n")
    python = store.captures() / "of-another-file" / "000" / "python" / "softmax.py"
    python.write_text(f"# more\n{python.read_text()}")
    found = {each.directory: each for each in load(store.captures()) if isinstance(each, Capture)}
    assert len(found) == 4
    monkeypatch.chdir(tmp_path)
    named = bench_of(Path("cache", "captures"))
    assert len({entry.key for entry in named.entries()}) == 3, "named by a relative path"

    origins = [(capture, softmax()) for capture in found.values()]
    bench = Workbench("all", lambda: iter(found.values()), request_for=nothing, origins=origins)
    places = {Path(entry.place).parent.name: entry for entry in bench.entries()}
    assert set(places) == {"asked", "edited", "of-another-file"}

    otherwise = found[store.captures() / "asked-otherwise" / "000"]
    monkeypatch.setattr(Compiler, "compile", lambda *_: [otherwise])
    assert bench.recompile(places["edited"].key, {}).key == places["asked"].key
    assert {entry.key for entry in bench.entries()} == {each.key for each in places.values()}

    shutil.rmtree(store.captures() / "asked")
    del found[store.captures() / "asked" / "000"]
    places = {Path(entry.place).parent.name: entry for entry in bench.entries()}
    assert set(places) == {"asked-otherwise", "edited", "of-another-file"}


def test_what_others_keep_twice_is_two_entries(copy: Path) -> None:
    shutil.copytree(copy / "softmax-h100", copy / "twin")
    kernels = {entry.key: entry.kernel for entry in bench_of(copy).entries()}
    assert sorted(kernels.values()).count("softmax_kernel") == 3


def test_a_kernel_is_compiled_once_for_all_that_ask_meanwhile(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (capture,) = (each for each in load(CAPTURES / "softmax-h100") if isinstance(each, Capture))
    compiling, go_on, asked = threading.Event(), threading.Event(), []

    def compile_(_: Compiler, request: Request, cancels: int) -> list[Capture]:
        asked.append(request)
        compiling.set()
        assert go_on.wait(PATIENCE)
        return [capture]

    monkeypatch.setattr(Compiler, "compile", compile_)
    bench = Workbench("all", lambda: iter([Uncompiled("softmax")]), request_for=lambda _: softmax())
    (entry,) = bench.entries()
    with ThreadPoolExecutor() as threads:
        report = threads.submit(bench.report, entry.key)
        assert compiling.wait(PATIENCE)
        others = [threads.submit(ask, entry.key) for ask in (bench.stages, bench.python)]
        kernel = threads.submit(bench.kernel, entry.key)
        go_on.set()
        stages, python = (other.result(PATIENCE) for other in others)
        assert "ptx" in stages
        assert "softmax.py" in python
        assert kernel.result(PATIENCE) == report.result(PATIENCE).kernel == "softmax_kernel"
    assert asked == [softmax()]


def test_an_error_of_the_compiler_is_told_as_it_was() -> None:
    with pytest.raises(CaptureError, match="unknown kernel 'sofmtax'") as caught:
        Compiler().compile(msgspec.structs.replace(softmax(), kernel="sofmtax"))
    assert (caught.value.hint or "").startswith("did you mean softmax or ")


def test_a_compilation_can_be_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    compiler = Compiler()
    with (
        when_compiling(monkeypatch, compiler.cancel),
        pytest.raises(CaptureError, match="was cancelled"),
    ):
        compiler.compile(softmax(BLOCK_SIZE=2048))
