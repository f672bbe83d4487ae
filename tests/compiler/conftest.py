"""Fixtures: a private store for every test, a target, a writer of kernel files."""

import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from irlens.model.config import Target


@pytest.fixture(autouse=True)
def private_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    store = tmp_path / "store"
    monkeypatch.setenv("IRLENS_CACHE_DIR", str(store))
    return store


@pytest.fixture
def sm_90() -> Target:
    return Target(vendor="nvidia", arch="sm_90", warp_size=32)


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Write a Python file of kernels; triton and tl are imported already."""

    def write_file(text: str, name: str = "user_kernels.py") -> Path:
        path = tmp_path / "project" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        body = textwrap.dedent(text)
        path.write_text(f"import triton\nimport triton.language as tl\n{body}")
        return path

    return write_file
