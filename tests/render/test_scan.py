"""Scans as text: the fastest configuration first, and only what differs."""

from irlens.model.estimate import Mark, Standing
from irlens.model.scan import Scan, ScanRow, ScanSummary, ScanValue
from irlens.render import Options
from irlens.render.text import write
from irlens.render.view.scan import scan_view


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
