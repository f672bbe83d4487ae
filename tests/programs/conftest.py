"""Lets recorded programs start with PyTorch and Triton imported."""

import pytest


@pytest.fixture(autouse=True)
def _preloaded(request: pytest.FixtureRequest) -> None:
    if request.node.get_closest_marker("starts") is None:
        request.getfixturevalue("preloaded")
