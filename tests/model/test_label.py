"""What sets reports apart."""

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from irlens.model.comparison import Side
from irlens.model.config import Config, Target
from irlens.model.label import GrowingLabels, labels
from irlens.model.report import Report

REPORTS = Path(__file__).parents[2] / "samples" / "reports"


def test_what_is_not_known_of_one_is_not_told_of_it() -> None:
    whole = msgspec.json.decode((REPORTS / "softmax-h100.json").read_bytes(), type=Report)
    bare = msgspec.structs.replace(
        whole,
        triton_version=None,
        config=msgspec.structs.replace(
            whole.config, num_warps=None, num_stages=None, num_ctas=None
        ),
    )
    # The kernel has num_stages as a constexpr, too, which both know.
    assert labels([whole, bare]) == ["Triton 3.9.0 num_warps=8 num_ctas=1", ""]


def test_that_no_limit_was_asked_for_is_known() -> None:
    whole = msgspec.json.decode((REPORTS / "softmax-h100.json").read_bytes(), type=Report)
    limited = msgspec.structs.replace(
        whole, config=msgspec.structs.replace(whole.config, maxnreg=64)
    )
    assert labels([whole, limited]) == ["maxnreg=None", "maxnreg=64"]


@pytest.mark.parametrize(
    ("products", "told"),
    [
        ([("sm_80", "a100"), ("sm_90", "h100")], ["sm_80", "sm_90"]),
        ([("sm_90", "h100"), ("sm_90", "h200")], ["h100", "h200"]),
        ([("sm_80", "a100"), ("sm_90", "h100"), ("sm_90", "h200")], ["a100", "h100", "h200"]),
        ([("sm_80", None), ("sm_90", None), ("sm_90", "h200")], ["sm_80", "sm_90", "h200"]),
        ([("sm_90", "h100"), ("sm_90", "h100")], ["", ""]),
    ],
)
def test_products_are_told_where_their_architectures_do_not_tell_them_apart(
    products: list[tuple[str, str | None]], told: list[str]
) -> None:
    report = msgspec.json.decode((REPORTS / "softmax-h100.json").read_bytes(), type=Report)
    assert report.target is not None
    targets = [
        msgspec.structs.replace(report.target, arch=arch, product=product)
        for arch, product in products
    ]
    assert labels([msgspec.structs.replace(report, target=each) for each in targets]) == told


def test_an_option_that_one_report_changes_is_the_default_in_the_other() -> None:
    plain = msgspec.json.decode((REPORTS / "softmax-h100.json").read_bytes(), type=Report)
    chosen, unknown = (
        msgspec.structs.replace(
            plain, config=msgspec.structs.replace(plain.config, options=options)
        )
        for options in ({"kpack": 2}, None)
    )
    assert labels([plain, chosen]) == ["kpack=default", "kpack=2"]
    assert labels([plain, chosen, unknown]) == ["kpack=default", "kpack=2", ""]


_CONFIGS = st.builds(
    Config,
    num_warps=st.sampled_from([None, 4, 8]),
    num_stages=st.just(2),
    num_ctas=st.just(1),
    maxnreg=st.sampled_from([None, 64]),
    constexprs=st.dictionaries(st.sampled_from("AB"), st.integers(0, 1), max_size=2),
    args=st.dictionaries(st.sampled_from("xy"), st.sampled_from(["fp16[64]", "3"]), max_size=2),
    options=st.none() | st.dictionaries(st.sampled_from("op"), st.integers(0, 1), max_size=2),
)
_TARGETS = st.none() | st.builds(
    Target,
    vendor=st.just("nvidia"),
    arch=st.sampled_from(["sm_90", "sm_100"]),
    warp_size=st.just(32),
    product=st.sampled_from([None, "h100", "h200"]),
)
_SIDES = st.builds(
    Side, kernel=st.just("k"), target=_TARGETS, triton_version=st.none(), config=_CONFIGS,
    label=st.just(""),
)  # fmt: skip
_BATCHES = st.lists(st.dictionaries(st.sampled_from("12345"), st.none() | _SIDES), max_size=5)


@given(_BATCHES)
def test_labels_of_arriving_reports_are_those_of_all_at_once(
    batches: list[dict[str, Side | None]],
) -> None:
    growing, known, told = GrowingLabels(), dict[str, Side](), dict[str, str]()
    for batch in batches:
        for key, side in batch.items():
            if side is None:
                known.pop(key, None)
                told.pop(key, None)
            else:
                known[key] = side
        told |= {key: growing.label(key) for key in growing.update(batch)}
        assert told == dict(zip(known, labels(list(known.values())), strict=True))
