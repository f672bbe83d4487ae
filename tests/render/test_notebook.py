"""Records in a notebook: a page in a frame."""

import html
import re
import subprocess
import sys
from pathlib import Path
from typing import get_args

import msgspec
import pytest

import irlens
from irlens.model.comparison import Comparison
from irlens.model.results import KINDS, kind_of, record_of
from irlens.model.sweep import Sweep
from irlens.render import Kind

SAMPLES = Path(__file__).parents[2] / "samples"

CELLS = (
    f"import irlens\none, = irlens.load({str(SAMPLES / 'captures' / 'softmax-t4')!r})\n"
    f"two, = irlens.load({str(SAMPLES / 'captures' / 'softmax-h100')!r})\n"
    "irlens.inspect(one)",
    "irlens.compare(irlens.inspect(one), irlens.inspect(two))",
)


def page_of(frame: str) -> str:
    found = re.fullmatch(r'<iframe srcdoc="([^"]*)" sandbox="allow-scripts" [^>]*></iframe>', frame)
    assert found is not None
    return html.unescape(found[1])


def test_report_comparison_and_sweep_are_pages_in_frames() -> None:
    (one,), (two,) = (
        list(irlens.load(SAMPLES / "captures" / name)) for name in ("softmax-t4", "softmax-h100")
    )
    reports = irlens.inspect(one), irlens.inspect(two)
    saved = next((SAMPLES / "sweeps").glob("*.json")).read_bytes()
    sweep = msgspec.json.decode(saved, type=Sweep)
    scanned = irlens.scan(SAMPLES / "captures" / "softmax-t4")
    for record in (one, reports[0], irlens.compare(*reports), sweep, scanned):
        page = page_of(record._repr_html_())  # type: ignore[union-attr]
        assert page.startswith("<!doctype html>")
        assert (sweep.kernel if record is sweep else "softmax_kernel") in page


def test_every_kind_of_result_is_shown() -> None:
    assert set(KINDS) == set(get_args(Kind))
    records = [record_of(kind) for kind in KINDS]
    assert [kind_of(record) for record in records] == [*KINDS]
    for record in (Comparison, *records):
        assert callable(record._repr_html_)  # type: ignore[attr-defined]


def test_a_notebook_shows_them(tmp_path: Path) -> None:
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    cells = [nbformat.v4.new_code_cell(cell) for cell in CELLS]
    notebook = nbformat.v4.new_notebook(cells=cells)
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    for cell in notebook.cells:
        (output,) = cell.outputs
        assert "softmax_kernel" in page_of(output.data["text/html"])


def test_outside_of_notebooks_importing_stays_cheap() -> None:
    script = "import irlens, sys; sys.exit('msgspec' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script]).returncode == 0
