"""The figures of loops: their pipelines, and the loads that these bring data for."""

from typing import Final

from irlens.figures.figure import Figure

PIPELINES: Final = (
    Figure(
        path="pipelines[].achieved_stages", title="stages achieved", short="stages", unit="count",
        importance="much", better="more", always_shown=True, gates=True, in_baseline=True, column=5,
        aliases=("achieved", "pipeline.achieved"),
        documentation="Tiles that the loop has under way at once: prefetched iterations plus one.",
    ),
    Figure(
        path="pipelines[].verdict", title="verdict", unit="word", importance="much",
        in_baseline=True, worst_first=("not pipelined", "shallower", "pipelined"),
        documentation="Whether the loop is pipelined as deeply as requested, shallower, or not.",
    ),
    Figure(
        path="pipelines[].stages_at_most", title="stages at most", unit="count", importance="some",
        better="more",
        documentation="Upper bound of the stages where producer and consumer warps run "
        "independently: the barriers of their ring.",
    ),
    Figure(
        path="pipelines[].kind", title="mechanism", unit="word", importance="some",
        in_baseline=True,
        documentation="How data reaches the loop ahead of time: cp.async, tma, wgmma, tcgen05, "
        "register or direct-to-lds.",
    ),
    Figure(
        path="pipelines[].warp_group", title="run by", unit="word", importance="some",
        documentation="The warp group that runs the loop.",
    ),
    Figure(
        path="pipelines[].groups_during_compute", title="groups in flight", unit="count",
        importance="some", better="more", always_shown=True,
        documentation="Commit groups still in flight while the loop computes with the data that "
        "arrived; where the tensor core computes asynchronously, the most at once meanwhile.",
    ),
    Figure(
        path="pipelines[].bytes_in_flight", per="CTA", title="bytes in flight", unit="bytes",
        importance="some", better="more", always_shown=True,
        documentation="Bytes per CTA still in flight during the compute.",
    ),
    Figure(
        path="pipelines[].bytes_in_flight_per_sm", title="bytes in flight per SM", unit="bytes",
        importance="some", better="more", amd="bytes in flight per {}",
        documentation="Bytes in flight during the compute, of all CTAs that an SM holds at once: "
        "as many as fit, or as the launch has for it.",
    ),
    Figure(
        path="pipelines[].bytes_per_copy", title="bytes per copy", unit="bytes", importance="some",
        better="more",
        documentation="Width of one asynchronous copy instruction.",
    ),
    Figure(
        path="pipelines[].bytes_per_iteration", per="CTA", title="bytes per iteration",
        unit="bytes",
        importance="some",
        documentation="Bytes that a CTA copies per iteration, bytes that threads share counted "
        "once.",
    ),
    Figure(
        path="pipelines[].prefetch_iterations", title="iterations ahead", unit="count",
        importance="some", better="more",
        documentation="Iterations between the commit of a group and the first use of its data.",
    ),
    Figure(
        path="pipelines[].kept_iterations", title="iterations kept", unit="count",
        importance="little", better="less", vendor="amd",
        documentation="Iterations that loaded data is kept until its first use, beyond those it "
        "was in flight: they occupy registers or LDS and hide nothing.",
    ),
    Figure(
        path="pipelines[].requested_stages", title="stages requested", unit="count",
        importance="little", in_baseline=True, aliases=("requested", "pipeline.requested"),
        documentation="Stages that the loop or the kernel requests.",
    ),
    Figure(
        path="pipelines[].copies_per_iteration", title="copies per iteration", unit="count",
        importance="little",
        documentation="Asynchronous copy instructions per thread and iteration.",
    ),
    Figure(
        path="pipelines[].groups_before_loop", title="groups before loop", unit="count",
        importance="little",
        documentation="Commit groups outstanding on entry to the loop.",
    ),
    Figure(
        path="pipelines[].groups_per_iteration", title="groups per iteration", unit="count",
        importance="little",
        documentation="Groups committed per iteration.",
    ),
    Figure(
        path="pipelines[].outstanding_at_wait", title="outstanding at wait", unit="count",
        importance="little",
        documentation="Groups outstanding just before the wait, in the steady state.",
    ),
    Figure(
        path="pipelines[].outstanding_after_wait", title="outstanding after wait", unit="count",
        importance="little",
        documentation="Groups still outstanding after the wait.",
    ),
    Figure(
        path="pipelines[].outstanding_at_end", title="outstanding at end", unit="count",
        importance="little", better="more",
        documentation="Groups of a matrix product that are outstanding at the end of an "
        "iteration: a later one waits for them.",
    ),
    Figure(
        path="pipelines[].bytes_to_cover_latency", title="bytes to cover latency", unit="bytes",
        importance="little",
        documentation="Bytes each SM needs in flight to hide memory latency: bandwidth times "
        "latency over the number of SMs.",
    ),
    Figure(
        path="pipelines[].stage", title="stage", unit="word", importance="little", budget=False,
        documentation="The IR stage that the pipeline was read from.",
    ),
    Figure(
        # Not compared: it follows from the layout and the number of threads.
        path="pipelines[].bytes_repeated", title="bytes repeated", unit="bytes",
        documentation="Bytes per iteration that threads sharing data, by the layout, copy more "
        "than once.",
    ),
)  # fmt: skip

LOADS: Final = (
    Figure(
        path="loads[].state", per="CTA", title="state", unit="word", importance="much",
        worst_first=("in place", "registers", "asynchronous"),
        documentation="How the load gets its data: asynchronous, ahead in registers, or in place.",
    ),
    Figure(
        path="loads[].iterations_ahead", per="CTA", title="iterations ahead", unit="count",
        importance="some",
        better="more",
        documentation="Iterations between the load's issue and the use of its data.",
    ),
    Figure(
        path="loads[].widest_access_bytes", per="CTA", title="widest access", unit="bytes",
        importance="some",
        better="more",
        documentation="Upper bound of one thread's access, by layout and contiguity.",
    ),
    Figure(
        path="loads[].bytes_per_iteration", per="CTA", title="bytes per iteration", unit="bytes",
        importance="little",
        documentation="Bytes of the tile per CTA, as if nothing were masked off.",
    ),
    Figure(
        path="loads[].buffer_copies", per="CTA", title="buffer copies", unit="count",
        importance="little",
        documentation="Tiles that the shared-memory buffer behind the load holds.",
    ),
    Figure(
        path="loads[].shape", per="CTA", title="shape", unit="word", importance="little",
        documentation="Shape of the tile; empty for a single value.",
    ),
    Figure(
        path="loads[].element", per="CTA", title="element", unit="word", importance="little",
        documentation="Element type of the tile, such as f16.",
    ),
)  # fmt: skip
