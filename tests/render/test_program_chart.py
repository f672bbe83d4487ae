"""Where the time of a program goes, from records made by hand."""

from msgspec.structs import replace

from irlens.model.config import Target
from irlens.model.estimate import TimeEstimate
from irlens.model.recording import KernelTime, LibraryCall, LibraryTime, ProgramRun
from irlens.model.traffic import Roofline
from irlens.render import Options
from irlens.render.html.writer import write
from irlens.render.text import write as write_text
from irlens.render.view.nodes import Bars, Plot, Section
from irlens.render.view.program import run_view

H100 = Target(vendor="nvidia", arch="sm_90", warp_size=32, product="h100")


def kernel(name: str, us: float | None, launches: int = 2, **fields: object) -> KernelTime:
    return KernelTime(
        kernel=name, launches=launches, total_us=us, bound="dram",
        each_us=None if us is None else us / launches, reason="" if us else "its launch is unknown",
        **fields,  # type: ignore[arg-type]
    )  # fmt: skip


def run(*kernels: KernelTime) -> ProgramRun:
    total = sum(each.total_us or 0.0 for each in kernels)
    return ProgramRun(program="step.py", target=H100, kernels=kernels, total_us=total)


def drawn(found: ProgramRun) -> list[Bars]:
    children = run_view(found, Options()).children
    return [each for each in children if isinstance(each, Bars)]


def test_library_calls_have_their_least_time_together() -> None:
    call = LibraryCall(
        name="aten.mm", operands="", source="", calls=6, bytes=1, flops=1, dtype="bf16"
    )
    library = (LibraryTime(call=call, floor_us=32.0), LibraryTime(call=call, floor_us=None))
    found = replace(run(kernel("norm", 100.0)), library=library)
    assert "12 library calls take at least 192 µs more" in write_text(
        run_view(found, Options()), Options()
    )
    found = replace(found, library=library[1:])
    assert "6 library calls, time unknown" in write_text(run_view(found, Options()), Options())


def test_a_reason_that_several_kernels_share_is_said_once() -> None:
    found = run(*(kernel(name, None) for name in "abcd"), replace(kernel("e", None), reason="x"))
    lines = write_text(run_view(found, Options()), Options()).splitlines()
    unknown = [line for line in lines if line.startswith("Unknown")]
    assert unknown == ["Unknown     4 kernels: its launch is unknown", "Unknown     e: x"]


def test_a_bar_for_each_kernel_has_its_launches_together() -> None:
    (bars,) = drawn(run(kernel("matmul", 300.0), kernel("norm", 100.0), kernel("sort", None)))
    assert [(row.name, row.amount, row.words, row.label) for row in bars.rows] == [
        ("matmul", 300.0, "300 µs 75 %", "DRAM"), ("norm", 100.0, "100 µs 25 %", "DRAM"),
    ]  # fmt: skip
    assert "2 launches of 150 µs" in bars.rows[0].described
    assert bars.axis.title == "launches × estimated time (µs)"
    assert [kind.key for kind in bars.kinds] == ["dram"]


def test_many_small_kernels_are_one_bar() -> None:
    (bars,) = drawn(run(*(kernel(f"k{n}", 100.0 - n) for n in range(20))))
    assert len(bars.rows) == 17
    assert bars.rows[-1].name == "4 others"
    assert bars.rows[-1].amount == sum(100.0 - n for n in range(16, 20))
    assert len(bars.numbers.rows) == 20


def test_one_kernel_or_none_is_no_chart() -> None:
    assert not drawn(run(kernel("a", 10.0), kernel("b", None)))
    assert not drawn(run(kernel("a", None)))


def test_a_bound_that_a_recording_invents_has_no_style_of_its_own() -> None:
    hostile = '" onload="alert(1)'
    known = KernelTime(kernel=hostile, launches=1, total_us=2.0, each_us=2.0, bound=hostile)
    found = run(known, kernel("b", 1.0))
    (bars,) = drawn(found)
    assert bars.rows[0].parts[0].kind == "plain"
    page = write(Section("Program", (run_view(found, Options()),), key="program"))
    assert "onload=&quot;" in page
    assert 'onload="' not in page


def test_text_leaves_to_the_table_what_it_shows() -> None:
    view = run_view(run(kernel("a", 2.0), kernel("b", 1.0)), Options())
    text = write_text(view, Options())
    assert "█" not in text
    assert "66.7 %" in text or "2.00" in text


def test_kernels_have_their_place_on_a_roofline() -> None:
    roofline = Roofline(
        memory_us=10.0, compute_us=2.0, floor_us=10.0, compute_type="fp32", flops_per_byte=4.0
    )
    time = TimeEstimate(estimate_us=20.0, low_us=16.0, high_us=25.0, bound="dram")
    placed = kernel("a", 40.0, flops=1_000_000, roofline=roofline, time=time)
    view = run_view(run(placed, kernel("b", 1.0)), Options())
    (section,) = (each for each in view.children if getattr(each, "key", "") == "roofline")
    assert isinstance(section, Section)
    (plot,) = section.children
    assert isinstance(plot, Plot)
    assert plot.described == "roofline of 1 kernel on sm_90 (h100)"
    assert plot.points[0].described.startswith("a: 0.05 TFLOP/s estimated, 50 % of the roof")
