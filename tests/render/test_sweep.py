"""How a sweep is written, from records made by hand."""

import csv
import io

import msgspec
import pytest

from irlens.model.capture import Timing
from irlens.model.config import ConstexprValue, Target
from irlens.model.estimate import Bound
from irlens.model.ranking import with_standings
from irlens.model.report import Finding
from irlens.model.sweep import (
    SWEEP_SCHEMA,
    Correlation,
    FigureValue,
    Measurement,
    Outcome,
    ProviderTime,
    Sweep,
    Trial,
    with_measurement,
)
from irlens.render import Options, render

H100 = Target(vendor="nvidia", arch="sm_90", warp_size=32, product="h100")
SM_80 = Target(vendor="nvidia", arch="sm_80", warp_size=32)
FIGURES: dict[str, FigureValue] = {
    "occupancy": 0.5, "blocks_per_sm": 4, "registers": 64, "local_bytes": 0,
    "shared_bytes": 32768, "stages_achieved": 3, "stages_at_most": None, "stages_requested": 4,
    "bytes_in_flight_per_sm": None, "live_registers": 60, "instructions": 300,
    "code_bytes": 4000,
}  # fmt: skip
HOSTILE = '=HYPERLINK("x")\x1b[31m<script>alert(1)</script>|`\n@everyone ../../'


def trial(
    block: ConstexprValue,
    outcome: Outcome = "fits",
    *,
    reason: str = "",
    hint: str = "",
    target: Target = H100,
    time: float | None = None,
    **figures: float,
) -> Trial:
    return Trial(
        label=f"BLOCK={block}",
        target=target,
        settings={"BLOCK": block, "num_warps": 4},
        args={},
        outcome=outcome,
        reason=reason,
        hint=hint,
        figures=None if outcome in ("failed", "died") else {**FIGURES, **figures},
        limited_by=["registers", "shared_memory"] if outcome == "fits" else [],
        timing=None if time is None else Timing(median_ms=time, fast_ms=time, slow_ms=time),
    )


def sweep(*trials: Trial, kernel: str = "fill", device: str | None = None) -> Sweep:
    return Sweep(
        schema=SWEEP_SCHEMA,
        kernel=kernel,
        targets=list(dict.fromkeys(each.target for each in trials)),
        where=[],
        filters=[],
        trials=list(trials),
        excluded=3,
        filtered=0,
        device=device,
        correlations=[
            Correlation(figure="stages_achieved", trials=2, rho=-0.777),
            Correlation(figure="occupancy", trials=2, rho=None),
        ]
        if device
        else [],
    )


def text(found: Sweep, view: Options | None = None) -> str:
    return render("text", "sweep", found, view or Options())


def test_everything_has_its_place() -> None:
    reason = "shared memory: 300,000 bytes/CTA asked for, and h100 has 232,448"
    failing = {"reason": "fill.py:3:1: no", "hint": "    x = tl\n        ^"}
    found = sweep(
        trial(64), trial(512, "does not fit", reason=reason, occupancy=0.0),
        trial(48, "failed", reason=failing["reason"], hint=failing["hint"]),
        trial(96, "died", reason="worker died (signal 9, SIGKILL)"),
        trial(64, target=SM_80), trial(512, target=SM_80),
    )  # fmt: skip
    assert text(found) == (
        "fill   num_warps 4\n"
        "not ranked by time, which is unknown\n"
        "3 of 6 fit, 1 too big, 1 failed, 1 died with their worker\n"
        "3 left out by --where\n"
        "\n"
        "sm_90 (h100)   1 of 4 fit, 1 too big, 1 failed, 1 died with their worker\n"
        "BLOCK  occupancy  registers  local B  shared B  stages  limited by\n"
        "   64       50 %         64        0    32,768     3/4  registers, shared\n"
        "\n"
        "Too big: 1 configuration\n"
        "shared memory: 300,000 bytes/CTA asked for, and h100 has 232,448\n"
        "  BLOCK=512\n"
        "\n"
        "Failed: 1 configuration\n"
        "fill.py:3:1: no\n"
        "        x = tl\n"
        "            ^\n"
        "  BLOCK=48\n"
        "\n"
        "Died: 1 configuration\n"
        "worker died (signal 9, SIGKILL)\n"
        "  BLOCK=96\n"
        "\n"
        "sm_80   2 of 2 fit; least local memory first, then highest occupancy\n"
        "all 2: occupancy 50 %   registers 64   local 0 B   shared 32,768 B   stages 3/4\n"
        "limited by registers, shared\n"
        "\n"
        "BLOCK\n"
        "   64\n"
        "  512\n"
        "\n"
        "Next        irlens inspect KERNEL --target h100 --num-warps 4 --set BLOCK=64\n"
        "              the first configuration in full on sm_90 (h100)\n"
    )


