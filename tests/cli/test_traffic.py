"""``irlens traffic``: ledgers of references, as a user gets them."""

import csv
import io
import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol

import jsonschema
import msgspec
import pytest

from irlens.model.ledger import Ledgers
from irlens.render import render
from irlens.render.json import schema
from tests.running import irlens

needs_torch = pytest.mark.skipif(find_spec("torch") is None, reason="PyTorch is not installed")

FILE = """
import triton
import triton.language as tl

IRLENS_KERNELS = {
    "scale_kernel": {
        "sizes": {"n": 4096},
        "args": {"x_ptr": "fp16[n]", "y_ptr": "fp16[n]", "n": "n", "factor": 2.0},
        "constexprs": {"BLOCK": 1024},
        "grid": ["cdiv(n, BLOCK)"],
        "outputs": ["y_ptr"],
        "reference": "scaled",
    },
}


@triton.jit
def scale_kernel(x_ptr, y_ptr, n, factor, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    tl.store(y_ptr + offsets, x * factor, mask=offsets < n)


def scaled(x_ptr, factor):
    return (x_ptr.float() * factor).to(x_ptr.dtype)


def broken(x_ptr):
    return x_ptr @ x_ptr[:3]
"""

PROGRAM = """
import sys
import torch

x = torch.ones(int(sys.argv[1]), device="cuda")
y = x.exp()
print("printed", len(y))
"""


class Run(Protocol):
    """Runs the command, and returns its exit code, stdout and stderr."""

    def __call__(self, *arguments: object) -> tuple[int, str, str]: ...


def run_alone(*arguments: object, **environment: str) -> tuple[int, str, str]:
    """Run the command in a process of its own, and what it starts from nothing."""
    ran = subprocess.run(
        [sys.executable, "-m", "irlens", "traffic", *map(str, arguments)], capture_output=True,
        text=True, check=False, stdin=subprocess.DEVNULL, env={**os.environ, **environment},
    )  # fmt: skip
    return ran.returncode, ran.stdout, ran.stderr


@pytest.fixture
def run(preloaded: None, capfd: pytest.CaptureFixture[str]) -> Run:
    """Run the command; what it starts has imported PyTorch, and prints to these streams."""

    def run(*arguments: object) -> tuple[int, str, str]:
        ran = irlens("traffic", *arguments)
        printed = capfd.readouterr()
        return ran.code, printed.out + ran.out, printed.err + ran.err

    return run


@pytest.fixture
def kernel(tmp_path: Path) -> Path:
    path = tmp_path / "scale.py"
    path.write_text(FILE)
    return path


@needs_torch
def test_a_users_reference(kernel: Path) -> None:
    code, out, err = run_alone(kernel, "--arg", "n=1000", "-f", "json")
    assert code == 0, err
    (ledger,) = json.loads(out)["ledgers"]
    assert ledger["name"] == "scaled"
    assert ledger["separate"] == {"kernels": 3, "read_bytes": 10_000, "written_bytes": 10_000}
    assert ledger["grouped"] == {"kernels": 1, "read_bytes": 2000, "written_bytes": 2000}
    assert [each["source"]["file"] for each in ledger["operations"]] == ["scale.py"] * 3


@needs_torch
def test_the_same_bytes_in_every_format(kernel: Path, run: Run) -> None:
    _, out, _ = run(kernel, "-f", "json")
    assert out == run(kernel, "-f", "json")[1]
    jsonschema.Draft202012Validator(json.loads(schema("ledgers"))).validate(json.loads(out))
    document = msgspec.json.decode(out, type=Ledgers)
    rows = list(csv.DictReader(io.StringIO(render("csv", "ledgers", document))))
    separate = next(row for row in rows if row["what"] == "separate")
    assert separate["read bytes"] == str(4096 * 10)
    for form in ("text", "markdown", "html"):
        assert "40,960" in render(form, "ledgers", document)


@needs_torch
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nothing",), "unknown kernel 'nothing'"),
        (("softmax", "--arg", "n_rows"), "'n_rows' is not NAME=VALUE"),
        (("softmax", "--arg", "n_rows="), "'n_rows=' is not NAME=VALUE"),
        (("softmax", "--arg", "wrong=3"), "unknown argument 'wrong'"),
        (("softmax", "--arg", "n_rows=64,wrong=3"), "unknown argument 'wrong'"),
        (("softmax", "--target", "h9000"), "unknown target 'h9000'"),
        (("softmax", "--reference", "nowhere"), "unknown function of softmax.py 'nowhere'"),
        (("softmax", "-f", "sarif"), "sarif cannot hold ledgers"),
        (("softmax", "--row-limit", "0"), "--row-limit"),
        (("softmax", "--assume", "0"), "--assume of a program has no effect on a kernel"),
        (("-m", "nowhere", "--arg", "n=1"), "--arg of a kernel has no effect on a program"),
        (("nowhere.py", "--program"), "nowhere.py is not a file"),
    ],
)
def test_mistakes_end_in_a_line(arguments: tuple[str, ...], message: str, run: Run) -> None:
    code, out, err = run(*arguments)
    assert code == 2
    assert out == ""
    assert message in err
    assert "Traceback" not in err


def test_a_reference_without_pytorch_is_refused_in_a_line(kernel: Path, tmp_path: Path) -> None:
    absent = tmp_path / "absent"
    absent.mkdir()
    (absent / "torch.py").write_text('raise ModuleNotFoundError("none here", name="torch")')
    code, out, err = run_alone(kernel, PYTHONPATH=str(absent))
    assert (code, out) == (2, "")
    assert "a reference needs PyTorch, which is not installed" in err
    assert "irlens[run]" in err
    assert "Traceback" not in err


@needs_torch
def test_references_that_cannot_run(kernel: Path, run: Run) -> None:
    code, _, err = run(kernel, "--reference", "broken")
    assert code == 2
    assert "broken cannot run" in err
    assert "Traceback" not in err


@needs_torch
def test_a_file_of_several_kernels_has_a_ledger_of_each(tmp_path: Path, run: Run) -> None:
    code, _, err = run("softmax_naive", "-o", tmp_path / "out.json", "-f", "json")
    assert code == 0, err
    document = msgspec.json.decode((tmp_path / "out.json").read_bytes(), type=Ledgers)
    names = [each.name for each in document.ledgers]
    assert names[:2] == ["row_max_reference", "subtract_reference"]
    assert [each.separate.kernels for each in document.ledgers] == [1] * 5


@needs_torch
def test_a_program(tmp_path: Path, run: Run) -> None:
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    code, out, err = run(script, "-f", "csv", "--", "1000")
    assert code == 0, err
    assert "printed 1000" in err
    rows = list(csv.DictReader(io.StringIO(out)))
    assert [row["name"] for row in rows if row["what"] == "operation"] == ["aten.ones", "aten.exp"]
    assert next(row for row in rows if row["what"] == "one_pass")["written bytes"] == "8000"
    nothing = tmp_path / "nothing.py"
    nothing.write_text("import torch")
    code, out, err = run(nothing)
    assert (code, out) == (2, "")
    assert "the program ran nothing on the GPU" in err
