"""Modules that Triton prints through a buffer, in the order in which it ran its passes."""

import lzma
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from irlens.artifacts import pass_dumps

ir = pytest.importorskip("triton._C.libtriton").ir

from triton._C.libtriton import passes  # noqa: E402

from irlens.artifacts.processes import with_variables  # noqa: E402
from irlens.compiler.compiler_output import (  # noqa: E402
    divert_output,
    printed_passes,
)
from irlens.compiler.triton_compat.pass_dumps import buffered_dumps  # noqa: E402


def _run(name: str, *added: Callable[..., None]) -> None:
    """Run passes on a module that names itself."""
    context = ir.context()
    ir.load_dialects(context)
    builder = ir.builder(context)
    module = builder.create_module()
    module.set_attr("test.name", builder.get_string_attr(name))
    manager = ir.pass_manager(context)
    manager.enable_debug()
    for each in added:
        each(manager)
    manager.run(module, name)
    os.write(2, f"remark: after {name}\n".encode())


def _printed(folder: Path, name: str) -> bytes:
    """Return what two pipelines print."""
    settings = {"MLIR_ENABLE_DUMP": "1", "MLIR_ENABLE_TIMING": "1"}
    log = folder / f"{name}.log"
    with (
        with_variables(settings, without=["MLIR_DUMP_PATH"]),
        divert_output(log) as printed,
        buffered_dumps(folder / f"{name}.ir") as merged,
    ):
        os.write(2, b"remark: before\n")
        _run(f"{name}1", passes.common.add_cse, passes.common.add_canonicalizer)
        _run(f"{name}2", passes.common.add_canonicalizer)
    return merged(printed())


def _check(dumps: pass_dumps.Dumps, name: str) -> None:
    arguments = [(each.argument, each.pipeline) for each in dumps.passes]
    assert arguments == [("cse", 0), ("canonicalize", 0), ("canonicalize", 1)]
    names = [each.text.split('test.name = "')[1].split('"')[0] for each in dumps.passes]
    assert names == [f"{name}1", f"{name}1", f"{name}2"]
    assert all(each.seconds is not None for each in dumps.passes)
    assert dumps.remarks == ["remark: before", f"remark: after {name}1", f"remark: after {name}2"]


def test_each_compilation_has_its_own_and_all_of_them(tmp_path: Path) -> None:
    """Triton opens one file for the whole life of a process, and leaves its buffer as it is."""
    for name in ("first", "second"):
        _check(pass_dumps.read(_printed(tmp_path, name).decode()), name)


def test_a_forked_process_keeps_them_from_its_parent_s_file(tmp_path: Path) -> None:
    _check(pass_dumps.read(_printed(tmp_path, "parent").decode()), "parent")
    before = (tmp_path / "parent.ir").read_bytes()
    if (child := os.fork()) == 0:
        try:
            (tmp_path / "result").write_bytes(_printed(tmp_path, "child"))
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    _check(pass_dumps.read((tmp_path / "result").read_text()), "child")
    assert (tmp_path / "parent.ir").read_bytes() == before


def test_remarks_alone_need_no_buffer(tmp_path: Path) -> None:
    run = ir.pass_manager.run
    with printed_passes(tmp_path / "log", ()) as printed:
        assert ir.pass_manager.run is run
        os.write(2, b"k.py:3:4: remark: not pipelined\n")
    assert b"remark: not pipelined" in lzma.decompress(printed())
