"""Traces of tritonparse. The data is what its own writer (0.6.0) wrote with Triton 3.9."""

import gzip
import json
import sys
from pathlib import Path

import pytest

from irlens.artifacts import tritonparse
from irlens.artifacts.entries import Broken
from irlens.artifacts.load import load
from irlens.model.capture import Capture
from irlens.model.errors import ArtifactError
from irlens.report import inspect

TRACE = Path(__file__).parents[1] / "data" / "tritonparse" / "trace.ndjson"


def _captures(path: Path) -> list[Capture]:
    loaded = list(load(path))
    assert not any(isinstance(each, Broken) for each in loaded)
    return [each for each in loaded if isinstance(each, Capture)]


def test_a_compilation_is_a_capture_and_a_launch_its_arguments() -> None:
    launched, compiled = _captures(TRACE)
    assert launched.kernel == "add"
    assert launched.target is not None
    assert (launched.target.arch, launched.triton_version) == ("sm_90", "3.9.0")
    # Of the llir the trace has a message in place of its text.
    assert list(launched.stages) == ["ttir", "ttgir", "ptx"]
    config = launched.config
    assert (config.num_warps, config.num_stages, config.grid) == (8, 3, (4, 1, 1))
    assert config.constexprs == {"BLOCK": 1024}
    assert config.args == {"x_ptr": "float32[4096]", "y_ptr": "float32[4096]", "n": 4096}
    assert (compiled.config.constexprs, compiled.config.args) == ({"BLOCK": 512}, {})
    traffic = inspect(launched).traffic
    assert traffic is not None
    assert (traffic.read_bytes, traffic.written_bytes) == (16384, 16384)  # 4,096 of fp32 each


def test_compressed_traces_and_folders_of_them(tmp_path: Path) -> None:
    members = [gzip.compress(line) for line in TRACE.read_bytes().splitlines(keepends=True)]
    (tmp_path / "log.bin.ndjson").write_bytes(b"".join(members))  # a member for each event
    assert _captures(tmp_path / "log.bin.ndjson") == _captures(TRACE)
    assert _captures(tmp_path) == _captures(TRACE)


def test_each_different_launch_is_one(tmp_path: Path) -> None:
    *compilations, launch = TRACE.read_text().splitlines()
    other = json.loads(launch)
    other["extracted_args"]["n"]["value"] = 4000
    path = tmp_path / "t.ndjson"
    path.write_text("\n".join([*compilations, launch, launch, json.dumps(other), compilations[0]]))
    assert [each.config.args.get("n") for each in _captures(path)] == [4096, 4000, None]


def test_what_is_broken_hides_nothing(tmp_path: Path) -> None:
    lines = TRACE.read_text().splitlines()
    bad = json.loads(lines[0])
    bad["payload"]["metadata"] = {"hash": "x", "num_warps": "many"}
    path = tmp_path / "t.ndjson"
    path.write_text("\n".join(["{", *lines, json.dumps(bad), "[1]"]))
    loaded = list(load(path))
    broken = [each.reason for each in loaded if isinstance(each, Broken)]
    assert len(loaded) - len(broken) == 3  # a field of another type than expected is lost alone
    assert broken == ["2 lines are no events of a trace"]


@pytest.mark.parametrize("block", [["x"], [1.5], [-1], [None], "12", {"a": 1}])
def test_a_descriptor_with_a_broken_block_is_left_out(tmp_path: Path, block: object) -> None:
    *lines, launch = map(json.loads, TRACE.read_text().splitlines())
    base = {"type": "tensor", "dtype": "torch.float32", "shape": [64, 64]}
    launch["extracted_args"]["desc"] = {
        "type": "TensorDescriptor", "base": base, "shape": [64, 64], "block_shape": block,
    }  # fmt: skip
    path = tmp_path / "t.ndjson"
    path.write_text("\n".join(map(json.dumps, [*lines, launch])))
    captures = [each for each in load(path) if isinstance(each, Capture)]
    assert captures
    assert all("desc" not in each.config.args for each in captures)


