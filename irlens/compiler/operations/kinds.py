"""What an operator of PyTorch does: which elements it needs for which, and which axes it folds."""

from collections.abc import Sequence
from typing import Any

import torch

from irlens.model.operations import OperationKind

_FILLS = frozenset(
    {
        "zeros", "ones", "full", "arange", "linspace", "logspace", "eye", "scalar_tensor",
        "zeros_like", "ones_like", "full_like", "new_zeros", "new_ones", "new_full", "zero_",
        "fill_", "tril_indices", "triu_indices",
    }
)  # fmt: skip
#: Operators that create a tensor without writing to it.
UNINITIALIZED = frozenset(
    {
        "empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided",
    }
)  # fmt: skip
#: Operators that leave the memory of their result as it is.
ALLOCATIONS = UNINITIALIZED | {"resize_"}
#: Pointwise operators that PyTorch does not tag.
_POINTWISE = frozenset(
    {
        "_to_copy", "clone", "copy_", "copy", "_conj_physical", "dropout_backward", "fill",
        "native_dropout_backward", "masked_fill", "masked_fill_", "lerp", "addcmul", "addcdiv",
        "where", "glu", "threshold_backward", "gelu_backward", "tril", "triu", "flip",
    }
)  # fmt: skip
_NOT_POINTWISE = frozenset({"glu"})
_REDUCTIONS = frozenset(
    {
        "sum", "mean", "amax", "amin", "max", "min", "prod", "any", "all", "argmax", "argmin",
        "var", "std", "var_mean", "std_mean", "logsumexp", "norm", "linalg_vector_norm", "nansum",
        "aminmax", "count_nonzero",
    }
)  # fmt: skip
_NORMALIZATIONS = frozenset(
    {
        "_softmax", "_log_softmax", "softmax", "log_softmax", "native_layer_norm",
        "_softmax_backward_data", "_log_softmax_backward_data", "_fused_rms_norm", "cumsum",
    }
)  # fmt: skip
_PRODUCTS = frozenset(
    {
        "mm", "bmm", "addmm", "baddbmm", "addbmm", "linear", "mv", "addmv", "dot", "_scaled_mm",
        "_int_mm", "convolution", "_convolution", "cudnn_convolution", "miopen_convolution",
        "convolution_overrideable", "addmm_activation", "_addmm_activation",
    }
)  # fmt: skip
_GATHERS = frozenset(
    {
        "index", "index_select", "gather", "embedding", "take", "_unsafe_index", "masked_select",
        "_unsafe_masked_index",
    }
)  # fmt: skip
_SCATTERS = frozenset(
    {
        "index_put", "index_put_", "_index_put_impl_", "_unsafe_index_put", "scatter", "scatter_",
        "scatter_add", "scatter_add_", "scatter_reduce", "scatter_reduce_", "index_add",
        "index_add_", "index_copy", "index_copy_", "embedding_dense_backward", "put_",
        "put", "index_reduce", "index_reduce_", "_unsafe_masked_index_put_accumulate",
        "masked_scatter", "masked_scatter_", "index_fill", "index_fill_",
    }
)  # fmt: skip
_JOINS = frozenset({"cat", "stack", "constant_pad_nd", "_pad_enum", "roll", "repeat"})
#: Operators that write to an argument without reading it.
_OVERWRITES = frozenset({"copy_", "fill_", "zero_"})


def short_name(function: Any) -> str:
    """Return an operator's name without its namespace and overload: "add_"."""
    return str(function._schema.name).partition("::")[2]


def kind_of(function: Any) -> OperationKind:
    """Return what an operator does that is not a view."""
    name, tags = short_name(function), function.tags
    base = name.removesuffix("_") if not name.startswith("__") else name
    for kind, names in _BY_NAME:
        if name in names or base in names:
            return kind
    if torch.Tag.nondeterministic_seeded in tags:
        return "random" if not name.startswith("_scaled_dot") else "library"
    if torch.Tag.pointwise in tags and base not in _NOT_POINTWISE:
        return "pointwise"
    return "reduction" if getattr(torch.Tag, "reduction", None) in tags else "library"


_BY_NAME: tuple[tuple[OperationKind, frozenset[str]], ...] = (
    ("fill", _FILLS),
    ("reduction", _REDUCTIONS),
    ("normalization", _NORMALIZATIONS),
    ("product", _PRODUCTS),
    ("gather", _GATHERS),
    ("scatter", _SCATTERS),
    ("join", _JOINS),
    ("pointwise", _POINTWISE - _NOT_POINTWISE),
)


def is_library_call(function: Any) -> bool:
    """Whether a library of the vendor computes an operator: a product, a convolution, attention."""
    name = short_name(function)
    return name.removesuffix("_") in _PRODUCTS or any(part in name for part in _LIBRARY_NAMES)


_LIBRARY_NAMES = (
    "attention", "convolution", "cudnn", "miopen", "_lstm", "_gru", "_rnn", "_fft", "cholesky",
    "linalg_eigh", "linalg_lu", "linalg_qr", "linalg_solve", "linalg_svd", "triangular_solve",
)  # fmt: skip


def overwrites(function: Any) -> bool:
    """Whether an operator does not read the argument that it writes to."""
    name = short_name(function)
    if name in _OVERWRITES:
        return True
    return name.endswith("_") and torch.Tag.nondeterministic_seeded in function.tags


def folded_axes(arguments: dict[str, Any], shape: Sequence[int]) -> tuple[int, ...]:
    """Return the axes of the first operand that a reduction or a normalization folds."""
    if "normalized_shape" in arguments:
        return tuple(range(len(shape) - len(arguments["normalized_shape"]), len(shape)))
    axes = arguments.get("dim")
    if axes is None or (not isinstance(axes, int) and not axes):
        return tuple(range(len(shape)))
    listed = [axes] if isinstance(axes, int) else list(axes)
    return tuple(sorted(axis % len(shape) for axis in listed)) if shape else ()
