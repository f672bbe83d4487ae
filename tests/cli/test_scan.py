"""``irlens scan`` from the command line."""

import csv
import io
import json
import shutil
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from irlens import capture
from irlens.model.report import Report
from irlens.model.scan import Scan
from tests.running import Ran, irlens

CAPTURES = Path(__file__).parents[2] / "samples" / "captures"
NAMES = sorted(path.name for path in CAPTURES.iterdir())


def rows(ran: Ran) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(ran.out)))


def scan(*arguments: str | Path, cwd: Path | None = None) -> Ran:
    return irlens("scan", *arguments, cwd=cwd)


@pytest.fixture
def three(tmp_path: Path) -> Path:
    """Three captures, two of which are equal."""
    for name, sample in (("a", "softmax-h100"), ("b", "spill-h100"), ("c", "softmax-h100")):
        shutil.copytree(CAPTURES / sample, tmp_path / "cache" / name)
    return tmp_path / "cache"


def test_csv_has_a_row_for_each_capture_in_the_order_of_the_paths() -> None:
    ran = scan(CAPTURES, "-f", "csv", "--columns", "path,kernel,target,registers,occupancy")
    assert (ran.code, ran.err) == (0, "")
    assert [Path(row["path"]).name for row in rows(ran)] == NAMES
    softmax = rows(ran)[NAMES.index("softmax-h100")]
    assert list(softmax) == ["path", "kernel", "target", "registers", "occupancy"]
    assert list(softmax.values())[1:] == ["softmax_kernel", "h100", "30", "1.0"]


def test_rows_have_the_rooflines_of_their_reports(three: Path) -> None:
    """The second time from the index."""
    for _ in range(2):
        found = json.loads(scan(three, "-f", "json").out)["rows"]
        assert len(found) == 3
        for row in found:
            report = json.loads(irlens("inspect", row["path"], "-f", "json", "--no-sass").out)
            assert row["place"]["roofline"] == report["roofline"]
            assert row["place"]["flops"] == sum(report["traffic"]["flops"].values())
            assert row["place"]["low_us"] == report["time"]["low_us"]


def test_json_lines_without_columns_are_full_reports() -> None:
    inspected = irlens("inspect", CAPTURES / "softmax-h100", "--no-sass", "--format", "json")
    lines = scan(CAPTURES, "-f", "jsonl").out.splitlines()
    assert [Path(json.loads(line)["path"]).name for line in lines] == NAMES
    report = json.loads(lines[NAMES.index("softmax-h100")])["report"]
    whole = msgspec.convert(report, Report)
    assert whole == msgspec.json.decode(inspected.raw, type=Report)


def test_json_lines_with_columns_are_rows() -> None:
    ran = scan(CAPTURES, "-f", "jsonl", "--columns", "kernel,pipeline.achieved,findings")
    rows = [json.loads(line) for line in ran.out.splitlines()]
    assert rows[NAMES.index("softmax-mi300x")] == {
        "kernel": "softmax_kernel", "pipeline.achieved": [2], "findings": ["IRL201"],
    }  # fmt: skip


def test_where_takes_the_conditions_of_budgets() -> None:
    ran = scan(CAPTURES, "-f", "csv", "--columns", "path", "--where", "local_bytes > 0")
    assert [Path(row["path"]).name for row in rows(ran)] == ["spill-h100"]
    where = "pipeline.achieved < pipeline.requested and occupancy == 1"
    ran = scan(CAPTURES, "-f", "csv", "--columns", "path", "--where", where)
    assert [Path(row["path"]).name for row in rows(ran)] == ["softmax-mi300x", "softmax-t4"]
    ran = scan(CAPTURES, "--where", "local_bytes > ")
    assert ran.code == 2
    assert "--where" in ran.err
    ran = scan(CAPTURES, "--where", "registers > baseline")
    assert ran.code == 2
    assert "a scan has no baseline" in ran.err


