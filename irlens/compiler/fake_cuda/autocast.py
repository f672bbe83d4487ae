"""``torch.autocast`` for fake "cuda" tensors.

PyTorch autocasts by the device of each tensor, and does nothing for "meta". So each operator runs
once with PyTorch's fake tensors on "cuda", and the program's tensors are cast as those were.
"""

from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_unflatten

from irlens.compiler.fake_cuda import Deviations, NoGpuError
from irlens.compiler.fake_cuda.device import as_torch_fake, is_fake, kernel_registry, overload_of
from irlens.compiler.fake_cuda.unknown_numbers import UnknownNumber

#: The dispatch key that casts fake tensors: that of a device that is not in use.
_KEY = "AutocastXPU"


def install_autocast(deviations: Deviations) -> None:
    """Make autocasting affect fake tensors, for the whole process."""
    _step_scaled(deviations)
    key = getattr(torch._C.DispatchKey, _KEY)
    with kernel_registry() as kernels:
        for name in torch._C._dispatch_get_registrations_for_dispatch_key("AutocastCUDA"):
            namespace, _, operator = name.partition("::")
            if namespace == "aten":
                kernels.impl(operator, _casting(overload_of(operator), key), _KEY)
        for name in _RECURRENT:
            kernels.impl(name, _refuse, _KEY)
    enter, leave = torch.autocast.__enter__, torch.autocast.__exit__

    def sync_key() -> None:
        enabled = torch.is_autocast_enabled("cuda")
        torch._C._dispatch_tls_set_dispatch_key_included(key, enabled)
        torch._C._dispatch_tls_set_dispatch_key_excluded(key, not enabled)

    def entered(self: Any) -> Any:
        result = enter(self)
        sync_key()
        return result

    def left(self: Any, *error: Any) -> Any:
        result = leave(self, *error)
        sync_key()
        return result

    torch.autocast.__enter__ = entered
    torch.autocast.__exit__ = left


def _step_scaled(deviations: Deviations) -> None:
    """Let ``GradScaler`` step where it is unknown whether the gradients are finite."""
    step = torch.amp.GradScaler._maybe_opt_step

    def stepped(self: Any, optimizer: Any, state: Any, *args: Any, **kwargs: Any) -> Any:
        found = sum(each.item() for each in state["found_inf_per_device"].values())
        if not isinstance(found, UnknownNumber):
            return step(self, optimizer, state, *args, **kwargs)
        deviations.finite += 1
        return optimizer.step(*args, **kwargs)

    torch.amp.GradScaler._maybe_opt_step = stepped


#: Operators that cuDNN computes, with casts of their own.
_RECURRENT = [
    f"{name}.{kind}"
    for name in ("lstm", "gru", "rnn_tanh", "rnn_relu")
    for kind in ("input", "data")
]


def _refuse(*args: object, **kwargs: object) -> None:
    raise NoGpuError("what torch.autocast('cuda') makes of a recurrent network")


def _casting(operator: Any, key: Any) -> Any:
    """Return a kernel that casts the arguments of an operator, then calls it."""
    keys = torch._C.DispatchKeySet(key)
    #: Casts by everything that determines them.
    cache: dict[Any, tuple[list[torch.dtype | None], dict[str, Any]]] = {}

    def cast(*args: Any, **kwargs: Any) -> Any:
        with torch._C._ExcludeDispatchKeyGuard(keys):
            leaves, tree = tree_flatten((args, kwargs))
            if not any(map(is_fake, leaves)):
                return operator(*args, **kwargs)
            kinds = tuple(_kind(leaf) for leaf in leaves)
            situation = (kinds, torch.get_autocast_dtype("cuda"), kwargs.get("dtype"))
            if situation not in cache:
                cache[situation] = _casts(operator, leaves, tree)
            dtypes, options = cache[situation]
            pairs = zip(leaves, dtypes, strict=True)
            cast_leaves = [leaf if dtype is None else leaf.to(dtype) for leaf, dtype in pairs]
            args, kwargs = tree_unflatten(cast_leaves, tree)
            return operator(*args, **kwargs, **options)

    return cast


def _kind(leaf: Any) -> Any:
    return (leaf.dtype, leaf.is_meta) if isinstance(leaf, torch.Tensor) else type(leaf)


def _casts(
    operator: Any, leaves: list[Any], tree: Any
) -> tuple[list[torch.dtype | None], dict[str, Any]]:
    """Return the dtype that each leaf is cast to on "cuda", and additional options."""
    with torch.no_grad(), FakeTensorMode(), _CastRecorder() as recorder:
        fakes = [as_torch_fake(leaf) for leaf in leaves]
        args, kwargs = tree_unflatten(fakes, tree)
        result = operator(*args, **kwargs)
        dtypes = [recorder.dtypes.get(id(fake)) for fake in fakes]
        pairs = zip(fakes, dtypes, strict=True)
        args, kwargs = tree_unflatten([f if d is None else f.to(d) for f, d in pairs], tree)
        with torch.autocast("cuda", enabled=False):
            plain = operator(*args, **kwargs)
    options = {}
    if isinstance(result, torch.Tensor) and result.dtype != plain.dtype:
        options["dtype"] = result.dtype
    return dtypes, options


class _CastRecorder(TorchDispatchMode):  # type: ignore[misc]  # mypy does not follow torch
    """Records the dtype that each tensor is cast to."""

    def __init__(self) -> None:
        super().__init__()
        self.dtypes: dict[int, torch.dtype] = {}

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        keywords = kwargs or {}
        if func is torch.ops.aten._to_copy.default and "dtype" in keywords:
            self.dtypes.setdefault(id(args[0]), keywords["dtype"])
        return func(*args, **keywords)
