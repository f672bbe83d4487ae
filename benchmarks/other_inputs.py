"""Inputs that are no capture, each damaged: saved results, traces, generated code, dumps, arrays.

Each maker writes a damaged file into a folder and returns the command lines that read it. Damage is
that of ``mutations``, and for JSON that of its values: every type in the place of every other.
"""

import gzip
import io
import json
import random
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import mutations  # type: ignore[import-not-found]

_ROOT = Path(__file__).parents[1]
_SAMPLES, _DATA = _ROOT / "samples", _ROOT / "tests" / "data"
_SAVED = ("checks", "code", "comparisons", "ledgers", "reports", "scans", "sweeps")
_FORMATS = ("text", "markdown", "json", "csv", "html", "svg", "sarif", "github")
#: Values of other types and extremes, as JSON spells them.
_VALUES = (
    "null", "[]", "{}", '""', '"x"', "true", "-1", "0", "0.5", "1e308", "1e400", "NaN", "-Infinity",
    "9223372036854775807", "18446744073709551616", "1" + "0" * 300, "9" * 5000, '"\\ud800"',
    '"\\u202e\\u009b31m\\u0000"', "[null]", '{"a":null}', "[" * 60 + "]" * 60,
    '"' + "9" * 5000 + '"',
    "[1048576, 1048576]", "4294967296", '"../../../etc/passwd"', "-1e-320",
)  # fmt: skip

Command = list[str]
Maker = Callable[[Path, random.Random], list[Command]]


def retype(data: bytes, rng: random.Random) -> bytes:
    """Give one to three values of a JSON document another one, whatever its type."""
    try:
        document = json.loads(data)
    except ValueError:
        return bytes(mutations.flip(data, rng))
    marks = []
    for number in range(rng.choice((1, 1, 1, 2, 3))):
        holder, key = _place(document, rng)
        if holder is not None:
            holder[key] = mark = f"@@{number}@@"
            marks.append(mark)
    text = json.dumps(document)
    for mark in marks:
        text = text.replace(json.dumps(mark), rng.choice(_VALUES))
    return text.encode()


def _place(document: Any, rng: random.Random) -> tuple[Any, Any]:
    """Return a container of a document and the key of one of its values, at any depth."""
    holder, key, value = None, None, document
    while isinstance(value, dict | list) and value:
        if holder is not None and rng.random() < 0.15:
            break
        holder = value
        key = rng.choice(sorted(value)) if isinstance(value, dict) else rng.randrange(len(value))
        value = holder[key]
    return holder, key


def _damaged(data: bytes, rng: random.Random, *, is_json: bool = True) -> bytes:
    if is_json and rng.random() < 0.7:
        return retype(data, rng)
    how = rng.choice(mutations.TEXT)
    return bytes(how(data, rng)[: mutations.SIZE])


def saved_result(folder: Path, rng: random.Random) -> list[Command]:
    """Damage a result that irlens saved, of any kind."""
    kind = rng.choice(_SAVED)
    source = rng.choice(sorted((_SAMPLES / kind).glob("*.json")))
    saved = folder / "saved.json"
    saved.write_bytes(_damaged(source.read_bytes(), rng))
    form = ["--format", rng.choice(_FORMATS)]
    other = str(rng.choice(sorted((_SAMPLES / "reports").glob("*.json"))))
    capture = str(_SAMPLES / "captures" / "softmax-h100")
    return [
        ["inspect", str(saved), *form],
        ["diff", str(saved), other, *form],
        ["check", capture, "--baseline", str(saved), *form],
    ]


def manifest(folder: Path, rng: random.Random) -> list[Command]:
    """Give values of a capture's JSON other types."""
    source = rng.choice(sorted((_SAMPLES / "captures").iterdir()))
    copied = folder / "capture"
    copied.mkdir()
    for each in source.iterdir():
        if each.is_file():
            (copied / each.name).write_bytes(each.read_bytes())
    damaged = rng.choice(sorted(copied.glob("*.json")))
    damaged.write_bytes(retype(damaged.read_bytes(), rng))
    path, form = str(copied), ["--format", rng.choice(_FORMATS[:5])]
    return [
        ["inspect", path, *form],
        ["inspect", path, "--all", "-t", "h100"],
        ["inspect", path, "--program", "0,0,0"],
        ["scan", path, "--group", "kernel", "--jobs", "1"],
        ["scan", path, "--where", "registers > 1", "--sort=-registers", "--jobs", "1"],
        ["variants", path, str(source), *form],
        ["diff", str(source), path, *form],
    ]


