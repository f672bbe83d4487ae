"""``--annotate``, on the captures in ``samples/``."""

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec
import pytest

import irlens
from irlens.analyze import capture_code
from irlens.analyze.capture_code import CaptureCode
from irlens.artifacts import tools
from irlens.model.capture import Capture, Disassembly
from irlens.model.report import Report
from irlens.render.text_listing import annotated
from irlens.render.view.gutters import describe_waits, notation
from irlens.render.view.memory_traffic import traffic_cells
from irlens.report import inspect
from irlens.report.annotations import list_stage
from irlens.session.stages import interleaved, interleaved_listing, listed
from tests import running
from tests.running import Ran

CAPTURES = Path(__file__).parents[2] / "samples" / "captures"
STAGES = [
    ("softmax-h100", "source"), ("softmax-h100", "ttir"), ("softmax-h100", "metadata"),
    ("softmax-h100", "ttgir"), ("softmax-h100", "llir"), ("softmax-h100", "ptx"),
    ("softmax-h100", "sass"), ("matmul-b200", "sass"), ("matmul_tma-h100", "ptx"),
    ("softmax-mi300x", "amdgcn"), ("softmax-t4", "ptx"),
]  # fmt: skip


def sample(name: str, *, sass: bool = False) -> tuple[Capture, Report]:
    (capture,) = irlens.load(CAPTURES / name)
    return capture, inspect(capture, Disassembly(sass))


def annotate(
    capture: Capture, stage: str, report: Report, *, interleave: bool = False
) -> list[tuple[str, str]]:
    listing_of = interleaved_listing if interleave else listed
    listing, lines = listing_of(CaptureCode(capture), stage, report)
    return list(annotated(listing, lines, report.pipelines, traffic_cells(report, stage)))


@pytest.mark.parametrize(("name", "stage"), STAGES)
def test_shows_all_that_is_known_of_each_line(name: str, stage: str) -> None:
    capture, report = sample(name, sass=stage == "sass")
    listing = list_stage(CaptureCode(capture), stage, report)
    (head, _), *rows = annotate(capture, stage, report)
    rows = rows[len(rows) - len(listing.lines) :]
    assert [line for _, line in rows] == listing.lines
    columns = head.split()
    traffic = ["requested", "distinct", "sectors"] if stage == "ttir" else []
    assert (bool(listing.control), bool(listing.waits)) == (stage == "sass", stage == "amdgcn")
    title = ["waits", "for"] if stage == "amdgcn" else ["schedule"]
    assert columns == ["line", *(title if listing.control or listing.waits else []),
                       *(["live"] if listing.live else []),
                       *(["pipeline"] if listing.marks else []),
                       *traffic]  # fmt: skip
    assert len({len(beside) for beside, _ in rows}) == 1
    cells = [beside.split() for beside, _ in rows]
    assert [int(each[0]) for each in cells] == list(range(1, len(rows) + 1))
    told = {n: notation(each) for n, each in listing.control.items()}
    told |= {n: describe_waits(each) for n, each in listing.waits.items()}
    for number, fields in told.items():
        words = fields.split()
        assert cells[number - 1][1 : 1 + len(words)] == words
        del cells[number - 1][1 : 1 + len(words)]
    for number, live in enumerate(listing.live, 1):
        cell = cells[number - 1][1:2]
        assert cell == [str(live)] if live >= 0 else not any(each.isdigit() for each in cell)
    for mark in listing.marks:
        beside = rows[mark.line - 1][0]
        assert mark.role in beside or "product" in beside or "load" in beside
        shown = ", ".join(map(str, mark.partners[:2]))
        assert shown in beside
        assert (f"+{len(mark.partners) - 2}" in beside) == (len(mark.partners) > 2)
    marked = {mark.line for mark in listing.marks}
    assert (
        {n for n, (beside, _) in enumerate(rows, 1) if "→" in beside or "←" in beside}
        == {mark.line for mark in listing.marks if mark.partners}
        <= marked
    )
    for loop in listing.loops:
        assert "╭" in rows[loop.first - 1][0]
        assert all("│" in beside for beside, _ in rows[loop.first : loop.last - 1])
    inside = {n for loop in listing.loops for n in range(loop.first, loop.last + 1)}
    assert {n for n, (beside, _) in enumerate(rows, 1) if set("╭│╰") & set(beside)} == inside


def test_the_ttir_says_what_each_line_moves() -> None:
    capture, report = sample("softmax-h100")
    _, *rows = annotate(capture, "ttir", report)
    cells = {number: beside.split() for number, (beside, _) in enumerate(rows, 1)}
    moved = ["16.8", "MB", "16.8", "MB", "1.00", "×"]
    assert [number for number, each in cells.items() if len(each) > 2] == [28, 48]
    assert cells[28] == ["28", *moved, "│"]
    assert cells[48] == ["48", *moved, "│"]
    assert "tt.load" in rows[27][1]
    assert "tt.store" in rows[47][1]


def test_without_a_launch_the_ttir_has_no_traffic() -> None:
    capture, report = sample("softmax-h100")
    bare = msgspec.structs.replace(report, traffic=None)
    assert traffic_cells(bare, "ttir") == traffic_cells(report, "ptx") == {}
    (head, _), *_ = annotate(capture, "ttir", bare)
    assert head.split() == ["line"]


