import json
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import irlens
from irlens.artifacts.compile_options import is_known_release
from irlens.artifacts.entries import Broken
from irlens.artifacts.identify import requested_warps
from irlens.artifacts.load import load, load_bytes
from irlens.model import files as untrusted
from irlens.model.capture import MANIFEST_NAME, MANIFEST_SCHEMA, Capture, Manifest, Stage
from irlens.model.config import Target
from irlens.model.errors import ArtifactError, IrlensError, UnknownNameError

DATA = Path(__file__).parent.parent / "data"
SAMPLES = Path(__file__).parents[2] / "samples" / "captures"
METADATA = {
    "name": "kernel",
    "target": {"backend": "cuda", "arch": 90, "warp_size": 32},
    "num_warps": 4,
    "num_stages": 3,
    "num_ctas": 1,
    "shared": 1024,
    "maxnreg": None,
    "triton_version": "3.6.0",
}


def _unpack(archive: str, destination: Path) -> Path:
    with tarfile.open(DATA / archive) as tar:
        tar.extractall(destination, filter="data")
    return destination


@pytest.fixture(scope="module")
def h200(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _unpack("h200/triton-cache.tar.xz", tmp_path_factory.mktemp("h200"))


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("files")
    _unpack("cubin/triton.tar.xz", place)
    return _unpack("amd/triton.tar.xz", place)


def _entry(directory: Path, file: str = "kernel", **metadata: object) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    for stage in ("source", "ttir", "ttgir", "llir", "ptx", "cubin"):
        (directory / f"{file}.{stage}").write_text(f"{stage} of {file}")
    (directory / f"{file}.json").write_text(json.dumps(METADATA | {"name": file} | metadata))
    (directory / f"__grp__{file}.json").write_text('{"child_paths": {}}')
    return directory


def _only(path: Path) -> Capture:
    (found,) = load(path)
    assert isinstance(found, Capture)
    return found


def test_a_real_cache(h200: Path) -> None:
    truth = json.loads((DATA / "h200" / "truth.json").read_text())["kernels"]
    expected = {h200 / each["path"]: each for each in truth}
    found = [each for each in load(h200) if isinstance(each, Capture)]
    assert {each.stages["cubin"].path for each in found} == set(expected)
    for each in found:
        assert each.stages["cubin"].path is not None
        row = expected[each.stages["cubin"].path]
        assert each.kernel == row["name"]
        assert each.config.num_warps == row["num_warps"]
        assert each.config.num_stages == row["num_stages"]
        assert each.metadata is not None
        assert each.metadata.shared == row["dynamic_shared"]
        assert each.target == Target(vendor="nvidia", arch="sm_90", warp_size=32)
        assert list(each.stages) == ["source", "ttir", "ttgir", "llir", "ptx", "cubin"]
        assert each.config.constexprs == {}
        assert each.directory == each.stages["cubin"].path.parent


def test_one_entry_and_its_metadata_file(tmp_path: Path) -> None:
    entry = _entry(tmp_path / "ABC")
    from_directory = _only(entry)
    assert from_directory.stages["ptx"].text() == "ptx of kernel"
    assert _only(entry / "kernel.json") == from_directory


def test_a_capture_brings_its_manifest(tmp_path: Path) -> None:
    entry = _entry(tmp_path / "capture")
    manifest = Manifest(
        schema=MANIFEST_SCHEMA,
        irlens_version="0",
        triton_version="3.6.0",
        kernel="kernel",
        file="kernel.py",
        target=Target(vendor="nvidia", arch="sm_90", warp_size=32, product="h200"),
        constexprs={"BLOCK": 64, "NAME": "x", "FLAG": True, "NONE": None},
        args={"x_ptr": "fp32[4096, 1024]", "n": 4096},
        grid=(4, 1, 1),
    )
    (entry / MANIFEST_NAME).write_bytes(msgspec.json.encode(manifest))
    (entry / "python").mkdir()
    (entry / "python" / "kernel.py").write_text("raise SystemExit('executed')")
    found = _only(entry)
    assert found.manifest == manifest
    assert found.target == manifest.target
    assert (found.config.constexprs, found.config.args) == (manifest.constexprs, manifest.args)
    assert (found.config.grid, found.config.num_warps) == ((4, 1, 1), 4)
    assert _only(entry / MANIFEST_NAME) == found


def test_one_kernel_of_a_directory() -> None:
    """As a shell completes the folder, too."""
    for path in (f"{SAMPLES}:softmax_kernel", f"{SAMPLES}/:softmax_kernel"):
        found = [each for each in load(Path(path)) if isinstance(each, Capture)]
        assert [each.kernel for each in found] == ["softmax_kernel"] * 3
    with pytest.raises(UnknownNameError) as raised:
        list(load(Path(f"{SAMPLES}:softmax_kernl")))
    assert raised.value.hint == "did you mean softmax_kernel or matmul_kernel?"


def test_a_path_that_exists_is_only_itself(tmp_path: Path) -> None:
    shutil.copytree(SAMPLES / "softmax-t4", tmp_path / "x:matmul_kernel")
    (tmp_path / "x").mkdir()
    assert len(list(load(tmp_path / "x:matmul_kernel"))) == 1


def test_amd_metadata(tmp_path: Path) -> None:
    target = {"backend": "hip", "arch": "gfx942", "warp_size": 64}
    found = _only(_entry(tmp_path / "ABC", target=target))
    assert found.target == Target(vendor="amd", arch="gfx942", warp_size=64)


def test_a_backend_that_is_neither_has_no_target(tmp_path: Path) -> None:
    target = {"backend": "xpu", "arch": "pvc", "warp_size": 32}
    assert _only(_entry(tmp_path / "ABC", target=target)).target is None


def test_several_kernels_in_one_directory_and_names_with_dots(tmp_path: Path) -> None:
    _entry(tmp_path, "a.b.c")
    _entry(tmp_path, "kernel")
    names = [each.kernel for each in load(tmp_path) if isinstance(each, Capture)]
    assert names == ["a.b.c", "kernel"]


def test_a_long_name_is_cut_in_the_files_but_not_in_the_capture(tmp_path: Path) -> None:
    _entry(tmp_path, "k" * 150, name="k" * 300)
    assert _only(tmp_path).kernel == "k" * 300


def test_nested_caches_and_what_else_lies_in_them(tmp_path: Path) -> None:
    _entry(tmp_path / "inductor" / "triton" / "0" / "ABC")
    launcher = tmp_path / "inductor" / "triton" / "0" / "DEF"
    launcher.mkdir()
    (launcher / "__triton_launcher.cpython-311-x86_64-linux-gnu.so").write_bytes(b"\x7fELF")
    (launcher / "kernel.autotune.json").write_text('{"key": [], "configs_timings": []}')
    (tmp_path / "best_config.json").write_text("not even JSON")
    (tmp_path / "inductor" / "loop").symlink_to(tmp_path, target_is_directory=True)
    (tmp_path / "inductor" / "nowhere.ptx").symlink_to(tmp_path / "absent")
    (tmp_path / "inductor" / "circle.ptx").symlink_to("circle.ptx")
    os.mkfifo(tmp_path / "inductor" / "pipe.ptx")
    unfinished = tmp_path / "inductor" / "triton" / "0" / "tmp.pid_12_34"
    _entry(unfinished)
    assert _only(tmp_path).directory == tmp_path / "inductor" / "triton" / "0" / "ABC"


def test_loose_artifacts_in_a_directory(tmp_path: Path, files: Path) -> None:
    shutil.copy(files / "softmax.sm_90.triton-3.6.0.ptx", tmp_path / "x.ptx")
    found = _only(tmp_path)
    assert (found.kernel, list(found.stages), found.metadata) == ("x", ["ptx"], None)


def _break_json(entry: Path) -> None:
    (entry / "kernel.json").write_text('{"name": "kernel", ')


def _break_encoding(entry: Path) -> None:
    (entry / "kernel.json").write_bytes(b'{"name": "\xff"}')


def _nest(entry: Path) -> None:
    (entry / "kernel.json").write_text('{"a": ' + "[" * 100_000)


def _remove_metadata(entry: Path) -> None:
    for stage in ("json", "llir", "ptx", "cubin"):
        (entry / f"kernel.{stage}").unlink()


def _break_manifest(entry: Path) -> None:
    (entry / MANIFEST_NAME).write_text("{}")


def _remove_artifacts(entry: Path) -> None:
    for path in entry.iterdir():
        path.unlink()
    (entry / MANIFEST_NAME).write_bytes(
        msgspec.json.encode(
            Manifest(
                schema=1, irlens_version="", triton_version="", kernel="", file="",
                target=Target(vendor="nvidia", arch="", warp_size=32), constexprs={}, args={},
            )
        )
    )  # fmt: skip


@pytest.mark.parametrize("parts", [(5000, 1), (1, 5000)])
def test_a_version_longer_than_any_release_is_no_release(
    tmp_path: Path, parts: tuple[int, int]
) -> None:
    version = ".".join("9" * digits for digits in parts)
    assert not is_known_release(version)
    assert _only(_entry(tmp_path / "A", triton_version=version)).kernel == "kernel"


def test_warps_that_no_module_has_are_unknown(tmp_path: Path) -> None:
    assert requested_warps(_module(tmp_path, "8")) == 8
    assert requested_warps(_module(tmp_path, "9" * 5000)) is None


def _module(folder: Path, warps: str) -> Stage:
    path = folder / "kernel.ttgir"
    path.write_text(f'module attributes {{"ttg.num-warps" = {warps} : i32}} {{\n}}\n')
    return Stage("ttgir", path=path, home=folder)


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (_break_json, "kernel.json is broken: Input data was truncated"),
        (_break_encoding, "kernel.json is broken: Invalid UTF-8 encoded string"),
        (_nest, "kernel.json is broken: "),
        (_remove_metadata, "only source, ttir, ttgir of kernel: its compilation did not finish"),
        (_break_manifest, "irlens.json is broken: Object missing required field"),
        (_remove_artifacts, "irlens.json without any artifact"),
    ],
)
def test_a_broken_entry_is_reported_and_the_others_still_given(
    tmp_path: Path, damage: Callable[[Path], None], reason: str
) -> None:
    for name in ("A", "B", "C"):
        _entry(tmp_path / name)
    damage(tmp_path / "B")
    first, second, third = load(tmp_path)
    assert isinstance(first, Capture)
    assert isinstance(third, Capture)
    assert isinstance(second, Broken)
    assert second.reason.startswith(reason)
    assert "\n" not in second.reason
    assert second.path.is_relative_to(tmp_path / "B")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("num_warps", "8"), ("shared", None), ("shared", [1]), ("num_stages", {}), ("name", 7),
        ("target", "cuda:90"), ("target", None), ("triton_version", 3), ("tmem_size", -1),
        ("shared", 10**30), ("num_warps", 1 << 40), ("global_scratch_size", -(10**30)),
    ],
)  # fmt: skip
def test_a_field_of_another_type_is_lost_and_nothing_else(
    tmp_path: Path, field: str, value: object
) -> None:
    _entry(tmp_path)
    path = tmp_path / "kernel.json"
    (whole,) = load(tmp_path)
    path.write_text(json.dumps({**json.loads(path.read_text()), field: value}))
    (capture,) = load(tmp_path)
    assert isinstance(whole, Capture)
    assert isinstance(capture, Capture)
    assert whole.metadata is not None
    assert capture.metadata == msgspec.structs.replace(whole.metadata, **{field: None})
    assert list(capture.stages) == list(whole.stages)


