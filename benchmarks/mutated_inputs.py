"""Damage artifacts in every way and check that irlens answers, or says in one line why not.

    python benchmarks/mutated_inputs.py [-n 5000] [--seed 0] [--jobs 2] [--keep DIR] [FOLDER ...]

Mutates the captures of ``samples/`` and of every FOLDER (a Triton cache, such as one from a GPU):
flipped bits, cut and repeated parts, swollen numbers, swapped tokens, NULs, control characters,
broken encodings, damaged JSON and ELF headers, stages of other captures. Each mutated capture is
read in its own process, through the library (reports, comparisons, annotated stages, every format),
the command line or the agents' tools, and so are damaged results, traces and other inputs
(``other_inputs.py``).
Reported are tracebacks, more than 10 s of CPU time, more than 1 GB of memory, errors that are
not one line with hints, and figures that the files of the damaged capture contradict
(``stated_figures.py``). ``--keep`` saves the inputs that failed. The status is 1 if any did.
"""

import argparse
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

import mutations  # type: ignore[import-not-found]
import other_inputs  # type: ignore[import-not-found]
import stated_figures  # type: ignore[import-not-found]

from irlens.model.report import Report

_ALL_SAMPLES = Path(__file__).parents[1] / "samples"
SAMPLES = _ALL_SAMPLES / "captures"
SECONDS = 10
MEMORY = 1 << 30
_SPLICED = 0.25  # of all inputs


def find_captures(folders: list[Path]) -> list[Path]:
    """Return the directories below that hold artifacts, smallest first."""
    found = {path.parent for folder in folders for path in folder.rglob("*.ttgir")}
    return sorted(found, key=lambda path: (sum(p.stat().st_size for p in path.iterdir()), path))


def splice(path: Path, captures: list[Path], rng: random.Random) -> str:
    """Put the same stage of another capture in a file's place, or a part of it in its middle."""
    suffix = path.suffix
    donors = [each for one in captures for each in sorted(one.glob(f"*{suffix}"))]
    donor = rng.choice(donors)
    other, data = donor.read_bytes(), path.read_bytes()
    if rng.random() < 0.5 and data and other:
        at, begin = rng.randrange(len(data)), rng.randrange(len(other))
        part = other[begin : begin + rng.choice((100, 2000, len(other)))]
        other = data[:at] + part + data[at + rng.choice((0, len(part))) :]
    path.write_bytes(other[: mutations.SIZE])
    return f"splice {path.name} with {donor.parent.name}"


def mutate(source: Path, destination: Path, rng: random.Random, captures: list[Path]) -> str:
    """Copy a capture, damage one or two of its files, and return how."""
    shutil.copytree(source, destination)
    files = sorted(path for path in destination.iterdir() if path.is_file())
    done = []
    if rng.random() < _SPLICED:
        return splice(rng.choice(files), captures, rng)
    for path in rng.sample(files, rng.choice((1, 1, 1, 2))):
        data = path.read_bytes()
        for _ in range(rng.choice((1, 1, 2))):
            how = rng.choice(
                mutations.BINARY if path.suffix in (".cubin", ".hsaco") else mutations.TEXT
            )
            data = (how(data, rng) if data else data)[: mutations.SIZE]
            done.append(f"{how.__name__} {path.name}")
        path.write_bytes(data)
    return ", ".join(done)


def use_library(path: Path, original: Path, rng: random.Random) -> None:
    """Read a capture with the library and write it in every format.

    Raises:
        Exception: Anything but ``IrlensError`` is a bug.
    """
    from irlens import load as load_capture
    from irlens.analyze.capture_code import CaptureCode
    from irlens.artifacts.entries import Broken
    from irlens.artifacts.load import load
    from irlens.diff.code.captures import compare_sets
    from irlens.diff.report.comparisons import match
    from irlens.model.capture import Disassembly
    from irlens.model.errors import IrlensError
    from irlens.render import Options, format_names, render
    from irlens.report import inspect
    from irlens.report.annotations import list_capture

    try:
        found = list(load(path))
    except IrlensError as error:
        _one_line(error.message, "IrlensError")
        return
    for capture in found:
        if isinstance(capture, Broken):
            _one_line(capture.reason, "Broken")
            continue
        try:
            report = inspect(capture, Disassembly(rng.random() < 0.1))
            (other,) = load_capture(original)
            comparisons = match([inspect(other)], [report])
            listing = list_capture(CaptureCode(capture), report)
        except IrlensError as error:
            _one_line(error.message, "IrlensError")
            continue
        options = Options(listings=(listing,), details=frozenset(("pressure", "memory")))
        for name in rng.sample(format_names(), 1):
            try:
                _check_output(render(name, "reports", [report], options), name)
            except IrlensError as error:  # an SVG without anything to draw
                _one_line(error.message, "IrlensError")
        for name in rng.sample(format_names("comparisons"), 1):
            _check_output(render(name, "comparisons", comparisons), name)
        try:
            stages = [name for name in CaptureCode(capture).stages if name != "sass"]
            code = compare_sets([other], [capture], rng.sample(stages, min(1, len(stages))))
            _check_output(render(rng.choice(format_names("code")), "code", code), "code")
        except IrlensError as error:
            _one_line(error.message, "IrlensError")


