"""How many floating-point operations a multiprocessor does per clock, by architecture.

A fused multiply-add is two operations, and matrices are dense. A product's peak is this, times its
units, times its clock. The tests hold the peaks against the vendors' data sheets.
"""

from collections.abc import Mapping
from typing import Literal, TypeAlias

import msgspec


def require(checks: Mapping[str, object], row: str = "") -> None:
    """Raise ``ValueError`` about a row, with the complaint of every check that does not hold."""
    failed = "; ".join(complaint for complaint, holds in checks.items() if not holds)
    if failed:
        raise ValueError(f"{row}: {failed}" if row else failed)


#: Type of the operands; of a tensor core's ("matrix core's") products whatever it accumulates in.
Dtype: TypeAlias = Literal["fp64", "fp32", "tf32", "bf16", "fp16", "fp8", "fp4", "int8"]

#: The units of an SM or a CU that compute: tensor cores ("matrix cores"), or all others.
Unit: TypeAlias = Literal["tensor", "vector"]

#: Types of elements by whose rate products of them run.
_RATES_OF: dict[str, Dtype] = {
    **{name: name for name in ("fp64", "fp32", "tf32", "bf16", "fp16", "int8")},
    "e2m1": "fp4",
}


def rate_of(element: str) -> Dtype | None:
    """Return the type by whose rate products of an element type run: "fp8" of "e4m3"."""
    if element.startswith(("e4m3", "e5m2", "e2m3", "e3m2")):
        return "fp8"
    return _RATES_OF.get(element)


class Rates(msgspec.Struct, frozen=True, kw_only=True):
    """Operations per clock of one unit, as the vendor counts units. Constructing a row checks it.

    Attributes:
        tensor: Of the tensor cores, by the operands' type; a type that is missing is unsupported.
        vector: Of the vector lanes; a type that is missing is not known.
        source: The source of these numbers.

    Raises:
        ValueError: The row is not plausible.
    """

    tensor: dict[Dtype, int]
    vector: dict[Dtype, int]
    source: str

    def of(self, unit: Unit) -> dict[Dtype, int]:
        """Return the operations of a unit by their type."""
        return self.tensor if unit == "tensor" else self.vector

    def __post_init__(self) -> None:
        rates = [*self.tensor.values(), *self.vector.values()]
        narrowing = [self.tensor[d] for d in ("tf32", "fp16", "fp8", "fp4") if d in self.tensor]
        checks = {
            "a rate is not positive": all(rate > 0 for rate in rates),
            "a rate is odd: a fused multiply-add is two": all(rate % 2 == 0 for rate in rates),
            "no rate of fp32": "fp32" in self.vector,
            "a narrower type is slower": narrowing == sorted(narrowing),
            "vectors are faster than matrices": self.vector.get("fp32", 0)
            <= self.tensor.get("fp16", 1 << 30),
            "no source": self.source,
        }
        require(checks, f"rates of {self.source!r}")