@pytest.mark.parametrize("stage", ["ttir", "ttgir", "llir", "ptx", "cubin"])
def test_a_folder_with_a_single_stage_is_a_capture(tmp_path: Path, stage: str) -> None:
    (path,) = (SAMPLES / "softmax-h100").glob(f"*.{stage}")
    shutil.copy(path, tmp_path / path.name)
    (capture,) = load(tmp_path)
    (alone,) = load(tmp_path / path.name)
    assert isinstance(capture, Capture)
    assert isinstance(alone, Capture)
    assert list(capture.stages) == [stage]
    assert (capture.kernel, capture.target) == ("softmax_kernel", alone.target)


def test_an_entry_that_vanishes_while_the_cache_is_read(tmp_path: Path) -> None:
    for name in ("A", "B", "C"):
        _entry(tmp_path / name)
    reading = load(tmp_path)
    found = [next(reading)]
    shutil.rmtree(tmp_path / "B")
    found += reading
    assert [isinstance(each, Capture) for each in found] == [True, False, True]
    assert isinstance(found[1], Broken)
    assert found[1] == Broken(tmp_path / "B", "cannot be read: No such file or directory")


def test_an_artifact_that_vanishes_after_the_listing(tmp_path: Path) -> None:
    found = _only(_entry(tmp_path / "A"))
    shutil.rmtree(tmp_path / "A")
    with pytest.raises(ArtifactError, match=r"there is no .*kernel\.ptx"):
        found.stages["ptx"].read()


