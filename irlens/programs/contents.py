"""What small tensors of integers hold at a launch.

Lengths of sequences, tables of pages and numbers of experts decide which code a kernel runs and
which addresses it reads: without them its time is unknown.
"""

import sys
from collections import Counter
from collections.abc import Callable, Mapping
from io import BytesIO
from typing import Any, TypeAlias

#: Returns a tensor of PyTorch on the CPU; ``None`` where its values are not known.
ReadTensor: TypeAlias = Callable[[Any], Any]

#: The most bytes of a tensor, and of all tensors of a launch, that are kept.
MOST_BYTES, MOST_OF_LAUNCH = 1 << 16, 1 << 18


def from_gpu(tensor: Any) -> Any:
    """Return a tensor of a real GPU on the CPU; ``None`` where it cannot be copied now."""
    torch = sys.modules["torch"]
    if torch.cuda.is_available() and torch.cuda.is_current_stream_capturing():
        return None  # a copy would end the capture of a CUDA graph
    return tensor.detach().cpu()


class ContentsReader:
    """Reads what tensors hold, from the GPU unless told otherwise.

    Attributes:
        read_tensor: Reads a tensor; the fake GPU puts its own in place.
    """

    def __init__(self) -> None:
        self.read_tensor: ReadTensor = from_gpu

    def read(self, args: Mapping[str, Any]) -> dict[str, bytes]:
        """Return the small tensors of integers among a launch's arguments, as ``.npy`` files."""
        torch = sys.modules.get("torch")
        if torch is None:
            return {}
        tensors = {n: value for n, value in args.items() if isinstance(value, torch.Tensor)}
        # What a kernel writes through one argument changes the others that share its memory.
        memory = Counter(value.untyped_storage()._cdata for value in tensors.values())
        found: dict[str, bytes] = {}
        for name, value in tensors.items():
            if _is_small(value) and memory[value.untyped_storage()._cdata] == 1:
                values = self.read_tensor(value)
                content = b"" if values is None else _npy(values)
                if content and sum(map(len, found.values())) + len(content) <= MOST_OF_LAUNCH:
                    found[name] = content
        return found


def _is_small(tensor: Any) -> bool:
    kind = tensor.dtype
    if kind.is_floating_point or kind.is_complex or "int" not in str(kind):
        return False
    # A kernel reads a view through its strides: what lies between its elements is not kept.
    return 0 < tensor.nbytes <= MOST_BYTES and bool(tensor.is_contiguous())


def _npy(tensor: Any) -> bytes:
    import numpy as np

    content = BytesIO()
    np.save(content, tensor.numpy(), allow_pickle=False)
    return content.getvalue()
