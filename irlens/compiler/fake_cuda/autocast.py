"""``torch.autocast`` for tensors that are pretended to be on "cuda".

PyTorch autocasts by the device of each tensor, and has nothing for "meta". So it is asked what it
would do on "cuda", with fake tensors there; the tensors at hand are then cast as those were.
"""

from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_unflatten

from irlens.compiler.fake_cuda import NoGpuError
from irlens.compiler.fake_cuda.operators import overload_of, registering

#: The place among PyTorch's dispatch keys where this is done: that of a device that is not there.
_KEY = "AutocastXPU"


def autocast_absent() -> None:
    """Let autocasting reach pretended tensors, in the whole process and for good."""
    key = getattr(torch._C.DispatchKey, _KEY)
    with registering() as kernels:
        for name in torch._C._dispatch_get_registrations_for_dispatch_key("AutocastCUDA"):
            space, _, operator = name.partition("::")
            if space == "aten":
                kernels.impl(operator, _casting(overload_of(operator), key), _KEY)
        for name in _RECURRENT:
            kernels.impl(name, _refuse, _KEY)
    enter, leave = torch.autocast.__enter__, torch.autocast.__exit__

    def follow() -> None:
        enabled = torch.is_autocast_enabled("cuda")
        torch._C._dispatch_tls_set_dispatch_key_included(key, enabled)
        torch._C._dispatch_tls_set_dispatch_key_excluded(key, not enabled)

    def entered(self: Any) -> Any:
        answer = enter(self)
        follow()
        return answer

    def left(self: Any, *error: Any) -> Any:
        answer = leave(self, *error)
        follow()
        return answer

    torch.autocast.__enter__ = entered
    torch.autocast.__exit__ = left


#: What cuDNN computes, and PyTorch casts for it alone.
_RECURRENT = [
    f"{name}.{kind}"
    for name in ("lstm", "gru", "rnn_tanh", "rnn_relu")
    for kind in ("input", "data")
]


def _refuse(*args: object, **kwargs: object) -> None:
    raise NoGpuError("what torch.autocast('cuda') makes of a recurrent network")


def _casting(operator: Any, key: Any) -> Any:
    """Return what casts the arguments of an operator, and then calls it."""
    keys = torch._C.DispatchKeySet(key)
    #: What has been asked before, by all that it depends on.
    casts: dict[Any, tuple[list[torch.dtype | None], dict[str, Any]]] = {}

    def cast(*args: Any, **kwargs: Any) -> Any:
        with torch._C._ExcludeDispatchKeyGuard(keys):
            leaves, tree = tree_flatten((args, kwargs))
            if not any(type(leaf) in _PLAIN and leaf.is_meta for leaf in leaves):
                return operator(*args, **kwargs)
            kinds = tuple(_kind(leaf) for leaf in leaves)
            asked = (kinds, torch.get_autocast_dtype("cuda"), kwargs.get("dtype"))
            if asked not in casts:
                casts[asked] = _ask(operator, leaves, tree)
            dtypes, options = casts[asked]
            pairs = zip(leaves, dtypes, strict=True)
            given = [leaf if dtype is None else leaf.to(dtype) for leaf, dtype in pairs]
            args, kwargs = tree_unflatten(given, tree)
            return operator(*args, **kwargs, **options)

    return cast


_PLAIN = (torch.Tensor, torch.nn.Parameter)


def _kind(leaf: Any) -> Any:
    return (leaf.dtype, leaf.is_meta) if isinstance(leaf, torch.Tensor) else type(leaf)


def _ask(
    operator: Any, leaves: list[Any], tree: Any
) -> tuple[list[torch.dtype | None], dict[str, Any]]:
    """Return to what each leaf is cast on "cuda", and the options that are given besides."""
    with torch.no_grad(), FakeTensorMode(), _Casts() as seen:
        fakes = [_fake(leaf) for leaf in leaves]
        args, kwargs = tree_unflatten(fakes, tree)
        answer = operator(*args, **kwargs)
        dtypes = [seen.dtypes.get(id(fake)) for fake in fakes]
        pairs = zip(fakes, dtypes, strict=True)
        args, kwargs = tree_unflatten([f if d is None else f.to(d) for f, d in pairs], tree)
        with torch.autocast("cuda", enabled=False):
            plain = operator(*args, **kwargs)
    options = {}
    if isinstance(answer, torch.Tensor) and answer.dtype != plain.dtype:
        options["dtype"] = answer.dtype
    return dtypes, options


def _fake(leaf: Any) -> Any:
    """Return a fake tensor for one."""
    if not isinstance(leaf, torch.Tensor):
        return leaf
    device = "cuda" if leaf.is_meta else leaf.device
    return torch.empty_strided(leaf.shape, leaf.stride(), dtype=leaf.dtype, device=device)


class _Casts(TorchDispatchMode):  # type: ignore[misc]  # mypy does not follow torch
    """Watches what is cast, and to what."""

    def __init__(self) -> None:
        super().__init__()
        self.dtypes: dict[int, torch.dtype] = {}

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        given = kwargs or {}
        if func is torch.ops.aten._to_copy.default and "dtype" in given:
            self.dtypes.setdefault(id(args[0]), given["dtype"])
        return func(*args, **given)