def test_what_cannot_be_read_at_all(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign" / "notes.txt").write_text("")
    (tmp_path / "empty.ptx").write_text("\n")
    (tmp_path / "notes.txt").write_text("shopping list")
    (tmp_path / "junk.cubin").write_bytes(bytes(range(256)))
    (tmp_path / "alone.json").write_text("{}")
    os.mkfifo(tmp_path / "pipe")
    for name, message in {
        "absent": "there is no {path}",
        "empty": "{path} holds nothing that Triton left",
        "foreign": "{path} holds nothing that Triton left",
        "empty.ptx": "{path} is empty",
        "notes.txt": "{path} is nothing that Triton's compiler makes",
        "junk.cubin": "{path}: not a GPU binary: it does not start as a 64-bit little-endian ELF",
        "alone.json": "{path} has no artifact beside it",
        "absent.json": "there is no {path}",
        "pipe": "{path} is neither a file nor a directory",
        "x" * 300: "cannot read {path}: File name too long",
    }.items():
        path = tmp_path / name
        with pytest.raises(ArtifactError) as caught:
            list(load(path))
        assert caught.value.message.startswith(message.format(path=path))
        assert "\n" not in caught.value.message
        assert caught.value.hint


def test_what_may_not_be_read(tmp_path: Path) -> None:
    # root reads anything, so the attempt is made as nobody where the tests run as root.
    _entry(tmp_path / "cache" / "A")
    _entry(tmp_path / "cache" / "B").chmod(0)
    (tmp_path / "x.ptx").touch(mode=0)
    script = """
import os
from pathlib import Path
from irlens.artifacts.load import load
from irlens.model.errors import ArtifactError
if os.geteuid() == 0:
    os.seteuid(65534)
for name in ("cache", "cache/B", "cache/B/kernel.ptx", "x.ptx"):
    try:
        print(*(getattr(each, "reason", "fine") for each in load(Path(name))))
    except ArtifactError as error:
        print(error.message)
"""
    tmp_path.chmod(0o755)
    package = {"PYTHONPATH": str(Path(irlens.__file__).parent.parent)}
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=os.environ | package,
    )
    (tmp_path / "cache" / "B").chmod(0o755)
    assert done.stdout.splitlines() == [
        "fine cannot be read: Permission denied",
        "cannot read cache/B: Permission denied",
        "cannot read cache/B/kernel.ptx: Permission denied",
        "cannot read x.ptx: Permission denied",
    ], done.stderr


