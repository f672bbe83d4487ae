"""Where the kernels that TorchInductor generates come from: lines of the program's own code."""

import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from irlens.compiler.import_hooks import after_import
from irlens.compiler.tally import Origin, Tally
from irlens.model.source import SourceLocation

#: Parts of paths that are not the program's own code.
_INSTALLED = ("/site-packages/", "/dist-packages/", "<frozen ", f"{Path(__file__).parents[2]}/")


def user_line(generated: tuple[str, ...]) -> SourceLocation | None:
    """Return the innermost line of the program's own code that is running."""
    frame = sys._getframe(1)
    while frame is not None:
        name = frame.f_code.co_filename
        if is_own(name, generated):
            return SourceLocation(Path(name).name, frame.f_lineno)
        frame = frame.f_back  # type: ignore[assignment]  # typeshed has no None here
    return None


def is_own(file: str, generated: tuple[str, ...]) -> bool:
    """Whether a file is the program's own: not installed, nor generated."""
    return not any(part in file for part in (*_INSTALLED, *generated))


#: A frame of an operator's stack, outermost first.
_FRAME = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+), in ')


def watch_origins(tally: Tally, generated: tuple[str, ...]) -> None:
    """Note the origin of each kernel that TorchInductor generates from now on.

    Args:
        generated: Folders of files that are not the program's own.
    """

    def hook(module: Any) -> None:
        scheduling: Any = getattr(module, "TritonScheduling", None)
        define = getattr(scheduling, "define_kernel", None)
        if define is None:
            return

        def defined(self: Any, src_code: Any, node_schedule: Any, *args: Any, **kwargs: Any) -> Any:
            name = define(self, src_code, node_schedule, *args, **kwargs)
            origin = _origin(list(_nodes(node_schedule)), generated)
            if isinstance(name, str) and origin is not None:
                tally.origins[name] = origin
            return name

        scheduling.define_kernel = defined

    after_import("torch._inductor.codegen.triton", hook)


def _nodes(schedule: Any) -> Iterator[Any]:
    """Yield the nodes of a graph that a kernel computes, in no particular order."""
    for each in schedule:
        computed = getattr(each, "node", None)
        yield from getattr(computed, "origins", None) or ()


def _origin(nodes: list[Any], generated: tuple[str, ...]) -> Origin | None:
    nodes = sorted(set(nodes), key=lambda node: str(node.name))
    lines = Counter(line for node in nodes if (line := _line(node, generated)))
    operations = Counter(
        str(getattr(node.meta.get("original_aten"), "_overloadpacket", "")).removeprefix("aten.")
        for node in nodes
    )
    del operations[""]
    if not lines and not operations:
        return None
    source = min(lines, key=lambda line: (-lines[line], line)) if lines else ""
    return Origin(source, tuple(operations))


def _line(node: Any, generated: tuple[str, ...]) -> str:
    """Return the innermost line of the program's own code in an operator's stack."""
    frames = list(_FRAME.finditer(node.meta.get("stack_trace") or ""))
    own = [frame for frame in frames if is_own(frame["file"], generated)]
    return f"{Path(own[-1]['file']).name}:{own[-1]['line']}" if own else ""
