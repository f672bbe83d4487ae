"""Compile generated kernels as TorchInductor does: for given types, in its configurations."""

import importlib
import inspect
import re
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.machinery import PathFinder
from typing import Any

import triton
from triton.compiler import ASTSource

from irlens import gpus
from irlens.compiler.compiler_output import restored_environment
from irlens.compiler.sources.absent_imports import remedy
from irlens.compiler.sources.inductor import GeneratedKernel
from irlens.compiler.triton_compat.jit import Kernel, Values
from irlens.compiler.triton_compat.tensors import PlaceholderTensor
from irlens.model.config import Target
from irlens.model.errors import CaptureError

#: Arguments of ``triton.Config`` that are not parameters of the kernel.
_CONFIG_OPTIONS = ("num_warps", "num_stages", "num_ctas", "maxnreg")
_MAX_AUTOTUNE = ("max_autotune", "max_autotune_pointwise")
_ENUM = re.compile(r"(ReductionHint|TileHint|AutotuneHint)\.(\w+)")
#: What another version's heuristics may raise about metadata that they do not expect.
_UNEXPECTED = (
    ArithmeticError, AssertionError, AttributeError, ImportError, LookupError, NameError,
    RuntimeError, TypeError, ValueError,
)  # fmt: skip


def specialized(kernel: Kernel, generated: GeneratedKernel, target: Target | None) -> Kernel:
    """Return a generated kernel with its types, and its configurations as an autotuner's.

    Without PyTorch, the kernels that its heuristics choose configurations for have none.

    Args:
        target: The GPU to choose for; ``None`` for the one that the decorator names.
    """
    configs = _fixed_configurations(generated)
    reason = None
    if configs is None and PathFinder.find_spec("torch") is None:
        reason = f"PyTorch's heuristics choose them: {remedy(['torch'])}"
    elif configs is None:
        try:
            configs = _heuristic_configurations(kernel, generated, target)
        except _UNEXPECTED as error:
            reason = f"the installed PyTorch's heuristics refuse the kernel's metadata: {error}"
    tuner = (triton.autotune(configs=configs, key=[])(kernel.function),) if configs else ()
    return Kernel(tuner, kernel.function, generated.specialization, reason)


def compile_specialized(kernel: Kernel, args: Values, settings: Values) -> Any:
    """Compile a kernel for its types instead of values; return Triton's ``CompiledKernel``.

    Args:
        args: Values of run-time arguments, where they are known.

    Raises:
        CaptureError: A value contradicts the types.
    """
    function, specialization = kernel.function, kernel.specialization
    assert specialization is not None
    parameters = {p.name: p for p in function.params}
    constants = dict(specialization.constants)
    constants |= {n: p.default for n, p in parameters.items() if p.is_constexpr and p.has_default}
    constants |= {n: v for n, v in settings.items() if n in parameters}
    attributes = {n: v for n, v in specialization.attributes.items() if n not in constants}
    signature = {
        name: "constexpr" if name in constants else _type(name, specialization.types[name], args)
        for name in parameters
    }
    for name, value in args.items():
        divisors = dict(attributes.get(name, ()))
        divisor = divisors.get("tt.divisibility")
        if divisor and isinstance(value, int) and value % divisor:
            raise CaptureError(
                f"{kernel.name} was generated for {name} divisible by {divisor}, and {value} is not"
            )
    order = list(parameters)
    source = ASTSource(
        function,
        signature,
        constants,
        {(order.index(n),): [list(each) for each in v] for n, v in attributes.items()},
    )
    options = {n: v for n, v in settings.items() if n not in parameters}
    return triton.compile(source, options=options)


def _type(name: str, generated: str, args: Values) -> str:
    """Return the type of an argument: another tensor's where the user gives one."""
    value = args.get(name)
    if isinstance(value, PlaceholderTensor) and generated.startswith("*"):
        return f"*{value.signature}"
    return generated


def _fixed_configurations(generated: GeneratedKernel) -> list[triton.Config] | None:
    """Return the configurations that the file says, ``None`` where heuristics choose them."""
    arguments = generated.arguments
    match generated.heuristic:
        case "template":
            return [_config({n: arguments[n] for n in _CONFIG_OPTIONS if n in arguments})]
        case "fixed_config":
            return [_config(arguments.get("config") or {})]
        case "user_autotune":
            return [_config(each) for each in arguments.get("configs") or [{}]]
        case "foreach":
            tuned = any((arguments.get("inductor_meta") or {}).get(n) for n in _MAX_AUTOTUNE)
            warps = (1, 2, 4, 8) if tuned else (8,)
            return [_config({"num_stages": 1, "num_warps": each}) for each in warps]
    return None


