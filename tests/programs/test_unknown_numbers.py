"""Numbers that only a kernel computes: placeholders that stop a program where they decide."""

import copy
import json
import math
import pickle
import statistics
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from irlens.compiler.fake_cuda import Deviations, NoValueError
from irlens.compiler.fake_cuda.unknown_numbers import UnknownNumber, install_math
from tests.programs.test_values import run

REASON = "which only the kernel add computes"
X: Any = UnknownNumber("float", REASON)
N: Any = UnknownNumber("int", REASON)

needs_torch = pytest.mark.skipif(find_spec("torch") is None, reason="PyTorch is not installed")


@pytest.fixture
def deviations(monkeypatch: pytest.MonkeyPatch) -> Deviations:
    for name, value in vars(math).items():
        monkeypatch.setattr(math, name, value)  # restored afterwards
    counts = Deviations(unknown=1)
    monkeypatch.setattr(UnknownNumber, "deviations", counts)
    install_math(counts)
    return counts


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (X + 1, "float"), (1 - X, "float"), (N * 2, "int"), (2 * N, "int"), (N / 2, "float"),
        (N * 0.5, "float"), (0.5 * N, "float"), (N // X, "float"), (-N, "int"), (abs(X), "float"),
        (X**2, "float"), (2**N, "int"), (round(X), "int"), (round(X, 3), "float"),
        (sum([X, X]), "float"), (sum([N, 1]), "int"), (divmod(N, 7)[1], "int"),
        (copy.deepcopy(X), "float"), (UnknownNumber("bool", REASON) + 1, "int"),
    ],
)  # fmt: skip
def test_arithmetic_keeps_what_is_unknown(value: object, kind: str) -> None:
    assert type(value) is UnknownNumber
    assert (value.kind, value.reason) == (kind, REASON)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"{X}", "<unknown float>"),
        (f"{X:.4f}", "<unknown float>"),
        (f"{X:+,.2f}|", "<unknown float>|"),
        (f"{X:20.3f}|", "     <unknown float>|"),
        (f"{N:<16,d}|", "<unknown int>   |"),
        (f"{X:*^19.1e}", "**<unknown float>**"),
        (f"{N:020d}", "       <unknown int>"),
        ("{:>6}".format(X), "<unknown float>"),  # noqa: UP032
        ("%s %.3f" % (X, X), "<unknown float> nan"),  # noqa: UP031
        (str([X, N]), "[<unknown float>, <unknown int>]"),
        (json.dumps({"loss": X}), '{"loss": NaN}'),
    ],
)
def test_a_placeholder_can_be_printed(text: str, expected: str) -> None:
    assert text == expected


def test_a_wrong_format_is_an_error_as_on_a_gpu() -> None:
    with pytest.raises(ValueError, match="Unknown format code 'd'"):
        f"{X:d}"


@pytest.mark.parametrize(
    "decide",
    [
        lambda: X < 1, lambda: X >= 1, lambda: X == X, lambda: X != 0, lambda: bool(X),
        lambda: int(X), lambda: [1][N], lambda: range(N), lambda: max(X, 0), lambda: sorted([X, N]),
        lambda: math.floor(X), lambda: "%d" % N,  # noqa: UP031
        lambda: statistics.mean([X]), lambda: 1 in [X],
    ],
)  # fmt: skip
def test_a_placeholder_decides_nothing(decide: Callable[[], object]) -> None:
    with pytest.raises(NoValueError, match=REASON):
        decide()


def test_stored_it_is_nan() -> None:
    stored = pickle.loads(pickle.dumps({"loss": X}))["loss"]
    assert type(stored) is float
    assert math.isnan(stored)
    assert math.isnan(float(X))
    assert math.isnan(complex(X).real)
    assert (X is not None, X == None, X == "") == (True, False, False)  # noqa: E711


def test_functions_of_math_take_it(deviations: Deviations) -> None:
    assert type(math.exp(X)) is UnknownNumber
    assert type(math.pow(2, N)) is UnknownNumber
    assert (math.isnan(X), math.isinf(X), math.isfinite(N)) == (False, False, True)
    assert deviations.finite == 3
    assert (math.exp(0), math.isnan(math.nan), math.isclose(1, 1 + 1e-12)) == (1, True, True)
    with pytest.raises(NoValueError, match=REASON):
        math.isclose(X, 1)


