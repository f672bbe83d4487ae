"""Why an occupancy is unknown: the resources that it is computed from, and no others."""

from pathlib import Path

import msgspec
import pytest

import irlens
from irlens.model.capture import Capture
from irlens.report import inspect

SAMPLES = Path(__file__).parents[2] / "samples" / "captures"


def without(capture: Capture, *stages: str) -> Capture:
    kept = {name: stage for name, stage in capture.stages.items() if name not in stages}
    return msgspec.structs.replace(capture, stages=kept)


@pytest.fixture
def capture() -> Capture:
    (only,) = irlens.load(SAMPLES / "layer_norm-b200-3.6")
    return only


def test_the_reason_names_what_occupancy_is_computed_from(capture: Capture) -> None:
    assert capture.metadata is not None
    metadata = msgspec.structs.replace(capture.metadata, tmem_size=None)
    bare = without(msgspec.structs.replace(capture, metadata=metadata), "cubin", "ptx")
    report = inspect(bare)
    assert {"resources.tensor_memory_columns", "resources.stack_bytes"} <= report.unknown.keys()
    assert report.unknown["occupancy"] == "it depends on registers, static shared memory"


def test_shared_memory_is_named_without_metadata(capture: Capture) -> None:
    report = inspect(msgspec.structs.replace(capture, metadata=None))
    assert report.unknown["occupancy"] == "it depends on dynamic shared memory"
