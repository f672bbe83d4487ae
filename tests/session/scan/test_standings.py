"""Scans: which rows compare, what sets them apart, and the order that follows."""

from irlens import gpus
from irlens.model.config import Config
from irlens.model.scan import ScanRow, ScanValue
from irlens.session.scan.standings import KEYS, Identity, identity_of, ranked_rows


def row(
    kernel: str, us: float | None, *, stages: int = 2, n: int = 64, gpu: str = "h100"
) -> dict[str, ScanValue]:
    config = Config(
        num_warps=4, num_stages=stages, num_ctas=1, maxnreg=None, constexprs={}, args={"n": n}
    )
    identity = identity_of(Identity(kernel, gpus.find(gpu).target, "3.9.0", config))
    values: list[ScanValue] = [identity, None, us, "l2", True, 4096, 4096]
    return dict(zip(KEYS, values, strict=True))


def ranked(rows: list[dict[str, ScanValue]], launches: list[int | None]) -> list[ScanRow]:
    """Rank rows; the path of each is its index."""
    blank = [ScanRow(path=str(n), kernel="", figures={}) for n in range(len(rows))]
    found = ranked_rows(blank, rows, launches)
    assert [str(index) for index, _ in found] == [each.path for _, each in found]
    return [each for _, each in found]


def test_the_fastest_of_each_problem_leads_and_the_longest_problem_is_first() -> None:
    rows = [
        row("short", 3.0),
        row("tuned", 50.0, stages=2),
        row("tuned", 20.0, stages=3),
        row("tuned", 20.5, stages=4),
        row("tuned", None, stages=5),
        row("unknown", None),
    ]
    found = ranked(rows, [None] * len(rows))
    assert [int(each.path) for each in found] == [2, 3, 1, 4, 0, 5]
    assert [each.standing and each.standing.mark for each in found] == [
        "fastest",
        "as fast",
        *[None] * 4,
    ]
    assert [each.label for each in found[:2]] == ["num_stages=3", "num_stages=4"]
    assert {each.bound for each in found} == {"l2"}


def test_launches_count_before_the_time_of_one() -> None:
    rows = [row("long", 100.0), row("often", 3.0, stages=2), row("often", 2.0, stages=3)]
    assert [int(each.path) for each in ranked(rows, [1, 50, 0])] == [2, 1, 0]
    assert [int(each.path) for each in ranked(rows, [1, 3, 0])] == [0, 2, 1]


def test_other_sizes_and_other_gpus_are_other_problems() -> None:
    rows = [row("k", 5.0), row("k", 4.0, n=128), row("k", 3.0, gpu="a100")]
    found = ranked(rows, [None] * 3)
    assert len({each.problem for each in found}) == 3
    assert [each.standing and each.standing.mark for each in found] == [None] * 3
    assert [each.label for each in found] == ["n=64", "n=128", ""]


def test_a_gpu_without_a_time_model_is_the_reason() -> None:
    amd, launched = ranked([row("k", None, gpu="mi300x"), row("k", None)], [None, None])
    assert amd.untimed == "how long instructions take on mi300x is unknown"
    assert "--arg and --grid give a launch" in launched.untimed
    assert ranked([row("k", 1.0)], [None])[0].untimed == ""
