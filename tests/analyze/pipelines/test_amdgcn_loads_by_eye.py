"""AMD's loads against loops that were read by eye, from their loads, waits and computations.

``tests/data/amd/loads.py`` has the kernels and how they were compiled.
"""

import tarfile
from functools import cache
from pathlib import Path

from irlens.analyze.pipelines import amdgcn as pipelines
from irlens.isa.amdgcn import parse
from irlens.model.report import Pipeline
from tests.tables import each_row

ARCHIVE = Path(__file__).parents[2] / "data" / "amd" / "loads.tar.xz"

#: By the line of Python the loads that run one iteration ahead, those that their own iteration uses
#: behind other computation, and those that are awaited with nothing computed since their issue.
Loads = dict[int, tuple[int, int, int]]

#: Kernel, version of Triton, loads.
TABLE: list[tuple[str, str, Loads]] = [
    # Masked tiles of A (line 26) and B (line 27).
    ("masked.gfx90a", "3.6.0", {26: (2, 0, 0), 27: (0, 0, 2)}),
    ("masked.gfx90a", "3.9.0", {26: (2, 0, 0), 27: (1, 0, 1)}),
    ("masked.gfx942", "3.6.0", {26: (2, 0, 0), 27: (0, 0, 2)}),
    ("masked.gfx942", "3.9.0", {26: (2, 0, 0), 27: (2, 0, 0)}),
    ("masked.gfx950", "3.6.0", {26: (2, 0, 0), 27: (0, 0, 2)}),
    # Unrolled twice: the products of both copies stand behind the second copy's loads.
    ("masked.gfx950", "3.9.0", {26: (2, 0, 2), 27: (2, 0, 2)}),
    # The fence in front of the barrier waits for A.
    ("masked.gfx1100", "3.6.0", {26: (0, 0, 2), 27: (2, 0, 0)}),
    ("masked.gfx1100", "3.9.0", {26: (0, 0, 2), 27: (2, 0, 0)}),
    ("masked.gfx1200", "3.6.0", {26: (0, 0, 2), 27: (1, 0, 1)}),
    ("masked.gfx1200", "3.9.0", {26: (0, 0, 2), 27: (2, 0, 0)}),
    ("masked.gfx1201", "3.6.0", {26: (0, 0, 2), 27: (1, 0, 1)}),
    ("masked.gfx1201", "3.9.0", {26: (0, 0, 2), 27: (2, 0, 0)}),
    # K (line 63) and V (line 69).
    ("attention.gfx90a", "3.6.0", {63: (2, 0, 0), 69: (2, 0, 0)}),
    ("attention.gfx90a", "3.9.0", {63: (2, 0, 0), 69: (2, 0, 0)}),
    ("attention.gfx942", "3.6.0", {63: (2, 0, 0), 69: (2, 0, 0)}),
    ("attention.gfx942", "3.9.0", {63: (2, 0, 0), 69: (2, 0, 0)}),
    ("attention.gfx950", "3.6.0", {63: (2, 0, 0), 69: (2, 0, 0)}),
    ("attention.gfx950", "3.9.0", {63: (2, 0, 0), 69: (2, 0, 0)}),
    # Few registers are left, and V is loaded behind the last product.
    ("attention.gfx1100", "3.6.0", {63: (0, 0, 4), 69: (0, 0, 4)}),
    ("attention.gfx1100", "3.9.0", {63: (0, 0, 4), 69: (0, 0, 4)}),
    ("attention.gfx1200", "3.6.0", {63: (0, 0, 4), 69: (4, 0, 0)}),
    ("attention.gfx1200", "3.9.0", {63: (0, 0, 4), 69: (4, 0, 0)}),
    ("attention.gfx1201", "3.6.0", {63: (0, 0, 4), 69: (4, 0, 0)}),
    ("attention.gfx1201", "3.9.0", {63: (0, 0, 4), 69: (4, 0, 0)}),
    # Halves (line 39), weights of 8 bits (line 40), and their scales, which no stage carries.
    ("weights.gfx90a", "3.6.0", {39: (2, 0, 0), 40: (1, 0, 0), 41: (0, 4, 0)}),
    ("weights.gfx90a", "3.9.0", {39: (2, 0, 0), 40: (1, 0, 0), 41: (0, 4, 0)}),
    ("weights.gfx942", "3.6.0", {39: (2, 0, 0), 40: (1, 0, 0), 41: (0, 4, 0)}),
    ("weights.gfx942", "3.9.0", {39: (2, 0, 0), 40: (1, 0, 0), 41: (0, 4, 0)}),
    ("weights.gfx950", "3.6.0", {39: (2, 0, 0), 40: (1, 0, 0), 41: (0, 4, 0)}),
    ("weights.gfx950", "3.9.0", {39: (2, 0, 0), 40: (1, 0, 0), 41: (0, 4, 0)}),
    ("weights.gfx1100", "3.6.0", {39: (0, 0, 4), 40: (2, 0, 0), 41: (0, 16, 0)}),
    ("weights.gfx1200", "3.6.0", {39: (0, 0, 4), 40: (2, 0, 0), 41: (0, 4, 0)}),
    # Two rows of numbers, of which the first one is computed with while the second arrives.
    ("rows.gfx90a", "3.6.0", {52: (0, 1, 1)}),
    ("rows.gfx1100", "3.6.0", {52: (0, 3, 1)}),
    # A gather by a scalar index, as written and unrolled eight times.
    ("table.gfx942", "3.6.0", {62: (0, 0, 1)}),
    ("table.gfx942", "3.9.0", {62: (0, 7, 1)}),
]


@cache
def _files() -> dict[str, str]:
    with tarfile.open(ARCHIVE) as tar:
        files = {each.name: tar.extractfile(each) for each in tar.getmembers()}
        return {name: file.read().decode() for name, file in files.items() if file is not None}


def _first_loop(name: str, version: str) -> list[Pipeline]:
    """The records of the kernel's first loop."""
    (kernel,) = parse(_files()[f"{name}.triton-{version}.amdgcn"]).kernels
    found = pipelines.find_pipelines(kernel, threads_per_cta=256, requested=lambda *_: 2)
    return [each for each in found if each.line == found[0].line]


def _loads(found: list[Pipeline]) -> Loads:
    lines: dict[int, list[int]] = {}
    for load in (each for record in found for each in record.loads):
        assert load.source
        assert load.iterations_ahead is not None
        kind = 0 if load.iterations_ahead else 1 if load.computes_before_wait else 2
        lines.setdefault(load.source.line, [0, 0, 0])[kind] += load.instructions
    return {line: (each[0], each[1], each[2]) for line, each in lines.items()}


@each_row(("name", "version", "loads"), TABLE)
def test_loads_read_by_eye(name: str, version: str, loads: Loads) -> None:
    found = _first_loop(name, version)
    assert _loads(found) == loads
    exposed = any(at_once for _, _, at_once in loads.values())
    ahead = any(ahead for ahead, _, _ in loads.values())
    assert found[0].verdict == ("pipelined" if ahead and not exposed else "not pipelined")
    assert found[0].achieved_stages == (2 if ahead and not exposed else 1)


def test_the_table_has_every_target() -> None:
    targets = {name.partition(".")[2] for name, _, _ in TABLE}
    assert targets == {"gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1200", "gfx1201"}
    assert len(TABLE) >= 20
