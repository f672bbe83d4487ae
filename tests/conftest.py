"""What all tests share: a store of their own, and the kernels an H200's driver was asked about."""

import argparse
import gc
import gzip
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import time
import zlib
from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from functools import partial
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

import irlens
from irlens.artifacts import code_listings, report_cache, tools
from irlens.artifacts.store import CAPTURES
from irlens.model.capture import Capture, Disassembly
from irlens.model.report import Report
from irlens.report import inspect
from tests.preloaded import Preloaded

# How long an example takes says something of the machine only.
settings.register_profile("irlens", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("irlens")

DATA = Path(__file__).parent / "data"

#: The tests that take long, without the rows of their tables (``scripts/long_tests.py``).
LONG = frozenset((DATA.parent / "long.txt").read_text("utf-8").split())
#: Seconds after which captures that no session has used are removed: those of other states of the
#: code, and of kernels that a test wrote into a folder of its own.
_UNUSED = 86400
#: Characters of a value that is part of a test's name as it is.
_LONGEST_NAME = 400


# A shell lets what it starts in the background ignore ctrl+c, and so would all that is started
# from here, also where a test interrupts it.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


_CLUSTER = """
import sys
from distributed import LocalCluster

if __name__ == "__main__":
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        print(cluster.scheduler_address, flush=True)
        sys.stdin.read()
"""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One more than there are cores for ``-n auto``: screens and other programs are waited for."""
    return len(os.sched_getaffinity(0)) + 1


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give each worker neighbouring tests, and those of a slower worker when it has done them.

    Dealt out in turn, as xdist does by default, tests of a module make its fixtures in each worker.
    """
    from xdist.scheduler import WorkStealingScheduling  # type: ignore[import-untyped]

    return WorkStealingScheduling(config, log)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let a run choose how much it proves."""
    parser.addoption(
        "--extent", type=_extent, default=os.environ.get("IRLENS_TEST_EXTENT", "usual"),
        help="usual: without the tests that tests/long.txt lists, but with the first row of a table"
        " among them and with those that are named; rest: what that leaves out; 3/10: the third"
        " tenth of the rest; usual+3/10: both; all: everything; without the option, what"
        " IRLENS_TEST_EXTENT says",
    )  # fmt: skip


def _extent(given: str) -> str:
    share = re.fullmatch(r"(?:usual\+)?(\d+)/(\d+)", given)
    if given in ("usual", "rest", "all") or (share and 1 <= int(share[1]) <= int(share[2])):
        return given
    raise argparse.ArgumentTypeError(
        f"{given!r} is not usual, rest, all, a share as 3/10 or usual+3/10"
    )


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Name a long value by its beginning and its length.

    Each worker sends the names of its tests, which were 23 MB, and each test puts its own into the
    environment.
    """
    if isinstance(val, str | bytes) and len(val) > _LONGEST_NAME:
        beginning = val[:20].decode("latin-1") if isinstance(val, bytes) else val[:20]
        shown = re.sub(r"[^\w.-]+", "_", beginning)
        return f"{argname}-{shown}-{len(val)}"
    return None


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Let each worker import the folders of tests from another one on.

    Pytest rewrites each module before its first import, which takes 25 seconds of processor time
    for all of them: workers that are in step do so for each module at once.
    """
    report = yield
    worker = getattr(collector.config, "workerinput", None)
    if worker is not None and collector.path == DATA.parent:
        number = int(worker["workerid"].removeprefix("gw"))
        first = len(report.result) * number // worker["workercount"]
        report.result[:] = report.result[first:] + report.result[:first]
    return report


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Bring the tests of all workers into one order, and leave some out."""
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: item.path)
    leave_out(config, items)