def test_numpy_takes_it(deviations: Deviations) -> None:
    numpy: Any = pytest.importorskip("numpy")
    assert type(numpy.exp(X)) is UnknownNumber
    assert type(numpy.float32(2) * X) is UnknownNumber
    assert numpy.isfinite(X)
    assert deviations.finite == 1
    assert numpy.isnan(numpy.ones(3) * X).all()
    with pytest.raises(NoValueError, match=REASON):
        numpy.less(X, 1)
    with pytest.raises(NoValueError, match=REASON):
        assert numpy.ones(2) < X


TRAINING = """
import math
x, out = torch.ones(64, device="cuda"), torch.empty(64, device="cuda")
scaler = torch.amp.GradScaler("cuda")
weight = torch.nn.Parameter(torch.ones(64, device="cuda"))
optimizer = torch.optim.SGD([weight], 0.1)
losses, average, hits = [], 0.0, 0
for step in range(3):
    add[(1,)](x, x, out, 64, BLOCK=64)
    loss = (weight * out).mean()
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    norm = torch.nn.utils.clip_grad_norm_([weight], 1.0)
    scaler.step(optimizer)
    scaler.update()
    losses.append(loss.item())
    average = 0.9 * average + 0.1 * loss.item()
    hits += (out > 1).sum().item()
    print(f"{step} {loss:.3f} {norm.item():.2f} {average:.1f} {hits / 64:.0%} {float(loss)}")
    if torch.isnan(loss).any() or not torch.isfinite(loss) or math.isinf(loss.item()):
        raise SystemExit("diverged")
assert not scaler.get_scale() is None
again = torch.tensor(losses, device="cuda")
assert again.shape == (3,) and again.is_cuda and again.dtype == torch.float32
print(again.mean().item(), torch.tensor([hits]).dtype, (again * losses[0]).sum().item())
print(len(out.tolist()), out.tolist()[0], torch.zeros(1).add(losses[0]).item())
first = x[0]
x.mul_(losses[0])
assert (torch.ones(2, device="cuda") * hits).shape == (2,)
print(first.item())
known = torch.full((2,), 3.5, device="cuda")
print(f"{known[0]:.2f} {known.sum().item()}")
"""


@needs_torch
def test_a_training_loop_runs_to_its_end(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    recording = run(tmp_path, TRAINING)
    (ran,) = recording.runs
    printed = capfd.readouterr().out.splitlines()
    assert (ran.code, ran.stopped) == (0, None), printed
    unknown = "<unknown float>"
    lines = [f"{step} {unknown} {unknown} {unknown} {unknown} nan" for step in range(3)]
    assert printed == [
        *lines,
        f"{unknown} torch.int64 {unknown}",
        f"64 {unknown} {unknown}",
        unknown,
        "3.50 7.0",
    ]
    assert recording.variants == {"add": 1}
    assert ran.deviations.unknown > 20
    assert ran.deviations.finite == 3 * 4


@needs_torch
def test_a_decision_stops_the_program_at_its_line(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    last = "print(torch.zeros(out.argmax().item()))"
    (ran,) = run(
        tmp_path,
        f"""
x = torch.ones(64, device="cuda")
out = torch.empty_like(x)
add[(1,)](x, x, out, 64, BLOCK=64)
for decide in (
    lambda: min(9.0, out.mean().item()),
    lambda: "done" if out.sum().item() else "not",
    lambda: [1, 2][out.argmax().item()],
    lambda: int(out.sum()),
    lambda: out.cpu().numpy(),
    lambda: x[out.argmax().item()],
    lambda: x[: out.argmax().item()],
):
    try:
        decide()
    except RuntimeError as error:
        print(error)
{last}
""",
    ).runs
    stopping = (
        "a comparison", "a condition", "an index", "torch.Tensor.__int__", "torch.Tensor.numpy",
        "torch.Tensor.__getitem__", "an index",
    )  # fmt: skip
    printed = capfd.readouterr().out.splitlines()
    assert printed == [f"{what} needs values, {REASON}" for what in stopping]
    number = (tmp_path / "program.py").read_text().splitlines().index(last) + 1
    reason = "which only a kernel computes"
    assert ran.stopped == f"{tmp_path}/program.py:{number}: zeros() needs values, {reason}"