@pytest.mark.parametrize("stage", ["ptx", "cubin"])
def test_an_artifact_says_its_warps_unless_they_are_specialized(h200: Path, stage: str) -> None:
    """A kernel of specialized warps has more than were requested."""
    for path in sorted(h200.rglob(f"*.{stage}")):
        (alone,) = load_bytes(path.read_bytes(), name="kernel")
        metadata = json.loads(path.with_suffix(".json").read_bytes())
        assert alone.config.num_warps == metadata["num_warps"], path
    for path in sorted(SAMPLES.glob(f"*/*.{stage}")):
        (alone,) = load_bytes(path.read_bytes(), name="kernel")
        assert (alone.config.num_warps is None) == ("specialized" in path.parent.name), path


@pytest.mark.parametrize("version", ["3.6.0", "3.9.0"])
@pytest.mark.parametrize(
    ("arch", "stage", "expected"),
    [
        ("sm_90", "source", (None, None)),
        ("sm_90", "ttir", (None, None)),
        ("sm_90", "ttgir", ("sm_90", 8)),
        ("sm_90", "llir", (None, None)),
        ("sm_90", "ptx", ("sm_90", 8)),
        ("sm_90", "cubin", ("sm_90", 8)),
        ("gfx942", "ttgir", ("gfx942", 8)),
        ("gfx942", "llir", ("gfx942", None)),
        ("gfx942", "amdgcn", ("gfx942", None)),
        ("gfx942", "hsaco", ("gfx942", None)),
    ],
)
def test_a_single_artifact_says_what_it_is(
    files: Path,
    tmp_path: Path,
    version: str,
    arch: str,
    stage: str,
    expected: tuple[str | None, int | None],
) -> None:
    path = files / f"softmax.{arch}.triton-{version}.{stage}"
    if (stage, arch, version) == ("llir", "gfx942", "3.6.0"):
        expected = (None, None)  # its triple is "amdgcn-amd-amdhsa"
    nameless = tmp_path / "artifact"
    shutil.copy(path, nameless)
    found = [_only(path), _only(nameless), *load_bytes(path.read_bytes(), name="stdin")]
    assert len(found) == 3
    for each in found:
        assert each.kernel == "softmax_kernel"
        assert (each.target.arch if each.target else None, each.config.num_warps) == expected
        if each.target:
            assert each.target.warp_size == (32 if arch == "sm_90" else 64)
        (artifact,) = each.stages.values()
        assert artifact.read() == path.read_bytes()
    # Triton writes the source as ttir, and only the extension tells.
    by_content = "ttir" if stage == "source" else stage
    assert [list(each.stages) for each in found] == [[stage], [by_content], [by_content]]


