"""Two recordings as programs: what each kernel gains and loses."""

from msgspec.structs import replace

from irlens.model.comparison import Comparisons
from irlens.model.config import Target
from irlens.model.recording import KernelTime, LibraryCall, LibraryTime, ProgramRun, least_time
from irlens.render import render
from irlens.render.options import Options
from irlens.render.text import write
from irlens.render.view.program import change_view, run_view
from irlens.session.program_changes import compare_runs, program_changes

H100 = Target(vendor="nvidia", arch="sm_90", warp_size=32, product="h100")


def kernel(
    name: str, launches: int, total: float | None, source: str = "", *operations: str
) -> KernelTime:
    return KernelTime(
        kernel=name, source=source, operations=operations, launches=launches, total_us=total
    )


def product(calls: int, rows: int) -> LibraryTime:
    operands = f"bf16[{rows},256] × bf16[256,64]"
    call = LibraryCall(
        name="aten.mm", operands=operands, source="", calls=calls, bytes=1, flops=1, dtype="bf16"
    )
    return LibraryTime(call=call, floor_us=1.0)


def program(*kernels: KernelTime, library: tuple[LibraryTime, ...] = ()) -> ProgramRun:
    return ProgramRun(program="train.py", target=H100, kernels=kernels, library=library)


BEFORE = program(
    kernel("norm", 4, 40.0, "train.py:10"),
    kernel("norm", 2, 20.0, "train.py:20"),
    kernel("triton_poi_fused_add_3", 2, 10.0, "train.py:5", "add"),
    kernel("lookup", 1, None),
    kernel("gone", 1, 5.0),
    library=(product(4, 512), product(2, 64)),
)
AFTER = program(
    kernel("norm", 6, 30.0, "train.py:12"),
    kernel("triton_poi_fused_add_7", 2, 10.0, "train.py:6", "add"),
    kernel("lookup", 1, 3.0),
    kernel("new", 3, 1.0),
    library=(product(4, 512), product(3, 64)),
)


def test_kernels_are_matched_by_name_and_ordered_by_their_change() -> None:
    change = compare_runs(BEFORE, AFTER)
    assert [(each.kernel, each.before, each.after) for each in change.kernels] == [
        ("norm", 6, 6),
        ("gone", 1, None),
        ("new", None, 3),
        ("triton_poi_fused_add", 2, 2),
        ("lookup", 1, 1),
    ]
    assert [each.change_us for each in change.kernels] == [-30.0, -5.0, 1.0, 0.0, None]
    assert (change.before_us, change.after_us) == (75.0, 41.0), "the unknown kernel is left out"
    (calls,) = change.library
    assert (calls.operands, calls.before, calls.after) == ("bf16[64,256] × bf16[256,64]", 2, 3)


def test_the_headline_is_led_by_time() -> None:
    lines = write(change_view(compare_runs(BEFORE, AFTER), Options()), Options()).splitlines()
    text = " ".join(lines).replace("\xa0", " ")
    assert lines[1].startswith("45.3 % less time in kernels · about 75.0 µs → 41.0 µs together")
    assert text.index("−30.0 µs") < text.index("10 → 12 launches"), "the kernel that moved it most"
    assert "10 → 12 launches" in text
    assert "time of 1 kernel unknown" in text
    assert "1 new" in text
    assert "1 gone" in text
    worse = write(change_view(compare_runs(AFTER, BEFORE), Options()), Options())
    assert "82.9 % more time in kernels" in worse
    assert "2.4 × the time in kernels" in write(
        change_view(
            compare_runs(program(kernel("norm", 1, 10.0)), program(kernel("norm", 1, 24.0))),
            Options(),
        ),
        Options(),
    )
    same = write(change_view(compare_runs(AFTER, AFTER), Options()), Options())
    assert "as fast, as far as an estimate can tell" in same
    assert "launches" in same.splitlines()[3]
    assert "→" not in same.partition("kernel  ")[2]


def test_a_comment_has_the_programs_verdict() -> None:
    """It had the table of the kernels alone."""
    programs = [compare_runs(BEFORE, AFTER)]
    empty = Comparisons(schema=1, different=True, against_first=False, pairs=[], programs=programs)
    written = render("markdown", "comparisons", empty, Options())
    assert "**Program**: sm_90 (h100): 45.3 % less time in kernels · about 75.0 µs" in written


def test_other_sides_are_no_programs(tmp_path: object) -> None:
    assert program_changes(str(tmp_path), "softmax") == []


def test_a_share_of_the_known_time_says_so() -> None:
    norm = KernelTime(kernel="norm", launches=2, total_us=30.0, share=0.75)
    cast = KernelTime(kernel="cast", launches=1, total_us=10.0, share=0.25)
    unknown = KernelTime(kernel="matmul", launches=9)
    for kernels, said in (
        ((norm, cast), "· 75 % in norm"),
        ((norm, cast, unknown), "75 % of the known time in norm"),
    ):
        run = ProgramRun(program="train.py", target=H100, kernels=kernels, total_us=40.0)
        text = write(run_view(run, Options()), Options())
        assert said in " ".join(text.split()).replace("\xa0", " ")


def test_library_calls_count_in_the_step_and_the_costliest_come_first() -> None:
    """With a larger batch all of them are other calls."""

    def products(*sizes: int, calls: int = 2) -> ProgramRun:
        each = (replace(product(calls, size), floor_us=size / 64) for size in sizes)
        return program(library=tuple(each))

    before, after = products(64, 512), products(128, 1024)
    change = compare_runs(before, after)
    assert change.library_before_us == least_time(before.library)
    assert change.library_after_us == least_time(after.library)
    assert change.library_after_us is not None
    assert [each.after for each in change.library] == [2, 0, 2, 0]
    assert "1024" in change.library[0].operands
    many = products(*range(64, 64 * 21, 64), calls=1)
    text = write(change_view(compare_runs(program(), many), Options(rows=16)), Options())
    assert "library calls take at least 0 µs → 210 µs more" in " ".join(text.split())
    assert "… and 12 more" in text
    assert "JSON has all" in text
    unknown = program(library=(replace(product(2, 64), floor_us=None),))
    text = write(change_view(compare_runs(unknown, many), Options()), Options())
    assert "at least" not in text, "what is unknown is no 0"