def ask_library(path: Path, rng: random.Random) -> None:
    """Ask of a capture what a report does not say: layouts, programs, where its sizes break, why.

    Raises:
        Exception: Anything but ``IrlensError`` is a bug.
    """
    from irlens.analyze import counterfactuals, layout_drawing
    from irlens.analyze.breaking_launches import broken
    from irlens.analyze.capture_code import CaptureCode
    from irlens.analyze.program_accesses import program_accesses
    from irlens.analyze.traffic.values import UnknownTrafficError
    from irlens.artifacts.entries import Broken
    from irlens.artifacts.load import load
    from irlens.model.errors import IrlensError
    from irlens.render import Options, format_names, render
    from irlens.report import inspect
    from irlens.session.variants import variants_of_captures

    try:
        captures = [each for each in load(path) if not isinstance(each, Broken)]
        for capture in captures:
            code, manifest = CaptureCode(capture), capture.manifest
            if code.ttgir is not None:
                named = re.findall(r"%[\w$.-]+", capture.stages["ttgir"].text()[:1_000_000])
                for value in rng.sample(named, min(4, len(named))):
                    with suppress(IrlensError):
                        drawing = layout_drawing.draw_layout(
                            code.ttgir.module, value, capture.kernel
                        )
                        name = rng.choice(format_names("layout"))
                        _check_output(render(name, "layout", drawing, Options()), name)
            if code.ttir is not None and manifest is not None and manifest.grid is not None:
                grid = (*manifest.grid, 1, 1)[:3]
                with suppress(UnknownTrafficError):
                    broken(code.ttir.named, manifest.args, grid)
                program_accesses(code.ttir.named, manifest.args, grid, (0, 0, 0))
            if code.ttir is not None:
                findings, module = inspect(capture).findings, code.ttir.named
                for each in findings:
                    symptom = counterfactuals.Symptom(
                        finding=each, module=module, config=capture.config, others=findings
                    )
                    counterfactuals.changes_for(symptom)
        if captures:
            variants = variants_of_captures(captures)
            name = rng.choice(format_names("variants"))
            _check_output(render(name, "variants", variants, Options()), name)
    except IrlensError as error:
        _one_line(error.message, "IrlensError")


def _one_line(message: str, what: str) -> None:
    if "\n" in message or len(message) > 1000:
        raise AssertionError(f"{what} of more than a line: {message[:300]!r}")


def _check_output(text: str, name: str) -> None:
    control = re.search(
        r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069]", text
    )
    if control:
        raise AssertionError(f"{name} holds {control[0]!r} after {text[: control.start()][-80:]!r}")
    if name == "html" and "<script>](" in text:
        raise AssertionError("html holds unescaped markup")


def use_command_line(path: Path, original: Path, rng: random.Random) -> None:
    """Run a command on a capture in this process."""
    stages = ("ttir", "ttgir", "llir", "ptx", "amdgcn", "metadata")
    commands = (
        ["inspect", path, "--format", rng.choice(("text", "markdown", "json", "csv", "html"))],
        ["inspect", path, "--all"],
        ["inspect", path, "--stage", rng.choice(stages), *rng.choice(([], ["--annotate"]))],
        ["inspect", path, "--stage", rng.choice(stages), "--interleave"],
        ["inspect", path, "--line", str(rng.randrange(1, 80))],
        ["diff", original, path, "--format", rng.choice(("text", "markdown", "json", "html"))],
        ["diff", path, original, "--stage", rng.choice(stages)],
        ["diff", path, original, "--passes"],
        ["scan", path, "--format", rng.choice(("text", "csv", "html", "jsonl")), "--jobs", "1"],
        ["variants", original, path, "--format", rng.choice(("text", "json", "html"))],
    )  # fmt: skip
    run_command(map(str, rng.choice(commands)))


