"""GPUs: one self-checking row each, with the source of every number.

A new architecture is a row in ``nvidia.py`` or ``amd.py``, a new product one in ``products.py``.
No other code branches on a GPU's name: every difference between GPUs is a field.
"""

import re
from collections.abc import Iterator
from functools import lru_cache

from msgspec.structs import replace

from irlens.gpus.amd import ARCHS as _AMD_ARCHS
from irlens.gpus.gpu import Arch, Gpu
from irlens.gpus.nvidia import ARCHS as _NVIDIA_ARCHS
from irlens.gpus.nvidia import OLDEST_SUPPORTED
from irlens.gpus.products import ALIASES, OLDER_THAN_TRITON
from irlens.gpus.products import PRODUCTS as _PRODUCTS
from irlens.gpus.rates import RATES, Dtype
from irlens.gpus.timing import Timing, calibrated, timing_of
from irlens.model import calibration_files
from irlens.model.errors import IrlensError, UnknownNameError

__all__ = [
    "Arch",
    "Dtype",
    "Gpu",
    "Timing",
    "by_arch",
    "find",
    "gpus",
    "support_note",
    "uncalibrated",
]


def _key(name: str) -> str:
    """Normalize a name: "RTX 4090", "rtx-4090" and "rtx4090" are the same."""
    return re.sub(r"[\s_+/()-]+", "", name.lower())


#: Vendors' words before a product's name, which people write or leave out.
_VENDOR = re.compile(
    # Not "nvidiageforce": that is a driver's name, which two cards may share.
    r"^(?:nvidia(?:tesla|quadro)?|amd(?:instinct)?|geforce|tesla|quadro|instinct|radeon)(?=.*\d)"
)
_SERIES = re.compile(r"(?P<rtx>[2-5]0[5-9]0)|(?P<rx>[79]\d{3})")


def _forms(name: str) -> Iterator[str]:
    """Yield the keys that a name may have: with and without vendor's words, "4090", "7900 XTX"."""
    key = _key(name)
    yield key
    short = _VENDOR.sub("", key)
    yield short
    series = _SERIES.match(short)
    if series is not None:
        yield f"{'rtx' if series['rtx'] else 'rx'}{short}"


def _index(rows: list[tuple[str, Gpu]]) -> dict[str, Gpu]:
    """Return the rows by normalized name."""
    index: dict[str, Gpu] = {}
    for name, gpu in rows:
        other = index.setdefault(_key(name), gpu)
        if other != gpu:
            raise ValueError(f"{name!r} names both {other.name} and {gpu.name}")
    return index


_ARCHS = {
    arch.name: Gpu(arch=arch, rates=RATES.get(arch.name)) for arch in _NVIDIA_ARCHS + _AMD_ARCHS
}
_GPUS = [
    *_ARCHS.values(),
    *(
        replace(
            _ARCHS[product.arch],
            product=product,
            timing=timing_of(
                product.name,
                product.arch,
                RATES.get(product.arch),
                fp32_sums=0.5 if product.half_rate_fp32_accumulation else 1.0,
            ),
        )
        for product in _PRODUCTS
    ),
]
_BY_NAME = _index(
    [(gpu.name, gpu) for gpu in _GPUS]
    + [(driver, gpu) for gpu in _GPUS if gpu.product for driver in gpu.product.drivers]
)
_BY_ALIAS = {_key(alias): _BY_NAME[_key(name)] for alias, name in ALIASES.items()}


@lru_cache(maxsize=256)  # the entries of a cache name few
def by_arch(name: str) -> Gpu:
    """Return the GPU of an architecture, with no product.

    Args:
        name: The name in a compiler, a binary or Triton's metadata, in any case: "sm_90", "sm90",
            "90", "9.0", "sm_90a", "gfx942", "gfx942:sramecc+:xnack-". The suffixes name instruction
            sets and settings that change no limit.

    Raises:
        UnknownNameError: No row has this name.
    """
    normalized = _key(name)
    if nvidia := re.fullmatch(r"(?:sm)?(\d{1,2})\.?(\d)[af]?", normalized):
        arch = f"sm_{nvidia[1]}{nvidia[2]}"
    else:
        arch = normalized.split(":", 1)[0]
    if arch not in _ARCHS:
        raise UnknownNameError("target", name, _ARCHS)
    return _ARCHS[arch]


def find(name: str) -> Gpu:
    """Return the GPU with a name that people or drivers use.

    Args:
        name: An architecture as ``by_arch`` takes it, a product ("h100", "RTX 4090"), or the
            name that a driver reports ("NVIDIA H200"). Case, spaces, "-" and "_" do not matter, nor
            does a vendor's word before a product ("GeForce RTX 4090", "Instinct MI300X").

    Raises:
        UnknownNameError: No row has this name; the hint offers the nearest ones.
        IrlensError: A calibration that ``IRLENS_GPUS`` names is invalid.
    """
    return _with_calibration(uncalibrated(name))


@lru_cache(maxsize=256)
def uncalibrated(name: str) -> Gpu:
    """Return the GPU with a name that ``find`` takes, as irlens's own table has it.

    Raises:
        UnknownNameError: No row has this name; the hint offers the nearest ones.
    """
    for key in _forms(name):
        if gpu := _BY_NAME.get(key) or _BY_ALIAS.get(key):
            return gpu
    try:
        return by_arch(name)
    except UnknownNameError:
        names = [gpu.name for gpu in _GPUS]
        raise UnknownNameError("target", name, names, hint=_too_old(name)) from None


def _too_old(name: str) -> str | None:
    """Return a hint about an NVIDIA GPU that is older than the first in the table."""
    older = re.fullmatch(r"(?:sm)?(\d{2})", _key(OLDER_THAN_TRITON.get(_key(name), name)))
    oldest = min(int(arch.name.removeprefix("sm_")) for arch in _NVIDIA_ARCHS)
    if older is None or int(older[1]) >= oldest:
        return None
    return f"sm_{older[1]} is too old: Triton compiles for sm_{oldest} and newer"


def support_note(gpu: Gpu) -> str | None:
    """Return what Triton supports of a GPU that it compiles for, if that is not everything."""
    arch = gpu.arch
    if arch.vendor != "nvidia" or int(arch.name.removeprefix("sm_")) >= OLDEST_SUPPORTED:
        return None
    return (
        f"Triton supports NVIDIA's GPUs from sm_{OLDEST_SUPPORTED} on: for {arch.name} it compiles,"
        " without the tensor cores, and its results there are not tested"
    )


def gpus() -> list[Gpu]:
    """Return every architecture without a product, then every product.

    Raises:
        IrlensError: A calibration that ``IRLENS_GPUS`` names is invalid.
    """
    return [_with_calibration(gpu) for gpu in _GPUS]


def _with_calibration(gpu: Gpu) -> Gpu:
    """Return a GPU with the calibration of it that ``IRLENS_GPUS`` names, if any."""
    if gpu.product is None or not calibration_files.paths():
        return gpu
    known = calibration_files.by_gpu()
    for name, (path, _) in known.items():
        row = _BY_NAME.get(name)
        if row is None or row.name != name or row.timing is None:
            raise IrlensError(
                f"{path}: irlens estimates no times for a GPU '{name}'",
                hint=f"remove it from {calibration_files.VARIABLE}",
            )
    if gpu.name not in known or gpu.timing is None:
        return gpu
    path, calibration = known[gpu.name]
    try:
        return replace(gpu, timing=calibrated(gpu.timing, calibration))
    except ValueError as error:
        raise IrlensError(
            f"{path}: {error}", hint=f"remove it from {calibration_files.VARIABLE}"
        ) from error
