import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from irlens.compiler.sources.description import VARIABLE, find_kernel, read_kernels
from irlens.compiler.sources.lookup import known_files
from irlens.model.errors import ArtifactError, CaptureError, UnknownNameError

TWO_KERNELS = """
    @triton.jit
    def helper(x):
        return x + 1

    @triton.jit(do_not_specialize=["n"])
    def first(x_ptr, n):
        tl.store(x_ptr, helper(n))

    @triton.autotune(configs=[], key=[])
    @triton.jit
    def second(x_ptr):
        tl.store(x_ptr, 0)
"""

IN_CLASSES = """
    class First:
        @staticmethod
        @triton.jit
        def store(x_ptr):
            tl.store(x_ptr, 42)

    class Second:
        @triton.autotune(configs=[triton.Config({}, num_warps=2)], key=[])
        @triton.jit
        def store(x_ptr):
            tl.store(x_ptr, 17)
"""


def test_samples_have_names() -> None:
    assert {"vector_add", "softmax", "matmul"} <= set(known_files())
    source = find_kernel("softmax")
    assert source.function == "softmax_kernel"
    assert source.description is not None
    assert source.description.sizes == {"n_rows": 4096, "n_cols": 1024}
    assert find_kernel("softmax:softmax_kernel") == source
    assert find_kernel(f"{source.path}:softmax_kernel") == source


def test_a_misspelt_name_suggests_the_nearest_one() -> None:
    with pytest.raises(UnknownNameError) as raised:
        find_kernel("sofmax")
    assert raised.value.hint == "did you mean softmax or softmax_rows?"


def test_the_default_kernel_is_the_one_that_no_other_calls(
    write: Callable[..., Path],
) -> None:
    path = write(TWO_KERNELS.split("@triton.autotune")[0])
    assert find_kernel(str(path)).function == "first"


def test_a_function_that_a_kernel_passes_on_is_a_helper(write: Callable[..., Path]) -> None:
    path = write("""
    @triton.jit
    def combine(a, b):
        return a + b

    @triton.jit
    def mean(x_ptr):
        tl.store(x_ptr, 0)

    @triton.jit
    def scan(x_ptr):
        mean = tl.load(x_ptr + tl.arange(0, 64))
        tl.store(x_ptr, tl.sum(tl.associative_scan(mean, 0, combine_fn=combine)) + tl.max(mean))
    """)
    assert [each.function for each in read_kernels(path)] == ["mean", "scan"]


def test_kernels_of_classes_have_their_class_before_the_name(write: Callable[..., Path]) -> None:
    path = write(IN_CLASSES)
    assert [each.function for each in read_kernels(path)] == ["First.store", "Second.store"]


def test_several_kernels_need_a_choice(write: Callable[..., Path]) -> None:
    path = write(TWO_KERNELS)
    with pytest.raises(CaptureError, match="several kernels: first, second") as raised:
        find_kernel(str(path))
    assert raised.value.hint == f"write {path}:first"
    assert find_kernel(f"{path}:second").function == "second"


def test_a_file_is_never_executed(write: Callable[..., Path]) -> None:
    path = write(f"""
        {VARIABLE} = {{"k": {{"args": {{"x_ptr": "fp32[n]"}}, "sizes": {{"n": 4}}}}}}
        raise SystemExit("executed")
        @triton.jit
        def k(x_ptr):
            tl.store(x_ptr, 0)
    """)
    source = find_kernel(str(path))
    assert source.function == "k"
    assert source.description is not None
    assert source.description.args == {"x_ptr": "fp32[n]"}