def test_what_would_take_many_times_its_size_is_not_read(tmp_path: Path) -> None:
    event = json.loads(TRACE.read_text().splitlines()[0])
    event["payload"]["metadata"]["junk"] = [[]] * 600_000
    path = tmp_path / "t.ndjson"
    path.write_text(json.dumps(event))
    (broken,) = load(path)
    assert isinstance(broken, Broken)
    assert broken.reason == "the metadata of a compilation is larger than 1 MB"
    path.write_text("{}\n" * 1_000_002)
    with pytest.raises(ArtifactError, match="more than 1,000,000 lines"):
        list(load(path))


@pytest.mark.parametrize(
    "content", [b"", b"nothing\n", b"\x1f\x8b\x08broken", b'{"event_type": "x"}']
)
def test_what_is_no_trace_is_said(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "t.ndjson"
    path.write_bytes(content)
    with pytest.raises(ArtifactError, match=r"trace|broken|no compilation"):
        list(load(path))


def test_a_trace_expands_to_no_more_than_the_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IRLENS_MAX_INPUT_MB", "1")
    path = tmp_path / "t.ndjson.gz"
    path.write_bytes(gzip.compress(b"\n" * (9 << 20)))
    with pytest.raises(ArtifactError, match="larger than"):
        list(load(path))


def test_zstandard_names_the_way_around(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "zstandard", None)
    path = tmp_path / "t.bin.ndjson"
    path.write_bytes(b"\x28\xb5\x2f\xfd")
    with pytest.raises(ArtifactError, match="Zstandard") as caught:
        list(load(path))
    assert "zstd -d" in (caught.value.hint or "")


@pytest.mark.parametrize("extent", [1 << 31, 1 << 62, 10**300])
def test_a_grid_that_no_launch_has_is_no_event(tmp_path: Path, extent: int) -> None:
    *compilations, launch = TRACE.read_text().splitlines()
    other = json.dumps(json.loads(launch) | {"grid": [extent] * 3})
    path = tmp_path / "t.ndjson"
    path.write_text("\n".join([*compilations, other]))
    *captures, broken = load(path)
    assert [each.config.grid for each in captures if isinstance(each, Capture)] == [None, None]
    assert isinstance(broken, Broken)
    assert broken.reason == "1 lines are no events of a trace"


def test_a_stage_of_a_trace_has_the_limit_of_an_artifact(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IRLENS_MAX_INPUT_MB", "1")
    compilation = json.loads(TRACE.read_text().splitlines()[0])
    content = compilation["payload"]["file_content"]
    (name,) = (each for each in content if each.endswith(".ptx"))
    content[name] = "x" * 1_000_001
    (tmp_path / "t.ndjson").write_text(json.dumps(compilation))
    (broken,) = load(tmp_path / "t.ndjson")
    assert isinstance(broken, Broken)
    assert broken.reason == "add: the ptx is larger than 1.0 MB, the limit for one input"


def test_a_trace_that_zstandard_cannot_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class ZstdError(Exception):
        pass

    class Zstandard:
        def __getattr__(self, name: str) -> object:
            if name == "ZstdError":
                return ZstdError
            raise ZstdError("zstd decompress error: Data corruption detected")

    monkeypatch.setattr(tritonparse, "find_spec", lambda _: True)
    monkeypatch.setattr(tritonparse, "import_module", lambda _: Zstandard())
    (tmp_path / "t.ndjson").write_bytes(b"\x28\xb5\x2f\xfd" + b"x" * 100)
    with pytest.raises(ArtifactError, match="is broken: zstd decompress error"):
        list(load(tmp_path / "t.ndjson"))


@pytest.mark.parametrize("place", ["(²,)", f"({'9' * 5000},)"])
def test_a_constexpr_whose_place_is_no_number_is_left_out(tmp_path: Path, place: str) -> None:
    text = TRACE.read_text()
    assert text.count('"(3,)"') > 0
    (tmp_path / "log.ndjson").write_text(text.replace('"(3,)"', f'"{place}"'))
    _, whole = _captures(TRACE)
    _, damaged = _captures(tmp_path / "log.ndjson")
    assert set(damaged.config.constexprs) < set(whole.config.constexprs)