def trace(folder: Path, rng: random.Random) -> list[Command]:
    """Damage a trace of tritonparse: one event's values, or the text."""
    lines = (_DATA / "tritonparse" / "trace.ndjson").read_bytes().splitlines()
    at = rng.randrange(len(lines))
    lines[at] = _damaged(lines[at], rng)
    content = b"\n".join(lines)
    path = folder / "trace.ndjson"
    if rng.random() < 0.3:
        content = gzip.compress(content, 1)
        if rng.random() < 0.5:
            content = bytes(rng.choice(mutations.BINARY)(content, rng))
        path = folder / "trace.ndjson.gz"
    path.write_bytes(content[: mutations.SIZE])
    return [
        ["inspect", str(path), "--format", rng.choice(_FORMATS[:5])],
        ["inspect", str(path), "--all", "-t", "h100"],
        ["scan", str(path), "--jobs", "1"],
        ["variants", str(path)],
    ]


def dump(folder: Path, rng: random.Random) -> list[Command]:
    """Damage the output of ``MLIR_ENABLE_DUMP=1``."""
    ttir = rng.choice(sorted((_SAMPLES / "captures").rglob("*.ttir")))
    parts = []
    for stage, name in (("ttir", "TritonCombineOps"), ("ttgir", "TritonGPUPipeline")):
        header = f"// -----// IR Dump Before {name} (x) ('builtin.module' operation) //----- //\n"
        parts.append(header.encode() + ttir.with_suffix(f".{stage}").read_bytes())
    path = folder / "dump.ttgir"
    path.write_bytes(_damaged(b"\n\n".join(parts), rng, is_json=False))
    form = ["--format", rng.choice(("text", "json", "html", "markdown"))]
    return [
        ["passes", str(path), *form],
        ["passes", str(path), "--pass", "1"],
        ["passes", str(path), "--first", "tt.load", "--line", "50"],
        ["inspect", f"{path}#1"],
    ]


def project(folder: Path, rng: random.Random) -> list[Command]:
    """Damage a project's budgets."""
    source = (_SAMPLES / "checks" / "pyproject.toml").read_bytes()
    (folder / "pyproject.toml").write_bytes(_damaged(source, rng, is_json=False))
    return [["check", str(_SAMPLES / "captures" / "softmax-h100"), "--baseline",
             str(folder / "none.json"), "--format", rng.choice(_FORMATS[:5])]]  # fmt: skip


def generated_code(folder: Path, rng: random.Random) -> list[Command]:
    """Damage what TorchInductor generated, and read it: it is not compiled."""
    from irlens.compiler.sources import inductor

    source = rng.choice(sorted((_DATA / "inductor").iterdir()))
    text = _damaged(source.read_bytes(), rng, is_json=False).decode("utf-8", "replace")
    if inductor.is_generated(text):
        for each in inductor.generated_kernels(text):
            inductor.module_of(each, "output_code.py")
    return []


def array(folder: Path, rng: random.Random) -> list[Command]:
    """Damage a file of NumPy's."""
    import numpy as np

    from irlens.artifacts import npy
    from irlens.model.capture import Stage
    from irlens.model.errors import ArtifactError

    stream = io.BytesIO()
    np.save(stream, np.arange(64, dtype=rng.choice(("i4", "i8", "u1", "f4"))))
    path = folder / "x.npy"
    header, data = stream.getvalue()[:128], stream.getvalue()[128:]
    how = rng.choice((*mutations.BINARY, mutations.swell, mutations.nest))
    path.write_bytes(how(header, rng) + data)
    with suppress(ArtifactError):
        npy.read(Stage("offsets", path=path))
    return []


MAKERS: tuple[Maker, ...] = (
    saved_result, saved_result, manifest, manifest, trace, dump, project, generated_code, array,
)  # fmt: skip


def ask_agents_tools(capture: Path, rng: random.Random) -> None:
    """Call a tool of the agents' server on a damaged capture, and check that it answers JSON."""
    from irlens.mcp import worker

    stage = rng.choice(("ttir", "ttgir", "ptx", "llir", "metadata"))
    kernel = {"kernel": str(capture)}
    tool, arguments = rng.choice((
        ("inspect", {**kernel, "format": rng.choice(("json", "markdown"))}),
        ("read_stage", {**kernel, "stage": stage, "annotate": rng.random() < 0.5}),
        ("search_stage", {**kernel, "stage": stage, "pattern": "a|ld"}),
        ("source_line", {**kernel, "line": str(rng.randrange(1, 80))}),
        ("variants", kernel),
    ))  # fmt: skip
    call = worker.Call(tool=tool, arguments=arguments, roots=[str(capture.parent)], compiles=False)
    answered = worker.answer(call)
    json.loads(answered.text, parse_constant=_no_constant)
    answered.text.encode()


def _no_constant(name: str) -> None:
    raise AssertionError(f"an answer holds {name}, which is no JSON")
