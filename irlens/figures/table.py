"""Every figure of a report, one row each, by subject; those of loops and launches next door.

Comparisons list figures of equal importance in this order. To add a figure: add its field to the
record, compute it, add its row here; every format, the TUI, budgets, the JSON Schema and the
reference read the row.
"""

from typing import Final

from irlens.figures import derived
from irlens.figures.figure import Figure
from irlens.figures.launch_table import ROOFLINE, TIME, TRAFFIC
from irlens.figures.loop_table import LOADS, PIPELINES
from irlens.model.config import Vendor

_LIMIT_WORDS = {"warps": "waves", "blocks": "workgroups", "shared_memory": "LDS"}

_FIT: Final = (
    Figure(
        path="occupancy.launchable", title="can launch", unit="word", importance="much",
        better="more", gates=True, in_baseline=True,
        documentation="Whether at least one CTA fits on an SM.",
    ),
    Figure(
        path="occupancy.theoretical", title="occupancy", unit="ratio", importance="much",
        better="more", always_shown=True, gates=True, in_baseline=True, column=1,
        aliases=("occupancy",), sweep="occupancy",
        documentation="Resident warps per SM over the most that an SM can hold, 0 to 1.",
    ),
    Figure(
        path="occupancy.blocks_per_sm", per="CTA", title="blocks per SM", unit="count",
        importance="some",
        better="more", in_baseline=True, sweep="blocks_per_sm", amd="workgroups per {}",
        documentation="CTAs resident on one SM at the same time; 0 if the kernel cannot launch.",
    ),
)  # fmt: skip

_REGISTERS_AND_MEMORY: Final = (
    Figure(
        path="resources.registers", per="thread", title="registers", unit="count",
        importance="some",
        better="less", always_shown=True, in_baseline=True, sweep="registers", column=2,
        consumes="registers",
        documentation="32-bit registers allocated per thread, read from the machine code.",
    ),
    Figure(
        path="resources.local_bytes", title="local memory", short="local", unit="bytes",
        importance="much", better="less", always_shown=True, in_baseline=True, sweep="local_bytes",
        column=3, consumes="registers",
        documentation="Local (AMD: private) memory per thread: register spills and stack arrays.",
    ),
    Figure(
        path="resources.vgpr_spills", title="VGPR spills", unit="count", importance="much",
        better="less", in_baseline=True, vendor="amd", consumes="registers",
        documentation="Vector registers that the compiler spills to memory.",
    ),
    Figure(
        path="resources.sgpr_spills", title="SGPR spills", unit="count", importance="much",
        better="less", in_baseline=True, vendor="amd",
        documentation="Scalar registers that the compiler spills.",
    ),
    Figure(
        path="resources.shared_dynamic_bytes", per="CTA", title="shared memory", short="shared",
        unit="bytes",
        importance="some", better="less", always_shown=True, in_baseline=True, amd="LDS",
        consumes="shared_memory",
        documentation="Shared memory per CTA that is allocated at launch.",
    ),
    Figure(
        path="resources.shared_static_bytes", per="CTA", title="static shared memory", unit="bytes",
        importance="some", better="less", in_baseline=True, amd="static LDS",
        consumes="shared_memory",
        documentation="Shared memory per CTA that is fixed in the binary, reserved bytes excluded.",
    ),
    Figure(
        path="resources.stack_bytes", title="stack", unit="bytes", importance="some", better="less",
        in_baseline=True, consumes="registers",
        documentation="Stack frame per thread.",
    ),
    Figure(
        path="resources.tensor_memory_columns", per="CTA", title="tensor memory columns",
        unit="count",
        short="TMEM cols", importance="some", better="less", vendor="nvidia", fact=True,
        documentation="Columns of Blackwell's tensor memory that a CTA allocates, each 128 lanes "
        "of 32 bits.",
    ),
    Figure(
        path="resources.tensor_memory_bytes", per="CTA", title="tensor memory", short="TMEM",
        unit="bytes",
        better="less", vendor="nvidia", fact=True,
        documentation="Tensor memory that a CTA allocates, in bytes.",
    ),
    Figure(
        path="resources.vgprs", per="thread", title="VGPRs", unit="count", importance="some",
        better="less",
        in_baseline=True, vendor="amd", consumes="registers",
        documentation="Architectural vector registers per lane.",
    ),
    Figure(
        path="resources.agprs", per="thread", title="AGPRs", unit="count", importance="some",
        better="less",
        in_baseline=True, vendor="amd", consumes="registers",
        documentation="Accumulation registers per lane, which matrix instructions use.",
    ),
    Figure(
        path="resources.sgprs", per="thread", title="SGPRs", unit="count", importance="some",
        better="less",
        in_baseline=True, vendor="amd",
        documentation="Scalar registers per wave.",
    ),
)  # fmt: skip

