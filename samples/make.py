"""Renew the samples: captures, their reports, the JSON Schemas. ``docs/outputs.py`` renews pages.

    python samples/make.py            # everything that is made from the captures here
    python samples/make.py --capture  # compile the captures again, too

Run it after a change that is meant to change reports, and read the difference before committing
it: the tests hold all of it against what irlens writes. The compiler writes the paths of the
kernels and of Triton into its artifacts: compile where these say nothing about you.
"""

import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import chdir, suppress
from pathlib import Path
from typing import get_args

import click
import msgspec
from msgspec.structs import replace

import irlens
from irlens import gpus as arch
from irlens.checks import check, project
from irlens.checks.baseline import BASELINE_SCHEMA, Baseline, Recipe, entry, sort, written
from irlens.checks.baseline import NAME as BASELINE_NAME
from irlens.checks.pairing import RecipeResult
from irlens.checks.project import Requirements
from irlens.cli import Exit
from irlens.compiler import Request, capture_entries
from irlens.diff.code.captures import compare_sets as compare_code_sets
from irlens.diff.report.comparisons import against_first, match
from irlens.model.capture import Capture
from irlens.model.check import Check
from irlens.model.code import CodeComparisons
from irlens.model.comparison import Comparisons
from irlens.model.config import ConstexprValue
from irlens.model.ledger import Ledgers
from irlens.model.ranking import with_standings
from irlens.model.report import Report
from irlens.model.scan import Scan
from irlens.model.sweep import Sweep
from irlens.render import DETAILS, Kind, Options, extension, format_names, is_streamed, render
from irlens.render.json import schema
from irlens.render.svg import NothingToDrawError
from irlens.report import inspect
from irlens.rules import find_rule
from irlens.session import scan
from irlens.session.scan.columns import SUMMED_UP, find_column

SAMPLES = Path(__file__).resolve().parent
TILE: dict[str, ConstexprValue] = {
    "BLOCK_SIZE_M": 64, "BLOCK_SIZE_N": 64, "BLOCK_SIZE_K": 32, "GROUP_SIZE_M": 8, "num_warps": 4,
}  # fmt: skip
#: In Gluon: its own warps multiply, and those of a partition load.
SPECIALIZED = f"{SAMPLES.parent / 'tests' / 'data' / 'gluon' / 'specialized.py'}:matmul"

#: Name, kernel, target and settings of each capture.
CAPTURES: tuple[tuple[str, str, str, dict[str, ConstexprValue]], ...] = (
    ("softmax-h100", "softmax", "h100", {"num_stages": 4}),
    ("softmax-t4", "softmax", "t4", {"num_stages": 4}),
    ("softmax-mi300x", "softmax", "mi300x", {"num_stages": 4}),
    ("matmul-a100", "matmul", "a100", {**TILE, "num_stages": 3}),
    ("matmul-b200", "matmul", "b200", {**TILE, "num_stages": 3}),
    ("matmul_tma-h100", "matmul_tma", "h100", {**TILE, "num_stages": 3}),
    ("spill-h100", "spill", "h100", {}),
    ("layer_norm-b200-3.6", "layer_norm", "b200", {}),
    ("layer_norm-b200-3.7", "layer_norm", "b200", {}),
    ("specialized-h100-4", SPECIALIZED, "h100", {"num_warps": 4}),
    ("specialized-h100-8", SPECIALIZED, "h100", {"num_warps": 8, "loader_registers": 40}),
)

#: The Triton of those that are about a version; the others are made with what is installed.
TRITONS = {"layer_norm-b200-3.6": "3.6.0", "layer_norm-b200-3.7": "3.7.1"}

#: Name and captures of each comparison: two, or several against the first.
COMPARISONS: dict[str, tuple[str, ...]] = {
    "softmax-t4-h100": ("softmax-t4", "softmax-h100"),
    "softmax-h100-mi300x": ("softmax-h100", "softmax-mi300x"),
    "matmul-a100-b200": ("matmul-a100", "matmul-b200"),
    "layer_norm-3.6-3.7": ("layer_norm-b200-3.6", "layer_norm-b200-3.7"),
    "specialized-4-8": ("specialized-h100-4", "specialized-h100-8"),
    "softmax-three": ("softmax-h100", "softmax-t4", "softmax-mi300x"),
}

