"""Files of NumPy's format, and files that only begin like one."""

import struct
from pathlib import Path

import numpy as np
import pytest

from irlens.artifacts import npy
from irlens.model.capture import Stage
from irlens.model.errors import ArtifactError


def read(path: Path, content: bytes) -> "np.ndarray[tuple[int, ...], np.dtype[np.int32]]":
    path.write_bytes(content)
    return npy.read(Stage("offsets", path=path))


def file_of(header: str, data: bytes = b"", version: int = 1) -> bytes:
    form = "<H" if version == 1 else "<I"
    return (
        b"\x93NUMPY" + bytes([version, 0]) + struct.pack(form, len(header)) + header.encode() + data
    )


@pytest.mark.parametrize("fortran", [False, True])
def test_the_order_in_the_file_does_not_matter(tmp_path: Path, fortran: bool) -> None:
    header = f"{{'descr': '<i4', 'fortran_order': {fortran}, 'shape': (2, 3)}}\n"
    data = [[1, 4], [2, 5], [3, 6]] if fortran else [[1, 2, 3], [4, 5, 6]]
    content = file_of(header, np.array(data, "<i4").tobytes())
    assert read(tmp_path / "x.npy", content).tolist() == [[1, 2, 3], [4, 5, 6]]


@pytest.mark.parametrize(
    "header",
    [
        "{'descr': '<i4', 'fortran_order': False, 'shape': (4000000000,)}",
        "{'descr': '<i4', 'fortran_order': False, 'shape': (1099511627776, 1099511627776)}",
        "{'descr': '<i4', 'fortran_order': False, 'shape': (-4,)}",
        "{'descr': '<i4', 'fortran_order': False, 'shape': (True,)}",
        "{'descr': '<i4', 'fortran_order': False, 'shape': (1.5,)}",
        "{'descr': '<i4', 'fortran_order': False, 'shape': (" + "9" * 5000 + ",)}",
        "{'descr': '<i4', 'fortran_order': False, 'shape': (" + "9" * 30 + ",)}",
        "{'descr': '|O', 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '<U4', 'fortran_order': False, 'shape': (1,)}",
        "{'descr': [('a', '<i4')], 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '<i4'",
        "(" * 60_000,
        "open('x')",
    ],
)
@pytest.mark.parametrize("version", [1, 2, 9])
def test_other_headers_are_refused(tmp_path: Path, header: str, version: int) -> None:
    with pytest.raises(ArtifactError, match=r"x\.npy is no \.npy file of numbers"):
        read(tmp_path / "x.npy", file_of(header, bytes(16), version))


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04" + bytes(100), b"\x80\x04cos\nsystem\n."])
def test_archives_and_pickles_are_refused(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(ArtifactError, match=r"x\.npy is no \.npy file of numbers"):
        read(tmp_path / "x.npy", content)