_OCCUPANCY: Final = (
    Figure(
        path="occupancy.active_warps", title="active warps", unit="count", importance="some",
        better="more", amd="active waves",
        documentation="Warps resident on one SM.",
    ),
    Figure(
        path="occupancy.limited_by", title="limited by", unit="word", importance="some",
        amd_words=_LIMIT_WORDS, budget=False,
        documentation="The resources that allow the fewest CTAs per SM.",
    ),
    Figure(
        path="occupancy.waves", title="waves", unit="factor", importance="some", amd="rounds",
        sweep="waves",
        documentation="CTAs of the grid over the CTAs that the whole GPU holds at once.",
    ),
    Figure(
        path="occupancy.tail", title="last wave filled", unit="ratio", importance="little",
        better="more", amd="last round filled",
        documentation="Part of the last wave that holds CTAs; 1 is a full last wave.",
    ),
    Figure(
        path="occupancy.max_warps", title="max warps", unit="count", importance="little",
        amd="max waves",
        documentation="Warps that one SM can hold.",
    ),
    Figure(
        path="occupancy.multiprocessor", title="multiprocessor", unit="word", importance="little",
        documentation='What "per SM" refers to: an SM, a CU, or a WGP of two CUs.',
    ),
    Figure(
        path="occupancy.limits.warps", per="CTA", title="blocks allowed by warps", unit="count",
        importance="little", better="more", amd="workgroups allowed by waves",
        documentation="CTAs per SM that the number of warps alone allows.",
    ),
    Figure(
        path="occupancy.limits.blocks", per="CTA", title="blocks allowed by the SM", unit="count",
        importance="little", better="more", amd="workgroups allowed by the {}",
        documentation="CTAs per SM that the hardware supports at all.",
    ),
    Figure(
        path="occupancy.limits.registers", per="CTA", title="blocks allowed by registers",
        unit="count",
        importance="little", better="more", amd="workgroups allowed by registers",
        documentation="CTAs per SM that registers alone allow.",
    ),
    Figure(
        path="occupancy.limits.shared_memory", per="CTA", title="blocks allowed by shared memory",
        unit="count", importance="little", better="more", amd="workgroups allowed by LDS",
        documentation="CTAs per SM that shared memory alone allows.",
    ),
    Figure(
        path="occupancy.limits.barriers", per="CTA", title="blocks allowed by barriers",
        unit="count",
        importance="little", better="more", amd="workgroups allowed by barriers",
        documentation="CTAs per SM that named barriers alone allow.",
    ),
)  # fmt: skip

_RESERVED_AND_CODE: Final = (
    Figure(
        path="resources.lds_bytes", per="CTA", title="total LDS", unit="bytes", importance="little",
        better="less", vendor="amd", consumes="shared_memory",
        documentation="Local data share per workgroup.",
    ),
    Figure(
        path="resources.shared_reserved_bytes", per="CTA", title="reserved shared memory",
        unit="bytes",
        importance="little", better="less", amd="reserved LDS",
        documentation="Shared memory per CTA that the system reserves for itself.",
    ),
    Figure(
        path="resources.constant_bytes", title="constant memory", unit="bytes", importance="little",
        vendor="nvidia",
        documentation="Constant memory, kernel parameters included.",
    ),
    Figure(
        path="resources.code_bytes", title="machine code", unit="bytes", importance="little",
        sweep="code_bytes",
        documentation="Size of the kernel's machine code.",
    ),
    Figure(
        path="resources.barriers", title="barriers", unit="count", importance="little",
        vendor="nvidia",
        documentation="Named barriers that a CTA uses.",
    ),
)  # fmt: skip

_WARP_GROUPS: Final = (
    Figure(
        path="warp_groups", title="warp groups", short="warps", unit="word", importance="some",
        amd="wave groups", budget=False, fact=True,
        documentation="Groups of warps that run different parts of a warp-specialized kernel.",
    ),
    Figure(
        path="warp_groups[].num_warps", title="warps", unit="count", importance="some", amd="waves",
        documentation="Warps in the group.",
    ),
    Figure(
        path="warp_groups[].registers", per="thread", title="registers", unit="count",
        importance="some",
        documentation="Registers per thread while the group runs its part, as setmaxnreg sets "
        "them.",
    ),
)  # fmt: skip


