"""Reads the traces of tritonparse: each compilation is a capture, each launch its arguments.

A trace is a file of one JSON object a line, plain or compressed: ``compilation`` events with the
stages as text and Triton's metadata, and ``launch`` events with arguments and grid. Paths in it are
those of the machine that it was made on, and are never followed.
"""

import ast
import gzip
import io
import zlib
from collections.abc import Iterator, Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeGuard

import msgspec

from irlens.artifacts.entries import Broken, decode_metadata, find_target, make_config
from irlens.model import files
from irlens.model.capture import STAGE_ORDER, Capture, Extent, Stage
from irlens.model.config import ConstexprValue
from irlens.model.errors import ArtifactError

_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
#: A trace may be this many times as large as one artifact: it holds a whole program's.
_TRACE = 8
#: Launches of a compilation that differ in arguments or grid; further ones are counted.
_MOST_LAUNCHES = 16
#: How tritonparse begins a text in the place of a stage that it could not read.
_PLACEHOLDERS = ("<file too large", "<error reading", "<failed")
#: Bytes of Python that are parsed for the names of parameters.
_MOST_PYTHON = 1 << 18
#: Lines of a trace: a launch takes some 500 bytes, so that the largest has a quarter as many.
_MOST_LINES = 1_000_000
#: Bytes of metadata or arguments: what is nested takes twenty times its size in memory.
_MOST_NESTED = 1 << 20


_NOTHING = msgspec.Raw(b"{}")


class _Payload(msgspec.Struct, frozen=True):
    """A compilation: the stages by file, Triton's metadata, and the kernel's Python."""

    file_content: dict[str, msgspec.Raw] = {}
    metadata: msgspec.Raw = _NOTHING
    python_source: msgspec.Raw = _NOTHING


class _Event(msgspec.Struct, frozen=True):
    """A line of a trace; events of other types have other fields."""

    event_type: str = ""
    payload: _Payload | None = None
    name: str | None = None
    grid: list[Extent] | None = None
    compilation_metadata: msgspec.Raw = _NOTHING
    extracted_args: msgspec.Raw = _NOTHING


class _Launch(msgspec.Struct, frozen=True):
    """Arguments by name, in the form of manifests, and the grid."""

    args: dict[str, int | float | str]
    grid: tuple[int, int, int] | None


def read_trace(path: Path) -> Iterator[Capture | Broken]:
    """Yield the captures of a trace, several of a compilation with several launches.

    Raises:
        ArtifactError: While iterating: the trace cannot be read, or has no compilation.
    """
    events, unreadable = _events(_decompressed(path), path)
    launches: dict[str, dict[bytes, _Launch]] = {}
    for event in events:
        if event.event_type == "launch":
            key = str(_object(event.compilation_metadata).get("hash", event.name))
            launch = _launch(event)
            launches.setdefault(key, {})[msgspec.json.encode(launch)] = launch
    is_empty, seen = True, set()
    for event in events:
        if event.event_type != "compilation" or event.payload is None:
            continue
        is_empty = False
        if len(bytes(event.payload.metadata)) > _MOST_NESTED:
            yield Broken(path, "the metadata of a compilation is larger than 1 MB")
            continue
        metadata = _object(event.payload.metadata)
        key = str(metadata.get("hash", metadata.get("name")))
        if key not in seen:  # a cache answers the same compilation again
            seen.add(key)
            yield from _captures(path, event.payload, metadata, [*launches.get(key, {}).values()])
    if unreadable:
        yield Broken(path, f"{unreadable} lines are no events of a trace")
    elif is_empty:
        raise ArtifactError(
            f"{path} has no compilation",
            hint="a trace of tritonparse has one for each kernel that was compiled, not for those "
            "that a cache answered",
        )


def _captures(
    path: Path, payload: _Payload, metadata: dict[str, Any], launches: list[_Launch]
) -> Iterator[Capture | Broken]:
    stages = {
        stage: Stage(stage, content=text.encode("utf-8", "surrogatepass"))
        for stage in STAGE_ORDER
        for name, content in payload.file_content.items()
        if name.endswith(f".{stage}") and isinstance(text := _decoded(content), str)
        if not text.startswith(_PLACEHOLDERS)
    }
    name = str(metadata.get("name", "a kernel"))
    if not stages:
        yield Broken(path, f"no stage of {name}: tritonparse could not read its files")
        return
    try:
        for stage in stages.values():
            files.check_size(len(stage.read()), f"the {stage.name}")
        known, options = decode_metadata(Path(f"{name}.json"), msgspec.json.encode(metadata))
    except ArtifactError as error:
        yield Broken(path, f"{name}: {error.message}")
        return
    config = make_config(known, None, stages, options)
    constexprs = _constexprs(payload, metadata)
    for launch in launches[:_MOST_LAUNCHES] or [_Launch({}, None)]:
        args = {n: value for n, value in launch.args.items() if n not in constexprs}
        yield Capture(
            kernel=known.name or name,
            target=find_target(known, stages),
            config=msgspec.structs.replace(
                config, constexprs=constexprs, args=args, grid=launch.grid
            ),
            stages=stages,
            metadata=known,
        )
    if len(launches) > _MOST_LAUNCHES:
        more = len(launches) - _MOST_LAUNCHES
        yield Broken(path, f"{more} more launches of {name}, with other arguments or grids")


