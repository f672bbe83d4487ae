"""Reads the contents of tensors from NumPy's ``.npy`` files. No object in them is unpickled."""

from io import BytesIO
from typing import TYPE_CHECKING, Any

from irlens.model.capture import Stage
from irlens.model.errors import ArtifactError

if TYPE_CHECKING:  # few captures come with contents
    import numpy as np


def read(stage: Stage) -> "np.ndarray[Any, np.dtype[Any]]":
    """Return the array of a file.

    Raises:
        ArtifactError: The file is gone, unreadable, too large, or no array of numbers.
    """
    import numpy as np

    content = stage.read()
    try:
        array = np.load(BytesIO(content), allow_pickle=False)
    except (EOFError, OSError, ValueError) as error:
        raise ArtifactError(f"{stage.path or stage.name} is no .npy file of numbers") from error
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "biuf":
        raise ArtifactError(f"{stage.path or stage.name} is no .npy file of numbers")
    return array
