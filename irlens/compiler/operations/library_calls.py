"""Count what a program has libraries compute: products, convolutions, attention."""

from typing import Any

import torch

from irlens.compiler.calls.dtypes import name_of_torch
from irlens.compiler.fake_cuda.recorded_operators import tensors_in
from irlens.compiler.fake_cuda.values import flops_of
from irlens.compiler.operations.kinds import ALLOCATIONS, is_library_call, short_name
from irlens.compiler.operations.origins import user_line
from irlens.compiler.tally import Tally
from irlens.model.recording import LibraryCall

#: Operands that are named: the matrices of a product, the queries and keys of attention.
_MOST_OPERANDS = 2


class LibraryCalls:
    """Counts calls as they run.

    Args:
        generated: Folders of files that are not the program's own.
    """

    def __init__(self, tally: Tally, generated: tuple[str, ...]) -> None:
        self._tally = tally
        self._generated = generated

    def note(self, function: Any, args: Any, kwargs: dict[str, Any], result: Any) -> None:
        """Count an operator that ran."""
        if self._tally.is_paused or function.is_view or short_name(function) in ALLOCATIONS:
            return
        if not is_library_call(function):
            self._tally.others += 1
            return
        with torch._C.DisableTorchFunction():
            given, made = tensors_in((args, kwargs)), tensors_in(result)
            line = user_line(self._generated)
            name = f"{function.namespace}.{short_name(function)}"
            operations = flops_of(function, args, kwargs, result)
            call = LibraryCall(
                name=name,
                operands=_operands(given),
                source=str(line) if line is not None else "",
                calls=1,
                bytes=sum({id(each): _bytes(each) for each in (*given, *made)}.values()),
                flops=int(operations) or None,
                dtype=_rate(given[0], function) if given else "",
            )
        self._tally.library[call] += 1


def _bytes(tensor: torch.Tensor) -> int:
    """Return the bytes of a tensor; an expanded one has fewer than elements."""
    return int(min(tensor.nbytes, tensor.untyped_storage().nbytes()))


def _operands(given: list[torch.Tensor]) -> str:
    """Return the first operands, without a bias: "bf16[512,256] × bf16[256,768]"."""
    matrices = [each for each in given if each.dim() > 1] or given
    named = matrices[:_MOST_OPERANDS]
    return " × ".join(
        f"{name_of_torch(each.dtype)}[{','.join(map(str, each.shape))}]" for each in named
    )


def _rate(tensor: torch.Tensor, function: Any) -> str:
    """Return the type whose rate a library computes at: tf32 for fp32 where PyTorch allows it."""
    name = name_of_torch(tensor.dtype)
    if name != "fp32":
        return name
    if "conv" in short_name(function):
        return "tf32" if torch.backends.cudnn.allow_tf32 else name
    return name if torch.get_float32_matmul_precision() == "highest" else "tf32"
