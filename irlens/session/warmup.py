"""Warm-up programs: scripts and lists that compile every variant of a kernel ahead."""

import math
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from irlens.compiler.calls.dtypes import DTYPE_PREFIX, DTYPES
from irlens.compiler.sources.description import find_kernel
from irlens.model.config import ConstexprValue, from_finite_or_text
from irlens.model.errors import IrlensError
from irlens.model.text import count
from irlens.model.variants import KernelVariants, Specialized, Variant, Variants
from irlens.session import is_compiled
from irlens.session.size_choice import require_choice

WARMUP_SCHEMA = 1
#: Outcomes of variants that no launch can use.
_USELESS = frozenset({"does not fit", "failed", "died", "timed out"})
_INTEGER = re.compile(r"[iu](?P<bits>\d+)")


class Pointer(msgspec.Struct, frozen=True, tag="pointer", tag_field="is"):
    """A tensor.

    Attributes:
        dtype: Its element type in Triton's language: "float16".
        aligned: Whether its address is a multiple of 16.
        small: Whether it lies within 2 GB, which AMD's compiler looks at.
    """

    dtype: str
    aligned: bool
    small: bool


class Dtype(msgspec.Struct, frozen=True, tag="dtype", tag_field="is"):
    """A dtype that is compiled in, by its name in Triton's language: "float16"."""

    dtype: str


class Launch(msgspec.Struct, frozen=True):
    """A call of ``kernel.warmup``: values of the parameters, and the compile options."""

    args: dict[str, ConstexprValue | Pointer | Dtype]
    options: dict[str, ConstexprValue]


class Kernel(msgspec.Struct, frozen=True):
    """A kernel's function, its file, relative to the list, and its launches."""

    function: str
    file: str
    arch: str
    launches: list[Launch]


class Warmup(msgspec.Struct, frozen=True):
    """What to compile ahead."""

    schema: int
    kernels: list[Kernel]


def require_warmup(kernels: Sequence[str], destination: Path) -> None:
    """Check that warm-up launches of kernels can be written to a file, before they are compiled.

    Raises:
        IrlensError: A kernel is compiled, or the file's name ends in something else.
    """
    require_choice(destination)
    for kernel in filter(is_compiled, kernels):
        raise IrlensError(
            f"{kernel} is compiled: --emit needs the kernel's source, which a warm-up compiles",
            hint="name the kernel's source",
        )


def left_out(variants: Variants) -> str:
    """Return how many variants ``warmup_of`` leaves out, and why the first; empty if none."""
    useless = [
        each for kernel in variants.kernels for each in kernel.variants
        if _is_useless(each)
    ]  # fmt: skip
    if not useless:
        return ""
    number, reason = len(useless), useless[0].reason.partition("\n")[0]
    what = f"{count(number)} {'variant' if number == 1 else 'variants'} that cannot be launched"
    return f"{what}: {reason or useless[0].outcome}"


def _is_useless(variant: Variant) -> bool:
    """Whether no launch can use a variant; not one that there was only no time to compile."""
    return variant.outcome in _USELESS or (variant.outcome is None and variant.reason != "")


def warmup_of(variants: Variants, named: str, destination: Path) -> Warmup:
    """Return the launches that compile the variants of a kernel, but for those that fail.

    Args:
        destination: The file that will hold the list.

    Raises:
        IrlensError: A variant is not listed, or needs what cannot be written: a descriptor; or
            none compiles.
    """
    source = find_kernel(named)
    folder = destination.expanduser().absolute().parent
    return Warmup(
        WARMUP_SCHEMA,
        [
            Kernel(
                each.kernel,
                os.path.relpath(source.path, folder),
                each.target.arch if each.target is not None else "",
                list(_launches(each)),
            )
            for each in variants.kernels
        ],
    )


def warmup_text(warmup: Warmup, destination: Path) -> str:
    """Return a warm-up list as JSON, or as a script if the file's name ends in ".py"."""
    text = msgspec.json.format(msgspec.json.encode(warmup), indent=2).decode()
    if destination.suffix == ".json":
        return f"{text}\n"
    # JSON escapes quotes in strings, so that no three of them end the raw string.
    return _SCRIPT.replace("@LIST@", text)


