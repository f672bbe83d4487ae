"""irlens: see what the compiler made of a Triton kernel.

The library is these functions and the records they return (``irlens.model``). Importing it is
cheap: each function imports what it needs, and only compiling needs Triton.
"""

import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from irlens.version import VERSION

if TYPE_CHECKING:  # help is printed sooner without these
    from pathlib import Path

    from irlens.model.capture import Capture
    from irlens.model.comparison import Comparison
    from irlens.model.config import ConstexprValue
    from irlens.model.report import Report

__all__ = ["capture", "compare", "inspect", "load", "to_builtins"]
__version__ = VERSION


def capture(
    kernel: str,
    *,
    target: str,
    args: "dict[str, ConstexprValue] | None" = None,
    run: bool = False,
    triton: str | None = None,
    **settings: "ConstexprValue",
) -> "Capture":
    """Compile a kernel, or return its capture from the store.

    Args:
        kernel: A sample's name, "path/file.py:kernel" or "package.module:kernel".
        target: A GPU: "sm_90", "h100", "gfx942", "mi300x", ...
        args: Run-time arguments and sizes that replace the kernel's defaults: 781,
            "fp16[1024, 1024]", or "fp16[1024, 1024]:block[128, 64]" for a tensor descriptor
            created on the host.
        run: Also launch the kernel on the GPU of this machine.
        triton: Compile with another Triton than the installed one: a version ("3.7.1"), which is
            installed in an environment of its own if needed, or the path of an interpreter.
        **settings: Constexprs and compile options: ``num_stages=4, BLOCK_SIZE=1024``.

    Raises:
        IrlensError: A name is unknown, the kernel does not compile, or its autotuner leaves
            several configurations: ``irlens.compiler.capture`` returns them all.
    """
    from irlens import gpus
    from irlens.compiler import Request
    from irlens.model.errors import CaptureError
    from irlens.session.session import Session

    gpu = gpus.find(target)
    request = Request(
        kernel=kernel,
        target=gpu.target,
        sm_count=gpu.sm_count,
        settings=settings,
        args=args or {},
        run=run,
        triton=triton,
    )
    captures = Session().compile(request)
    if len(captures) > 1:
        raise CaptureError(
            f"{kernel} is autotuned over {len(captures)} configurations",
            hint="fix the values that they vary, or use irlens.compiler.capture, which returns all",
        )
    return captures[0]


def load(path: "str | Path") -> "Iterator[Capture]":
    """Yield the captures at a path: a Triton cache, a capture, or a single artifact.

    Raises:
        ArtifactError: While iterating: the path does not exist, or an entry is broken.
    """
    from pathlib import Path

    from irlens.artifacts.entries import Broken
    from irlens.artifacts.load import load as load_all
    from irlens.model.errors import ArtifactError

    for entry in load_all(Path(path)):
        if isinstance(entry, Broken):
            raise ArtifactError(f"{entry.path}: {entry.reason}")
        yield entry


def inspect(
    capture: "Capture",
    *,
    sass: bool = False,
    launch: "Mapping[str, Any] | None" = None,
    target: str | None = None,
) -> "Report":
    """Return the report of a capture, which is remembered in irlens's cache directory.

    Args:
        capture: Any capture.
        sass: Whether to disassemble the machine code too, as ``irlens inspect`` does: its live
            registers and spills, for about half a second.
        launch: What a capture does not say of its launch, for the figures that depend on it:
            ``{"args": {"x_ptr": "fp32[4096]", "n": 4096}, "grid": [4, 1, 1]}``. Constexprs may be
            among the arguments, and ``"@FILE.npy"`` is a tensor with its contents.
        target: The GPU to take the capture for, one of the architecture it was compiled for:
            "h200" for a cache entry that says "sm_90".

    Raises:
        CaptureError: The kernel cannot be launched so.
        UnknownNameError: An argument or the target is unknown.
        ArtifactError: An artifact is broken.
        ToolError: The disassembler is missing or failed.
    """
    from irlens.session.reports import report_of

    if launch is not None or target is not None:
        from irlens.session.launch import read_launch, with_launch

        capture = with_launch(capture, read_launch(launch or {}), target)
    return report_of(capture, sass=sass)


def compare(before: "Report", after: "Report") -> "Comparison":
    """Return the differences between two reports, figure by figure."""
    from irlens.diff.report import compare as compare_reports

    _show_in_notebooks()
    return compare_reports(before, after)


def to_builtins(report: "Report | Comparison") -> dict[str, Any]:
    """Return a report or a comparison as dictionaries and lists, as in the JSON output."""
    import msgspec

    converted: dict[str, Any] = msgspec.to_builtins(report)
    return converted


def _show_in_notebooks() -> None:
    """Give records the method that notebooks look for; they know nothing of rendering."""
    from irlens.model.comparison import Comparison, Comparisons
    from irlens.model.report import Report
    from irlens.model.sweep import Sweep

    for record in (Report, Comparison, Comparisons, Sweep):
        setattr(record, _METHOD, _repr_html)


def _repr_html(record: Any) -> str:
    """Return a record as the HTML report, in a frame."""
    from irlens.render.html import embedded

    return embedded(record)


#: The method by which IPython asks for HTML.
_METHOD = "_repr_html_"
if "IPython" in sys.modules:  # a notebook may also read records from elsewhere
    _show_in_notebooks()