def test_a_default_that_other_trials_change_is_part_of_the_command() -> None:
    one, two = (
        msgspec.structs.replace(each, settings={**each.settings, "num_ctas": ctas})
        for each, ctas in ((trial(64), 1), (trial(64), 2))
    )
    assert "--num-ctas 1" in text(sweep(one, two))
    assert "--num-ctas" not in text(sweep(one))


def test_several_tritons_are_told_apart() -> None:
    older, newer = (
        msgspec.structs.replace(trial(64), triton=version, label=f"Triton {version}")
        for version in ("3.6.0", "3.9.0")
    )
    died = msgspec.structs.replace(trial(64, "died", reason="no memory"), triton="3.4.0")
    found = sweep(older, newer, died)
    assert "Triton\n 3.6.0\n 3.9.0\n" in text(found)
    assert "--triton 3.6.0" in text(found)
    assert "BLOCK=64" not in text(sweep(older, newer)).partition("Next")[0].splitlines()[-2]
    rows = csv.DictReader(io.StringIO(render("csv", "sweep", found, Options())))
    assert [row["triton"] for row in rows] == ["3.6.0", "3.9.0", "3.4.0"]


def test_a_constexpr_that_is_called_like_the_compiler_is_told_apart() -> None:
    trials = [
        msgspec.structs.replace(
            trial(64), triton=version, settings={"Triton": value, "triton": value}
        )
        for version, value in (("3.6.0", 1), ("3.9.0", 2))
    ]  # fmt: skip
    told = text(sweep(*trials)).splitlines()
    titles = next(number for number, line in enumerate(told) if line.startswith("Triton"))
    assert told[titles].split("  ") == ["Triton", "setting Triton", "triton"]
    assert told[titles + 1].split() == ["3.6.0", "1", "1"]
    written = render("csv", "sweep", sweep(*trials), Options())
    row = next(csv.DictReader(io.StringIO(written)))
    assert (row["triton"], row["setting triton"], row["Triton"]) == ("3.6.0", "1", "1")


def test_local_memory_has_a_column_where_there_is_some() -> None:
    shown = text(sweep(trial(64), trial(128, local_bytes=1024)))
    assert "BLOCK  local B\n   64        0\n  128    1,024\n" in shown
    assert "local 0 B" in text(sweep(trial(64), trial(128)))


@pytest.mark.parametrize("form", ["text", "markdown", "html"])
def test_as_many_stages_as_there_can_be(form: str) -> None:
    ring = {**FIGURES, "stages_achieved": None, "stages_at_most": 3}
    told = msgspec.structs.replace(trial(64), figures=ring)
    shown = render(form, "sweep", sweep(told), Options(width=120))
    assert "≤3/4" in shown
    unknown = {**ring, "stages_at_most": None}
    told = msgspec.structs.replace(trial(64), figures=unknown)
    assert "/4" not in render(form, "sweep", sweep(told), Options(width=120))


def test_times_and_what_they_go_with() -> None:
    found = sweep(trial(64, time=0.0123456), trial(128), device="NVIDIA H200")
    shown = " ".join(text(found).split())
    assert "64 12.3 µs – fastest" in shown
    assert "128 – – –" in shown
    assert "time of 1 configuration on NVIDIA H200" in shown
    assert "stages achieved −0.78" in shown
    assert "occupancy +" not in shown


def test_a_long_table_is_cut_and_counted() -> None:
    found = sweep(*(trial(block) for block in range(50)))
    shown = text(found, Options(rows=10))
    assert "… and 40 more configurations; --all shows them" in shown
    assert len(shown.splitlines()) < 24
    assert "more" not in text(found)


def test_the_same_reason_is_told_once() -> None:
    failed = [trial(block, "failed", reason="not a power of 2") for block in (3, 5, 7)]
    shown = text(sweep(trial(4), *failed))
    assert shown.count("not a power of 2") == 1
    assert "BLOCK=3\n" in shown
    assert "BLOCK=7\n" in shown


@pytest.mark.parametrize("form", ["text", "markdown", "csv", "json"])
def test_hostile_names_are_inert(form: str) -> None:
    found = sweep(
        trial(HOSTILE), trial(64), trial(HOSTILE, "failed", reason=HOSTILE, hint=HOSTILE),
        kernel=HOSTILE, device=HOSTILE,
    )  # fmt: skip
    shown = render(form, "sweep", found, Options())
    assert "\x1b" not in shown
    if form == "markdown":
        assert "<script>" not in shown
        assert "@everyone" not in shown.split("<pre>")[0]


