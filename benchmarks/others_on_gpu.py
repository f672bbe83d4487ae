"""Time and profile launches of other people's kernels on this machine's GPU.

    python benchmarks/others_on_gpu.py time FOLDER [--seconds N] [--only NAME,...]
    python benchmarks/others_on_gpu.py profile FOLDER [--seconds N]

Runs the operators of ``programs/`` (Liger, flash-linear-attention, conch, SageAttention,
cut-cross-entropy, FlagGems, ``torch.compile``, kernels written by hand) at two sizes and times
each launch that differs from all before it in its code, arguments or grid. Writes ``launches.json``
and ``entries-*.tar.xz`` with the entries of Triton's cache to FOLDER. ``profile`` counts the
launches of the same operators with Nsight Compute, the fastest configuration of each kernel and
arguments, and writes ``ncu.json``.

Needs a GPU, PyTorch, Triton and the libraries, and no network; imports no part of irlens.
Autotuners try a few of their configurations. A launch is timed by CUDA events with a cold L2. What
the processes of the first pass compile is in the cache when the second pass times, alone on the
GPU.
"""

import argparse
import csv
import gc
import io
import json
import lzma
import os
import runpy
import signal
import subprocess
import sys
import tarfile
import time
import traceback
from pathlib import Path
from typing import Any

from watched_launches import (  # type: ignore[import-not-found]  # beside this script
    Watch,
    limit_autotuners,
)

PROGRAMS = Path(__file__).resolve().parent / "programs"
#: Where compiled kernels stay between the passes.
CACHE = Path("/tmp/others")
#: Variables that the programs take their sizes from.
SIZES = [
    {"BATCH": "1", "LENGTH": "512", "HEADS": "8", "SIZE": "64", "ROWS": "512", "HIDDEN": "1024",
     "CLASSES": "4096", "SCALE": "1"},
    {"BATCH": "4", "LENGTH": "2048", "HEADS": "8", "SIZE": "64", "ROWS": "4096", "HIDDEN": "2048",
     "CLASSES": "8192", "SCALE": "4"},
]  # fmt: skip
FILES = (
    "handwritten_ops", "liger_ops", "fla_ops", "serving_ops", "inductor_ops", "gems_ops",
)  # fmt: skip
PART_BYTES = 15 << 20
PROFILED = 420

METRICS = (
    "gpu__time_duration.sum",
    "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
    "l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum",
    "l1tex__t_sectors_pipe_lsu_mem_local_op_st.sum",
    "l1tex__t_sector_hit_rate.pct",
    "l1tex__data_pipe_lsu_wavefronts.sum",
    "lts__t_sectors.sum",
    "lts__t_sectors_op_read.sum",
    "lts__t_sectors_op_write.sum",
    "lts__t_sector_hit_rate.pct",
    "lts__ltcfabric2ltc_cycles_active.avg.pct_of_peak_sustained_elapsed",
    "dram__bytes_read.sum",
    "dram__bytes_write.sum",
    "dram__throughput.avg.pct_of_peak_sustained_elapsed",
    "lts__throughput.avg.pct_of_peak_sustained_elapsed",
    "l1tex__throughput.avg.pct_of_peak_sustained_elapsed",
    "sm__throughput.avg.pct_of_peak_sustained_elapsed",
    "sm__inst_executed.sum",
    "sm__inst_issued.sum",
    "sm__inst_executed_pipe_tensor.sum",
    "sm__inst_issued.avg.pct_of_peak_sustained_elapsed",
    "sm__cycles_elapsed.max",
    "sm__cycles_active.avg",
    "sm__warps_active.avg.pct_of_peak_sustained_active",
    "smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio",
    "smsp__average_warps_issue_stalled_no_instruction_per_issue_active.ratio",
    "smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio",
    "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed",
    "sm__inst_executed_pipe_lsu.avg.pct_of_peak_sustained_elapsed",
    "sm__inst_executed_pipe_xu.avg.pct_of_peak_sustained_elapsed",
    "sm__inst_executed_pipe_alu.avg.pct_of_peak_sustained_elapsed",
    "sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_elapsed",
    "sm__icc_requests.sum",
    "sm__icc_requests_lookup_miss.sum",
    "smsp__inst_executed_op_shared_atom.sum",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum",
    "breakdown:lts__throughput.avg.pct_of_peak_sustained_elapsed",
    "breakdown:sm__throughput.avg.pct_of_peak_sustained_elapsed",
)