@pytest.mark.parametrize(
    ("literal", "message"),
    [
        ("{'k': {'args': {'n': len('x')}}}", r":3: IRLENS_KERNELS is not a literal"),
        ("{'k': {'sizes': {}}}", r":3: IRLENS_KERNELS: .*`args`"),
        ("{'k': {'args': {}, 'gird': []}}", r":3: IRLENS_KERNELS: .*`gird`"),
        ("{'k': {'args': {}, 'sizes': {'n': 'x'}}}", r":3: IRLENS_KERNELS: .*sizes"),
        ("[1]", r":3: IRLENS_KERNELS: .*`object`"),
        ("{[]: 1}", r":3: IRLENS_KERNELS is not a literal"),
        ("-" * 5000 + "1", r"IRLENS_KERNELS is not a literal|not readable Python"),
    ],
)
def test_an_invalid_description_is_an_error(
    literal: str, message: str, write: Callable[..., Path]
) -> None:
    with pytest.raises(CaptureError, match=message):
        read_kernels(write(f"{VARIABLE} = {literal}"))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"def f(:\n", r"bad\.py:1: invalid syntax"),
        (b"x = '\x00'\n", r"bad\.py( is not readable Python)?: .*null bytes"),
        (b"x = " + b"-" * 100_000 + b"1\n", r"not readable Python: nested too deeply|bad\.py:1"),
        (b"# \xe9\n", r"bad\.py:1: not in the file's encoding"),
        (b"x = 1\n\n# \xe9\n", r"bad\.py:3: not in the file's encoding"),
        (b"x = '\xff'\n", r"bad\.py:"),
        (b"x = " + b"(" * 300 + b")" * 300, r"bad\.py"),
        (b"", r"has no @triton\.jit function"),
    ],
)
def test_a_file_without_kernels_is_an_error(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.py"
    path.write_bytes(content)
    with pytest.raises(CaptureError, match=message):
        read_kernels(path)


def test_a_path_that_is_not_utf8_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"\xff.py")
    path.write_text("")
    with pytest.raises(ArtifactError, match="its path is not UTF-8"):
        read_kernels(path)


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(CaptureError, match="no such file"):
        find_kernel(str(tmp_path / "none.py"))


def test_a_module_is_found_without_importing_its_package(
    write: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(TWO_KERNELS, "pack/sub/module.py")
    for folder in (path.parent, path.parent.parent):
        (folder / "__init__.py").write_text("raise RuntimeError('imported')")
    monkeypatch.chdir(path.parents[2])
    assert find_kernel("pack.sub.module:second").path == path
    with pytest.raises(UnknownNameError):
        find_kernel("pack.sub.other:second")
    with pytest.raises(UnknownNameError):
        find_kernel("not a module:second")


def test_a_project_can_have_a_kernel_folder(
    write: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    own = write("@triton.jit\ndef mine(x_ptr):\n    tl.store(x_ptr, 0)\n", "ops/softmax.py")
    project = own.parents[1] / "pyproject.toml"
    project.write_text("[tool.irlens]\nkernels = 'ops'\n")
    below = own.parents[1] / "deep" / "er"
    below.mkdir(parents=True)
    monkeypatch.chdir(below)
    assert find_kernel("softmax").function == "mine"
    assert "matmul" in known_files()

    project.write_text("[tool.irlens]\nkernels = 'elsewhere'\n")
    with pytest.raises(CaptureError, match="'elsewhere' under"):
        known_files()
    project.write_text("[tool.irlens]\nkernels = 3\n")
    with pytest.raises(CaptureError, match=r"pyproject\.toml"):
        known_files()
    project.write_text("[tool.other]\n")
    assert find_kernel("softmax").function == "softmax_kernel"


def test_a_project_is_parsed_again_only_when_it_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tmp_path / "pyproject.toml"
    project.write_text("[tool.irlens]\n")
    monkeypatch.chdir(tmp_path)
    known_files()
    with monkeypatch.context() as patch:
        patch.setattr(msgspec.toml, "decode", lambda *_, **__: pytest.fail("parsed again"))
        assert "softmax" in known_files()
    project.write_text("[tool.irlens]\nkernels = 3\n")
    with pytest.raises(CaptureError):
        known_files()


def test_a_project_without_settings_is_not_parsed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.other]\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(msgspec.toml, "decode", lambda *_, **__: pytest.fail("parsed"))
    assert "softmax" in known_files()


def test_listing_imports_neither_triton_nor_torch() -> None:
    code = """
import sys
from irlens.compiler.sources.description import read_kernels
from irlens.compiler.sources.lookup import known_files
assert all(each.description for path in known_files().values() for each in read_kernels(path))
assert not {"triton", "torch", "numpy"} & set(sys.modules), "imported"
"""
    subprocess.run([sys.executable, "-c", code], check=True)