def test_no_field_of_a_spreadsheet_is_a_formula() -> None:
    for start in ("=1+1", "+1", "-1", "@SUM(A1)", " =1+1", "\t=1", "\r=1", "\n=1"):
        found = sweep(trial(start), trial(-1), kernel=start)
        rows = list(csv.DictReader(io.StringIO(render("csv", "sweep", found, Options()))))
        assert rows[0]["kernel"].startswith(("'", "\\"))
        assert rows[0]["BLOCK"].startswith(("'", "\\"))
        assert rows[1]["BLOCK"] == "-1", "a number is one"


def test_a_constexpr_that_is_called_like_a_figure_stays_apart() -> None:
    odd = msgspec.structs.replace(trial(64), settings={"registers": 7, "kernel": 8})
    rows = csv.DictReader(io.StringIO(render("csv", "sweep", sweep(odd), Options())))
    (row,) = rows
    assert (row["registers"], row["setting registers"]) == ("64", "7")
    assert (row["kernel"], row["setting kernel"]) == ("fill", "8")


def test_nothing_is_left() -> None:
    found = msgspec.structs.replace(sweep(trial(64)), trials=[], filtered=4)
    for form in ("text", "markdown", "csv", "json"):
        assert render(form, "sweep", found, Options())
    assert "0 of 0 fit" in text(found)
    assert "4 left out by --filter" in text(found)


def test_the_vendor_s_words_for_what_limits() -> None:
    mi300x = Target(vendor="amd", arch="gfx942", warp_size=64, product="mi300x")
    text = render("text", "sweep", sweep(trial(64), trial(64, target=mi300x)), Options())
    nvidia, amd = text.split("gfx942")
    assert "registers, shared" in nvidia
    assert "registers, LDS" in amd


def sizes(*columns: int, measured: bool = True, compute_us: float = 0.5) -> Sweep:
    """A softmax of 4096 rows that takes twice its floor, and three times in eager mode."""
    trials = []
    for n_cols in columns:
        moved = 4096 * n_cols * 4
        floor_us = 2 * moved / 4.8e6
        one = trial(
            64, distinct_read_bytes=moved, distinct_written_bytes=moved, flops=5 * moved,
            floor_us=floor_us, memory_us=floor_us, compute_us=compute_us,
        )  # fmt: skip
        each = msgspec.structs.replace(one, args={"n_cols": str(n_cols)})
        if measured:
            kernel, eager = (
                Timing(median_ms=ms, fast_ms=ms, slow_ms=ms)
                for ms in (2 * floor_us / 1e3, 3 * floor_us / 1e3)
            )
            others = [ProviderTime(name="eager", timing=eager),
                      ProviderTime(name="naive", reason="out of memory")]  # fmt: skip
            each = with_measurement(each, Measurement(timing=kernel, against=others))
        trials.append(each)
    found = sweep(*trials, kernel="softmax_kernel")
    device = "NVIDIA H200" if measured else None
    return msgspec.structs.replace(found, axis="n_cols", device=device)


def test_launches_with_errors_are_in_the_headline() -> None:
    outside = Finding(
        code="IRL304", severity="error", message="the load at a.py:1 reaches outside X: 9 lanes",
        hint="", stage=None, line=None, source=None,
    )  # fmt: skip
    fine = sizes(256, 512, 1024)
    wrong = [msgspec.structs.replace(each, findings=[outside]) for each in fine.trials]
    said = "the load at a.py:1 reaches outside X"
    for trials, where in (
        ([*fine.trials[:1], *wrong[1:]], "from n_cols=512 on"),
        ([*wrong[:2], *fine.trials[2:]], "up to n_cols=512"),
        ([*fine.trials[:2], *wrong[2:]], "at n_cols=1,024"),
        ([wrong[0], fine.trials[1], wrong[2]], "in 2 of 3"),
    ):
        shown = text(msgspec.structs.replace(fine, trials=trials))
        assert f"IRL304 {where}: {said}" in " ".join(shown.split())
    apart = msgspec.structs.replace(fine, axis=None, trials=wrong)
    assert f"IRL304 in 3 of 3: {said}" in " ".join(text(apart).split())
    assert "IRL304" not in text(fine)


def test_each_target_has_its_sizes_in_the_headline() -> None:
    """What does not fit there, and that no time is known, are part of it."""
    other = Target(vendor="nvidia", arch="sm_80", warp_size=32, product="a100")
    timed = with_standings(sizes(256, 512, 1024).trials)
    small = msgspec.structs.replace(timed[0], target=other)
    big = [msgspec.structs.replace(each, target=other, outcome="does not fit", figures=None,
                                   timing=None, standing=None, reason="too much")
           for each in timed[1:]]  # fmt: skip
    mi300x = Target(vendor="amd", arch="gfx942", warp_size=64, product="mi300x")
    unknown = [
        msgspec.structs.replace(
            each, target=mi300x, timing=None, standing=None, untimed="how long is unknown"
        )
        for each in timed
    ]
    found = msgspec.structs.replace(
        sizes(256), trials=[*timed, small, *big, *unknown], targets=[H100, other, mi300x],
    )  # fmt: skip
    shown = " ".join(text(found).split())
    assert "sm_90 (h100) n_cols=256: " in shown
    assert "sm_80 (a100) n_cols=256: " in shown
    assert "too big from n_cols=512 on" in shown
    assert "gfx942 (mi300x) not ranked by time, which is unknown: how long is unknown" in shown
    nothing = msgspec.structs.replace(found, trials=big, targets=[other])
    assert "too big at 2 sizes" in " ".join(text(nothing).split())


