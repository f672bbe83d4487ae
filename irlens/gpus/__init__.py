"""GPUs: one self-checking row each, with the source of every number.

A new architecture is a row in ``nvidia.py`` or ``amd.py``, a new product one in ``products.py``.
Nothing below this package asks for a GPU's name: what differs between GPUs is a field.
"""

import re

from irlens.gpus.amd import ARCHS as _AMD_ARCHS
from irlens.gpus.gpu import Arch, Gpu, Product, ScalarFile
from irlens.gpus.nvidia import ARCHS as _NVIDIA_ARCHS
from irlens.gpus.products import PRODUCTS as _PRODUCTS
from irlens.model.errors import UnknownNameError

__all__ = ["Arch", "Gpu", "Product", "ScalarFile", "by_arch", "find", "gpus"]


def _key(name: str) -> str:
    """Fold the ways of writing a name: "RTX 4090" is "rtx-4090" is "rtx4090"."""
    return re.sub(r"[\s_-]+", "", name.lower())


def _index(rows: list[tuple[str, Gpu]]) -> dict[str, Gpu]:
    """Return the rows by folded name.

    Raises:
        ValueError: Two GPUs answer to one name.
    """
    index: dict[str, Gpu] = {}
    for name, gpu in rows:
        known = index.setdefault(_key(name), gpu)
        if known != gpu:
            raise ValueError(f"{name!r} names both {known.name} and {gpu.name}")
    return index


_ARCHS = {arch.name: Gpu(arch=arch) for arch in _NVIDIA_ARCHS + _AMD_ARCHS}
_GPUS = [
    *_ARCHS.values(),
    *(Gpu(arch=_ARCHS[product.arch].arch, product=product) for product in _PRODUCTS),
]
_BY_NAME = _index(
    [(gpu.name, gpu) for gpu in _GPUS]
    + [(driver, gpu) for gpu in _GPUS if gpu.product for driver in gpu.product.drivers]
)


def by_arch(name: str) -> Gpu:
    """Return the GPU of an architecture, with no product.

    Args:
        name: What a compiler, a binary or Triton's metadata says, in any case: "sm_90", "sm90",
            "90", "9.0", "sm_90a", "gfx942", "gfx942:sramecc+:xnack-". The suffixes name instruction
            sets and settings that change no limit.

    Raises:
        UnknownNameError: No row has this name.
    """
    folded = _key(name)
    if nvidia := re.fullmatch(r"(?:sm)?(\d{1,2})\.?(\d)[af]?", folded):
        arch = f"sm_{nvidia[1]}{nvidia[2]}"
    else:
        arch = folded.split(":", 1)[0]
    if arch not in _ARCHS:
        raise UnknownNameError("target", name, _ARCHS)
    return _ARCHS[arch]


def find(name: str) -> Gpu:
    """Return the GPU of a name that people or drivers use.

    Args:
        name: An architecture as ``by_arch`` takes it, a product ("h100", "RTX 4090"), or the
            name that a driver reports ("NVIDIA H200"). Case, spaces, "-" and "_" do not matter.

    Raises:
        UnknownNameError: No row has this name; the hint offers the nearest ones.
    """
    if gpu := _BY_NAME.get(_key(name)):
        return gpu
    try:
        return by_arch(name)
    except UnknownNameError:
        raise UnknownNameError("target", name, (gpu.name for gpu in _GPUS)) from None


def gpus() -> list[Gpu]:
    """Return every architecture without a product, then every product."""
    return list(_GPUS)