def _pressure(stage: str, vendor: Vendor) -> tuple[Figure, Figure]:
    machine_code = stage == "sass"  # disassembled on request
    is_virtual = stage == "ptx"
    counted = "virtual registers" if is_virtual else "registers"
    return (
        Figure(
            path=f"pressure.{stage}.peak", per="thread", title=f"live {counted} in {stage}",
            unit="count",
            # Next to the registers allocated: do more of them hold a value?
            always_shown=machine_code,
            importance="little" if is_virtual else "some", better="less",
            needs=f"pressure.{stage}", vendor=vendor, consumes="registers",
            documentation=f"32-bit {counted} per thread that hold a value still needed, at the "
            f"instruction of the {stage} with the most"
            f"{', before the allocation of registers' if is_virtual else ''}.",
        ),
        Figure(
            path=f"pressure.{stage}.predicates", per="thread", title=f"live predicates in {stage}",
            unit="count", importance="little", better="less", needs=f"pressure.{stage}",
            vendor=vendor,
            consumes="registers",
            documentation=f"Live predicates at the instruction of the {stage} with the most.",
        ),
    )  # fmt: skip


_SHARED_MEMORY: Final = (
    Figure(
        path="memory.total_bytes", per="CTA", title="shared memory at launch", unit="bytes",
        better="less",
        needs="memory", amd="LDS at launch", consumes="shared_memory",
        documentation="Dynamic shared memory of a CTA: buffers at the peak plus scratch.",
    ),
    Figure(
        path="memory.buffers_bytes", per="CTA", title="shared memory of all buffers", unit="bytes",
        better="less", needs="memory", amd="LDS of all buffers", consumes="shared_memory",
        documentation="Sum of all shared-memory buffers; buffers that are never live together "
        "share space.",
    ),
    Figure(
        path="memory.peak_bytes", per="CTA", title="shared memory of buffers at the peak",
        unit="bytes",
        importance="little", better="less", needs="memory", amd="LDS of buffers at the peak",
        consumes="shared_memory",
        documentation="The most bytes of shared-memory buffers live at the same time.",
    ),
    Figure(
        path="memory.remainder_bytes", per="CTA", title="scratch in shared memory", unit="bytes",
        importance="little", better="less", needs="memory", amd="scratch in LDS",
        consumes="shared_memory",
        documentation="Shared memory beyond the buffers' peak: scratch of operations, alignment "
        "and gaps.",
    ),
)  # fmt: skip

_RUN: Final = (
    Figure(
        path="run.matches_reference", title="matches the reference", unit="word", importance="much",
        better="more", needs="run",
        documentation="Whether every output of the launch equals the PyTorch reference within "
        "tolerance.",
    ),
    Figure(
        # Not compared: it differs with the order in which a GPU adds, not with the kernel.
        path="run.max_abs_error", title="largest error", unit="factor", better="less",
        needs="run",
        documentation="Largest absolute difference from the PyTorch reference over all outputs.",
    ),
    Figure(
        path="run.registers", title="registers, by the driver", unit="count", importance="little",
        better="less", needs="run",
        documentation="Registers per thread as the driver reports them.",
    ),
    Figure(
        path="run.local_bytes", title="local memory, by the driver", unit="bytes",
        importance="little", better="less", needs="run",
        documentation="Local memory per thread as the driver reports it.",
    ),
    Figure(
        path="run.blocks_per_sm", title="blocks per SM, by the driver", unit="count",
        importance="little", better="more", needs="run", amd="workgroups per {}, by the driver",
        documentation="CTAs per SM as the driver computes them.",
    ),
)  # fmt: skip

_SPILLS: Final = (
    Figure(
        path="spills.in_loops", title="spill instructions in loops", unit="count",
        importance="much", better="less", needs="spills",
        compute=derived.spill_instructions_in_loops,
        documentation="Instructions inside loops that spill or reload a register.",
    ),
    Figure(
        path="spills.instructions", title="spill instructions", unit="count", importance="much",
        better="less", needs="spills", compute=derived.spill_instructions,
        documentation="Instructions that spill or reload a register; called functions' included.",
    ),
)  # fmt: skip

_SETTINGS: Final = tuple(
    Figure(path=f"config.{name}", title=name, unit="count", documentation=meaning)
    for name, meaning in (
        ("num_warps", "Warps per CTA that the launch requests, partitions' own warps excluded."),
        ("num_stages", "Pipeline stages that the kernel requests as a whole."),
        ("num_ctas", "CTAs per cluster."),
        ("maxnreg", "Register cap per thread that the compiler is given."),
    )
)

