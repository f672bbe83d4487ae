"""Assembling PTX that came alone."""

from pathlib import Path

import pytest

from irlens.artifacts import assembling, tools
from irlens.model.errors import ToolError

PTX = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() { ret; }\n"


@pytest.mark.parametrize(
    ("error", "tried"),
    [
        (tools.StoppedError("ptxas was stopped after 5 s of processor time"), 1),
        (ToolError("ptxas failed: fatal : Unsupported .version 9.9"), 2),
    ],
)
def test_what_takes_one_assembler_too_long_is_not_given_to_the_other(
    error: ToolError, tried: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = []

    def run(tool: Path, arguments: list[str], **_: object) -> str:
        if arguments == ["--version"]:
            return "release 12.9"
        runs.append(tool)
        raise error

    monkeypatch.setattr(tools, "find", Path)
    monkeypatch.setattr(tools, "run", run)
    assembling.assemble.cache_clear()
    assert str(assembling.assemble(PTX)).startswith("ptxas does not assemble the ptx: ")
    assembling.assemble.cache_clear()
    assert len(runs) == tried


def test_branches_that_take_ptxas_gigabytes_are_not_assembled() -> None:
    count = 47_000
    branches = "".join(f"@%p1 bra L{n:x};" for n in range(count))
    labels = "".join(f"L{n:x}:" for n in range(count))
    body = f"{{ .reg .pred %p<9>;\n{branches}{labels}ret; }}\n"
    ptx = PTX.replace("{ ret; }", body)
    assert len(ptx) < assembling.MOST_BYTES
    assembled = assembling.assemble(ptx)
    assert assembled == "ptxas does not assemble the ptx: ptxas was stopped at 1.1 GB of memory"