def operators(file: str, sizes: dict[str, str]) -> dict[str, Any]:
    """Return the operators of a program by name, at some sizes."""
    import operator_runs

    found: dict[str, Any] = {}
    setattr(operator_runs, "run", found.update)  # noqa: B010  # what the programs call
    os.environ.update({f"OPERATOR_{name}": value for name, value in sizes.items()})
    runpy.run_path(str(PROGRAMS / f"{file}.py"), run_name=file)
    return found


def run_all(
    watch: Watch, deadline: float, only: list[str], claim: Any, outcome: dict[str, str]
) -> None:
    """Run operators until a deadline and note what became of each."""
    import operator_runs
    import torch

    differentiate = operator_runs._differentiate
    for size, sizes in reversed(list(enumerate(SIZES))):
        for file in FILES:
            if only and not any(each.startswith(file) for each in only):
                continue
            try:
                found = operators(file, sizes)
            except Exception:
                traceback.print_exc()
                outcome[f"{file}/{size}"] = "failed to load"
                continue
            for name, operator in found.items():
                label = f"{file}/{size}/{name}"
                if only and not any(label.startswith(each) or each == file for each in only):
                    continue
                if time.time() > deadline:
                    outcome[label] = "out of time"
                    continue
                if not claim(label):
                    continue
                watch.where, outcome[label] = label, "crashed"
                try:
                    torch.manual_seed(0)
                    differentiate(operator())
                    torch.cuda.synchronize()
                    outcome[label] = "ran"
                    claim(label, done=True)
                except Exception as error:
                    outcome[label] = f"{type(error).__name__}: {str(error)[:300]}"
                    if "CUDA error" in str(error):
                        outcome[label] = "crashed"
                        raise
            found.clear()
            gc.collect()
            torch.cuda.empty_cache()


def environment() -> None:
    """Set the variables that the libraries and Triton read."""
    values = {
        "FLA_CACHE_RESULTS": "0",
        "TORCHINDUCTOR_USE_STATIC_CUDA_LAUNCHER": "0",
        "TORCHINDUCTOR_FX_GRAPH_CACHE": "0",
        "TORCHINDUCTOR_AUTOTUNE_LOCAL_CACHE": "0",
        "TORCHINDUCTOR_COMPILE_THREADS": "1",
        "TORCHINDUCTOR_MAX_AUTOTUNE_GEMM_BACKENDS": "TRITON",
        "TORCHINDUCTOR_CACHE_DIR": str(CACHE / "inductor"),
        "TRITON_CACHE_DIR": str(CACHE / "triton"),
        "TRITON_STORE_BINARY_ONLY": "0",
        "PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True",
    }
    os.environ.update(values)
    sys.path[:0] = [str(PROGRAMS)]


def worker(options: argparse.Namespace) -> None:
    """One process: compile, time or profile."""
    environment()
    deadline = time.time() + options.seconds
    chosen = None
    if options.mode == "profile":
        chosen = set(json.loads(Path(options.chosen).read_text()))
    watch = Watch(options.mode, chosen)
    watch.install()
    limit_autotuners(watch)
    claims = CACHE / "claims"
    claims.mkdir(parents=True, exist_ok=True)

    skipped = set(json.loads(Path(options.skip).read_text())) if options.skip else set()

    def claim(label: str, done: bool = False) -> bool:
        path = claims / label.replace("/", "__").replace(" ", "_").replace(",", "")
        if label in skipped:
            return False
        if options.mode != "compile":
            return done or (path.with_suffix(".done").exists() or options.all)
        if done:
            path.with_suffix(".done").touch()
            return True
        try:
            path.touch(exist_ok=False)
        except FileExistsError:
            return False
        return True

    only = options.only.split(",") if options.only else []
    outcome: dict[str, str] = {}
    try:
        run_all(watch, deadline, only, claim, outcome)
    except Exception:
        traceback.print_exc()
    result = {"rows": watch.rows, "outcome": outcome, "profiled": watch.profiled}
    Path(options.result).write_text(json.dumps(result))


def started(
    mode: str, result: Path, seconds: float, *more: str, under: tuple[str, ...] = ()
) -> Any:
    """Start a process of this script."""
    command = [
        *under, sys.executable, __file__, "worker", str(result), "--mode", mode,
        "--seconds", str(seconds), *more,
    ]  # fmt: skip
    log = result.with_suffix(".log").open("w")
    return subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)


