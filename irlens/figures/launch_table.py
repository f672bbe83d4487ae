"""The figures of a launch: its traffic of global memory, its roofline and its estimated time."""

from typing import Final

from irlens.figures.figure import Figure
from irlens.model.estimate import BOUND_NAMES, RESOLUTION
from irlens.model.text import percent

_REQUESTS: Final = "each instruction of a warp with an active lane being one"
_SECTORS: Final = "32 bytes (AMD: a cache line) each, once for every request that touches it"

TRAFFIC: Final = (
    Figure(
        path="traffic.load_sectors", title="sectors loaded", unit="count", importance="much",
        better="less", needs="traffic", sweep="load_sectors", amd="lines loaded",
        documentation=f"Sectors of global memory that loads touch, {_SECTORS}.",
    ),
    Figure(
        path="traffic.store_sectors", title="sectors stored", unit="count", importance="much",
        better="less", needs="traffic", sweep="store_sectors", amd="lines stored",
        documentation=f"Sectors of global memory that stores touch, {_SECTORS}.",
    ),
    Figure(
        path="traffic.read_bytes", title="bytes read", unit="bytes", importance="some",
        better="less", needs="traffic", sweep="read_bytes",
        documentation="Bytes of global memory that the launch reads, each as often as it is read.",
    ),
    Figure(
        path="traffic.written_bytes", title="bytes written", unit="bytes", importance="some",
        better="less", needs="traffic", sweep="written_bytes",
        documentation="Bytes of global memory that the launch writes, each as often as it is "
        "written.",
    ),
    Figure(
        path="traffic.distinct_read_bytes", title="distinct bytes read", unit="bytes",
        importance="some", better="less", needs="traffic", sweep="distinct_read_bytes",
        documentation="Bytes of global memory that the launch reads, each counted once over the "
        "whole grid.",
    ),
    Figure(
        path="traffic.distinct_written_bytes", title="distinct bytes written", unit="bytes",
        importance="some", better="less", needs="traffic", sweep="distinct_written_bytes",
        documentation="Bytes of global memory that the launch writes, each counted once over the "
        "whole grid.",
    ),
    Figure(
        path="traffic.wave_read_bytes", title="distinct bytes read per wave", unit="bytes",
        importance="little", better="less", needs="traffic", sweep="wave_read_bytes",
        amd="distinct bytes read per round",
        documentation="Bytes of global memory that the launch reads, each counted once in every "
        "wave of programs, which is what DRAM delivers if the L2 keeps nothing between waves.",
    ),
    Figure(
        path="traffic.load_requests", title="load requests", unit="count", importance="some",
        better="less", needs="traffic", sweep="load_requests",
        documentation=f"Requests of warps that load from global memory, {_REQUESTS}.",
    ),
    Figure(
        path="traffic.store_requests", title="store requests", unit="count", importance="some",
        better="less", needs="traffic", sweep="store_requests",
        documentation=f"Requests of warps that store to global memory, {_REQUESTS}.",
    ),
    Figure(
        path="traffic.ideal_load_sectors", title="ideal sectors loaded", unit="count",
        importance="little", better="less", needs="traffic", amd="ideal lines loaded",
        documentation="The fewest sectors that hold as many bytes as each program loads.",
    ),
    Figure(
        path="traffic.ideal_store_sectors", title="ideal sectors stored", unit="count",
        importance="little", better="less", needs="traffic", amd="ideal lines stored",
        documentation="The fewest sectors that hold as many bytes as each program stores.",
    ),
)  # fmt: skip

ROOFLINE: Final = (
    Figure(
        path="roofline.floor_us", title="roofline floor", unit="us", importance="some",
        better="less", needs="roofline", sweep="floor_us",
        documentation="Lower bound of the launch's time, the larger of the memory floor and the "
        "compute floor.",
    ),
    Figure(
        path="roofline.bound", title="roofline bound", unit="word", importance="some",
        needs="roofline",
        documentation="Which floor is the larger one, that of memory or that of compute.",
    ),
    Figure(
        path="roofline.memory_us", title="memory floor", unit="us", importance="little",
        better="less", needs="roofline", sweep="memory_us",
        documentation="Time of the launch's distinct bytes at the DRAM's theoretical bandwidth.",
    ),
    Figure(
        path="roofline.compute_us", title="compute floor", unit="us", importance="little",
        better="less", needs="roofline", sweep="compute_us",
        documentation="Time of the launch's floating-point operations at their units' peak rates.",
    ),
    Figure(
        path="roofline.flops_per_byte", title="operations per byte", unit="factor",
        importance="little", needs="roofline", sweep="flops_per_byte",
        documentation="Floating-point operations for each distinct byte of the launch.",
    ),
)  # fmt: skip

TIME: Final = (
    Figure(
        path="time.estimate_us", title="estimated time", short="est. time", unit="us",
        importance="much", better="less", needs="time", tolerance=RESOLUTION, in_baseline=True,
        sweep="time", sweep_column=7,
        documentation="Time that the launch is estimated to take with cold caches, from the "
        "schedule of its machine code, its traffic and the GPU's rates; estimates within "
        f"{percent(RESOLUTION)} of each other do not tell which is the faster.",
    ),
    Figure(
        path="time.low_us", title="least estimated time", unit="us", importance="little",
        better="less", needs="time", tolerance=RESOLUTION, sweep="time_low",
        documentation="Lower end of the range that holds the time of nine in ten kernels.",
    ),
    Figure(
        path="time.high_us", title="greatest estimated time", unit="us", importance="little",
        better="less", needs="time", tolerance=RESOLUTION, sweep="time_high",
        documentation="Upper end of the range that holds the time of nine in ten kernels.",
    ),
    Figure(
        path="time.bound", title="bound of the time", unit="word", importance="some", needs="time",
        words=BOUND_NAMES,
        documentation="The busiest unit, if it is busy for 60 % of the time that CTAs run or more; "
        "or else what would take longest alone: a unit, the latency of the CTAs, or the launch.",
    ),
)  # fmt: skip