def test_sort_puts_the_unknown_last() -> None:
    ran = scan(CAPTURES, "-f", "csv", "--columns", "registers", "--sort=-registers")
    registers = [int(row["registers"]) for row in rows(ran)]
    assert registers == sorted(registers, reverse=True)
    for keys in ("stages_achieved", "-stages_achieved"):
        ran = scan(CAPTURES, "-f", "csv", "--columns", "stages_achieved", f"--sort={keys}")
        stages = [row["stages_achieved"] for row in rows(ran)]
        known = [each for each in stages if each]
        assert stages == known + [""] * (len(stages) - len(known))
        assert known == sorted(known, reverse=keys.startswith("-"))


def test_unknown_columns_have_a_hint() -> None:
    ran = scan(CAPTURES, "--columns", "registrs")
    assert ran.code == 2
    assert "unknown column 'registrs'" in ran.err
    assert "registers" in ran.err


def test_the_text_sums_up(three: Path) -> None:
    ran = scan("cache", cwd=three.parent)
    assert ran.code == 0, ran.err
    assert "3 captures · 2 kernels · h100 (3)" in ran.out
    assert "softmax_kernel 2 times  cache/a, cache/c" in ran.out
    assert "spill_kernel       1 warning, 2 notes  cache/b" in ran.out
    assert "irlens inspect cache/b" in ran.out
    assert all(len(line) <= 80 for line in ran.out.splitlines())


def test_columns_without_findings_sum_up_without_findings(three: Path) -> None:
    (three / "b" / "spill_kernel.ptx").write_bytes(b"\0")
    ran = scan(three, "-f", "json", "--columns", "kernel,registers")
    assert (ran.code, ran.err) == (0, "")  # nothing has read the damaged ptx
    summary = json.loads(ran.out)["summary"]
    assert summary["findings"] is None
    assert summary["occupancy"] == [
        {"above": 0.2, "up_to": 0.3, "captures": 1}, {"above": 0.9, "up_to": 1.0, "captures": 2},
    ]  # fmt: skip


@pytest.mark.parametrize("form", ["csv", "text"])
def test_what_cannot_be_read_is_skipped(three: Path, form: str) -> None:
    (three / "a" / "softmax_kernel.cubin").write_bytes(b"\x7fELF")
    (three / "b" / "spill_kernel.json").write_text("{")
    (three / "d").symlink_to(CAPTURES / "matmul-a100")
    ran = scan(three, "-f", form)
    assert ran.code == 2
    lines = ran.err.splitlines()
    assert {line.removeprefix("irlens: skipped ").split(": ")[0] for line in lines[:-1]} == {
        str(three / "a"), str(three / "b" / "spill_kernel.json"), str(three / "d"),
    }  # fmt: skip
    assert any("is a link to a directory" in line for line in lines)
    assert lines[-1] == "irlens: 3 skipped"
    assert "softmax_kernel" in ran.out
    assert "matmul" not in ran.out


def test_an_empty_directory_is_an_error(tmp_path: Path) -> None:
    ran = scan(tmp_path)
    assert ran.code == 2
    assert f"{tmp_path} holds nothing that Triton left" in ran.err


def test_several_directories(three: Path) -> None:
    ran = scan(three / "b", three / "a", "-f", "csv", "--columns", "path")
    assert [Path(row["path"]).name for row in rows(ran)] == ["b", "a"]


def test_a_reader_that_goes_away_ends_the_scan(three: Path) -> None:
    command = f"{sys.executable} -m irlens scan {three} -f csv | head -1"
    ran = subprocess.run(["bash", "-c", command], capture_output=True, check=True, text=True)
    assert ran.stdout.startswith("path,kernel")
    assert ran.stderr == ""


def test_output_is_written_whole_or_not_at_all(three: Path, tmp_path: Path) -> None:
    written = tmp_path / "rows.csv"
    written.write_text("before")
    ran = scan(three, "-f", "csv", "-o", written, "--columns", "kernel")
    assert ran.code == 0
    assert written.read_text().splitlines() == [
        "kernel",
        *["softmax_kernel", "spill_kernel"],
        "softmax_kernel",
    ]
    written.write_text("before")
    assert scan(tmp_path / "empty", "-f", "csv", "-o", written).code == 2
    assert written.read_text() == "before"


