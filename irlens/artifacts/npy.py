"""Reads and writes tensor contents as NumPy's ``.npy`` files. Objects are never unpickled."""

from collections.abc import Sequence
from io import BytesIO
from tokenize import TokenError
from typing import TYPE_CHECKING, Any

from irlens.model.capture import Stage
from irlens.model.errors import ArtifactError

if TYPE_CHECKING:  # few captures come with contents
    import numpy as np


_MAGIC = b"\x93NUMPY"
#: What NumPy raises for headers that are none, or that name more than the file holds.
_NO_HEADER = (
    EOFError, MemoryError, OSError, OverflowError, RecursionError, SyntaxError, TokenError,
    TypeError, ValueError,
)  # fmt: skip


def read(stage: Stage) -> "np.ndarray[Any, np.dtype[Any]]":
    """Return the array of a file.

    Raises:
        ArtifactError: The file is gone, unreadable, too large, or no array of numbers.
    """
    import numpy as np

    content = stage.read()
    refused = ArtifactError(f"{stage.path or stage.name} is no .npy file of numbers")
    if not content.startswith(_MAGIC):
        raise refused
    try:
        array: np.ndarray[Any, np.dtype[Any]] = np.load(BytesIO(content), allow_pickle=False)
    except _NO_HEADER as error:
        raise refused from error
    if array.dtype.kind not in "biuf":
        raise refused
    return array


def write(values: Sequence[float], shape: tuple[int, ...], dtype: str) -> bytes | None:
    """Return the file of an array of numbers: one for each element, or one for all.

    ``None`` where NumPy has no such type, or the type does not hold one of the numbers.
    """
    import numpy as np

    file = BytesIO()
    try:
        held = np.array(values, np.dtype(dtype))
    except (OverflowError, TypeError, ValueError):
        return None
    if held.dtype.kind != "f" and held.tolist() != list(values):
        return None
    np.save(file, np.broadcast_to(held, shape) if held.size == 1 else held.reshape(shape))
    return file.getvalue()
