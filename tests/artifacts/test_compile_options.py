"""Which compile options in Triton's metadata somebody chose."""

import json
from pathlib import Path

import pytest
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler.compiler import make_backend

from irlens.artifacts.compile_options import (
    changed_options,
    changes_output,
    digest_now,
    is_known_release,
    left_out_variables,
    named_files,
    release_defaults,
)
from irlens.artifacts.load import load
from irlens.model.capture import Capture

TARGETS = [("cuda", 75, 32), ("cuda", 80, 32), ("cuda", 90, 32), ("cuda", 100, 32),
           ("hip", "gfx942", 64), ("hip", "gfx950", 64), ("hip", "gfx1100", 32)]  # fmt: skip
#: What a target supports follows from the target; irlens cannot derive it without Triton.
DERIVED = {
    "supported_fp8_dtypes", "deprecated_fp8_dot_operand_dtypes", "allowed_dot_input_precisions",
    "num_warps", "num_stages", "num_ctas", "maxnreg", "warp_size", "arch", "base_arch",
    "backend_name", "cluster_dims",
}  # fmt: skip


@pytest.mark.parametrize("target", TARGETS)
def test_the_releases_defaults_are_those_of_the_option_classes(
    target: tuple[str, int | str, int],
) -> None:
    backend, arch, _ = target
    actual = dict(make_backend(GPUTarget(*target)).parse_options({}).__dict__)
    known = release_defaults(triton.__version__, backend, arch)
    assert is_known_release(triton.__version__)
    assert actual.keys() - known.keys() - DERIVED == set(), "an option that irlens does not know"
    written = json.loads(json.dumps(actual))  # as in the metadata
    assert changed_options(written, known) == {}


def entry(folder: Path, **metadata: object) -> Capture:
    folder.mkdir()
    (folder / "kernel.ttir").write_text("module {}")
    (folder / "kernel.ptx").write_text("ptx")
    facts = {
        "name": "kernel", "target": {"backend": "cuda", "arch": 90, "warp_size": 32},
        "num_warps": 4, "num_ctas": 1, "num_stages": 3, "shared": 0, "triton_version": "3.9.0",
        "enable_fp_fusion": True, "ptx_options": None, "sanitize_overflow": True,
        "supported_fp8_dtypes": ["fp8e5"], "hash": "0", "backend_name": "cuda", "arch": "sm90",
    }  # fmt: skip
    (folder / "kernel.json").write_text(json.dumps(facts | metadata))
    (found,) = load(folder)
    assert isinstance(found, Capture)
    return found


def test_a_cache_entry_says_which_options_were_chosen(tmp_path: Path) -> None:
    assert entry(tmp_path / "plain").config.options == {}
    chosen = entry(
        tmp_path / "chosen",
        enable_fp_fusion=False,
        ptx_options="--opt-level=0",
        ir_override="/home/somebody/b.ptx",
        extern_libs=[["libdevice", "/opt/other.bc"]],
        DISABLE_LLVM_OPT="true",
        MLIR_ENABLE_DUMP="true",
    )
    assert chosen.config.options == {
        "enable_fp_fusion": False,
        "ptx_options": "--opt-level=0",
        "ir_override": "b.ptx",
        "extern_libs": "libdevice=other.bc",
        "DISABLE_LLVM_OPT": "true",
    }


def test_defaults_that_changed_between_releases_are_told_apart(tmp_path: Path) -> None:
    amd = {"backend": "hip", "arch": "gfx942", "warp_size": 64}
    old = {"target": amd, "waves_per_eu": 1, "schedule_hint": "none"}
    assert entry(tmp_path / "a", triton_version="3.4.0", **old).config.options == {}
    newer = entry(tmp_path / "b", triton_version="3.9.0", **old)
    assert newer.config.options == {"waves_per_eu": 1, "schedule_hint": "none"}


def test_a_single_artifact_does_not_say(tmp_path: Path) -> None:
    (tmp_path / "x.ptx").write_text(".version 8.0\n.target sm_90\n.visible .entry k() { ret; }\n")
    (found,) = load(tmp_path / "x.ptx")
    assert isinstance(found, Capture)
    assert found.config.options is None


@pytest.mark.parametrize(
    ("variable", "changes"),
    [
        ("DISABLE_LLVM_OPT", True),
        ("TRITON_DEFAULT_FP_FUSION", True),
        ("TRITON_PTXAS_PATH", True),
        ("MLIR_ENABLE_DUMP", False),
        ("TRITON_CACHE_DIR", False),
        ("TRITON_NVDISASM_PATH", False),
        ("TRITON_BACKENDS_IN_TREE", False),
        ("HOME", False),
    ],
)
def test_variables_that_change_the_output(variable: str, *, changes: bool) -> None:
    assert changes_output(variable) == changes


def test_variables_of_other_programs_are_not_in_a_configuration() -> None:
    environment = {"DISABLE_TELEMETRY": "1", "PTXAS_OPTIONS": "-O1", "LLVM_HOME": "/x"}
    assert left_out_variables(environment) == {"PTXAS_OPTIONS": "-O1"}


def test_files_are_known_by_content(tmp_path: Path) -> None:
    file = tmp_path / "b.ptx"
    file.write_text("one")
    (before,) = named_files([str(file)]).items()
    assert before[0] == str(file)
    file.write_text("two")
    assert named_files([f"--file={file}", 3, None, "no\0file", "x" * 5000]) != dict([before])
    assert named_files([str(tmp_path)]) == {}
    metadata = {"ir_override": str(file)}
    (with_digest,) = changed_options(metadata, {"ir_override": None}, digest_now).values()
    assert str(with_digest).startswith("b.ptx@")
