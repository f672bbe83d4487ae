"""Try public kernel programs, unmodified, under ``irlens record`` on a machine without a GPU.

    python benchmarks/public_programs.py --clones FOLDER [LIBRARY...] [-t h100,mi300x]

FOLDER holds a clone of each library's repository, which irlens does not carry; without a clone the
script prints the command that makes it. Each program runs in a process of its own, in a temporary
directory with temporary caches. Prints a line for each program (kernels captured, kernels that its
source launches, seconds, and what stopped it), and a summary for each library.

A program *yields* its kernels if it runs to its end with at least one capture, or if every kernel
that its source launches is captured. A program that lacks a package or a compiled extension is
counted apart.
"""

import argparse
import ast
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec

HERE = Path(__file__).resolve().parent
#: In irlens's error about what Triton removed.
_OLDER_TRITON = re.compile(r"an older Triton accepts it: --triton ([\d.]+)")
#: Exceptions of programs that lack a package or one of their own compiled extensions.
_LACKS = re.compile(r"ModuleNotFoundError: No module named '([\w.]+)'")


class Library(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Programs of one repository; ``libraries.toml`` documents the fields.

    Attributes:
        name: Its name on the command line.
        repository: Its owner and name on github.com; empty for the folder of this script.
    """

    name: str
    repository: str = ""
    commit: str = ""
    programs: tuple[str, ...] = ()
    drivers: tuple[str, ...] = ()
    tests: bool = False
    path: tuple[str, ...] = (".",)
    extensions: tuple[str, ...] = ()
    target: str = ""


def libraries() -> tuple[Library, ...]:
    """Return the libraries of ``libraries.toml``."""
    table = tomllib.loads((HERE / "programs" / "libraries.toml").read_text())
    return tuple(msgspec.convert({"name": name, **row}, Library) for name, row in table.items())


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one program.

    Attributes:
        library: The library's name.
        program: The program's path in its repository.
        captured: Number of captures by kernel.
        launched: Kernels that the program's own source launches.
        stopped: What stopped it, in one line; empty if it ran to its end.
        lacks: The package that it lacks; empty if it lacks none.
        triton: The older version of Triton that it needs; empty for the installed one.
        passed: Tests that passed, if it is a file of tests.
        failed: Tests that failed.
        seconds: How long it took.
    """

    library: str
    program: str
    captured: dict[str, int]
    launched: list[str]
    stopped: str
    lacks: str
    triton: str
    passed: int
    failed: int
    seconds: float

    @property
    def missed(self) -> list[str]:
        """The kernels that the source launches and that were not captured."""
        return [name for name in self.launched if name not in self.captured]

    @property
    def verdict(self) -> str:
        """Whether it yields all, some or none of its kernels, or lacks a package."""
        if self.captured and (not self.stopped or (self.launched and not self.missed)):
            return "all"
        if self.lacks:
            return "lacks"
        return "some" if self.captured else "none"

    def line(self) -> str:
        """The program's line of output."""
        captures = sum(self.captured.values())
        found = f"{len(self.launched) - len(self.missed)}/{len(self.launched)}"
        tests = f"{self.failed} of {self.passed + self.failed} tests failed: "
        why = f"  {tests if self.failed else ''}{self.stopped}" if self.stopped else ""
        return (
            f"{self.verdict:5}  {self.seconds:5.0f} s  {len(self.captured):3} kernels "
            f"{captures:4} variants  source {found:>5}  {self.library}/{self.program}{why}"
        )


def main() -> None:
    """Try the libraries that the command line names, or all of them."""
    options = _options()
    chosen = [each for each in libraries() if not options.names or each.name in options.names]
    programs = []
    for library in chosen:
        root = _clone(library, options.clones)
        if root is None:
            continue
        files = [path for path in _programs(library, root) if re.search(options.only, str(path))]
        size = len(files) or 1 if options.together and library.tests else 1
        programs += [(library, root, files[at : at + size]) for at in range(0, len(files), size)]

    def run(program: tuple[Library, Path, list[Path]]) -> Outcome:
        outcome = _record(*program, options)
        print(outcome.line(), flush=True)
        return outcome

    with (
        tempfile.TemporaryDirectory(prefix="irlens-cache-") as options.cache,
        ThreadPoolExecutor(options.jobs) as pool,
    ):
        outcomes = list(pool.map(run, programs))
    if options.json:
        options.json.write_bytes(msgspec.json.format(msgspec.json.encode(outcomes)) + b"\n")
    print()
    for line in _summary(outcomes):
        print(line)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", help=", ".join(each.name for each in libraries()))
    parser.add_argument("--clones", type=Path, default=Path.cwd(), help="folder of the clones")
    parser.add_argument("-t", "--target", default="h100", help="GPUs to compile for")
    parser.add_argument("--jobs", type=int, default=2, help="programs at a time")
    parser.add_argument("--limit", type=float, default=300, help="seconds for each program")
    parser.add_argument(
        "--together", action="store_true", help="run all test files of a library in one process"
    )
    parser.add_argument("--only", default="", help="a regular expression for the programs' paths")
    parser.add_argument("--record", default="", help="further options of irlens record")
    parser.add_argument("--json", type=Path, help="write every outcome to this file")
    parser.add_argument("--logs", type=Path, help="keep each program's output in this folder")
    options = parser.parse_args()
    known = {each.name for each in libraries()}
    if unknown := [name for name in options.names if name not in known]:
        parser.error(f"unknown library {unknown[0]}: name one of {', '.join(sorted(known))}")
    return options


def _clone(library: Library, clones: Path) -> Path | None:
    """Return the library's folder, or print how to get it."""
    if not library.repository:
        return HERE
    folder = clones / library.repository.rpartition("/")[2]
    if folder.is_dir():
        return folder.resolve()
    print(
        f"{library.name}: no {folder}; get it with\n"
        f"  git clone https://github.com/{library.repository} {folder}"
        f" && git -C {folder} checkout {library.commit}"
    )
    return None


def _programs(library: Library, root: Path) -> Iterator[Path]:
    for folder, patterns in ((root, library.programs), (HERE / "programs", library.drivers)):
        yield from sorted({path for pattern in patterns for path in folder.glob(pattern)})


def _record(
    library: Library, root: Path, program: list[Path], options: argparse.Namespace
) -> Outcome:
    """Run one program, or several files of tests, under ``irlens record``.

    If the installed Triton no longer compiles its kernels, run it again with the version that
    irlens names.
    """
    name = str(program[0].relative_to(root if program[0].is_relative_to(root) else HERE))
    begin = time.monotonic()
    recorded = options.record.split()
    code, output, captured = _attempt(library, root, program, options, recorded)
    older = _OLDER_TRITON.search(output)
    if older is not None and code != 0:
        recorded += ["--triton", older[1]]
        code, output, captured = _attempt(library, root, program, options, recorded)
    if options.logs:
        log = options.logs / library.name / Path(name).with_suffix(".log").name
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text(output)
    lacks = _LACKS.findall(output)
    return Outcome(
        library=library.name,
        program=name if len(program) == 1 else f"{name} and {len(program) - 1} more",
        captured=captured,
        launched=sorted({kernel for path in program for kernel in launched_kernels(path)}),
        stopped=_reason(code, output, options.limit),
        lacks=lacks[-1] if lacks and code else "",
        triton=older[1] if older else "",
        passed=_tests("passed", output),
        failed=_tests("failed", output) + _tests("error", output),
        seconds=round(time.monotonic() - begin, 1),
    )


def _attempt(
    library: Library,
    root: Path,
    program: list[Path],
    options: argparse.Namespace,
    recorded: Sequence[str],
) -> tuple[int | None, str, dict[str, int]]:
    """Return a run's exit code and output, as ``_run``, and the number of captures by kernel."""
    with tempfile.TemporaryDirectory(prefix="irlens-programs-") as scratch:
        work = Path(scratch)
        captures = work / "captures"
        command = [sys.executable, "-m", "irlens", "record", "-t", library.target or options.target]
        command += ["-o", str(captures), *recorded]
        if library.tests:
            command += ["-m", "pytest", "-q", "--tb=short", "--continue-on-collection-errors"]
            command += ["-p", "public_programs", "-p", "no:cacheprovider"]
        command += map(str, program)
        environment = _environment(library, root, work) | {"IRLENS_CACHE_DIR": options.cache}
        where = root if library.tests else work
        code, output = _run(command, where, environment, options.limit)
        names = (entry.name.partition("-")[2] for entry in sorted(captures.glob("*-*")))
        return code, output, dict(Counter(names))


def _environment(library: Library, root: Path, work: Path) -> dict[str, str]:
    """Return the environment of a program: all that it may write is in a temporary directory."""
    extensions = work / "extensions"
    extensions.mkdir()
    for name in library.extensions:
        (extensions / f"{name}.py").touch()
    path = [str(root / each) for each in library.path] + [str(extensions)]
    irlens = str(HERE.parent)
    inherited = os.environ.get("PYTHONPATH")
    caches = {"XDG_CACHE_HOME": "cache", "HOME": "home"}
    return {
        **os.environ,
        **{name: str(work / folder) for name, folder in caches.items()},
        "PYTHONPATH": os.pathsep.join(filter(None, [*path, str(HERE), irlens, inherited])),
        "PYTHONDONTWRITEBYTECODE": "1",
        "HF_HUB_OFFLINE": "1",
        "MPLBACKEND": "agg",
    }


def _run(
    command: Sequence[str], where: Path, environment: dict[str, str], limit: float
) -> tuple[int | None, str]:
    """Run a command; return its exit code, ``None`` past the limit, and its output."""
    process = subprocess.Popen(
        command,
        cwd=where,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        process.terminate()  # irlens forwards it, and keeps what was compiled
        try:
            output, _ = process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output, _ = process.communicate()
        return None, output
    return process.returncode, output


_ERROR = re.compile(r"^(?:E +)?([\w.]*(?:Error|Exception|Exit|Interrupt)\b.*)$", re.MULTILINE)
_IRLENS_ERROR = re.compile(r"^(?:irlens: )?error: (.*)$", re.MULTILINE)


def _reason(code: int | None, output: str, limit: float) -> str:
    """Return what stopped a program, in one line; empty if it ran to its end."""
    if code is None:
        return f"took longer than {limit:.0f} s"
    if code == 0:
        return ""
    own: list[str] = _IRLENS_ERROR.findall(output)
    raised: list[str] = _ERROR.findall(output)
    if own and "exited with code" not in own[-1]:
        return own[-1][:300]
    return (raised or own or [output.strip()[-300:]])[-1][:300]


def _tests(outcome: str, output: str) -> int:
    """Return the number of tests with an outcome, from pytest's last line."""
    found = re.findall(rf"^(?:=+ )?(?:.*, )?(\d+) {outcome}s?\b.* in [\d.]+s", output, re.MULTILINE)
    return int(found[-1]) if found else 0


def launched_kernels(path: Path) -> set[str]:
    """Return the names of the kernels that a Python file defines and launches.

    A kernel is a function with a decorator that ends in ``jit``; a launch is ``name[grid](...)``,
    or ``name.warmup(...)`` or ``name.run(...)``.
    """
    try:
        tree = ast.parse(path.read_bytes())
    except SyntaxError:
        return set()
    defined = {
        node.name
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and any(map(_is_jit, node.decorator_list))
    }
    return defined & set(_launches(tree))


def _is_jit(decorator: ast.expr) -> bool:
    function = decorator.func if isinstance(decorator, ast.Call) else decorator
    text = ast.unparse(function)
    return text in {"jit", "triton.jit", "gluon.jit"}


def _launches(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Subscript):
            yield ast.unparse(node.func.value)


def _summary(outcomes: Iterable[Outcome]) -> Iterator[str]:
    """Yield the summary of each library, and of all."""
    groups: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        groups.setdefault(outcome.library, []).append(outcome)
    if len(groups) > 1:
        groups["all"] = [each for group in groups.values() for each in group]
    for name, group in groups.items():
        verdicts = [each.verdict for each in group]
        able = len(group) - verdicts.count("lacks")
        share = f"{100 * verdicts.count('all') / able:.1f} %" if able else "-"
        launched = sum(len(each.launched) for each in group)
        missed = sum(len(each.missed) for each in group)
        kernels = len({kernel for each in group for kernel in each.captured})
        yield (
            f"{name}: {verdicts.count('all')} of {able} programs yield their kernels ({share}), "
            f"{verdicts.count('some')} some, {verdicts.count('none')} none, "
            f"{verdicts.count('lacks')} lack a package; {kernels} kernels captured; "
            f"{launched - missed} of {launched} launched in the programs' own source"
        )


def pytest_collection_modifyitems(config: object, items: list) -> None:  # type: ignore[type-arg]
    """Keep the first parameters of each test, when pytest loads this file as a plugin."""
    kept: dict[str, object] = {}
    for item in items:
        kept.setdefault(item.nodeid.partition("[")[0], item)
    items[:] = kept.values()


if __name__ == "__main__":
    main()
