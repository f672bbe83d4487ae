"""A folder for commands that compile the same kernels in test after test."""

import shutil
from pathlib import Path

import pytest


@pytest.fixture
def tmp_path(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    """An empty folder, at the same place for all tests of a module.

    A capture belongs to the path of its kernel: what one test has compiled, and what irlens has
    made of it, serves the next one that writes the same file.
    """
    folder = tmp_path_factory.getbasetemp() / request.path.stem
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    return folder