def _decompressed(path: Path) -> bytes:
    """Return the text of a trace, no more of it than the limit for one input."""
    content = files.read(path, multiple=_TRACE)
    try:
        if content.startswith(_GZIP):
            limit = _TRACE * files.size_limit()
            # A member for each event, which this reads as one file.
            with gzip.GzipFile(fileobj=io.BytesIO(content)) as stream:
                text = stream.read(limit + 1)
            files.check_size(len(text), str(path), multiple=_TRACE)
            return text
        if content.startswith(_ZSTD):
            return _zstd(content, path)
    except (EOFError, OSError, zlib.error) as error:
        raise ArtifactError(f"{path} is broken: {error}") from error
    return content


def _zstd(content: bytes, path: Path) -> bytes:
    if find_spec("zstandard") is None:
        raise ArtifactError(
            f"{path} is compressed with Zstandard", hint=f"zstd -d < {path} > trace.ndjson"
        )
    zstandard = import_module("zstandard")
    limit = _TRACE * files.size_limit()
    try:
        with zstandard.ZstdDecompressor().stream_reader(
            io.BytesIO(content), read_across_frames=True
        ) as stream:
            text: bytes = stream.read(limit + 1)
    except zstandard.ZstdError as error:
        raise ArtifactError(f"{path} is broken: {error}") from error
    files.check_size(len(text), str(path), multiple=_TRACE)
    return text


def _events(text: bytes, path: Path) -> tuple[list[_Event], int]:
    """Return the events, and the number of lines that are none."""
    decoder = msgspec.json.Decoder(_Event)
    events, unreadable = [], 0
    if text.count(b"\n") > _MOST_LINES:
        raise ArtifactError(f"{path} has more than {_MOST_LINES:,} lines")
    for line in text.split(b"\n"):
        if line.strip():
            try:
                events.append(decoder.decode(line))
            except files.DECODE_ERRORS:
                unreadable += 1
    if not events:
        raise ArtifactError(f"{path} is no trace of tritonparse: no line of it is an event")
    return events, unreadable


def _launch(event: _Event) -> _Launch:
    args: dict[str, int | float | str] = {}
    for name, described in _object(event.extracted_args).items():
        value = _argument(_dict(described))
        if value is not None:
            args[name] = value
    extents = [each for each in event.grid or () if each > 0]
    grid = (*extents, 1, 1, 1)[:3] if extents and len(extents) == len(event.grid or ()) else None
    return _Launch(args, (grid[0], grid[1], grid[2]) if grid is not None else None)


def _argument(described: Mapping[str, Any]) -> int | float | str | None:
    """Return an argument as manifests store it; ``None`` for what they cannot."""
    match described.get("type"):
        case "tensor":
            return _tensor(described, described.get("shape"))
        case "TensorDescriptor":
            base = _tensor(_dict(described.get("base")), described.get("shape"))
            block = described.get("block_shape")
            if base is None or not _is_shape(block):
                return None
            return f"{base}:block[{', '.join(map(str, block))}]"
        case "bool" | "NoneType":
            return str(described.get("value"))
        case "int" | "float" if isinstance(described.get("value"), int | float):
            return described["value"]  # type: ignore[no-any-return]
    return None


def _tensor(described: Mapping[str, Any], shape: object) -> str | None:
    dtype = str(described.get("dtype", "")).removeprefix("torch.")
    if not dtype.isidentifier() or not _is_shape(shape):
        return None
    return f"{dtype}[{', '.join(map(str, shape))}]"


def _is_shape(value: object) -> TypeGuard[list[int]]:
    return isinstance(value, list) and all(isinstance(one, int) and one >= 0 for one in value)


def _constexprs(payload: _Payload, metadata: Mapping[str, Any]) -> dict[str, ConstexprValue]:
    """Return the values of constexprs: the trace numbers them, and the Python names them."""
    names = _parameters(str(_object(payload.python_source).get("code", "")), metadata)
    values: dict[str, ConstexprValue] = {}
    for place, value in _dict(metadata.get("src_constants")).items():
        digits = place.strip("(), ")
        is_number = digits.isdecimal() and len(digits) < 10
        if is_number and int(digits) < len(names) and _is_scalar(value):
            name, is_constexpr = names[int(digits)]
            if is_constexpr:
                values[name] = value
    return values


def _parameters(code: str, metadata: Mapping[str, Any]) -> list[tuple[str, bool]]:
    """Return the kernel's parameters, and whether each is a constexpr; nothing if unknown."""
    try:
        tree = ast.parse(code) if len(code) <= _MOST_PYTHON else ast.Module([], [])
    except files.PARSE_ERRORS:
        return []
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    named = [node for node in functions if node.name == metadata.get("name")] or functions[:1]
    return [
        (each.arg, each.annotation is not None and "constexpr" in ast.unparse(each.annotation))
        for node in named[:1]
        for each in node.args.args
    ]


def _object(raw: msgspec.Raw) -> dict[str, Any]:
    """Return an object of a trace; nothing if it is none, or larger than any that is written."""
    return _dict(_decoded(raw)) if len(bytes(raw)) <= _MOST_NESTED else {}


def _decoded(raw: msgspec.Raw) -> object:
    """Return any JSON value; ``None`` for what is nested too deeply."""
    try:
        return msgspec.json.decode(raw, type=object)
    except files.DECODE_ERRORS:
        return None


def _is_scalar(value: object) -> bool:
    return value is None or isinstance(value, bool | int | float | str)


def _dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