def finish(processes: list[Any], until: float) -> None:
    """Wait for processes; end those that are late."""
    while any(each.poll() is None for each in processes) and time.time() < until:
        time.sleep(0.5)
    for each in processes:
        if each.poll() is None:
            os.killpg(each.pid, signal.SIGKILL)
            each.wait()


def time_all(options: argparse.Namespace) -> None:
    """Compile in many processes, then time in one."""
    folder, start = Path(options.folder), time.time()
    folder.mkdir(parents=True, exist_ok=True)
    CACHE.mkdir(parents=True, exist_ok=True)
    print(baseline(), flush=True)
    only = ("--only", options.only) if options.only else ()
    share = 0.6 * options.seconds
    processes = [
        started("compile", CACHE / f"compile-{i}.json", share, *only)
        for i in range(options.processes)
    ]
    finish(processes, start + share + 5)
    print(f"compiled after {time.time() - start:.0f} s", flush=True)
    for i in range(options.processes):
        print_outcome(CACHE / f"compile-{i}.json", quiet=True)
    rows = timed_rows(start + options.seconds - 45, only)
    (CACHE / "time.json").write_text(json.dumps({"rows": rows}))
    (folder / "launches.json.xz").write_bytes(
        lzma.compress(json.dumps({"baseline": baseline(), "rows": rows}).encode())
    )
    print(f"{len(rows)} launches after {time.time() - start:.0f} s", flush=True)
    pack(rows, folder)
    logs = b"".join(each.read_bytes()[-30000:] for each in sorted(CACHE.glob("*.log")))
    (folder / "logs.xz").write_bytes(lzma.compress(logs))


def timed_rows(until: float, only: tuple[str, ...]) -> list[dict[str, Any]]:
    """Time until a deadline; an operator that crashes is left out by the next process."""
    rows: dict[str, dict[str, Any]] = {}
    attempted: list[str] = []
    for trial in range(6):
        left = until - time.time()
        if left < 20:
            break
        result, skip = CACHE / f"time-{trial}.json", CACHE / "skip.json"
        skip.write_text(json.dumps(attempted))
        finish([started("time", result, left, *only, "--skip", str(skip))], until + 10)
        print_outcome(result, quiet=True)
        if not result.exists():
            break
        found = json.loads(result.read_text())
        rows.update({row["key"]: row for row in found["rows"]})
        attempted += [k for k, v in found["outcome"].items() if v not in ("out of time",)]
        if "crashed" not in found["outcome"].values():
            break
    return list(rows.values())


def print_outcome(result: Path, quiet: bool = False) -> None:
    """Print what failed."""
    if not result.exists():
        print(result.name, "has no result:", result.with_suffix(".log").read_text()[-600:])
        return
    outcome = json.loads(result.read_text())["outcome"]
    for name, word in outcome.items():
        if word != "ran" and not (quiet and word == "out of time"):
            print(f"  {name}: {word[:160]}")
    print(f"{result.name}: {sum(w == 'ran' for w in outcome.values())} of {len(outcome)} ran")


def pack(rows: list[dict[str, Any]], folder: Path) -> None:
    """Write the entries of launches to archives of at most ``PART_BYTES``."""
    entries = sorted({row["entry"] for row in rows})
    parts: list[list[str]] = [entries[i::3] for i in range(3)]
    script = (
        "import sys,lzma;sys.stdout.buffer.write(lzma.compress(sys.stdin.buffer.read(),preset=6))"
    )
    jobs = []
    for index, part in enumerate(parts):
        raw = io.BytesIO()
        with tarfile.open(fileobj=raw, mode="w") as archive:
            for entry in part:
                for path in sorted((CACHE / "triton" / entry).glob("*")):
                    if path.suffix in (".ttir", ".ttgir", ".cubin", ".ptx", ".json"):
                        archive.add(path, f"{entry}/{path.name}")
        target = folder / f"entries-{index}.tar.xz"
        tar = CACHE / f"entries-{index}.tar"
        tar.write_bytes(raw.getvalue())
        jobs.append(
            subprocess.Popen(
                [sys.executable, "-c", script], stdin=tar.open("rb"), stdout=target.open("wb")
            )
        )
    for index, job in enumerate(jobs):
        job.wait()
        target = folder / f"entries-{index}.tar.xz"
        print(f"{target.name}: {target.stat().st_size:,} bytes", flush=True)


