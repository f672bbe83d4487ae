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
_NO_HEADER = (EOFError, MemoryError, OSError, SyntaxError, TokenError, TypeError, ValueError)


def read(stage: Stage) -> "np.ndarray[Any, np.dtype[Any]]":
    """Return the array of a file.

    Raises:
        ArtifactError: The file is gone, unreadable, too large, or no array of numbers.
    """
    import numpy as np

    content = stage.read()
    try:
        array = np.load(BytesIO(content), allow_pickle=False) if content[:6] == _MAGIC else None
    except _NO_HEADER as error:
        raise ArtifactError(f"{stage.path or stage.name} is no .npy file of numbers") from error
    if array is None or array.dtype.kind not in "biuf":
        raise ArtifactError(f"{stage.path or stage.name} is no .npy file of numbers")
    return array
