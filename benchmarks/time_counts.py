"""Write what the launches that an H200 timed ask of each unit, for ``time_model.py``.

    python benchmarks/time_counts.py [FOLDER | FILE]

Reads the artifacts, arguments and times of ``tests/data/h200/launches.*`` and writes ``time.json``
there. Then compiles each configuration of ``spaces.json``, ``kinds.json`` and ``patterns.json``
again, with Triton 3.6.0 as when it was timed, and writes these files. With a FOLDER that
``tuning_spaces.py measure`` has written, the configurations and times of ``spaces.json`` are those
of its sweeps; with a FILE of ``memory_patterns.py measure`` it writes ``patterns.json`` alone. To
be run again when what irlens counts of a launch changes; takes ten minutes.
"""

import json
import lzma
import os
import sys
import tarfile
import tempfile
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from time_model import LAUNCHES, OTHERS, PATTERNS, SPACES  # type: ignore[import-not-found]  # beside this script

import irlens
from irlens.analyze.time.fitting import TimedLaunch, counted, timed
from irlens.model.sweep import Sweep
from irlens.report.inspection import Inspection
from irlens.session.launch import Launch, with_launch

ROOT = Path(__file__).parents[1]
#: Sizes that tell the problems of a kind apart.
SIZES = ("D", "K", "M", "N", "REPEAT", "causal", "cols", "dtype", "stride")
#: The Triton that compiled what was timed.
TRITON = "3.6.0"
#: The kinds of samples that are of a kind with one of the launches.
KINDS = {
    "column_sum": "col_sum",
    "exp_sin": "exp_chain",
    "flash_attention": "attention",
    "matmul_bias_relu": "matmul",
    "matmul_batched": "matmul",
    "matmul_persistent": "matmul",
    "rms_norm": "rms_loop",
    "softmax_rows": "softmax_row",
}


class Timed(msgspec.Struct, frozen=True):
    """A configuration that was timed; the attributes are those of ``TimedLaunch``."""

    kind: str
    problem: str
    config: dict[str, Any]
    us: float

    @property
    def spec(self) -> str:
        """The kernel: a file of ``kernels/``, or of the folder of the data."""
        folder = ROOT if self.problem.startswith("kernels/") else LAUNCHES.parent
        return str(folder / self.problem.split()[0])

    @property
    def given(self) -> dict[str, Any]:
        """What it is compiled with: constexprs that are words belong to the problem."""
        words = dict(each.split("=") for each in self.problem.split()[1:])
        args = {name: int(each) for name, each in words.items() if each.isdigit()}
        return {"args": args, **self.config} | {n: e for n, e in words.items() if n not in args}


def launched(launch: dict[str, Any], folder: Path) -> TimedLaunch:
    """Return a row of ``launches.json.xz`` with its counts."""
    (capture,) = irlens.load(folder / launch["entry"])
    args = {
        name: f"{value['dtype']}{value['shape']}" if isinstance(value, dict) else value
        for name, value in launch["args"].items()
    }
    capture = with_launch(capture, Launch(args=args, grid=tuple(launch["grid"])), "h200")
    estimated = Inspection(capture).launch
    if isinstance(estimated, str):
        raise SystemExit(f"{launch['name']} {launch['config']}: {estimated}")
    sizes = [f"{name}={launch['config'][name]}" for name in SIZES if name in launch["config"]]
    config = {name: value for name, value in launch["config"].items() if name not in SIZES}
    problem = " ".join([launch["name"], *sizes])
    us = round(launch["ms"] * 1e3, 3)
    return timed(counted(estimated), us, kind=launch["name"], problem=problem, config=config)


def recompiled(each: Timed) -> TimedLaunch | None:
    """Return a configuration that was timed with its counts, if they are known."""
    capture = irlens.capture(each.spec, target="h200", triton=TRITON, **each.given)
    launch = Inspection(capture).launch
    if isinstance(launch, str):
        print(f"{each.problem} {each.config}: {launch}", flush=True)
        return None
    return timed(counted(launch), each.us, kind=each.kind, problem=each.problem, config=each.config)


def earlier(file: Path) -> list[Timed]:
    """Return the configurations of a file with their times; its counts may be out of date."""
    return msgspec.json.decode(file.read_bytes(), type=list[Timed])


def swept(folder: Path) -> Iterator[Timed]:
    """Yield each configuration of the sweeps in a folder."""
    for file in sorted(folder.glob("*.json")):
        for trial in msgspec.json.decode(file.read_bytes(), type=Sweep).trials:
            if trial.timing is not None:
                yield Timed(
                    kind=KINDS.get(file.stem, file.stem),
                    problem=f"kernels/{file.stem}.py",
                    config=dict(trial.settings),
                    us=round(trial.timing.median_ms * 1e3, 3),
                )


def patterns(file: Path) -> Iterator[Timed]:
    """Yield each launch that ``memory_patterns.py`` has timed."""
    for row in json.loads(file.read_text())["launches"]:
        config = {name: int(each) for name, each in row["settings"].items() if name != "OP"}
        given = row["args"] | {name: each for name, each in row["settings"].items() if name == "OP"}
        words = [
            f"patterns.py:{row['kernel']}",
            *(f"{name}={each}" for name, each in given.items()),
        ]
        yield Timed(kind=row["kernel"], problem=" ".join(words), config=config, us=row["us"])


def write(file: Path, rows: list[TimedLaunch]) -> None:
    """Write rows as JSON, each on a line."""
    lines = ",\n".join(msgspec.json.encode(row).decode() for row in rows)
    file.write_text(f"[\n{lines}\n]\n")


def main() -> int:
    """Count all launches."""
    given = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    if given is not None and given.is_file():
        count_again(PATTERNS, patterns(given), map)
        return 0
    with lzma.open(LAUNCHES.parent / "launches.json.xz") as file:
        launches = json.load(file)["launches"]
    with tempfile.TemporaryDirectory() as scratch, ProcessPoolExecutor() as pool:
        os.environ["IRLENS_CACHE_DIR"] = f"{scratch}/store"
        folder = Path(scratch) / "launches"
        with tarfile.open(LAUNCHES.parent / "launches.tar.xz") as archive:
            archive.extractall(folder, filter="data")
        rows = list(pool.map(partial(launched, folder=folder), launches, chunksize=4))
        write(LAUNCHES, rows)
        count_again(SPACES, earlier(SPACES) if given is None else swept(given), pool.map)
        for file in (OTHERS, PATTERNS):
            count_again(file, earlier(file), pool.map)
    return 0


def count_again(file: Path, launches: Iterable[Timed], each_of: Any) -> None:
    """Write configurations with their counts, as far as they are known."""
    known = [row for row in each_of(recompiled, launches) if row is not None]
    known.sort(key=lambda row: (row.problem, json.dumps(row.config, sort_keys=True)))
    write(file, known)


if __name__ == "__main__":
    sys.exit(main())