def baseline() -> dict[str, Any]:
    """Return what an empty kernel and a copy take on this GPU."""
    code = """
import torch, triton, json, sys
sys.path.insert(0, sys.argv[1])
import triton.language as tl
from programs.empty_kernel import empty
from watched_launches import Watch
x = torch.empty(16, device="cuda")
empty[(1,)](x); torch.cuda.synchronize()
watch = Watch("time")
watch._timed(lambda: empty[(1,)](x))
bench = triton.testing.do_bench(lambda: empty[(1,)](x), return_mode="median")
big = torch.empty(1 << 28, device="cuda"); other = torch.empty_like(big)
copy = triton.testing.do_bench(lambda: other.copy_(big), return_mode="median")
print(json.dumps({"gpu": torch.cuda.get_device_name(), "torch": torch.__version__,
  "triton": triton.__version__, "empty": watch._timed(lambda: empty[(1,)](x)),
  "empty, do_bench": bench * 1e3, "empty of 4096 CTAs": watch._timed(lambda: empty[(4096,)](x)),
  "copy, TB/s": 2 * big.numel() * 4 / copy * 1e-9}))
"""
    done = subprocess.run(
        [sys.executable, "-c", code, str(PROGRAMS.parent)], capture_output=True, text=True
    )
    if done.returncode:
        print(done.stderr[-2000:])
        return {}
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def profile(options: argparse.Namespace) -> None:
    """Count the fastest configuration of each kernel and arguments with Nsight Compute."""
    start, folder = time.time(), Path(options.folder)
    folder.mkdir(parents=True, exist_ok=True)
    rows = json.loads((CACHE / "time.json").read_text())["rows"]
    best: dict[str, dict[str, Any]] = {}
    for row in rows:
        shapes = {
            name: {k: v for k, v in value.items() if k != "values"}
            if isinstance(value, dict)
            else value
            for name, value in row["args"].items()
            if name not in row["constants"]
        }
        problem = json.dumps([row["name"], shapes], sort_keys=True, default=str)
        if problem not in best or row["us"] < best[problem]["us"]:
            best[problem] = row
    # Launches of which a library has dozens are thinned out.
    keys = [row["key"] for row in best.values()]
    step = max(1.0, len(keys) / PROFILED)
    keys = [keys[int(i * step)] for i in range(int(len(keys) / step))]
    chosen = CACHE / "chosen.json"
    chosen.write_text(json.dumps(keys))
    report = CACHE / "profile"
    under = (
        "ncu", "--profile-from-start", "off", "--clock-control", "none", "--cache-control", "all",
        "--metrics", ",".join(METRICS),
        "-f", "-o", str(report),
    )  # fmt: skip
    result = CACHE / "profile.json"
    seconds = options.seconds - 45
    only = ("--only", options.only) if options.only else ()
    finish(
        [started("profile", result, seconds, "--chosen", str(chosen), *only, under=under)],
        start + seconds + 20,
    )
    print_outcome(result)
    if not result.exists():
        return
    done = subprocess.run(
        ["ncu", "--import", f"{report}.ncu-rep", "--csv", "--page", "raw", "--print-units", "base"],
        capture_output=True, text=True,
    )  # fmt: skip
    text = done.stdout[done.stdout.find('"ID"') :]
    table = list(csv.DictReader(io.StringIO(text)))[1:]
    profiled = json.loads(result.read_text())["profiled"]
    print(f"{len(profiled)} profiled of {len(keys)}, {len(table)} rows; {done.stderr[-300:]}")
    content = json.dumps({"keys": profiled, "rows": table}).encode()
    (folder / "ncu.json.xz").write_bytes(lzma.compress(content))
    (folder / "profile-log.xz").write_bytes(lzma.compress(result.with_suffix(".log").read_bytes()))


def main() -> int:
    """Do what the command line says."""
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("time", "profile"):
        command = commands.add_parser(name)
        command.add_argument("folder")
        command.add_argument("--seconds", type=float, default=560)
        command.add_argument("--only", default="")
        command.add_argument("--processes", type=int, default=14)
    inner = commands.add_parser("worker")
    inner.add_argument("result")
    inner.add_argument("--mode", required=True)
    inner.add_argument("--seconds", type=float, required=True)
    inner.add_argument("--only", default="")
    inner.add_argument("--chosen", default="")
    inner.add_argument("--skip", default="")
    inner.add_argument("--all", action="store_true")
    options = parser.parse_args()
    {"time": time_all, "profile": profile, "worker": worker}[options.command](options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
