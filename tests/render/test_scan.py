"""Scans as text: the fastest configuration first, and only what differs."""

from msgspec.structs import replace

from irlens.model.config import Target
from irlens.model.estimate import Mark, Standing
from irlens.model.scan import RooflinePlace, Scan, ScanRow, ScanSummary, ScanValue
from irlens.model.traffic import Roofline
from irlens.render import Options
from irlens.render.text import write
from irlens.render.view.nodes import Plot, Section
from irlens.render.view.scan import scan_view

H100 = Target(vendor="nvidia", arch="sm_90", warp_size=32, product="h100")


def scan(*rows: ScanRow, columns: tuple[str, ...] = ("kernel", "target", "time")) -> Scan:
    summary = ScanSummary(
        captures=len(rows), kernels=1, targets={"h100": len(rows)}, excluded=0, skipped=0,
        occupancy=[], cannot_launch=0, occupancy_unknown=0, findings=[], worst=[], duplicates=[],
    )  # fmt: skip
    return Scan(schema=1, columns=list(columns), where=[], rows=list(rows), summary=summary)


def tried(label: str, us: float, least: float, launches: int | None = None) -> ScanRow:
    mark: Mark | None = "fastest" if us == least else None
    standing = Standing(time_us=us, over_fastest=us / least, mark=mark)
    figures: dict[str, ScanValue] = {"kernel": "matmul", "target": "h100", "time": us}
    return ScanRow(
        path=f"cache/{label}", kernel="matmul", figures=figures, label=label, problem=0,
        standing=standing, bound="l2", launches=launches,
    )  # fmt: skip


def test_candidates_are_marked_and_what_they_share_is_said_once() -> None:
    text = write(
        scan_view(
            scan(tried("num_warps=4", 20.0, 20.0, 0), tried("num_warps=8", 50.0, 20.0, 1)),
            Options(),
        ),
        Options(),
    )
    assert "num_warps=4 is the fastest: about 20.0 µs, bound by L2" in text
    assert text.count("h100") == 2  # the sum of captures, and what all share
    assert "all 2: matmul   h100   bound by L2" in text
    lines = [line.split() for line in text.splitlines() if line.endswith(("=4", "=8"))]
    assert lines == [
        ["0", "20.0", "µs", "fastest", "num_warps=4"],
        ["1", "50.0", "µs", "2.50", "×", "num_warps=8"],
    ]
    assert "irlens inspect cache/num_warps=4" in text


def test_rows_without_settings_keep_their_kernel() -> None:
    same = ScanRow(path="a", kernel="k", figures={"kernel": "k", "target": "h100"})
    text = write(scan_view(scan(same, same, columns=("kernel", "target")), Options()), Options())
    assert "all 2: h100" in text
    assert [line for line in text.splitlines() if line == "k"] == ["k", "k"]


def placed(row: ScanRow, kernel: str, problem: int, flops: int = 10**9) -> ScanRow:
    roofline = Roofline(
        memory_us=1.0, compute_us=2.0, floor_us=2.0, flops_per_byte=8.0, compute_type="fp16 tensor"
    )
    place = RooflinePlace(
        target=Target(vendor="nvidia", arch="sm_90", warp_size=32, product="h100"),
        flops=flops,
        roofline=roofline,
    )
    return replace(row, kernel=kernel, problem=problem, place=place)


def two_of_norm() -> list[ScanRow]:
    times = ((4, 20.0), (8, 50.0))
    return [placed(tried(f"num_warps={warps}", us, 20.0), "norm", 1) for warps, us in times]


def points(found: Scan) -> list[str]:
    view = scan_view(found, Options())
    sections = [each for each in view.children if isinstance(each, Section)]
    plots = [each for section in sections for each in section.children if isinstance(each, Plot)]
    return [point.described for plot in plots for point in plot.points]


def test_the_longest_launch_leads_where_nothing_else_names_it() -> None:
    alone = Standing(time_us=300.0)
    longest = replace(placed(tried("", 300.0, 300.0), "gemm", 0), standing=alone)
    rest = [
        placed(tried(f"num_warps={n}", us, 20.0), "norm", 1) for n, us in ((4, 20.0), (8, 50.0))
    ]
    text = write(scan_view(scan(longest, *rest), Options()), Options())
    first = text.splitlines()[1]
    assert first.startswith("gemm takes the longest: about 300 µs, bound by L2")
    text = write(scan_view(scan(*rest), Options()), Options())
    assert "takes the longest" not in text, "there is one kernel"


def test_a_scan_has_a_roofline_of_the_fastest_of_each_kernel() -> None:
    rest = [
        placed(tried(f"num_warps={n}", us, 20.0), "norm", 1) for n, us in ((4, 20.0), (8, 50.0))
    ]
    longest = replace(placed(tried("", 300.0, 300.0), "gemm", 0), standing=Standing(time_us=300.0))
    named = [each.partition(":")[0] for each in points(scan(longest, *rest))]
    assert named == ["gemm", "norm num_warps=4"]
    named = [each.partition(":")[0] for each in points(scan(*rest))]
    assert named == ["norm num_warps=4", "norm num_warps=8"], "of one problem all"
    unknown = [replace(each, place=None) for each in rest]
    assert points(scan(*unknown)) == []
