"""The line, the verdict and the table of global memory: what is known, in words and to scale."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from irlens.model.report import Report
from irlens.model.text import magnitude, short_size
from irlens.model.traffic import Access, OutOfBounds, Roofline, Traffic
from irlens.render import Options, render
from irlens.render.view.memory_traffic import traffic_fact, traffic_section
from irlens.render.view.nodes import plain
from irlens.render.view.verdict import next_steps, verdict

REPORTS = Path(__file__).parents[2] / "samples" / "reports"
SOFTMAX = msgspec.json.decode((REPORTS / "softmax-h100.json").read_bytes(), type=Report)
replace = msgspec.structs.replace


def moving(**changes: Any) -> Report:
    """Return softmax with other figures of its traffic."""
    assert SOFTMAX.traffic is not None
    return replace(SOFTMAX, traffic=replace(SOFTMAX.traffic, **changes))


def accessing(**changes: Any) -> Report:
    """Return softmax with another first access."""
    assert SOFTMAX.traffic is not None
    first, *others = SOFTMAX.traffic.accesses
    return moving(accesses=[replace(first, **changes), *others])


def line(report: Report) -> str:
    fact = traffic_fact(report)
    assert fact is not None
    lines = [" · ".join(plain(item) for item in each.items) for each in fact.lines]
    return "\n".join([plain(fact.value), *lines])


def shown(report: Report) -> str:
    return render("text", "reports", [report], Options(width=160, details=frozenset({"memory"})))


class TestLine:
    def test_each_byte_once(self) -> None:
        assert line(SOFTMAX) == (
            "reads 16.8 MB = distinct 16.8 MB\n"
            "writes 16.8 MB · sectors 1.00 × ideal · 0.625 FLOP/B\n"
            "at least 10.0 µs on h100 · bound by memory · compute 0.313 µs"
        )

    def test_bytes_read_again(self) -> None:
        again = moving(read_bytes=3 * 16777216)
        assert line(again).startswith("reads 50.3 MB = 3.00 × distinct 16.8 MB")

    def test_without_a_launch_there_is_none(self) -> None:
        without = replace(SOFTMAX, traffic=None, roofline=None)
        assert traffic_fact(without) is None
        assert traffic_section(without) is None

    def test_unknown_says_why(self) -> None:
        reason = "line 7: the address depends on data"
        unknown = replace(SOFTMAX, traffic=Traffic(reason=reason), roofline=None)
        assert line(unknown) == f"unknown\n{reason}"
        assert f"unknown: {reason}" in shown(unknown)

    def test_unknown_requests_claim_nothing(self) -> None:
        unknown = moving(load_sectors=None)
        assert "ideal" not in line(unknown)
        assert "minimum" not in verdict(unknown).words

    def test_a_roofline_of_memory_alone(self) -> None:
        one = Roofline(memory_us=1200.0, reason="the operations are unknown")
        told = line(replace(SOFTMAX, roofline=one))
        assert told.endswith("memory 1.20 ms at least · the operations are unknown")


class TestVerdict:
    def test_the_minimum(self) -> None:
        assert "moves the minimum, 33.6 MB" in verdict(SOFTMAX).words

    @pytest.mark.parametrize(
        "changes", [{"read_bytes": 16777217}, {"written_bytes": 1 << 30}, {"load_sectors": 600000}]
    )
    def test_more_than_the_minimum(self, changes: dict[str, int]) -> None:
        assert "minimum" not in verdict(moving(**changes)).words

    def test_too_many_sectors(self) -> None:
        apart = moving(load_sectors=8 * 524288)
        assert "4.5 × the ideal sectors" in verdict(apart).words
        assert verdict(apart).tone == "warn"
        commands = [each.line for each in next_steps([apart]).commands]
        assert "irlens inspect KERNEL --memory" in commands

    def test_sectors_of_few_bytes_do_not_matter(self) -> None:
        """The TMA moves the rest."""
        traffic = SOFTMAX.traffic
        assert traffic is not None
        (read, written) = traffic.accesses
        tiles = [replace(each, requests=0, sectors=0, ideal_sectors=0) for each in (read, written)]
        number = replace(read, bytes=8192, sectors=8 * 256, ideal_sectors=256)
        told = moving(
            accesses=[*tiles, number], load_sectors=8 * 256, ideal_load_sectors=256,
            store_sectors=0, ideal_store_sectors=0,
        )  # fmt: skip
        assert "sectors 8.00 × ideal, <0.1 % of the bytes" in line(told)
        assert "ideal" not in verdict(told).words
        assert verdict(told).tone == verdict(SOFTMAX).tone
        assert not [each for each in next_steps([told]).commands if "--memory" in each.line]

    def test_out_of_bounds(self) -> None:
        outside = OutOfBounds(lanes=12, program=(1, 0, 0), offset=16777216, tensor_bytes=16777216)
        beyond = accessing(out_of_bounds=outside)
        assert "accesses memory outside of a tensor" in verdict(beyond).words
        assert verdict(beyond).tone == "bad"
        assert "12 lanes outside of their tensor" in line(beyond)


class TestAccesses:
    def test_a_row_for_each(self) -> None:
        text = shown(SOFTMAX)
        assert "softmax.py:50 load input_ptr" in text
        assert "softmax.py:54 store output_ptr" in text
        assert "coalesced, 16 B per thread" in text
        assert "21.0 MFLOP of fp32" in text

    @pytest.mark.parametrize(
        ("changes", "words"),
        [
            ({"sectors": 8 * 524288}, "8.00 × the ideal sectors"),
            ({"sectors": None, "reason": "widths differ"}, "widths differ"),
            ({"requests": 0, "sectors": 0}, "copied by the TMA"),
            ({"requests": 0, "sectors": 0, "bytes": 0}, "no lane is active"),
            ({"masked": 12345}, "12,345"),
            ({"distinct_bytes": 1048576}, "16.0 ×"),
        ],
    )
    def test_in_words(self, changes: dict[str, Any], words: str) -> None:
        assert words in shown(accessing(**changes))

    def test_every_format_has_the_table(self) -> None:
        options = Options(details=frozenset({"memory"}))
        for form in ("markdown", "html"):
            text = render(form, "reports", [SOFTMAX], options)
            assert "Global memory" in text
            assert "coalesced" in text

    def test_an_access_without_a_line_of_python(self) -> None:
        assert "ttir:28 load input_ptr" in shown(accessing(source=None))

    def test_no_access_at_all(self) -> None:
        nothing = Traffic(
            read_bytes=0, written_bytes=0, distinct_read_bytes=0, distinct_written_bytes=0
        )
        assert line(replace(SOFTMAX, traffic=nothing, roofline=None)) == "reads 0 B\nwrites 0 B"

    def test_amd_counts_lines(self) -> None:
        path = REPORTS / "softmax-mi300x.json"
        report = msgspec.json.decode(path.read_bytes(), type=Report)
        text = shown(report)
        assert "lines" in text
        assert "in sectors" not in text


def test_what_waits_moves_at_least_that() -> None:
    said = "k.py:9: this loop waits for other programs, and counts once"
    waiting = moving(at_least=said)
    assert line(waiting).startswith(
        "reads at least 16.8 MB = distinct 16.8 MB\nwrites at least 16.8"
    )
    assert said in line(waiting)
    assert "moves the minimum" in shown(SOFTMAX)
    assert "moves the minimum" not in shown(waiting)


def test_sizes_have_three_digits() -> None:
    assert [short_size(each) for each in (0, 9999, 16777216, 999_600, 4 << 30)] == [
        "0 B", "9,999 B", "16.8 MB", "1.00 MB", "4.29 GB",
    ]  # fmt: skip
    assert [magnitude(each) for each in (12, 137_438_953_472)] == ["12 ", "137 G"]


def test_an_access_is_written_as_the_source_does() -> None:
    atomic: Access = Access(
        line=3, source=None, operation="tt.atomic_rmw", argument="locks", bytes=4,
        distinct_bytes=4, masked=0, reason="atomic operations have counters of their own",
    )  # fmt: skip
    assert "ttir:3 atomic rmw locks" in shown(moving(accesses=[atomic]))
