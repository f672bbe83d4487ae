"""What breaks at every small size is what Triton's interpreter does in narrow integers."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from irlens import gpus
from irlens.analyze.breaking_launches import broken
from irlens.analyze.capture_code import CaptureCode
from irlens.compiler import Request, capture
from tests.analyze.narrow_kernels import LAUNCHES

pytestmark = pytest.mark.compiled_to("ttir")

FILE = Path(__file__).with_name("narrow_kernels.py")
#: Sizes on both sides of those at which offsets of 8 bits wrap; 16 bits hold all of them.
SIZES = {"int8": [1, 9, 10, 18, 19, 21, 22, 25, 26, 27, 31, 32, 33, 36, 43, 44, 63, 64, 65, 129],
         "int16": [2, 33, 129]}  # fmt: skip
#: Of kernels whose programs take long, those of them around the size at which their own wrap.
AROUND = {"tiles": {1, 25, 26, 27, 33}, "grouped": {1, 31, 32, 33, 44},
          "overrun": {1, 33, 65, 129}, "gathered": {1, 21, 22, 33, 65}}  # fmt: skip
#: Kernels that are outside of their tensors at some sizes.
OUTSIDE = {"overrun"}


def sizes(name: str, kind: str) -> list[int]:
    """Return the sizes at which a kernel is interpreted."""
    return [n for n in SIZES[kind] if n in AROUND.get(name, SIZES[kind])]


@pytest.fixture(scope="module")
def interpreted(request: pytest.FixtureRequest) -> dict[tuple[str, int, str], list[bool]]:
    """Return for each launch whether narrow integers change it, and whether it is outside.

    Those of the rows that this session runs are interpreted, by one process.
    """
    pytest.importorskip("torch")
    items = [each for each in request.session.items if each.path == request.path]
    rows: list[Any] = [each.callspec.params for each in items if isinstance(each, pytest.Function)]
    launches = [
        (row["name"], n, row["kind"]) for row in rows for n in sizes(row["name"], row["kind"])
    ]
    ran = subprocess.run(
        [sys.executable, str(FILE)],
        input="".join(json.dumps(each) + "\n" for each in launches),
        capture_output=True, text=True, check=True, env=os.environ | {"TRITON_INTERPRET": "1"},
    )  # fmt: skip
    return dict(zip(launches, map(json.loads, ran.stdout.splitlines()), strict=True))


@pytest.mark.parametrize("kind", ["int8", "int16"])
@pytest.mark.parametrize("name", LAUNCHES)
def test_every_size_breaks_as_the_interpreter_says(
    interpreted: dict[tuple[str, int, str], list[bool]], name: str, kind: str
) -> None:
    request = Request(
        kernel=f"{FILE}:{name}", target=gpus.find("a100").target, settings={"T": f"tl.{kind}"},
        args={"x": "fp32[64]", "n": 33},
    )  # fmt: skip
    (compiled,) = capture(request)
    ttir = CaptureCode(compiled).ttir
    assert ttir is not None
    programs, elements = LAUNCHES[name]
    for n in sizes(name, kind):
        found = broken(ttir.named, {"x": f"fp32[{elements(n)}]", "n": n}, (programs(n), 1, 1))
        wraps, outside = interpreted[name, n, kind]
        told = ("overflow" in found.causes, "outside" in found.causes, found.is_whole)
        assert told == (wraps, outside, True), n
    wraps_at_all = any(interpreted[name, n, kind][0] for n in sizes(name, kind))
    leaves_at_all = any(interpreted[name, n, kind][1] for n in sizes(name, kind))
    assert (wraps_at_all, leaves_at_all) == (kind == "int8", name in OUTSIDE)
