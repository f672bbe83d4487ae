"""The search for a faster neighbour, with workers whose answers are written by hand."""

from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path

import msgspec
import pytest

from irlens.compiler import Request
from irlens.compiler.planning import Plan, PlannedVariant
from irlens.figures import SWEEP_FIGURES
from irlens.model.config import ConstexprValue, Target
from irlens.model.errors import IrlensError
from irlens.model.estimate import TimeEstimate, TimeStep
from irlens.model.suggestion import Suggestion
from irlens.model.sweep import Result, Trial
from irlens.render import Options, render
from irlens.sweeps.suggesting import Limits, Reached, _changed, _tried, _varied, suggest
from irlens.sweeps.tasks import (
    Answered,
    Compiled,
    Handler,
    Task,
    run_compile,
    run_plan,
)
from irlens.sweeps.worker_pool import Crash

_CURRENT: dict[str, ConstexprValue] = {"num_warps": 4, "num_stages": 3, "BLOCK_SIZE": 1024}


def time_of(settings: dict[str, ConstexprValue]) -> float:
    """A kernel that is fastest with 8 warps and a block of 2048, where the other is slower."""
    times = {"4 1024": 100.0, "8 2048": 50.0, "8 1024": 90.0}
    return times.get(f"{settings['num_warps']} {settings['BLOCK_SIZE']}", 120.0)


def result(settings: dict[str, ConstexprValue], time: float | None) -> Result:
    figures = dict.fromkeys(SWEEP_FIGURES) | {
        "time": time, "distinct_read_bytes": 8, "distinct_written_bytes": 8, "local_bytes": 0,
        "floor_us": 10.0, "occupancy": 1.0, "registers": 32,
    }  # fmt: skip
    if settings["num_warps"] == 4 and settings["BLOCK_SIZE"] == 2048:
        figures["local_bytes"] = 64
    return Result(outcome="fits", figures=figures)


class Pool:
    """Answers at once; ``limit`` configurations of neighbours are followed by Ctrl+C."""

    width, shares_store = 2, False

    def __init__(
        self,
        request: Request,
        time: Callable[[dict[str, ConstexprValue]], float | None] = time_of,
        limit: int = 1000,
    ) -> None:
        self._request, self._time, self._limit = request, time, limit
        self.tried: list[dict[str, ConstexprValue]] = []

    def submit(self, handler: Handler, task: bytes) -> Future[bytes]:
        requests = msgspec.msgpack.decode(task, type=Task).requests
        answer: Plan | list[Result] | Compiled
        if handler is run_plan:
            variants = []
            for each in requests:
                names = _CURRENT | self._request.settings | each.settings
                request = msgspec.structs.replace(each, settings=names)
                variants.append(PlannedVariant(request=request, triton="3.9.0", names=names))
            answer = Plan(function="softmax_kernel", variants=variants, dependencies={})
        elif handler is run_compile:
            answer = Compiled(None)
        else:
            if len(self.tried) > self._limit:
                raise KeyboardInterrupt
            self.tried += [each.settings for each in requests]
            answer = [result(each.settings, self._time(each.settings)) for each in requests]
        future: Future[bytes] = Future()
        future.set_result(msgspec.msgpack.encode(Answered(answer)))
        return future

    def is_crash(self, error: BaseException) -> bool:
        return False

    def crash(self, future: Future[bytes]) -> Crash:
        raise AssertionError

    def prepare(self, handler: Handler, task: bytes, workers: int) -> None: ...

    def abandon(self, future: Future[bytes]) -> None: ...

    def stop(self) -> None: ...


@pytest.fixture
def request_(h100: Target) -> Request:
    return Request(kernel="softmax", target=h100, sm_count=132, settings=dict(_CURRENT))


def search(pool: Pool, request: Request, most: int = 40, **limits: float) -> Suggestion:
    return suggest([request], pool, lambda _: None, Limits(most=most, **limits))


def test_a_pair_whose_changes_need_each_other_is_found_early(request_: Request) -> None:
    pool = Pool(request_)
    found = search(pool, request_, most=8)
    assert found.best[0].changed == {"num_warps": 8, "BLOCK_SIZE": 2048}
    assert found.best[0].time_ratio == 0.5
    assert pool.tried[0] == _CURRENT
    assert [each["BLOCK_SIZE"] for each in pool.tried[1:4]] != [2048] * 3, "cheap ones first"
    assert found.stopped is None
    assert found.as_fast == 0


