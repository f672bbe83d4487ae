"""Print how fast irlens is where people wait, each row with its yardstick, in one run.

    python benchmarks/speed.py [--quick] [--rows NAME,...]

NAME is one of PARTS below: "startup", "scan", "reports". Times are processor time, user and system,
of all processes of a command; ratios are medians of runs that alternate with those of the
yardstick, since absolute times mean little on a busy machine. Entries of caches are the captures in
samples/ under new names; those of reports and comparisons are the sample kernels, compiled first.
``--quick`` leaves out the largest inputs.

The benchmarks for one row each say more about it: `startup.py`, `cold_compile.py`, `scan.py`,
`tui.py`, `many_cubins.py`, `sweep_speedup.py`, `diff_caches.py`.
"""

import asyncio
import gc
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import NamedTuple

import cold_compile  # type: ignore[import-not-found]  # beside this script
import many_cubins  # type: ignore[import-not-found]
import scan  # type: ignore[import-not-found]
import sweep_speedup  # type: ignore[import-not-found]

from irlens.artifacts import scan_index, tools
from irlens.cli import COLLECTIONS

PYTHON = sys.executable
IRLENS = [PYTHON, "-c", "import sys; from irlens.cli import main; sys.exit(main())"]
SAMPLE = scan.CAPTURES / "softmax-h100"
CORES = len(os.sched_getaffinity(0))
QUICK = "--quick" in sys.argv
RUNS = 5 if QUICK else 15
SCANNED = (50, 500, 2_000) if QUICK else (50, 500, 2_000, 20_000)
LISTED = 1_000 if QUICK else 10_000
#: Entries with a text and a binary of their own in the list of the TUI.
LISTED_APART = 200 if QUICK else 2_000
#: Compiles each sample for two GPUs, those without a single configuration aside.
COMPILE = """
import json, shutil, subprocess, sys
from pathlib import Path
import irlens
from irlens.model.errors import IrlensError
listed = [sys.executable, "-m", "irlens", "kernels", "--json"]
for kernel in json.loads(subprocess.run(listed, check=True, stdout=subprocess.PIPE).stdout):
    for gpu in ("h100", "b200"):
        try:
            made = irlens.capture(kernel["name"], gpu, **json.loads(sys.argv[2]))
        except IrlensError:
            continue
        name = f"{kernel['name']}-{gpu}".replace(":", "-")
        shutil.copytree(made.directory, Path(sys.argv[1], name))
"""
#: Bytes of PTX.
SIZES = (400_000, 1_000_000) if QUICK else (400_000, 1_000_000, 2_500_000, 5_000_000)

HEAD = """.version 8.7
.target sm_90a
.address_size 64
.visible .entry large(.param .u64 .ptr .global .align 1 p)
.reqntid 128
{
.reg .pred %p<2>;
.reg .b32 %r<32>;
.reg .b64 %rd<4>;
ld.param.b64 %rd1, [p];
mov.u32 %r1, %tid.x;
"""
BLOCK = """$L__{n}:
ld.global.v4.b32 {{ %r2, %r3, %r4, %r5 }}, [ %rd1 + {n} ];
add.s32 %r6, %r2, %r3;
mad.lo.s32 %r7, %r4, %r5, %r6;
shl.b32 %r8, %r7, 3;
st.global.v4.b32 [ %rd1 + {n} ], {{ %r5, %r6, %r7, %r8 }};
add.s32 %r1, %r1, 1;
setp.lt.s32 %p1, %r1, {n};
@%p1 bra $L__{following};
"""


class Used(NamedTuple):
    """Processor time in seconds, peak memory of the largest process in MB, and output."""

    seconds: float
    memory: float
    output: bytes


class Row(NamedTuple):
    """A row: the work, what was measured, its yardstick and the goal."""

    work: str
    measured: str
    yardstick: str
    goal: str