_VOLTA = Rates(
    tensor={"fp16": 1024},
    vector={"fp64": 64, "fp32": 128, "fp16": 256},
    source="NVIDIA, 'Tesla V100 GPU Architecture', tensor cores: 64 FMA of each per clock",
)
_TURING = Rates(
    tensor={"fp16": 1024, "int8": 2048},
    vector={"fp64": 4, "fp32": 128, "fp16": 256},
    source="NVIDIA, 'Turing GPU Architecture', table of the Tesla T4",
)
_A100 = Rates(
    tensor={"fp64": 128, "tf32": 1024, "bf16": 2048, "fp16": 2048, "int8": 4096},
    vector={"fp64": 64, "fp32": 128, "bf16": 256, "fp16": 512},
    source="NVIDIA, 'A100 Tensor Core GPU Architecture', table of peaks",
)
_GA10X = Rates(
    tensor={"tf32": 512, "bf16": 1024, "fp16": 1024, "int8": 2048},
    vector={"fp64": 4, "fp32": 256, "bf16": 256, "fp16": 256},
    source="NVIDIA, 'Ampere GA102 GPU Architecture', table of peaks",
)
_ADA = Rates(
    tensor={"tf32": 512, "bf16": 1024, "fp16": 1024, "fp8": 2048, "int8": 2048},
    vector={"fp64": 4, "fp32": 256, "bf16": 256, "fp16": 256},
    source="NVIDIA, 'Ada GPU Architecture', table of peaks",
)
_HOPPER = Rates(
    tensor={"fp64": 256, "tf32": 2048, "bf16": 4096, "fp16": 4096, "fp8": 8192, "int8": 8192},
    vector={"fp64": 128, "fp32": 256, "bf16": 512, "fp16": 512},
    source="NVIDIA, 'H100 Tensor Core GPU Architecture', table of peaks",
)
_B200 = Rates(
    tensor={"tf32": 4096, "bf16": 8192, "fp16": 8192, "fp8": 16384, "fp4": 32768, "int8": 16384},
    vector={"fp64": 128, "fp32": 256},
    source="NVIDIA, HGX B200 data sheet; Triton, third_party/proton, specs.py: 16,384 of 8 bits",
)
_B300 = Rates(
    tensor={"tf32": 4096, "bf16": 8192, "fp16": 8192, "fp8": 16384, "fp4": 49152},
    vector={"fp32": 256},
    source="NVIDIA, 'Inside NVIDIA Blackwell Ultra': 15 PFLOP/s of dense NVFP4, 1.5 times the "
    "B200's; HGX B300 data sheet: others as the B200's, but int8 and fp64, whose rates it does not "
    "state for one GPU",
)
_RTX_BLACKWELL = Rates(
    tensor={"tf32": 512, "bf16": 1024, "fp16": 1024, "fp8": 2048, "fp4": 4096, "int8": 2048},
    vector={"fp64": 4, "fp32": 256, "bf16": 256, "fp16": 256},
    source="NVIDIA, 'RTX Blackwell GPU Architecture', table of peaks",
)
_CDNA1 = Rates(
    tensor={"fp32": 256, "bf16": 512, "fp16": 1024, "int8": 1024},
    vector={"fp64": 64, "fp32": 128},
    source="AMD, 'CDNA Architecture', table of operations per clock and CU",
)
_CDNA2 = Rates(
    tensor={"fp64": 256, "fp32": 256, "bf16": 1024, "fp16": 1024, "int8": 1024},
    vector={"fp64": 128, "fp32": 256},
    source="AMD, 'CDNA 2 Architecture', table of operations per clock and CU; packed fp32",
)
_CDNA3 = Rates(
    tensor={
        "fp64": 256,
        "fp32": 256,
        "tf32": 1024,
        "bf16": 2048,
        "fp16": 2048,
        "fp8": 4096,
        "int8": 4096,
    },
    vector={"fp64": 128, "fp32": 256},
    source="AMD, 'CDNA 3 Architecture', table of operations per clock and CU",
)
_CDNA4 = Rates(
    tensor={
        "fp64": 128,
        "fp32": 256,
        "bf16": 4096,
        "fp16": 4096,
        "fp8": 8192,
        "fp4": 16384,
        "int8": 8192,
    },
    vector={"fp64": 128, "fp32": 256},
    source="AMD, 'CDNA 4 Architecture', table of operations per clock and CU",
)
_RDNA3 = Rates(
    tensor={"bf16": 512, "fp16": 512, "int8": 512},
    vector={"fp32": 256, "fp16": 512},
    source="AMD, GPUOpen, 'How to accelerate AI applications on RDNA 3 using WMMA'; dual issue",
)
_RDNA4 = Rates(
    tensor={"bf16": 1024, "fp16": 1024, "fp8": 2048, "int8": 2048},
    vector={"fp32": 256, "fp16": 512},
    source="AMD, Radeon RX 9070 XT, product specifications: peaks without sparsity; dual issue",
)

#: By architecture; one that is missing has no document that gives its rates.
RATES: dict[str, Rates] = {
    "sm_70": _VOLTA,
    "sm_75": _TURING,
    "sm_80": _A100,
    "sm_86": _GA10X,
    "sm_89": _ADA,
    "sm_90": _HOPPER,
    "sm_100": _B200,
    "sm_103": _B300,
    "sm_120": _RTX_BLACKWELL,
    "gfx908": _CDNA1,
    "gfx90a": _CDNA2,
    "gfx942": _CDNA3,
    "gfx950": _CDNA4,
    **dict.fromkeys(("gfx1100", "gfx1101", "gfx1102"), _RDNA3),
    **dict.fromkeys(("gfx1200", "gfx1201"), _RDNA4),
}