def test_every_kernel_of_a_file_is_a_capture(tmp_path: Path) -> None:
    _unpack("cubin/kinds.tar.xz", tmp_path)
    found = [each for each in load(tmp_path / "kinds.sm_80.cubin") if isinstance(each, Capture)]
    assert [each.kernel for each in found] == [
        "_Z9templatedILi3EEvPi", "barriers", "big", "caller", "capped", "recursion", "shared",
    ]  # fmt: skip
    source = b".version 8.0\n.target sm_90a\n.visible .entry a()\n{}\n.entry b(\n)\n{}\n"
    assert [each.kernel for each in load_bytes(source, name="-")] == ["a", "b"]


@given(st.data())
def test_any_bytes_are_an_artifact_or_an_artifact_error(draw: st.DataObject) -> None:
    marks = [b"\x7fELF\x02\x01", b".target sm_90\n", b"define ", b"tt.func public @", b'"', b"\n"]
    content = b"".join(draw.draw(st.lists(st.binary() | st.sampled_from(marks))))
    try:
        found = list(load_bytes(content, name="-"))
    except ArtifactError as error:
        assert_one_line(error)
    else:
        assert found


def assert_one_line(error: ArtifactError) -> None:
    assert "\n" not in error.message


def test_of_many_entries_little_is_read_and_that_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(1000):
        entry = tmp_path / f"{number:04}"
        entry.mkdir()
        for stage in ("ttir", "ttgir", "llir", "ptx", "cubin"):
            (entry / f"kernel.{stage}").touch()
        (entry / "kernel.json").write_text(json.dumps(METADATA))
    opened: list[Path] = []
    read = untrusted.read

    def spy(file: Path, **options: Any) -> bytes:
        opened.append(file)
        return read(file, **options)

    monkeypatch.setattr(untrusted, "read", spy)
    assert sum(1 for _ in load(tmp_path)) == 1000
    # The metadata, and ttgir for the warps that were asked for.
    assert sorted(opened) == sorted([*tmp_path.glob("*/*.json"), *tmp_path.glob("*/*.ttgir")])