def run(command: list[str], store: Path | str = "", codes: tuple[int, ...] = (0,)) -> Used:
    """Run a command to its end, with bytecode cached as in an installation."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    if store:
        environment["IRLENS_CACHE_DIR"] = str(store)
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            command, stdout=output, stderr=subprocess.DEVNULL, env=environment
        )
        _, status, usage = os.wait4(process.pid, 0)
        if os.waitstatus_to_exitcode(status) not in codes:
            raise SystemExit(f"{command} ended with {os.waitstatus_to_exitcode(status)}")
        output.seek(0)
        seconds = usage.ru_utime + usage.ru_stime
        return Used(seconds, usage.ru_maxrss / 1024, output.read())


def ratio(command: list[str], yardstick: list[str], store: Path | str = "") -> str:
    """Return how much longer a command takes, once it has run before."""
    run(command, store)
    pairs = [(run(yardstick).seconds, run(command, store).seconds) for _ in range(RUNS)]
    return f"{median(ours / bare for bare, ours in pairs):.2f} x"


def startup(folder: Path) -> Iterator[Row]:
    """Help, and answers from the store."""
    bare = [PYTHON, "-c", "pass"]
    yield Row("help", ratio([*IRLENS, "--help"], bare), "python -c pass", "5 x")
    inspect = [*IRLENS, "inspect"]
    known = ratio([*inspect, str(SAMPLE)], bare, folder / "startup")
    yield Row("inspect a capture again", known, "python -c pass", "6 x")
    named = ratio([*inspect, "softmax", "-t", "h100"], bare, folder / "startup")
    yield Row("inspect a kernel by name again", named, "python -c pass", "9 x")


def cold(_folder: Path) -> Iterator[Row]:
    """A kernel that was never compiled."""
    commands = cold_compile.COMMANDS
    warmup, _, disassembler, without, whole = commands
    rounds = []
    for _ in range(3 if QUICK else 7):
        rounds.append(
            {name: cold_compile.processor_time(each)[0] for name, each in commands.items()}
        )
    for name, parts in ((without, (warmup,)), (whole, (warmup, disassembler))):
        times = median(each[name] / sum(each[part] for part in parts) for each in rounds)
        yield Row(f"cold {name}", f"{times:.2f} x", " and ".join(parts), "0.8 x")


def sweep(_folder: Path) -> Iterator[Row]:
    """100 configurations of a softmax and 48 of a matrix product."""
    for work, goal in ((sweep_speedup.SOFTMAX, "1.8 x"), (sweep_speedup.MATMUL, "1.6 x by wall")):
        alone, bare = sweep_speedup.bare(work)
        taken, used = sweep_speedup.sweep(work, 2)
        measured = f"{alone / taken:.2f} x as fast  {bare / used * 2:.2f} x on idle cores"
        name = f"sweep of {work.configurations} {work.kernel}, 2 workers"
        yield Row(
            name, measured, f"bare loop, {bare / work.configurations * 1e3:.0f} ms each", goal
        )


def suggestion(folder: Path) -> Iterator[Row]:
    """How long it takes until something faster than a configuration is known, on the wall."""
    command = [*IRLENS, "suggest", "flash_attention", "-t", "h100", "-f", "json", "--jobs", "2"]
    for most, goal in ((2, "20 s"), (32, "")):
        begun = time.perf_counter()
        used = run([*command, "--most", str(most)], folder / f"suggest-{most}")
        wall = time.perf_counter() - begun
        name = f"suggest flash_attention, {most} neighbours"
        yield Row(name, f"{wall:.1f} s  {used.seconds:.1f} s of CPU", "", goal)


def slow_launch(folder: Path) -> Iterator[Row]:
    """A launch whose addresses form many intervals: 33 million floats, three and 32 apart."""
    for stride in (3, 32):
        command = [*IRLENS, "inspect", "copies:copy_strided_kernel", "-t", "h100"]
        command += ["--set", f"STRIDE={stride}", "--no-sass"]
        sizes = (1 << 16, 1 << 15, 1 << 25)  # the first is compiled and disassembled
        _, few, many = (
            run([*command, "--arg", f"n_elements={size}"], folder / "launch").seconds
            for size in sizes
        )
        measured = f"{many - few:.2f} s more"
        yield Row(f"launch of a copy, stride {stride}", measured, "1,024 times as few", "0.3 s")


def entries(folder: Path) -> Iterator[Row]:
    """Scans of caches of any size."""
    for number in SCANNED:
        cache, store = _cache(folder, number), folder / f"store-{number}"
        command = [*IRLENS, "scan", str(cache), "-f", "csv"]
        bare = run([PYTHON, "-c", scan.YARDSTICK, str(cache)])
        beside = f"{number / bare.seconds:,.0f}/s to read what is needed"
        for name, columns, goal in (
            ("registers and occupancy", scan.CHEAP, "1,000/s"),
            ("the same again", scan.CHEAP, "2,000 in 1 s"),
        ):
            used = run([*command, *columns], store)
            measured = f"{number / used.seconds:,.0f}/s  {used.seconds:.2f} s  {used.memory:.0f} MB"
            yield Row(f"scan {number:,}: {name}", measured, beside, goal)
    cache = _cache(folder, 500)
    used = run([*IRLENS, "scan", str(cache), "-f", "csv", *scan.PARSED], folder / "parsed")
    yield Row("scan: pipelines and findings", f"{500 / used.seconds:.0f}/s a core", "", "100/s")


def reports(folder: Path) -> Iterator[Row]:
    """Captures with launches, none of which shares its texts or its binary with another."""
    cache = _compiled(folder, "samples")
    cubins = sorted(cache.rglob("*.cubin"))
    alone = sum(run([str(tools.find("nvdisasm")), "-c", str(each)]).seconds for each in cubins)
    beside = f"{len(cubins) / alone:.1f}/s to run nvdisasm on each"
    for work, form in (
        ("full reports, JSON lines", "jsonl"),
        ("the same again", "jsonl"),
        ("times and findings, CSV", "csv"),
    ):
        command = [*IRLENS, "scan", str(cache), "-f", form, "--jobs", "1"]
        used = run(command, folder / form)
        measured = f"{len(cubins) / used.seconds:.1f}/s a core  {used.memory:.0f} MB"
        yield Row(f"scan of {len(cubins)} samples: {work}", measured, beside, "10/s")


def tui(folder: Path) -> Iterator[Row]:
    """The list of the TUI, until all rows are there and the figures of those in sight."""
    for number, cache in (
        (LISTED_APART, _distinct(folder, LISTED_APART, "listed")),
        (LISTED, _cache(folder, LISTED)),
    ):
        bare = run([PYTHON, "-c", scan.YARDSTICK, str(cache)])
        beside = f"{bare.seconds:.2f} s to read metadata and binaries"
        for work, goal in (("first", "10 s for 2,000"), ("again", "5 s")):
            used = run([PYTHON, __file__, "--list", str(cache)], folder / f"tui-{number}")
            first, whole = json.loads(used.output)
            measured = f"list {first:.2f} s  figures {whole:.2f} s  all {used.seconds:.2f} s"
            yield Row(f"tui of {number:,} entries, {work}", measured, beside, goal)


async def list_entries(cache: str) -> None:
    """Print the processor time until the list has rows, and until those in sight are complete."""
    gc.disable()  # as `irlens tui` does; the app enables it
    gc.set_threshold(*COLLECTIONS)
    from irlens.session import Configurations
    from irlens.session.interactive import open_session
    from irlens.session.session import Session
    from irlens.tui.app import IrlensApp
    from irlens.tui.entries.table import EntryTable

    app = IrlensApp(open_session(cache, Configurations(), Session()))
    async with app.run_test(size=(120, 40)):
        screen = app.screen
        rows = screen.query_one(EntryTable).rows
        while not rows.entries:
            await asyncio.sleep(0.01)
        first = time.process_time()
        while screen.is_reading:  # type: ignore[attr-defined]  # the browser
            await asyncio.sleep(0.01)
        print(json.dumps([first, time.process_time()]))


def machine_code(folder: Path) -> Iterator[Row]:
    """The machine code of many cubins."""
    if tools.find("nvdisasm") is None:
        return
    del folder
    cubins = sorted(scan.CAPTURES.rglob("*.cubin"))
    rounds = [many_cubins.measure(cubins) for _ in range(1 if QUICK else 3)]
    times = median(each["irlens, empty cache"][1] / each["nvdisasm"][1] for each in rounds)
    yield Row("machine code of many cubins", f"{times:.2f} x", "nvdisasm, all cores", "1.1 x")


def large(folder: Path) -> Iterator[Row]:
    """One kernel of megabytes of PTX: time per byte, and the HTML report."""
    least = 0.0
    for size in SIZES:
        path = folder / f"{size}.ptx"
        blocks = max(size // (len(BLOCK) + 20), 1)
        path.write_text(
            HEAD
            + "".join(BLOCK.format(n=n, following=n + 1) for n in range(blocks))
            + f"$L__{blocks}:\nret;\n}}\n"
        )
        content = path.stat().st_size
        page = folder / f"{size}.html"
        command = [*IRLENS, "inspect", str(path)]
        used = run(command, folder / f"large-{size}")
        each = used.seconds / content
        least = least or each
        measured = f"{each * 1e9:.0f} ns/B  {used.memory:.0f} MB"
        beside = f"{each / least:.2f} x per byte of the smallest"
        yield Row(f"inspect {content / 1e6:.1f} MB of PTX", measured, beside, "1.2 x")
    used = run([*command, "-f", "html", "-o", str(page)], folder / f"large-{size}")
    written = page.stat().st_size / 1e6
    measured = f"{written:.1f} MB  {used.memory:.0f} MB of memory"
    yield Row("its HTML", measured, f"{content / 1e6:.1f} MB of PTX", "8 MB, 150 MB")


def comparison(folder: Path) -> Iterator[Row]:
    """Two caches of as many kernels, whose code differs, and two that are mostly equal."""
    before, after = _compiled(folder, "samples"), _compiled(folder, "others", num_warps=16)
    number = len(list(before.iterdir()))
    for work in ("cold", "again"):
        used = run([*IRLENS, "diff", str(before), str(after)], folder / "diff", codes=(0, 1))
        each = used.seconds / number / 2 * 1e3
        name = f"diff of {number} samples with other warps, {work}"
        yield Row(name, f"{used.seconds:.2f} s  {each:.0f} ms an entry", "", "")
    after = folder / "mostly-equal"
    shutil.copytree(before, after)
    for entry in sorted(after.iterdir())[::20]:
        for path in (*entry.glob("*.ptx"), *entry.glob("*.cubin")):
            path.write_bytes(path.read_bytes() + b"\n// changed\n")
    used = run([*IRLENS, "diff", str(before), str(after)], folder / "diff-equal", codes=(0, 1))
    each = used.seconds / number / 2 * 1e3
    name = f"diff of {number} samples, 95 % equal"
    yield Row(name, f"{used.seconds:.2f} s  {each:.0f} ms an entry", "", "10 ms an entry")


def _compiled(folder: Path, name: str, **settings: int) -> Path:
    """Return a cache of each sample for an H100 and a B200, with some settings."""
    cache = folder / name
    if not cache.exists():
        cache.mkdir()
        run([PYTHON, "-c", COMPILE, str(cache), json.dumps(settings)], folder / f"{name}-store")
        time.sleep(scan_index.SETTLED_NS / 1e9 + 0.1)
    return cache


def _distinct(folder: Path, number: int, name: str) -> Path:
    """Return a cache of entries that differ, so that none has the report of another."""
    cache = folder / name
    if not cache.exists():
        scan.fill(cache, number)
        for entry in cache.iterdir():
            for suffix in ("ptx", "amdgcn", "cubin"):
                for path in entry.glob(f"*.{suffix}"):
                    content = path.read_bytes()
                    path.unlink()  # it may be a link to that of another entry
                    path.write_bytes(content + f"\n// {name} {entry.name}\n".encode())
        time.sleep(scan_index.SETTLED_NS / 1e9 + 0.1)
    return cache


def _cache(folder: Path, number: int) -> Path:
    """Return a cache of entries; those that changed just now would not be indexed."""
    cache = folder / "entries" / str(number)
    if not cache.exists():
        scan.fill(cache, number)
        time.sleep(scan_index.SETTLED_NS / 1e9 + 0.1)
    return cache


PARTS: dict[str, Callable[[Path], Iterator[Row]]] = {
    "startup": startup, "cold": cold, "scan": entries, "reports": reports, "tui": tui,
    "cubins": machine_code, "large": large, "diff": comparison, "sweep": sweep,
    "suggest": suggestion, "launch": slow_launch,
}  # fmt: skip


def main() -> None:
    """Print the rows."""
    if "--list" in sys.argv:
        asyncio.run(list_entries(sys.argv[-1]))
        return
    options = ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("--quick", action="store_true", help="leave out the largest inputs")
    options.add_argument("--rows", default=",".join(PARTS), help="some of %(default)s")
    wanted = options.parse_args().rows.split(",")
    if unknown := [name for name in wanted if name not in PARTS]:
        options.error(f"no rows named {', '.join(unknown)}: there are {', '.join(PARTS)}")
    print(f"{CORES} cores, processor time")
    with tempfile.TemporaryDirectory() as folder:
        for name in wanted:
            for row in PARTS[name](Path(folder)):
                print(
                    f"{row.work:<50} {row.measured:<34} {row.yardstick:<46} {row.goal}", flush=True
                )


if __name__ == "__main__":
    main()
