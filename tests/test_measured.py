"""What the samples reach on an H200: the page is as reviewed, and no floor is above its time."""

import importlib.util
import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from types import ModuleType

import jsonschema
import pytest

import irlens
from irlens import gpus
from irlens.compiler import Request, capture
from irlens.compiler.sources.description import known_kernels
from irlens.compiler.sources.lookup import samples_folder
from irlens.model.sweep import Sweep, Trial, moved_bytes

ROOT = Path(__file__).parents[1]
SWEEPS = ("attention", "attention_causal", "matmul", "softmax", "vector_add")
#: How much it reads is in the offsets that it loads.
UNKNOWN = {"segment_sum"}


@cache
def docs() -> ModuleType:
    """Return ``docs/measured.py`` as a module."""
    spec = importlib.util.spec_from_file_location("docs_measured", ROOT / "docs" / "measured.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def measured() -> Sequence[Sweep]:
    return [*docs().samples(), *map(docs().sweep, SWEEPS)]


def trials() -> list[Trial]:
    return [trial for each in measured() for trial in each.trials if each.kernel not in UNKNOWN]


def test_the_page_and_its_plots_are_as_reviewed() -> None:
    folder = ROOT / "docs"
    outdated = [
        path for path, text in docs().files().items() if (folder / path).read_text() != text
    ]
    assert not outdated, "run docs/measured.py and read the difference"


def test_every_sample_is_measured() -> None:
    folder = samples_folder()
    samples = {k for k in known_kernels() if (folder / f"{k.partition(':')[0]}.py").is_file()}
    assert {each.kernel for each in docs().samples() if each.trials} == samples
    rows = {line.split("`")[1] for line in docs().table() if "`" in line}
    assert rows == samples


def test_they_are_valid_sweeps() -> None:
    schema = json.loads((ROOT / "samples" / "sweep.schema.json").read_text())
    validator = jsonschema.Draft202012Validator(schema)
    for each in json.loads((ROOT / "samples" / "measured" / "h200.json").read_text()):
        validator.validate(each)


def test_no_floor_is_above_its_time() -> None:
    found = trials()
    assert len(found) > 100
    for trial in found:
        assert trial.timing is not None
        assert 0 < docs().floor(trial) <= 1e3 * trial.timing.fast_ms, trial.label


def test_floors_are_those_of_the_gpus_row() -> None:
    product = gpus.find("h200").product
    assert product is not None
    assert product.bandwidth is not None
    for trial in trials():
        figures = trial.figures or {}
        moved = moved_bytes(figures)
        assert moved is not None
        assert figures["memory_us"] == pytest.approx(moved / product.bandwidth * 1e6)
        assert figures["floor_us"] == max(figures["memory_us"] or 0, figures["compute_us"] or 0)
        assert trial.rate is not None
        assert trial.timing is not None
        share = docs().floor(trial) / (1e3 * trial.timing.median_ms)
        assert trial.rate.roofline_share == pytest.approx(share)


@pytest.mark.parametrize("kernel", ["column_sum", "flash_attention", "rms_norm"])
def test_floors_are_what_irlens_says_today(kernel: str) -> None:
    gpu = gpus.find("h200")
    (found,) = capture(Request(kernel=kernel, target=gpu.target, sm_count=gpu.sm_count))
    roofline = irlens.inspect(found).roofline
    (trial,) = next(each.trials for each in docs().samples() if each.kernel == kernel)
    assert roofline is not None
    assert roofline.floor_us == pytest.approx(docs().floor(trial))


def test_the_page_names_what_is_slower_than_pytorch() -> None:
    page = docs().page().partition("## Slower than PyTorch")[2]
    slower = []
    for each in docs().samples():
        trial = docs().fastest(each.trials)
        (eager,) = trial.against
        assert (eager.timing is None) == bool(eager.reason)
        if eager.timing is None or each.kernel in docs().OTHER_WORK:
            continue
        if docs().microseconds(trial) > 1.03 * docs().microseconds(trial, "eager"):
            slower.append(each.kernel)
    assert "flash_attention" in slower
    assert all(f"`{name}`" in page for name in slower)


def test_softmax_and_matmul_are_as_good_as_their_published_versions() -> None:
    took, softmax, matmul = docs().microseconds, docs().sweep("softmax"), docs().sweep("matmul")
    wide = [trial for trial in softmax.trials if trial.value("n_cols") > 1024]
    assert len(wide) == 12
    for trial in wide:
        assert took(trial) <= 1.03 * min(took(trial, name) for name in ("eager", "compile"))
    largest = docs().at(matmul, 4096)
    assert took(largest) <= 1.1 * took(largest, "eager")


def test_what_does_other_work_is_not_compared() -> None:
    assert docs().compared(1.0, 1.02) == "level"
    assert docs().compared(1.0, 2.0) == "2.00 × as fast"
    assert docs().compared(2.0, 1.0) == "**2.00 × the time**"
    for line in docs().table():
        name = line.split("`")[1] if "`" in line else None
        if name in docs().OTHER_WORK:
            assert " × " not in line
            assert "level" not in line