def test_sizes_have_their_traffic_and_floor() -> None:
    table = text(sizes(1024, 2048, measured=False)).splitlines()
    row = next(line for line in table if line.strip().startswith("1024"))
    assert row.split()[1:3] == ["0.03355", "6.991"]
    assert not any("⠤" in line for line in table)


def test_measured_sizes_have_rates_and_a_plot() -> None:
    found = sizes(512, 1024, 2048)
    shown = text(found, Options(width=120))
    assert "⠤ kernel  ⠤ eager  ⠤ roofline  (GB/s)" in shown
    row = next(line for line in shown.splitlines() if line.strip().startswith("1024"))
    assert row.split()[1:] == [
        "14.0", "µs", "0.03355", "6.991", "2400", "6", "50", "%", "0.02097", "–",
    ]  # fmt: skip
    page = render("html", "sweep", found, Options())
    assert page.count("<circle") == 9
    assert "<title>eager: 1,600 GB/s at 1,024</title>" in page
    rows = list(csv.DictReader(io.StringIO(render("csv", "sweep", found, Options()))))
    assert [float(each["gb_per_s"]) for each in rows] == pytest.approx([2400] * 3)
    assert [float(each["eager gb_per_s"]) for each in rows] == pytest.approx([1600] * 3)
    assert {each["naive reason"] for each in rows} == {"out of memory"}
    again = msgspec.json.decode(render("json", "sweep", found, Options()), type=Sweep)
    assert again == found


def test_letters_of_measured_sizes_are_spelled_out() -> None:
    """The headline has letters where settings are long, and what they are follows it."""
    found = sizes(512, 1024)
    long = [f"very_long_name_of_a_setting_{n}" for n in range(2)]
    slow = Timing(median_ms=9.0, fast_ms=9.0, slow_ms=9.0)
    trials = [
        msgspec.structs.replace(
            each, settings=dict.fromkeys(long, number), timing=each.timing if number == at else slow
        )
        for at, each in enumerate(found.trials)
        for number in range(2)
    ]
    found = msgspec.structs.replace(found, trials=with_standings(trials))
    shown = text(found, Options(width=200)).splitlines()
    headline = next(n for n, line in enumerate(shown) if "fastest: A up to 512" in line)
    chart = next(n for n, line in enumerate(shown) if "⠤ kernel" in line)
    legend = [line.strip() for line in shown[headline:chart] if line.strip()[:2] in ("A:", "B:")]
    assert legend == [f"{x}: {long[0]}={n} {long[1]}={n}" for n, x in enumerate("AB")]


def test_what_computes_longer_than_it_loads_is_drawn_in_operations() -> None:
    shown = text(sizes(512, 1024, compute_us=1e6))
    assert "(TFLOP/s)" in shown


def test_sizes_far_apart_are_drawn_in_powers_of_two() -> None:
    rows = text(sizes(2**6, 2**12, 2**18)).splitlines()
    assert any("64" in row and "n_cols" in row and "262,144" in row for row in rows)
    page = render("html", "sweep", sizes(2**6, 2**12, 2**18), Options())
    middle = page.partition("at 4,096")[0].rpartition('cx="')[2].partition('"')[0]
    assert middle == "50%"


def test_what_is_outranked_says_by_how_much_and_what_binds_it() -> None:
    def estimated(block: int, time: float, bound: Bound) -> Trial:
        return msgspec.structs.replace(trial(block, time_us=time), bound=bound)

    trials = [estimated(64, 100.0, "l2")]
    slower = [
        estimated(128, 102.0, "dram"),
        estimated(32, 125.0, "l2"),
        estimated(16, 150.0, "l2"),
        estimated(8, 310.0, "latency"),
    ]
    for each in (*trials, *slower):
        assert each.figures is not None
        each.figures["time"] = each.figures.pop("time_us")
    ranked = msgspec.structs.replace(sweep(*trials), ranked_by="time", outranked=slower)
    written = render("text", "sweep", ranked, Options(width=100))
    assert "5 of 5 fit" in written
    assert "100 µs" in written
    assert "Outranked: 4 configurations" in written
    assert "1 as fast as the first, within 3 %" in written
    assert "2 configurations, bound by L2: 1.25 to 1.50 × the first" in written
    assert "1 configuration, bound by latency: 3.10 × the first" in written
