from pathlib import Path

import pytest

from irlens.compiler import Request, capture, capture_entries
from irlens.model.config import Target
from irlens.model.errors import CaptureError


def test_a_capture_is_handed_out_as_the_record_that_all_share(sm_90: Target) -> None:
    (found,) = capture(
        Request(kernel="softmax", target=sm_90, sm_count=132, settings={"num_stages": 3})
    )
    assert found.kernel == "softmax_kernel"
    assert found.target == sm_90
    assert list(found.stages) == ["source", "ttir", "ttgir", "llir", "ptx", "cubin"]
    assert (found.config.num_warps, found.config.num_stages) == (8, 3)
    assert found.config.constexprs == {"BLOCK_SIZE": 1024, "num_stages": 3}
    assert found.config.grid == (1056, 1, 1)
    assert found.metadata is not None
    assert found.metadata.shared == 8_224


def test_a_stored_capture_that_lost_its_files_is_said(sm_90: Target) -> None:
    request = Request(kernel="vector_add", target=sm_90)
    (entry,) = capture_entries(request)
    for path in entry.glob("vector_add_kernel.*"):
        path.unlink()
    with pytest.raises(CaptureError, match="is broken") as raised:
        capture(request)
    assert raised.value.hint == f"delete {Path(entry).parent}"
