"""Many reports: who is compared with whom."""

import msgspec

from irlens.diff.report.comparisons import against_first, match
from irlens.model.comparison import Comparisons, Side
from irlens.model.config import Target
from irlens.model.report import Report

replace = msgspec.structs.replace


def variant(report: Report, kernel: str = "", registers: int = 0, **config: object) -> Report:
    found = replace(report, config=replace(report.config, **config))
    if kernel:
        found = replace(found, kernel=kernel)
    if registers:
        found = replace(found, resources=replace(found.resources, registers=registers))
    return found


def paired(found: Comparisons) -> set[tuple[str, str]]:
    return {
        (f"{pair.before.kernel} {pair.before.label}", f"{pair.after.kernel} {pair.after.label}")
        for pair in found.pairs
    }


def names(sides: list[Side]) -> list[str]:
    return [side.kernel for side in sides]


def test_a_set_with_itself_in_another_order(reports: dict[str, Report]) -> None:
    everything = list(reports.values())
    found = match(everything, everything[::-1])
    assert (len(found.pairs), found.different) == (len(everything), False)


def test_kernels_are_matched_by_name_target_and_config(softmax: Report) -> None:
    before = [variant(softmax, num_warps=warps, registers=10 + warps) for warps in (1, 2, 4)]
    after = [variant(softmax, num_warps=warps, registers=20 + warps) for warps in (4, 1, 2)]
    found = match(before, after)
    assert len(found.pairs) == 3
    for pair in found.pairs:
        assert pair.before.config == pair.after.config
        (registers,) = (each for each in pair.figures if each.path == "resources.registers")
        assert registers.change == 10


def test_what_has_no_counterpart_is_listed(softmax: Report) -> None:
    before = [softmax, variant(softmax, "old"), variant(softmax, num_warps=1)]
    before.append(variant(softmax, num_warps=2))
    after = [softmax, variant(softmax, "new"), variant(softmax, num_warps=16)]
    found = match(before, after)
    assert len(found.pairs) == 1
    assert (names(found.removed), names(found.added)) == (["old"], ["new"])
    assert [side.config.num_warps for side in found.unmatched_before] == [1, 2]
    assert [side.config.num_warps for side in found.unmatched_after] == [16]
    assert found.different


def test_the_only_one_left_of_a_kernel_is_matched_in_spite_of_its_config(softmax: Report) -> None:
    other = variant(softmax, "other")
    found = match([softmax, other], [variant(softmax, num_warps=2), other])
    assert paired(found) == {
        ("softmax_kernel num_warps=8", "softmax_kernel num_warps=2"),
        ("other before", "other after"),
    }


def test_candidates_of_an_autotuner_are_matched_on_other_arguments(softmax: Report) -> None:
    """As in recordings of a program before and after its batch has grown."""

    def tried(rows: int) -> list[Report]:
        args = {**softmax.config.args, "n_rows": rows}
        return [
            replace(softmax, config=replace(softmax.config, args=args, num_warps=warps))
            for warps in (4, 8)
        ]

    found = match(tried(64), tried(128)[::-1])
    assert not found.removed
    assert not found.added
    paired = [(each.before.label, each.after.label) for each in found.pairs]
    assert len(paired) == 2
    assert all(("num_warps=4" in one) == ("num_warps=4" in other) for one, other in paired)
    assert all(each.other_work for each in found.pairs)


def test_the_same_kernel_on_two_targets(softmax: Report) -> None:
    ampere = replace(softmax, target=Target(vendor="nvidia", arch="sm_80", warp_size=32))
    found = match([softmax, ampere], [variant(ampere, num_warps=2), variant(softmax, num_warps=2)])
    assert len(found.pairs) == 2
    assert all(pair.before.target == pair.after.target for pair in found.pairs)


def test_several_configurations_on_two_targets(softmax: Report) -> None:
    """The same configuration pairs; a vendor's own default tells none apart that constexprs do."""

    def sizes(target: Target, stages: int) -> list[Report]:
        there = replace(softmax, target=target)
        return [
            variant(there, num_stages=stages, constexprs={"BLOCK_SIZE": size})
            for size in (128, 1024)
        ]

    assert softmax.target is not None
    ampere = Target(vendor="nvidia", arch="sm_80", warp_size=32)
    cdna = Target(vendor="amd", arch="gfx942", warp_size=64)
    for other, stages in ((ampere, 3), (cdna, 2)):
        found = match(sizes(softmax.target, 3), sizes(other, stages)[::-1])
        assert len(found.pairs) == 2
        for pair in found.pairs:
            assert pair.before.config.constexprs == pair.after.config.constexprs
            assert pair.before.target != pair.after.target


def test_twins_asked_for_alike_are_told_apart_by_what_they_are(softmax: Report) -> None:
    # A Triton cache holds no arguments: two specialisations look the same from outside.
    one, two = variant(softmax, registers=40), variant(softmax, registers=50)
    found = match([one, two, softmax], [two, softmax, one])
    assert (len(found.pairs), found.different) == (3, False)
    changed = match([one, two], [variant(softmax, registers=41), two])
    assert [pair.different for pair in changed.pairs] == [True, False]
    unsure = match([one, two], [variant(softmax, registers=41), variant(softmax, registers=51)])
    assert (unsure.pairs, len(unsure.unmatched_before), unsure.different) == ([], 2, True)


def test_two_single_captures_are_compared_whatever_their_names(softmax: Report) -> None:
    found = match([softmax], [variant(softmax, "renamed")])
    assert paired(found) == {("softmax_kernel softmax_kernel", "renamed renamed")}
    assert not found.different


def test_several_against_the_first(softmax: Report) -> None:
    found = against_first([variant(softmax, num_warps=warps) for warps in (8, 4, 2)])
    assert found.against_first
    assert [pair.before.label for pair in found.pairs] == ["num_warps=8"] * 2
    assert [pair.after.label for pair in found.pairs] == ["num_warps=4", "num_warps=2"]
