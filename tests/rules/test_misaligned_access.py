from collections.abc import Callable

import msgspec
import pytest

from irlens.analyze.facts import Facts, Moved
from irlens.model.report import Finding
from irlens.rules import misaligned_access

CODE = "IRL307"
Look = Callable[..., list[Finding]]


def test_shows_rows_of_an_odd_number_of_half_sectors(look: Look) -> None:
    """Rows of 1,008 bytes: every other one starts in the middle of a sector, and 128 B take 5."""
    (finding,) = look(CODE, "misaligned.py:rows")
    # 512 rows of one request each: 256 x 4 sectors and 256 x 5.
    assert finding.message == (
        "the load at misaligned.py:47 is misaligned: runs of x_ptr start at 2 different offsets"
        " within a sector, and its 512 requests touch 2,304 sectors of 32 B where 2,048 would do"
    )
    assert finding.hint == "pad the row stride to a multiple of 32 B"


def test_shows_a_tile_that_is_shifted_by_an_element(look: Look) -> None:
    (finding,) = look(CODE, "misaligned.py:shifted")
    # 65,536 elements in requests of 32: 5 sectors each.
    assert finding.message == (
        "the load at misaligned.py:54 is misaligned: runs of x_ptr start 4 B past a sector"
        " boundary, and its 2,048 requests touch 10,240 sectors of 32 B where 8,192 would do"
    )
    assert finding.hint.startswith("start at a multiple of 32 B")


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        ("rows", "8 different offsets within a line, and its 512 requests touch 960 lines of 128"),
        ("shifted", "4 B past a line boundary, and its 2,048 requests touch 6,144 lines of 128 B"),
    ],
)
def test_shows_cache_lines_on_amd(kernel: str, message: str, look: Look) -> None:
    """A row of 128 B is two lines unless it starts at one: 64 of 512 rows do."""
    (finding,) = look(CODE, f"misaligned.py:{kernel}", "mi300x")
    assert message in finding.message


def test_padding_does_not_mend_a_window_that_moves(look: Look) -> None:
    """The rows are aligned, and seven of eight taps are not, whatever the rows are."""
    (finding,) = look(CODE, "sectors.py:taps")
    assert finding.hint.startswith("each iteration starts elsewhere")
    assert look(CODE, "sectors.py:taps", K=1) == []
    (finding,) = look(CODE, "sectors.py:taps", args={"w": 257})  # the rows are not aligned, either
    assert finding.hint.startswith("each iteration starts elsewhere")


def test_shows_bytes_off_a_boundary(look: Look) -> None:
    (finding,) = look(CODE, "sectors.py:bytes")
    assert "runs of x start 5 B past a sector boundary" in finding.message
    assert look(CODE, "sectors.py:bytes", SHIFT=32) == []


def test_silent_where_rows_are_padded(look: Look) -> None:
    assert look(CODE, "misaligned.py:rows", args={"stride": 1024, "n_cols": 1024}) == []


def test_silent_where_the_narrow_access_is_reported(look: Look) -> None:
    assert look(CODE, "misaligned.py:ragged") == []
    assert len(look("IRL301", "misaligned.py:ragged")) == 1


def test_silent_on_columns(look: Look) -> None:
    """Each element lies in a row of its own: alignment would not save a sector."""
    assert look(CODE, "columns.py:columns") == []
    assert look(CODE, "columns.py:strip") == []


@pytest.mark.parametrize("target", ["h100", "mi300x"])
@pytest.mark.parametrize("kernel", ["softmax", "layer_norm", "matmul_tiled", "transpose"])
def test_silent_on_aligned_samples(kernel: str, target: str, look: Look) -> None:
    assert look(CODE, kernel, target) == []


def test_silent_where_sectors_are_unknown(facts_of: Callable[..., Facts]) -> None:
    facts = facts_of("misaligned.py:rows")
    assert list(misaligned_access.find(facts))
    uncounted = (None,) * len(facts.launch.runs)
    for moved in (Moved(), Moved(facts.traffic, uncounted), Moved(facts.traffic)):
        changed = msgspec.structs.replace(facts, evaluate_launch=lambda moved=moved: moved)
        assert list(misaligned_access.find(changed)) == []
    assert list(misaligned_access.find(msgspec.structs.replace(facts, gpu=None))) == []