def leave_out(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the tests out that the extent of the run does not have."""
    extent = config.getoption("extent")
    if extent == "all" or any("::" in each for each in config.args):
        return
    usual, _, share = extent.rpartition("+")
    runs: list[pytest.Item] = []
    left_out: list[pytest.Item] = []
    seen = set[str]()
    for item in items:
        test, is_row, _ = item.nodeid.partition("[")
        is_usual = test not in LONG or (is_row and test not in seen)
        seen.add(test)
        kept = "usual" in (usual, share) if is_usual else _is_of_share(item, share)
        (runs if kept else left_out).append(item)
    config.hook.pytest_deselected(items=left_out)
    items[:] = runs


def _is_of_share(item: pytest.Item, share: str) -> bool:
    """Whether a test of the rest is of a share of it, which is the same whatever else there is."""
    if "/" not in share:
        return share == "rest"
    number, of = map(int, share.split("/"))
    return zlib.crc32(item.nodeid.encode()) % of == number - 1


def pytest_collection_finish() -> None:
    """Collect garbage more rarely, and never look at what was collected and imported.

    These are a million objects that stay, and an app's screens are made of thousands: a third of
    the processor time of their tests was garbage collection.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000)


@pytest.fixture(autouse=True, scope="session")
def _private_store(
    tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config
) -> Iterator[None]:
    """Keep the user's own captures out of the tests, and the tests out of theirs.

    All workers of a session have it together: what one has compiled, the others need not. What was
    compiled outlives the session, and what was computed from it does not.
    """
    store = _shared(tmp_path_factory) / "store"
    store.mkdir(exist_ok=True)
    if (compiled := _compiled_before(pytestconfig)) is not None:
        with suppress(FileExistsError):  # another worker was faster
            (store / CAPTURES).symlink_to(compiled, target_is_directory=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("IRLENS_CACHE_DIR", str(store))
        yield


def _shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the session, which all of its workers have."""
    folder = tmp_path_factory.getbasetemp()
    return folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder


def _compiled_before(config: pytest.Config) -> Path | None:
    """Return the folder of the captures of earlier sessions, in pytest's cache, if there is one.

    It is another one for each Triton, and for each state of the code that compiles and stores.
    """
    cache = getattr(config, "cache", None)
    if cache is None or find_spec("triton") is None:
        return None
    code = hashlib.sha256()
    for room in ("compiler", "artifacts", "model"):
        for path in sorted((Path(irlens.__file__).parent / room).rglob("*.py")):
            code.update(path.read_bytes())
    folder = Path(cache.mkdir("captures")) / version("triton") / code.hexdigest()[:16]
    folder.mkdir(parents=True, exist_ok=True)
    for capture in folder.parents[1].glob("*/*/*"):
        with suppress(FileNotFoundError):  # another worker was faster
            if time.time() - capture.stat().st_mtime > _UNUSED:
                shutil.rmtree(capture, ignore_errors=True)
    return folder


@pytest.fixture(autouse=True, scope="session")
def _disassembled_once(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep what nvdisasm prints of some code for the session, whatever store a test has.

    It takes 0.2 to 0.4 s of processor time, and many tests ask for the same code. A test that
    replaces the tool or how it is run gets what it asks for.
    """
    if find_spec("triton") is None:
        yield
        return
    folder, run = _shared(tmp_path_factory) / "disassemblies", tools.run
    folder.mkdir(exist_ok=True)
    installed = tools.find("nvdisasm")

    def once(make: Callable[..., Any], tool: Path, *code: Any) -> Any:
        if tools.run is not run or tool != installed:
            return make(tool, *code)
        path = folder / hashlib.sha256(repr((make.__module__, code)).encode()).hexdigest()
        with suppress(FileNotFoundError):
            return json.loads(gzip.decompress(path.read_bytes()))
        made = make(tool, *code)
        written = path.with_name(f"{path.name}.{os.getpid()}")
        written.write_bytes(gzip.compress(json.dumps(made).encode(), compresslevel=1))
        written.rename(path)
        return made

    with pytest.MonkeyPatch.context() as patch:
        for module in (tools, code_listings):
            patch.setattr(module, "_disassemble", partial(once, module._disassemble))
        yield


@pytest.fixture(autouse=True)
def _only_stored(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep Triton and its tools from a test that is marked as needing neither."""

    def refuse(*_: object, **__: object) -> None:
        pytest.fail("a test that is marked `stored` starts a process")

    if request.node.get_closest_marker("stored") is not None:
        monkeypatch.setitem(sys.modules, "triton", None)
        monkeypatch.setattr(subprocess.Popen, "__init__", refuse)
        monkeypatch.setattr(os, "fork", refuse)
        monkeypatch.setattr(tools, "run", refuse)  # not even for what has been disassembled


@pytest.fixture(autouse=True)
def _compiled_to(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let Triton stop after the stage that a test's mark names, and keep that in another store.

    The machine code is empty: most of a compilation is LLVM's and the assembler's.
    """
    mark = request.node.get_closest_marker("compiled_to")
    if mark is None:
        return
    monkeypatch.setenv("IRLENS_CACHE_DIR", f"{os.environ['IRLENS_CACHE_DIR']}-{mark.args[0]}")

    def nothing(_: object, metadata: dict[str, Any]) -> bytes:
        for key, value in (("name", "kernel"), ("shared", 0)):
            metadata.setdefault(key, value)
        return b""

    for vendor, name in (("nvidia", "CUDABackend"), ("amd", "HIPBackend")):
        backend = getattr(import_module(f"triton.backends.{vendor}.compiler"), name)

        def add(
            self: Any, stages: dict[str, Any], *rest: Any, known: Any = backend.add_stages
        ) -> None:
            known(self, stages, *rest)
            (last,) = stages.keys() & set(mark.args)
            later = list(stages)[list(stages).index(last) + 1 :]
            for stage in later:
                del stages[stage]
            stages[self.binary_ext] = nothing

        monkeypatch.setattr(backend, "add_stages", add)


@pytest.fixture(scope="session")
def _forking() -> Iterator[Preloaded]:
    """The process that forks for the recordings of a session."""
    server = Preloaded("irlens.programs.runner")
    yield server
    server.end()


@pytest.fixture
def preloaded(monkeypatch: pytest.MonkeyPatch, _forking: Preloaded) -> None:
    """Let recorded programs start in a process that has imported PyTorch and Triton."""
    # Its package has a function of that name.
    monkeypatch.setattr(import_module("irlens.programs.record"), "subprocess", _forking)


@pytest.fixture(scope="session")
def h200_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Triton cache of the 31 kernels in ``tests/data/h200``, unpacked."""
    folder = tmp_path_factory.mktemp("h200")
    with tarfile.open(DATA / "h200" / "triton-cache.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    return folder / "triton-cache"


@pytest.fixture(scope="session")
def h200_reports(_private_store: None, h200_cache: Path) -> list[tuple[Capture, Report]]:
    """The captures of that cache, each with its report, which is made once in a session."""
    captures = irlens.load(h200_cache)
    return [
        (each, report_cache.report_of(each, partial(inspect, each), Disassembly.SKIP))
        for each in captures
    ]


@pytest.fixture(scope="session")
def other_triton(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An interpreter with a Triton of its own: the one here, which says it is 3.99.0."""
    folder = tmp_path_factory.mktemp("other")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    (site,) = folder.glob("lib/python*/site-packages")
    spec = find_spec("triton")
    assert spec is not None
    assert spec.origin is not None
    here, there = Path(spec.origin), site / "triton" / "__init__.py"
    there.parent.mkdir()
    for path in here.parent.iterdir():
        if path != here and path.name != "__pycache__":
            (there.parent / path.name).symlink_to(path)
    stated = re.sub(r"(?m)^__version__ = .*$", "__version__ = '3.99.0'", here.read_text())
    there.write_text(stated)
    (info,) = here.parents[1].glob("triton-*.dist-info")  # names the backends
    record = site / "triton-3.99.0.dist-info"
    record.mkdir()
    (record / "entry_points.txt").write_bytes((info / "entry_points.txt").read_bytes())
    (record / "METADATA").write_text("Metadata-Version: 2.1\nName: triton\nVersion: 3.99.0\n")
    return folder / "bin" / "python"


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[str]:
    """The address of a Dask cluster in processes of its own, which have another store."""
    pytest.importorskip("distributed", reason="the extra irlens[cluster] is not installed")
    script = tmp_path / "cluster.py"
    script.write_text(_CLUSTER)
    process = subprocess.Popen(
        [sys.executable, str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        stderr=subprocess.DEVNULL, start_new_session=True, cwd=tmp_path,
        env={**os.environ, "IRLENS_CACHE_DIR": str(tmp_path / "theirs"),
             "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "1"},
    )  # fmt: skip
    assert process.stdout is not None
    yield process.stdout.readline().strip()
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