class TestLinks:
    """A capture is a stranger's: no link in it may show a file that lies elsewhere."""

    @pytest.fixture
    def secret(self, tmp_path: Path) -> Path:
        path = tmp_path / "secret"
        path.mkdir()
        (path / "kernel.ttir").write_text("hunter2")
        (path / "kernel.json").write_text(json.dumps(METADATA))
        (path / "x.py").write_text("hunter2 = 1")
        return path

    @pytest.mark.parametrize("name", ["kernel.ttir", "kernel.json", "irlens.json"])
    def test_to_a_file_elsewhere_refuses_the_entry(
        self, tmp_path: Path, secret: Path, name: str
    ) -> None:
        entry = _entry(tmp_path / "A")
        (entry / name).unlink(missing_ok=True)
        (entry / name).symlink_to(secret / name.replace("irlens", "kernel"))
        (broken,) = load(entry)
        assert isinstance(broken, Broken)
        assert broken.path == entry
        assert f"{name} leads out of its capture" in broken.reason

    def test_of_the_python_folder_or_a_file_in_it(self, tmp_path: Path, secret: Path) -> None:
        entry = _entry(tmp_path / "A")
        (entry / "python").mkdir()
        (entry / "python" / "x.py").symlink_to(secret / "x.py")
        capture = _only(entry)
        assert capture.python("x.py") is None
        assert capture.refuses_python("x.py")
        assert not capture.refuses_python("y.py")
        (entry / "python" / "x.py").unlink()
        (entry / "python").rmdir()
        (entry / "python").symlink_to(secret)
        assert capture.python("x.py") is None
        assert capture.python_files == ()
        (broken,) = load(entry)
        assert isinstance(broken, Broken)

    def test_that_appears_after_the_listing(self, tmp_path: Path, secret: Path) -> None:
        entry = _entry(tmp_path / "A")
        capture = _only(entry)
        (entry / "kernel.ttir").unlink()
        (entry / "kernel.ttir").symlink_to(secret / "kernel.ttir")
        with pytest.raises(ArtifactError, match="leads out of its capture"):
            capture.stages["ttir"].read()

    def test_of_a_folder_above_that_appears_while_a_file_is_opened(
        self, tmp_path: Path, secret: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        entry = tmp_path / "A"
        (entry / "python").mkdir(parents=True)
        (entry / "python" / "x.py").write_text("mine = 1")
        resolve = Path.resolve

        def swap(path: Path, strict: bool = False) -> Path:
            resolved = resolve(path, strict)
            if path.name == "x.py":  # the path was good when it was checked
                shutil.rmtree(entry / "python")
                (entry / "python").symlink_to(secret)
            return resolved

        monkeypatch.setattr(Path, "resolve", swap)
        with pytest.raises(ArtifactError, match="cannot read"):
            untrusted.read(entry / "python" / "x.py", within=entry)

    def test_that_stays_inside_is_read(self, tmp_path: Path) -> None:
        entry = _entry(tmp_path / "A")
        (entry / "kernel.ttir").rename(entry / "other")
        (entry / "kernel.ttir").symlink_to("other")
        assert _only(entry).stages["ttir"].text() == "ttir of kernel"

    def test_that_the_user_names_is_followed(self, tmp_path: Path) -> None:
        entry = _entry(tmp_path / "A")
        (tmp_path / "link").symlink_to(entry)
        assert _only(tmp_path / "link").stages["ttir"].text() == "ttir of kernel"

    def test_a_name_in_the_metadata_leads_nowhere_else(self, tmp_path: Path) -> None:
        (tmp_path / "other.json").write_text('{"password": "hunter2"}')
        capture = _only(_entry(tmp_path / "A", name="../other"))
        assert capture.kernel == "../other"
        assert capture.metadata_stage is not None
        assert "hunter2" not in capture.metadata_stage.text()
        assert capture.python("../../other.json") is None


class TestLimits:
    def test_a_large_file_is_refused_in_one_line(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = tmp_path / "x.ptx"
        with path.open("wb") as file:
            file.truncate(10**12)  # sparse
        with pytest.raises(ArtifactError, match=r"x\.ptx is larger than 16 MB") as caught:
            list(load(path))
        assert caught.value.hint is not None
        assert "IRLENS_MAX_INPUT_MB" in caught.value.hint
        monkeypatch.setenv("IRLENS_MAX_INPUT_MB", "1")
        path.write_bytes(bytes(1_000_001))
        with pytest.raises(ArtifactError, match=r"x\.ptx is larger than 1\.0 MB"):
            list(load(path))
        monkeypatch.setenv("IRLENS_MAX_INPUT_MB", "all")
        with pytest.raises(IrlensError, match="IRLENS_MAX_INPUT_MB is 'all'") as wrong:
            list(load(path))
        assert not isinstance(wrong.value, ArtifactError)  # the file is not at fault

    @pytest.mark.parametrize("name", ["/dev/zero", "pipe", "pipe.json"])
    def test_what_never_ends_is_refused(self, tmp_path: Path, name: str) -> None:
        path = tmp_path / name
        if name.startswith("pipe"):
            os.mkfifo(path)
        with pytest.raises(ArtifactError, match="neither a file nor a directory"):
            list(load(path))

    def test_a_nul_in_a_name(self, tmp_path: Path) -> None:
        capture = _only(_entry(tmp_path / "A", name="ker\0nel"))
        assert capture.python("x\0.py") is None
        with pytest.raises(ArtifactError, match="no file has such a name"):
            untrusted.read(tmp_path / "a\0b", within=tmp_path)

    def test_text_with_nuls_is_refused_at_once(self) -> None:
        with pytest.raises(ArtifactError, match="x: line 2 of ptx holds a NUL"):
            list(load_bytes(b".target sm_90\n\0\0" + bytes(10_000_000), name="x"))

    @pytest.mark.parametrize(
        ("text", "what"),
        [
            ("{" * 400_001, "400,000 lines and statements"),
            ("\n" * 400_001, "400,000 lines and statements"),
            ("," * 4_100_001, "4,100,000 tokens"),
            ("x " * 4_100_001, "4,100,000 tokens"),
        ],
    )
    def test_text_of_too_many_statements_is_refused_unparsed(
        self, text: str, what: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with pytest.raises(ArtifactError, match=f"x has more than {what}") as caught:
            untrusted.text(text.encode(), name="x")
        assert "IRLENS_MAX_INPUT_MB" in str(caught.value.hint)
        monkeypatch.setenv("IRLENS_MAX_INPUT_MB", "40")
        assert untrusted.text(text.encode(), name="x") == text

    def test_text_as_large_as_two_of_the_largest_kernels_is_read(self) -> None:
        line = "\tadd.s32 \t%r1, %r2, %r3;\n"
        assert untrusted.text((line * (5_000_000 // len(line))).encode(), name="x")

    def test_a_number_that_no_compiler_writes_is_refused_and_a_blob_is_not(self) -> None:
        assert untrusted.text(b'dense<"0x' + b"0" * 5000 + b'">', name="x")
        with pytest.raises(ArtifactError, match="line 2 of x holds a number of 5,000 digits"):
            untrusted.text(b"\ni" + b"9" * 5000, name="x")

    def test_a_grid_that_no_launch_has_is_one_broken_entry(self, tmp_path: Path) -> None:
        shutil.copytree(SAMPLES / "softmax-h100", tmp_path / "A")
        path = tmp_path / "A" / MANIFEST_NAME
        manifest = json.loads(path.read_bytes())
        path.write_text(json.dumps(manifest | {"grid": [1 << 64, 1, 1]}))
        (broken,) = load(tmp_path / "A")
        assert isinstance(broken, Broken)
        assert "irlens.json is broken" in broken.reason


def test_paths_that_are_not_utf8_are_refused(tmp_path: Path) -> None:
    """Reports, which name them, are UTF-8."""
    odd = os.fsdecode(b"\xff")
    for name in ("A", "B", odd):
        _entry(tmp_path / "cache" / name)
    for child in (tmp_path / "cache" / "B").iterdir():
        child.rename(child.with_name(odd + child.name))
    first, second, third = load(tmp_path / "cache")
    assert isinstance(first, Capture)
    for each in (second, third):
        assert isinstance(each, Broken)
        assert each.reason == "its path is not UTF-8"
    with pytest.raises(ArtifactError, match="its path is not UTF-8"):
        list(load(tmp_path / "cache" / odd))


def test_the_whole_file_system_is_refused() -> None:
    for top in ("/", "//", "/tmp/.."):
        with pytest.raises(ArtifactError, match="is the whole file system"):
            list(load(Path(top)))


def test_the_search_ends_after_many_folders_without_an_entry(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("irlens.artifacts.load._MOST_FRUITLESS", 5)
    for name in range(8):
        (tmp_path / "b" / str(name)).mkdir(parents=True)
    (stopped,) = load(tmp_path)
    assert isinstance(stopped, Broken)
    shutil.copytree(SAMPLES / "softmax-h100", tmp_path / "a")
    shutil.copytree(SAMPLES / "softmax-h100", tmp_path / "c")
    capture, stopped = load(tmp_path)
    assert isinstance(capture, Capture)
    assert isinstance(stopped, Broken)
    assert stopped.reason == "not looked into, after 5 without a capture"