#: One number a kernel, for what sweeps sort, filter and tabulate.
_SUMMARIES: Final = (
    Figure(
        path="summary.shared_bytes", title="shared memory per CTA", short="shared",
        unit="bytes", better="less", sweep="shared_bytes", column=4, compute=derived.shared_bytes,
        amd="LDS per workgroup",
        documentation="Shared memory per CTA, dynamic and static, reserved bytes excluded.",
    ),
    Figure(
        path="summary.stages_achieved", title="stages of the shallowest loop", short="stages",
        unit="count", better="more", sweep="stages_achieved", column=5,
        compute=derived.stages_achieved,
        documentation="Stages of the shallowest loop that loads data; 1 where it is not "
        "pipelined.",
    ),
    Figure(
        path="summary.stages_at_most", title="stages at most of the shallowest loop", unit="count",
        better="more", sweep="stages_at_most", compute=derived.stages_at_most,
        documentation="Upper bound of the shallowest loop's stages where only a bound is known.",
    ),
    Figure(
        path="summary.stages_requested", title="stages requested of the shallowest loop",
        unit="count", sweep="stages_requested", compute=derived.stages_requested,
        documentation="Stages that the shallowest loop requests.",
    ),
    Figure(
        path="summary.bytes_in_flight_per_sm", title="fewest bytes in flight per SM", unit="bytes",
        better="more", sweep="bytes_in_flight_per_sm", compute=derived.bytes_in_flight_per_sm,
        amd="fewest bytes in flight per {}",
        documentation="Bytes in flight per SM during the compute, of the loop with the fewest.",
    ),
    Figure(
        path="summary.live_registers", per="thread", title="live registers before allocation",
        unit="count",
        better="less", sweep="live_registers", compute=derived.live_registers,
        documentation="Peak of live 32-bit registers per thread in ptx, where they are virtual, or "
        "in amdgcn.",
    ),
    Figure(
        path="summary.instructions", title="instructions", unit="count", sweep="instructions",
        compute=derived.instructions,
        documentation="Static instructions in ptx or amdgcn, each counted once.",
    ),
    Figure(
        path="summary.products_computed_in", title="products computed in", unit="word",
        importance="much", budget=False, compute=derived.products_computed_in,
        documentation="The types that matrix products are computed in, by the matrix instructions "
        "at their places; the compiler converts operands of types that the GPU does not multiply.",
    ),
    Figure(
        path="summary.product_slowdown", title="time of products over their own type's",
        unit="factor", importance="some", better="less", compute=derived.product_slowdown,
        documentation="How many times as long the slowest matrix product takes, at the peaks, as "
        "in its operands' own type; 1 where it is computed in that.",
    ),
    Figure(
        path="summary.flops", title="floating-point operations", unit="count", importance="some",
        needs="traffic", sweep="flops", compute=derived.flops,
        documentation="Floating-point operations of the launch, a multiply-add of a matrix product "
        "being two.",
    ),
    Figure(
        path="summary.writes", title="written with", unit="word", importance="some",
        needs="traffic", budget=False, compute=derived.writes,
        documentation="What the launch writes global memory with, stores or atomics: an atomic "
        "operation reads what it adds to.",
    ),
    Figure(
        path="summary.sectors_over_ideal", title="sectors over their ideal", short="sectors ×",
        unit="factor", better="less", needs="traffic", sweep="sectors_over_ideal", column=6,
        compute=derived.sectors_over_ideal, amd="lines over their ideal",
        documentation="Sectors of global memory that loads and stores touch over the fewest that "
        "hold as many bytes; 1 is perfectly coalesced.",
    ),
)  # fmt: skip

FIGURES: Final[tuple[Figure, ...]] = (
    *_FIT,
    *_REGISTERS_AND_MEMORY,
    *_OCCUPANCY,
    *_RESERVED_AND_CODE,
    *_WARP_GROUPS,
    *_pressure("ptx", "nvidia"),
    *_pressure("sass", "nvidia"),
    *_pressure("amdgcn", "amd"),
    *_SHARED_MEMORY,
    *_RUN,
    *_SPILLS,
    *_SETTINGS,
    *PIPELINES,
    *LOADS,
    *TRAFFIC,
    *ROOFLINE,
    *TIME,
    *_SUMMARIES,
)