#: Captures that the checks are about, and how they are made.
CHECKED: dict[str, Recipe] = {
    "layer_norm-b200-3.6": Recipe(kernel="layer_norm", target="b200"),
    "softmax-h100": Recipe(kernel="softmax", target="h100", settings={"num_stages": "4"}),
    "softmax-mi300x": Recipe(kernel="softmax", target="mi300x", settings={"num_stages": "4"}),
    "spill-h100": Recipe(kernel="spill", target="h100"),
}

#: Name and command line of each sweep. It takes minutes, so its JSON is kept like a capture.
SWEEPS = {
    "matmul": "sweep matmul --target t4,h100 --num-stages 2..4 --num-warps 4,8"
    " --set BLOCK_SIZE_M=64,128 --set BLOCK_SIZE_N=128 --set BLOCK_SIZE_K=32,48,64"
    " --set GROUP_SIZE_M=8"
    " --where 'BLOCK_SIZE_M * BLOCK_SIZE_K <= 4096 or num_warps == 8' --format json",
}

#: Sweeps that ``benchmarks/sizes.py`` timed on an H200 with Triton 3.6.0, but for their estimates:
#: those belong to the model of that day. ``docs/measured.py`` writes a page about them.
MEASURED = (
    "attention-h200", "attention_causal-h200", "matmul-h200", "softmax-h200", "vector_add-h200",
)  # fmt: skip

#: Name and command line of each ledger, whose JSON is kept for the same reason.
LEDGERS = {
    "softmax_naive": "traffic softmax_naive:row_max_kernel --reference softmax_reference -f json",
    "rms_norm": "traffic rms_norm -f json",
    "norm": "traffic samples/ledgers/norm.py -f json",
    "matmul_bias_relu": "traffic matmul_bias_relu -f json",
}

#: What the command line gives every format: what findings mean.
EXPLAINED = Options(explain=find_rule)
#: Schemas that are not called after their kind: one report's is not that of an array of them.
_SCHEMAS: dict[str, str] = {"reports": "report"}

#: Name, captures and stages of each comparison of code.
CODES: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "softmax-t4-h100": ("softmax-t4", "softmax-h100", ("ttgir", "metadata")),
    "matmul-a100-b200": ("matmul-a100", "matmul-b200", ("ttir", "ttgir")),
    "layer_norm-b200-3.6-3.7": ("layer_norm-b200-3.6", "layer_norm-b200-3.7", ("llir", "ptx")),
}


def captures() -> dict[str, Capture]:
    """Return the captures in this folder by name."""
    folders = sorted(path for path in (SAMPLES / "captures").iterdir() if path.is_dir())
    return {folder.name: next(iter(irlens.load(folder))) for folder in folders}


def reports() -> dict[str, Report]:
    """Return the reports of the captures in this folder by name."""
    return {name: inspect(capture) for name, capture in captures().items()}


def comparisons() -> dict[str, Comparisons]:
    """Return the comparisons of the captures in this folder by name."""
    found = reports()
    several = {
        name: against_first([found[side] for side in sides]) for name, sides in COMPARISONS.items()
    }
    newer = [found["softmax-h100"], found["matmul-b200"]]
    return {**several, "folders": match(list(found.values()), newer)}


def baseline() -> Baseline:
    """Return the baseline of the folder ``checks``: what its kernels were with Triton 3.6."""
    found = reports()
    return Baseline(
        schema=BASELINE_SCHEMA,
        entries=sort(entry(found[name], recipe) for name, recipe in CHECKED.items()),
    )


def checks() -> dict[str, Check]:
    """Return what checks of that folder find: with the same Triton, and with a later one."""
    found, asked = reports(), project.find(SAMPLES / "checks")
    rules = Requirements(
        baseline=baseline(), baseline_file=asked.baseline.name, budgets=asked.budgets
    )
    newer = {"layer_norm-b200-3.6": "layer_norm-b200-3.7"}
    sides = {"passed": CHECKED, "failed": {newer.get(n, n): r for n, r in CHECKED.items()}}
    return {
        name: check([RecipeResult(recipe=r, reports=(found[n],)) for n, r in side.items()], rules)[
            0
        ]
        for name, side in sides.items()
    }