def _launches(kernel: KernelVariants) -> Iterator[Launch]:
    if len(kernel.variants) < kernel.number:
        missing = kernel.number - len(kernel.variants)
        raise IrlensError(
            f"{missing} variants of {kernel.kernel} are not listed",
            hint=f"--most {kernel.number} lists them",
        )
    usable = [each for each in kernel.variants if not _is_useless(each)]
    if not usable:
        reason = kernel.variants[0].reason.partition("\n")[0]
        raise IrlensError(f"no variant of {kernel.kernel} can be launched: {reason}")
    for variant in usable:
        yield Launch(
            {each.name: _value(kernel, each) for each in variant.specialization},
            _options(variant),
        )


def _options(variant: Variant) -> dict[str, ConstexprValue]:
    names = {each.name for each in variant.specialization}
    return {name: value for name, value in variant.options.items() if name not in names}


def _value(kernel: KernelVariants, each: Specialized) -> ConstexprValue | Pointer | Dtype:
    """Return a value that Triton specializes like this."""
    aligned = "divisible by 16" in each.properties
    if each.type is None:
        return _compiled_in(kernel, each)
    if each.type.startswith("*"):
        dtype = DTYPES.get(each.type.removeprefix("*").removeprefix("k"))
        if dtype is not None:
            return Pointer(dtype.language, aligned, "within 2 GB" in each.properties)
    integer = _INTEGER.fullmatch(each.type)
    if integer is not None:
        least = {"u64": 1 << 63, "i64": 1 << 32, "u1": 1}.get(each.type, 16)
        return each.type == "u1" or least + (0 if aligned else 1)
    if each.type.startswith(("fp", "bf")):
        return 0.5
    raise IrlensError(f"{kernel.kernel}: {each.name} is {each.type}, which --emit cannot write")


def _compiled_in(kernel: KernelVariants, each: Specialized) -> ConstexprValue | Dtype:
    value = from_finite_or_text(each.value)
    if isinstance(value, str) and value.startswith(DTYPE_PREFIX):
        return Dtype(value.removeprefix(DTYPE_PREFIX))
    # A record has a tuple and a layout as their text, and JSON has no infinity.
    is_object = isinstance(value, str) and re.search(r"[(\[<]", value) is not None
    if is_object or (isinstance(value, float) and not math.isfinite(value)):
        raise IrlensError(f"{kernel.kernel}: {each.name} is {value}, which --emit cannot write")
    return value


#: It needs nothing of irlens.
_SCRIPT = '''"""Compile every variant of some kernels into Triton's cache: run this on the GPU."""

import importlib.util
import json
from pathlib import Path

from triton.runtime.jit import JITFunction

WARMUP = json.loads(r"""
@LIST@
""")


class Pointer:
    """Answers what Triton asks of a tensor; it has no memory."""

    def __init__(self, dtype, aligned, small):
        self.dtype, self.aligned, self.small = dtype, aligned, small

    def data_ptr(self):
        return 0 if self.aligned else 1

    def ptr_range(self):
        return 0 if self.small else 1 << 40


def read(written):
    import triton.language as tl

    dtype = getattr(tl, written["dtype"])
    if written["is"] == "dtype":
        return dtype
    return Pointer(dtype, written["aligned"], written["small"])


def warm_up(warmup=WARMUP, folder=Path(__file__).parent):
    """Compile every launch; return how many there were."""
    modules, number = {}, 0
    for kernel in warmup["kernels"]:
        path = (folder / kernel["file"]).resolve()
        if path not in modules:
            spec = importlib.util.spec_from_file_location(path.stem, path)
            modules[path] = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(modules[path])
        function = getattr(modules[path], kernel["function"])
        while not isinstance(function, JITFunction):
            function = function.fn
        for launch in kernel["launches"]:
            values = {
                name: read(value) if isinstance(value, dict) else value
                for name, value in launch["args"].items()
            }
            function.warmup(grid=(1,), **values, **launch["options"])
            number += 1
    return number


if __name__ == "__main__":
    print(f"compiled {warm_up()} variants")
'''
