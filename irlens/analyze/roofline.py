"""The roofline model: the least time of a launch on a GPU (Williams et al., CACM 52(4), 2009).

Peaks are theoretical, units of different kinds work at the same time, and caches are cold. Bytes
that a kernel leaves in the L2 are counted, since it evicts what those before it left there.
"""

from collections.abc import Collection, Mapping
from typing import Literal

from irlens.gpus import Dtype, Gpu
from irlens.gpus.rates import Unit
from irlens.model.traffic import Roofline


def roofline(
    gpu: Gpu,
    traffic: int | None,
    tensor: Mapping[Dtype, int] | None,
    vector: Mapping[Dtype, int] | None,
    in_fp32: Collection[Dtype] = (),
) -> Roofline:
    """Return the roofline of a launch.

    Args:
        traffic: Bytes that DRAM must deliver and take, each once; ``None`` if unknown.
        tensor: Operations of tensor cores by the operands' type, a multiply-add being two;
            ``None`` if unknown.
        in_fp32: The types whose products are all accumulated in fp32.
    """
    reasons = []
    memory = compute = None
    compute_type = ""
    if traffic is None:
        reasons.append("the bytes are unknown")
    elif (bandwidth := gpu.product.bandwidth if gpu.product else None) is None:
        reasons.append(f"the memory bandwidth of {gpu.name} is unknown")
    else:
        memory = traffic / bandwidth * 1e6
    if tensor is None or vector is None:
        reasons.append("the operations are unknown")
    else:
        missing = _missing(gpu, tensor, "tensor") + _missing(gpu, vector, "vector")
        if missing:
            reasons.append(f"the peak of {' and '.join(missing)} on {gpu.name} is unknown")
        else:
            compute, compute_type = _compute(gpu, tensor, vector, in_fp32)
    floor: float | None = None
    bound: Literal["memory", "compute"] | None = None
    if memory is not None and compute is not None:
        floor = max(memory, compute)
        bound = "memory" if memory >= compute else "compute"
    return Roofline(
        memory_us=memory,
        compute_us=compute,
        floor_us=floor,
        bound=bound,
        compute_type=compute_type,
        flops_per_byte=_intensity(traffic, tensor, vector),
        reason="; ".join(reasons) or None,
    )


def _compute(
    gpu: Gpu,
    tensor: Mapping[Dtype, int],
    vector: Mapping[Dtype, int],
    in_fp32: Collection[Dtype],
) -> tuple[float, str]:
    """Return the least time of operations whose peaks are known, and which take so long.

    Tensor cores work on one product at a time; vector units of different types may be different
    units.
    """
    products = {
        f"{dtype} tensor": _seconds(
            gpu.peak_flops(dtype, "tensor", in_fp32=dtype in in_fp32), count
        )
        for dtype, count in tensor.items()
    }
    others = {
        str(dtype): _seconds(gpu.peak_flops(dtype, "vector"), count)
        for dtype, count in vector.items()
    }
    together = sum(products.values())
    alone = max(others.values(), default=0.0)
    slowest = products if together > alone else others
    longest = max(slowest.items(), key=lambda each: each[1], default=("", 0.0))
    return max(together, alone) * 1e6, longest[0] if longest[1] else ""


def _seconds(peak: float | None, count: int) -> float:
    return count / peak if peak else 0.0


def _missing(gpu: Gpu, counts: Mapping[Dtype, int], unit: Unit) -> list[str]:
    """Return the types with operations whose peak is unknown."""
    return [
        f"{unit} {dtype}"
        for dtype, count in counts.items()
        if count and gpu.peak_flops(dtype, unit) is None
    ]


def _intensity(
    traffic: int | None, tensor: Mapping[Dtype, int] | None, vector: Mapping[Dtype, int] | None
) -> float | None:
    if not traffic or tensor is None or vector is None:
        return None
    return (sum(tensor.values()) + sum(vector.values())) / traffic