def sweeps() -> dict[str, Sweep]:
    """Return the sweeps in this folder by name."""
    names = (*SWEEPS, *MEASURED)
    kept = {name: (SAMPLES / "sweeps" / f"{name}.json").read_bytes() for name in names}
    swept = {name: msgspec.json.decode(content, type=Sweep) for name, content in kept.items()}
    return {
        name: replace(sweep, trials=with_standings(sweep.trials)) for name, sweep in swept.items()
    }


def ledgers() -> dict[str, Ledgers]:
    """Return the ledgers in this folder by name."""
    kept = {name: (SAMPLES / "ledgers" / f"{name}.json").read_bytes() for name in LEDGERS}
    return {name: msgspec.json.decode(content, type=Ledgers) for name, content in kept.items()}


def scans() -> dict[str, Scan]:
    """Return scans of the captures in this folder by name."""
    columns = tuple(map(find_column, SUMMED_UP))
    with chdir(SAMPLES):
        request = scan.Request(roots=(Path("captures"),), columns=columns, sums_up=True)
        return {"captures": scan.Scanner(request, lambda _: None).document(())}


def codes() -> dict[str, CodeComparisons]:
    """Return what moved in stages of the captures in this folder by name."""
    found = captures()
    return {
        name: compare_code_sets([found[before]], [found[after]], stages)
        for name, (before, after, stages) in CODES.items()
    }


def generated() -> Iterator[tuple[str, str]]:
    """Yield every file that is made from the captures here: its path in this folder, its text."""
    for kind in get_args(Kind):
        yield f"{_SCHEMAS.get(kind, kind)}.schema.json", schema(kind)
    for name, report in reports().items():
        for form in format_names("reports"):
            text = render(form, "reports", [report], EXPLAINED)
            yield f"reports/{name}.{extension(form)}", text
        everything = Options(details=frozenset(DETAILS))
        text = render("text", "reports", [report], everything)
        yield f"reports/{name}.all.txt", text
    yield f"checks/{BASELINE_NAME}", written(baseline()).decode()
    for name, checked in checks().items():
        for form in format_names("check"):
            text = render(form, "check", checked, EXPLAINED)
            yield f"checks/{name}.{extension(form)}", text
    for name, code in codes().items():
        for form in format_names("code"):
            text = render(form, "code", code, Options())
            yield f"code/{name}.{extension(form)}", text
    tables: tuple[tuple[Kind, str, Mapping[str, object]], ...] = (
        ("comparisons", "comparisons", comparisons()),
        ("sweep", "sweeps", sweeps()),
        ("scan", "scans", scans()),
        ("ledgers", "ledgers", ledgers()),
    )
    for kind, folder, subjects in tables:
        for form in (form for form in format_names(kind) if not is_streamed(form, kind)):
            for name, subject in subjects.items():
                with suppress(NothingToDrawError):
                    text = render(form, kind, subject, EXPLAINED)
                    yield f"{folder}/{name}.{extension(form)}", text


def _compile() -> None:
    for name, kernel, target, settings in CAPTURES:
        gpu = arch.find(target)
        request = Request(
            kernel=kernel,
            target=gpu.target,
            sm_count=gpu.sm_count,
            settings=settings,
            triton=TRITONS.get(name),
        )
        (entry,) = capture_entries(request)
        folder = SAMPLES / "captures" / name
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(entry, folder)
    for name, command in SWEEPS.items():
        (SAMPLES / "sweeps" / f"{name}.json").write_text(_printed(command))
    for name, command in LEDGERS.items():
        (SAMPLES / "ledgers" / f"{name}.json").write_text(_printed(command))


def _printed(arguments: str) -> str:
    command = [sys.executable, "-m", "irlens", *shlex.split(arguments)]
    ran = subprocess.run(command, check=False, stdout=subprocess.PIPE, text=True)
    if ran.returncode not in (Exit.OK, Exit.DIFFERENCE):
        raise SystemExit(f"irlens {arguments} failed")
    return ran.stdout


@click.command(help=__doc__)
@click.option("--capture", "compiles", is_flag=True, help="Compile the captures again, too.")
def main(compiles: bool) -> None:
    """Write everything."""
    if compiles:
        _compile()
    for path, text in generated():
        (SAMPLES / path).parent.mkdir(exist_ok=True)
        (SAMPLES / path).write_text(text)


if __name__ == "__main__":
    main()
