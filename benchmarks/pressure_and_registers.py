"""Correlate the peak of live registers in PTX with the registers of the machine code.

    python benchmarks/pressure_and_registers.py CACHE [CACHE ...]

Prints a row per kernel, then Spearman's rank correlation and Pearson's correlation over all rows.
Takes any Triton cache; tests/data/h200 holds one.
"""

import sys
from pathlib import Path
from statistics import correlation

import irlens
from irlens.artifacts.entries import Broken
from irlens.artifacts.load import load
from irlens.model.errors import ArtifactError


def main() -> None:
    """Print the table and both correlations."""
    rows: list[tuple[int, int, str]] = []
    for argument in sys.argv[1:]:
        for capture in load(Path(argument)):
            if isinstance(capture, Broken) or not {"ptx", "cubin"} <= capture.stages.keys():
                continue
            try:
                report = irlens.inspect(capture)
            except ArtifactError as error:
                print(f"skipped: {error}", file=sys.stderr)
                continue
            pressure = report.pressure.ptx
            if pressure is None or pressure.peak is None or report.resources.registers is None:
                continue
            arch = report.target.arch if report.target else "?"
            rows.append((pressure.peak, report.resources.registers, f"{report.kernel} {arch}"))
    for peak, registers, label in sorted(rows):
        print(f"{peak:>6} live in PTX  {registers:>4} registers  {label}")
    peaks, registers_of = [row[0] for row in rows], [row[1] for row in rows]
    print(f"{len(rows)} kernels")
    print(f"Spearman's rank correlation {correlation(_ranks(peaks), _ranks(registers_of)):.3f}")
    print(f"Pearson's correlation       {correlation(peaks, registers_of):.3f}")
    ratios = sorted(registers / peak for peak, registers in zip(peaks, registers_of, strict=True))
    print(f"registers / peak: from {ratios[0]:.2f} to {ratios[-1]:.2f}")


def _ranks(values: list[int]) -> list[float]:
    """Return the rank of each value; equal values have the mean of their ranks."""
    ordered = sorted(values)
    return [ordered.index(value) + (ordered.count(value) - 1) / 2 for value in values]


if __name__ == "__main__":
    main()
