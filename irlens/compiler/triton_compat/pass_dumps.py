"""Let Triton print the IR before each pass through a buffer.

MLIR prints a module in pieces of a few bytes: into stderr, which has no buffer, a matrix product's
passes are 1.6 million system calls, and took three times as long as its compilation. What
``MLIR_DUMP_PATH`` names has a buffer. Triton opens it once in a process and never flushes it.
"""

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from triton._C.libtriton import ir, passes

#: Names the file that Triton prints modules to.
PATH = "MLIR_DUMP_PATH"
_TIMING = "MLIR_ENABLE_TIMING"

#: The module that pushes what is before it out of the buffer; of the last one the end stays there.
_BEGIN = "// -----// IR Dump Before "
_PUSHER = re.compile(rf'{_BEGIN}[^\n]*\nmodule attributes \{{irlens\.end = "x*[^/]*'.encode())

#: The descriptor that Triton has opened in this process, or in one that it was forked from.
_descriptor: int | None = None


@contextmanager
def buffered_dumps(path: Path) -> Iterator[Callable[[bytes], bytes]]:
    """Let Triton print modules to a file.

    Args:
        path: The file, which must not exist yet.

    Yields:
        A function that puts the modules into what the file of descriptor 2 holds, in front of what
        followed their pipeline there; to be called once the block has ended.
    """
    global _descriptor  # there is one stream in a process
    target = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    if _descriptor is not None:
        os.dup2(target, _descriptor)
    os.close(target)
    length = path.stat().st_blksize  # that of the buffer
    starts: list[int] = []
    run = ir.pass_manager.run

    def push_after(manager: Any, module: Any, *name: str) -> None:
        starts.append(os.fstat(2).st_size)
        try:
            run(manager, module, *name)
        finally:
            _push(length, run, *name)

    ir.pass_manager.run = push_after
    os.environ[PATH] = str(path)
    try:
        yield lambda printed: _merged(path.read_bytes(), printed, starts)
    finally:
        del os.environ[PATH]
        ir.pass_manager.run = run
        if _descriptor is None:
            _descriptor = _descriptor_of(path)
        if _descriptor is not None:
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, _descriptor)
            os.close(null)


def _push(length: int, run: Callable[..., None], *name: str) -> None:
    """Print a module that is larger than the buffer."""
    context = ir.context()
    ir.load_dialects(context)
    builder = ir.builder(context)
    module = builder.create_module()
    module.set_attr("irlens.end", builder.get_string_attr("x" * length))
    manager = ir.pass_manager(context)
    manager.enable_debug()
    passes.common.add_cse(manager)
    timing = os.environ.pop(_TIMING, None)
    try:
        run(manager, module, *name)
    finally:
        if timing is not None:
            os.environ[_TIMING] = timing


def _descriptor_of(path: Path) -> int | None:
    """Return the descriptor of this process that is open on a file."""
    for link in Path("/proc/self/fd").iterdir():
        with suppress(OSError):
            if link.samefile(path):
                return int(link.name)
    return None


def _merged(dumps: bytes, printed: bytes, starts: list[int]) -> bytes:
    """Return the modules of each pipeline, in front of what was printed from its start on."""
    if not dumps:  # the stream is another file's
        return printed
    dumps = dumps[max(dumps.find(_BEGIN.encode()), 0) :]  # without the rest of the last module
    merged = [printed[: starts[0]] if starts else printed]
    ends = [*starts[1:], len(printed)]
    for modules, start, end in zip(_PUSHER.split(dumps), starts, ends, strict=False):
        merged += [modules, printed[start:end]]
    return b"".join(merged)