def test_the_python_stands_in_between() -> None:
    capture, report = sample("softmax-h100")
    _, *rows = annotate(capture, "ptx", report, interleave=True)
    assert "\n".join(line for _, line in rows) + "\n" == interleaved(CaptureCode(capture), "ptx")
    assert all(not beside.strip() for beside, line in rows if line.startswith("// softmax.py"))


def test_machine_code_says_what_an_iteration_issues() -> None:
    capture, report = sample("matmul-a100", sass=True)
    _, (beside, note), *_ = annotate(capture, "sass", report)
    assert not beside.strip()
    assert note == (
        "// loop 746–986, a warp's iteration: 93 instructions in 206 issue cycles: alu 30, "
        "tensor 16, lsu 14, fma 12, uniform 11, other 10; a warp alone takes about 293 cycles, "
        "and 0.5 for each cycle that loads take beyond 299; 48 wavefronts of shared memory; "
        "requests 2,048 B"
    )


def test_amds_machine_code_says_what_an_iteration_issues_and_awaits() -> None:
    capture, report = sample("softmax-mi300x")
    (head, _), (beside, note), *rows = annotate(capture, "amdgcn", report)
    assert "  waits for  " in head
    assert not beside.strip()
    assert note == (
        "; loop 157–376, a wave's iteration: 137 instructions: valu 92, other 31, lds 4, "
        "transcendental 4, salu 3, vmem 2, branch 1; occupies the vector ALU for at least 432 "
        "cycles; requests 512 B"
    )
    waits = {n: beside[6:].partition("   ")[0] for n, (beside, line) in enumerate(rows, 1)
             if "s_waitcnt" in line}  # fmt: skip
    assert [waits[n] for n in (94, 97, 100)] == [
        "1 of 3 vmcnt: 77", "1 of 2 vmcnt: 78", "1 of 1 vmcnt: 84",
    ]  # fmt: skip
    # Stores raise the counter of loads: the load waits for the store of the iteration before too.
    assert waits[222].startswith("1–2 of 1–2 vmcnt: 169, 374")
    assert "buffer_store_dwordx2" in rows[374 - 1][1]


def irlens_inspect(*arguments: object) -> Ran:
    return running.irlens("inspect", *arguments, cwd=CAPTURES)


def test_on_the_command_line() -> None:
    capture, report = sample("softmax-h100")
    ran = irlens_inspect("softmax-h100", "--stage", "ptx", "--annotate")
    rows = annotate(capture, "ptx", report)
    assert ran.out.splitlines() == [f"{beside}{line}".rstrip() for beside, line in rows]
    assert (ran.code, ran.err) == (0, "")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--annotate",), "--annotate needs --stage"),
        (("--stage", "cubin", "--annotate"), "cubin is binary and has no lines\n  read it with"),
        (("--stage", "hsaco", "--annotate"), "hsaco is binary and has no lines\n"),
        (("--stage", "amdgcn", "--annotate"), "no amdgcn in this capture\n  stages: source,"),
        (
            ("--stage", "metadata", "--annotate", "--interleave"),
            "has no source locations",
        ),
    ],
)
def test_mistakes(arguments: tuple[str, ...], complaint: str) -> None:
    ran = irlens_inspect("softmax-h100", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert complaint in ran.err


@pytest.mark.parametrize("options", [[], ["--annotate"]])
def test_stdout_gets_no_control_characters_and_a_file_every_byte(
    tmp_path: Path, options: list[str]
) -> None:
    text = (CAPTURES / "softmax-t4" / "softmax_kernel.ptx").read_bytes()
    path = tmp_path / "softmax_kernel.ptx"
    path.write_bytes(b"// \x1b]0;owned\x07\xc2\x9b31m\n" + text.replace(b"\n", b"\r\n"))
    done = irlens_inspect(path, "--stage", "ptx", *options)
    assert b"// \\x1b]0;owned\\x07\\x9b31m\n" in done.raw
    assert not options or b"\r" not in done.raw
    if not options:
        assert done.raw.endswith(text.replace(b"\n", b"\r\n"))
        written = irlens_inspect(path, "--stage", "ptx", "--output", tmp_path / "out")
        assert written.code == 0
        assert (tmp_path / "out").read_bytes() == path.read_bytes()


def test_a_report_and_its_listing_parse_each_stage_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is disassembled or parsed again to annotate and interleave what was reported."""
    made: list[str] = []

    def counted(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            made.append(named.get("stage", name))
            return function(*arguments, **named)

        return call

    for name in ("ptx", "sass", "mlir"):
        parser = import_module(f"irlens.isa.{name}.parser")
        monkeypatch.setattr(parser, "parse", counted(name, parser.parse))
    monkeypatch.setattr(tools, "disassemble", counted("nvdisasm", tools.disassemble))
    monkeypatch.setattr(capture_code, "_ttir", capture_code._ttir.__wrapped__)
    (capture,) = irlens.load(CAPTURES / "softmax-h100")
    code = CaptureCode(capture)
    report = inspect(code, Disassembly.REQUIRE)
    before = list(made)
    for stage in ("ttir", "ttgir", "ptx", "sass"):
        listing, lines = interleaved_listing(code, stage, report)
        assert len(listing.lines) > 40
        assert len(list(lines)) > 40
    assert report.pressure.sass is not None
    assert sorted(before) == ["nvdisasm", "ptx", "sass", "ttgir", "ttir"]
    assert made == before