def test_a_cap_is_tried_where_registers_limit_the_occupancy(request_: Request) -> None:
    """It is that of the estimate, which asks for no fewer registers than are live at once."""
    step = TimeStep(cause="registers", change=-8, unit="registers/thread", estimate_us=60.0)
    known = TimeEstimate(estimate_us=100.0, steps=[step])
    pool = Pool(request_, lambda settings: 60.0 if "maxnreg" in settings else 100.0)
    found = suggest([request_], pool, lambda _: known, Limits(most=40))
    assert found.best[0].changed == {"maxnreg": 24}
    assert pool.tried[1] == _CURRENT | {"maxnreg": 24}
    assert sum("maxnreg" in each for each in pool.tried) == 1
    assert found.left_out == found.planned - found.compiled
    page = render("text", "suggestion", found, Options())
    assert "maxnreg=24 is the fastest" in page


def test_stages_are_looked_past_a_plateau(request_: Request) -> None:
    times = {3: 100.0, 4: 102.0, 5: 102.0, 6: 60.0}
    pool = Pool(request_, lambda settings: times.get(settings["num_stages"], 130.0))  # type: ignore[arg-type]
    found = search(pool, request_)
    assert found.best[0].changed == {"num_stages": 6}
    assert found.compiled == found.planned
    assert max(each["num_stages"] for each in pool.tried) == 7  # type: ignore[type-var]


def test_the_fastest_of_a_recordings_configurations_is_the_current_one(request_: Request) -> None:
    others = [
        msgspec.structs.replace(request_, settings=_CURRENT | {"num_warps": warps})
        for warps in (4, 8, 2)
    ]
    found = suggest(others, Pool(request_), lambda _: None, Limits(most=40))
    assert found.current.settings["num_warps"] == 8
    assert found.best[0].changed == {"BLOCK_SIZE": 2048}


def test_neighbours_belong_to_one_launch(request_: Request) -> None:
    other = msgspec.structs.replace(request_, args={"n_cols": "512"})
    with pytest.raises(IrlensError, match="2 launches are requested"):
        suggest([request_, other], Pool(request_), lambda _: None, Limits(most=40))


def test_ctrl_c_keeps_what_was_found(request_: Request) -> None:
    found = search(Pool(request_, limit=2), request_)
    assert found.stopped == "interrupted"
    assert found.compiled == 2
    assert found.best[0].changed == {"num_warps": 8}
    page = render("text", "suggestion", found, Options())
    assert f"interrupted: 2 of {found.planned} neighbours tried" in " ".join(page.split())
    assert f"{found.left_out} not tried" in page


def test_ctrl_c_before_there_is_an_answer_is_one(request_: Request) -> None:
    with pytest.raises(KeyboardInterrupt):
        search(Pool(request_, limit=-1), request_)


def test_it_ends_where_nothing_faster_can_come(request_: Request) -> None:
    pool = Pool(request_, lambda settings: 10.2 if settings["num_warps"] == 8 else 100.0)
    found = search(pool, request_)
    assert found.stopped == "floor"
    assert found.floor_us == 10.0
    assert found.best[0].changed == {"num_warps": 8}
    assert len(pool.tried) <= 1 + pool.width
    page = " ".join(render("text", "suggestion", found, Options()).split())
    assert "nothing can take less than 10.0 µs, so the search ended" in page


def test_a_spent_budget_ends_it(request_: Request) -> None:
    found = search(Pool(request_), request_, seconds=0.0)
    assert found.stopped == "budget"
    assert found.current.figure("time") == 100.0
    assert found.left_out == found.planned - found.compiled


def test_candidates_that_no_time_was_left_for_are_said(request_: Request) -> None:
    """The current configuration is then not the fastest of an autotuner's, but of the first."""
    blocks = (1024, 2048, 4096)
    several = [
        msgspec.structs.replace(request_, settings=_CURRENT | {"BLOCK_SIZE": each})
        for each in blocks
    ]
    for seconds, unseen in ((0.0, 1), (60.0, 0)):
        found = suggest(several, Pool(request_), lambda _: None, Limits(most=2, seconds=seconds))
        assert found.unseen == unseen
        page = " ".join(render("text", "suggestion", found, Options()).split())
        said = "1 configuration of the autotuner not tried, which may be faster"
        assert (said in page) == bool(unseen)


def test_what_was_not_tried_is_not_said_to_be_no_better(request_: Request) -> None:
    pages = []
    for tried in (0, 2):
        found = search(Pool(request_, lambda _: 100.0, limit=tried), request_)
        assert (found.stopped, found.compiled) == ("interrupted", tried)
        pages.append(" ".join(render("text", "suggestion", found, Options()).split()))
    assert "better" not in pages[0]
    assert f"interrupted: 0 of {found.planned} neighbours tried" in pages[0]
    assert "nothing better so far: none of 2 is estimated more than 3 % faster" in pages[1]


def test_the_best_so_far_is_passed_on(request_: Request) -> None:
    seen: list[Reached] = []
    suggest([request_], Pool(request_), lambda _: None, Limits(most=40), seen.append)
    best = [each.best for each in seen if each.best]
    assert best[0] == "100 µs"
    assert best[-1] == "num_warps=8 BLOCK_SIZE=2048: 50 µs"
    assert [each.done for each in seen] == sorted(each.done for each in seen)
    assert seen[-1].done == seen[-1].total