def test_what_takes_longest_comes_first() -> None:
    found = msgspec.json.decode(scan(CAPTURES, "-f", "json").out, type=Scan)
    assert found.sorted_by == []
    times = [each.figures["time"] for each in found.rows]
    known = [time for time in times if isinstance(time, float)]
    problems = {each.problem: each for each in reversed(found.rows)}  # the first row of each
    leads = [each.figures["time"] for _, each in sorted(problems.items())]
    led = [time for time in leads if isinstance(time, float)]
    assert leads == [*sorted(led, reverse=True), *[None] * (len(leads) - len(led))]
    assert 0 < len(led) < len(known)
    text = scan(CAPTURES).out
    assert f"time of {len(times) - len(known)} unknown" in " ".join(text.split())
    report = irlens("inspect", CAPTURES / "softmax-h100").out
    time = report.partition("✓ about ")[2].split(" (")[0]
    assert time.endswith(" µs")
    softmax = next(each for each in found.rows if Path(each.path).name == "softmax-h100")
    assert f"{softmax.figures['time']:.3g} µs" == time
    assert "by kernel; time of" in scan(CAPTURES, "--sort", "kernel").out


def test_without_launches_it_says_what_gives_a_time(tmp_path: Path) -> None:
    unknown = shutil.ignore_patterns("irlens.json")
    shutil.copytree(CAPTURES / "specialized-h100-4", tmp_path / "cache" / "a", ignore=unknown)
    text = scan(tmp_path / "cache").out
    assert (
        "by path; no time is known: irlens inspect says why; its --arg and --grid give a"
        in " ".join(text.split())
    )
    assert "µs" not in text


@pytest.fixture(scope="module")
def entries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Triton's own cache entries of one kernel: what irlens knows beyond them is taken away."""
    folder = tmp_path_factory.mktemp("entries")
    for name, n, warps in (("aligned", 4096, 4), ("odd", 4097, 4), ("wide", 4096, 8)):
        made = capture("vector_add", "h100", args={"n_elements": n}, num_warps=warps)
        assert made.directory is not None
        unknown = shutil.ignore_patterns("irlens.json")
        shutil.copytree(made.directory, folder / name, ignore=unknown)
    return folder


def test_a_group_says_what_entries_of_one_kernel_differ_by(entries: Path) -> None:
    ran = scan(entries, "--group", "kernel")
    text = " ".join(ran.out.split())
    assert (ran.code, "3 variants" in text) == (0, True)
    assert "n_elements argument i32 ÷ 16 | i32" in text
    assert "num_warps option 4 | 8" in text


def test_of_two_entries_it_says_why_they_are_two(entries: Path) -> None:
    text = " ".join(scan("aligned", "odd", "--group", "kernel", cwd=entries).out.split())
    assert (
        "Variant 1 (n_elements: i32 divisible by 16) and variant 2 (n_elements: i32) differ in "
        "n_elements." in text
    )
    text = " ".join(scan(entries / "aligned", entries / "wide", "--group", "kernel").out.split())
    assert "Variant 1 (num_warps = 4) and variant 2 (num_warps = 8) differ in num_warps." in text


def test_a_group_takes_no_columns() -> None:
    for options, message in {
        ("--columns", "registers"): "--columns has no effect with --group",
        ("-f", "csv"): "csv cannot hold variants",
        ("-j", "2"): "--jobs has no effect with --group",
    }.items():
        ran = scan(CAPTURES, "--group", "kernel", *options)
        assert (ran.code, ran.out, message in ran.err) == (2, "", True)


def test_without_a_directory_triton_s_own_cache_is_scanned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRITON_CACHE_DIR", str(CAPTURES))
    ran = scan("-f", "csv", "--columns", "kernel")
    assert ran.out == scan(CAPTURES, "-f", "csv", "--columns", "kernel").out
    assert f"scanning {CAPTURES}" in ran.err
    monkeypatch.delenv("TRITON_CACHE_DIR")
    monkeypatch.setenv("TRITON_HOME", str(tmp_path))
    ran = scan()
    assert ran.code == 2
    assert f"Triton has no cache here, {tmp_path / '.triton' / 'cache'}" in ran.err
    (tmp_path / ".triton" / "cache").mkdir(parents=True)
    assert f"scanning {tmp_path / '.triton' / 'cache'}" in scan().err