def _config(values: dict[str, Any]) -> triton.Config:
    options = {n: values[n] for n in _CONFIG_OPTIONS if values.get(n) is not None}
    return triton.Config({n: v for n, v in values.items() if n not in _CONFIG_OPTIONS}, **options)


def _heuristic_configurations(
    kernel: Kernel, generated: GeneratedKernel, target: Target | None
) -> list[triton.Config]:
    """Return the configurations that the installed PyTorch's heuristics choose."""
    heuristics = importlib.import_module("torch._inductor.runtime.triton_heuristics")
    hints = importlib.import_module("torch._inductor.runtime.hints")
    names = [param.name for param in kernel.function.params]
    choose = getattr(heuristics, generated.heuristic)
    taken = inspect.signature(choose).parameters
    arguments = {n: _converted(hints, v) for n, v in generated.arguments.items() if n in taken}
    meta, inductor = arguments["triton_meta"], dict(arguments.get("inductor_meta") or {})
    device = _device(hints, meta.get("device") or {}, target)
    inductor["autotune_hints"] = set(inductor.get("autotune_hints") or ())
    # No other process's choice, and none left behind for another.
    inductor |= {
        "autotune_local_cache": False,
        "autotune_remote_cache": False,
        "force_disable_caches": True,
    }
    arguments |= {
        "size_hints": _size_hints(
            arguments.get("size_hints"),
            ("y", "x", "r0_") if "reduction" in generated.heuristic else ("z", "y", "x"),
        ),
        "triton_meta": {
            **meta,
            "signature": dict(generated.specialization.types),
            "constants": dict(generated.specialization.constants),
            "device": device,
        },
        "inductor_meta": inductor,
        "filename": "generated.py",
    }
    with _as_on_device(device.type):
        tuner = choose(**arguments)(kernel.function)
    old = {"R0_BLOCK": "RBLOCK"} if "RBLOCK" in names else {}
    return [
        triton.Config(
            {old.get(n, n): v for n, v in config.kwargs.items()},
            num_warps=config.num_warps,
            num_stages=config.num_stages,
        )
        for config in tuner.configs
    ]


def _converted(hints: Any, value: Any) -> Any:
    """Return a literal of the decorator with PyTorch's enumerations in the place of their names."""
    if isinstance(value, dict):
        return {key: _converted(hints, inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_converted(hints, inner) for inner in value]
    match = _ENUM.fullmatch(value) if isinstance(value, str) else None
    return getattr(getattr(hints, match[1]), match[2]) if match else value


def _size_hints(hints: Any, axes: tuple[str, ...]) -> dict[str, int]:
    """Return the sizes by axis: a list up to PyTorch 2.5, and with one axis "r" up to 2.6."""
    if isinstance(hints, list):
        return dict(zip(axes[-len(hints) :], hints, strict=True))
    return {("r0_" if axis == "r" else axis): size for axis, size in (hints or {}).items()}


def _device(hints: Any, generated_for: dict[str, Any], target: Target | None) -> Any:
    """Return the device to choose for: the target where the kernel was generated for another."""
    known: dict[str, Any] = {"type": "cuda", "index": 0, "multi_processor_count": 108, "cc": 80}
    known |= {n: v for n, v in generated_for.items() if n in hints.DeviceProperties._fields}
    if target is None:
        return hints.DeviceProperties(**known)
    row = gpus.find(target.name)
    arch = row.arch
    kind: str
    capability: int | str
    major: int | None
    if target.vendor == "amd":
        kind, capability, major = "hip", arch.name, None
    else:
        number = int(arch.name.removeprefix("sm_"))
        kind, capability, major = "cuda", number, number // 10
    is_same = known["type"] == kind and str(known["cc"]).partition(":")[0] == str(capability)
    if not is_same:
        known |= {
            "type": kind,
            "cc": capability,
            "major": major,
            "multi_processor_count": row.sm_count or known["multi_processor_count"],
            "regs_per_multiprocessor": arch.registers_per_sm,
            "max_threads_per_multi_processor": arch.warps_per_sm * arch.warp_size,
            "warp_size": arch.warp_size,
        }
    fields = hints.DeviceProperties._fields
    return hints.DeviceProperties(**{n: v for n, v in known.items() if n in fields})


@contextmanager
def _as_on_device(kind: str) -> Iterator[None]:
    """Let PyTorch's heuristics find a GPU of the vendor, and undo what they set.

    They ask whether there is one, and whether PyTorch is a build for AMD; the autotuner puts the
    folder of Triton's cache into the environment.
    """
    import torch

    available, hip = torch.cuda.is_available, torch.version.hip
    torch.cuda.is_available = lambda: True
    torch.version.hip = (hip or "6.4") if kind == "hip" else None
    try:
        with restored_environment():
            yield
    finally:
        torch.cuda.is_available, torch.version.hip = available, hip
