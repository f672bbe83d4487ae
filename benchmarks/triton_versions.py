"""Try the samples with every Triton that irlens compiles with, and print what is unknown.

    python benchmarks/triton_versions.py [--versions 3.2.0,3.4.0] [--samples softmax,matmul]
                                         [--targets h100,mi300x]

Each version is installed once, in an environment of irlens's cache. A cell of the table is "ok",
the parts of the report that are unknown, or the first line of the error.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

VERSIONS = ("3.2.0", "3.3.1", "3.4.0", "3.5.1", "3.6.0", "3.7.1", "3.8.0", "3.9.0")
TARGETS = ("h100", "mi300x")
KERNELS = Path(__file__).resolve().parents[1] / "kernels"
#: Parts of a report that a compiled kernel with a launch has.
PARTS = ("resources.registers", "occupancy", "memory", "pipelines", "loads", "traffic", "time")
_NONE = ("time", "amd")
_TIMEOUT = 600.0
_WIDTH = 44


def main() -> None:
    """Print the table."""
    chosen = _arguments()
    print(f"{'sample':30} {'target':8} " + " ".join(f"{one:{_WIDTH}}" for one in chosen.versions))
    totals = dict.fromkeys(chosen.versions, 0)
    for sample in chosen.samples:
        for target in chosen.targets:
            cells = [_try(sample, target, version) for version in chosen.versions]
            for version, cell in zip(chosen.versions, cells, strict=True):
                totals[version] += cell == "ok"
            row = " ".join(f"{cell[:_WIDTH]:{_WIDTH}}" for cell in cells)
            print(f"{sample:30} {target:8} {row}", flush=True)
    number = len(chosen.samples) * len(chosen.targets)
    print("\n".join(f"Triton {version}: {ok} of {number} ok" for version, ok in totals.items()))


def _arguments() -> argparse.Namespace:
    def names(text: str) -> list[str]:
        return text.split(",")

    samples = sorted(path.stem for path in KERNELS.glob("*.py") if not path.stem.startswith("_"))
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--versions", type=names, default=list(VERSIONS))
    parser.add_argument("--samples", type=names, default=samples)
    parser.add_argument("--targets", type=names, default=list(TARGETS))
    return parser.parse_args()


def _try(sample: str, target: str, version: str) -> str:
    """Return what is unknown of a sample compiled by one version, "ok" if nothing is."""
    command = [sys.executable, "-m", "irlens", "inspect", sample, "-t", target]
    command += ["--triton", version, "--format", "json"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT)
    except subprocess.TimeoutExpired:
        return f"more than {_TIMEOUT:g} s"
    if done.returncode:
        told = [line for line in done.stderr.splitlines() if line.startswith("irlens: error")]
        return (told or done.stderr.splitlines() or ["no message"])[0].removeprefix("irlens: ")
    documents = json.loads(done.stdout)
    reports = documents if isinstance(documents, list) else [documents]
    unknown = dict.fromkeys(name for report in reports for name in _unknown(report))
    return f"unknown: {', '.join(unknown)}" if unknown else "ok"


def _unknown(report: dict[str, Any]) -> Iterator[str]:
    """Yield the parts that a report says it does not know."""
    target = report["target"]
    for part in PARTS:
        value: Any = report
        for name in part.split("."):
            value = value.get(name) if isinstance(value, dict) else None
        if (value is None or part in report["unknown"]) and (part, target["vendor"]) != _NONE:
            yield part
    time = report["time"]
    # No row has the rates of AMD's GPUs that a time is estimated from.
    if target["vendor"] == "nvidia" and time is not None and time.get("estimate_us") is None:
        yield "time"
    if any(one["verdict"] == "unknown" for one in report["pipelines"]):
        yield "a pipeline"


if __name__ == "__main__":
    main()