def run_command(arguments: Iterable[str]) -> None:
    """Run a command line in this process.

    Raises:
        AssertionError: Its status or what it wrote is not as it should be.
    """
    import io

    from irlens import cli

    sys.argv = ["irlens", *arguments]
    out, err = io.TextIOWrapper(io.BytesIO()), io.StringIO()
    sys.stdout, sys.stderr = out, err
    try:
        cli.main()
    except SystemExit as stop:
        status = stop.code
    finally:
        sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__
    out.flush()
    written = out.buffer.getvalue().decode("utf-8", "replace")
    check_process(status, written, err.getvalue(), sys.argv)


def check_process(status: object, out: str, err: str, command: list[str]) -> None:
    """Raise ``AssertionError`` unless a command ended as it should."""
    what = f"{' '.join(command)} (status {status})\n{err[-3000:]}"
    if status not in (0, 1, 2) or "Traceback" in err:
        raise AssertionError(what)
    lines = err.splitlines()
    errors = sum(line.startswith(("irlens: error:", "Error:")) for line in lines)
    is_skipped = any(line.startswith("irlens: skipped ") for line in lines)
    if status == 2 and errors != 1 and (errors or not is_skipped):
        raise AssertionError(f"not one error: {what}")
    if len(lines) > 14 or any(len(line) > 1200 for line in lines):
        raise AssertionError(f"too much: {what}")
    if not all(line.startswith(("irlens:", "  ", "Error:", "Usage:", "Try")) for line in lines):
        raise AssertionError(f"stray lines: {what}")
    _check_output(out.replace("\r\n", "\n"), "stdout")
    _check_output(err, "stderr")


def use_subprocess(path: Path, original: Path, rng: random.Random) -> None:
    """Run a command on a capture as a shell would."""
    command = [sys.executable, "-m", "irlens", "diff", str(original), str(path)]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace")
    check_process(done.returncode, done.stdout, done.stderr, command)


def use_other(path: Path, rng: random.Random) -> None:
    """Damage an input that is no capture, and read it in one of the ways that there are."""
    folder = path.parent / "other"
    folder.mkdir()
    commands = rng.choice(other_inputs.MAKERS)(folder, rng)
    if commands:
        run_command(rng.choice(commands))


@cache
def undamaged_report(path: Path) -> Report:
    """Return the report of a capture as it was compiled."""
    from irlens import inspect, load

    (capture,) = load(path)
    return inspect(capture)


def check_figures(path: Path, original: Path) -> None:
    """Compare the report of a damaged capture with what its files state.

    Raises:
        AssertionError: A figure is wrong.
    """
    from irlens import load
    from irlens.model.errors import IrlensError

    report = undamaged_report(original)
    try:
        wrong = [
            each
            for capture in load(path)
            for each in stated_figures.find_wrong(capture, path, report, original)
        ]
    except IrlensError as error:
        _one_line(error.message, "IrlensError")
        return
    if wrong:
        raise AssertionError("wrong figures: " + "; ".join(wrong))


def read_mutated(path: Path, original: Path, rng: random.Random) -> None:
    """Read a mutated capture, or one of its artifacts, in the ways that a person could."""
    if rng.random() < 0.3:
        use_other(path, rng)
        return
    check_figures(path, original)
    if rng.random() < 0.25:
        path = rng.choice(sorted(file for file in path.iterdir() if file.is_file()))
    if rng.random() < 0.1:
        other_inputs.ask_agents_tools(path, rng)
    elif rng.random() < 0.2:
        ask_library(path, rng)
    elif rng.random() < 0.5:
        use_library(path, original, rng)
    else:
        use_command_line(path, original, rng)
    if rng.random() < 0.005:
        use_subprocess(path, original, rng)


class Outcome:
    """The failures of a run, and its extremes."""

    def __init__(self) -> None:
        self.failures: list[tuple[int, str, str]] = []
        self.kinds: Counter[str] = Counter()
        self.seconds = 0.0
        self.slowest = ""
        self.memory = 0
        self.done = 0

    def note(self, number: int, how: str, seconds: float) -> None:
        """Remember which input took the most CPU time."""
        if seconds > self.seconds:
            self.seconds, self.slowest = seconds, f"{number}, {how}"


