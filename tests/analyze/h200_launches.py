"""The launches that an H200 was measured with, and their artifacts."""

import io
import json
import lzma
import tarfile
from functools import cache
from pathlib import Path
from typing import Any

from irlens.analyze.issue_table import IssueTable
from irlens.artifacts.code_listings import list_code
from irlens.artifacts.tools import disassemble
from irlens.isa.mlir import parse
from irlens.isa.ptx import parse as parse_ptx
from irlens.model.traffic import Traffic
from tests.analyze.traffic_counts import count

DATA = Path(__file__).parent.parent / "data" / "h200"
#: CTAs of a wave that the counts of waves assume: one per SM.
WAVE = 132


@cache
def launches() -> list[dict[str, Any]]:
    """Return the rows of the measurements."""
    with lzma.open(DATA / "launches.json.xz") as file:
        rows: list[dict[str, Any]] = json.load(file)["launches"]
    return rows


@cache
def _archive() -> dict[str, bytes]:
    with lzma.open(DATA / "launches.tar.xz") as file:
        content = io.BytesIO(file.read())
    with tarfile.open(fileobj=content) as archive:
        members = ((member.name, archive.extractfile(member)) for member in archive)
        return {name: file.read() for name, file in members if file}


def artifact(launch: dict[str, Any], stage: str) -> bytes:
    """Return an artifact of a launch's kernel."""
    return _archive()[f"{launch['entry']}/{launch['kernel']}.{stage}"]


@cache
def _listings() -> dict[bytes, str | None]:
    return list_code([file for name, file in _archive().items() if name.endswith(".cubin")])


def listing(launch: dict[str, Any]) -> str:
    """Return the machine code of a launch's kernel: that of all is listed in one go."""
    content = artifact(launch, "cubin")
    return _listings()[content] or disassemble(content)


def unpacked(launch: dict[str, Any], folder: Path) -> Path:
    """Write the artifacts of a launch's kernel into a folder, and return the entry."""
    entry = folder / str(launch["entry"])
    for name, content in _archive().items():
        if name.startswith(f"{launch['entry']}/"):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)
    return entry


def arguments(launch: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a launch, tensors as "fp32[4096, 1024]"."""
    return {
        name: f"{value['dtype']}{value['shape']}" if isinstance(value, dict) else value
        for name, value in launch["args"].items()
    }


@cache
def _traffic(number: int) -> Traffic:
    launch = launches()[number]
    ttir, ttgir = (
        parse(artifact(launch, stage).decode(), stage=stage) for stage in ("ttir", "ttgir")
    )
    (function,) = parse_ptx(artifact(launch, "ptx").decode()).kernels
    x, y, z = launch["grid"]
    return count(ttir, arguments(launch), (x, y, z), issued=IssueTable(ttgir, function), wave=WAVE)


def traffic(launch: dict[str, Any]) -> Traffic:
    """Return the traffic of a launch."""
    return _traffic(launches().index(launch))
