"""Reads the contents of tensors from NumPy's ``.npy`` files. No object in them is unpickled."""

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