def run_one(number: int, seed: int, captures: list[Path], folder: Path) -> tuple[int, Path, str]:
    """Start a process for one input; return its id, its folder and what was done."""
    rng = random.Random(f"{seed} {number}")
    source = captures[min(rng.randrange(len(captures)), rng.randrange(len(captures)))]
    place = folder / str(number)
    place.mkdir()
    how = f"{source.name}: {mutate(source, place / 'capture', rng, captures)}"
    process = os.fork()
    if process:
        return process, place, how
    status = 0
    try:
        os.environ["IRLENS_CACHE_DIR"] = str(place / "cache")
        resource.setrlimit(resource.RLIMIT_AS, (4 * MEMORY, 4 * MEMORY))
        resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
        read_mutated(place / "capture", source, rng)
    except BaseException:
        (place / "failure").write_text(traceback.format_exc(), errors="replace")
        status = 1
    os._exit(status)


def run(
    count: int, seed: int, jobs: int, captures: list[Path], keep: Path | None, until: float
) -> Outcome:
    """Read this many mutated captures, or as many as time allows, and collect what went wrong."""
    outcome = Outcome()
    running: dict[int, tuple[int, Path, str]] = {}
    base = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    with tempfile.TemporaryDirectory(prefix="irlens-mutated-") as folder:
        numbers = iter(range(count))
        while True:
            for number in numbers if len(running) < jobs and time.monotonic() < until else ():
                process, place, how = run_one(number, seed, captures, Path(folder))
                running[process] = (number, place, how)
                if len(running) == jobs:
                    break
            if not running:
                return outcome
            process, status, usage = os.wait3(0)
            number, place, how = running.pop(process)
            outcome.done += 1
            outcome.note(number, how, usage.ru_utime + usage.ru_stime)
            for problem in _problems(place, status, usage, base, outcome):
                outcome.failures.append((number, how, problem))
                print(f"input {number} ({how}): {problem}", flush=True)
                if keep is not None:
                    shutil.copytree(place, keep / str(number), dirs_exist_ok=True)
            shutil.rmtree(place, ignore_errors=True)


def _problems(
    place: Path, status: int, usage: resource.struct_rusage, base: int, outcome: Outcome
) -> Iterator[str]:
    seconds, memory = usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024 - base
    outcome.memory = max(outcome.memory, memory)
    if (place / "failure").exists():
        outcome.kinds["failure"] += 1
        yield (place / "failure").read_text()
    elif status:
        outcome.kinds["killed"] += 1
        yield f"killed by {signal.Signals(status & 0x7F).name}"
    if seconds > SECONDS:
        outcome.kinds["slow"] += 1
        yield f"took {seconds:.1f} s of CPU time"
    if memory > MEMORY:
        outcome.kinds["large"] += 1
        yield f"took {memory / 1e9:.1f} GB"


def warm_up(capture: Path) -> None:
    """Import everything that reading a capture imports, once for all processes."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["IRLENS_CACHE_DIR"] = folder
        for seed in range(4):
            use_library(capture, capture, random.Random(seed))
            ask_library(capture, random.Random(seed))
            use_command_line(capture, capture, random.Random(seed))


def main() -> int:
    """Print the failures, the extremes and a summary; return 1 if anything failed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("-n", type=int, default=5000, help="inputs")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="start none later")
    parser.add_argument("--keep", type=Path)
    parser.add_argument("folders", nargs="*", type=Path)
    options = parser.parse_args()
    captures = find_captures([SAMPLES, *options.folders])
    warm_up(captures[0])
    for capture in captures:
        undamaged_report(capture)
    begun = time.monotonic()
    until = begun + options.seconds
    outcome = run(options.n, options.seed, options.jobs, captures, options.keep, until)
    print(
        f"{outcome.done:,} inputs of {len(captures)} captures in {time.monotonic() - begun:.0f} s: "
        f"{len(outcome.failures)} failures {dict(outcome.kinds)}; "
        f"at most {outcome.seconds:.1f} s and {outcome.memory / 1e6:.0f} MB"
    )
    print(f"the slowest was input {outcome.slowest}")
    return 1 if outcome.failures else 0


if __name__ == "__main__":
    sys.exit(main())