def test_a_neighbour_is_launched_with_a_grid_that_follows_it(
    request_: Request, tmp_path: Path
) -> None:
    """A grid of numbers stays only where no description has a formula for it."""
    file = tmp_path / "undescribed.py"
    file.write_text(
        "import triton, triton.language as tl\n@triton.jit\n"
        "def k(x, BLOCK_SIZE: tl.constexpr):\n    tl.store(x + tl.arange(0, BLOCK_SIZE), 0)\n"
    )
    undescribed = msgspec.structs.replace(request_, kernel=f"{file}:k")
    for request, grid, kept in (
        (request_, ("cdiv(n, BLOCK_SIZE)",), True),
        (request_, ("8",), False),
        (undescribed, ("8",), True),
    ):
        changed = _changed(msgspec.structs.replace(request, grid=grid), {"BLOCK_SIZE": 2048})
        assert (changed.grid, changed.settings["BLOCK_SIZE"]) == (grid if kept else (), 2048)


@pytest.mark.parametrize(
    ("tuned", "grid", "varied"),
    [
        (("TILE", "num_warps"), ("32",), {"TILE"}),
        ((), ("32",), {"TILE", "BT"}),
        ((), ("cdiv(128, K)",), {"TILE", "BT", "K"}),
        (("num_warps",), ("32",), {"TILE", "BT"}),
    ],
)
def test_sizes_of_the_problem_are_no_settings(
    h100: Target, tmp_path: Path, tuned: tuple[str, ...], grid: tuple[str, ...], varied: set[str]
) -> None:
    """A launch of half the heads, each twice as wide, accesses as many bytes."""
    file = tmp_path / "undescribed.py"
    file.write_text(
        "import triton, triton.language as tl\n@triton.jit\ndef k(x, H: tl.constexpr,"
        " K: tl.constexpr, BT: tl.constexpr, TILE: tl.constexpr):\n    tl.store(x, 0)\n"
    )
    settings: dict[str, ConstexprValue] = {"H": 16, "K": 128, "BT": 64, "TILE": 32}
    args: dict[str, ConstexprValue] = {"x": "fp16[2, 16, 64, 128]"}
    request = Request(kernel=f"{file}:k", target=h100, settings=settings, args=args, grid=grid)
    variant = PlannedVariant(request, "3.9.0", {**settings, "num_warps": 4}, tuned=tuned)
    assert _varied(variant).keys() == {"num_warps", *varied}


@pytest.mark.parametrize(
    ("accessed", "leaves"), [(1.0, False), (0.5, True), (2.0, True), (None, True)]
)
def test_a_neighbour_that_accesses_other_bytes_is_left(
    h100: Target, accessed: float | None, *, leaves: bool
) -> None:
    def trial(time: float, accessed: float | None) -> Trial:
        figures = {"time": time, "distinct_read_bytes": accessed, "distinct_written_bytes": 1.0}
        return Trial(
            label="", target=h100, settings={}, args={}, outcome="fits", figures=dict(figures)
        )

    current, other = trial(10.0, 1.0), trial(5.0, accessed)
    tried = _tried({"BLOCK": 32}, other, current)
    assert (tried.leaves, tried.ratio) == (leaves, None if leaves else 0.5)
    # Where data decide what both access, other warps access the same; another block may not.
    unknown = trial(10.0, None), trial(5.0, None)
    assert _tried({"num_warps": 2}, *reversed(unknown)).ratio == 0.5
    assert _tried({"BLOCK": 32}, *reversed(unknown)).ratio is None


def test_an_unknown_time_is_an_error(request_: Request) -> None:
    with pytest.raises(IrlensError, match="estimated time of the current configuration is unknown"):
        search(Pool(request_, lambda _: None), request_)


@pytest.mark.parametrize("form", ["text", "markdown", "json"])
def test_order_and_marks_agree(form: str, request_: Request) -> None:
    found = search(Pool(request_), request_)
    page = render(form, "suggestion", found, Options(width=160))
    if form == "json":
        again = msgspec.json.decode(page, type=Suggestion)
        marks = [each.trial.standing and each.trial.standing.mark for each in again.best]
        assert marks == ["fastest", None, None]
        assert again.current.standing is not None
        assert again.current.standing.over_fastest == 2
        return
    assert "BLOCK_SIZE=2048 is the fastest: about 50.0 µs" in page.replace("\\_", "_")
    full = page.rpartition("configuration")[0] if form == "markdown" else page
    rows = [line for line in full.splitlines() if "→" in line and "µs" in line]
    assert "fastest" in rows[0]
    assert "50.0 µs" in rows[0]
    assert not any("fastest" in row for row in rows[1:3])
