"""What all tests share: a store of their own, and the kernels an H200's driver was asked about."""

import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

DATA = Path(__file__).parent / "data"


@pytest.fixture(autouse=True, scope="session")
def _private_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep the user's own captures out of the tests, and the tests out of theirs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("IRLENS_CACHE_DIR", str(tmp_path_factory.getbasetemp() / "store"))
        yield


@pytest.fixture(scope="session")
def h200_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Triton cache of the 31 kernels in ``tests/data/h200``, unpacked."""
    folder = tmp_path_factory.mktemp("h200")
    with tarfile.open(DATA / "h200" / "triton-cache.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    return folder / "triton-cache"
